"""Multistart: the search from several starts, so that one poor local optimum is not the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.fit.result import StartResult
from estimica.estimate.objective.cost import Point
from estimica.estimate.objective.residuals import Evaluations, ResidualFunction
from estimica.estimate.run.fit import OnProgress, Progress, find
from estimica.estimate.run.start_checkpoint import (
    StartCheckpoint,
    start_checkpoint,
    start_from_checkpoint,
)
from estimica.estimate.search.run import SearchResult, Status
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknowns
from estimica.execute.outcome import Outcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor
from estimica.study.study import Study

DECADE = np.log(10.0)
#: draws in place of a start that cannot be simulated: where nine places of ten fail, seven starts
#: of ten are found all the same (1 − 0.9¹¹), and a draw costs one simulation that fails
DRAWS = 10


@dataclass(frozen=True, eq=False)
class StartEnd:
    """What one start led to; it travels between processes, and into a run, as a note.

    Its point is final: cost, information and outputs are those of the transcription and of the
    scales with which it was found, and nobody evaluates it again by other means.
    """

    searched: SearchResult
    evaluations: Evaluations
    drawn: tuple[Vector, ...] = ()  # in place of a start that cannot be simulated, the last counts

    @property
    def point(self) -> Point | None:
        """Where it ended."""
        return self.searched.point

    @property
    def cost(self) -> float:
        """The cost there.

        Robust scales are those of the residuals of each end, and the costs compare all the same:
        both contain the scale. `oe` is then N times the square of the τ-scale of the residuals,
        s² Σρ(r/s)/N, which τ-estimates of regression minimise (Yohai and Zamar, JASA 83, 1988),
        and `ml` has the term N log s².
        """
        return math.inf if self.point is None else self.point.cost


FitContext = tuple[Setup, ResidualFunction]


class _Stopped(KeyboardInterrupt):
    """Ctrl-C within a search of this process, with the best of that search so far."""

    def __init__(self, number: int, found: StartEnd) -> None:
        super().__init__()
        self.number, self.found = number, found


def multistart(
    setup: Setup,
    cases: ResidualFunction,
    progress: OnProgress | None,
    workers: int | None,
    run: RunWriter | None = None,
) -> tuple[SearchResult, tuple[StartResult, ...]]:
    """Search from the given start and from a Latin hypercube of others; the best one wins.

    The same seed gives the same starts and the same result, however many workers there are. Starts
    that came to their end are noted in `run`, and found there when it is taken up again.
    """
    estimation = setup.study.estimation
    starts = start_points(cases.unknowns, estimation.starts, estimation.seed)
    found: dict[int, StartEnd] = {}

    def done(number: int, outcome: Outcome[StartCheckpoint]) -> None:
        found[number] = _noted(outcome.result()) if outcome.done else _lost(outcome)
        _tell(progress, cases.unknowns, number, found[number].searched, len(starts))

    interrupted = False
    try:
        with executor("local", workers) as crew:
            map_with_checkpoints(
                crew,
                _search,
                {f"start {k:06d}": (k, start) for k, start in enumerate(starts)},
                context=Context(partial(_fit_context, setup.study), (setup, cases)),
                run=run or NoRunWriter(),
                on_piece=done,
            )
    except KeyboardInterrupt as stop:
        interrupted = True
        if isinstance(stop, _Stopped):
            found[stop.number] = stop.found
            _tell(progress, cases.unknowns, stop.number, stop.found.searched, len(starts))
    for number in sorted(found):
        cases.evaluations.add(found[number].evaluations)
    return _best(starts, found, interrupted), _ranked(cases.unknowns, starts, found)


def _lost(outcome: Outcome[StartCheckpoint]) -> StartEnd:
    """A start whose worker has failed."""
    return StartEnd(SearchResult(None, Status.FAILED, outcome.error, ()), Evaluations(failed=1))


def _noted(note: StartCheckpoint) -> StartEnd:
    """What a note tells; the draws are there where there were any."""
    return StartEnd(
        *start_from_checkpoint(note), tuple(np.array(q, float) for q in note.get("drawn", ()))
    )


def start_points(unknowns: Unknowns, count: int, seed: int) -> list[Vector]:
    """Coordinates of the starts: the given one first, then a Latin hypercube within the bounds.

    An unknown without bounds is spread between zero and twice its start, or a decade to either
    side on a logarithmic scale.
    """
    from scipy.stats import qmc

    first = unknowns.clipped(unknowns.start)
    if count < 2 or not len(unknowns):
        return [first]
    low, high = _box(unknowns)
    sample = qmc.LatinHypercube(len(unknowns), rng=np.random.default_rng(seed)).random(count - 1)
    return [first, *(low + sample * (high - low))]


def _box(unknowns: Unknowns) -> tuple[Vector, Vector]:
    """Where starts are drawn: between the bounds, or around the given start."""
    first = unknowns.clipped(unknowns.start)
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    reach = np.where(logarithmic, DECADE, np.maximum(np.abs(first), 1.0))
    low = np.where(np.isfinite(unknowns.lower), unknowns.lower, first - reach)
    high = np.where(np.isfinite(unknowns.upper), unknowns.upper, first + reach)
    # a lower bound of zero has no logarithm
    low = np.where(logarithmic & (low < first - 6 * DECADE), first - DECADE, low)
    return low, high


def _fit_context(study: Study) -> FitContext:
    setup = prepare(study)
    return setup, setup.calibration()


def _search(workplace: FitContext, numbered: tuple[int, Vector]) -> StartCheckpoint:
    (setup, cases), (number, start) = workplace, numbered
    own = cases.counted_anew()
    searched, drawn = find(setup, own, start), list[Vector]()
    low, high = _box(cases.unknowns)
    # the same draws whoever does the work; the given start is the user's to choose
    random = np.random.default_rng([setup.study.estimation.seed, number])
    while number and _fails_at_start(searched) and len(drawn) < DRAWS:
        drawn.append(low + random.random(len(low)) * (high - low))
        searched = find(setup, own, drawn[-1])
    if searched.status is Status.INTERRUPTED:  # half a search is not noted
        raise _Stopped(number, StartEnd(searched, own.evaluations, tuple(drawn)))
    note = start_checkpoint(searched, own.evaluations)
    return note | {"drawn": [q.tolist() for q in drawn]} if drawn else note


def _fails_at_start(searched: SearchResult) -> bool:
    return searched.point is None and searched.status is Status.FAILED


def _best(starts: Sequence[Vector], found: dict[int, StartEnd], interrupted: bool) -> SearchResult:
    order = sorted(found, key=lambda k: (found[k].cost, k))
    best = found[order[0]].searched if order else None
    if best is None or best.point is None:
        status = Status.INTERRUPTED if interrupted else Status.FAILED
        if best is None:
            return SearchResult(None, status, "interrupted before any start came to an end", ())
        tried = f"the {len(found)} starts so far" if interrupted else f"{len(starts)} starts"
        return SearchResult(None, status, f"none of {tried} led anywhere: {best.message}", ())
    if interrupted:
        message = f"interrupted after {len(found)} of {len(starts)} starts; the best so far"
        return replace(best, status=Status.INTERRUPTED, message=message)
    message = f"start {order[0] + 1} of {len(starts)} is the best: {best.message}"
    return replace(best, message=message + _drawn_again(found))


def _drawn_again(found: dict[int, StartEnd]) -> str:
    """A word on starts that could not be simulated."""
    drawn = [f for f in found.values() if f.drawn]
    if not drawn:
        return ""
    lost = sum(_fails_at_start(f.searched) for f in drawn)
    vain = f", {lost} of them {DRAWS} times in vain" if lost else ""
    starts = (
        "1 start that cannot be simulated was"
        if len(drawn) == 1
        else (f"{len(drawn)} starts that cannot be simulated were")
    )
    return f"; {starts} drawn again{vain}"


def _ranked(
    unknowns: Unknowns, starts: Sequence[Vector], found: dict[int, StartEnd]
) -> tuple[StartResult, ...]:
    results = [
        StartResult(
            k + 1,
            unknowns.named(unknowns.values(one.drawn[-1] if one.drawn else starts[k])),
            {} if one.point is None else unknowns.named(one.point.values),
            one.cost,
            str(one.searched.status),
            one.searched.message,
            len(one.drawn),
        )
        for k, one in found.items()
    ]
    return tuple(sorted(results, key=lambda r: (r.cost, r.number)))


def _tell(
    progress: Callable[[Progress], None] | None,
    unknowns: Unknowns,
    number: int,
    one: SearchResult,
    count: int,
) -> None:
    if progress and one.iterations:
        names = tuple(u.label for u in unknowns.items)
        progress(Progress(one.iterations[-1], names, number + 1, count))
