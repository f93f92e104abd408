"""bootstrap: the fit repeated on data that the model itself might have given.

Each replicate simulates the model at the estimate, adds noise, and fits again from the estimate.
How the new estimates scatter is how the first one would have scattered (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993; Zoubir and Iskander, Bootstrap Techniques for Signal
Processing, 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Point, accuracy_objective, with_curvature_of
from estimica.estimate.search.run import Status
from estimica.execute.batches import (
    WorkedBy,
    hands_for,
    map_alone_or_together,
    threads_for,
)
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import Tally, seeds
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.infer.bootstrap.intervals import accelerations
from estimica.infer.bootstrap.resampling import (
    Gaussian,
    Kind,
    Resampler,
    lengths_of,
    require_kind,
    resampler,
)
from estimica.infer.bootstrap.result import Bootstrap, FailedReplicate
from estimica.infer.refit import (
    Estimate,
    FitContext,
    batch_fits,
    bounds_reached,
    estimate_of,
    fit_context,
    fit_context_of,
    noise_freedom_at,
    refit,
    refuse_input_errors,
    require_estimate,
    shortfall,
)
from estimica.study.study import Study

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class _Bench:
    """What every replicate needs: the workplace, the source of its data, and who fits many."""

    place: FitContext
    resampler: Resampler
    fits: BatchFits | None  # where replicates are searched together
    reason: str = ""  # why they are not, though that was asked for

    @property
    def backend(self) -> str:
        """What simulates replicates."""
        return "scalar" if self.fits is None else self.fits.backend


def bootstrap(
    fit: Fit,
    replicates: int = 500,
    *,
    kind: Kind = "parametric",
    seed: int = 1,
    block_length: int | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
) -> Bootstrap:
    """Repeat a fit on `replicates` sets of simulated data; biases, standard errors, intervals.

    `kind` is the noise: "parametric" (Gaussian with the estimated variances), "residual" (drawn
    from the residuals of the fit) or "block" (stretches of them, of `block_length` samples or as
    long as they remember each other, for coloured residuals). Replicates are shared among
    `workers`, or done by an `executor` of your own, whose workers stay for the next call; finished
    ones are noted in `run`, and found there when it is taken up again. The same seed gives the
    same numbers whoever does the work. Ctrl-C ends it with those done so far.
    """
    begun, tell = perf_counter(), told(progress)
    require_estimate(fit, "bootstrap", noise=True)
    require_kind(kind)
    if kind != "parametric":
        refuse_input_errors(fit.study, f"bootstrap of kind '{kind}'", "use kind 'parametric'")
    _require_counts(replicates, block_length)
    with one_thread():
        threads = threads_for(executor, workers)
        bench = _bench(fit_context_of(fit), kind, block_length, threads)
    build = partial(_built, fit.study, estimate_of(fit), kind, block_length)
    pieces = {_key(k): s for k, s in enumerate(seeds(seed, replicates))}
    tally = Tally(replicates, "replicates", tell, lambda _, outcome: _has_failed(outcome))
    interrupted = False
    try:
        context, writer = Context(build, bench), run or NoRunWriter()
        with hands_for(executor, workers, bench.backend) as hands:
            map_alone_or_together(
                hands,
                _replicate,
                None if bench.fits is None else _replicates,
                pieces,
                context=context,
                run=writer,
                on_piece=tally.note,
                backend=bench.backend,
            )
    except KeyboardInterrupt:
        interrupted = True
    with one_thread():
        return _concluded(
            fit, bench, kind, seed, replicates, tally.outcomes, interrupted, perf_counter() - begun
        )


def _built(study: Study, estimate: Estimate, kind: str, length: int | None) -> _Bench:
    """The bench of a worker process."""
    return _bench(fit_context(study, estimate), kind, length)


def _bench(place: FitContext, kind: str, length: int | None, threads: int = 1) -> _Bench:
    fits, reason = batch_fits(place, threads)
    return _Bench(place, resampler(place, kind, length), fits, reason)


def _replicates(bench: _Bench, numbered: Sequence[np.random.SeedSequence]) -> list[dict[str, Any]]:
    """Fits to new data that advance together; those that come to no proven end go alone."""
    place, fits = bench.place, bench.fits
    assert fits is not None
    drawn = [bench.resampler.measured(seed) for seed in numbered]
    measured = [np.stack(own) for own in zip(*drawn, strict=True)]
    found = fits.fit(np.tile(place.q, (len(drawn), 1)), measured, near=True).finished()
    at_bound = fits.problem.coordinates.at_bound(found.found.q)
    values = []
    for k, data in enumerate(drawn):
        if not found.proven[k]:
            values.append(_refitted(bench, data) | {"alone": True})
            continue
        values.append(
            {
                "values": found.found.values[k].tolist(),
                "cost": float(found.found.cost[k]),
                "noise": found.variances(k),
                "at_bound": at_bound[k].tolist(),
                "undetermined": [False] * len(place.q),  # where one is, nothing is proven
            }
        )
    return values


def _replicate(bench: _Bench, seed: np.random.SeedSequence) -> dict[str, Any]:
    """One fit to new data, as plain values."""
    return _refitted(bench, bench.resampler.measured(seed))


def _refitted(bench: _Bench, measured: Sequence[Vector]) -> dict[str, Any]:
    place = bench.place
    cases = place.objective.replaced(measured)
    searched = refit(place.setup, cases, place.q)
    if searched.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if searched.point is None or searched.status is not Status.CONVERGED:
        return {"failed": f"{searched.status}: {searched.message}"}
    point = searched.point
    if short := shortfall(place, point):
        return {"failed": short}
    return {
        "values": [float(v) for v in point.values],
        "cost": float(point.cost),
        "noise": {n: v.variance for n, v in point.noise.items() if v.estimated},
        "at_bound": bounds_reached(place, point.q),
        "undetermined": [bool(u) for u in place.undetermined(point)],
    }


def _concluded(
    fit: Fit,
    bench: _Bench,
    kind: Kind,
    seed: int,
    requested: int,
    outcomes: dict[int, ItemOutcome[Any]],
    interrupted: bool,
    seconds: float,
) -> Bootstrap:
    objective = bench.place.objective
    point = objective.at(bench.place.q)
    assert isinstance(point, Point), "the estimate was simulated before"
    judge = accuracy_objective(objective, point)
    degrees = noise_freedom_at(bench.place, point).of()
    point = point if isinstance(judge, str) else with_curvature_of(judge, point)
    lengths = lengths_of(bench.resampler.source, objective.blocks)
    own = [lengths.get((b.case, b.name), 1) for b in objective.blocks]
    acceleration, of_noise = accelerations(objective, point, own)
    good = [k for k in sorted(outcomes) if not _has_failed(outcomes[k])]
    values = [outcomes[k].result() for k in good]
    names = tuple(n for n, v in point.noise.items() if v.estimated)
    n = len(objective.unknowns)
    shape = len(values), n
    lost = np.array([v["undetermined"] for v in values], bool).reshape(shape)
    return Bootstrap(
        fit=fit,
        kind=kind,
        seed=seed,
        requested=requested,
        numbers=tuple(good),
        values=np.array([v["values"] for v in values], float).reshape(shape),
        at_bound=np.array([v["at_bound"] for v in values], bool).reshape(shape),
        # where the fit's own data do not determine an unknown, replicates stay where they began
        undetermined=lost | ~fit.accuracy.identifiable,
        costs=np.array([v["cost"] for v in values], float),
        noise={m: np.array([v["noise"][m] for v in values], float) for m in names},
        noise_drawn=_drawn(bench, names),
        freedom=degrees,
        acceleration=acceleration,
        noise_acceleration=of_noise,
        block_lengths=lengths,
        failures=tuple(
            FailedReplicate(k, _why(outcomes[k]))
            for k in sorted(outcomes)
            if _has_failed(outcomes[k])
        ),
        interrupted=interrupted,
        seconds=seconds,
        worked_by=WorkedBy(
            bench.backend,
            sum(o.done and bool(o.result().get("alone")) for o in outcomes.values()),
            bench.reason,
        ),
    )


def _drawn(bench: _Bench, names: tuple[str, ...]) -> dict[str, float]:
    """The noise variance, in weighted units, that the replicates were drawn with."""
    source, blocks = bench.resampler.source, bench.resampler.blocks
    found = {}
    for name in names:
        own = [k for k, b in enumerate(blocks) if b.name == name and not isinstance(b.sigma, float)]
        if isinstance(source, Gaussian):
            squares = [float(np.mean((source.sigmas[k] * blocks[k].weight) ** 2)) for k in own]
            counts = [source.counts[k] for k in own]
        else:
            residuals = source.residuals  # type: ignore[attr-defined]
            squares = [float(np.mean((blocks[k].scaling * residuals[k]) ** 2)) for k in own]
            counts = [len(residuals[k]) for k in own]
        found[name] = float(np.average(squares, weights=counts))
    return found


def _has_failed(outcome: ItemOutcome[Any]) -> bool:
    return not outcome.done or "failed" in outcome.result()


def _why(outcome: ItemOutcome[Any]) -> str:
    return str(outcome.result()["failed"]) if outcome.done else outcome.error


def _key(number: int) -> str:
    return f"replicate {number:06d}"


def _require_counts(replicates: int, length: int | None) -> None:
    if replicates < 2:
        raise InferError("I405", f"{replicates} replicates say nothing; use 200 or more")
    if length is not None and length < 1:
        raise InferError("I406", f"block length {length}: a block has at least one sample")
