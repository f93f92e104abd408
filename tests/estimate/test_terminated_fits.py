"""Fits of models that end their runs: samples after the end are a failure of that evaluation."""

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.estimate.fit.result import Fit

#: falls from 10 m and is stopped by the ground, after sqrt(20/g) seconds
STONE = """
model Stone
  parameter Real g = 9.81;
  output Real h(start = 10, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then terminate("the ground"); end when;
end Stone;
"""


def fitted(stop: float, start: float, **settings) -> Fit:
    times = np.linspace(0.0, stop, 25)
    noise = 0.01 * np.random.default_rng(1).standard_normal(25)
    data = pd.DataFrame({"time": times, "h": 10 - 9.81 * times**2 / 2 + noise})
    tuner = es.Tuner("g", start=start, min=1.0, max=60.0)
    case = es.Case("fall", data, outputs={"h": "h"})
    return es.fit(es.Study(es.load_model(STONE), [tuner], [case], **settings))


@pytest.mark.parametrize("start", [8.0, 4.0])
def test_data_that_end_before_are_fitted(start):
    """A trial above 11.8 comes to the ground before the last sample, at 1.3 s: a step back."""
    found = fitted(1.3, start)
    assert found.outcome.ok
    assert found.values[0] == pytest.approx(9.81, rel=3e-3)


def test_data_that_reach_beyond_are_a_failure_with_instant_and_text():
    found = fitted(2.0, 9.81)
    assert found.outcome.status == "failed"
    assert "ended by terminate() at t = 1.42784: the ground" in found.outcome.message
    assert "7 samples from t = 1.5 to 2 come after that" in found.outcome.message


def test_multiple_shooting_says_the_same():
    found = fitted(2.0, 9.81, estimation=es.Estimation(transcription="multiple-shooting"))
    assert found.outcome.status == "failed"
    assert "ended by terminate() at t = 1.42" in found.outcome.message
