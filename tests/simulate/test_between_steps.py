"""Between the ends of its steps the solution is as good as at them."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TANK = """
model Tank "filled from t = 20 on: both formulae of the explicit pair are exact at the ends of steps"
  parameter Real rate = 0.16;
  Real level(start = 0.05, fixed = true);
  Real T(start = 293.15, fixed = true);
  Real inflow = if time > 20 then rate else 0;
equation
  der(level) = inflow;
  der(T) = inflow*(293.27 - T)/level;
end Tank;
"""
RTOL = 1e-6


@pytest.mark.parametrize("end", [60.0, 200.0, 900.0, 5000.0])
def test_mixing_in_a_tank_that_is_filled(end):
    model = es.load_model(TANK, "Tank")
    inside = np.linspace(20.001, 30.0, 501)
    times = np.concatenate([[0.0], inside, [end]])
    options = es.Options(rtol=RTOL, atol=1e-2 * RTOL, method="explicit")
    found = model.simulate(times, outputs=["T"], options=options)
    level = 0.05 + 0.16 * (inside - 20.0)
    exact = 293.27 - 0.12 * 0.05 / level
    off = np.abs(found.value("T")[1:-1] - exact)
    assert off.max() < 5 * RTOL * 293.0


def test_steps_that_need_no_look_are_not_paid_for():
    text = "model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;"
    found = es.load_model(text, "M").simulate(
        np.linspace(0.0, 10.0, 11), options=es.Options(rtol=1e-8, method="explicit")
    )
    counts = found.statistics
    assert counts["evaluations"] <= 1.1 * 6 * (counts["steps"] + counts["rejected"])
