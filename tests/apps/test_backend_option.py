"""`--backend` and `[execute]` choose what simulates many members; the result says what did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app

MODEL = """model Lag
  parameter Real K = 1; parameter Real tau = 1;
  input Real u; output Real y(start = 0, fixed = true);
equation
  tau*der(y) = K*u - y;
end Lag;
"""
STUDY = """
[model]
source = "Lag.mo"

[tune]
K = 1.4
tau = 1.0

[[case]]
name = "a"
data = "run.csv"
inputs = { u = "u" }
outputs = { y = "y" }

[execute]
backend = "scalar"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    time = np.linspace(0, 5, 26)
    y = 1.5 * (1 - np.exp(-time / 1.2)) + 0.01 * np.sin(40 * time)
    rows = [f"{t},1,{v}" for t, v in zip(time, y, strict=True)]
    (tmp_path / "run.csv").write_text("\n".join(["time [s],u,y", *rows]), encoding="utf-8")
    (tmp_path / "Lag.mo").write_text(MODEL, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


def bootstrapped(study: Path, *more: str) -> Any:
    options = ["--replicates", "8", "--workers", "1", "--no-store", "--quiet"]
    found = CliRunner().invoke(app, ["bootstrap", str(study), *options, *more])
    return found


def test_the_option_stands_before_the_study(study: Path) -> None:
    as_written = json.loads(bootstrapped(study, "--json").stdout)
    asked = json.loads(bootstrapped(study, "--json", "--backend", "vector").stdout)
    assert as_written["worked_by"]["backend"] == "scalar"
    assert asked["worked_by"] == {"backend": "vector", "alone": 0, "reason": ""}
    for name in ("K", "tau"):
        one, other = (e["parameters"][name]["mean"] for e in (as_written, asked))
        assert one == pytest.approx(other, rel=1e-6)
    assert (
        "in the vector units of the processor" in bootstrapped(study, "--backend", "vector").stdout
    )


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("profile", ["--points", "3"]),
        ("crossvalidate", ["--folds", "4"]),
        ("fit", ["--starts", "5"]),
    ],
)
def test_other_fits_take_it_too_and_tell(study: Path, command: str, more: list[str]) -> None:
    own = [command, str(study), *more, "--workers", "1", "--no-store", "--quiet"]
    for asked, backend in (([], "scalar"), (["--backend", "vector"], "vector")):
        told = json.loads(CliRunner().invoke(app, [*own, *asked, "--json"]).stdout)
        assert told["worked_by"] == {"backend": backend, "alone": 0, "reason": ""}
    page = study.with_name("page.html")
    shown = CliRunner().invoke(app, [*own, "--backend", "vector", "--report", str(page)]).stdout
    assert "in the vector units of the processor" in " ".join(shown.split())
    assert "in the vector units of the processor" in page.read_text(encoding="utf-8")


def test_a_misspelt_backend_is_told(study: Path) -> None:
    found = bootstrapped(study, "--backend", "vectro")
    assert found.exit_code == 2
    assert "backend: 'vectro' is none of 'auto', 'scalar', 'vector', 'cuda'" in " ".join(
        found.stderr.split()
    )


DEMAND = """
[[criterion]]
name = "slow"
kind = "rise-time"
of = "y"
demand = 3.0

[montecarlo.draw]
tau = { min = 0.8, max = 1.6 }

[sweep]
vary = { tau = [0.5, 0.8, 1.0, 1.3, 1.6] }
"""
ASKED = {
    "montecarlo": ["--samples", "12"],
    "sweep": [],
    "map": ["K", "tau", "--points", "5"],
}


@pytest.mark.parametrize("command", ASKED)
def test_designs_and_maps_take_the_option_too(study: Path, command: str) -> None:
    study.write_text(STUDY + DEMAND, encoding="utf-8")
    own = [command, str(study), *ASKED[command], "--workers", "1", "--no-store", "--json"]
    for more, backend in (([], "scalar"), (["--backend", "vector"], "vector")):
        found = CliRunner().invoke(app, [*own, *more])
        assert json.loads(found.stdout)["worked_by"]["backend"] == backend
