"""covariance: the covariance of an estimate under one or another view of the noise."""

from __future__ import annotations

import numpy as np

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.accuracy import FreeCovariance, accuracy
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit, require_optimum
from estimica.infer.covariance.result import KINDS, Covariance
from estimica.infer.covariance.score import (
    coloured_score_covariance,
    heteroscedastic_score_covariance,
    white_score_covariance,
)
from estimica.infer.refit import refuse_input_errors


def covariance(fit: Fit, kind: str = "model") -> Covariance:
    """The covariance of a fit's unknowns.

    `kind` is "model" (white noise, as the fit has it), "pooled" (one variance for all outputs, as
    their weights have it), "sandwich" (each sample with a variance of its own) or "hac" (noise that
    may be coloured as well).
    """
    require_kind(kind)
    require_optimum(fit)
    if kind == "model":
        return Covariance(fit, kind, fit.accuracy)
    refuse_input_errors(fit.study, f"covariance '{kind}'", "use kind 'model', or bootstrap")
    return around_estimate(fit, linearise_fit(fit), kind)


def require_kind(kind: str) -> None:
    """Refuse a covariance that does not exist."""
    if kind not in KINDS:
        raise InferError(
            "I311",
            f"there is no covariance '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})",
        )


def around_estimate(fit: Fit, around: LinearisedFit, kind: str) -> Covariance:
    """The same for a study that is linearised already."""
    memory = 0.0
    freedom = around.freedom
    if freedom <= 0:
        raise InferError(
            "I312",
            f"{around.n_samples} samples for {fit.n_free} unknowns leave nothing to tell the noise "
            "from; add data, or fix unknowns",
        )
    factor, degrees = 1.0, around.told.of(by_residuals=True)
    if kind == "sandwich":
        meat = heteroscedastic_score_covariance(around)
    elif kind == "pooled":
        meat, factor = white_score_covariance(around), around.n_samples / freedom
        degrees = np.full(len(around.q), freedom)
        if around.told.known:
            factor, degrees = 1.0, around.told.of()
    else:
        found = coloured_score_covariance(around)
        meat, memory = found.meat, found.reach
        degrees = np.minimum(degrees, found.freedom)
    inverse = around.inverse
    known = accuracy(
        around.root,
        around.objective.unknowns,
        around.q,
        fit.held,
        FreeCovariance(~around.held, inverse),
        covariance=factor * inverse @ meat @ inverse,
        freedom=degrees,
        threshold=fit.accuracy.threshold,
    )
    return Covariance(fit, kind, known, memory)
