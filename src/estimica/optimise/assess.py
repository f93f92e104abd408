"""Assess: a design at many values of its parameters: sweeps, Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.base.errors import DesignError
from estimica.base.suggest import did_you_mean
from estimica.execute.context import Context
from estimica.execute.executor import Executor, crew
from estimica.execute.outcome import Outcome
from estimica.execute.pieces import do_pieces
from estimica.execute.run_writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.optimise.assessment import Assessment, FailedSample
from estimica.optimise.design import Design, prepare_design
from estimica.optimise.samples import Samples
from estimica.optimise.score import FailedDesign
from estimica.study.study import Study
from estimica.study.tuner import Tuner

Vector = npt.NDArray[np.float64]
PIECES = 200  # into which much work is cut, so that progress and checkpoints come often enough
SMALLEST, LARGEST = 1, 500  # samples of a piece


@dataclass(frozen=True)
class Progress:
    """What there is to tell while samples are simulated."""

    done: int
    failed: int
    count: int


OnProgress = Callable[[Progress], None]


def assess(
    study: Study,
    samples: Samples,
    *,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | None = None,
    run: RunWriter | None = None,
) -> Assessment:
    """The criteria of a study at every sample; those that fail are kept with their reasons.

    Parameters that are sampled need not be tuners; tuners that are not sampled keep their start.
    """
    begun = perf_counter()
    varied = sampled_study(study, samples.names, samples.values[:1])
    with one_thread():
        design = prepare_design(varied)
    pieces = _pieces(samples.values)
    keys = {f"samples {first:08d}": rows for first, rows in pieces.items()}
    firsts = list(pieces)
    found = np.full((len(samples), len(design.places)), np.nan)
    done = np.zeros(len(samples), bool)
    failures: dict[int, FailedSample] = {}

    def note(number: int, outcome: Outcome[Any]) -> None:
        first = firsts[number]
        rows = len(pieces[first])
        done[first : first + rows] = True
        if outcome.done:
            for k, one in enumerate(outcome.result()):
                if "values" in one:
                    found[first + k] = one["values"]
                else:
                    failures[first + k] = FailedSample(first + k, one["case"], one["failed"])
        else:
            for k in range(rows):
                failures[first + k] = FailedSample(first + k, "", outcome.error)
        if progress:
            progress(Progress(int(done.sum()), len(failures), len(samples)))

    interrupted = False
    try:
        with crew(executor, workers) as hands:
            do_pieces(
                hands,
                _scored,
                keys,
                context=Context(partial(_built, study, samples.names, samples.values[:1]), design),
                run=run or NoRunWriter(),
                on_piece=note,
            )
    except KeyboardInterrupt:
        interrupted = True
    return Assessment(
        study=study,
        samples=samples,
        places=design.places,
        values=found,
        done=done,
        failures=tuple(failures[k] for k in sorted(failures)),
        interrupted=interrupted,
        seconds=perf_counter() - begun,
    )


def sampled_study(study: Study, names: Sequence[str], first: Vector) -> Study:
    """The study with the sampled parameters as its active tuners, in their order."""
    own = {t.name: t for t in study.tuners}
    known = [q.name for q in study.model.quantities() if q.role in ("parameter", "constant")]
    for name in names:
        if name not in own and name not in known:
            raise DesignError(
                "O054",
                f"there is no tuner or parameter '{name}'{did_you_mean(name, [*own, *known])}",
            )
    sampled = [
        Tuner(n, start=float(v), drives=own[n].drives if n in own else ())
        for n, v in zip(names, first[0], strict=True)
    ]
    others = [_idle(t) for t in study.tuners if t.name not in names]
    return study.with_(tuners=[*sampled, *others])


def _idle(tuner: Tuner) -> Tuner:
    return replace(tuner, active=False)


def _pieces(values: Vector) -> dict[int, list[list[float]]]:
    """The samples in stretches, by the number of their first one."""
    size = int(np.clip(len(values) // PIECES, SMALLEST, LARGEST))
    return {k: values[k : k + size].tolist() for k in range(0, len(values), size)}


def _built(study: Study, names: Sequence[str], first: Vector) -> Design:
    """The criteria in a worker process."""
    return prepare_design(sampled_study(study, names, first))


def _scored(design: Design, rows: list[list[float]]) -> list[Mapping[str, Any]]:
    """The scores of some samples as plain values."""
    found: list[Mapping[str, Any]] = []
    unknowns = design.unknowns
    for row in rows:
        point = design.at(unknowns.coordinates(np.array(row, float)), slopes=False)
        if isinstance(point, FailedDesign):
            found.append({"failed": point.message, "case": point.case})
        else:
            found.append({"values": point.values.tolist()})
    return found
