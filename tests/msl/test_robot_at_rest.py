"""Axes of the r3 robot that stick while another one breaks loose: what moves them is rounding."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]

ROBOT = "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.FullRobot"
AXES = range(1, 7)


@pytest.mark.parametrize(
    "others", [(-60.0, 0.0, -110.0, 0.0), (0.0, 0.0, 0.0, 0.0)], ids=["bent", "zero"]
)
def test_axes_that_stick_beside_one_that_breaks_loose_do_not_chatter(others):
    """Axis 2 leaves 90 degrees with 15 kg; such runs ended at 0.38 ms, when it breaks loose."""
    held = dict(zip((1, 4, 5, 6), others, strict=True)) | {3: 0.0}
    angles = {f"{end}Angle{k}": held.get(k, 0.0) for end in ("start", "end") for k in AXES}
    given = angles | {"startAngle2": 90.0, "mLoad": 15.0, "kp2": 2.0, "ks2": 1.0, "Ts2": 0.1}
    run = es.load_model(ROBOT).simulate(
        np.linspace(0.0, 0.02, 21),
        parameters=given,
        outputs=["mechanics.r2.w", "mechanics.r6.w"],
        options=es.Options(rtol=1e-8),
    )
    assert run.value("mechanics.r2.w")[-1] < -0.1  # 15 rad/s² for 20 ms are 0.3 rad/s
    assert np.abs(run.value("mechanics.r6.w")).max() < 1e-6


def test_axes_that_stick_leave_the_sensitivities_of_one_that_moves_alone():
    """They were 1e10 times too large: the speed of an axis that sticks changes its sign by
    rounding, and that moves with the tuners by any time."""
    zero = {f"{end}Angle{k}": 0.0 for end in ("start", "end") for k in AXES}
    given = zero | {"startAngle2": 90.0, "mLoad": 15.0, "kp2": 2.0, "ks2": 1.0, "Ts2": 0.1}
    times, step = np.linspace(0.0, 0.1, 11), 1e-3
    model, options = es.load_model(ROBOT), es.Options(rtol=1e-7)
    found = model.sensitivities(
        times, parameters=given, outputs=["mechanics.r2.w"], wrt=["kp2", "ks2"], options=options
    )
    for name in ("kp2", "ks2"):
        up, down = (
            model.simulate(
                times,
                parameters=given | {name: given[name] * (1 + sign * step)},
                outputs=["mechanics.r2.w"],
                options=options,
            ).value("mechanics.r2.w")
            for sign in (1, -1)
        )
        differences = (up - down) / (2 * step * given[name])
        slope = found.derivative("mechanics.r2.w", name)
        assert np.abs(slope - differences).max() < 1e-4 * np.abs(differences).max()
