"""Minimise: the search by gradients where these tell of finite changes, else without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import FitError
from estimica.estimate.criteria.roughness import Rough, Shape
from estimica.estimate.criteria.scoring import Criterion
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import Limits, Method, OnIteration, SearchResult, Status, search
from estimica.estimate.search.simplex import without_gradients

#: moves of an unknown, over its size: does the cost change where its slope is zero? Chosen:
#: from a change that nobody would call another value to one that anybody would
MOVED = (1e-3, 1e-2, 0.1)
#: share of Σρ² above which a change is none of the simulation's own error: GAIN of optimality
CHANGED = 1e-6
#: edge of the simplex at kinks: the gradients have led that close. Chosen: a tenth of that of a
#: search that begins far away, which would walk back over what is known
NEAR = 0.01


def minimise(
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

    A persistent search tries again where failing simulations have led it astray.
    """
    if _shape(objective, start) is Shape.STEPPED:
        searched = without_gradients(objective, start, limits, on_iteration, held)
        return replace(searched, rough=_criterion_is_rough(objective))
    searched = search(objective, method, start, limits, on_iteration, held, persistent=persistent)
    point = searched.point
    if point is None or searched.status in (Status.INTERRUPTED, Status.TIME):
        return searched
    shape = _shape(objective, point.q)
    stepped = None if shape is Shape.STEPPED else _acts_in_steps(objective, point, held)
    if stepped is not None:
        again = _over_steps(objective, method, point, limits, on_iteration, stepped, held)
    elif shape is Shape.STEPPED:
        again = without_gradients(objective, point.q, limits, on_iteration, held)
        again = replace(again, rough=_criterion_is_rough(objective))
    elif shape is Shape.KINKED:
        again = without_gradients(objective, point.q, limits, on_iteration, held, NEAR)
    else:
        return searched
    rows = (*searched.iterations, *again.iterations[1:])
    iterations = tuple(replace(one, number=k) for k, one in enumerate(rows))
    return replace(again, iterations=iterations)


def led_by_gradients(
    cases: ResidualFunction, searched: SearchResult, transcription: str
) -> SearchResult:
    """What a transcription has found; refused where its criterion has no gradients to lead it."""
    point = searched.point
    if point is None or not isinstance(cases.wanted, Criterion) or not cases.wanted.may_be_rough:
        return searched
    predictions = point.predictions or cases.predict(point.values)
    if isinstance(predictions, Failure):
        return searched
    if cases.wanted.shape(cases.residuals(predictions)) is Shape.STEPPED:
        raise FitError(
            "F026",
            f"criterion '{cases.wanted.name}' is flat or changes in steps, and transcription = "
            f"'{transcription}' needs its gradient; use 'shooting', which can search without",
        )
    return searched


def _shape(objective: Objective, q: Vector) -> Shape:
    """How the criterion looks around a point; of one that fails the search will tell."""
    if not objective.criterion.may_be_rough:
        return Shape.SMOOTH
    predictions = objective.predict(objective.unknowns.values(objective.unknowns.clipped(q)))
    if isinstance(predictions, Failure):
        return Shape.SMOOTH
    residuals = objective.residuals(predictions)
    if not all(np.isfinite(r).all() for r in residuals):
        return Shape.SMOOTH
    return objective.criterion.shape(residuals)


def _criterion_is_rough(objective: Objective) -> Rough:
    reason = f"criterion '{objective.criterion.name}' is flat or changes in steps"
    return Rough(reason, tuple(range(len(objective.unknowns))))


def _acts_in_steps(objective: Objective, point: Point, held: Flags | None) -> Rough | None:
    """The unknowns whose slopes are zero while the cost changes when they are moved."""
    idle = ~point.R.any(axis=0) if held is None else ~point.R.any(axis=0) & ~held
    stepped, reason = [], ""
    for k in np.flatnonzero(idle):
        moved = _moved(objective, point, int(k))
        if moved is not None:
            stepped.append(int(k))
            reason = reason or (
                f"the derivative by '{objective.unknowns.items[k].label}' is zero, and yet the "
                f"cost changes when it is moved by {100 * moved:g} %: it acts in steps"
            )
    return Rough(reason, tuple(stepped)) if stepped else None


def _over_steps(
    objective: Objective,
    method: Method,
    point: Point,
    limits: Limits,
    on_iteration: OnIteration | None,
    rough: Rough,
    held: Flags | None,
) -> SearchResult:
    """Without gradients over the unknowns that act in steps; the others are fitted to each try."""
    stepped = np.zeros(len(point.q), bool)
    stepped[list(rough.unknowns)] = True
    kept = stepped if held is None else stepped | held

    def fitted(q: Vector) -> Point | Failure:
        if kept.all():
            return objective.at(q)
        searched = search(objective, method, q, limits, held=kept)
        if searched.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return searched.point or Failure("", searched.message, {})

    again = without_gradients(objective, point.q, limits, on_iteration, ~stepped, evaluate=fitted)
    return replace(again, rough=rough)


def _moved(objective: Objective, point: Point, k: int) -> float | None:
    """How far an unknown has to be moved for the cost to change."""
    for share in MOVED:
        for sign in (1.0, -1.0):
            q = point.q.copy()
            q[k] += sign * share * max(abs(float(q[k])), 1.0)
            there = objective.at(objective.unknowns.clipped(q))
            if isinstance(there, Point):
                change = abs(there.cost - point.cost)
                if change > max(CHANGED * point.square, 1e-9 * abs(point.cost)):
                    return share
    return None
