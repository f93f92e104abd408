"""residuals: all tests of the residuals of a fit, and the remark that it makes of them itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import gammaincc

from estimica.base.errors import EstimicaError, InferError
from estimica.estimate.fit.outputs import OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit
from estimica.infer.covariance.run import around_estimate
from estimica.infer.residuals.output import OutputResiduals, output_verdict, run_tests
from estimica.infer.residuals.result import ResidualAnalysis
from estimica.infer.residuals.series import series_of
from estimica.infer.residuals.verdict import errors_in_words, listed

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
    return ResidualAnalysis(fit, level, found, _inflation(fit, around, found))


def require_level(level: float) -> None:
    """Refuse a level that is not a chance."""
    if not 0 < level < 1:
        raise InferError("I302", f"level {level:g} is not a chance between 0 and 1; use 0.05")


def _inflation(
    fit: Fit, around: LinearisedFit, outputs: tuple[OutputResiduals, ...]
) -> dict[str, float]:
    """Standard errors for coloured noise over those of the fit; nothing where none is coloured."""
    coloured = any(one.coloured for one in outputs if one.series.role == "calibrate")
    if not coloured or around.freedom <= 0:
        return {}
    ratio = around_estimate(fit, around, "hac").ratio
    items = fit.unknowns.items
    chosen = [k for k, u in enumerate(items) if u.kind == "tuner"] or list(range(len(items)))
    return {items[k].label: float(ratio[k]) for k in chosen}


# --- fit remark ----------------------------------------------------------------------------------
# Colour remark: the one sentence by which a fit says that its standard errors are too small.


#: chance of white residuals to be looked at closely, which takes one simulation more. Chosen: the
#: first look does not know what the fit has taken from the noise, and must miss nothing
CLOSELY = 0.2
LAGS = 20  # of the first look, as of the test; fewer where samples are few
#: samples below which colour is not asked for: a memory cannot be told from the curve's own shape
LEAST = 20


def colour_remark(fit: Fit) -> Iterator[str]:
    """Nothing where residuals look white, or where there is nothing to look at.

    The first look takes the residuals as they are. Only where they may be coloured are all tests
    made, with what the fit has taken from the residuals, and their level.
    """
    own = [o for c in fit.cases if c.role == "calibrate" for o in c.outputs if not o.is_input]
    if not fit.n_free or not any(_suspect(o, len(own)) for o in own):
        return
    try:
        analysis = residuals(fit)
    except EstimicaError:
        return
    coloured = [o for o in analysis.outputs if o.coloured and o.series.role == "calibrate"]
    if not coloured or not analysis.inflation:
        return
    worth = sum(o.effective for o in analysis.outputs if o.series.role == "calibrate")
    errors = errors_in_words(dict(analysis.inflation), worth)
    if "too small" in errors:
        yield (
            f"the residuals of {listed(coloured)} are coloured, and {errors}: take "
            "covariance 'hac' or a bootstrap of kind 'block'"
        )


def _suspect(output: OutputComparison, count: int) -> bool:
    """Whether Box and Pierce's sum over a few lags is more than white noise mostly has."""
    e = output.compared - output.compared.mean() if len(output.compared) else output.compared
    square, n = float(e @ e), len(e)
    if n < LEAST or not square > 0 or not math.isfinite(square):
        return False
    lags = min(LAGS, n // 8)
    r = np.array([float(e[:-k] @ e[k:]) for k in range(1, lags + 1)]) / square
    statistic = n * (n + 2) * float(np.sum(r**2 / (n - np.arange(1, lags + 1))))
    # the sum of a slow memory is spread over all lags, that of a short one stands in the first
    first = n * float(r[0]) ** 2
    p = min(gammaincc(lags / 2, statistic / 2), gammaincc(0.5, first / 2))
    return bool(p < CLOSELY / count)
