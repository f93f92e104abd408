"""cost_curve: the cost over one tuner, point by point, and its curvature at the centre."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import scored
from estimica.estimate.objective.predictor import Failure
from estimica.infer.cost_curve.result import CostCurve, FailedCurvePoint
from estimica.infer.criterion_map.hessian import Kind, curvature
from estimica.infer.criterion_map.run import (
    MapTask,
    cost_at,
    each_of,
    grid_of,
    map_centre,
    place_of,
)
from estimica.infer.criterion_map.together import JointPoints, joint_points
from estimica.study.fields.counts import CURVE_POINTS
from estimica.study.study import Study


def cost_curve(
    study: Study | Fit,
    tuner: str,
    *,
    points: int = 101,
    range: tuple[float, float] | None = None,
    refit: bool = False,
    at_start: bool = False,
    hessian: Kind = "gauss-newton",
    workers: int | None = 1,
    executor: str = "local",
    progress: Callable[[Progress], None] | bool | None = None,
) -> CostCurve:
    """The cost over one tuner around its estimate, P(τ); a study is fitted first.

    `range` gives the ends of the curve. The other unknowns keep their values, or are found anew at
    every point with `refit`. With `at_start` the curve is around the start values. The curvature
    at the centre is Gauss and Newton's, or by differences of the exact gradient ("differences").
    `progress` is told how many of how many points are done.
    """
    setup, values, scales, threshold = map_centre(study, at_start)
    objective = scored(setup.calibration(), scales)
    place = place_of(objective.unknowns, tuner)
    if not 3 <= points <= CURVE_POINTS:
        raise FitError("F089", f"points {points}: a curve has 3 to {CURVE_POINTS} of them")
    unknown = objective.unknowns.items[place]
    ranges = None if range is None else {tuner: range}
    x = grid_of(unknown, float(values[place]), ranges, points)
    start = objective.unknowns.coordinates(values)
    task = MapTask(setup, objective, start, (place,), x, refit)
    joint, worked_by = joint_points(
        task, start, threshold, partial(cost_at, task), executor, workers
    )
    if joint is None:
        outcomes = each_of(task, _point, x, executor, workers, told(progress), "points")
    else:
        outcomes = _points_together(task, joint, told(progress))
        worked_by = replace(worked_by, alone=joint.left)
    cost, H, kind = curvature(setup, scales, start, (place,), hessian, refit)
    return CostCurve(
        study=setup.study.name,
        name=tuner,
        unit=unknown.unit,
        x=x,
        cost=np.array([c for c, _ in outcomes]),
        holes=tuple(
            FailedCurvePoint(float(v), why) for v, (_, why) in zip(x, outcomes, strict=True) if why
        ),
        centre=float(values[place]),
        centre_is="start" if at_start else "estimate",
        centre_cost=cost,
        log=unknown.log and float(x[0]) > 0,
        refitted=refit,
        curvature=float(H[0, 0]),
        kind=kind,
        origin=setup.study,
        worked_by=worked_by,
    )


Outcome = tuple[float, str]  # a cost, or why there is none


def _there(task: MapTask, value: float) -> Vector:
    """Coordinates of the centre with the tuner elsewhere."""
    unknowns = task.objective.unknowns
    values = unknowns.values(task.start)
    values[list(task.places)] = value
    return unknowns.coordinates(values)


def _points_together(
    task: MapTask, joint: JointPoints, progress: Callable[[Progress], None] | None
) -> list[Outcome]:
    done: list[Outcome] = []
    for begin in builtins.range(0, len(task.x), joint.at_once):
        some = task.x[begin : begin + joint.at_once]
        for p in joint.at([_there(task, float(v)) for v in some]):
            failed = p.failure
            done.append((p.cost, f"case '{failed.case}': {failed.message}" if failed else ""))
        if progress:
            progress(Progress(len(done), len(task.x), pieces="points"))
    return done


def _point(task: MapTask, value: float) -> Outcome:
    point = cost_at(task, _there(task, value))
    if isinstance(point, Failure):
        return math.nan, f"case '{point.case}': {point.message}"
    return point.cost, ""
