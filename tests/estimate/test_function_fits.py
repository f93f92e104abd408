"""Modelica functions fitted directly, and written as functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.study.check.run import check_file

LAWS = """package Laws "correlations"
  record Pars
    Real a0 = 0.9; Real a1 = 0; Real a2 = 0;
  end Pars;
  function efficiency "volumetric efficiency"
    input Real n(unit="Hz") "speed";
    input Real pi "pressure ratio";
    input Real pi0 = 10 "largest ratio";
    input Real a0, a1, a2;
    output Real lambda;
  protected
    Real share;
  algorithm
    share := (pi0 - pi)/(pi0 - 1);
    lambda := share^2*(a0 + a1*n + a2*n^2);
  end efficiency;
  function byRecord
    input Real n; input Real pi; input Real pi0; input Pars ce;
    output Real lambda; output Real loss;
  algorithm
    lambda := ((pi0 - pi)/(pi0 - 1))^2*(ce.a0 + ce.a1*n + ce.a2*n^2);
    loss := 1 - lambda;
  end byRecord;
end Laws;
"""
STUDY = """[model]
source = "Laws.mo"
class = "Laws.efficiency"
[tune]
pi0 = 11.7
a0 = 0.644
a1 = 5.2e-3
a2 = -5.6e-5
[[case]]
name = "points"
data = "points.csv"
inputs = { n = "n", pi = "pi" }
outputs = { lambda = "lambda" }
"""
TRUE = {"pi0": 9.0, "a0": 0.92, "a1": 4e-3, "a2": -8e-5}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    n, pi = np.tile(np.linspace(10, 55, 10), 3), np.repeat([2.0, 2.7, 4.0], 10)
    y = ((9 - pi) / 8) ** 2 * (0.92 + 4e-3 * n - 8e-5 * n**2)
    frame = pd.DataFrame({"n": n, "pi": pi, "lambda": y, "loss": 1 - y})
    frame.to_csv(tmp_path / "points.csv", index=False)
    (tmp_path / "Laws.mo").write_text(LAWS)
    return tmp_path


def _study(folder: Path, text: str) -> es.Study:
    path = folder / "study.toml"
    path.write_text(text)
    return es.read_study(path)


def test_a_function_is_fitted_without_a_model_around_it(folder):
    fit = es.fit(_study(folder, STUDY))
    assert fit.estimates == pytest.approx(TRUE, rel=1e-6)
    assert not fit.study.model.has_time
    assert check_file(folder / "study.toml") == []


def test_the_fit_of_a_function_is_that_of_its_formula(folder):
    formula = STUDY.replace('source = "Laws.mo"\nclass = "Laws.efficiency"', "").replace(
        "[model]", '[static]\nexpression = "((pi0 - p)/(pi0 - 1))^2*(a0 + a1*n + a2*n^2)"'
    )
    noisy = pd.read_csv(folder / "points.csv")
    noisy["lambda"] += 0.003 * np.random.default_rng(1).standard_normal(30)
    noisy.to_csv(folder / "points.csv", index=False)
    one = es.fit(_study(folder, STUDY))
    other = es.fit(_study(folder, formula.replace('pi = "pi"', 'p = "pi"')))
    assert one.values == pytest.approx(other.values, rel=1e-7)
    assert one.accuracy.stderr == pytest.approx(other.accuracy.stderr, rel=1e-6)


def test_fields_of_a_record_are_tuners_and_several_outputs_count(folder):
    text = STUDY.replace("efficiency", "byRecord").replace(
        '"lambda" }', '"lambda", loss = "loss" }'
    )
    for k in range(3):
        text = text.replace(f"a{k} =", f'"ce.a{k}" =')
    fit = es.fit(_study(folder, text))
    assert fit["ce.a0"] == pytest.approx(0.92, rel=1e-6)
    assert fit["pi0"] == pytest.approx(9, rel=1e-6)


def test_the_fitted_function_is_written_as_a_function_and_can_be_loaded(folder, tmp_path):
    fit = es.fit(_study(folder, STUDY))
    path = fit.write_modelica(tmp_path / "FittedEfficiency.mo")
    assert "function FittedEfficiency" in path.read_text()
    assert "extends Laws.efficiency(" in path.read_text()
    model = es.load_model(path, libraries=[folder], inputs=["n", "pi"]).at_points()
    again = model.evaluate({"n": np.array([20.0]), "pi": np.array([3.0])})
    true = (6 / 8) ** 2 * (0.92 + 4e-3 * 20 - 8e-5 * 400)
    assert float(again["lambda"].iloc[0]) == pytest.approx(true, rel=1e-6)


def test_a_parameter_without_a_value_is_told(folder):
    with pytest.raises(es.ModelError, match=r"M038: parameter 'a2' of 'Laws.efficiency' has no"):
        es.fit(_study(folder, STUDY.replace("a2 = -5.6e-5\n", "")))


def test_an_input_that_is_no_argument_is_told(folder):
    with pytest.raises(es.EstimicaError, match=r"S051: .*'Laws.efficiency' has no input 'm'"):
        _study(folder, STUDY.replace("n =", "m ="))


def test_errors_in_the_inputs_of_a_function_are_estimated_as_for_its_formula(folder):
    rng = np.random.default_rng(5)
    noisy = pd.read_csv(folder / "points.csv")
    noisy["n"] += rng.standard_normal(30)
    noisy["lambda"] += 0.003 * rng.standard_normal(30)
    noisy.to_csv(folder / "points.csv", index=False)
    text = STUDY.replace('n = "n"', 'n = { column = "n", sigma = 1.0 }').replace(
        'lambda = "lambda"', 'lambda = { column = "lambda", sigma = 0.003 }'
    )
    formula = text.replace('source = "Laws.mo"\nclass = "Laws.efficiency"', "").replace(
        "[model]", '[static]\nexpression = "((pi0 - p)/(pi0 - 1))^2*(a0 + a1*n + a2*n^2)"'
    )
    one = es.fit(_study(folder, text))
    other = es.fit(_study(folder, formula.replace('pi = "pi"', 'p = "pi"')))
    assert one.cost == pytest.approx(other.cost, rel=1e-9)
    assert one.values == pytest.approx(other.values, rel=1e-5)
