"""`estimica first-guess`: which columns are looked at, and what is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app


def run(*given: object) -> Any:
    return CliRunner().invoke(app, ["first-guess", *map(str, given)])


def told(*given: object) -> dict[str, Any]:
    result = run(*given, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def step(tmp_path: Path) -> Path:
    """A rise by 4 after a step by 2 at 2 s: gain 2, time constant 3 s, delay 0.5 s."""
    t = np.linspace(0, 30, 601)
    y = 5 + 4 * -np.expm1(-np.maximum(t - 2.5, 0) / 3)
    table = pd.DataFrame({"time": t, "valve": np.where(t >= 2, 3.0, 1.0), "level": y})
    table.to_csv(tmp_path / "step.csv", index=False)
    table.assign(other=t).to_csv(tmp_path / "three.csv", index=False)
    return tmp_path / "step.csv"


def test_a_step_with_its_tangent_and_63_percent(step: Path) -> None:
    found = told(step)
    assert found["gain"] == pytest.approx(2, rel=1e-3)
    assert found["tau"] == pytest.approx(3, rel=0.02)
    assert found["delay"] == pytest.approx(0.5, abs=0.05)
    assert found["tangent"]["tau"] == pytest.approx(3, rel=0.1)
    assert found["step"] == {"input": "valve", "output": "level", "at": 2.0, "size": 2.0}
    assert found["levels"] == pytest.approx({"initial": 5, "final": 9}, rel=1e-3)
    assert found["second_order"] is None
    page = step.with_name("page.html")
    shown = run(step, "--report", page)
    assert "a step of valve suggests for level: gain 2" in " ".join(shown.stdout.split())
    text = page.read_text(encoding="utf-8")
    for line in ("tangent", "63 % after delay", "first guess", "final value"):
        assert line in text


def test_three_columns_need_names(step: Path) -> None:
    refused = run(step.with_name("three.csv"), "--json")
    assert "W038" in refused.stdout
    assert "one of valve, level, other" in refused.stdout
    assert refused.exit_code == 2
    found = told(step.with_name("three.csv"), "--output", "level", "--input", "valve")
    assert found["gain"] == pytest.approx(2, rel=1e-3)
    said = told(step.with_name("three.csv"), "--output", "level", "--at", 2, "--size", 4)
    assert said["gain"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("form", ["cartesian", "polar", "named"])
def test_a_bode_plot_with_its_asymptotes(form: str, tmp_path: Path) -> None:
    w = np.geomspace(0.01, 10, 40)
    g = 2 * np.exp(-0.5j * w) / (1 + 3j * w)
    path, names = tmp_path / "bode.csv", []
    if form == "cartesian":
        table = pd.DataFrame({"frequency": w / (2 * np.pi), "real": g.real, "imag": g.imag})
    elif form == "polar":
        table = pd.DataFrame(
            {"omega": w, "magnitude": np.abs(g), "phase": np.rad2deg(np.unwrap(np.angle(g)))}
        )
    else:
        table = pd.DataFrame({"w": w, "A": 20 * np.log10(np.abs(g)), "p": np.angle(g)})
        names = ["--angular-frequency", "w", "--magnitude", "A", "--magnitude-unit", "dB"]
        names += ["--phase", "p", "--phase-unit", "rad"]
    table.to_csv(path, index=False)
    found = told(path, *names, "--report", tmp_path / "page.html")
    assert found["gain"] == pytest.approx(2, rel=1e-3)
    assert found["tau"] == pytest.approx(3, rel=1e-3)
    assert found["delay"] == pytest.approx(0.5, rel=1e-3)
    assert found["corner"] == pytest.approx(1 / 3, rel=1e-3)
    assert "20 dB a decade" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--output", "levle"], "W037: output: no column 'levle' in .*did you mean 'level'"),
        (["--output", "level", "--real", "valve"], "W036"),
        (["--real", "valve", "--imag", "level"], "W043: .*hold the frequencies"),
        (["--frequency", "time"], "W043: .*hold real and imag, or magnitude and phase"),
        (["--frequency", "time", "--angular-frequency", "time"], "W039"),
        (["--frequency", "time", "--real", "level"], "C040: .*'imag' is missing"),
        (["--output", "valve", "--input", "level"], "W03"),
    ],
)
def test_what_cannot_be_is_told(step: Path, given: list[str], message: str) -> None:
    import re

    refused = run(step, *given, "--json")
    assert refused.exit_code == 2, refused.output
    outcome = json.loads(refused.stdout)["outcome"]
    assert re.search(message, f"{outcome['code']}: {outcome['message']}"), outcome
