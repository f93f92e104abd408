"""Fits of implicit laws at operating points, in all modes, from start values that are not given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.arrays import Vector

SOURCE = """
package L
  model Valve
    input Real dp; parameter Real k = 1; Real m; Real z;
  equation
    dp = z*m; z = k/sqrt(m);
  end Valve;
  model Open "which of its variables are inputs is left to the study"
    parameter Real k = 1; Real dp; Real m; Real z;
  equation
    dp = z*m; z = k/sqrt(m);
  end Open;
  model Line "two tuners, no states"
    input Real dp; parameter Real k = 1; parameter Real c = 0.5; Real m; Real z;
  equation
    dp = z*m + c*m; z = k/sqrt(m);
  end Line;
  model Square
    input Real dp; parameter Real k = 1; Real m;
  equation
    dp = (m/k)^2;
  end Square;
  model Wall
    input Real dp; parameter Real k = 1; Real m;
  equation
    1/m = 1/(k*dp) + 0.1;
  end Wall;
  model Friction
    input Real dp; parameter Real k = 0.01; Real m(start = 0.1);
  equation
    1/sqrt(m) = -2*log10(k/3.7 + 2.51/(1e4*dp*sqrt(m)));
  end Friction;
  model Tank
    input Real dp; parameter Real k = 1; Real h(start = 0.5); Real m; Real z;
  equation
    der(h) = dp - m; h = z*m; z = k/sqrt(m);
  end Tank;
end L;
"""
DP = np.linspace(0.4, 8.0, 15)


def _line(dp: float) -> float:
    return float(brentq(lambda m: 2 * np.sqrt(m) + 0.1 * m - dp, 0, 1e3, xtol=1e-15))


def _friction(dp: float) -> float:
    def off(f: float) -> float:
        return float(1 / np.sqrt(f) + 2 * np.log10(0.002 / 3.7 + 2.51 / (1e4 * dp * np.sqrt(f))))

    return float(brentq(off, 1e-4, 1.0, xtol=1e-15))


#: class, measured variable, its truth as a function of dp, the tuners' truth
CASES: list[tuple[str, str, Callable[[float], float], dict[str, float]]] = [
    ("Valve", "m", lambda dp: (dp / 2) ** 2, {"k": 2.0}),
    ("Line", "m", _line, {"k": 2.0, "c": 0.1}),
    ("Square", "m", lambda dp: 2 * np.sqrt(dp), {"k": 2.0}),
    ("Wall", "m", lambda dp: 1 / (1 / (2 * dp) + 0.1), {"k": 2.0}),
    ("Friction", "m", _friction, {"k": 0.002}),
]


def fitted(name: str, mode: str, asked: str, y: Vector, tuners: list[str]) -> es.Fit:
    model = es.load_model(SOURCE, f"L.{name}").at_points(mode)
    data = pd.DataFrame({"dp": DP, "y": y})
    case = es.Case("points", data, inputs={"dp": "dp"}, outputs={asked: "y"})
    return es.fit(es.Study(model, [es.Tuner(n) for n in tuners], [case]))


#: simulated points of the others take seconds each
_SIMULATED = ("Valve", "Line")


def _fits() -> list[object]:
    return [
        pytest.param(*case, mode, id=f"{case[0]}-{mode}", marks=[pytest.mark.slow] * slow)
        for case in CASES
        for mode in ("static", "steady", "simulate")
        for slow in [mode == "simulate" and case[0] not in _SIMULATED]
    ]


@pytest.mark.parametrize(("name", "asked", "law", "truth", "mode"), _fits())
def test_an_implicit_law_is_fitted_alike_in_all_modes(
    name: str, asked: str, law: Callable[[float], float], truth: dict[str, float], mode: str
) -> None:
    fit = fitted(name, mode, asked, np.array([law(dp) for dp in DP]), list(truth))
    for tuner, value in truth.items():
        assert fit[tuner] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("mode", ["steady", "simulate"])
def test_a_tank_over_such_a_valve_is_fitted(mode: str) -> None:
    assert fitted("Tank", mode, "h", 2 * np.sqrt(DP), ["k"])["k"] == pytest.approx(2, rel=1e-6)


@pytest.mark.parametrize(("name", "truth"), [(c[0], c[3]) for c in CASES])
def test_derivatives_of_implicit_laws_agree_with_differences(
    name: str, truth: dict[str, float]
) -> None:
    response = (
        es.load_model(SOURCE, f"L.{name}")
        .at_points()
        .response(np.arange(len(DP) * 1.0), {"dp": DP}, outputs=["m"], wrt=list(truth))
    )
    theta = np.array(list(truth.values()))
    run = response.at(theta)
    assert run.ok, run.text
    for j, value in enumerate(theta):
        h = np.zeros(len(theta))
        h[j] = 1e-5 * value
        central = (response.at(theta + h).Y - response.at(theta - h).Y) / (2e-5 * value)
        np.testing.assert_allclose(run.YS[:, :, j], central, rtol=1e-6)


def test_flow_or_drop_may_be_given() -> None:
    m = (DP / 2) ** 2
    model = es.load_model(SOURCE, "L.Open", inputs=["m"])
    table = model.at_points().evaluate({"m": m}, {"k": 2.0}, outputs=["dp", "z"])
    np.testing.assert_allclose(table["dp"], DP)
    model = es.load_model(SOURCE, "L.Open", inputs=["dp"])
    table = model.at_points().evaluate({"dp": DP}, {"k": 2.0}, outputs=["m"])
    np.testing.assert_allclose(table["m"], m)


def test_a_parameter_is_computed_from_each_point() -> None:
    data = pd.DataFrame({"dp": DP, "m": (DP / 2) ** 2})
    model = es.load_model(SOURCE, "L.Square", inputs=["dp", "m"], unknowns=["k"])
    case = es.Case("points", data, inputs={"dp": "dp", "m": "m"})
    found = es.backcalculate(es.Study(model, [], [case]), "k", against="dp").table()
    np.testing.assert_allclose(found["k"], (DP / 2) ** 2 / np.sqrt(DP))


def test_a_model_is_linearised_where_its_equations_hold() -> None:
    model = es.load_model(SOURCE, "L.Tank")
    # der(h) = dp - (h/k)^2: at rest h = k*sqrt(dp), and the slope is -2*h/k^2
    found = model.linearise(inputs={"dp": 4.0}, outputs=["m"], steady=True)
    np.testing.assert_allclose(found.A, [[-4.0]], rtol=1e-9)
    np.testing.assert_allclose(found.C, [[4.0]], rtol=1e-9)


STUDY = """
[model]
source = "L.mo"
class = "L.Valve"
[static]
mode = "{mode}"
guess = {{ {guess} = 0.1 }}
[tune]
k = 1.0
[[case]]
name = "points"
data = "points.csv"
inputs = {{ dp = "dp" }}
outputs = {{ m = "m" }}
"""


def _written(folder: Path, mode: str, guess: str) -> str:
    (folder / "L.mo").write_text(SOURCE)
    pd.DataFrame({"dp": DP, "m": (DP / 2) ** 2}).to_csv(folder / "points.csv", index=False)
    study = folder / "study.toml"
    study.write_text(STUDY.format(mode=mode, guess=guess))
    return str(study)


@pytest.mark.parametrize("mode", ["static", "simulate"])
def test_a_study_file_gives_guesses(tmp_path: Path, mode: str) -> None:
    ended = CliRunner().invoke(app, ["fit", _written(tmp_path, mode, "m"), "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["parameters"]["k"]["value"] == pytest.approx(2.0, rel=1e-6)


def test_a_misspelt_guess_is_told_with_a_suggestion(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["check", _written(tmp_path, "static", "mm"), "--json"])
    assert ended.exit_code == 2
    (problem,) = json.loads(ended.stdout)["problems"]
    assert problem["code"] == "M175"
    assert "guess 'mm': there is no such variable; did you mean 'm'?" in problem["message"]
