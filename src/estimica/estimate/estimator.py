"""fit: finds the tuners of a study, and says how far to trust them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from estimica.estimate.accuracy import Accuracy, accuracy
from estimica.estimate.advice import advice
from estimica.estimate.comparison import compare
from estimica.estimate.fit import Fit, Identifiability, Outcome, StartResult
from estimica.estimate.identifiability import explain
from estimica.estimate.likelihood import information
from estimica.estimate.methods import METHODS
from estimica.estimate.objective import Objective, Point
from estimica.estimate.prediction import Failure
from estimica.estimate.search import Iteration, Limits, Searched, Status, search
from estimica.estimate.setup import Setup, prepare
from estimica.execute.threads import one_thread
from estimica.study.estimation import Estimation
from estimica.study.study import Study

Vector = npt.NDArray[np.float64]
PASSES = 25  # of a search whose robust scales are adapted in between
MANY = 200_000  # samples from which on the Jacobian's error is not measured but assumed


@dataclass(frozen=True, eq=False)
class Progress:
    """What there is to tell while a fit runs."""

    iteration: Iteration
    names: tuple[str, ...]  # of the unknowns
    start: int = 0  # which of several starts
    starts: int = 1


OnProgress = Callable[[Progress], None]


@one_thread()
def fit(study: Study, *, progress: OnProgress | None = None, workers: int | None = 1) -> Fit:
    """Find the tuners of a study from its calibrating cases.

    `progress` is called after every iteration; several starts are shared among `workers`
    processes. Ctrl-C ends the search and returns the best values so far.
    """
    begun = perf_counter()
    setup = prepare(study)
    objective = setup.calibration()
    if study.estimation.starts > 1:
        from estimica.estimate.multistart import multistart

        searched, starts = multistart(setup, objective, progress, workers)
    else:
        searched, starts = find(setup, objective, objective.unknowns.start, progress), ()
    return conclude(setup, objective, searched, starts, perf_counter() - begun)


def find(
    setup: Setup, objective: Objective, start: Vector, progress: OnProgress | None = None
) -> Searched:
    """Search from one start with the study's method and transcription."""
    estimation = setup.study.estimation
    names = tuple(u.label for u in objective.unknowns.items)

    def tell(iteration: Iteration, point: Point) -> None:
        if progress:
            progress(Progress(iteration, names))

    if estimation.transcription == "multiple-shooting":
        from estimica.estimate.multiple_shooting import multiple_shooting

        return multiple_shooting(setup, objective, start, limits_of(estimation), tell)
    if estimation.transcription == "collocation":
        from estimica.estimate.collocation import collocation

        return collocation(setup, objective, start, limits_of(estimation), tell)
    return shooting(objective, estimation, start, tell)


def shooting(
    objective: Objective,
    estimation: Estimation,
    start: Vector,
    tell: Callable[[Iteration, Point], None] | None = None,
) -> Searched:
    """Search by simulating each case as a whole.

    Robust scales are taken from the residuals at hand, held during a search and taken anew until
    they stay.
    """
    limits = limits_of(estimation)
    begun: list[Iteration] = []
    for _ in range(PASSES):
        before = objective.criterion.scales()
        if not adapt(objective, start):
            break
        if before and np.allclose(objective.criterion.scales(), before, rtol=1e-6):
            break
        searched = search(objective, METHODS[estimation.method](), start, limits, tell)
        begun += searched.iterations[1 if begun else 0 :]
        if searched.point is None or searched.status is Status.INTERRUPTED:
            return replace(searched, iterations=numbered(begun))
        start = searched.point.q
    searched = search(objective, METHODS[estimation.method](), start, limits, tell)
    return replace(searched, iterations=numbered([*begun, *searched.iterations[len(begun) > 0 :]]))


def adapt(objective: Objective, q: Vector) -> bool:
    """Take the criterion's scales from the residuals at `q`; False where it has none."""
    if not objective.criterion.adapts:
        return False
    predictions = objective.predict(objective.unknowns.values(objective.unknowns.clipped(q)))
    if isinstance(predictions, Failure):
        return False
    objective.criterion = objective.criterion.adapted(objective.residuals(predictions))
    return True


def numbered(iterations: Sequence[Iteration]) -> tuple[Iteration, ...]:
    """Iterations of several passes in one row."""
    return tuple(replace(one, number=k) for k, one in enumerate(iterations))


def limits_of(estimation: Estimation) -> Limits:
    """When the search of a study ends."""
    return Limits(estimation.tolerance, estimation.max_iterations, estimation.max_seconds)


def conclude(
    setup: Setup,
    objective: Objective,
    searched: Searched,
    starts: tuple[StartResult, ...],
    seconds: float,
) -> Fit:
    """Everything that is said of an estimate."""
    unknowns = objective.unknowns
    point = searched.point
    values = unknowns.values(unknowns.clipped(unknowns.start)) if point is None else point.values
    q = unknowns.clipped(unknowns.start) if point is None else point.q
    bounds = tuple(_at_bound(unknowns.lower[k], unknowns.upper[k], x) for k, x in enumerate(q))
    known = _accuracy(setup, objective, point, values, bounds)
    aic, bic = information(objective, point)
    cases = compare(setup, objective, point)
    message = _message(searched, objective) + advice(setup, searched, cases)
    return Fit(
        study=setup.study,
        outcome=Outcome(searched.status, message),
        criterion=objective.criterion.name,
        cost=math.inf if point is None else point.cost,
        unknowns=unknowns,
        values=values,
        at_bound=bounds,
        accuracy=known,
        noise=dict(point.noise) if point else {},
        n_samples=objective.n_samples,
        aic=aic,
        bic=bic,
        identifiability=_identifiability(setup, objective, point, known, bounds),
        cases=cases,
        iterations=searched.iterations,
        evaluations=objective.evaluations,
        starts=starts,
        seconds=seconds,
        setup=setup,
    )


def _at_bound(low: float, high: float, q: float) -> str:
    near = 1e-9 * max(1.0, abs(q))
    return "min" if q <= low + near else "max" if q >= high - near else ""


def _message(searched: Searched, objective: Objective) -> str:
    failed = objective.evaluations.failed
    if not failed or searched.point is None:
        return searched.message
    return f"{searched.message}; {failed} simulations failed on the way and were passed over"


def _accuracy(
    setup: Setup,
    objective: Objective,
    point: Point | None,
    values: Vector,
    bounds: Sequence[str],
) -> Accuracy:
    n = len(objective.unknowns)
    held = np.array([bool(b) for b in bounds], bool)
    if point is None:
        none = np.full(n, np.nan)
        return Accuracy(
            np.full((n, n), np.nan),
            none,
            np.full((n, 2), np.nan),
            np.zeros(n, bool),
            0,
            np.zeros(0),
            0.0,
            np.zeros((0, n)),
        )
    R, threshold = _jacobian_and_error(setup, objective, point)
    freedom = objective.n_samples - int((~held).sum())
    return accuracy(
        R,
        values,
        objective.unknowns.slopes(point.q),
        held,
        scatter=_scatter(objective, point),
        variance=_variance(objective, point, freedom),
        freedom=freedom,
        threshold=threshold,
    )


def _scatter(objective: Objective, point: Point) -> Vector | None:
    """How the gradient scatters, where that does not follow from R."""
    if objective.criterion.has_unit_variance:
        return None
    return objective.scatter(point.q) if point.predictions is None else point.scatter


def _variance(objective: Objective, point: Point, freedom: int) -> float:
    """What the covariance is multiplied by: unknowns take degrees of freedom from the residuals.

    Variances that are known beforehand are not touched by that.
    """
    if freedom <= 0:
        return math.inf
    known = objective.criterion.has_unit_variance and not any(
        v.estimated for v in point.noise.values()
    )
    return 1.0 if known else objective.n_samples / freedom


def _jacobian_and_error(setup: Setup, objective: Objective, point: Point) -> tuple[Vector, float]:
    """R at the estimate, and the relative error of the Jacobian: what counts as rank zero.

    The error is measured by a second evaluation with a hundred times tighter tolerances.
    """
    solver = setup.study.solver
    if point.predictions is not None:
        return point.R, 1e-14
    if not setup.study.model.has_time:
        return point.R, 1e-13 * math.sqrt(max(objective.n_samples, 1))
    if objective.n_samples > MANY:
        return point.R, 10 * solver.rtol
    fine = _finer(setup, objective).at(point.q)
    if isinstance(fine, Failure):
        return point.R, 10 * solver.rtol
    scale = np.linalg.norm(fine.R, axis=0)
    scale[scale == 0] = 1.0
    # R is unique up to the signs of its rows
    signs = np.sign(np.diag(fine.R)) * np.sign(np.diag(point.R))
    difference = (fine.R - signs[:, None] * point.R) / scale
    error = float(np.linalg.norm(difference, 2)) if difference.size else 0.0
    return fine.R, min(max(error, 1e-11), 10 * solver.rtol)


def _finer(setup: Setup, objective: Objective) -> Objective:
    """The same objective with a hundred times tighter tolerances."""
    solver = setup.study.solver
    tight = replace(solver, rtol=max(solver.rtol / 100, 1e-13), atol=solver.atol / 100)
    finer = setup.calibration(tight)
    finer.criterion = objective.criterion
    return finer


def _identifiability(
    setup: Setup,
    objective: Objective,
    point: Point | None,
    known: Accuracy,
    bounds: Sequence[str],
) -> Identifiability:
    held = np.array([bool(b) for b in bounds], bool)
    if point is not None and len(known.null_directions) and point.predictions is None:
        objective = _finer(setup, objective)
        fine = objective.at(point.q)
        point = fine if isinstance(fine, Point) else point
    return explain(objective, point, known, held)
