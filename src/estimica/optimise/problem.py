"""OptimisationProblem: what a method minimises: one number of a design, within bounds and limits.

    minimise  A(w(q))   with  w = weight·criterion/demand of those that are made small,
    subject to  c/d - 1 ≤ 0  and  c/d - 1 = 0  of those that are limited, and bounds of q.

A is the largest w, a smooth bound of it, or their sum. A design that cannot be simulated has no
value; methods are told so and step back, or get numbers of a FailurePenalty that stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.unknowns import Unknowns
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.study.criterion import Role
from estimica.study.tables.optimisation import Aggregate

#: violation of a limit, in units of its demand, that counts as none: a run at the usual relative
#: tolerance of 1e-6 cannot tell it from none
FEASIBLE = 1e-6
#: starts, or a factor on a logarithmic scale, from which on a tuner has run away. Chosen: nobody
#: misjudges a start by six decades, and a slow valley is not taken for none before that
FAR = 1e6
GLANCE = 1e-4  # by which scores at the study's tolerances (1e-6) may mislead, times a hundred
#: evaluates designs side by side, without slopes
Many = Callable[[Sequence[Vector]], "list[DesignPoint | FailedDesign]"]
#: of a wall, in units of what stands before it. Chosen: methods only compare, so that anything far
#: above does; linear and quadratic models through such a point should keep digits for the others
HEIGHT = 1e3


class DesignEvaluator(Protocol):
    """Evaluates designs."""

    @property
    def unknowns(self) -> Unknowns:
        """The tuners and their bounds."""

    def at(self, q: Vector, *, slopes: bool = True) -> DesignPoint | FailedDesign:
        """The scores of a design, or why it has none."""

    def glance(self, q: Vector) -> DesignPoint | FailedDesign:
        """The scores less exactly, without slopes and for less work."""


class SearchStopped(Exception):
    """The search has used what it was given, or was interrupted."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class SearchStalled(SearchStopped):
    """One search has come to rest; another start may do better."""


class TunerDiverged(SearchStalled):
    """A tuner without a bound has left everything that a start could have meant."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A design as a method sees it, with derivatives by the coordinates where asked for."""

    point: DesignPoint
    counted: DesignPoint  # the same, or all its scenarios
    objectives: Vector
    objective_slopes: Vector | None
    limits: Vector  # ≤ 0
    limit_slopes: Vector | None
    equalities: Vector  # = 0
    equality_slopes: Vector | None

    @property
    def violation(self) -> float:
        """How far the worst limit is exceeded."""
        over = self.limits.max(initial=0.0)
        return float(max(over, np.abs(self.equalities).max(initial=0.0)))


OnDesign = Callable[[int, Evaluation, float], None]


@dataclass(eq=False)
class OptimisationProblem:
    """Evaluates designs for a method, remembers the best, and counts."""

    designs: DesignEvaluator
    aggregate: Aggregate = "max"
    sharpness: float = 50.0
    max_evaluations: int | None = None
    max_seconds: float = float("inf")
    patience: int | None = None  # designs that must gain something
    gain: float = 0.0  # relative, that counts as something
    told: OnDesign | None = None
    many: Many | None = None
    leashed: bool = True  # a tuner that runs away ends a search
    evaluations: int = 0
    failures: list[FailedDesign] = field(default_factory=list)
    best: Evaluation | None = None
    best_cost: float = float("inf")
    own: Evaluation | None = None  # the best since this search began
    own_cost: float = float("inf")
    history: list[Evaluation] = field(default_factory=list)
    _last: tuple[Vector, bool, Evaluation | None] | None = None
    _mark: tuple[int, float, float] = (0, float("inf"), float("inf"))  # the last that gained
    _begun: float = field(default_factory=perf_counter)

    @property
    def unknowns(self) -> Unknowns:
        """The tuners and their bounds."""
        return self.designs.unknowns

    def at(self, q: Vector, *, slopes: bool = False) -> Evaluation | None:
        """The design at `q`; None where it cannot be simulated. The last one is kept."""
        if self._last is not None and np.array_equal(q, self._last[0]):
            _, has_slopes, terms = self._last
            if has_slopes or not slopes or terms is None:
                return terms
        else:
            self._require_leave()
            self.evaluations += 1
        point = self.designs.at(q, slopes=slopes)
        if isinstance(point, FailedDesign):
            self.failures.append(point)
            self._last = q.copy(), slopes, None
            return None
        terms = split(point)
        self._last = q.copy(), slopes, terms
        self._remember(terms)
        return terms

    def glance(self, q: Vector) -> Evaluation | None:
        """The design at `q` less exactly; what may be better than the best is looked at closely."""
        self._require_leave()
        self.evaluations += 1
        point = self.designs.glance(q)
        if isinstance(point, FailedDesign):
            self.failures.append(point)
            return None
        terms = split(point)
        cost = self.cost(terms)
        best = self.best
        if best is None or (
            terms.violation <= max(best.violation, FEASIBLE) + GLANCE
            and (best.violation > FEASIBLE or cost < self.best_cost + GLANCE * abs(cost))
        ):
            return self.at(q)
        if self.told is not None:
            self.told(self.evaluations, terms, cost)
        return terms

    def at_all(self, generation: Sequence[Vector]) -> list[Evaluation | None]:
        """The designs of a generation; it ends the search where they are more than allowed."""
        self._require_leave()
        most = self.max_evaluations
        allowed = len(generation) if most is None else min(len(generation), most - self.evaluations)
        own = generation[:allowed]
        points = self.many(own) if self.many else [self.designs.at(q, slopes=False) for q in own]
        evaluations: list[Evaluation | None] = []
        for point in points:
            self.evaluations += 1
            if isinstance(point, FailedDesign):
                self.failures.append(point)
                evaluations.append(None)
            else:
                terms = split(point)
                self._remember(terms)
                evaluations.append(terms)
        if allowed < len(generation):
            self._require_leave()
        return evaluations

    def cost(self, terms: Evaluation) -> float:
        """A(w)."""
        return aggregated(terms.objectives, self.aggregate, self.sharpness)

    def cost_slope(self, terms: Evaluation) -> Vector:
        """dA/dq."""
        assert terms.objective_slopes is not None
        weights = aggregate_weights(terms.objectives, self.aggregate, self.sharpness)
        slope: Vector = weights @ terms.objective_slopes
        return slope

    def _remember(self, terms: Evaluation) -> None:
        cost = self.cost(terms)
        if self.own is None or better(terms, cost, self.own, self.own_cost):
            self.own, self.own_cost = terms, cost
        if self.best is None or better(terms, cost, self.best, self.best_cost):
            self.best, self.best_cost = terms, cost
            self.history.append(terms)
        if self.told is not None:
            self.told(self.evaluations, terms, cost)
        if self.leashed and terms is self.best and away(self.unknowns, terms.point.q).any():
            raise TunerDiverged("away", "a tuner without a bound runs away")

    def begin(self) -> None:
        """A new search begins: what others found and gained does not count for its patience."""
        self._mark = (self.evaluations, float("inf"), float("inf"))
        self.own, self.own_cost = None, float("inf")

    @contextmanager
    def patient(self, designs: int | None = None, gain: float = 0.0) -> Iterator[None]:
        """Other patience for a while; without one designs need not gain anything."""
        held = self.patience, self.gain
        self.patience, self.gain = designs, gain
        try:
            yield
        finally:
            self.patience, self.gain = held

    def _require_gain(self) -> None:
        """End a search whose last designs were hardly better than those before."""
        if self.patience is None or self.own is None:
            return
        count, cost, violation = self._mark
        step = self.gain * max(abs(self.own_cost), 1e-12)
        if self.own_cost < cost - step or self.own.violation < violation - self.gain:
            self._mark = self.evaluations, self.own_cost, self.own.violation
        elif self.evaluations - count >= self.patience:
            message = f"the last {self.patience} designs gained less than {self.gain:g} of the best"
            raise SearchStalled("stalled", message)

    def _require_leave(self) -> None:
        self._require_gain()
        if self.max_evaluations is not None and self.evaluations >= self.max_evaluations:
            raise SearchStopped("evaluation limit", f"{self.evaluations} designs were simulated")
        if perf_counter() - self._begun > self.max_seconds:
            raise SearchStopped("time limit", f"{self.max_seconds:g} s are over")


def away(unknowns: Unknowns, q: Vector) -> Flags:
    """Which tuners have gone far where there is no bound."""
    moved = q - unknowns.start
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    size = np.where(logarithmic, np.log(FAR), FAR * np.maximum(np.abs(unknowns.start), 1.0))
    open_ = np.where(moved > 0, np.isinf(unknowns.upper), np.isinf(unknowns.lower))
    return np.asarray((np.abs(moved) > size) & open_)


def split(point: DesignPoint) -> Evaluation:
    """The scores by what becomes of them."""
    counted = point.worst or point
    weights = counted.weights
    weighted = weights * counted.weighted
    slopes = None if counted.slopes is None else weights[:, None] * counted.weighted_slopes

    def part(role: Role) -> tuple[Vector, Vector | None]:
        chosen = counted.of_role(role)
        return weighted[chosen], None if slopes is None else slopes[chosen]

    objectives, objective_slopes = part("minimise")
    limits, limit_slopes = part("at-most")
    equalities, equality_slopes = part("equal")
    return Evaluation(
        point,
        counted,
        objectives,
        objective_slopes,
        limits - 1,
        limit_slopes,
        equalities - 1,
        equality_slopes,
    )


def aggregated(w: Vector, how: Aggregate, sharpness: float) -> float:
    """One number of all weighted criteria; 0 where there is none."""
    if not w.size:
        return 0.0
    if how == "sum":
        return float(w.sum())
    top = float(w.max())
    if how == "max":
        return top
    return top + float(np.log(np.exp(sharpness * (w - top)).sum())) / sharpness


def aggregate_weights(w: Vector, how: Aggregate, sharpness: float) -> Vector:
    """d(aggregate)/dw; of the largest one where they are not smooth."""
    if how == "sum" or not w.size:
        return np.ones_like(w)
    if how == "max":
        largest: Vector = np.eye(w.size)[int(w.argmax())]
        return largest
    share = np.exp(sharpness * (w - w.max()))
    weights: Vector = share / share.sum()
    return weights


def rank(violation: float, cost: float) -> tuple[float, float]:
    """What designs are compared by: nearer to feasible first, then the lower cost."""
    return max(violation, FEASIBLE), cost


def better(terms: Evaluation, cost: float, best: Evaluation, best_cost: float) -> bool:
    """Nearer to feasible first; among feasible designs the lower cost."""
    return rank(terms.violation, cost) < rank(best.violation, best_cost)


class FailurePenalty:
    """Remembers the last design that could be simulated."""

    def __init__(self, problem: OptimisationProblem) -> None:
        self.problem = problem
        self._good: Evaluation | None = None

    def terms(self, q: Vector, *, slopes: bool = False) -> Evaluation | None:
        """The design at `q`, or None."""
        terms = self.problem.at(q, slopes=slopes)
        if terms is not None:
            self._good = terms
        return terms

    @property
    def last(self) -> Evaluation:
        """The last design that could be simulated; the start always can."""
        assert self._good is not None
        return self._good

    def height(self, values: Vector) -> Vector:
        """Values that are far worse than the given ones."""
        return values + HEIGHT * (1 + np.abs(values))
