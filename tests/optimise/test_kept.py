"""Bounds of settling times and peaks, said without jumps and kinks."""

from __future__ import annotations

import numpy as np
import pytest

from estimica.optimise.criteria.dense_signal import DenseSignal
from estimica.optimise.criteria.panels import Panels
from estimica.optimise.criteria.smooth_constraint import (
    ENTRIES,
    MARGIN,
    BandConstraint,
    PeakConstraint,
)
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient

END = 12.0


def swing(decay: float) -> DenseSignal:
    """exp(-decay·t)·cos(3t) with its derivative by the decay."""
    panels = Panels.of([0.0, END], 60)
    times, places = panels.sampling
    values = np.exp(-decay * times) * np.cos(3 * times)
    return DenseSignal.of(panels, values[places], (-times * values)[places][..., None])


def band(width: float) -> ValueWithGradient:
    return ValueWithGradient(width, np.zeros(1))


def settling(decay: float, width: float) -> float:
    times = np.linspace(0, END, 400_001)
    outside = np.abs(np.exp(-decay * times) * np.cos(3 * times)) > width
    return float(times[np.flatnonzero(outside)[-1]])


@pytest.mark.parametrize("decay", [0.3, 0.5, 0.8, 1.1])
def test_the_bound_holds_exactly_from_the_settling_time_on(decay: float) -> None:
    keeper = BandConstraint(swing(decay), band(0.05 / (1 - MARGIN)))
    own = settling(decay, 0.05)
    assert keeper.below(own + 1e-3, 1.0).values.max() <= 0
    assert keeper.below(own - 1e-3, 1.0).values.max() > 0


def test_the_bound_does_not_jump_where_the_settling_time_does() -> None:
    decays = np.linspace(0.4, 0.6, 201)
    times = [settling(d, 0.05) for d in decays]
    bounds = [BandConstraint(swing(d), band(0.05)).below(4.5, 1.0).values.max() for d in decays]
    assert np.abs(np.diff(times)).max() > 0.3
    assert np.abs(np.diff(bounds)).max() < 0.02


@pytest.mark.parametrize("seconds", [0.7, 3.3, 6.0, 14.0])
def test_bounds_have_the_derivatives_that_differences_find(seconds: float) -> None:
    def at(decay: float, level: float) -> np.ndarray:
        return BandConstraint(swing(decay), band(0.05)).below(level, 1.0).values

    found = BandConstraint(swing(0.5), band(0.05)).below(seconds, 1.0)
    assert found.values.shape == (ENTRIES,)
    step = 1e-6
    by_decay = (at(0.5 + step, seconds) - at(0.5 - step, seconds)) / (2 * step)
    by_level = (at(0.5, seconds + step) - at(0.5, seconds - step)) / (2 * step)
    assert found.slopes[:, 0] == pytest.approx(by_decay, rel=1e-4, abs=1e-6)
    assert found.rates == pytest.approx(by_level, rel=1e-4, abs=1e-6)


def test_all_large_extrema_are_bounded_where_a_peak_is() -> None:
    found = PeakConstraint(swing(0.3), both=True).below(0.5, 0.25)
    assert found.values[0] == pytest.approx((1.0 - 0.5) / 0.25)
    # at the turns tan(3t) = -decay/3, one every π/3
    first = (np.pi - np.arctan(0.1)) / 3
    size = np.exp(-0.3 * first) * abs(np.cos(3 * first))
    assert found.values[1] == pytest.approx((size - 0.5) / 0.25, rel=1e-8)
    assert found.rates == pytest.approx(np.full(ENTRIES, -4.0))
    upwards = PeakConstraint(swing(0.3), both=False).below(0.5, 0.25)
    assert upwards.values[1] < found.values[1]
