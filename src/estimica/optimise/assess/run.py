"""Assess: a design at many values of its parameters: sweeps, Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import DesignError, EstimicaError
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.execute.outcome import ItemOutcome, error_text
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for
from estimica.optimise.assess.families import (
    Family,
    SampleCourses,
    chosen_rows,
    empty_courses,
    expected_rows,
    families,
)
from estimica.optimise.assess.result import Assessment, FailedSample, local_sensitivity
from estimica.optimise.assess.samples import Samples
from estimica.optimise.criteria.score import FailedDesign
from estimica.optimise.design import Design, prepare_design
from estimica.study.study import Study
from estimica.study.tuner import Tuner

TRIAL = 0.25  # s of samples that are simulated here first, to see how long one takes
PIECE = 0.5  # s of a piece: little is lost when it ends, and noting it costs little beside it
SHARES = 4  # pieces of each worker at least, so that all end together
LARGEST = 2000  # samples of a piece
#: not "samples", under which older runs noted values without what was not reached
SAMPLES = "scores of samples "


OnProgress = Callable[[Progress], None]
#: values of some samples, and whether the signals of each are wanted for its curves
Piece = tuple[list[list[float]], list[bool]]


def assess(
    study: Study,
    samples: Samples,
    *,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | None = None,
    run: RunWriter | None = None,
    centre: Mapping[str, float] | None = None,
    curves: int = 0,
) -> Assessment:
    """The criteria of a study at every sample; those that fail are kept with their reasons.

    Parameters that are sampled need not be tuners; they stand before what cases fix. Tuners that
    are not sampled keep their start. Local sensitivities are taken at `centre`. Of so many
    samples the signals behind the criteria are kept as `curves`.
    """
    begun = perf_counter()
    require_parameters(study, samples.names)
    if not len(samples):
        raise DesignError("O069", "there is no sample; give values, or samples = 100")
    varied = sampled_study(study, samples.names, samples.values[:1])
    with one_thread():
        design = _prepared(varied)
    board = _SampleResults(samples, len(design.places), curves, progress)
    writer = run or NoRunWriter()
    local, interrupted = None, False
    drawn: tuple[Family, ...] = ()
    try:
        board.take_up(writer)
        with one_thread():
            seconds = board.try_out(design, writer)
        with executor_for(executor, workers) as hands:
            pieces = board.pieces(seconds, hands.workers)
            firsts = list(pieces)
            context = Context(partial(_built, study, samples.names, samples.values[:1]), design)
            map_with_checkpoints(
                hands,
                _scored,
                {_key(first): piece for first, piece in pieces.items()},
                context=context,
                run=writer,
                on_piece=lambda k, outcome: board.note(
                    firsts[k], len(pieces[firsts[k]][0]), outcome
                ),
            )
            if curves:
                chosen = chosen_rows(board.good(samples.draws), board.least, curves)
                board.complete(chosen[0], hands, context)
                drawn = families(design, study, chosen, board.courses)
        if centre is not None:
            with one_thread():
                local = local_sensitivity(design, np.array([centre[n] for n in samples.names]))
    except KeyboardInterrupt:
        interrupted = True
    return Assessment(
        study=study,
        samples=samples,
        places=design.places,
        values=board.found,
        at_least=board.at_least,
        ended=board.ended,
        done=board.done,
        failures=tuple(board.failures[k] for k in sorted(board.failures)),
        interrupted=interrupted,
        seconds=perf_counter() - begun,
        local=local,
        families=drawn,
    )


class _SampleResults:
    """What is known of the samples so far."""

    def __init__(
        self, samples: Samples, places: int, curves: int, progress: OnProgress | None
    ) -> None:
        self._values = samples.values
        self._progress = progress
        self._drawn = expected_rows(samples.draws, len(samples), curves)
        self.courses: dict[int, SampleCourses] = {}  # of samples whose curves are drawn
        self.found = np.full((len(samples), places), np.nan)
        self.at_least = np.full((len(samples), places), np.nan)  # of what was not reached
        self.done = np.zeros(len(samples), bool)
        self.failures: dict[int, FailedSample] = {}
        self.ended: dict[int, Mapping[str, str]] = {}  # cases that the model has ended, and how

    @property
    def least(self) -> Vector:
        """Values, and what they are at least where they were not reached."""
        return np.where(np.isfinite(self.at_least), self.at_least, self.found)

    def good(self, draws: int) -> Flags:
        """Samples that were simulated and that count."""
        counts = np.arange(len(self.done)) < draws
        return np.asarray(np.isfinite(self.least).all(axis=1) & counts, bool)

    def take_up(self, run: RunWriter) -> None:
        """Know again what the run has noted, however it was cut into pieces then."""
        for key, payload in run.checkpoints().items():
            if key.startswith(SAMPLES) and "value" in payload:
                rows = payload["value"]
                self.note(int(key.removeprefix(SAMPLES)), len(rows), ItemOutcome(rows))

    def try_out(self, design: Design, run: RunWriter) -> float:
        """Simulate a few open samples here; seconds that one takes."""
        open_ = np.flatnonzero(~self.done)
        if not len(open_):
            return 1.0
        first = int(open_[0])
        rows: list[Mapping[str, Any]] = []
        begun = perf_counter()
        for number in open_[:LARGEST].tolist():
            if rows and (number != first + len(rows) or perf_counter() - begun > TRIAL):
                break
            rows += _scored(design, self._piece([number]))
        run.checkpoint(_key(first), {"value": rows})
        run.flush()
        self.note(first, len(rows), ItemOutcome(rows))
        return (perf_counter() - begun) / len(rows)

    def _piece(self, numbers: Sequence[int] | Indices) -> Piece:
        return self._values[numbers].tolist(), self._drawn[numbers].tolist()

    def pieces(self, seconds: float, workers: int) -> dict[int, Piece]:
        """What is open, in stretches of about equal time, by the number of their first sample."""
        open_ = np.flatnonzero(~self.done)
        if not len(open_):
            return {}
        share = math.ceil(len(open_) / (SHARES * max(workers, 1)))
        size = int(np.clip(PIECE / seconds, 1, min(LARGEST, share)))
        pieces = {}
        for stretch in np.split(open_, np.flatnonzero(np.diff(open_) > 1) + 1):
            for k in range(0, len(stretch), size):
                part = stretch[k : k + size]
                pieces[int(part[0])] = self._piece(part)
        return pieces

    def complete(self, chosen: Indices, hands: Executor, context: Context[Design]) -> None:
        """Simulate again what is drawn and was not expected to be: extremes, stand-ins."""
        open_ = [int(k) for k in chosen if int(k) not in self.courses]
        items: list[Piece] = [([self._values[k].tolist()], [True]) for k in open_]
        for k, outcome in zip(open_, hands.map(_scored, items, context=context), strict=True):
            if outcome.done:
                self.courses[k] = outcome.result()[0].get("courses", {})

    def note(self, first: int, count: int, outcome: ItemOutcome[Any]) -> None:
        """Keep the outcome of a piece and tell of it."""
        self.done[first : first + count] = True
        rows = outcome.result() if outcome.done else [{"case": "", "failed": outcome.error}] * count
        for k, one in enumerate(rows, start=first):
            if "values" in one:
                self.found[k] = one["values"]
                if one["at_least"] is not None:
                    self.at_least[k] = one["at_least"]
                if one.get("ended"):
                    self.ended[k] = one["ended"]
                if one.get("courses"):
                    self.courses[k] = one["courses"]
            else:
                self.failures[k] = FailedSample(k, one["case"], one["failed"])
        if self._progress:
            self._progress(
                Progress(int(self.done.sum()), len(self.done), len(self.failures), pieces="samples")
            )


def _key(first: int) -> str:
    return f"{SAMPLES}{first:08d}"


def nominal(study: Study) -> dict[str, float]:
    """Values of the parameters as the study has them: starts of tuners, else the model's."""
    values = {}
    given = {q.name: q.value for q in study.model.quantities()}
    given |= {t.name: t.start for t in study.tuners if t.start is not None}
    given |= study.origin.held if study.origin else {}
    for name, value in given.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            values[name] = float(value)
    return values


def require_parameters(study: Study, names: Sequence[str]) -> None:
    """Every name is a tuner, or a parameter that no tuner sets."""
    own = {t.name for t in study.tuners}
    setters = {p: t.name for t in study.tuners for p in t.driven}
    known = [q.name for q in study.model.quantities() if q.role in ("parameter", "constant")]
    for name in names:
        if name in own:
            continue
        if name not in known:
            raise DesignError(
                "O054",
                f"there is no tuner or parameter '{name}'{did_you_mean(name, [*own, *known])}",
            )
        if name in setters:
            raise DesignError(
                "O068",
                f"parameter '{name}' is set by tuner '{setters[name]}'; vary that one instead",
            )


def sampled_study(study: Study, names: Sequence[str], first: Vector) -> Study:
    """The study with the sampled parameters as its active tuners, in their order."""
    own = {t.name: t for t in study.tuners}
    sampled = [
        Tuner(n, start=float(v), drives=own[n].drives if n in own else ())
        for n, v in zip(names, first[0], strict=True)
    ]
    others = [replace(t, active=False) for t in study.tuners if t.name not in names]
    cases = [
        replace(c, fix={n: v for n, v in c.fix.items() if n not in names}) if c.fix else c
        for c in study.cases
    ]
    return study.with_(tuners=[*sampled, *others], cases=cases)


def _built(study: Study, names: Sequence[str], first: Vector) -> Design:
    """The criteria in a worker process."""
    return _prepared(sampled_study(study, names, first))


def _prepared(varied: Study) -> Design:
    design = prepare_design(varied)
    design.make_quick()
    return design


def _scored(design: Design, piece: Piece) -> list[Mapping[str, Any]]:
    """The scores of some samples as plain values."""
    return [_score(design, np.array(row, float), drawn) for row, drawn in zip(*piece, strict=True)]


def _score(design: Design, row: Vector, drawn: bool) -> Mapping[str, Any]:
    kept = empty_courses(design) if drawn else {}
    try:
        point = design.at(design.unknowns.coordinates(row), slopes=False, courses=kept)
    except EstimicaError as error:
        return {"failed": error.message, "case": ""}
    except Exception as error:  # of a user's function: the other samples go on
        return {"failed": error_text(error), "case": ""}
    if isinstance(point, FailedDesign):
        return {"failed": point.message, "case": point.case}
    more: dict[str, Any] = {"ended": dict(point.ended)} if point.ended else {}
    if kept:
        more["courses"] = {
            case: {text: values.tolist() for text, values in one.signals.items()}
            for case, one in kept.items()
        }
    if point.at_least is None:
        return {"values": point.values.tolist(), "at_least": None, **more}
    scores = point.scores
    least = [s.at_least for s in scores]
    return {"values": [s.value for s in scores], "at_least": least, **more}
