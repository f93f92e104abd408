"""Commands that take an FMU where they take a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.fmus.build import builder, built
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app

pytest.importorskip("fmpy")
pytestmark = pytest.mark.skipif(not builder.compiler(), reason="no C compiler")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(built("vanDerPol", fmi=2), tmp_path / "van.fmu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == 0, found.output
    return found.stdout


def test_inspect_shows_the_parameters_and_where_the_fmu_comes_from(folder: Path) -> None:
    text = ran("inspect", "van.fmu")
    assert "mu = 1 in 0 … 20  Damping" in text
    assert "an FMU of FMI 2.0 for Model Exchange and Co-Simulation" in " ".join(text.split())
    found = json.loads(ran("inspect", "van.fmu", "--json"))
    assert found["parameters"]["w"]["unit"] == "rad/s"
    assert found["component"] == {}


def test_simulate_runs_as_long_as_the_fmu_suggests(folder: Path) -> None:
    ran("simulate", "van.fmu", "--points", "5", "--output", "x_out", "--csv", "out.csv")
    found = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1)
    assert found[:, 0] == pytest.approx([0, 5, 10, 15, 20])
    assert found[0, 1] == 2.0


def test_new_offers_the_parameters_as_tuners(folder: Path) -> None:
    times = np.linspace(0, 10, 21)
    table = np.column_stack([times, 2 * np.cos(times)])
    np.savetxt("run.csv", table, delimiter=",", header="t,x_out", comments="")
    ran("new", "van.fmu", "run.csv")
    text = (folder / "van.toml").read_text()
    assert 'source = "van.fmu"' in text
    assert "mu = { start = 1, min = 0, max = 20 }" in text
    assert 'x_out = "x_out"' in text
