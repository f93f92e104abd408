"""Colour remark: the one sentence by which a fit says that its standard errors are too small."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import gammaincc

from estimica.base.errors import EstimicaError
from estimica.estimate.fit.outputs import OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.infer.residuals.run import residuals
from estimica.infer.residuals.verdict import errors_in_words, listed

#: chance of white residuals to be looked at closely, which takes one simulation more
CLOSELY = 0.2
LAGS = 20  # of the first look; fewer where samples are few
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
        found = residuals(fit)
    except EstimicaError:
        return
    coloured = [o for o in found.outputs if o.coloured and o.series.role == "calibrate"]
    if not coloured or not found.inflation:
        return
    worth = sum(o.effective for o in found.outputs if o.series.role == "calibrate")
    errors = errors_in_words(dict(found.inflation), worth)
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
