"""Multistart: the search from several starts, so that one poor local optimum is not the end."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.batch.suitability import is_by_engine, not_by_engine
from estimica.estimate.criteria.roughness import Rough
from estimica.estimate.criteria.scoring import Noise
from estimica.estimate.fit.result import StartResult
from estimica.estimate.objective.cost import BlockInformation, Point
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.estimate.objective.residuals import Evaluations, ResidualFunction
from estimica.estimate.run.one_start import OnProgress, Progress, find
from estimica.estimate.search.run import Iteration, SearchResult, Status
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknowns
from estimica.execute.batches import WorkedBy, map_in_batches, threads_for
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor
from estimica.study.study import Study

if TYPE_CHECKING:
    from estimica.estimate.run.joint_starts import JointStarts

DECADE = np.log(10.0)
#: draws in place of a start that cannot be simulated: where nine places of ten fail, seven starts
#: of ten are found all the same (1 − 0.9¹¹), and a draw costs one simulation that fails
DRAWS = 10
#: starts of a batch: two groups of the widest vectors. Chosen: what an interruption loses is little
TOGETHER = 16


@dataclass(frozen=True, eq=False)
class StartEnd:
    """What one start led to; it travels between processes, and into a run, as a note.

    Its point is final: cost, information and outputs are those of the transcription and of the
    scales with which it was found, and nobody evaluates it again by other means.
    """

    searched: SearchResult
    evaluations: Evaluations
    drawn: tuple[Vector, ...] = ()  # in place of a start that cannot be simulated, the last counts
    alone: bool = False  # though others were searched together

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

    def __init__(self, number: int, end: StartEnd) -> None:
        super().__init__()
        self.number, self.end = number, end


def multistart(
    setup: Setup,
    cases: ResidualFunction,
    progress: OnProgress | None,
    workers: int | None,
    run: RunWriter | None = None,
) -> tuple[SearchResult, tuple[StartResult, ...], WorkedBy]:
    """Search from the given start and from a Latin hypercube of others; the best one wins.

    The same seed gives the same starts and the same result, however many workers there are. Starts
    that came to their end are noted in `run`, and found there when it is taken up again.
    """
    estimation = setup.study.estimation
    starts = start_points(cases.unknowns, estimation.starts, estimation.seed)
    ends: dict[int, StartEnd] = {}

    def note(number: int, end: StartEnd) -> None:
        ends[number] = end
        if progress and end.searched.iterations:
            names = tuple(u.label for u in cases.unknowns.items)
            last = end.searched.iterations[-1]
            ended = Progress(len(ends), len(starts), iteration=last, names=names, start=number + 1)
            progress(ended)

    def done(number: int, outcome: ItemOutcome[StartCheckpoint]) -> None:
        note(number, _noted(outcome.result()) if outcome.done else _lost(outcome))

    interrupted, writer = False, run or NoRunWriter()
    pieces = {f"start {k:06d}": (k, start) for k, start in enumerate(starts)}
    joint, reason = _joint(setup, cases, threads_for("local", workers))
    try:
        if joint is None:
            build = partial(_fit_context, setup.study)
            with executor("local", workers) as crew:
                context = Context(build, (setup, cases))
                map_with_checkpoints(
                    crew, _search, pieces, context=context, run=writer, on_piece=done
                )
        else:
            with executor("serial") as crew:
                map_in_batches(
                    crew,
                    _searches,
                    pieces,
                    context=Context(lambda: joint, joint),
                    run=writer,
                    on_piece=done,
                    size=TOGETHER,
                )
    except KeyboardInterrupt as stop:
        interrupted = True
        if isinstance(stop, _Stopped):
            note(stop.number, stop.end)
    for number in sorted(ends):
        cases.runs.count(ends[number].evaluations)
    backend = "scalar" if joint is None else joint.fits.backend
    worked = WorkedBy(backend, sum(end.alone for end in ends.values()), reason)
    return _best(starts, ends, interrupted), _ranked(cases.unknowns, starts, ends), worked


def _lost(outcome: ItemOutcome[StartCheckpoint]) -> StartEnd:
    """A start whose worker has failed."""
    return StartEnd(SearchResult(None, Status.FAILED, outcome.error, ()), Evaluations(failed=1))


def _noted(note: StartCheckpoint) -> StartEnd:
    """What a note tells; the draws are there where there were any."""
    drawn = tuple(np.array(q, float) for q in note.get("drawn", ()))
    return StartEnd(*start_from_checkpoint(note), drawn, bool(note.get("alone")))


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


def _joint(setup: Setup, cases: ResidualFunction, threads: int) -> tuple[JointStarts | None, str]:
    """(what searches starts together, why it is not what was asked for); only a model that the
    engine simulates loads it."""
    others = [p for p in cases.predictors if not is_by_engine(p)]
    if others:
        asked = setup.study.execute.backend
        return None, "" if asked in ("auto", "scalar") else not_by_engine(others[0])
    from estimica.estimate.run.joint_starts import joint_starts

    return joint_starts(setup, cases, threads)


def _searches(joint: JointStarts, numbered: Sequence[tuple[int, Vector]]) -> list[StartCheckpoint]:
    """Several searches that advance together; what they do not bring to an end goes alone."""
    from estimica.estimate.run.joint_starts import searched_together

    notes = []
    ends = searched_together(joint, [start for _, start in numbered])
    for (number, _), end in zip(numbered, ends, strict=True):
        if end.searched is not None and end.searched.status is Status.INTERRUPTED:
            raise _Stopped(number, StartEnd(end.searched, end.evaluations))
    for (number, start), end in zip(numbered, ends, strict=True):
        if end.searched is None:
            alone = _search((joint.setup, joint.cases), (number, start))
            notes.append(alone | {"alone": True})
        else:
            notes.append(start_checkpoint(end.searched, end.evaluations))
    return notes


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


def _best(starts: Sequence[Vector], ends: dict[int, StartEnd], interrupted: bool) -> SearchResult:
    order = sorted(ends, key=lambda k: (ends[k].cost, k))
    best = ends[order[0]].searched if order else None
    if best is None or best.point is None:
        status = Status.INTERRUPTED if interrupted else Status.FAILED
        if best is None:
            return SearchResult(None, status, "interrupted before any start came to an end", ())
        tried = f"the {len(ends)} starts so far" if interrupted else f"{len(starts)} starts"
        return SearchResult(None, status, f"none of {tried} led anywhere: {best.message}", ())
    if interrupted:
        message = f"interrupted after {len(ends)} of {len(starts)} starts; the best so far"
        return replace(best, status=Status.INTERRUPTED, message=message)
    message = f"start {order[0] + 1} of {len(starts)} is the best: {best.message}"
    return replace(best, message=message + _drawn_again(ends))


def _drawn_again(ends: dict[int, StartEnd]) -> str:
    """A word on starts that could not be simulated."""
    drawn = [f for f in ends.values() if f.drawn]
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
    unknowns: Unknowns, starts: Sequence[Vector], ends: dict[int, StartEnd]
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
        for k, one in ends.items()
    ]
    return tuple(sorted(results, key=lambda r: (r.cost, r.number)))


StartCheckpoint = dict[str, Any]


# --- The end of one start of a multistart as plain values, which a run keeps to the last bit.


def start_checkpoint(searched: SearchResult, evaluations: Evaluations) -> StartCheckpoint:
    """What there is to keep of a start that came to its end."""
    rough = searched.rough
    return {
        "point": None if searched.point is None else _point(searched.point),
        "status": str(searched.status),
        "message": searched.message,
        "iterations": [_iteration(i) for i in searched.iterations],
        "is_astray": searched.is_astray,
        "seconds": searched.seconds,
        "rough": rough and {"reason": rough.reason, "unknowns": [int(k) for k in rough.unknowns]},
        "evaluations": _counted(evaluations),
    }


def start_from_checkpoint(note: Mapping[str, Any]) -> tuple[SearchResult, Evaluations]:
    """The start that was noted; the same bits."""
    point, rough, counted = note["point"], note["rough"], note["evaluations"]
    searched = SearchResult(
        None if point is None else _noted_point(point),
        Status(note["status"]),
        note["message"],
        tuple(Iteration(**{**i, "values": _vector(i["values"])}) for i in note["iterations"]),
        note["is_astray"],
        note["seconds"],
        None if rough is None else Rough(rough["reason"], tuple(rough["unknowns"])),
    )
    failures = tuple(Failure(**f) for f in counted["failures"])
    return searched, Evaluations(**{**counted, "failures": failures})


def _counted(evaluations: Evaluations) -> StartCheckpoint:
    return {
        "simulations": evaluations.simulations,
        "sensitivities": evaluations.sensitivities,
        "failed": evaluations.failed,
        "failures": [
            {
                "case": f.case,
                "message": f.message,
                "values": {name: float(v) for name, v in f.values.items()},
            }
            for f in evaluations.failures
        ],
    }


def _point(point: Point) -> StartCheckpoint:
    known = point.predictions
    return {
        "q": _kept(point.q),
        "values": _kept(point.values),
        "cost": float(point.cost),
        "R": _kept(point.R),
        "b": _kept(point.b),
        "square": float(point.square),
        "noise": {name: _noise(n) for name, n in point.noise.items()},
        "predictions": known and [(_kept(p.value), _kept(p.slope)) for p in known],
        "parts": point.parts and [_part(p) for p in point.parts],
        "scales": {name: float(s) for name, s in point.scales.items()},
    }


def _noted_point(note: Mapping[str, Any]) -> Point:
    known, parts = note["predictions"], note["parts"]
    return Point(
        _vector(note["q"]),
        _vector(note["values"]),
        note["cost"],
        _vector(note["R"]),
        _vector(note["b"]),
        note["square"],
        {name: Noise(**n) for name, n in note["noise"].items()},
        known and tuple(Prediction(_vector(value), _vector(slope)) for value, slope in known),
        parts and tuple(_noted_part(p) for p in parts),
        dict(note["scales"]),
    )


def _part(part: BlockInformation) -> StartCheckpoint:
    return {
        "curvature": _kept(part.curvature),
        "scatter": _kept(part.scatter),
        "square": float(part.square),
        "count": float(part.count),
        "independent": float(part.independent),
    }


def _noted_part(note: Mapping[str, Any]) -> BlockInformation:
    factors = _vector(note["curvature"]), _vector(note["scatter"])
    return BlockInformation(*factors, note["square"], note["count"], note["independent"])


def _iteration(one: Iteration) -> StartCheckpoint:
    return {
        "number": int(one.number),
        "cost": float(one.cost),
        "values": _kept(one.values),
        "step": float(one.step),
        "rejected": int(one.rejected),
        "seconds": float(one.seconds),
    }


def _noise(noise: Noise) -> StartCheckpoint:
    return {
        "variance": float(noise.variance),
        "estimated": bool(noise.estimated),
        "at_bound": bool(noise.at_bound),
        "shared": noise.shared,
        "formula": noise.formula,
    }


def _kept(array: Vector) -> StartCheckpoint:
    """An array as it stands in memory: the order of a matrix decides how its sums are rounded."""
    order: Literal["F", "C"] = "F" if array.ndim > 1 and array.flags.f_contiguous else "C"
    raw = np.asarray(array, "<f8").tobytes(order)
    return {"f8": b64encode(raw).decode("ascii"), "shape": list(array.shape), "order": order}


def _vector(note: Mapping[str, Any]) -> Vector:
    flat = np.frombuffer(b64decode(note["f8"]), "<f8").astype(np.float64)
    return flat.reshape(note["shape"], order=note["order"])
