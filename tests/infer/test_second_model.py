"""Does what a fit leaves open matter for another model?"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.simulate.formula import formula_model

X = np.linspace(1, 3, 20)


def _study(formula, tuners, name="", **columns):
    data = pd.DataFrame({"x": X, "y": 6 * X} | columns)
    case = es.Case("points", data, inputs={"x": "x"}, outputs={"y": "y"})
    return es.Study(formula_model({"y": formula}, ["x"]), tuners, [case], name=name)


@pytest.fixture(scope="module")
def product():
    return es.fit(_study("a*b*x", [es.Tuner("a", start=2), es.Tuner("b", start=3)], "product"))


def test_a_model_of_the_product_does_not_care(product):
    found = es.second_model(product, _study("2*a*b*x^2", [], "square"))
    assert found.ok
    assert found.directions[0].largest.change < 1e-12
    assert "does not change the outputs of 'square'" in found.text
    assert "any value will do" in found.advice[0]


def test_a_model_of_one_factor_changes_by_as_much_as_it_moves(product):
    found = es.second_model(product, _study("a*x", [], "factor"), change=0.1)
    direction = found.directions[0]
    assert direction.matters
    assert direction.here < 1e-12
    assert direction.largest.change == pytest.approx(0.1, rel=1e-9)
    assert set(direction.changes) == {"a", "b"}
    assert direction.changes["a"] == pytest.approx(-direction.changes["b"])
    assert (
        "goes unnoticed in 'product' but changes 'y' of case 'points' in 'factor' by 10 %"
        in (found.advice[0])
    )


def test_a_tuner_that_was_held_to_make_the_rest_determined_moves_too():
    tuners = [es.Tuner("a", start=2), es.Tuner("b", start=3, active=False)]
    fit = es.fit(_study("a*b*x", tuners, "held"))
    assert fit.accuracy.identifiable.all()
    assert not es.second_model(fit, _study("a*x", [], "factor")).ok
    assert es.second_model(fit, _study("a*b/x", [], "product")).ok


def test_of_two_open_directions_only_one_matters():
    tuners = [es.Tuner(n, start=v) for n, v in {"a": 1.0, "b": 2.0, "c": 3.0}.items()]
    fit = es.fit(_study("a*b*c*x", tuners, "three"))
    found = es.second_model(fit, _study("a*b*x + c - c", [], "pair"))
    assert [d.matters for d in found.directions] == [True, False]
    assert "1 of 2 undetermined directions change the outputs of 'pair'" in found.text


def test_where_everything_is_determined_nothing_is_open():
    fit = es.fit(_study("a*x + b", [es.Tuner("a", start=2), es.Tuner("b", start=3)]))
    found = es.second_model(fit, _study("a*x", [], "line"))
    assert found.ok
    assert "nothing is left open" in found.text


LAG = """model Lag "first order"
  parameter Real k = 2 "gain"; parameter Real T = 5 "time constant"; parameter Real c = 1;
  input Real u; Real x(start = 0, fixed = true);
equation
  T*der(x) = k*u - x;
end Lag;
"""


def _lag(tmp_path):
    (tmp_path / "Lag.mo").write_text(LAG)
    u = np.linspace(1, 5, 9)
    pd.DataFrame({"u": u, "x": 2 * u}).to_csv(tmp_path / "points.csv", index=False)
    t = np.linspace(0, 20, 41)
    step = pd.DataFrame({"time": t, "u": 1.0, "x": 2 * (1 - np.exp(-t / 5))})
    step.to_csv(tmp_path / "step.csv", index=False)
    tune = "[tune]\nk = 1.5\nT = 5\n"
    (tmp_path / "steady.toml").write_text(
        '[model]\nsource = "Lag.mo"\n[static]\nmode = "steady"\n' + tune + '[[case]]\nname = "rest"'
        '\ndata = "points.csv"\ninputs = { u = "u" }\noutputs = { x = "x" }\n'
    )
    (tmp_path / "transient.toml").write_text(
        '[model]\nsource = "Lag.mo"\n' + tune + '[[case]]\nname = "step"\ndata = "step.csv"\n'
        'inputs = { u = "u" }\noutputs = { x = "x" }\n'
    )
    return tmp_path / "steady.toml", tmp_path / "transient.toml"


def test_a_time_constant_has_no_effect_at_rest_but_in_the_transient(tmp_path):
    steady, transient = _lag(tmp_path)
    fit = es.fit(es.read_study(steady))
    found = es.second_model(fit, es.read_study(transient))
    assert list(found.directions[0].changes) == ["T"]
    t = np.linspace(0, 20, 41)
    base = 1 - np.exp(-t / 5)
    changes = [1 - np.exp(-t / (5 * f)) - base for f in (1.1, 1 / 1.1)]
    rms = max(np.sqrt(np.mean(c**2)) for c in changes) / np.sqrt(np.mean(base**2))
    assert found.directions[0].largest.change == pytest.approx(rms, rel=1e-4)


def test_the_command_line_tells_of_the_second_model(tmp_path):
    from typer.testing import CliRunner

    steady, transient = _lag(tmp_path)
    held = steady.read_text().replace("T = 5", "T = { start = 5, active = false }")
    steady.write_text(held)
    page = tmp_path / "page.html"
    told = CliRunner().invoke(
        app,
        ["identifiability", str(steady), "--second", str(transient), "--json", "--no-store",
         "--quiet", "--report", str(page)],
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    second = json.loads(told.stdout)["second"]
    assert second["directions"][0]["matters"]
    assert "fit it to data of 'transient' too" in second["advice"][0]
    assert "Second model: transient" in page.read_text()


@pytest.mark.parametrize(
    ("other", "options", "words"),
    [
        ("c*x", {}, "I364: second model 'other' has none of the tuners a, b as a parameter"),
        ("a*x", {"change": 2}, "I361: second model: change 2 is not between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_told(product, other, options, words):
    tuners = [es.Tuner("c", start=1)] if "c" in other else []
    with pytest.raises(es.InferError, match=words):
        es.second_model(product, _study(other, tuners, "other"), **options)


def test_a_model_needs_cases(product):
    with pytest.raises(es.InferError, match="I363"):
        es.second_model(product, formula_model({"y": "a*x"}, ["x"]))
    case = es.Case("more", pd.DataFrame({"x": X, "y": X}), inputs={"x": "x"}, outputs={"y": "y"})
    found = es.second_model(product, formula_model({"y": "a*x"}, ["x"]), cases=[case])
    assert not found.ok


def test_what_is_no_study_and_no_model_is_told(product):
    with pytest.raises(es.InferError, match="I363: second model: give a study, or a model with"):
        es.second_model(product, "step.toml")


def test_it_shows_itself(product, tmp_path):
    found = es.second_model(product, _study("a*x", [], "factor"))
    assert "matters" in repr(found)
    assert found.plot().data
    assert "factor" in found.report(tmp_path / "second.html").read_text()
