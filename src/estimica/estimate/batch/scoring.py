"""Scoring of many members at once: from sums of squares, output by output, to cost and weights.

`oe` adds them up; `ml` has Σ [square/r + N log r] with the variance r of each noise level, given or
the best one for the squares at hand. As in `estimate.criteria.scoring`, for one fit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from estimica.estimate.batch.coordinates import Array


@dataclass(frozen=True, eq=False)
class BatchScoring:
    """The blocks (outputs of cases) and the noise levels that they have.

    Where members leave out samples of their own, what follows from the samples has a row for each.
    """

    likelihood: bool  # `ml`; else `oe`
    level: Array  # (B, K), 1 where a block has a level that is estimated
    known: Array  # (B,), variances that are given; 1 where they are not, and with `oe`
    count: Array  # (B,) or (L, B), samples
    constant: float | Array  # what the cost of every member, or of each, has besides
    independent: float | Array  # samples that tell of the noise level, likewise
    xp: Any = np

    def on(self, xp: Any) -> BatchScoring:
        """The same with arrays of another module."""
        moved = {
            f.name: xp.asarray(getattr(self, f.name))
            for f in fields(self)
            if f.name in ("level", "known", "count")
        }
        return replace(self, **moved, xp=xp)

    def of(self, members: Array) -> BatchScoring:
        """The same for some of the members."""
        if self.count.ndim == 1:
            return self
        own = {n: getattr(self, n)[members] for n in ("count", "constant", "independent")}
        return replace(self, **own)

    def score(self, square: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """(cost (L,), 1/r of every block (L, B), variances of the levels (L, K)).

        `square` is (L, B); `low` and `high` (L, K) are bounds of the variances.
        """
        xp = self.xp
        if not self.likelihood:
            return square.sum(axis=1), xp.ones_like(square), square[:, :0]
        estimated = self.level.sum(axis=1) > 0
        samples = self.count @ self.level
        # a level of which no sample is left has no part in the cost
        free = xp.where(samples > 0, square @ self.level / xp.maximum(samples, 1.0), 1.0)
        variance = xp.minimum(xp.maximum(free, low), high)
        r = xp.where(estimated, variance @ self.level.T, self.known)
        cost = (square / r + self.count * xp.log(r)).sum(axis=1) + self.constant
        return cost, 1 / r, variance
