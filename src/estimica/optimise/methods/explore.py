"""Explore: designs far from the best one, of which the most promising are further starts.

A settling time jumps from swing to swing: each has a valley of its own, and a search that goes
downhill stays in the first one. A seeded sample of the whole range sees others.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.unknowns import Unknowns
from estimica.optimise.methods.poll import sizes
from estimica.optimise.methods.sqp import STIFF
from estimica.optimise.problem import FAR, Evaluation, OptimisationProblem

DESIGNS = 12  # that are tried, for each tuner. Chosen: as many as a line has steps and bounds
#: of them that a search begins at. With three, all of 120 random designs and 23 of 25 later ones
#: were within 1 % of differential evolution; five found one of the two that were missed
STARTS = 5
DECADE = 10.0  # how far to look where there is no bound, and from which range on by decades
BEYOND = np.log(FAR)  # a bound as far away as tuners that run away is none to look at
APART = 0.1  # of the range, in at least one coordinate: nearer, searches end in the same valley
#: a valley of a settling time is entered from its gentle side, a third to fourfold away
FACTORS = (1.35, 1.6, 2.0, 2.8, 4.0)


def promising(problem: OptimisationProblem, seed: int) -> list[Evaluation]:
    """The best designs of lines and a sample, neither beside the best nor beside each other."""
    best = problem.best
    assert best is not None
    q = best.point.q
    ranges = Ranges(problem.unknowns, q)
    sample = latin_hypercube(DESIGNS * len(q), len(q), seed)
    tried: list[tuple[float, Evaluation]] = []
    with problem.patient():
        for there in [*_lines(problem.unknowns, q), *map(ranges.coordinates, sample)]:
            terms = problem.glance(there)
            if terms is not None:
                tried.append((score(problem, terms), terms))
    chosen = [best]
    for _, terms in sorted(tried, key=lambda pair: pair[0]):
        if all(ranges.distance(terms.point.q, c.point.q) > APART for c in chosen):
            chosen.append(terms)
        if len(chosen) > STARTS:
            break
    return chosen[1:]


def _lines(unknowns: Unknowns, q: Vector) -> list[Vector]:
    """The design with one tuner larger or smaller by each of the factors, and at its bounds."""
    size, designs = sizes(unknowns, q), []
    lower, upper = _meant(unknowns, q)
    for j, unknown in enumerate(unknowns.items):
        steps = [s for f in FACTORS for s in ((f - 1), (1 / f - 1))]
        if unknown.log:
            steps = [s * np.log(f) for f in FACTORS for s in (1, -1)]
        bounds = unknowns.lower[j], unknowns.upper[j]
        values = {float(np.clip(q[j] + step * size[j], *bounds)) for step in steps}
        for value in sorted(values | {float(b) for b in (lower[j], upper[j]) if np.isfinite(b)}):
            if value != q[j]:
                designs.append(np.where(np.arange(len(q)) == j, value, q))
    return designs


def score(problem: OptimisationProblem, terms: Evaluation) -> float:
    """One number of the cost and of what is missed."""
    return problem.cost(terms) + STIFF * terms.violation


def latin_hypercube(count: int, n: int, seed: int) -> Vector:
    """A Latin hypercube: every share of every range once (McKay, Beckman and Conover 1979)."""
    rng = np.random.default_rng(seed)
    strata = np.array([rng.permutation(count) for _ in range(n)]).T
    sample: Vector = (strata + rng.random((count, n))) / count
    return sample


def _meant(unknowns: Unknowns, q: Vector) -> tuple[Vector, Vector]:
    """The bounds, without those on a logarithmic scale that stand for zero or infinity."""
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    lower = np.where(logarithmic & (q - unknowns.lower > BEYOND), -np.inf, unknowns.lower)
    upper = np.where(logarithmic & (unknowns.upper - q > BEYOND), np.inf, unknowns.upper)
    return lower, upper


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
        lower, upper = _meant(unknowns, q)
        self._low = np.where(np.isfinite(lower), lower, np.minimum(low, q))
        self._high = np.where(np.isfinite(upper), upper, np.maximum(high, q))
        spans = (self._low > 0) & (self._high > DECADE * self._low)
        self._by_decades = spans & ~logarithmic

    def coordinates(self, unit: Vector) -> Vector:
        """Coordinates of shares of the ranges."""
        low, high, some = self._low, self._high, self._by_decades
        ends = np.log(np.where(some, low, 1.0)), np.log(np.where(some, high, 1.0))
        decades = np.exp(ends[0] + unit * (ends[1] - ends[0]))
        coordinates: Vector = np.clip(np.where(some, decades, low + unit * (high - low)), low, high)
        return coordinates

    def shares(self, q: Vector) -> Vector:
        """Where coordinates lie in the ranges, from 0 to 1."""
        low, high, some = self._low, self._high, self._by_decades
        floor = np.where(some, np.maximum(q, low), 1.0)
        ends = np.where(some, low, 1.0), np.where(some, high, 1.0)
        decades = np.log(floor / ends[0]) / np.where(some, np.log(ends[1] / ends[0]), 1.0)
        width = np.where(high > low, high - low, 1.0)
        shares: Vector = np.where(some, decades, (q - low) / width)
        return shares

    def distance(self, a: Vector, b: Vector) -> float:
        """The largest difference of the shares."""
        return float(np.abs(self.shares(a) - self.shares(b)).max())
