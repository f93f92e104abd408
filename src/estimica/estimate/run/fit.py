"""fit: finds the tuners of a study, and says how far to trust them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from estimica.base.arrays import Vector
from estimica.estimate.conclusion.run import conclude
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.run.exchanges import with_twins
from estimica.estimate.search.methods import METHODS
from estimica.estimate.search.minimise import led_by_gradients, minimise
from estimica.estimate.search.robust_scales import with_scales
from estimica.estimate.search.run import Iteration, Limits, SearchResult
from estimica.estimate.setup import Setup, prepare
from estimica.execute.runs.writer import RunWriter
from estimica.execute.threads import one_thread
from estimica.study.estimation import Estimation
from estimica.study.study import Study


@dataclass(frozen=True, eq=False)
class Progress:
    """What there is to tell while a fit runs."""

    iteration: Iteration
    names: tuple[str, ...]  # of the unknowns
    start: int = 0  # which of several starts
    starts: int = 1


OnProgress = Callable[[Progress], None]


@one_thread()
def fit(
    study: Study,
    *,
    progress: OnProgress | None = None,
    workers: int | None = 1,
    run: RunWriter | None = None,
) -> Fit:
    """Find the tuners of a study from its calibrating cases.

    `progress` is called after every iteration; several starts are shared among `workers`
    processes, noted in `run` as they end, and found there when it is taken up again. Ctrl-C ends
    the search and returns the best values so far.
    """
    begun = perf_counter()
    setup = prepare(study)
    cases = setup.calibration()
    if study.estimation.starts > 1:
        from estimica.estimate.run.multistart import multistart

        searched, starts = multistart(setup, cases, progress, workers, run)
    else:
        searched, starts = find(setup, cases, cases.unknowns.start, progress), ()
    found = conclude(setup, cases, searched, starts, perf_counter() - begun)
    return with_twins(found, cases)


def find(
    setup: Setup, cases: ResidualFunction, start: Vector, progress: OnProgress | None = None
) -> SearchResult:
    """Search from one start with the study's method and transcription."""
    estimation = setup.study.estimation
    names = tuple(u.label for u in cases.unknowns.items)

    def tell(iteration: Iteration, point: Point) -> None:
        if progress:
            progress(Progress(iteration, names))

    if estimation.transcription == "multiple-shooting":
        from estimica.estimate.shooting.run import multiple_shooting

        found = multiple_shooting(setup, cases, start, limits_of(estimation), tell)
        return led_by_gradients(cases, found, "multiple-shooting")
    if estimation.transcription == "collocation":
        from estimica.estimate.collocation.run import collocation

        found = collocation(setup, cases, start, limits_of(estimation), tell)
        return led_by_gradients(cases, found, "collocation")
    return shooting(cases, estimation, start, tell)


def shooting(
    cases: ResidualFunction,
    estimation: Estimation,
    start: Vector,
    tell: Callable[[Iteration, Point], None] | None = None,
) -> SearchResult:
    """Search by simulating each case as a whole."""

    def once(objective: Objective, q: Vector, limits: Limits) -> SearchResult:
        method = METHODS[estimation.method]()
        return minimise(objective, method, q, limits, tell, persistent=True)

    return with_scales(cases, start, limits_of(estimation), once)


def limits_of(estimation: Estimation) -> Limits:
    """When the search of a study ends."""
    return Limits(estimation.tolerance, estimation.max_iterations, estimation.max_seconds)
