"""Verification: a search goes on until a poll finds nothing better; only then it has converged.

    method → poll → (where criteria jump, or limits are missed) further starts → poll …

A method that says it is done may stand before a kink, on a ledge of a settling time or beside a
design that cannot be simulated. The poll asks the criteria themselves. A tuner without a bound
along which they fall on and on has no best value, and is told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.optimise.criteria.score import CriterionInCase, FailedDesign
from estimica.optimise.methods.explore import promising, score
from estimica.optimise.methods.poll import CLOSE, GAIN, LIGHT, Poll, Polling, gain
from estimica.optimise.methods.simplex import polish
from estimica.optimise.methods.sqp import sqp
from estimica.optimise.methods.stop import Search, SearchEnd, Stop
from estimica.optimise.problem import (
    FEASIBLE,
    Evaluation,
    OptimisationProblem,
    SearchStalled,
    TunerDiverged,
    away,
    split,
)

#: kinds whose gradient tells all there is to know nearby; a formula may hide a kink
SMOOTH_KINDS = frozenset(
    {"value", "final", "rms", "iae", "ise", "itae", "mean", "integral", "energy"}
)
#: kinds that jump: each swing or crossing has a valley of its own
JUMPING_KINDS = frozenset({"settling-time", "function"})
ROUNDS = 12  # of method and poll; more than 7 were not needed in 120 random problems
#: Looks for further starts, and the relative gain for which one more is worth it. Chosen: each is a
#: sample with polls and searches of its own, and less than 1 % is not worth them.
LOOKS = 3
FAR_GAIN = 0.01
#: times the best: what the method goes on from after the rough poll of a further start. Chosen:
#: what would have to gain more than a third is left
NEAR = 1.5
ROUGH = Poll((0.2, 0.05), 1, most=20)  # of a further start
DONE = ("converged", "stalled", "rested", "away")
#: times as far as a tuner has run, coarser the farther: a minimum there would show as a rise
FARTHER = (10.0, 100.0, 1e4, 1e8)


@dataclass(frozen=True)
class CriteriaKinds:
    """What is known of the criteria that count."""

    kinked: bool
    jumping: bool


def criteria_kinds(places: Sequence[CriterionInCase]) -> CriteriaKinds:
    """By the kinds of what is made small or limited."""
    kinds = {p.criterion.kind for p in places if p.role != "watch"}
    return CriteriaKinds(bool(kinds - SMOOTH_KINDS), bool(kinds & JUMPING_KINDS))


def run_search(
    search: Search, problem: OptimisationProblem, start: Vector, stop: Stop
) -> SearchEnd:
    """One search from one start; patience that ends is a rest."""
    problem.begin()
    try:
        return search(problem, start, stop)
    except SearchStalled as rested:
        return SearchEnd("away" if isinstance(rested, TunerDiverged) else "rested", rested.message)


@dataclass(eq=False)
class Verification:
    """Goes on from the best design until the poll agrees; `far` looks for further starts too."""

    search: Search
    problem: OptimisationProblem
    stop: Stop
    nature: CriteriaKinds
    gradients: bool = True  # whether the method knows them: it has more than a poll to go by
    far: bool = True
    starts: int = 1
    iterations: int = 0
    looks: int = LOOKS  # for further starts
    _last: SearchEnd = field(default_factory=lambda: SearchEnd("", ""))

    def confirmed(self, ended: SearchEnd) -> SearchEnd:
        """How the search really ended."""
        if self.problem.best is None:
            return ended
        self._last = ended
        for attempt in range(ROUNDS):
            try:
                conclusion = self._round(attempt)
            except TunerDiverged as away:
                conclusion, self._last = None, SearchEnd("away", away.message)
            if conclusion is not None:
                return self._told(*conclusion)
        still = f"the criteria still gained in the last of {ROUNDS} rounds; begin at this design"
        return self._told("iteration limit", still)

    def _round(self, attempt: int) -> tuple[str, str] | None:
        """Status and message where there is nothing more to gain."""
        away = runaway(self.problem)
        if away is not None:
            return "unbounded", away
        if self._last.status not in DONE and not self._missed:
            return self._last.status, self._last.message
        how = self._close_enough
        polling = Polling(self.problem, self._best, how, self.stop.seed + attempt)
        if polling.gains():
            self._last = self._ran(self._best.point.q)
            return None
        if (self._last.status != "converged" or not self.gradients) and self._polished():
            return None
        share = 0.0
        if self.looks and (self._missed or polling.flat or (self.far and self.nature.jumping)):
            share = self._looked(attempt)
        if share <= GAIN:
            return self._concluded(how, polling.flat)
        self.looks = self.looks - 1 if share > FAR_GAIN else 0
        return None

    @property
    def _best(self) -> Evaluation:
        assert self.problem.best is not None
        return self.problem.best

    @property
    def _missed(self) -> bool:
        return self._best.violation > FEASIBLE

    @property
    def _close_enough(self) -> Poll:
        """How closely to look after what the method has said."""
        status = self._last.status
        proven = self.gradients and (status == "converged" or not self.nature.kinked)
        return LIGHT if proven and not (self._missed or self.nature.jumping) else CLOSE

    def _polished(self) -> bool:
        """Whether linear models find a way that the poll has not."""
        before = self._best.violation, self.problem.best_cost
        polish(self.problem, self.stop)
        return gain(*before, self._best.violation, self.problem.best_cost) > GAIN

    def _looked(self, attempt: int) -> float:
        """What searches gain that begin at promising designs, which are polled first."""
        problem, seed = self.problem, self.stop.seed + attempt
        before = self._best.violation, problem.best_cost
        for terms in promising(problem, seed):
            polling = Polling(problem, terms, ROUGH, seed)
            polling.descend()
            self.starts += 1
            if score(problem, polling.terms) < NEAR * score(problem, self._best):
                self._ran(polling.terms.point.q)
        return gain(*before, self._best.violation, problem.best_cost)

    def _ran(self, q: Vector) -> SearchEnd:
        search = sqp if self._missed else self.search  # gradients are the way to the limits
        ended = run_search(search, self.problem, q, self.stop)
        self.iterations += ended.iterations
        return ended

    def _concluded(self, how: Poll, flat: bool) -> tuple[str, str]:
        if self._missed:
            return "not met", not_met(missed_most(self._best), self.starts)
        if flat:
            return "stalled", "the criteria do not change around the design: nothing shows the way"
        if self._last.status == "stalled" and not self.nature.kinked:
            return "stalled", self._last.message
        long, short = 100 * how.lengths[0], 100 * how.lengths[-1]
        message = f"no design around it is better, steps of {long:g} % to {short:g} % were tried"
        return "converged", message

    def _told(self, status: str, message: str) -> SearchEnd:
        return SearchEnd(status, message, self.iterations)


def not_met(missed: str, starts: int) -> str:
    """What is known of limits that no search has met; that none can is another matter."""
    from_ = "1 start" if starts == 1 else f"{starts} starts"
    return f"the limits were not met from {from_}: {missed}; ease a demand, or start elsewhere"


def missed_most(best: Evaluation) -> str:
    """Which limit is missed most, and by how much."""
    counted = best.counted
    chosen = counted.of_role("at-most", "equal")
    roles = np.array([counted.places[k].role == "equal" for k in chosen])
    over = counted.weighted[chosen] - 1
    worst = int(np.argmax(np.where(roles, np.abs(over), over)))
    place = counted.places[chosen[worst]]
    by = f"missed by {best.violation:.2g} of its demand"
    if not counted.reached[chosen[worst]]:
        by = f"{place.open_word} within its window"
    return f"'{place.label}' is {by}"


def runaway(problem: OptimisationProblem) -> str | None:
    """Why there is no best design: which tuners have run away, and what to do."""
    best = problem.best
    assert best is not None
    unknowns, q = problem.unknowns, best.point.q
    gone = away(unknowns, q)
    if not gone.any():
        return None
    problem.leashed = False
    if not _falls(problem, q, gone):
        return None
    names = [u.label for u, some in zip(unknowns.items, gone, strict=True) if some]
    values = [f"{n} = {unknowns.named(best.point.tuners)[n]:.3g}" for n in names]
    bounds = " and ".join(", ".join(names).rsplit(", ", 1))
    return (
        f"the criteria still fall at {', '.join(values)} and beyond; set bounds on {bounds}, or "
        "add a criterion that stands against it"
    )


def _falls(problem: OptimisationProblem, q: Vector, gone: Flags) -> bool:
    """Whether the cost is higher on the way, and falls on where it has a value."""
    start, cost = problem.unknowns.start, problem.best_cost

    def at(share: float) -> float | None:
        moved = np.where(gone, start + share * (q - start), q)
        clipped = np.clip(moved, problem.unknowns.lower, problem.unknowns.upper)
        problem.evaluations += 1
        point = problem.designs.at(clipped, slopes=False)  # not to be remembered as the best
        return None if isinstance(point, FailedDesign) else problem.cost(split(point))

    on_the_way = [cost, *(c for c in map(at, FARTHER) if c is not None)]
    nearer = at(0.1)
    return bool((nearer is None or nearer > cost) and (np.diff(on_the_way) <= 0).all())
