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
from estimica.base.errors import DesignError
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for
from estimica.execute.workers.threads import in_threads
from estimica.optimise.assess.families import (
    Family,
    SampleCourses,
    chosen_rows,
    expected_rows,
    families,
)
from estimica.optimise.assess.pieces import Piece, blocks, joined, of_rows, scored
from estimica.optimise.assess.result import Assessment, FailedSample, local_sensitivity
from estimica.optimise.assess.samples import Samples
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
    board = _SampleResults(samples, len(design.places), curves, progress, design.block)
    writer = run or NoRunWriter()
    local, interrupted = None, False
    drawn: tuple[Family, ...] = ()
    try:
        board.take_up(writer)
        with one_thread():
            seconds = board.try_out(design, writer)
        with executor_for(executor, workers) as who:
            hands = in_threads(who) if design.block > 1 else who
            pieces = board.pieces(seconds, hands.workers)
            firsts = list(pieces)
            context = Context(partial(_built, study, samples.names, samples.values[:1]), design)
            map_with_checkpoints(
                hands,
                scored,
                {_key(first): piece for first, piece in pieces.items()},
                context=context,
                run=writer,
                on_piece=lambda k, outcome: board.note(
                    firsts[k], len(pieces[firsts[k]][1]), outcome
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
        worked_by=design.worked_by(board.alone),
    )


class _SampleResults:
    """What is known of the samples so far."""

    def __init__(
        self,
        samples: Samples,
        places: int,
        curves: int,
        progress: OnProgress | None,
        block: int = 1,
    ) -> None:
        self._block = block
        self._values = samples.values
        self._progress = progress
        self._drawn = expected_rows(samples.draws, len(samples), curves)
        self.courses: dict[int, SampleCourses] = {}  # of samples whose curves are drawn
        self.found = np.full((len(samples), places), np.nan)
        self.at_least = np.full((len(samples), places), np.nan)  # of what was not reached
        self.done = np.zeros(len(samples), bool)
        self.failures: dict[int, FailedSample] = {}
        self.alone = 0  # samples that were scored one by one
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
                noted = payload["value"]
                scores = of_rows(noted) if isinstance(noted, list) else noted
                first = int(key.removeprefix(SAMPLES))
                self.note(first, int(scores["count"]), ItemOutcome(scores))

    def try_out(self, design: Design, run: RunWriter) -> float:
        """Simulate a few open samples here; seconds that one takes."""
        open_ = np.flatnonzero(~self.done)
        if not len(open_):
            return 1.0
        first = int(open_[0])
        count, begun, parts = 0, perf_counter(), list[Mapping[str, Any]]()
        for part in blocks(open_[:LARGEST], self._block):
            late = perf_counter() - begun > TRIAL or self._block > 1
            if count and (part[0] != first + count or late):
                break
            parts.append(scored(design, self._piece(part)))
            count += len(part)
        seconds = (perf_counter() - begun) / count
        scores = joined(parts)
        run.checkpoint(_key(first), {"value": scores})
        run.flush()
        self.note(first, count, ItemOutcome(scores))
        return seconds

    def _piece(self, numbers: Indices) -> Piece:
        return int(numbers[0]), self._values[numbers].tolist(), self._drawn[numbers].tolist()

    def pieces(self, seconds: float, workers: int) -> dict[int, Piece]:
        """What is open, in stretches of about equal time, by the number of their first sample.

        They are whole blocks, so that what is scored together does not depend on the workers.
        """
        parts = blocks(np.flatnonzero(~self.done), self._block)
        share = math.ceil(len(parts) / (SHARES * max(workers, 1)))
        most = max(1, LARGEST // self._block)
        size = int(np.clip(PIECE / seconds / self._block, 1, min(most, max(share, 1))))
        pieces: dict[int, Piece] = {}
        first, held = 0, list[Indices]()
        for part in parts:
            if held and (len(held) == size or part[0] != held[-1][-1] + 1):
                pieces[first] = self._piece(np.concatenate(held))
                held = []
            first = first if held else int(part[0])
            held.append(part)
        if held:
            pieces[first] = self._piece(np.concatenate(held))
        return pieces

    def complete(self, chosen: Indices, hands: Executor, context: Context[Design]) -> None:
        """Simulate again what is drawn and was not expected to be: extremes, stand-ins."""
        open_ = [int(k) for k in chosen if int(k) not in self.courses]
        items: list[Piece] = [(k, [self._values[k].tolist()], [True]) for k in open_]
        for k, outcome in zip(open_, hands.map(scored, items, context=context), strict=True):
            if outcome.done:
                self.courses[k] = outcome.result()["courses"].get("0", {})

    def note(self, first: int, count: int, outcome: ItemOutcome[Any]) -> None:
        """Keep the outcome of a piece and tell of it."""
        span = slice(first, first + count)
        self.done[span] = True
        if outcome.done:
            scores = outcome.result()
            self.found[span] = np.reshape(scores["values"], (count, -1))
            if scores["at_least"] is not None:
                self.at_least[span] = np.reshape(scores["at_least"], (count, -1))
            for k, (case, message) in scores["failed"].items():
                self.failures[first + int(k)] = FailedSample(first + int(k), case, message)
            self.alone += scores.get("alone", 0)
            self.ended |= {first + int(k): cases for k, cases in scores["ended"].items()}
            self.courses |= {first + int(k): own for k, own in scores["courses"].items()}
        else:
            for k in range(first, first + count):
                self.failures[k] = FailedSample(k, "", outcome.error)
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
