"""A level that is held at a rim leaves it again when the net inflow turns."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TANK = """
model Tank "A tank that spills what is above its rim"
  Real x(start = 9.9, fixed = true) "Level";
  Real z(start = 2, fixed = true) "Inflow";
  Real f = z - 0.1*x "Net inflow";
equation
  der(z) = -0.5*z;
  der(x) = if x > 10 and f > 0 then 0 else f;
end Tank;
"""


def level(t: np.ndarray, z0: float) -> np.ndarray:
    """The level after the inflow has fallen to one, at t = 2 log(z0)."""
    turn = 2 * np.log(z0)
    fed = z0 * np.exp(-0.1 * t) * (np.exp(-0.4 * turn) - np.exp(-0.4 * t)) / 0.4
    return 10 * np.exp(-0.1 * (t - turn)) + fed


@pytest.mark.parametrize("rtol", [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
def test_level_leaves_the_rim_whatever_rounding_says(rtol, tmp_path):
    (tmp_path / "Tank.mo").write_text(TANK, encoding="utf-8")
    model = es.load_model(tmp_path / "Tank.mo")
    times = np.linspace(0.0, 3.0, 31)
    free = times > 2 * np.log(2.0)
    run = model.sensitivities(times, wrt=["x", "z"], outputs=["x"], options=es.Options(rtol=rtol))
    np.testing.assert_allclose(run.value("x")[free], level(times[free], 2.0), rtol=20 * rtol)
    # what stood in the tank before it was full does not matter any more
    np.testing.assert_allclose(run.derivative("x", "x")[free], 0.0, atol=1e-12)
    # at the turn the net inflow is zero, so that its time does not matter either
    wanted = np.exp(-0.1 * times) * (2.0**-0.8 - np.exp(-0.4 * times)) / 0.4
    np.testing.assert_allclose(
        run.derivative("x", "z")[free], wanted[free], rtol=1e3 * rtol, atol=1e-9
    )


@pytest.mark.parametrize("z0", np.linspace(1.5, 4.0, 26))
def test_level_leaves_the_rim_at_whatever_time(z0, tmp_path):
    (tmp_path / "Tank.mo").write_text(TANK, encoding="utf-8")
    model = es.load_model(tmp_path / "Tank.mo")
    times = np.linspace(0.0, 5.0, 26)
    free = times > 2 * np.log(z0)
    run = model.simulate(times, start={"z": float(z0)}, outputs=["x"])
    np.testing.assert_allclose(run.value("x")[free], level(times[free], z0), rtol=1e-5)
