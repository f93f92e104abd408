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

#: moves of an unknown, over its size: does the cost change where its slope is zero?
MOVED = (1e-3, 1e-2, 0.1)
CHANGED = 1e-6  # share of Σρ² above which a change is none of the simulation's own error
NEAR = 0.01  # edge of the simplex at kinks: the gradients have led that close


def minimise(
    objective: Objective,
    method: Method,
    start: Vector,
    limits: Limits,
    told: OnIteration | None = None,
    held: Flags | None = None,
    *,
    persistent: bool = False,
) -> SearchResult:
    """Minimise the objective from coordinates `start`; unknowns marked in `held` stay there.

    A persistent search tries again where failing simulations have led it astray.
    """
    if _shape(objective, start) is Shape.STEPPED:
        found = without_gradients(objective, start, limits, told, held)
        return replace(found, rough=_criterion_is_rough(objective))
    found = search(objective, method, start, limits, told, held, persistent=persistent)
    point = found.point
    if point is None or found.status in (Status.INTERRUPTED, Status.TIME):
        return found
    shape = _shape(objective, point.q)
    stepped = None if shape is Shape.STEPPED else _acts_in_steps(objective, point, held)
    if stepped is not None:
        again = _over_steps(objective, method, point, limits, told, stepped, held)
    elif shape is Shape.STEPPED:
        again = without_gradients(objective, point.q, limits, told, held)
        again = replace(again, rough=_criterion_is_rough(objective))
    elif shape is Shape.KINKED:
        again = without_gradients(objective, point.q, limits, told, held, NEAR)
    else:
        return found
    rows = (*found.iterations, *again.iterations[1:])
    iterations = tuple(replace(one, number=k) for k, one in enumerate(rows))
    return replace(again, iterations=iterations)


def led_by_gradients(
    cases: ResidualFunction, found: SearchResult, transcription: str
) -> SearchResult:
    """What a transcription has found; refused where its criterion has no gradients to lead it."""
    point = found.point
    if point is None or not isinstance(cases.wanted, Criterion) or not cases.wanted.may_be_rough:
        return found
    predictions = point.predictions or cases.predict(point.values)
    if isinstance(predictions, Failure):
        return found
    if cases.wanted.shape(cases.residuals(predictions)) is Shape.STEPPED:
        raise FitError(
            "F026",
            f"criterion '{cases.wanted.name}' is flat or changes in steps, and transcription = "
            f"'{transcription}' needs its gradient; use 'shooting', which can search without",
        )
    return found


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
    found, said = [], ""
    for k in np.flatnonzero(idle):
        moved = _moved(objective, point, int(k))
        if moved is not None:
            found.append(int(k))
            said = said or (
                f"the derivative by '{objective.unknowns.items[k].label}' is zero, and yet the "
                f"cost changes when it is moved by {100 * moved:g} %: it acts in steps"
            )
    return Rough(said, tuple(found)) if found else None


def _over_steps(
    objective: Objective,
    method: Method,
    point: Point,
    limits: Limits,
    told: OnIteration | None,
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
        found = search(objective, method, q, limits, held=kept)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return found.point or Failure("", found.message, {})

    again = without_gradients(objective, point.q, limits, told, ~stepped, evaluate=fitted)
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
