"""What is said of a fit beyond its numbers: alarms that are true, and none that are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import curve

from estimica.estimate.estimator import fit
from estimica.simulate.modelica_model import load_model
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

DECAY = """model Decay
  parameter Real k = 1; parameter Real level = 1;
  output Real x(start = 1, fixed = true); output Real y;
equation
  der(x) = -k*x;
  y = level;
end Decay;"""
TIME = np.linspace(0, 3, 31)


def table(**columns: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"time": TIME, **columns})


def noisy(seed: int = 0) -> np.ndarray:
    return np.exp(-TIME) + 0.01 * np.random.default_rng(seed).standard_normal(len(TIME))


@pytest.mark.parametrize("samples", [1, 3])
def test_little_is_explained_is_not_said_of_one_sample_or_of_equal_ones(samples: int) -> None:
    # 0.1 + 0.1 + 0.1 is not 0.3: the mean of equal numbers may differ from them
    few = np.where(np.arange(len(TIME)) < samples, 0.1, np.nan)
    case = Case("run", table(x=noisy(), y=few), outputs={"x": "x", "y": "y"})
    found = fit(Study(load_model(DECAY), [Tuner("k", start=0.7)], [case]))
    assert found.outcome.ok
    assert abs(found.case("run")["y"].residual[0]) > 0.5  # level stays at 1
    assert "explained" not in found.outcome.message
    assert found.case("run")["y"].fit_percent == -np.inf


def test_little_is_explained_is_said_of_a_signal_that_varies() -> None:
    case = Case("run", table(x=np.sin(9 * TIME)), outputs={"x": "x"})
    found = fit(Study(load_model(DECAY), [Tuner("k", start=0.7)], [case]))
    assert "little of 'x' in 'run' is explained" in found.outcome.message


def test_a_search_that_still_gains_goes_on_along_a_valley() -> None:
    x = np.linspace(1, 2, 30)
    settings = Estimation(method="steepest-descent")
    found = fit(curve("a*x^b", x, 3 * x**1.5, {"a": 1.0, "b": 1.0}, settings))
    assert found.outcome.ok
    assert len(found.iterations) > 200
    assert found.values == pytest.approx([3, 1.5], rel=1e-5)
