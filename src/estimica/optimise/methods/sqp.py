"""Sequential quadratic programming; the largest criterion is bounded by a variable of its own.

    minimise α  subject to  w_i(q) - α ≤ 0  of what is made small,
                            w_i(q) - 1 ≤ 0  or  = 0  of what is limited

turns the kinks of a maximum into smooth constraints, so that gradients say all there is to know.
Of a settling time, which jumps, it is bounded that its signal stays within the band after α·demand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from estimica.base.arrays import Vector
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.methods.stop import SearchEnd, Stop
from estimica.optimise.problem import (
    FEASIBLE,
    Evaluation,
    FailurePenalty,
    OptimisationProblem,
    SearchStalled,
)

#: Searches with the curvature forgotten, where the line search finds no way down, and the relative
#: gain that is worth one more. Neither matters where criteria are smooth: the 21 problems of Hock
#: and Schittkowski in tests/optimise take 614 designs with 1 search and 618 with 3 or 10, and as
#: many with gains of 1e-8 or 1e-4. Chosen: few, for kinks that the curvature has caught.
FRESH_STARTS = 3
GAIN = 1e-6
#: What it costs to exceed elastic limits by their demands. Such a penalty is exact, its minimum
#: that of the limits themselves, above the sum of the multipliers (R. Fletcher, Practical Methods
#: of Optimization, 1987, chapter 14); criteria and limits are all in units of their demands, so
#: that multipliers are of the order of one.
STIFF = 20.0

_ENDED = {
    0: ("converged", "the step promises no gain within the tolerance"),
    4: ("stalled", "the linearised limits contradict each other near the best design"),
    8: ("stalled", "no step lowers the criteria: they may jump here"),
    9: ("iteration limit", "the most iterations were made"),
}


def sqp(problem: OptimisationProblem, start: Vector, stop: Stop) -> SearchEnd:
    """SLSQP of SciPy, begun anew from the best design where it loses its way.

    Where it finds no design within the limits, they are made elastic for a while: each may be
    exceeded by the same amount, which costs much.
    """
    ended, used = _rounds(problem, start, stop, stop.max_iterations)
    best = problem.own
    if best is not None and len(best.limits) and best.violation > FEASIBLE:
        problem.begin()
        eased, more = _resting(problem, best.point.q, stop, stop.max_iterations)
        used += more
        if problem.own is not None and problem.own.violation < best.violation:
            nearer = problem.own.point.q
            problem.begin()
            ended, more = _rounds(problem, nearer, stop, stop.max_iterations)
            used += more
        else:
            ended = eased
    return SearchEnd(ended.status, ended.message, used)


def _resting(
    problem: OptimisationProblem, start: Vector, stop: Stop, iterations: int
) -> tuple[SearchEnd, int]:
    """With elastic limits, until nothing is gained."""
    try:
        return _once(problem, start, stop, iterations, elastic=True)
    except SearchStalled as rested:
        return SearchEnd(rested.status, rested.message), 0


def _rounds(
    problem: OptimisationProblem, start: Vector, stop: Stop, iterations: int
) -> tuple[SearchEnd, int]:
    ended = SearchEnd("stalled", "")
    q, used, left = start, 0, iterations
    for _ in range(FRESH_STARTS):
        before = problem.own_cost
        try:
            ended, iterations_made = _once(problem, q, stop, left)
        except SearchStalled as rested:
            return SearchEnd(rested.status, rested.message), used
        used, left = used + iterations_made, left - iterations_made
        gained = before - problem.own_cost
        if ended.status != "stalled" or left <= 0 or problem.own is None:
            break
        if not gained > GAIN * (1 + abs(problem.own_cost)):
            break
        q = problem.own.point.q
    return ended, used


def _once(
    problem: OptimisationProblem,
    start: Vector,
    stop: Stop,
    iterations: int,
    *,
    elastic: bool = False,
) -> tuple[SearchEnd, int]:
    form = _Form(problem, start, elastic)
    result = minimize(
        form.objective,
        form.start,
        jac=form.objective_slope,
        bounds=form.bounds,
        constraints=form.constraints(),
        method="SLSQP",
        options={"ftol": stop.tolerance, "maxiter": iterations},
    )
    status, message = _ENDED.get(int(result.status), _ENDED[8])
    return SearchEnd(status, message), int(result.nit)


class _Form:
    """The problem as SLSQP takes it: x = (q, α, s) where criteria are bounded by α, and where
    limits are elastic and may be exceeded by s."""

    def __init__(self, problem: OptimisationProblem, start: Vector, elastic: bool) -> None:
        self.problem = problem
        self.wall = FailurePenalty(problem)
        first = self.wall.terms(start, slopes=True)
        assert first is not None  # the start was tried before
        self.n = len(start)
        several = len(first.objectives) > 1 or bool(first.counted.kept)
        self.bounded = problem.aggregate == "max" and several and len(first.objectives) > 0
        self.elastic = elastic
        x, low, high = [*start], [*problem.unknowns.lower], [*problem.unknowns.upper]
        if self.bounded:
            x, low, high = [*x, first.objectives.max()], [*low, -np.inf], [*high, np.inf]
        if elastic:
            x, low, high = [*x, max(first.violation, 0.0)], [*low, 0.0], [*high, np.inf]
        self.start = np.array(x)
        self.bounds = Bounds(np.array(low), np.array(high))
        self._last: tuple[Vector, ConstraintValues] | None = None

    def _terms(self, x: Vector) -> Evaluation | None:
        unknowns = self.problem.unknowns
        q = np.clip(x[: self.n], unknowns.lower, unknowns.upper)
        return self.wall.terms(q, slopes=True)

    def objective(self, x: Vector) -> float:
        stretch = STIFF * float(x[-1]) if self.elastic else 0.0
        if self.bounded:
            return float(x[self.n]) + stretch
        terms = self._terms(x)
        if terms is None:
            cost = np.array([self.problem.cost(self.wall.last)])
            return float(self.wall.height(cost)[0])
        return self.problem.cost(terms) + stretch

    def objective_slope(self, x: Vector) -> Vector:
        slope = np.zeros(len(x))
        if self.elastic:
            slope[-1] = STIFF
        if self.bounded:
            slope[self.n] = 1.0
        else:
            slope[: self.n] = self.problem.cost_slope(self._terms(x) or self.wall.last)
        return slope

    def constraints(self) -> list[dict[str, Any]]:
        """SLSQP wants what is at least zero."""
        first = self._all(self.start)
        constraints: list[dict[str, Any]] = []
        if len(first.at_most):
            constraints.append(
                {
                    "type": "ineq",
                    "fun": lambda x: -self._all(x).at_most,
                    "jac": lambda x: -self._all(x).at_most_slopes,
                }
            )
        if len(first.equal):
            constraints.append(
                {
                    "type": "eq",
                    "fun": lambda x: self._all(x).equal,
                    "jac": lambda x: self._all(x).equal_slopes,
                }
            )
        return constraints

    def _all(self, x: Vector) -> ConstraintValues:
        if self._last is not None and np.array_equal(x, self._last[0]):
            return self._last[1]
        terms = self._terms(x)
        alpha = float(x[self.n]) if self.bounded else None
        values = constraint_values(terms or self.wall.last, alpha)
        if terms is None:
            values = replace(
                values,
                at_most=self.wall.height(values.at_most),
                equal=self.wall.height(values.equal),
            )
        if self.elastic:
            values = eased(values, float(x[-1]))
        self._last = x.copy(), values
        return values


@dataclass(frozen=True, eq=False)
class ConstraintValues:
    """Values and derivatives by (q, α), or by q alone."""

    at_most: Vector
    at_most_slopes: Vector
    limited: Vector  # 1 where it is a limit, 0 where it is bounded by α
    equal: Vector
    equal_slopes: Vector


def constraint_values(terms: Evaluation, alpha: float | None) -> ConstraintValues:
    """All that is bounded at `alpha`; without one only what is limited."""
    point = terms.counted
    rows: list[tuple[Vector, Vector]] = []
    if alpha is not None:
        for k in point.of_role("minimise"):  # weight·value/demand is at most α
            weight = point.places[k].weight
            rows.append(_at_most(point, k, alpha / weight, 1.0 / weight))
    free = sum(len(r[0]) for r in rows)
    by_alpha = None if alpha is None else 0.0
    rows += [_at_most(point, k, 1.0, by_alpha) for k in point.of_role("at-most")]
    width = len(point.q) + (alpha is not None)
    values = np.concatenate([r[0] for r in rows]) if rows else np.zeros(0)
    slopes = np.vstack([r[1] for r in rows]) if rows else np.zeros((0, width))
    equal = terms.equality_slopes
    assert equal is not None
    if alpha is not None:
        equal = np.hstack([equal, np.zeros((len(equal), 1))])
    limited = np.append(np.zeros(free), np.ones(len(values) - free))
    return ConstraintValues(values, slopes, limited, terms.equalities, equal)


def _at_most(
    point: DesignPoint, k: int, level: float, by_level: float | None
) -> tuple[Vector, Vector]:
    """What must not be positive for score `k` to be at most `level` demands."""
    assert point.slopes is not None
    kept = point.kept.get(k)
    if kept is None:
        values = point.weighted[k : k + 1] - level
        slopes, rates = point.weighted_slopes[k : k + 1], np.full(1, -1.0)
    else:
        demand = point.places[k].demand
        constraint = kept.below(level * demand, demand)
        assert point.factors is not None
        values, slopes = constraint.values, constraint.slopes * point.factors
        rates = constraint.rates * demand
    if by_level is None:
        return values, slopes
    return values, np.hstack([slopes, by_level * rates[:, None]])


def eased(constraints: ConstraintValues, by: float) -> ConstraintValues:
    """The same with limits that may be exceeded by so many demands, which is one more variable."""
    column = -constraints.limited[:, None]
    return replace(
        constraints,
        at_most=constraints.at_most - by * constraints.limited,
        at_most_slopes=np.hstack([constraints.at_most_slopes, column]),
        equal_slopes=np.hstack([constraints.equal_slopes, np.zeros((len(constraints.equal), 1))]),
    )
