"""Explore: designs far from the best one, of which the most promising are further starts.

A settling time jumps from swing to swing: each has a valley of its own, and a search that goes
downhill stays in the first one. A seeded sample of the whole range sees others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from estimica.estimate.unknowns import Unknowns
from estimica.optimise.poll import sizes
from estimica.optimise.programme import Programme, Terms

Vector = npt.NDArray[np.float64]
DESIGNS = 10  # that are tried, for each tuner
STARTS = 3  # of them that a search begins at
DECADE = 10.0  # how far to look where there is no bound, and from which range on by decades
STIFF = 20.0  # what it costs to exceed a limit by its demand, as with elastic limits
APART = 0.2  # of the range, in at least one coordinate: starts that are not the same


def promising(programme: Programme, seed: int) -> list[Vector]:
    """The best designs of a sample, which are not beside each other."""
    best = programme.best
    assert best is not None
    ranges = Ranges(programme.unknowns, best.point.q)
    tried: list[tuple[float, Vector]] = []
    with programme.patient():
        for unit in _sample(DESIGNS * len(best.point.q), len(best.point.q), seed):
            terms = programme.at(ranges.coordinates(unit))
            if terms is not None:
                tried.append((_score(programme, terms), unit))
    chosen: list[Vector] = []
    for _, unit in sorted(tried, key=lambda pair: pair[0]):
        if all(np.abs(unit - c).max() > APART for c in chosen):
            chosen.append(unit)
        if len(chosen) == STARTS:
            break
    return [ranges.coordinates(unit) for unit in chosen]


def _score(programme: Programme, terms: Terms) -> float:
    return programme.cost(terms) + STIFF * terms.violation


def _sample(count: int, n: int, seed: int) -> Vector:
    """A Latin hypercube: every share of every range once."""
    rng = np.random.default_rng(seed)
    strata = np.array([rng.permutation(count) for _ in range(n)]).T
    found: Vector = (strata + rng.random((count, n))) / count
    return found


class Ranges:
    """The unit cube over the bounds, by decades where they span one; where there is no bound,
    a decade around a design."""

    def __init__(self, unknowns: Unknowns, q: Vector) -> None:
        near, far = np.abs(q) / DECADE, np.abs(q) * DECADE
        size = sizes(unknowns, q)
        logarithmic = np.array([u.log for u in unknowns.items], bool)
        reach = np.log(DECADE)
        low = np.where(q > 0, near, np.where(q < 0, -far, -DECADE * size))
        high = np.where(q > 0, far, np.where(q < 0, -near, DECADE * size))
        low = np.where(logarithmic, q - reach, low)
        high = np.where(logarithmic, q + reach, high)
        self._low = np.where(np.isfinite(unknowns.lower), unknowns.lower, np.minimum(low, q))
        self._high = np.where(np.isfinite(unknowns.upper), unknowns.upper, np.maximum(high, q))
        spans = (self._low > 0) & (self._high > DECADE * self._low)
        self._by_decades = spans & ~logarithmic

    def coordinates(self, unit: Vector) -> Vector:
        """Coordinates of shares of the ranges."""
        low, high, some = self._low, self._high, self._by_decades
        ends = np.log(np.where(some, low, 1.0)), np.log(np.where(some, high, 1.0))
        decades = np.exp(ends[0] + unit * (ends[1] - ends[0]))
        found: Vector = np.clip(np.where(some, decades, low + unit * (high - low)), low, high)
        return found
