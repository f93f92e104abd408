"""crossvalidate: how well a fit predicts data that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

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
from estimica.execute.batches import (
    WorkedBy,
    hands_for,
    map_alone_or_together,
    threads_for,
)
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import Tally
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.infer.crossvalidation.fold_fit import information, run_fold
from estimica.infer.crossvalidation.folds import Fold, cases_of, folds_of
from estimica.infer.crossvalidation.joint_folds import WORTH, run_folds
from estimica.infer.crossvalidation.result import CrossValidation, FoldResult
from estimica.infer.refit import (
    Estimate,
    FitContext,
    batch_fits,
    estimate_of,
    fit_context,
    fit_context_of,
    refuse_input_errors,
    require_estimate,
)
from estimica.study.record.samples import MeasuredOutput
from estimica.study.study import Study

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

WAYS = ("case", "time")


@dataclass(frozen=True, eq=False)
class _Bench:
    """What every fold needs: the workplace, all folds, what all data say, and who fits many."""

    place: FitContext
    plan: list[Fold]
    whole: Vector | None  # JᵀJ at the estimate
    fits: BatchFits | None  # where folds are fitted together
    reason: str = ""  # why they are not, though that was asked for

    @property
    def backend(self) -> str:
        """What simulates folds."""
        return "scalar" if self.fits is None else self.fits.backend


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
    shared among `workers` and noted in `run`, where they are found when it is taken up again; many
    are fitted together where the model allows it.
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
        bench = _bench(place, way, folds, threads_for(executor, workers))
    plan = bench.plan
    tally = Tally(
        len(plan), "folds", tell, lambda k, outcome: _result(full, plan[k], k, outcome).failed
    )
    interrupted = False
    try:
        context = Context(partial(_built, full.study, estimate_of(full), way, folds), bench)
        writer, pieces = run or NoRunWriter(), {f"fold {k}": k for k in range(len(plan))}
        with hands_for(executor, workers, bench.backend) as hands:
            map_alone_or_together(
                hands,
                _piece,
                None if bench.fits is None else _pieces,
                pieces,
                context=context,
                run=writer,
                on_piece=tally.note,
                backend=bench.backend,
            )
    except KeyboardInterrupt:
        interrupted = True
    outcomes = tally.outcomes
    results = tuple(_result(full, plan[k], k, outcomes[k]) for k in sorted(outcomes))
    seconds = perf_counter() - begun
    alone = sum(o.done and bool((o.value or {}).get("alone")) for o in outcomes.values())
    worked = WorkedBy(bench.backend, alone, bench.reason)
    return CrossValidation(full, way, len(plan), results, seconds, interrupted, worked_by=worked)


def _built(study: Study, estimate: Estimate, by: str, folds: int | None) -> _Bench:
    """The bench of a worker process."""
    with one_thread():
        return _bench(fit_context(study, estimate), by, folds)


def _bench(place: FitContext, by: str, folds: int | None, threads: int = 1) -> _Bench:
    plan = folds_of(place.setup, by, folds)
    whole = information(place.objective, place.q)
    fits, reason = _together(place, len(plan), threads)
    return _Bench(place, plan, whole, fits, reason)


def _together(place: FitContext, folds: int, threads: int) -> tuple[BatchFits | None, str]:
    """What fits the folds together, where that is possible and worth it; else why not."""
    if place.setup.study.execute.backend == "auto" and folds < WORTH:
        return None, ""
    fits, reason = batch_fits(place, threads)
    return (None, reason) if fits is None or fits.backend == "scalar" else (fits, reason)


def _piece(bench: _Bench, number: int) -> dict[str, Any]:
    with one_thread():
        return run_fold(bench.place, bench.plan[number], bench.whole)


def _pieces(bench: _Bench, numbers: Sequence[int]) -> list[dict[str, Any]]:
    assert bench.fits is not None
    with one_thread():
        return run_folds(bench.place, bench.fits, [bench.plan[k] for k in numbers], bench.whole)


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
