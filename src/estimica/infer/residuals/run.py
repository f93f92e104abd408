"""residuals: all tests of the residuals of a fit."""

from __future__ import annotations

import math

from estimica.base.errors import InferError
from estimica.estimate.fit.result import Fit
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit
from estimica.infer.covariance.run import around_estimate
from estimica.infer.residuals.output import OutputResiduals, output_verdict, run_tests
from estimica.infer.residuals.result import ResidualAnalysis
from estimica.infer.residuals.series import series_of

LEVEL = 0.05  # chance of any complaint about white Gaussian residuals: the customary one


def residuals(fit: Fit, *, level: float = LEVEL) -> ResidualAnalysis:
    """Look at the residuals of a fit.

    `level` is the chance that anything is said against residuals that are white and Gaussian; it
    is shared out among all tests of all calibrating outputs.
    """
    require_level(level)
    around = linearise_fit(fit)
    first = [(series, *run_tests(series)) for series in series_of(fit, around)]
    count = sum(
        not math.isnan(test.p)
        for series, _, tests in first
        if series.role == "calibrate"
        for test in tests
    )
    share = level / max(count, 1)
    found = tuple(output_verdict(series, acf, tests, share) for series, acf, tests in first)
    return ResidualAnalysis(fit, level, found, _stderr_factors(fit, around, found))


def require_level(level: float) -> None:
    """Refuse a level that is not a chance."""
    if not 0 < level < 1:
        raise InferError("I302", f"level {level:g} is not a chance between 0 and 1; use 0.05")


def _stderr_factors(
    fit: Fit, around: LinearisedFit, outputs: tuple[OutputResiduals, ...]
) -> dict[str, float]:
    """Standard errors for coloured noise over those of the fit; nothing where none is coloured."""
    coloured = any(one.coloured for one in outputs if one.series.role == "calibrate")
    if not coloured or around.freedom <= 0:
        return {}
    ratio = around_estimate(fit, around, "hac").ratio
    return {u.label: float(r) for u, r in zip(fit.unknowns.items, ratio, strict=True)}
