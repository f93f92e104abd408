"""A class of signals: every value of one or two of its parameters is tried, the best is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from estimica.base.errors import ExperimentError
from estimica.base.result import Progress
from estimica.base.signals import Signal
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for
from estimica.experiment.design.information import information_factors, measures_from_factors
from estimica.experiment.design.problem import DesignProblem, design_problem
from estimica.experiment.design.result import Candidate
from estimica.experiment.signals import KINDS, make
from estimica.experiment.waveforms.base import Waveform
from estimica.study.study import Study
from estimica.study.tables.input_design import InputDesignTable, Span, values_of

Settings = Mapping[str, float]
#: candidates. Chosen: each is a simulation with sensitivities; more are a mistake in a grid
MOST = 200_000
#: candidates of a search between grid points, in one and in two or more directions. Golden sections
#: alone come to 1e-4 of a range in twenty; three times as many in a plane are chosen
REFINED = {1: 40, 2: 120}
MISTAKES = ("W009", "W010", "W011", "W012")  # of all candidates alike


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class CandidateContext:
    """Where candidates are tried."""

    bench: DesignProblem
    table: InputDesignTable


@dataclass(frozen=True, eq=False)
class CandidateRunner:
    """Who tries them, and where it is noted."""

    who: str | Executor
    workers: int | None
    run: RunWriter
    progress: OnProgress | None


def candidate_context(
    study: Study,
    table: InputDesignTable,
    values: Mapping[str, float] | None,
    sigma: Mapping[str, float] | None,
) -> CandidateContext:
    """The same in another process."""
    return CandidateContext(design_problem(study, table, values, sigma), table)


def try_candidates(
    here: CandidateContext, build: Callable[[], CandidateContext], many: CandidateRunner
) -> tuple[list[Candidate], Candidate | None, bool]:
    """(all candidates, the best, whether Ctrl-C came in between)."""
    points = list(_grid(here))
    candidates = [Candidate(_label(p), p, None, "not tried") for p in points]

    def note(number: int, outcome: ItemOutcome[Any]) -> None:
        candidates[number] = _candidate(here.bench, points[number], outcome)
        if many.progress:
            done = sum(c.error != "not tried" for c in candidates)
            many.progress(Progress(done, len(candidates), pieces="candidates"))

    pieces = {f"candidate {k:06d}": dict(p) for k, p in enumerate(points)}
    interrupted = False
    try:
        with executor_for(many.who, many.workers) as hands:
            context = Context(build, here)
            map_with_checkpoints(
                hands, evaluate_candidate, pieces, context=context, run=many.run, on_piece=note
            )
        best = best_of(candidates, here.table.criterion)
        if here.table.refine and best is not None:
            candidates += _refined(here, best)
    except KeyboardInterrupt:
        interrupted = True
        candidates = [c for c in candidates if c.error != "not tried"]
    return candidates, best_of(candidates, here.table.criterion), interrupted


def best_of(candidates: Sequence[Candidate], criterion: str) -> Candidate | None:
    """The one with the best criterion; None where all failed or tell nothing."""
    scored = [
        (c.judgement.score(criterion), k)
        for k, c in enumerate(candidates)
        if c.judgement is not None
    ]
    score, k = min(scored, default=(math.inf, -1))
    return candidates[k] if math.isfinite(score) else None


# --- one candidate -------------------------------------------------------------------------------


def evaluate_candidate(here: CandidateContext, settings: Settings) -> dict[str, Any]:
    """What one candidate tells, as the store can keep it."""
    try:
        inputs = signals_of(here, settings)
    except ExperimentError as error:
        return {"error": error.message}
    factors = information_factors(here.bench, here.bench.answer(inputs))
    if isinstance(factors, str):
        return {"error": factors}
    normed, noisy = factors
    return {"normed": normed.tolist(), "noisy": None if noisy is None else noisy.tolist()}


def _candidate(here: DesignProblem, settings: Settings, outcome: ItemOutcome[Any]) -> Candidate:
    if not outcome.done:
        return Candidate(_label(settings), settings, None, outcome.error)
    return _judged(here, settings, outcome.result())


def _judged(here: DesignProblem, settings: Settings, record: Mapping[str, Any]) -> Candidate:
    if "error" in record:
        return Candidate(_label(settings), settings, None, str(record["error"]))
    noisy = None if record["noisy"] is None else np.array(record["noisy"], np.float64)
    judgement = measures_from_factors(here, np.array(record["normed"], np.float64), noisy)
    return Candidate(_label(settings), settings, judgement)


def _label(settings: Settings) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in settings.items()) or "as given"


def waveform_of(here: CandidateContext, settings: Settings) -> Waveform:
    """The signal of one candidate. A ramp or sweep lasts as long as the experiment."""
    kind = here.table.signal
    given: dict[str, object] = {**here.table.fixed, **settings}
    if kind in KINDS:
        for f in fields(KINDS[kind]):
            value = given.get(f.name)
            if isinstance(value, float) and f.type == "int" and value.is_integer():
                given[f.name] = int(value)
            if f.name == "duration" and f.default is MISSING:
                given.setdefault("duration", here.bench.duration)
    first = float(here.bench.times[0])
    if first:
        given.setdefault("begin", first)
    return make(kind, given)


def signals_of(here: CandidateContext, settings: Settings) -> dict[str, Signal]:
    """The designed input of one candidate, by name."""
    wave = waveform_of(here, settings)
    highest = 0.5 / here.bench.step
    frequency = getattr(wave, "frequency", 0.0)
    exact = here.table.hold == "exact"
    if isinstance(frequency, float | int) and frequency >= highest and not exact:
        raise ExperimentError(
            "W079",
            f"{frequency:g} Hz is not below half the sampling frequency, {highest:g} Hz: "
            'take a shorter step, or hold = "exact"',
        )
    times = here.bench.times
    signal = wave.signal(times) if exact else wave.held(times, here.table.hold)
    return {here.bench.designed[0]: signal}


# --- the grid ------------------------------------------------------------------------------------


def require_class(here: CandidateContext) -> None:
    """Whether the class can be used at all, before any work."""
    table = here.table
    if len(here.bench.designed) > 1:
        raise ExperimentError(
            "W075",
            f"a class of signals is for one input, not {', '.join(here.bench.designed)}; "
            "give the second one under others",
        )
    if len(table.vary) > 2:
        raise ExperimentError(
            "W076", f"vary: {', '.join(table.vary)}: one or two parameters can be varied"
        )
    for name in table.vary:
        if name in table.fixed:
            raise ExperimentError("W077", f"'{name}' stands in vary and in fixed; leave one out")
    count = math.prod(len(values_of(g)) for g in table.vary.values())
    if count > MOST:
        raise ExperimentError("W078", f"vary: {count} candidates are too many; at most {MOST}")
    errors = []
    for settings in _grid(here):
        try:
            waveform_of(here, settings)
            return
        except ExperimentError as error:
            if error.code == "W011":
                raise ExperimentError(
                    "W011", f"{error.message}: under vary with values to be tried, or under fixed"
                ) from None
            if error.code in MISTAKES:
                raise
            errors.append(error)
    raise errors[0]


def _grid(here: CandidateContext) -> Iterator[Settings]:
    names = list(here.table.vary)
    for point in product(*(values_of(g) for g in here.table.vary.values())):
        yield dict(zip(names, point, strict=True))


# --- between grid points -------------------------------------------------------------------------


def _refined(here: CandidateContext, best: Candidate) -> list[Candidate]:
    """Candidates between the best and its neighbours, in the order in which they were tried."""
    from scipy.optimize import minimize, minimize_scalar

    axes = [a for a in (_axis(here, n, best) for n in here.table.vary) if a is not None]
    if not axes:
        return []
    candidates: list[Candidate] = []

    def score(x: Any) -> float:
        settings = dict(best.settings)
        for axis, value in zip(axes, np.atleast_1d(x), strict=True):
            settings[axis.name] = axis.value(float(value))
        candidates.append(_judged(here.bench, settings, evaluate_candidate(here, settings)))
        judgement = candidates[-1].judgement
        value = math.inf if judgement is None else judgement.score(here.table.criterion)
        return value if math.isfinite(value) else 1e300

    if len(axes) == 1:
        low, high = axes[0].low, axes[0].high
        # chosen, here and below: nobody sets a generator more exactly than to 1e-4 of a range
        limits = {"xatol": 1e-4 * (high - low), "maxiter": REFINED[1]}
        minimize_scalar(score, bounds=(low, high), method="bounded", options=limits)
    else:
        start = [a.coordinate(best.settings[a.name]) for a in axes]
        limits = {"maxfev": REFINED[2], "xatol": 1e-4, "fatol": 1e-6}
        bounds = [(a.low, a.high) for a in axes]
        minimize(score, start, method="Nelder-Mead", bounds=bounds, options=limits)
    better = best_of(candidates, here.table.criterion)
    return [] if better is None else [better]


@dataclass(frozen=True)
class _Axis:
    """A parameter between the neighbours of its best value; `log` where that is its spacing."""

    name: str
    low: float
    high: float
    log: bool

    def value(self, coordinate: float) -> float:
        return math.exp(coordinate) if self.log else coordinate

    def coordinate(self, value: float) -> float:
        return math.log(value) if self.log else value


def _axis(here: CandidateContext, name: str, best: Candidate) -> _Axis | None:
    """None for whole numbers, and where there are no neighbours."""
    grid = here.table.vary[name]
    whole = {f.name for f in fields(KINDS[here.table.signal]) if f.type == "int"}
    values = sorted(set(values_of(grid)))
    if name in whole or len(values) < 2:
        return None
    k = values.index(best.settings[name])
    low, high = values[max(k - 1, 0)], values[min(k + 1, len(values) - 1)]
    log = (isinstance(grid, Span) and grid.spacing == "log") or (low > 0 and high > 3 * low)
    axis = _Axis(name, low, high, log)
    return _Axis(name, axis.coordinate(low), axis.coordinate(high), log)


def builder(
    study: Study,
    table: InputDesignTable,
    values: Mapping[str, float] | None,
    sigma: Mapping[str, float] | None,
) -> Callable[[], CandidateContext]:
    """What makes the place in another process."""
    return partial(candidate_context, study, table, values, sigma)
