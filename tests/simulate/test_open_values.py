"""Initial values that nothing determines where friction sticks, and shafts that are at rest."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

STUCK = """
model Drive "a motor holds a load; friction sticks up to a torque of one"
  parameter Real k = 2, T = 3, J = 0.5, L = 0.1;
  Real w(start = 0, fixed = true), i(start = 0), sa, tau, a;
initial equation
  a = 0 "says nothing about i where friction sticks";
equation
  der(w) = a;
  J*a = k*i - T - tau;
  a = if sa > 1 then sa - 1 elseif sa < -1 then sa + 1 else 0;
  tau = if sa > 1 then 1 elseif sa < -1 then -1 else sa;
  L*der(i) = -i;
end Drive;
"""


def test_friction_that_sticks_starts_amid_its_range() -> None:
    """The current carries the load alone, k·i = T, and friction nothing; it slips as the current
    has decayed so far that k·i = T - 1."""
    t = np.linspace(0, 0.2, 401)
    run = es.load_model(STUCK).simulate(t, outputs=["i", "sa", "w"])
    np.testing.assert_allclose(run.value("i"), 1.5 * np.exp(-10 * t), rtol=1e-5)
    assert run.value("sa")[0] == pytest.approx(0.0, abs=1e-12)
    slip = 0.1 * np.log(1.5)
    assert np.abs(run.value("w")[t < slip]).max() < 1e-12
    assert run.value("w")[t > slip + 1e-3].max() < 0.0


def test_sensitivities_of_open_values() -> None:
    """i(0) = T/k."""
    t = np.linspace(0, 0.03, 4)
    run = es.load_model(STUCK).sensitivities(t, wrt=["T", "k"], outputs=["i"])
    decay = np.exp(-10 * t)
    np.testing.assert_allclose(run.derivative("i", "T"), decay / 2, rtol=1e-4)
    np.testing.assert_allclose(run.derivative("i", "k"), -3 / 4 * decay, rtol=1e-4)


RESTING = """
model Resting "which way a shaft turns at the start is asked; it stands still"
  Real phi, w, e(start = 1);
  discrete Real way(start = 0, fixed = true);
initial equation
  3*phi + 0.1*w + 7*e = 0.7;
  7*phi + 0.3*w + e = 0.1;
  0.1*phi + 11*w + 3*e = 0.3;
equation
  der(phi) = w;
  der(w) = if w > 0 then 1 elseif w < 0 then -1 else 0;
  der(e) = -e;
  when initial() then
    way = if w > 0 then 1 elseif w < 0 then -1 else 0;
  end when;
end Resting;
"""


def test_a_shaft_at_rest_does_not_creep() -> None:
    """phi = w = 0 but for rounding of the linear equations: neither way."""
    run = es.load_model(RESTING).simulate(np.linspace(0, 1, 5), outputs=["phi", "w", "e"])
    assert (run.value("phi") == 0.0).all()
    assert (run.value("w") == 0.0).all()
    np.testing.assert_allclose(run.value("e")[0], 0.1, rtol=1e-12)
