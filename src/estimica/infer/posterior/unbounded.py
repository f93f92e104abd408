"""Unbounded: coordinates of the unknowns that know no bounds, so that a sampler may step freely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.unknowns import Unknowns

#: how near a bound a chain may begin, as a share of the range, or of the coordinate's size where
#: there is one bound only: beyond it the density in these coordinates is flat, and a chain that
#: begins there needs its whole warm-up to come back
INSIDE = 0.01


@dataclass(frozen=True, eq=False)
class Unbounded:
    """q = z without bounds, lower + e^z, upper − e^z, or lower + (upper − lower)/(1 + e^-z)."""

    lower: Vector
    upper: Vector

    @staticmethod
    def of(unknowns: Unknowns) -> Unbounded:
        """For these unknowns; on a logarithmic scale a lower bound of zero is none."""
        open_ = np.array([u.log and u.min <= 0 for u in unknowns.items], bool)
        return Unbounded(np.where(open_, -np.inf, unknowns.lower), unknowns.upper)

    @property
    def both(self) -> Flags:
        """Which have two bounds."""
        return np.isfinite(self.lower) & np.isfinite(self.upper)

    @property
    def bounded(self) -> Flags:
        """Which have a bound."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    def inside(self, q: Vector) -> Vector:
        """The nearest coordinates that are not at a bound."""
        range_ = np.where(self.both, self.upper - self.lower, np.maximum(np.abs(q), 1.0))
        near = INSIDE * range_
        return np.minimum(np.maximum(q, self.lower + near), self.upper - near)

    def z(self, q: Vector) -> Vector:
        """Free coordinates of coordinates within the bounds."""
        found = q.copy()
        both, low, high = self._kinds
        share = (q[both] - self.lower[both]) / (self.upper[both] - self.lower[both])
        found[both] = np.log(share) - np.log1p(-share)
        found[low] = np.log(q[low] - self.lower[low])
        found[high] = np.log(self.upper[high] - q[high])
        return found

    def q(self, z: Vector) -> tuple[Vector, Vector, float, Vector]:
        """(q, dq/dz, Σ log|dq/dz|, its gradient) at free coordinates."""
        q, slope = z.copy(), np.ones_like(z)
        measure, gradient = 0.0, np.zeros_like(z)
        both, low, high = self._kinds
        with np.errstate(over="ignore"):
            share = 1 / (1 + np.exp(-z[both]))
            rest = 1 / (1 + np.exp(z[both]))
            size_low, size_high = np.exp(z[low]), np.exp(z[high])
        range_ = self.upper[both] - self.lower[both]
        q[both] = self.lower[both] + range_ * share
        slope[both] = range_ * share * rest
        q[low], slope[low] = self.lower[low] + size_low, size_low
        q[high], slope[high] = self.upper[high] - size_high, -size_high
        # log(share) and log(rest) without the cancellation far out
        logs = -np.logaddexp(0, -z[both]) - np.logaddexp(0, z[both])
        measure = float(np.sum(np.log(range_) + logs) + z[low].sum() + z[high].sum())
        gradient[both] = rest - share
        gradient[low] = gradient[high] = 1.0
        return q, slope, measure, gradient

    @property
    def _kinds(
        self,
    ) -> tuple[Flags, Flags, Flags]:
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        return low & high, low & ~high, high & ~low
