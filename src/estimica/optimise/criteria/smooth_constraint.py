"""SmoothConstraint: that a criterion is at most a level, said without jumps and kinks.

A settling time jumps where a later swing just leaves the band. That it is at most T says the same
as |e(t)| ≤ band for all t ≥ T, and this changes smoothly with T and with the tuners: the value at
T, and each extremum after it. A search that bounds these instead sees a cliff before it falls.
In the same way a peak is at most a level where each extremum is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.dense_signal import DenseSignal
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient

PEAKS = 4  # extrema that are looked at, the largest ones: another may become the largest meanwhile
#: of the band, how far a design stays from its edge: a swing that just touches is inside for one
#: computation and outside for another
MARGIN = 1e-3
ENTRIES = PEAKS + 1


@dataclass(frozen=True, eq=False)
class SmoothConstraint:
    """What must not be positive, with derivatives."""

    values: Vector  # (ENTRIES,)
    slopes: Vector  # (ENTRIES, m) by the tuners
    rates: Vector  # (ENTRIES,) by the level


class ConstraintSource(Protocol):
    """Knows what stands against a criterion being at most a level."""

    def below(self, level: float, demand: float) -> SmoothConstraint:
        """At most zero where the criterion is at most `level`, which is in its units."""


@dataclass(frozen=True, eq=False)
class BandConstraint:
    """The error in the window of a criterion, and half the width of its band."""

    error: DenseSignal
    band: ValueWithGradient

    def below(self, level: float, demand: float) -> SmoothConstraint:
        """|e|/band - 1 at the settling time asked for, and at the largest extrema after it."""
        seconds = level
        length = self.error.end - self.error.begin
        if seconds >= length:  # as the settling time goes on behind the end
            values, slopes = self._shares([self.error.last])
            return padded(values + 1 - seconds / length, slopes, np.full(1, -1 / length))
        begin = self.error.begin + max(seconds, 0.0)
        first, rate = self.error.at(begin), self.error.rate_at(begin)
        peaks = [*self.error.turns_after(begin), self.error.last]
        peaks = sorted(peaks, key=lambda g: -abs(g.value))[:PEAKS]
        values, slopes = self._shares([first, *peaks])
        sign = -1.0 if first.value < 0 else 1.0
        own = sign * rate / (self.band.value * (1 - MARGIN)) if seconds >= 0 else 0.0
        rates = np.array([own, *np.zeros(len(peaks))])
        # beyond the band its logarithm, in which a decay is straight
        factor = np.where(values > 0, 1 / (1 + np.maximum(values, 0.0)), 1.0)
        values = np.where(values > 0, np.log1p(np.maximum(values, 0.0)), values)
        return padded(values, slopes * factor[:, None], rates * factor)

    def _shares(self, errors: list[ValueWithGradient]) -> tuple[Vector, Vector]:
        band = self.band.times(1 - MARGIN)
        shares = [e.size.over(band) for e in errors]
        return np.array([s.value - 1 for s in shares]), np.array([s.gradient for s in shares])


@dataclass(frozen=True, eq=False)
class PeakConstraint:
    """A signal whose extrema must not lie above a level; on both sides of zero, or upwards."""

    signal: DenseSignal
    both: bool

    def below(self, level: float, demand: float) -> SmoothConstraint:
        """(extremum - level)/demand of the largest ones, the ends among them."""
        ends = [self.signal.first, self.signal.last]
        peaks = [*self.signal.turns_after(self.signal.begin), *ends]
        if self.both:
            peaks = [g.size for g in peaks]
        peaks = sorted(peaks, key=lambda g: -g.value)[:ENTRIES]
        values = np.array([(g.value - level) / demand for g in peaks])
        slopes = np.array([g.gradient / demand for g in peaks])
        return padded(values, slopes, np.full(len(peaks), -1 / demand))


def padded(values: Vector, slopes: Vector, rates: Vector) -> SmoothConstraint:
    """As many entries whatever there is; those that are missing hold.

    So do those whose derivatives are not known, at a jump that the tuners move: a method with
    gradients cannot use them, and the poll sees them.
    """
    known = np.isfinite(slopes).all(axis=1)
    values, slopes, rates = values[known], slopes[known], rates[known]
    missing = ENTRIES - len(values)
    return SmoothConstraint(
        np.append(values, np.full(missing, -1.0)),
        np.vstack([slopes, np.zeros((missing, slopes.shape[1]))]),
        np.append(rates, np.zeros(missing)),
    )
