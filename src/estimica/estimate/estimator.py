"""fit: finds the tuners of a study, and says how far to trust them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt

from estimica.estimate.conclusion import conclude
from estimica.estimate.fit import Fit
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
