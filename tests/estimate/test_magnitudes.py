"""Starts and offsets that are decades away from the truth end at the optimum, not at the start."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import curve

from estimica.estimate.run.fit import fit
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case, OutputColumn, Sigma
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

X = np.linspace(0, 3, 40)
Y = 2 * X + 0.05 * np.random.default_rng(0).standard_normal(40)
T = np.linspace(0, 5, 60)
NOISE = 0.01 * np.random.default_rng(1).standard_normal(60)
METHODS = ["levenberg-marquardt", "gauss-newton", "steepest-descent"]


@cache
def lag() -> ModelicaModel:
    return load_model(
        """model Lag
          parameter Real K = 1; output Real v(start = 0, fixed = true);
        equation
          der(v) = K - v;
        end Lag;"""
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("start", [1e100, 1e15, 1e12, 1e9, 1e-12, 1e-20, 1e-100])
def test_start_of_any_magnitude_finds_the_slope_of_a_line(method: str, start: float) -> None:
    found = fit(curve("a*x", X, Y, {"a": start}, Estimation(method=method)))
    best = float(X @ Y / (X @ X))
    error = np.sqrt(np.sum((best * X - Y) ** 2) / 39 / (X @ X))
    assert found.outcome.ok
    assert found["a"] == pytest.approx(best, abs=0.01 * error)
    assert found.accuracy.stderr[0] == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("start", [1e15, 1e-12])
def test_logarithmic_scale_does_so_too(start: float) -> None:
    found = fit(curve("a*x", X, Y, [Tuner("a", start=start, scale="log")]))
    assert found.outcome.ok
    assert found["a"] == pytest.approx(float(X @ Y / (X @ X)), rel=1e-5)


@pytest.mark.parametrize("start", [1e12, 1e15])
def test_start_of_any_magnitude_finds_the_gain_of_a_lag(start: float) -> None:
    data = pd.DataFrame({"time": T, "v": 2 * (1 - np.exp(-T)) + NOISE})
    found = fit(Study(lag(), [Tuner("K", start=start)], [Case("run", data, outputs={"v": "v"})]))
    shape = 1 - np.exp(-T)
    assert found.outcome.ok
    assert found["K"] == pytest.approx(float(shape @ data["v"] / (shape @ shape)), rel=1e-5)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("offset", [1e4, 1e8, 1e10])
def test_disturbance_on_a_large_offset_leaves_the_tuner_free(criterion: str, offset: float) -> None:
    data = pd.DataFrame({"time": T, "v": offset + 2 * (1 - np.exp(-T)) + NOISE})
    case = Case("run", data, outputs={"v": OutputColumn("v", disturbance=True)})
    study = Study(
        lag(), [Tuner("K", start=1.0)], [case], estimation=Estimation(criterion=criterion)
    )
    found = fit(study)
    A = np.column_stack([1 - np.exp(-T), np.ones(60)])
    small = data["v"].to_numpy() - offset
    best = np.linalg.lstsq(A, small, rcond=None)[0]
    spread = np.sqrt(np.sum((A @ best - small) ** 2) / 58)
    errors = spread * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    assert found.outcome.ok
    assert found["K"] == pytest.approx(best[0], abs=0.02 * errors[0])
    assert found.values[1] - offset == pytest.approx(best[1], abs=0.02 * errors[1])
    assert found.accuracy.stderr == pytest.approx(errors, rel=0.01)


@pytest.mark.parametrize("start", [1e12, 1e-12])
def test_free_start_value_of_any_magnitude_is_found(start: float) -> None:
    data = pd.DataFrame({"time": T, "v": 2 + 3 * np.exp(-T) + NOISE})
    case = Case("run", data, outputs={"v": "v"}, free_start={"v": {"start": start}})
    found = fit(Study(lag(), [Tuner("K", start=1.0)], [case]))
    A = np.column_stack([1 - np.exp(-T), np.exp(-T)])
    best = np.linalg.lstsq(A, data["v"].to_numpy(), rcond=None)[0]
    assert found.outcome.ok
    assert found.values == pytest.approx(best, rel=1e-4)


def test_likelihood_without_noise_says_that_its_errors_are_those_of_a_floor() -> None:
    clean = 2 * (1 - np.exp(-T))
    case = Case("run", pd.DataFrame({"time": T, "v": clean}), outputs={"v": "v"})
    study = Study(lag(), [Tuner("K", start=1.0)], [case], estimation=Estimation(criterion="ml"))
    found = fit(study)
    floor = 1e-6 * float(np.std(clean))
    assert found.noise["v"].variance == pytest.approx(floor**2)
    assert f"the noise of 'v' is held at its floor {floor:.3g}" in found.outcome.message
    assert "standard errors, intervals, AIC and BIC are those of noise of that level" in (
        found.outcome.message
    )
    shape = 1 - np.exp(-T)
    assert found.accuracy.stderr[0] == pytest.approx(floor / np.linalg.norm(shape), rel=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 1.0, "lower bound 0.1"), (1e-6, 1e-3, "upper bound 0.001")]
)
def test_noise_held_at_a_bound_of_the_study_is_told(low: float, high: float, said: str) -> None:
    settings = Estimation(criterion="ml")
    found = fit(curve("a*x", X, Y, {"a": 1.0}, settings, sigma=Sigma(min=low, max=high)))
    assert f"the noise of 'y' is held at its {said}" in found.outcome.message
