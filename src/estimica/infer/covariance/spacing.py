"""Spacing: what a lag means where stamps are not quite regular, or samples are missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector

JITTER = 0.2  # of a step, by which a stamp may be off its grid
REGULAR = 0.95  # share of the steps that must lie on it
WIDEST = 20  # grid places for each sample, at most


@dataclass(frozen=True, eq=False)
class Spacing:
    """Places of samples on a grid of `step`; where there is no grid, their numbers."""

    places: Indices  # rising, from 0
    step: float  # seconds of one lag; where stamps are irregular, in the median
    regular: bool
    missing: int  # places without a sample
    shortest: float
    longest: float
    axis: str = "time"  # what samples are ordered by
    unit: str = "s"

    @property
    def size(self) -> int:
        """Places on the grid."""
        return int(self.places[-1]) + 1 if len(self.places) else 0

    def spread(self, values: Vector) -> Vector:
        """Values at their places, zero where there is no sample."""
        found = np.zeros((self.size, *values.shape[1:]))
        found[self.places] = values
        return found

    @property
    def in_words(self) -> str:
        """What one lag is."""
        if self.axis != "time":
            return f"a lag counts points in the order of {self.axis}"
        if self.regular:
            gaps = f"; {self.missing} samples are missing and left out" if self.missing else ""
            return f"one lag is {self.step:.4g} {self.unit}{gaps}"
        return (
            f"stamps are irregular ({self.shortest:.3g} … {self.longest:.3g} {self.unit} apart): "
            f"a lag counts samples, {self.step:.3g} {self.unit} in the median"
        )


def spacing(time: Vector, axis: str = "time") -> Spacing:
    """The grid of rising stamps, where all but a few gaps are multiples of one step."""
    n = len(time)
    if n < 2:
        return Spacing(np.arange(n), 1.0, True, 0, 0.0, 0.0, axis)
    steps = np.diff(time)
    step = float(np.median(steps))
    ends = float(steps.min()), float(steps.max())
    if axis == "time":
        # where most samples are missing, the median step is a multiple of the grid's
        for tried in (step, float(np.quantile(steps, 0.05))):
            places = _places(steps, tried)
            if places is not None:
                return Spacing(places, tried, True, int(places[-1]) + 1 - n, *ends, axis)
    apart = steps[steps > 0]  # replicates have one stamp
    step = float(np.median(apart)) if len(apart) else 1.0
    return Spacing(np.arange(n), step, False, 0, *ends, axis)


def _places(steps: Vector, step: float) -> Indices | None:
    """Places on a grid of `step`, if the samples lie on one."""
    if step <= 0:
        return None
    counts = np.round(steps / step)
    near = (np.abs(steps / step - counts) <= JITTER) & (counts >= 1)
    places = np.concatenate([[0], np.cumsum(np.maximum(counts, 1))]).astype(np.int64)
    fits = near.mean() >= REGULAR and places[-1] < WIDEST * (len(steps) + 1)
    return places if fits else None
