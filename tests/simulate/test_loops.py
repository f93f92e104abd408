"""Loops that turn fully round and bodies that tumble: whichever variables are taken as states, they
fail somewhere on the way, so that all of them are kept and projected."""

from __future__ import annotations

import numpy as np

import estimica as es

OPTIONS = es.Options(rtol=1e-8)
FOURBAR = """
model Fourbar "crank, rod and rocker, by their angles, with inertias about their pivots"
  parameter Real l0 = 0.7, l1 = 0.2, l2 = 0.6, l3 = 0.5;
  parameter Real J1 = 1, J2 = 0.3, J3 = 0.5;
  Real a(start = 0.5, fixed = true), b(start = 0.6), d(start = 1.5);
  Real wa(start = 5, fixed = true), wb, wd, f[2] "force in the joint of rod and rocker";
equation
  wa = der(a);
  wb = der(b);
  wd = der(d);
  l1*cos(a) + l2*cos(b) = l0 + l3*cos(d);
  l1*sin(a) + l2*sin(b) = l3*sin(d);
  J1*der(wa) = l1*(-sin(a)*f[1] + cos(a)*f[2]);
  J2*der(wb) = l2*(-sin(b)*f[1] + cos(b)*f[2]);
  J3*der(wd) = -l3*(-sin(d)*f[1] + cos(d)*f[2]);
end Fourbar;
"""


def _angles(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rod and rocker by the law of cosines, from the end of the crank to the rocker's pivot."""
    x, y = 0.7 - 0.2 * np.cos(a), -0.2 * np.sin(a)
    way, r = np.arctan2(y, x), np.hypot(x, y)
    b = way + np.arccos((r**2 + 0.6**2 - 0.5**2) / (2 * r * 0.6))
    return b, np.arctan2(0.2 * np.sin(a) + 0.6 * np.sin(b), 0.2 * np.cos(a) + 0.6 * np.cos(b) - 0.7)


def test_a_linkage_turns_fully_round() -> None:
    """Its energy gives the time of an angle: t = ∫ sqrt(J(a)/2E) da, J the inertia that the crank
    feels."""
    a = np.linspace(0.5, 0.5 + 10 * np.pi, 200_001)
    b, d = _angles(a)
    h = a[1] - a[0]
    rates = [np.gradient(np.unwrap(angle), h, edge_order=2) for angle in (b, d)]
    J = 1 + 0.3 * rates[0] ** 2 + 0.5 * rates[1] ** 2
    slope = np.sqrt(J / (J[0] * 5**2))
    time = np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) / 2 * h)])
    t = np.linspace(0, time[-1] * 0.99, 60)
    run = es.load_model(FOURBAR).simulate(t, outputs=["a", "b", "d"], options=OPTIONS)
    np.testing.assert_allclose(run.value("a"), np.interp(t, time, a), rtol=1e-5)
    for name, exact in zip(("b", "d"), _angles(run.value("a")), strict=True):
        np.testing.assert_allclose(np.exp(1j * run.value(name)), np.exp(1j * exact), atol=1e-7)


TOP = """
model Top "free and symmetric; its orientation is a quaternion of length one"
  parameter Real I[3] = {2, 2, 1};
  Real Q[4](start = {0, 0, 0, 1}), w[3](start = {3, 0.2, 1}, each fixed = true);
initial equation
  Q[1:3] = {0, 0, 0};
equation
  Q*Q = 1;
  w[1] = 2*({Q[4], Q[3], -Q[2], -Q[1]}*der(Q));
  w[2] = 2*({-Q[3], Q[4], Q[1], -Q[2]}*der(Q));
  w[3] = 2*({Q[2], -Q[1], Q[4], -Q[3]}*der(Q));
  I[1]*der(w[1]) + (I[3] - I[2])*w[2]*w[3] = 0;
  I[2]*der(w[2]) + (I[1] - I[3])*w[3]*w[1] = 0;
  I[3]*der(w[3]) + (I[2] - I[1])*w[1]*w[2] = 0;
end Top;
"""


def test_a_free_top_tumbles_past_every_axis() -> None:
    """Euler's equations: w1 + i·w2 turns at (I3 - I1)/I1·w3; angular momentum stays in space."""
    t = np.linspace(0, 20, 201)
    names = [*(f"Q[{k}]" for k in (1, 2, 3, 4)), *(f"w[{k}]" for k in (1, 2, 3))]
    run = es.load_model(TOP).simulate(t, outputs=names, options=OPTIONS)
    Q = np.array([run.value(n) for n in names[:4]])
    w = np.array([run.value(n) for n in names[4:]])
    np.testing.assert_allclose(w[0] + 1j * w[1], (3 + 0.2j) * np.exp(-0.5j * t), atol=1e-6)
    np.testing.assert_allclose((Q**2).sum(axis=0), 1.0, atol=1e-12)
    momentum = np.array([[2.0], [2.0], [1.0]]) * w
    v, s = Q[:3], Q[3]
    turned = (2 * s**2 - 1) * momentum + 2 * (v * momentum).sum(axis=0) * v
    turned = turned + 2 * s * np.cross(v, momentum, axis=0)
    np.testing.assert_allclose(turned - momentum[:, :1], 0.0, atol=1e-5)
