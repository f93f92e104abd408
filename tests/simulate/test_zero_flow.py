"""Equations that leave unknowns open for a while: flows that stand still, brakes that share a load.

All runs are compared with closed forms.
"""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

OPTIONS = es.Options(rtol=1e-9, atol=1e-11)

CHAIN = """
model Chain "ambient, adiabatic pump, volume, ambient: H is carried by the flow m"
  parameter Real T1 = 300, T2 = 350, C = 2;
  Real m, H, h1, hp, h2, H2, T(start=320, fixed=true);
equation
  m = {flow};
  -H = semiLinear(-m, h1, T1);
  H = semiLinear(m, h1, hp);
  -H = semiLinear(-m, h2, hp);
  H = semiLinear(m, h2, T);
  H2 = semiLinear(m, T, T2);
  C*der(T) = H - H2;
end Chain;
"""


def test_a_flow_that_turns_round_takes_its_temperature_from_the_other_side():
    model = es.load_model(CHAIN.format(flow="1 - time"))
    t = np.linspace(0, 3, 61)  # the flow is exactly zero at one of them
    run = model.simulate(t, outputs=["T", "hp"], options=OPTIONS)
    until = np.minimum(t, 1)
    T = 300 + 20 * np.exp(-(until - until**2 / 2) / 2)
    T = np.where(t <= 1, T, 350 + (T[-1] - 350) * np.exp(-((t - 1) ** 2) / 4))
    np.testing.assert_allclose(run.value("T"), T, rtol=1e-7)
    np.testing.assert_allclose(run.value("hp"), np.where(t <= 1, 300, T), rtol=1e-7)


def test_a_run_may_begin_without_flow():
    model = es.load_model(CHAIN.format(flow="time"))
    t = np.linspace(0, 3, 31)
    run = model.sensitivities(t, wrt=["T1", "C"], outputs=["T", "h2"], options=OPTIONS)
    decay = np.exp(-(t**2) / 4)
    np.testing.assert_allclose(run.value("T"), 300 + 20 * decay, rtol=1e-8)
    np.testing.assert_allclose(run.value("h2"), 300, rtol=1e-12)
    np.testing.assert_allclose(run.derivative("T", "T1"), 1 - decay, atol=1e-7)
    np.testing.assert_allclose(run.derivative("T", "C"), 20 * decay * t**2 / 8, atol=1e-6)


def test_a_junction_without_flow_keeps_the_last_mixture():
    model = es.load_model("""
model Junction
  parameter Real T1 = 300, T2 = 360, C = 3;
  Real m1, m2, H1, H2, H3, hn, T(start=280, fixed=true);
equation
  m2 = if time < 1 then 1 - time elseif time < 2 then 0 else time - 2;
  m1 = 2*m2;
  H1 = semiLinear(m1, T1, hn);
  H2 = semiLinear(m2, T2, hn);
  H3 = semiLinear(m1 + m2, hn, T);
  H3 = H1 + H2;
  C*der(T) = H3 - (m1 + m2)*T;
end Junction;
""")
    t = np.linspace(0, 4, 81)
    run = model.sensitivities(t, wrt=["T1"], outputs=["T", "hn"], options=OPTIONS)
    first, second = np.minimum(t, 1), np.maximum(t - 2, 0)
    passed = 3 * (first - first**2 / 2 + second**2 / 2)
    mixture, decay = (2 * 300 + 360) / 3, np.exp(-passed / 3)
    np.testing.assert_allclose(run.value("T"), mixture + (280 - mixture) * decay, rtol=1e-8)
    np.testing.assert_allclose(run.value("hn"), mixture, rtol=1e-8)
    np.testing.assert_allclose(run.derivative("T", "T1"), 2 / 3 * (1 - decay), atol=1e-7)


@pytest.mark.parametrize("method", ["auto", "implicit"])
def test_two_brakes_that_hold_one_shaft_share_its_torque(method):
    model = es.load_model("""
model Brakes "each gives a torque where it slips, and none where it holds: there the speed stays"
  parameter Real J = 2, d = 0.3, tau = 5;
  Real w(start=1, fixed=true), a, f1, f2;
equation
  der(w) = a;
  J*a = tau*time - f1 - f2;
  0 = if time >= 1 and time < 2 then a else f1 - d*w;
  0 = if time >= 1 and time < 2 then a else f2 - d*w;
end Brakes;
""")
    t = np.linspace(0, 3, 61)
    options = es.Options(rtol=1e-9, atol=1e-11, method=method)
    run = model.simulate(t, outputs=["w", "f1", "f2"], options=options)

    def slipping(s, w0, s0):
        """The solution of 2 w' = 5 s - 0.6 w from w0 at s0."""
        special = lambda s: 5 / 0.6 * (s - 2 / 0.6)  # noqa: E731
        return special(s) + (w0 - special(s0)) * np.exp(-0.3 * (s - s0))

    held = slipping(1.0, 1.0, 0.0)
    w = np.where(t < 1, slipping(t, 1.0, 0.0), np.where(t < 2, held, slipping(t, held, 2.0)))
    np.testing.assert_allclose(run.value("w"), w, rtol=1e-7)
    holding = (t >= 1) & (t < 2)
    total = run.value("f1") + run.value("f2")
    np.testing.assert_allclose(total[holding], 5 * t[holding], rtol=1e-7)


def test_brakes_that_contradict_one_another_are_told():
    model = es.load_model("""
model Contradiction
  Real w(start=1, fixed=true), a, f1, f2;
equation
  der(w) = a;
  a = -f1 - f2;
  0 = if time >= 1 then a - 1 else f1 - w;
  0 = if time >= 1 then a - 2 else f2 - w;
end Contradiction;
""")
    with pytest.raises(es.SimulationError, match=r"R105.*time 1.*singular"):
        model.simulate(np.linspace(0, 2, 5), options=OPTIONS)
