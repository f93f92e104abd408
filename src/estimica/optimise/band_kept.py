"""BandKept: whether a signal stays within its band after a time, without jumps.

A settling time jumps where a later swing just leaves the band. That it is at most T says the same
as |e(t)| ≤ band for all t ≥ T, and this changes smoothly with T and with the tuners: the value at
T, and each extremum after it. A search that bounds these instead sees a cliff before it falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.optimise.dense_signal import DenseSignal
from estimica.optimise.graded import Graded

Vector = npt.NDArray[np.float64]
PEAKS = 4  # extrema that are looked at, the largest ones
MARGIN = 1e-3  # of the band: how far a design stays from its edge
ENTRIES = PEAKS + 1


@dataclass(frozen=True, eq=False)
class Kept:
    """|e|/band - 1 at a time and at the largest extrema after it, with derivatives."""

    values: Vector  # (ENTRIES,)
    slopes: Vector  # (ENTRIES, m) by the tuners
    rates: Vector  # (ENTRIES,) by the time


@dataclass(frozen=True, eq=False)
class BandKept:
    """The error in the window of a criterion, and half the width of its band."""

    error: DenseSignal
    band: Graded

    def after(self, seconds: float) -> Kept:
        """What stands against a settling time of so many seconds; at most zero where it holds."""
        length = self.error.end - self.error.begin
        if seconds >= length:  # as the settling time goes on behind the end
            over = self._shares([self.error.last])
            return self._padded(over.values + 1 - seconds / length, over.slopes, -1 / length)
        begin = self.error.begin + max(seconds, 0.0)
        first, rate = self.error.at(begin), self.error.rate_at(begin)
        peaks = [*self.error.turns_after(begin), self.error.last]
        peaks = sorted(peaks, key=lambda g: -abs(g.value))[:PEAKS]
        found = self._shares([first, *peaks])
        sign = -1.0 if first.value < 0 else 1.0
        own = sign * rate / (self.band.value * (1 - MARGIN)) if seconds >= 0 else 0.0
        return self._padded(found.values, found.slopes, own)

    def _shares(self, errors: list[Graded]) -> Kept:
        band = self.band.times(1 - MARGIN)
        shares = [e.size.over(band) for e in errors]
        values = np.array([s.value - 1 for s in shares], float)
        return Kept(values, np.array([s.gradient for s in shares]), np.zeros(len(values)))

    def _padded(self, values: Vector, slopes: Vector, rate: float) -> Kept:
        missing = ENTRIES - len(values)
        rates = np.zeros(ENTRIES)
        rates[0] = rate
        return Kept(
            np.append(values, np.full(missing, -1.0)),
            np.vstack([slopes, np.zeros((missing, slopes.shape[1]))]),
            rates,
        )
