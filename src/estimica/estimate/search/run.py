"""Search: goes down from a start; where failing simulations lead it astray it is tried again.

A descent goes from one point of the objective to a better one until nothing is gained. The methods
differ in the step they propose; the loop around them is one: it keeps to the bounds, takes a failed
simulation as a rejected step, and always holds the best point so far. Steps that gain nothing are
not proof of an optimum: where they end, the point itself is examined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from time import perf_counter

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.criteria.roughness import Rough
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.optimality import (
    GAIN,
    Neighbourhood,
    OptimalityCheck,
    PointKind,
    among_failures,
    is_at_resolution,
    is_rounding,
    stopped_at,
)
from estimica.estimate.unknowns import Unknowns

#: in a row, after which no shorter step will help: halved so often a step is below rounding, 2⁻⁶⁰
REJECTIONS = 60
FAR = 1e30  # coordinates are of size one: beyond this the cost falls without end
#: failed simulations after which another attempt promises more. Chosen: a search that only brushes
#: a region that fails meets some of them; one that meets more than some dozen goes along its border
PATIENCE = 30
#: a step is over where it is so small a part of the tolerance, whatever the cost does
TINY_STEP = 1e-3
#: relative gain that is rounding of the sum of squares: a few of 2e-16
NO_GAIN = 1e-15
#: cosine between the residuals and a column of the Jacobian that is rounding
FLAT = 1e-12
#: coordinates that are smaller count as so large in relative changes: they are of size one, and one
#: that goes to zero would never stop changing
LEAST_COORDINATE = 1e-3


def search(
    objective: Objective,
    method: Method,
    start: Vector,
    limits: Limits,
    on_iteration: OnIteration | None = None,
    held: Flags | None = None,
    *,
    persistent: bool = False,
) -> SearchResult:
    """Minimise the objective from coordinates `start`; unknowns marked in `held` stay there.

    Where failing simulations have led it astray, a persistent search tries again: with steps that
    keep their distance, from a start on the other side of what ran away, and closely from the best
    point so far.
    """
    best = Descent(objective, method, limits, on_iteration, held, Attempt()).run(start)
    for attempt in _FURTHER:
        if not (persistent and best.is_astray):
            break
        begin = attempt.begin(objective.unknowns, start, best)
        if begin is not None:
            rest = replace(limits, max_seconds=limits.max_seconds - best.seconds)
            one = Descent(objective, method, rest, on_iteration, held, attempt).run(begin)
            best = _joined(best, one, follows=attempt.thorough)
    return best


def _joined(best: SearchResult, one: SearchResult, *, follows: bool) -> SearchResult:
    """The better of two attempts; the second may have begun where the first ended."""
    seconds = best.seconds + one.seconds
    if one.point is None or (best.point and best.point.cost < one.point.cost):
        if one.status in (Status.INTERRUPTED, Status.TIME):
            best = replace(best, status=one.status, message=one.message, is_astray=False)
        return replace(best, seconds=seconds)
    if follows:
        one = replace(one, iterations=(*best.iterations, *one.iterations[1:]))
    return replace(one, seconds=seconds)


class Status(StrEnum):
    """How a search ended."""

    CONVERGED = "converged"
    ITERATIONS = "iteration limit"
    TIME = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    FAILING_REGION = "failing region"
    FAILED = "failed"


@dataclass(frozen=True)
class Limits:
    """When a search ends."""

    tolerance: float = 1e-8
    max_iterations: int = 1000
    max_seconds: float = float("inf")


@dataclass(frozen=True, eq=False)
class Iteration:
    """A point that the search has accepted."""

    number: int
    cost: float
    values: Vector
    step: float  # largest relative change of a coordinate
    rejected: int  # points tried in vain before this one
    seconds: float


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Where a search ended, and the way there; there is no point where even the start fails."""

    point: Point | None
    status: Status
    message: str
    iterations: tuple[Iteration, ...]
    is_astray: bool = False  # whether failures, or an unknown that ran away, have led it here
    seconds: float = 0.0  # of all attempts
    rough: Rough | None = None


class Method(ABC):
    """Proposes steps from a point and learns from what became of them."""

    @abstractmethod
    def propose(self, point: Point, free: Flags, low: Vector, high: Vector) -> Vector:
        """A step in the coordinates that are free, between low and high; the others stay."""

    @abstractmethod
    def accepted(self, gain: float) -> None:
        """The step was good: `gain` is the actual over the predicted reduction."""

    @abstractmethod
    def rejected(self, failed: bool) -> None:
        """The step was bad, or its simulation failed: be more careful."""


OnIteration = Callable[[Iteration, Point], None]


@dataclass(frozen=True)
class Attempt:
    """How one of several attempts goes about its steps."""

    wary: bool = False  # steps keep signs and orders of magnitude
    mirrored: bool = False  # it begins on the other side
    thorough: bool = False  # it begins at the best point, whose neighbours are all polled

    def begin(self, unknowns: Unknowns, start: Vector, best: SearchResult) -> Vector | None:
        """Where it begins after others; None: nowhere else."""
        assert best.point is not None, "an attempt that has no point is not astray"
        if not (self.mirrored or self.thorough):
            return start
        if self.thorough:
            return best.point.q
        mirrored = unknowns.mirrored(start, best.point.q)
        return None if np.array_equal(mirrored, start) else mirrored


class Descent:
    """One attempt: from a start downwards to an end that is judged."""

    def __init__(
        self,
        objective: Objective,
        method: Method,
        limits: Limits,
        on_iteration: OnIteration | None,
        held: Flags | None,
        attempt: Attempt,
    ) -> None:
        self.objective = objective
        self.attempt = attempt
        self.unknowns = objective.unknowns
        self.fresh = method
        self.method = deepcopy(method)
        self.limits = limits
        self.on_iteration = on_iteration
        self.held = np.zeros(len(self.unknowns), bool) if held is None else held
        self.blocked = np.zeros(len(self.unknowns), bool)  # held for a while: they lead to failures
        self.begun = perf_counter()
        self.iterations: list[Iteration] = []
        self.point: Point | None = None
        self.last: Vector | None = None  # the last step
        self.failures = 0
        self.failure: Failure | None = None  # the last one
        self.is_astray = False

    def run(self, start: Vector) -> SearchResult:
        """Go down from coordinates `start`."""
        try:
            first = self.objective.at(self.unknowns.clipped(start))
            if isinstance(first, Failure):
                return self._end(
                    Status.FAILED,
                    f"the simulation of case '{first.case}' fails at the start values: "
                    f"{first.message}",
                )
            self._accept(first, 0.0, 0)
            if self.held.all():
                return self._end(Status.CONVERGED, nothing_to_search(first))
            ended = self._judge("") if self.attempt.thorough else None
            while not ended and len(self.iterations) <= self.limits.max_iterations:
                ended = self._iterate()
            if ended:
                return self._end(*ended)
        except KeyboardInterrupt:
            return self._end(Status.INTERRUPTED, "interrupted; these are the best values so far")
        except _TimeIsUp:
            return self._end(Status.TIME, "time is up; these are the best values so far")
        return self._end(
            Status.ITERATIONS,
            f"not converged after {self.limits.max_iterations} iterations; raise max_iterations, "
            "or look whether the data determine all tuners",
        )

    def _iterate(self) -> tuple[Status, str] | None:
        """Find a better point; a status where there is none to be found."""
        point = self.point
        assert point is not None
        free = self._free(point) & ~self.blocked
        if not point.R[:, ~self.held].any():
            return Status.STALLED, "no unknown has any effect on the outputs; check the study"
        if not free.any():
            held = "at a bound, or leads to failures" if self.blocked.any() else "at a bound"
            return self._judge(f"every unknown is {held}")
        if _is_flat(point, free):
            return self._judge("the gradient vanishes")
        if np.max(np.abs(point.q)) > FAR:
            return Status.STALLED, "the cost falls without end; check the criterion, or set bounds"
        for tries in range(REJECTIONS):
            low, high = self._room(point.q)
            step = self._within_reach(self.method.propose(point, free, low, high), point.q)
            step = np.clip(step, low, high)
            q = self.unknowns.clipped(point.q + step)
            step = q - point.q
            size = _relative(step, point.q)
            predicted = -float(2 * point.gradient @ step + np.sum((point.R @ step) ** 2))
            if size <= TINY_STEP * self.limits.tolerance:
                break
            trial = self._evaluate(q) if predicted > 0 else None
            if isinstance(trial, Point) and trial.cost < point.cost:
                gained = point.cost - trial.cost
                self.method.accepted(gained / predicted)
                self._accept(trial, size, tries)
                if size <= self.limits.tolerance or gained <= NO_GAIN * self._content(point):
                    return self._judge("the unknowns do not change any more")
                return None
            if isinstance(trial, Point) and predicted <= GAIN * self._content(point):
                break
            self.method.rejected(isinstance(trial, Failure))
            if not self._is_patient:
                break
        return self._judge("nothing more is gained within the simulation's accuracy")

    def _content(self, point: Point) -> float:
        """What the cost is made of, next to which a gain is rounding.

        Σρ² where that is the cost. Where σ is searched too, ρ holds (r/σ)² as well, and far off
        Σρ² is the square of the cost: gains of many decades looked like rounding.
        """
        return min(point.square, abs(point.cost) + self.objective.n_samples)

    def _judge(self, message: str) -> tuple[Status, str] | None:
        """The end if the point is optimal; else on from a better one, or what is in the way."""
        point = self.point
        assert point is not None
        if is_rounding(self.objective, point):
            self.is_astray = False
            return Status.CONVERGED, message or "all samples are met to the last digits"
        resolved = is_at_resolution(self.objective, point)
        around = Neighbourhood(self.unknowns, point, self._free(point), self._evaluate, resolved)
        thorough = self.attempt.thorough
        # the curvature of a criterion of one's own may be a stand-in, which promises too little
        doubtful = self.failures > 0 or self.objective.criterion.may_be_rough
        seen = around.judged(self.last, doubtful=doubtful, thorough=thorough)
        self.is_astray = self.failures > 0 or seen.finding is PointKind.RUN_AWAY
        if seen.better is not None:
            self._move(seen.better)
            self._begin_again(seen.leading_to_failures(len(self.held)))
            return None if self._is_patient else self._verdict(seen, message)
        if seen.finding is PointKind.BLOCKED and thorough and self._goes_beside(around, seen):
            return None
        return self._verdict(seen, message)

    @property
    def _is_patient(self) -> bool:
        """Whether so few simulations have failed that going on is worth it."""
        return self.failures <= PATIENCE * (1 + 2 * self.attempt.thorough)

    def _verdict(self, seen: OptimalityCheck, message: str) -> tuple[Status, str]:
        point = self.point
        assert point is not None
        if seen.finding is PointKind.OPTIMAL:
            return Status.CONVERGED, message
        if seen.finding is PointKind.RESOLVED:
            return Status.CONVERGED, "nothing more is gained within the simulation's accuracy"
        if seen.finding is PointKind.BLOCKED:
            return Status.FAILING_REGION, stopped_at(self.unknowns, point, seen.blocked)
        if seen.run_away is not None:
            label, value = self.unknowns.items[seen.run_away].label, point.values[seen.run_away]
            return (
                Status.STALLED,
                f"'{label}' has run away to {value:.3g}, where the cost hardly depends on it; set "
                "bounds, or start elsewhere (starts = 20)",
            )
        if not self._is_patient:
            return Status.FAILING_REGION, among_failures(self.failures, self.failure)
        return (
            Status.STALLED,
            f"no step lowers the cost, although the gradient promises {100 * seen.promise:.2g} %; "
            "tighten [solver] rtol, or start elsewhere (starts = 20)",
        )

    def _goes_beside(self, around: Neighbourhood, seen: OptimalityCheck) -> bool:
        """Go on without the unknowns that lead to failures; then a last bit nearer to these."""
        held = seen.leading_to_failures(len(self.held))
        if np.array_equal(held, self.blocked) or around.promise(around.free & ~held) <= GAIN:
            if seen.nearer is None or not self._is_patient:
                return False
            self._move(seen.nearer)
        self._begin_again(held)
        return True

    def _move(self, point: Point) -> None:
        """Accept a point that no method has proposed."""
        assert self.point is not None
        self._accept(point, _relative(point.q - self.point.q, self.point.q), 0)

    def _begin_again(self, held: Flags) -> None:
        """Forget what steps that came to nothing have taught; those that lead to failures stay."""
        self.method = deepcopy(self.fresh)
        self.blocked = held & self.attempt.thorough

    def _evaluate(self, q: Vector) -> Point | Failure:
        if perf_counter() - self.begun > self.limits.max_seconds:
            raise _TimeIsUp
        trial = self.objective.at(q)
        if isinstance(trial, Failure):
            self.failures += 1
            self.failure = trial
        return trial

    def _room(self, q: Vector) -> tuple[Vector, Vector]:
        """How far the unknowns may go in one step: to their bounds, or half the way to zero."""
        low, high = self.unknowns.lower - q, self.unknowns.upper - q
        if not self.attempt.wary:
            return low, high
        near = self.unknowns.near(q)
        return np.maximum(low, -near), np.minimum(high, near)

    def _within_reach(self, step: Vector, q: Vector) -> Vector:
        """A step that is not believed beyond the reach of a linear model."""
        excess = float(np.max(np.abs(step) / self.unknowns.reach(q)))
        return step / excess if excess > 1 else step

    def _free(self, point: Point) -> Flags:
        g, q = point.gradient, point.q
        held = ((q <= self.unknowns.lower) & (g > 0)) | ((q >= self.unknowns.upper) & (g < 0))
        # a column of zeros can only be scaled by chance: such an unknown stays
        free: Flags = ~(held | self.held) & (np.abs(point.R).sum(axis=0) > 0)
        return free

    def _accept(self, point: Point, size: float, rejected: int) -> None:
        self.last = None if self.point is None else point.q - self.point.q
        self.point = point
        iteration = Iteration(
            len(self.iterations),
            point.cost,
            point.values,
            size,
            rejected,
            perf_counter() - self.begun,
        )
        self.iterations.append(iteration)
        if self.on_iteration:
            self.on_iteration(iteration, point)

    def _end(self, status: Status, message: str) -> SearchResult:
        spent = perf_counter() - self.begun
        own = tuple(self.iterations)
        astray = self.is_astray and status in (Status.FAILING_REGION, Status.STALLED)
        return SearchResult(self.point, status, message, own, astray, spent)


def nothing_to_search(point: Point) -> str:
    """How a search ends that has no unknown: noise levels follow from the residuals."""
    if any(n.estimated for n in point.noise.values()):
        return "only noise levels are free; they follow from the residuals"
    return "nothing is free; the cost was evaluated"


class _TimeIsUp(Exception):
    """The time that a search may take is over."""


def _relative(step: Vector, q: Vector) -> float:
    return float(np.max(np.abs(step) / np.maximum(np.abs(q), LEAST_COORDINATE)))


def _is_flat(point: Point, free: Flags) -> bool:
    scale = np.linalg.norm(point.R[:, free], axis=0)
    return bool(np.all(np.abs(point.gradient[free]) <= FLAT * scale * np.sqrt(point.square)))


_FURTHER = (
    Attempt(wary=True),
    Attempt(wary=True, mirrored=True),
    Attempt(wary=True, thorough=True),
)
