"""WhiteFrame: coordinates of unknowns in which white noise scatters alike in all directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector

#: eigenvalues are squares: below this share of the largest they are rounding
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class WhiteFrame:
    """inwardᵀ W inward = 1 and W = outward outwardᵀ, for the scatter W of white noise.

    Directions of which the data say nothing have no place in it. Which ones those are does not
    depend on the units of the unknowns.
    """

    inward: Vector  # (n, k)
    outward: Vector  # (n, k)

    @staticmethod
    def of(white: Vector) -> WhiteFrame:
        """The frame of W (n, n)."""
        unit = np.sqrt(np.diag(white))
        unit = np.where(unit > 0, unit, 1.0)[:, None]
        values, vectors = np.linalg.eigh(white / (unit * unit.T))
        large = values > ROUNDING * values[-1] if len(values) else np.zeros(0, bool)
        vectors, sizes = vectors[:, large], np.sqrt(values[large])
        return WhiteFrame(vectors / sizes / unit, vectors * sizes * unit)

    def inside(self, scatter: Vector) -> Vector:
        """A scatter (…, n, n) of the unknowns, or several, relative to that of white noise."""
        inner = self.inward.T @ scatter @ self.inward
        return np.asarray((inner + np.swapaxes(inner, -1, -2)) / 2)

    def outside(self, inner: Vector) -> Vector:
        """The scatter (n, n) of the unknowns that looks like this inside."""
        return np.asarray(self.outward @ inner @ self.outward.T)
