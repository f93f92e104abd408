"""Sensitivities as curves in the unit of the output."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.simulate.trajectory import sensitivity_panels


def test_sensitivities_are_scaled_by_the_parameter_unless_it_is_zero() -> None:
    time = np.linspace(0.0, 1.0, 5)
    jacobian = np.ones((5, 1, 2))
    shown = sensitivity_panels(time, jacobian, [("y", "V")], [("R", 2.0), ("w", 0.0)])
    first, second = shown.panels[0].curves
    assert (first.name, second.name) == ("R·∂y/∂R", "∂y/∂w")
    assert first.value == pytest.approx(2.0)
    assert second.value == pytest.approx(1.0)
