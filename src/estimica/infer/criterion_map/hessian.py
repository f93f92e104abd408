"""The Hessian of the criterion by one or two unknowns: Gauss and Newton's, or by differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.estimate.criteria.scoring import Scales
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    with_curvature_of,
)
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.setup import Setup

Kind = Literal["gauss-newton", "differences"]
#: relative, of central differences of gradients: their curvature errs by its square, 1e-8, and the
#: error of a gradient counts 1e4-fold, for which tolerances are tightened by as much
STEP = 1e-4
#: relative, of differences of a cost that has kinks or steps. Chosen: it must reach over many of
#: them, and still lie within the map
STRIDE = 0.1


def curvature(
    setup: Setup,
    scales: Scales,
    q: Vector,
    places: tuple[int, ...],
    kind: Kind,
    adapted: bool,
) -> tuple[float, Vector, Kind]:
    """(cost, Hessian of the cost by some unknowns in their units, its kind).

    Gauss and Newton's is 2 JᵀJ of the weighted residuals; with `adapted`, the other unknowns
    follow (the Schur complement). A criterion that has steps has differences of its values only.
    """
    solver = setup.study.solver
    tight = replace(solver, rtol=max(solver.rtol / 1e4, 1e-12), atol=solver.atol / 1e4)
    objective = scored(setup.calibration(tight), scales)
    point = objective.at(q)
    if isinstance(point, Failure):
        raise unsimulated(point)
    judge = accuracy_objective(objective, point)
    if isinstance(judge, str) or (judge is not objective and kind == "differences"):
        kind, H = "differences", _by_costs(objective, point)
    elif kind == "differences":
        H = _by_differences(objective, point)
    else:
        R = with_curvature_of(judge, point).R
        H = 2 * R.T @ R
    slopes = objective.unknowns.slopes(q)
    H = H / np.outer(slopes, slopes)
    chosen = list(places)
    others = [k for k in range(len(q)) if k not in chosen]
    block = H[np.ix_(chosen, chosen)]
    if adapted and others:
        cross = H[np.ix_(chosen, others)]
        # squares of singular values: 1e-6 of the largest; what is below does not follow
        inner = np.linalg.pinv(H[np.ix_(others, others)], rcond=1e-12, hermitian=True)
        block = block - cross @ inner @ cross.T
    found: Vector = (block + block.T) / 2
    return point.cost, found, kind


def unsimulated(failure: Failure) -> FitError:
    """What is said where a map has no centre."""
    return FitError(
        "F085", f"case '{failure.case}' cannot be simulated at the centre: {failure.message}"
    )


def _by_costs(objective: Objective, point: Point) -> Vector:
    """The Hessian by the coordinates from differences of the cost over a tenth of each of them."""
    n = len(point.q)
    steps = STRIDE * np.maximum(np.abs(point.q), 1.0)

    def cost(*moves: tuple[int, int]) -> float:
        q = point.q.copy()
        for k, sign in moves:
            q[k] += sign * steps[k]
        there = objective.at(q)
        return np.nan if isinstance(there, Failure) else there.cost

    H = np.zeros((n, n))
    for i in range(n):
        H[i, i] = (cost((i, 1)) - 2 * point.cost + cost((i, -1))) / steps[i] ** 2
        for j in range(i):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            mixed = sum(a * b * cost((i, a), (j, b)) for a, b in signs)
            H[i, j] = H[j, i] = mixed / (4 * steps[i] * steps[j])
    if not np.isfinite(H).all():
        raise FitError("F086", "differences: the cases cannot be simulated beside the centre")
    return H


def _by_differences(objective: Objective, point: Point) -> Vector:
    """The Hessian by the coordinates from central differences of the exact gradient."""
    n = len(point.q)
    H = np.zeros((n, n))
    for k in range(n):
        step = STEP * max(abs(float(point.q[k])), 1.0 if objective.unknowns.items[k].log else 1e-3)
        sides = []
        for sign in (1, -1):
            q = point.q.copy()
            q[k] += sign * step
            there = objective.at(q)
            if isinstance(there, Failure):
                raise FitError(
                    "F086",
                    f"differences: case '{there.case}' cannot be simulated beside the centre; "
                    "use hessian='gauss-newton'",
                )
            sides.append(2 * there.gradient)
        H[:, k] = (sides[0] - sides[1]) / (2 * step)
    found: Vector = (H + H.T) / 2
    return found
