"""Fits of components and operating points, from study files and from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.components import SOURCE
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.estimate.fit.modelica import write_modelica
from estimica.study.check.run import check

RESISTOR = """
[model]
source = "Parts.mo"
class = "Parts.Resistor"
[static]
mode = "static"
[tune]
R = 2.0
[[case]]
name = "points"
data = "points.csv"
inputs = { i = "current", "n.v" = 0.0 }
outputs = { v = "voltage" }
[[case]]
name = "others"
role = "validate"
data = "points.csv"
inputs = { v = "voltage", "n.v" = 0.0 }
outputs = { i = "current" }
"""
Write = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    rng = np.random.default_rng(3)
    current = np.linspace(0.1, 3.0, 30)
    voltage = 5 * current + rng.normal(0, 0.05, 30)
    pd.DataFrame({"current": current, "voltage": voltage}).to_csv(
        tmp_path / "points.csv", index=False
    )
    (tmp_path / "Parts.mo").write_text(SOURCE)

    def write(text: str = RESISTOR, *changes: tuple[str, str]) -> Path:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "study.toml").write_text(text)
        return tmp_path / "study.toml"

    return write


def problems(path: Path) -> list[str]:
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    found = json.loads(result.stdout)["problems"]
    return [f"{p['code']}: {p['where']}: {p['message']}" for p in found]


def test_ohms_law_of_a_resistor_alone(written: Write) -> None:
    path = written()
    fit = es.fit(es.read_study(path))
    data = pd.read_csv(path.parent / "points.csv")
    i, v = data["current"].to_numpy(), data["voltage"].to_numpy()
    R = float(i @ v / (i @ i))
    stderr = float(np.sqrt(((v - R * i) ** 2).sum() / 29 / (i @ i)))
    assert fit.values[0] == pytest.approx(R, rel=1e-9)
    assert fit.accuracy.stderr[0] == pytest.approx(stderr, rel=1e-6)


def test_cases_of_one_study_name_different_inputs(written: Write) -> None:
    path = written()
    fit = es.fit(es.read_study(path))
    data = pd.read_csv(path.parent / "points.csv")
    (output,) = next(c for c in fit.cases if c.name == "others").outputs
    np.testing.assert_allclose(output.simulated, data["voltage"] / fit.values[0], rtol=1e-12)


def test_inputs_that_are_tied_are_refused_with_the_reason(written: Write) -> None:
    wrong = written(
        RESISTOR,
        ('i = "current", "n.v" = 0.0', 'v = "voltage", "p.v" = 1.0, "n.v" = 0.0'),
        ('outputs = { v = "voltage" }', 'outputs = { i = "current" }'),
    )
    (told,) = problems(wrong)
    assert told.startswith(
        "E204: [static]: inputs of case 'points': 'Parts.Resistor' needs 2 inputs, not 3: 'v', "
        "'p.v', 'n.v'; 'v', 'p.v' and 'n.v' are tied to each other by equation 'v = p.v - n.v'"
    )


def test_the_second_case_is_refused_by_its_name(written: Write) -> None:
    wrong = written(
        RESISTOR, ('inputs = { v = "voltage", "n.v" = 0.0 }', 'inputs = { v = "voltage" }')
    )
    found = problems(wrong)
    (told,) = found
    assert told.startswith(
        "E204: case 'others': inputs: 'Parts.Resistor' needs 2 inputs, not 1: 'v'; 1 of 'p.v' and "
        "'n.v' is left undetermined; possible: v, n.v"
    )


def test_a_misspelt_input_keeps_its_suggestion(written: Write) -> None:
    (told,) = problems(written(RESISTOR, ('"n.v" = 0.0', '"n.w" = 0.0')))
    assert told.endswith("the model has no variable 'n.w'; did you mean 'n.v' or 'n.i'?")
    second = RESISTOR.replace('v = "voltage", "n.v" = 0.0', 'v = "voltage", "n.v" = 0.0, w = 1')
    assert problems(written(second)) == ["C020: case 'others': the model has no input 'w'"]


def test_the_fitted_class_extends_the_component(written: Write, tmp_path: Path) -> None:
    fit = es.fit(es.read_study(written()))
    text = write_modelica(fit, tmp_path / "Fitted.mo").read_text()
    assert f"extends Parts.Resistor(\n    R = {float(fit.values[0])!r});" in text
    assert "experiment" not in text
    both = es.load_model(SOURCE + text, "FittedResistor", inputs=["i", "n.v"])
    table = both.at_points().evaluate({"i": [1.0], "n.v": 0.0}, outputs=["v"])
    assert table["v"][0] == pytest.approx(fit.values[0])


def test_a_class_and_an_expression_give_the_same_fit() -> None:
    rng = np.random.default_rng(0)
    m = np.linspace(0.3, 3.0, 25)
    dp = (m / 0.025) ** 2 + 1.2 * m + rng.normal(0, 3.0, 25)
    data = pd.DataFrame({"m": m, "dp": dp})
    model = es.load_model(SOURCE, "Parts.Valve", inputs=["m", "b.p"]).at_points()
    inputs = {"m": "m", "b.p": 0.0}
    case = es.Case("points", data, inputs=inputs, outputs={"dp": "dp"})
    found = es.fit(es.Study(model, [es.Tuner("K", 0.02), es.Tuner("c", 1.0)], [case]))
    from estimica.simulate.formula import formula_model

    formula = formula_model({"dp": "(m/K)^2 + c*m"}, inputs=["m"])
    case = es.Case("points", data, inputs={"m": "m"}, outputs={"dp": "dp"})
    other = es.fit(es.Study(formula, [es.Tuner("K", 0.02), es.Tuner("c", 1.0)], [case]))
    np.testing.assert_allclose(found.values, other.values, rtol=1e-7)
    np.testing.assert_allclose(found.accuracy.stderr, other.accuracy.stderr, rtol=1e-6)


@pytest.mark.parametrize("mode", ["steady", "simulate"])
def test_a_tube_is_fitted_from_points_at_rest(mode: str) -> None:
    T_in, m = np.linspace(30.0, 90.0, 12), np.tile([0.5, 1.0, 2.0], 4)
    model = es.load_model(SOURCE, "Parts.Tube", fix={"cells": 5})
    truth = model.at_points("steady").evaluate(
        {"T_in": T_in, "m": m}, {"UA": 2.5}, outputs=["T_out"]
    )
    case = es.Case("rest", truth, inputs={"T_in": "T_in", "m": "m"}, outputs={"T_out": "T_out"})
    fit = es.fit(es.Study(model.at_points(mode), [es.Tuner("UA", 4.0)], [case]))
    assert fit.values[0] == pytest.approx(2.5, rel=1e-6)


def test_a_study_file_of_steady_points(written: Write, tmp_path: Path) -> None:
    T_in = np.linspace(30.0, 90.0, 6)
    model = es.load_model(SOURCE, "Parts.Tube", fix={"cells": 5})
    model.at_points("steady").evaluate({"T_in": T_in, "m": 1.0}, {"UA": 2.5}).to_csv(
        tmp_path / "rest.csv"
    )
    path = written(
        """
        [model]
        source = "Parts.mo"
        class = "Parts.Tube"
        fix = { cells = 5 }
        [static]
        mode = "steady"
        tolerance = 1e-9
        max_time = 1e6
        [tune]
        UA = 4.0
        [[case]]
        name = "rest"
        data = "rest.csv"
        inputs = { T_in = "T_in", m = 1.0 }
        outputs = { T_out = "T_out" }
        """
    )
    assert problems(path) == []
    assert es.fit(es.read_study(path)).values[0] == pytest.approx(2.5, rel=1e-8)


def test_a_state_is_driven_over_time() -> None:
    t = np.linspace(0.0, 10.0, 200)
    v = np.sin(t)
    data = pd.DataFrame({"time": t, "v": v, "i": 3.0 * np.gradient(v, t)})
    model = es.load_model(SOURCE, "Parts.Capacitor", inputs=["v", "n.v"])
    column = es.InputColumn("v", hold="linear")
    case = es.Case("run", data, inputs={"v": column, "n.v": 0.0}, outputs={"i": "i"})
    fit = es.fit(es.Study(model, [es.Tuner("C", 1.0)], [case]))
    assert fit.values[0] == pytest.approx(3.0, rel=2e-2)


def test_a_case_turns_a_variable_of_a_plain_model_into_an_input() -> None:
    t = np.linspace(0.0, 4.0, 41)
    source = (
        SOURCE.replace("end Parts;", "")
        + """
      model Charged
        Pin a;
        Resistor r(R = 1);
        Capacitor c(C = 1, v(start = 0, fixed = true));
      equation
        connect(a, r.p);
        connect(r.n, c.p);
        c.n.v = 0;
      end Charged;
    end Parts;
    """
    )
    model = es.load_model(source, "Parts.Charged")
    assert list(model.inputs.index) == []  # its connector is open, no current flows
    data = pd.DataFrame({"time": t, "u": np.ones(41), "v": 1 - np.exp(-t / 1.5)})
    case = es.Case("step", data, inputs={"a.v": "u"}, outputs={"c.v": "v"})
    fit = es.fit(es.Study(model, [es.Tuner("c.C", 1.0)], [case]))
    assert fit.values[0] == pytest.approx(1.5, rel=1e-5)


def test_points_that_fail_are_told_before_the_fit() -> None:
    data = pd.DataFrame({"u": [1.0, 4.0, -9.0], "x": [1.0, 2.0, 3.0]})
    model = es.load_model(SOURCE, "Parts.Root").at_points()
    case = es.Case("points", data, inputs={"u": "u"}, outputs={"x": "x"})
    study = es.Study(model, [es.Tuner("a", 1.0)], [case])
    told = [p.message for p in check(study)]
    assert any(
        "point 2 (u = -9): equation 'x^2 = a*u' (line 100) could not be" in t for t in told
    ), told
