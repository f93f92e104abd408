"""Steps of Newton's method that go as far beyond the root as they began before it."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

#: a turbulent loss with a laminar part about zero flow: beyond it, Newton's step from x leads to -x
PIPE = """
model Pipe
  Real dp(start = {start}); Real m; Real x(start = 0, fixed = true);
equation
  der(x) = 1;
  m = (dp + 9763)/(1 + (dp + 9763)^2)^0.25;
  m = {asked};
end Pipe;
"""


@pytest.mark.parametrize("start", [0.0, 1e4, -5e4])
def test_a_flow_that_is_asked_to_stand_still(start):
    run = es.load_model(PIPE.format(start=start, asked="0*x")).simulate(
        np.linspace(0, 1, 3), outputs=["dp"]
    )
    np.testing.assert_allclose(run.value("dp"), -9763.0, rtol=1e-9)


def test_a_flow_that_is_shut_off_while_it_runs():
    text = PIPE.format(start=0.0, asked="if time < 0.5 then 100 else 0")
    run = es.load_model(text).simulate(np.array([0.0, 0.4, 0.6, 1.0]), outputs=["dp", "m"])
    np.testing.assert_allclose(run.value("m")[:2], 100.0, rtol=1e-6)
    np.testing.assert_allclose(run.value("dp")[2:], -9763.0, rtol=1e-6)
