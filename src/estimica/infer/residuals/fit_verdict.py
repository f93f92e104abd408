"""fit_verdict: the line below the estimates of a fit that says what its residuals mean for them."""

from __future__ import annotations

import math

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.base.probability.functions import gammaincc
from estimica.estimate.fit.outputs import OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.fit.verdict import ResidualVerdict
from estimica.infer.residuals.result import ResidualAnalysis
from estimica.infer.residuals.run import residuals
from estimica.infer.residuals.verdict import errors_in_words, listed
from estimica.study.noise.process import PREDICTION

#: chance of white residuals to be looked at closely, which takes one simulation more. Chosen: the
#: first look does not know what the fit has taken from the noise, and must miss nothing
CLOSELY = 0.2
LAGS = 20  # of the first look, as of the test; fewer where samples are few
#: samples below which colour is not asked for: a memory cannot be told from the curve's own shape
LEAST = 20
WHITE = "the residuals look white, as the standard errors take them to be"
EXACT = "the residuals are as small as the error of the simulation: there is no noise to judge by"
NOTHING = ResidualVerdict()


def fit_verdict(fit: Fit) -> ResidualVerdict:
    """What the residuals of the calibrating cases say of the standard errors.

    The first look takes the residuals as they are. Only where they may be coloured are all tests
    made, with what the fit has taken from the residuals, and their level.
    """
    own = [o for c in fit.cases if c.role == "calibrate" for o in c.outputs if not o.is_input]
    if not fit.n_free or fit.outcome.status == "failed" or any(o.transfer for o in own):
        return NOTHING
    judged = [o for o in own if len(o.compared) >= LEAST]
    if not judged:
        count = sum(len(o.compared) for o in own)
        text = f"{count} samples are too few to tell whether the residuals are white"
        return ResidualVerdict(text) if count else NOTHING
    if not any(_suspect(o, len(own)) for o in own):
        exact = all(_vanishes(o, fit.study.solver.rtol) for o in judged)
        return ResidualVerdict(EXACT if exact else WHITE)
    try:
        analysis = residuals(fit)
    except EstimicaError:
        return NOTHING
    return _of(analysis, fit.criterion)


def _of(analysis: ResidualAnalysis, criterion: str) -> ResidualVerdict:
    own = [o for o in analysis.outputs if o.series.role == "calibrate"]
    coloured = [o for o in own if o.coloured]
    if own and all(o.series.exact for o in own):
        return ResidualVerdict(EXACT)
    if not coloured:
        return ResidualVerdict(WHITE)
    text = f"the residuals of {listed(coloured)} are coloured"
    errors = errors_in_words(dict(analysis.inflation), sum(o.effective for o in own))
    too_small = "too small" in errors
    if too_small:
        # innovations cannot be put elsewhere in blocks
        blocks = "" if criterion == PREDICTION else " or a bootstrap of kind 'block'"
        errors += f": take covariance 'hac'{blocks}"
    said = f"{text}, and {errors}" if errors else text
    return ResidualVerdict(said, True, too_small, dict(analysis.stderr_factors))


def _vanishes(output: OutputComparison, rtol: float) -> bool:
    """Whether an output is met to within the tolerance of its simulation."""
    size = float(np.abs(output.reference).max(initial=0.0))
    return float(np.abs(output.compared).max(initial=0.0)) <= rtol * size


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
