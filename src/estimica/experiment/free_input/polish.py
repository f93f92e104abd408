"""Polish: single pieces moved to a bound or to a neighbour's value, while that is better.

The best inputs often lie on their bounds most of the time; a search by gradients ends at one of
many such courses, of which neighbours may be better.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.free_input.problem.search import Search
from estimica.experiment.free_input.starts import within

SWEEPS = 3
WORTH = 1e-5  # of the criterion, below which a move is not a gain


def polished(search: Search, u: Vector, kept: Callable[[Vector], bool], until: float) -> Vector:
    """`u`, or a better course near it that keeps all limits."""
    plan, limits = search.plan, search.limits
    if np.isfinite(limits.rate).any():
        return u  # one piece alone can hardly move
    best, value = u, search.value(u)
    pieces = len(plan.stamps)
    for _ in range(SWEEPS):
        before = value
        for j in range(plan.n):
            k, piece = divmod(j, pieces)
            near = [best[j + d] for d in (-1, 1) if 0 <= piece + d < pieces]
            for level in {*near, limits.lower[k], limits.upper[k]}:
                if not np.isfinite(level) or abs(level - best[j]) < 1e-3 * limits.reach[k]:
                    continue
                if perf_counter() > until:
                    return best
                moved = best.copy()
                moved[j] = level
                moved = within(plan, limits, moved)
                found = search.value(moved)
                if found < value - WORTH and kept(moved):
                    best, value = moved, found
        if before - value < 10 * WORTH:
            break
    return best
