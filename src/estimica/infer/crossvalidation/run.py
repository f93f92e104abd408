"""crossvalidate: how well a fit predicts data that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.estimate.criteria.prefilter import error_filter
from estimica.estimate.fit.outputs import OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit as estimate
from estimica.estimate.search.run import Status
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor as hired
from estimica.infer.crossvalidation.folds import Fold, cases_of, folds_of, run_fold
from estimica.infer.crossvalidation.result import CrossValidation, FoldResult
from estimica.infer.refit import (
    Estimate,
    FitContext,
    estimate_of,
    fit_context,
    fit_context_of,
    refuse_input_errors,
    require_estimate,
)
from estimica.study.record.samples import MeasuredOutput
from estimica.study.study import Study

WAYS = ("case", "time")


def crossvalidate(
    study: Study | Fit,
    folds: int | None = None,
    *,
    by: str | None = None,
    workers: int | None = 1,
    executor: str = "local",
    progress: Callable[[Progress], None] | bool | None = None,
    run: RunWriter | None = None,
) -> CrossValidation:
    """Leave out cases or stretches of time in turn, fit without them, and predict them.

    `by` is "case" or "time", by default cases where at least two calibrate. A stretch of time does
    not count, but the simulation runs through it. Each fit begins at that of all data. Folds are
    shared among `workers` and noted in `run`, where they are found when it is taken up again.
    """
    begun, tell = perf_counter(), told(progress)
    if by is not None and by not in WAYS:
        raise InferError("I343", f"by '{by}'{did_you_mean(by, WAYS)} ({' or '.join(WAYS)})")
    if folds is not None and folds < 2:
        raise InferError("I344", f"{folds} folds leave nothing to fit or to predict; use 2 or more")
    full = study if isinstance(study, Fit) else estimate(study)
    if full is not study and full.outcome.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    require_estimate(full, "crossvalidate")
    refuse_input_errors(full.study, "crossvalidate", "leave the sigma of the input out")
    with one_thread():
        place = fit_context_of(full)
    way = by or ("case" if len(cases_of(place.setup)) > 1 else "time")
    plan = folds_of(place.setup, way, folds)
    outcomes: dict[int, ItemOutcome[Any]] = {}

    def note(number: int, outcome: ItemOutcome[Any]) -> None:
        outcomes[number] = outcome
        if tell:
            failed = sum(_result(full, plan[k], k, o).failed for k, o in outcomes.items())
            tell(Progress(len(outcomes), len(plan), failed, pieces="folds"))

    interrupted = False
    try:
        with hired(executor, workers) as crew:
            map_with_checkpoints(
                crew,
                _piece,
                {f"fold {k}": k for k in range(len(plan))},
                context=Context(
                    partial(_bench, full.study, estimate_of(full), way, folds), (place, plan)
                ),
                run=run or NoRunWriter(),
                on_piece=note,
            )
    except KeyboardInterrupt:
        interrupted = True
    results = tuple(_result(full, plan[k], k, outcomes[k]) for k in sorted(outcomes))
    seconds = perf_counter() - begun
    return CrossValidation(full, way, len(plan), results, seconds, interrupted)


def _bench(
    study: Study, estimate: Estimate, by: str, folds: int | None
) -> tuple[FitContext, list[Fold]]:
    place = fit_context(study, estimate)
    return place, folds_of(place.setup, by, folds)


def _piece(bench: tuple[FitContext, list[Fold]], number: int) -> dict[str, Any]:
    place, plan = bench
    with one_thread():
        return run_fold(place, plan[number])


def _result(fit: Fit, fold: Fold, number: int, outcome: ItemOutcome[Any]) -> FoldResult:
    """A fold with its predictions beside the measurements."""
    if not outcome.done or outcome.value is None:
        return FoldResult(number + 1, fold.name, "failed", outcome.error, None, ())
    value = outcome.value
    values = None if value["values"] is None else np.array(value["values"], float)
    outputs = tuple(
        (p["case"], _compared(fit, fold, p["case"], p["output"], np.array(p["simulated"], float)))
        for p in value["predicted"]
    )
    return FoldResult(
        number + 1,
        fold.name,
        value["status"],
        value["message"],
        values,
        outputs,
        tuple(value["kept"]),
    )


def _compared(fit: Fit, fold: Fold, case: str, output: str, simulated: Vector) -> OutputComparison:
    inside = fold.left_out[case, output]
    whole = next(c for c in fit.stretches if c.name == case)[output]
    record = next(r for r in fit.setup.records if r.case.name == case)
    measured = next(m for m in record.outputs if m.name == output)
    transform = measured.transform
    told = simulated if transform is None else transform.value(simulated)
    reference, missed = whole.reference[inside], told - whole.reference[inside]
    if whole.prefilter:  # a stretch is filtered by itself
        reference, missed = _filtered(measured.kept(inside), case, told)
    return replace(
        whole,
        time=whole.time[inside],
        measured=whole.measured[inside],
        simulated=simulated,
        compared=missed,
        reference=reference,
        transfer=whole.transfer and whole.transfer.kept(inside[::2]),
    )


def _filtered(measured: MeasuredOutput, case: str, told: Vector) -> tuple[Vector, Vector]:
    """Measured values and errors of a stretch behind the prefilter of its output."""
    assert measured.prefilter is not None
    transform = measured.transform
    plain = measured.value if transform is None else transform.value(measured.value)
    where = f"case '{case}': output '{measured.name}', left out"
    filter_ = error_filter(measured.prefilter, measured.time, where)
    assert filter_ is not None, "else nothing was filtered in the fit"
    return filter_.filtered(plain), filter_.filtered(told - plain)
