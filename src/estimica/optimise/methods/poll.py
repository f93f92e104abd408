"""Poll: looks around a design, on the criteria themselves, for one that is better.

Steps along each tuner, then along frames that are turned by chance (seeded), from long to short;
where one gains it goes on from there. Kinks and jumps do no harm, and neither do designs that
cannot be simulated. It is what must have failed before a search may say that it has converged.

T. G. Kolda, R. M. Lewis and V. Torczon, Optimization by direct search, SIAM Review 45 (2003);
frames that are turned by chance after C. Audet and J. E. Dennis, SIAM Journal on Optimization 17
(2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.unknowns import Unknowns
from estimica.optimise.problem import FEASIBLE, Evaluation, OptimisationProblem

#: what a step must gain to be gone on with: relative to the cost, or of the worst violation; as
#: much as a search must (`stop.GAIN`), and so what "converged" promises
GAIN = 1e-4


@dataclass(frozen=True)
class Poll:
    """How closely it looks: lengths relative to the tuners, and how many turned frames.

    After `most` designs, for each tuner, one that goes on gaining leaves it to the method.
    """

    lengths: tuple[float, ...]
    frames: int
    most: int = 40


#: after a method that has converged by its gradients: one long look and one short
LIGHT = Poll((0.05, 0.002), 0)
#: where criteria jump or gradients lead nowhere: a settling time has valleys that are 1 % wide
CLOSE = Poll((0.2, 0.05, 0.01, 0.002), 1)


class Polling:
    """Where a poll stands."""

    def __init__(
        self, problem: OptimisationProblem, terms: Evaluation, how: Poll, seed: int
    ) -> None:
        self.problem, self.how = problem, how
        self.terms, self.cost = terms, problem.cost(terms)
        self.flat = True  # nothing that was tried has changed anything
        self._rng = np.random.default_rng(seed)
        self._end = problem.evaluations + how.most * len(problem.unknowns)

    def gains(self) -> bool:
        """Step on at the longest length that gains; whether there was one."""
        with self.problem.patient():
            return any(self._gains_at(length) for length in self.how.lengths)

    def descend(self) -> None:
        """Step on at every length, from long to short."""
        with self.problem.patient():
            for length in self.how.lengths:
                self._gains_at(length)

    def _gains_at(self, length: float) -> bool:
        gained = False
        while self._stepped(length):
            gained = True
        return gained

    def _stepped(self, length: float) -> bool:
        """Whether any direction has gained, as long as there is leave to go on."""
        gained = False
        for direction in _directions(len(self.problem.unknowns), self.how.frames, self._rng):
            step = length
            while self._tried(step * direction):
                gained, step = True, 2 * step
        return gained and self.problem.evaluations < self._end

    def _tried(self, step: Vector) -> bool:
        """Whether a step gains; then it is made."""
        unknowns, q = self.problem.unknowns, self.terms.point.q
        there = np.clip(q + step * sizes(unknowns, q), unknowns.lower, unknowns.upper)
        terms = None if np.array_equal(there, q) else self.problem.glance(there)
        if terms is None:
            return False
        cost = self.problem.cost(terms)
        self.flat &= cost == self.cost and terms.violation == self.terms.violation
        if gain(self.terms.violation, self.cost, terms.violation, cost) <= GAIN:
            return False
        self.terms, self.cost = terms, cost
        return True


def gain(violation: float, cost: float, violation_now: float, cost_now: float) -> float:
    """What one design gains over another: of the violation as long as there is one, of the cost."""
    if max(violation, violation_now) > FEASIBLE:
        return 1 - violation_now / max(violation, FEASIBLE)
    return (cost - cost_now) / max(abs(cost), 1e-12)


def _directions(n: int, frames: int, rng: np.random.Generator) -> Iterator[Vector]:
    for frame in [np.eye(n), *(_turned(n, rng) for _ in range(frames if n > 1 else 0))]:
        for row in frame:
            yield row
            yield -row


def _turned(n: int, rng: np.random.Generator) -> Vector:
    """Orthogonal directions, turned by chance; their largest part is 1."""
    frame, _ = np.linalg.qr(rng.normal(size=(n, n)))
    directions: Vector = frame / np.abs(frame).max(axis=1, keepdims=True)
    return directions


def sizes(unknowns: Unknowns, q: Vector) -> Vector:
    """What a relative step is measured in: the coordinate itself, or the width of its range."""
    width = unknowns.upper - unknowns.lower
    free = np.where(np.isfinite(width), width, 1.0)
    own = np.where(np.abs(q) > 0, np.abs(q), free)
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    size: Vector = np.minimum(np.where(logarithmic, 1.0, own), np.where(width > 0, width, np.inf))
    return size
