"""Refusal: which fits have no posterior, and what to do about it."""

from __future__ import annotations

import math

from estimica.base.errors import InferError
from estimica.base.text import listed
from estimica.estimate.criteria.scoring import MaximumLikelihood
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective
from estimica.infer.refit import require_estimate
from estimica.study.case import Sigma


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
