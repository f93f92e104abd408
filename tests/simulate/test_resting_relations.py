"""Relations that tremble, that are passed steeply, or whose flows are small differences: none of
them may hide what comes later. All runs are compared with closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es


@pytest.mark.parametrize("depth", [1e-4, 1.0, 1e3, 1e5])
def test_a_relation_that_has_rested_still_sees_what_it_is_there_for(depth):
    text = f"""
model M "trembles for a moment around zero, and much later goes through it in earnest"
  Real g = if time < 1e-6 then {depth}*sin(2e9*time) else {depth}*(time - 0.5);
  Real above(start = 0, fixed = true);
equation
  der(above) = if g > 0 then 1 else 0;
end M;
"""
    model = es.load_model(text, "M")
    run = model.simulate([0.0, 0.05, 0.25, 1.0], outputs=["above"])
    np.testing.assert_allclose(run.value("above"), [0.0, 0.0, 0.0, 0.5], atol=2e-6)


def test_a_run_tells_which_relation_was_let_rest():
    model = es.load_model("""
model M "a quick oscillation at first, nothing after it"
  Real s(start = 0, fixed = true), c(start = 1, fixed = true), above(start = 0, fixed = true);
  Real w = if time < 1e-7 then 2e9 else 0;
equation
  der(s) = w*c;
  der(c) = -w*s;
  der(above) = if s > 0 then 1 else 0;
end M;
""")
    run = model.simulate(np.linspace(0, 1, 5), outputs=["above"])
    assert len(run.notes) == 1
    assert "s > 0" in run.notes[0]
    assert "was let rest" in run.notes[0]


@pytest.mark.parametrize("steep", [1e3, 1e10])
def test_a_steep_crossing_does_not_hide_a_later_one(steep):
    model = es.load_model("""
model Steep "falls from 1 through zero, and follows -0.3 sin(pi t) from then on"
  parameter Real steep = 1;
  Real x(start=1, fixed=true), above(start=0, fixed=true);
  Boolean fallen(start=false, fixed=true);
equation
  when x < 0 then
    fallen = true;
  end when;
  der(x) = if fallen then -0.3*3.141592653589793*cos(3.141592653589793*time) else -steep;
  der(above) = if x > 0 then 1 else 0;
end Steep;
""")
    t = np.linspace(0, 4, 41)
    run = model.simulate(t, outputs=["x", "above"], parameters={"steep": steep})
    begin = 1 / steep
    x = -0.3 * (np.sin(np.pi * t) - np.sin(np.pi * begin))
    np.testing.assert_allclose(run.value("x")[1:], x[1:], atol=1e-3)
    above = np.minimum(np.maximum(t - 1, 0), 1) + np.minimum(np.maximum(t - 3, 0), 1)
    np.testing.assert_allclose(run.value("above")[1:], above[1:], atol=5e-3)


@pytest.mark.parametrize("rtol", [1e-5, 1e-6, 1e-7])
def test_flows_into_a_stiff_volume_are_those_without_it(rtol):
    """150 kg of air between two equal resistances: its pressure is the mean of those outside, up to
    a lag of a millisecond, but a millionth of its mass is a twentieth of the pressure drop."""
    model = es.load_model("""
model Volume
  parameter Real p0 = 101325, m0 = 150, k = 1.5811388300841898, delta = 0.9;
  Real m(start=m0, fixed=true), p, pIn, dp1, dp2, mIn, mOut;
equation
  p = p0*m/m0;
  pIn = p0 + (if time < 300 then 0 elseif time < 600 then (time - 300)/15 else 20);
  dp1 = pIn - p;
  dp2 = p - p0;
  mIn = k*dp1/(dp1^2 + delta^2)^0.25;
  mOut = k*dp2/(dp2^2 + delta^2)^0.25;
  der(m) = mIn - mOut;
end Volume;
""")
    t = np.linspace(0, 600, 121)
    options = es.Options(rtol=rtol, atol=1e-2 * rtol)
    run = model.simulate(t, outputs=["mIn", "mOut"], options=options)
    half = np.maximum(t - 300, 0) / 30
    flow = 1.5811388300841898 * half / (half**2 + 0.9**2) ** 0.25
    np.testing.assert_allclose(run.value("mIn"), flow, atol=2e-3)
    np.testing.assert_allclose(run.value("mOut"), flow, atol=2e-3)
