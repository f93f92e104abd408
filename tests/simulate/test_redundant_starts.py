"""More initial conditions than states, as far as they agree."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TEXT = """
model Drive "the third condition follows from the others, but for rounding"
  Real x, w;
initial equation
  w = 157.07963;
  x = {x};
  3*x + 7.3e4*w = 7.3e4*157.07963;
equation
  der(x) = -x + w;
  der(w) = -w;
end Drive;
"""


def test_conditions_that_follow_from_others_are_no_contradiction():
    t = np.linspace(0, 2, 21)
    run = es.load_model(TEXT.format(x="0")).simulate(t, outputs=["x", "w"])
    np.testing.assert_allclose(run.value("w"), 157.07963 * np.exp(-t), rtol=1e-5)
    np.testing.assert_allclose(run.value("x"), 157.07963 * t * np.exp(-t), rtol=1e-5, atol=1e-6)


def test_conditions_that_contradict_others_are_told():
    with pytest.raises(es.SimulationError, match=r"R001.*no consistent initial values"):
        es.load_model(TEXT.format(x="1")).simulate(np.linspace(0, 1, 3))
