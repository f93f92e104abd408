"""Sensitivities from nonzeros are those of long expressions, and those of closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.compiled import kernel

HYBRID = """
model Hybrid "events of all kinds, algebraic unknowns, a sampled signal, a jump, a delay"
  parameter Real k = 1.3;
  parameter Real r = 0.8;
  parameter Real high = 0.9;
  parameter Real b = 0.5;
  Real x(start = 0.2, fixed = true);
  Real y(start = 1, fixed = true);
  Real v(start = 0.3, fixed = true);
  Real z(start = 0.5), w(start = 0.4);
  discrete Real held(start = 0.1, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  z + 0.2*z^3 + b*w = x + 0.1*y;
  w + 0.3*sin(z) = k*x + 0.1*time;
  on = x < 0.4 or pre(on) and x < high;
  der(x) = if on then k*(1 - x) + 0.1*held else -k*x + 0.2*z;
  der(y) = w - 0.5*y + held;
  der(v) = r*y - 0.1*delay(v, 0.2);
  when sample(0.3, 0.5) then
    held = r*z + 0.2*pre(held) + 0.1*time;
  end when;
  when y > 1.4 then
    reinit(y, b*pre(y) + 0.1*k*time);
  end when;
end Hybrid;
"""
TIMES = np.linspace(0.0, 4.0, 81)
TUNERS = ("k", "r", "high", "b", "start(x)")
OUTPUTS = ("x", "y", "v", "z", "held")


@pytest.mark.parametrize("delayed", [True, False])
def test_nonzeros_and_long_expressions_give_the_same(
    monkeypatch: pytest.MonkeyPatch, delayed: bool
) -> None:
    """Every kind of event, with and without a past: the two ways differ by rounding."""
    text = HYBRID if delayed else HYBRID.replace("delay(v, 0.2)", "v")
    model = es.load_model(text)
    long = model.response(TIMES, outputs=OUTPUTS, wrt=TUNERS).at()
    monkeypatch.setattr(kernel, "DIRECT_LIMIT", 0)
    short = es.load_model(text).response(TIMES, outputs=OUTPUTS, wrt=TUNERS).at()
    assert long.ok
    assert short.ok
    assert long.statistics.events > 10
    np.testing.assert_allclose(short.Y, long.Y, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(short.YS, long.YS, rtol=1e-6, atol=1e-8)


def test_many_sampled_cells_have_the_derivatives_of_their_closed_form() -> None:
    """Cells that decay on their own, each sampled: T = exp(-a t), held between the samples."""
    n = 120
    model = es.load_model(f"""
        model Cells
          parameter Integer n = {n};
          parameter Real a[n] = {{0.5 + i/n for i in 1:n}};
          Real T[n](each start = 1, each fixed = true);
          discrete Real Ts[n](each start = 1, each fixed = true);
        equation
          der(T) = -a .* T;
          when sample(0.25, 0.5) then
            Ts = T;
          end when;
        end Cells;
    """)
    tuners = tuple(f"a[{i}]" for i in (1, 40, n))
    outputs = tuple(f"Ts[{i}]" for i in (1, 40, n))
    run = model.response([0.0, 0.5, 1.0], outputs=outputs, wrt=tuners).at()
    assert run.ok
    for row, sampled in enumerate((0.25, 0.75), start=1):
        for k, i in enumerate((1, 40, n)):
            rate = 0.5 + i / n
            assert run.Y[row, k] == pytest.approx(np.exp(-rate * sampled), rel=1e-6)
            expected = np.zeros(3)
            expected[k] = -sampled * np.exp(-rate * sampled)
            np.testing.assert_allclose(run.YS[row, k], expected, rtol=1e-4, atol=1e-9)
