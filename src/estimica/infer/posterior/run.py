"""sample: draws from the posterior of a fit's unknowns, chain by chain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed
from estimica.estimate.criteria.scoring import MaximumLikelihood
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective
from estimica.estimate.objective.predictor import Failure
from estimica.execute.pieces import Tally, map_with_checkpoints, seeds
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor, executor_for
from estimica.infer.posterior.chain import Chain
from estimica.infer.posterior.density import CountedDensity, Density, Impossible, density_around
from estimica.infer.posterior.libraries import arviz
from estimica.infer.posterior.predictive import predictive
from estimica.infer.posterior.result import FailedChain, Posterior
from estimica.infer.posterior.samplers import ensemble, nuts
from estimica.infer.refit import (
    Estimate,
    FitContext,
    estimate_of,
    fit_context,
    fit_context_of,
    require_estimate,
)
from estimica.study.case import Sigma
from estimica.study.study import Study

Method = Literal["auto", "nuts", "ensemble"]
METHODS = ("auto", "nuts", "ensemble")


@dataclass(frozen=True)
class Sampling:
    """How each chain is drawn."""

    method: Literal["nuts", "ensemble"]
    warmup: int
    draws: int
    acceptance: float


OnProgress = Callable[[Progress], None]


def sample(
    fit: Fit,
    draws: int = 1000,
    *,
    chains: int = 4,
    warmup: int = 1000,
    method: Method = "auto",
    acceptance: float = 0.9,
    seed: int = 1,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
) -> Posterior:
    """Draw from the posterior of a fit made with criterion "ml" or "prediction".

    `method` is "nuts" (the no-U-turn sampler, on exact gradients), "ensemble" (stretch moves
    without gradients) or "auto": NUTS, save where the cost has steps. Each of the `chains` draws
    `draws` after its `warmup`; a larger `acceptance` takes smaller steps, against divergences.
    Chains are shared among `workers`; finished ones are noted in `run`, and found there when it is
    taken up again. The same seed gives the same draws whoever does the work. Ctrl-C ends it with
    the chains done so far.
    """
    begun, tell = perf_counter(), told(progress)
    sampling = Sampling(_method(fit, method), warmup, draws, acceptance)
    _require_counts(draws, chains, warmup, acceptance)
    arviz()  # without it nothing can be told of the chains: before the work, not after it
    with one_thread():
        place = fit_context_of(fit)
        require_posterior(fit, place.objective)
        density = _density(place)
    build = partial(_built, fit.study, estimate_of(fit))
    pieces = {f"chain {k:04d}": (sampling, s) for k, s in enumerate(seeds(seed, chains))}
    tally = Tally(chains, "chains", tell, lambda _, outcome: not outcome.done)
    interrupted = False
    try:
        with executor_for(executor, workers) as hands:
            map_with_checkpoints(
                hands,
                _chain,
                pieces,
                context=Context(build, density),
                run=run or NoRunWriter(),
                on_piece=tally.note,
            )
    except KeyboardInterrupt:
        interrupted = True
    outcomes = tally.outcomes
    good = [k for k in sorted(outcomes) if outcomes[k].done]
    drawn = tuple(Chain.of(outcomes[k].result()) for k in good)
    with one_thread():
        predicted = predictive(place.objective, drawn, seed) if drawn else None
    return Posterior(
        fit=fit,
        method=sampling.method,
        seed=seed,
        requested=chains,
        warmup=warmup,
        numbers=tuple(good),
        chains=drawn,
        failures=tuple(FailedChain(k, o.error) for k, o in sorted(outcomes.items()) if not o.done),
        predictive=predicted,
        interrupted=interrupted,
        seconds=perf_counter() - begun,
    )


def _built(study: Study, estimate: Estimate) -> Density:
    """The density of a worker process."""
    return _density(fit_context(study, estimate))


def _density(place: FitContext) -> Density:
    return density_around(place.objective, place.q)


def _chain(density: Density, piece: tuple[Sampling, np.random.SeedSequence]) -> dict[str, Any]:
    """One chain, as plain values."""
    sampling, sequence = piece
    first, second = (int(s) for s in sequence.generate_state(2, np.uint64) >> np.uint64(1))
    counting = CountedDensity(density)
    try:
        if sampling.method == "nuts":
            drawn = nuts(
                density,
                counting,
                first,
                warmup=sampling.warmup,
                draws=sampling.draws,
                acceptance=sampling.acceptance,
            )
        else:
            drawn = ensemble(density, counting, first, warmup=sampling.warmup, draws=sampling.draws)
    except Impossible as error:
        raise InferError(
            "I710",
            f"no point near the estimate can be simulated to begin a chain at: {error}",
        ) from None
    values = np.array([density.values(u) for u in drawn.u])
    return Chain(
        values,
        drawn.log_density,
        _noise(density.objective, values, np.random.default_rng(second)),
        drawn.diverging,
        drawn.deepest,
        drawn.acceptance,
        counting.evaluations,
        counting.impossible,
        counting.reason,
    ).plain()


def _noise(objective: Objective, values: Vector, random: np.random.Generator) -> dict[str, Vector]:
    """Draws of the noise variances that are not known, given the unknowns: r = S/χ²(N).

    Outputs that share a level share its draws.
    """
    draws: dict[str, list[float]] = {}
    counts = _counts(objective)
    for row in values:
        predictions = objective.predict(row)
        assert not isinstance(predictions, Failure), "it was simulated there before"
        residuals, levels = objective.residuals(predictions), objective.sigmas(predictions)
        noise = objective.criterion.score(residuals, levels).noise
        drawn: dict[str, float] = {}
        for name, one in noise.items():
            if one.estimated:
                level = one.shared or name
                if level not in drawn:
                    drawn[level] = one.variance * counts[level] / random.chisquare(counts[level])
                draws.setdefault(name, []).append(drawn[level])
    return {name: np.array(v) for name, v in draws.items()}


def _counts(objective: Objective) -> dict[str, float]:
    """Samples that tell of each noise level."""
    found: dict[str, float] = {}
    for b in objective.blocks:
        if not isinstance(b.sigma, float):
            found[b.level] = found.get(b.level, 0.0) + b.count
    return found


def _method(fit: Fit, asked: str) -> Literal["nuts", "ensemble"]:
    if asked not in METHODS:
        hint = did_you_mean(asked, METHODS) or f" ({', '.join(METHODS)})"
        raise InferError("I711", f"sample: there is no method '{asked}'{hint}")
    if asked == "auto":
        return "ensemble" if fit.rough.reason else "nuts"
    if asked == "nuts" and fit.rough.reason:
        raise InferError(
            "I712",
            f"sample: NUTS follows gradients, and {fit.rough.reason}; use method 'ensemble'",
        )
    return "nuts" if asked == "nuts" else "ensemble"


def _require_counts(draws: int, chains: int, warmup: int, acceptance: float) -> None:
    if draws < 10:
        raise InferError("I713", f"sample: {draws} draws say nothing; use 1000 or more")
    if chains < 1:
        raise InferError("I714", f"sample: {chains} chains; use 4")
    if warmup < 10:
        raise InferError("I715", f"sample: warm-up of {warmup}: no step size is found; use 1000")
    if not 0 < acceptance < 1:
        raise InferError(
            "I716", f"sample: acceptance {acceptance:g} is not between 0 and 1; use 0.9"
        )


# --- refusal -------------------------------------------------------------------------------------
# Refusal: which fits have no posterior, and what to do about it.


def require_posterior(fit: Fit, objective: Objective) -> None:
    """Refuse a fit whose cost is not the logarithm of a likelihood, or whose posterior is none."""
    require_estimate(fit, "sample")
    _require_likelihood(fit, objective)
    _require_noise(fit, objective)
    _require_proper(fit)


def _require_likelihood(fit: Fit, objective: Objective) -> None:
    if not isinstance(objective.criterion, MaximumLikelihood):
        robust = objective.criterion.name == "ml"
        why = (
            "a robust loss is not a likelihood; leave `loss` out of [estimate]"
            if robust
            else f"criterion '{fit.criterion}' does not say how probable data are; set "
            'criterion = "ml" in [estimate]'
        )
        raise InferError("I703", f"sample: {why}")
    if objective.is_filtered:
        raise InferError(
            "I704", "sample: samples behind a prefilter are not independent; leave prefilters out"
        )
    if objective.has_input_errors:
        raise InferError(
            "I705",
            "sample: errors of inputs are estimated point by point, which is not a likelihood of "
            "the "
            "tuners alone; leave sigma of the inputs out, or take `bootstrap`",
        )


def _require_noise(fit: Fit, objective: Objective) -> None:
    limited = sorted(
        {
            b.name
            for b in objective.blocks
            if isinstance(b.sigma, Sigma) and (b.sigma.min > 0 or math.isfinite(b.sigma.max))
        }
    )
    if limited:
        raise InferError(
            "I706",
            f"sample: the noise of {_quoted(limited)} has bounds, and its "
            "distribution within them is not implemented; give sigma as a number, or leave it out",
        )
    quiet = sorted(n for n, v in fit.noise.items() if v.at_bound)
    if quiet:
        raise InferError(
            "I707",
            f"sample: the model meets {_quoted(quiet)} exactly: without noise "
            "there is no posterior; give its sigma",
        )
    if any(v.estimated for v in fit.noise.values()) and objective.n_samples <= fit.n_free:
        raise InferError(
            "I708",
            f"sample: {objective.n_samples} samples for {fit.n_free} unknowns do not tell the "
            "noise; give sigma, or fix unknowns",
        )


def _quoted(names: list[str]) -> str:
    return listed([f"'{n}'" for n in names])


def _require_proper(fit: Fit) -> None:
    """A direction that neither data nor bounds nor priors limit has no probabilities."""
    lost = [
        f"'{u.label}'"
        for u, sure in zip(fit.unknowns.items, fit.accuracy.identifiable, strict=True)
        if not sure and u.prior is None and not _is_limited(u.min, u.max, u.log)
    ]
    if lost:
        raise InferError(
            "I709",
            f"sample: the data do not determine {listed(lost)}, and without two bounds or a prior "
            "every value is as probable as any other; give bounds or a prior",
        )


def _is_limited(low: float, high: float, log: bool) -> bool:
    return math.isfinite(high) and (low > 0 if log else math.isfinite(low))
