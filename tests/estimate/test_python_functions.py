"""Fits of models whose properties Python computes: true values, workers, and what a run keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app

MODEL = """
package Oil
  function h "Specific enthalpy"
    input Real T;
    output Real y;
    external "C" y = oil_h(T);
  end h;
end Oil;
model Heater
  parameter Real UA = 1;
  parameter Real m = 2;
  input Real P;
  Real H(start = 40, fixed = true);
  Real T(start = 20);
  output Real y = T;
equation
  der(H) = (P - UA*T)/m;
  H = Oil.h(T);
end Heater;
"""
PROPS = """
def h(T):
    return 1.8 * T + 0.005 * T**2
"""
STUDY = """
[model]
source = "Heater.mo"
class = "Heater"
functions = { "Oil.h" = "props.py:h" }

[tune]
UA = { start = 2.0, min = 0.1, max = 10 }
m = { start = 1.0, min = 0.1, max = 10 }

[[case]]
name = "warm up"
data = "warm.csv"
inputs = { P = "P" }
outputs = { y = "T" }

[estimate]
starts = 2
"""
TRUE = {"UA": 1.25, "m": 2.5}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Heater.mo").write_text(MODEL)
    (tmp_path / "props.py").write_text(PROPS)
    t = np.linspace(0, 30, 61)
    P = 100.0 - 3.0 * t
    T = independent(t, P)
    rows = [",".join(repr(float(x)) for x in row) for row in np.column_stack([t, P, T])]
    (tmp_path / "warm.csv").write_text("\n".join(["time,P,T", *rows]) + "\n")
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def independent(t: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Explicit Runge-Kutta in T alone: h'(T) der(T) = (P - UA T)/m, P held between stamps."""
    found = []
    T = (-1.8 + np.sqrt(1.8**2 + 4 * 0.005 * 40)) / 0.01
    fine = 200

    def rate(T: float, power: float) -> float:
        return (power - TRUE["UA"] * T) / TRUE["m"] / (1.8 + 0.01 * T)

    for k in range(len(t)):
        found.append(T)
        if k + 1 < len(t):
            step = (t[k + 1] - t[k]) / fine
            for _ in range(fine):
                a = rate(T, P[k])
                b = rate(T + step / 2 * a, P[k])
                c = rate(T + step / 2 * b, P[k])
                d = rate(T + step * c, P[k])
                T += step / 6 * (a + 2 * b + 2 * c + d)
    return np.array(found)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_true_values_come_back(study: Path, workers: int) -> None:
    fit = es.fit(es.read_study(study), workers=workers)
    for name, value in TRUE.items():
        assert fit[name] == pytest.approx(value, rel=1e-4)


def test_commands_and_a_broken_program(study: Path) -> None:
    done = CliRunner().invoke(app, ["fit", str(study), "--starts", "1"])
    assert done.exit_code == 0, done.output
    assert "1.25" in done.output
    (study.parent / "props.py").write_text("def h(T):\n    raise RuntimeError('no property')\n")
    failed = CliRunner().invoke(app, ["fit", str(study), "--starts", "1"])
    assert failed.exit_code != 0
    said = " ".join(failed.output.split())
    assert "'Oil.h' (props.py:h)" in said
    assert "RuntimeError: no property" in said
