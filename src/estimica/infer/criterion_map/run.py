"""criterion_map: the cost over a grid of two tuners, row by row, and its Hessian."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.estimate.criteria.scoring import Scales
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective, Point, scored, scored_at
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.run.fit import fit as estimate
from estimica.estimate.run.one_start import limits_of
from estimica.estimate.search.methods import METHODS
from estimica.estimate.search.minimise import minimise
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.execute.outcome import ItemOutcome
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor as executor_of
from estimica.infer.criterion_map.hessian import Kind, curvature, unsimulated
from estimica.infer.criterion_map.result import CriterionMap, FailedMapPoint
from estimica.infer.criterion_map.together import GridPoint, JointPoints, joint_points
from estimica.study.fields.counts import MAP_POINTS
from estimica.study.study import Study

# chosen: far enough to see a valley bend, near enough for most models to be simulated everywhere
HALF_WIDTH = 0.5  # of the map, relative to the value
DECADES = math.log(4.0)  # half width on a logarithmic scale: a factor of four either way


def criterion_map(
    study: Study | Fit,
    first: str,
    second: str,
    *,
    points: int | tuple[int, int] = 31,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    refit: bool = False,
    at_start: bool = False,
    hessian: Kind = "gauss-newton",
    workers: int | None = 1,
    executor: str = "local",
    progress: Callable[[Progress], None] | bool | None = None,
) -> CriterionMap:
    """The cost over a grid of two tuners around the estimate; a study is fitted first.

    `ranges` gives the ends of the grid by name. The other unknowns keep their values, or are found
    anew at every point with `refit`. With `at_start` the map is around the start values. The
    Hessian is Gauss and Newton's, or by differences of the exact gradient ("differences").
    `progress` is told how many of how many rows are done.
    """
    setup, values, scales, threshold = map_centre(study, at_start)
    objective = scored(setup.calibration(), scales)
    chosen = tuple(place_of(objective.unknowns, n) for n in (first, second))
    if chosen[0] == chosen[1]:
        raise FitError("F080", f"a map needs two different tuners, not '{first}' twice")
    counts = (points, points) if isinstance(points, int) else points
    if min(counts) < 2:
        raise FitError("F081", f"points {points}: a map needs at least 2 along each tuner")
    if max(counts) > MAP_POINTS:
        raise FitError("F081", f"points {max(counts)}: a map has at most {MAP_POINTS} each way")
    x, y = (
        grid_of(objective.unknowns.items[k], float(values[k]), ranges, count)
        for k, count in zip(chosen, counts, strict=True)
    )
    _require_names(ranges, (first, second))
    start = objective.unknowns.coordinates(values)
    places = (chosen[0], chosen[1])
    task = MapTask(setup, objective, start, places, x, refit)
    joint, worked_by = joint_points(
        task, start, threshold, partial(cost_at, task), executor, workers
    )
    if joint is None:
        rows = each_of(task, _row, y, executor, workers, told(progress), "rows")
    else:
        rows = _rows_together(task, joint, y, told(progress))
        worked_by = replace(worked_by, alone=joint.left)
    cost, H, kind = curvature(setup, scales, start, places, hessian, refit)
    units = [objective.unknowns.items[k].unit for k in chosen]
    return CriterionMap(
        study=setup.study.name,
        names=(first, second),
        units=(units[0], units[1]),
        x=x,
        y=y,
        cost=np.array([costs for costs, _ in rows]),
        holes=tuple(h for _, holes in rows for h in holes),
        centre=(float(values[chosen[0]]), float(values[chosen[1]])),
        centre_is="start" if at_start else "estimate",
        centre_cost=cost,
        refitted=refit,
        hessian=H,
        kind=kind,
        origin=setup.study,
        worked_by=worked_by,
    )


def map_centre(study: Study | Fit, at_start: bool) -> tuple[Setup, Vector, Scales, float]:
    """(setup, values, robust scales, relative error of the Jacobian): those of the fit, or what the
    residuals at the start give."""
    if not at_start:
        found = study if isinstance(study, Fit) else estimate(study)
        return found.setup, found.values, found.scales, found.accuracy.threshold
    setup = study.setup if isinstance(study, Fit) else prepare(study)
    cases = setup.calibration()
    q = cases.unknowns.clipped(cases.unknowns.start)
    objective = scored_at(cases, q)
    if isinstance(objective, Failure):
        raise unsimulated(objective)
    return setup, cases.unknowns.values(q), objective.criterion.scales, 0.0


def place_of(unknowns: Unknowns, name: str) -> int:
    """The number of an unknown by its label."""
    labels = [u.label for u in unknowns.items]
    if name not in labels:
        raise FitError(
            "F082",
            f"there is no tuner '{name}'"
            + (did_you_mean(name, labels) or f" (there are {', '.join(labels)})"),
        )
    return labels.index(name)


def _require_names(ranges: Mapping[str, object] | None, names: Sequence[str]) -> None:
    for name in ranges or {}:
        if name not in names:
            raise FitError("F083", f"ranges: '{name}' is not on the map{did_you_mean(name, names)}")


def grid_of(
    unknown: Unknown, value: float, ranges: Mapping[str, tuple[float, float]] | None, count: int
) -> Vector:
    """Values of an unknown around `value`, or between given ends, within its bounds."""
    given = (ranges or {}).get(unknown.label)
    if given is not None:
        low, high = (float(g) for g in given)
        if not low < high:
            raise FitError("F084", f"ranges: '{unknown.label}' {low:g} … {high:g} does not go up")
    elif unknown.log:
        low, high = value * math.exp(-DECADES), value * math.exp(DECADES)
    else:
        width = HALF_WIDTH * (abs(value) or unknown.scale)
        low, high = value - width, value + width
    low, high = max(low, unknown.min), min(high, unknown.max)
    if unknown.log and low > 0:
        return np.geomspace(low, high, count)
    return np.linspace(low, high, count)


# --- the grid ------------------------------------------------------------------------------------

Row = tuple[list[float], list[FailedMapPoint]]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class MapTask:
    """What every row of a map, or every point of a curve, needs."""

    setup: Setup
    objective: Objective
    start: Vector
    places: tuple[int, ...]
    x: Vector
    refit: bool


def each_of(
    task: MapTask,
    work: Callable[[MapTask, float], T],
    values: Vector,
    name: str,
    workers: int | None,
    progress: Callable[[Progress], None] | None,
    pieces: str,
) -> list[T]:
    """Rows of a map or points of a curve; each begins at the centre, so that it does not matter
    who does it."""
    scales = task.objective.criterion.scales
    build = partial(_task, task.setup.study, scales, task.start, task.places, task.x, task.refit)
    count = itertools.count(1)

    def tell(index: int, outcome: ItemOutcome[T]) -> None:
        if progress:
            progress(Progress(next(count), len(values), pieces=pieces))

    context = Context(build=build, built=task)
    with executor_of(name, workers) as many:
        outcomes = many.map(work, [float(v) for v in values], context=context, on_done=tell)
    return [o.result() for o in outcomes]


def _task(
    study: Study, scales: Scales, start: Vector, places: tuple[int, ...], x: Vector, refit: bool
) -> MapTask:
    setup = prepare(study)
    return MapTask(setup, scored(setup.calibration(), scales), start, places, x, refit)


def _rows_together(
    task: MapTask, joint: JointPoints, y: Vector, progress: Callable[[Progress], None] | None
) -> list[Row]:
    """Some rows at a time, whose points at one value of the first tuner are computed together.

    Each point begins where the one before it in its row ended, as in a row that is alone.
    """
    unknowns, done = task.objective.unknowns, list[Row]()
    many = joint.at_once if task.refit else max(1, joint.at_once // len(task.x))

    def there(near: Vector, first: float, second: float) -> Vector:
        values = unknowns.values(near)
        values[list(task.places)] = first, second
        return unknowns.coordinates(values)

    for begin in range(0, len(y), many):
        some = [float(v) for v in y[begin : begin + many]]
        points: list[list[GridPoint]] = [[] for _ in some]
        if task.refit:
            near = [task.start] * len(some)
            for first in task.x:
                found = joint.at([there(q, first, v) for q, v in zip(near, some, strict=True)])
                near = [task.start if p.failure else p.q for p in found]
                for row, point in zip(points, found, strict=True):
                    row.append(point)
        else:
            found = joint.at([there(task.start, x, v) for v in some for x in task.x])
            points = [found[k * len(task.x) : (k + 1) * len(task.x)] for k in range(len(some))]
        done += [_row_of(task, v, row) for v, row in zip(some, points, strict=True)]
        if progress:
            progress(Progress(len(done), len(y), pieces="rows"))
    return done


def _row_of(task: MapTask, second: float, points: Sequence[GridPoint]) -> Row:
    holes = [
        FailedMapPoint(float(first), second, f"case '{p.failure.case}': {p.failure.message}")
        for first, p in zip(task.x, points, strict=True)
        if p.failure
    ]
    return [p.cost for p in points], holes


def _row(task: MapTask, second: float) -> Row:
    costs: list[float] = []
    holes: list[FailedMapPoint] = []
    unknowns = task.objective.unknowns
    near = task.start
    for first in task.x:
        values = unknowns.values(near)
        values[list(task.places)] = first, second
        point = cost_at(task, unknowns.coordinates(values))
        if isinstance(point, Failure):
            costs.append(math.nan)
            holes.append(
                FailedMapPoint(float(first), second, f"case '{point.case}': {point.message}")
            )
            near = task.start
        else:
            costs.append(point.cost)
            near = point.q if task.refit else task.start
    return costs, holes


def cost_at(task: MapTask, q: Vector) -> Point | Failure:
    """The cost at `q`, the other unknowns held, or found anew."""
    if not task.refit or len(q) == len(task.places):
        return task.objective.at(q)
    held = np.zeros(len(q), bool)
    held[list(task.places)] = True
    estimation = task.setup.study.estimation
    before = task.objective.evaluations.failed
    searched = minimise(
        task.objective, METHODS[estimation.method](), q, limits_of(estimation), held=held
    )
    if searched.point is not None:
        return searched.point
    failures = task.objective.evaluations.failures
    if task.objective.evaluations.failed > before and failures:
        return failures[-1]
    return Failure("", searched.message, {})
