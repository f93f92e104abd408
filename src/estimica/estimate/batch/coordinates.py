"""Coordinates of many members at once: unknowns of like size, their bounds, and their priors.

Arrays only, of NumPy or of another module with its functions, so that a search can stay where its
simulations are; the same rules as `estimate.unknowns`, which stays the one for a single fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

#: an array of the module that a batch works with
Array = Any
#: relative, of coordinates that lie on a bound: as in `estimate.unknowns`
ROUNDING = 1e-14
#: relative, of coordinates that count as at a bound when a fit is judged: as in `infer.refit`
NEAR = 1e-9
TWO_DECADES = 2 * math.log(10.0)
VALUE, LOG, LOG10 = 0, 1, 2  # what the prior of an unknown is about


@dataclass(frozen=True, eq=False)
class Coordinates:
    """value = scale · q, or exp(q) on a logarithmic scale; a prior with an infinite σ is none."""

    scale: Array  # (n,)
    log: Array  # (n,), bool
    lower: Array  # (n,), of coordinates
    upper: Array  # (n,)
    prior_mean: Array  # (n,)
    prior_sigma: Array  # (n,)
    prior_on: Array  # (n,), VALUE, LOG or LOG10
    xp: Any = np  # the module that the arrays are of

    def on(self, xp: Any) -> Coordinates:
        """The same with arrays of another module."""
        moved = {f.name: xp.asarray(getattr(self, f.name)) for f in fields(self) if f.name != "xp"}
        return replace(self, **moved, xp=xp)

    @property
    def count(self) -> int:
        """How many unknowns there are."""
        return int(self.scale.shape[0])

    def values(self, q: Array) -> Array:
        """Physical values (L, n)."""
        xp = self.xp
        with np.errstate(over="ignore"):
            return xp.where(self.log, xp.exp(xp.where(self.log, q, 0.0)), q * self.scale)

    def slopes(self, values: Array) -> Array:
        """d(value)/d(coordinate) at physical values."""
        return self.xp.where(self.log, values, self.scale)

    def clipped(self, q: Array) -> Array:
        """The nearest coordinates within the bounds; what rounding leaves beside one is on it."""
        xp = self.xp
        near = ROUNDING * xp.maximum(xp.abs(q), 1.0)
        raised = xp.where(q <= self.lower + near, self.lower, q)
        return xp.where(q >= self.upper - near, self.upper, raised)

    def reach(self, q: Array) -> Array:
        """How far one step may go: tenfold, or two decades on a logarithmic scale."""
        xp = self.xp
        return xp.where(self.log, TWO_DECADES, 10 * xp.maximum(xp.abs(q), 1.0))

    def is_beyond(self, q: Array, size: float) -> Array:
        """Which unknowns are larger than `size` times their typical one; decades are not far."""
        return ~self.log & (self.xp.abs(q) > size)

    def at_bound(self, q: Array) -> Array:
        """Which unknowns are at a bound, rounding aside."""
        near = NEAR * self.xp.maximum(1.0, self.xp.abs(q))
        return (q <= self.lower + near) | (q >= self.upper - near)

    def priors(self, values: Array, slopes: Array) -> tuple[Array, Array]:
        """(distance, its derivative by the coordinate), zero for unknowns without a prior."""
        xp = self.xp
        some = xp.isfinite(self.prior_sigma)
        logarithmic = some & (self.prior_on != VALUE)
        unit = xp.where(self.prior_on == LOG10, math.log(10.0), 1.0)
        positive = xp.where(logarithmic & (values > 0), values, 1.0)
        seen = xp.where(logarithmic, xp.log(positive) / unit, values)
        seen = xp.where(logarithmic & ~(values > 0), math.inf, seen)  # no such value is possible
        by_value = xp.where(logarithmic, 1 / (positive * unit), 1.0)
        sigma = xp.where(some, self.prior_sigma, 1.0)
        distance = xp.where(some, (seen - self.prior_mean) / sigma, 0.0)
        return distance, xp.where(some, by_value * slopes / sigma, 0.0)
