"""Multistart: the search from several starts, so that one poor local optimum is not the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from estimica.estimate.estimator import OnProgress, Progress, find
from estimica.estimate.fit import StartResult
from estimica.estimate.objective import Objective, Point
from estimica.estimate.search import Iteration, Searched, Status
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknowns
from estimica.execute.context import Context
from estimica.execute.executor import executor
from estimica.execute.outcome import Outcome
from estimica.study.study import Study

Vector = npt.NDArray[np.float64]
DECADE = np.log(10.0)


@dataclass(frozen=True, eq=False)
class Found:
    """What one start led to, without the objective: it travels between processes."""

    q: Vector | None
    cost: float
    status: Status
    message: str
    iterations: tuple[Iteration, ...]
    simulations: int
    failed: int


Workplace = tuple[Setup, Objective]


def multistart(
    setup: Setup, objective: Objective, progress: OnProgress | None, workers: int | None
) -> tuple[Searched, tuple[StartResult, ...]]:
    """Search from the given start and from a Latin hypercube of others; the best one wins.

    The same seed gives the same starts and the same result, however many workers there are.
    """
    estimation = setup.study.estimation
    starts = start_points(objective.unknowns, estimation.starts, estimation.seed)
    found: dict[int, Found] = {}

    def done(number: int, outcome: Outcome[Found]) -> None:
        found[number] = outcome.value or Found(None, np.inf, Status.FAILED, outcome.error, (), 0, 1)
        _tell(progress, objective.unknowns, number, found[number], len(starts))
        if found[number].status is Status.INTERRUPTED:
            raise KeyboardInterrupt

    context = Context(partial(_workplace, setup.study), (setup, objective))
    interrupted = False
    try:
        with executor("local", workers) as crew:
            crew.map(_search, starts, context=context, on_done=done)
    except KeyboardInterrupt:
        interrupted = True
    return _best(objective, starts, found, interrupted), _ranked(objective, starts, found)


def start_points(unknowns: Unknowns, count: int, seed: int) -> list[Vector]:
    """Coordinates of the starts: the given one first, then a Latin hypercube within the bounds.

    An unknown without bounds is spread between zero and twice its start, or a decade to either
    side on a logarithmic scale.
    """
    from scipy.stats import qmc

    first = unknowns.clipped(unknowns.start)
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    reach = np.where(logarithmic, DECADE, np.maximum(np.abs(first), 1.0))
    low = np.where(np.isfinite(unknowns.lower), unknowns.lower, first - reach)
    high = np.where(np.isfinite(unknowns.upper), unknowns.upper, first + reach)
    # a lower bound of zero has no logarithm
    low = np.where(logarithmic & (low < first - 6 * DECADE), first - DECADE, low)
    if count < 2 or not len(unknowns):
        return [first]
    sample = qmc.LatinHypercube(len(unknowns), rng=np.random.default_rng(seed)).random(count - 1)
    return [first, *(low + sample * (high - low))]


def _workplace(study: Study) -> Workplace:
    setup = prepare(study)
    return setup, setup.calibration()


def _search(workplace: Workplace, start: Vector) -> Found:
    setup, objective = workplace
    before = objective.evaluations.simulations, objective.evaluations.failed
    searched = find(setup, objective, start)
    return Found(
        searched.point.q if searched.point else None,
        searched.point.cost if searched.point else np.inf,
        searched.status,
        searched.message,
        searched.iterations,
        objective.evaluations.simulations - before[0],
        objective.evaluations.failed - before[1],
    )


def _best(
    objective: Objective, starts: Sequence[Vector], found: dict[int, Found], interrupted: bool
) -> Searched:
    order = sorted(found, key=lambda k: (found[k].cost, k))
    best = found[order[0]] if order else None
    count = objective.evaluations
    count.simulations = sum(f.simulations for f in found.values())
    count.sensitivities = count.simulations
    count.failed = sum(f.failed for f in found.values())
    if best is None or best.q is None:
        status = Status.INTERRUPTED if interrupted else Status.FAILED
        why = best.message if best else "interrupted before any start came to an end"
        return Searched(None, status, f"none of {len(starts)} starts led anywhere: {why}", ())
    point = objective.at(best.q)
    assert isinstance(point, Point), "the best start was simulated before"
    if interrupted:
        message = f"interrupted after {len(found)} of {len(starts)} starts; the best so far"
        return Searched(point, Status.INTERRUPTED, message, best.iterations)
    message = f"start {order[0] + 1} of {len(starts)} is the best: {best.message}"
    return Searched(point, best.status, message, best.iterations)


def _ranked(
    objective: Objective, starts: Sequence[Vector], found: dict[int, Found]
) -> tuple[StartResult, ...]:
    unknowns = objective.unknowns
    results = [
        StartResult(
            k + 1,
            unknowns.named(unknowns.values(starts[k])),
            {} if one.q is None else unknowns.named(unknowns.values(one.q)),
            one.cost,
            str(one.status),
            one.message,
        )
        for k, one in found.items()
    ]
    return tuple(sorted(results, key=lambda r: (r.cost, r.number)))


def _tell(
    progress: Callable[[Progress], None] | None,
    unknowns: Unknowns,
    number: int,
    one: Found,
    count: int,
) -> None:
    if progress and one.iterations:
        names = tuple(u.label for u in unknowns.items)
        progress(Progress(one.iterations[-1], names, number + 1, count))
