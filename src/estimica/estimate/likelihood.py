"""Likelihood: how well the noise model explains the residuals, for AIC and BIC."""

from __future__ import annotations

import math

import numpy as np

from estimica.estimate.criterion import MaximumLikelihood, OutputError, estimated_levels
from estimica.estimate.objective import Objective, Point


def information(objective: Objective, point: Point) -> tuple[float, float]:
    """(AIC, BIC) of a Gaussian likelihood: −2 log L + 2k, and + k log N.

    For `oe` the weighted residuals share one variance, which counts as an unknown; for `ml` each
    estimated variance counts. Robust losses and other criteria are no likelihood: NaN.
    """
    criterion = objective.criterion
    squares = isinstance(criterion, OutputError) and not criterion.losses
    if not (squares or isinstance(criterion, MaximumLikelihood)):
        return math.nan, math.nan
    n = objective.n_effective
    k = len(objective.unknowns)
    if not squares:
        deviance = point.cost + n * math.log(2 * math.pi) - _amplitudes(objective)
        k += estimated_levels(point.noise)
    else:
        variance = max(point.cost / n, np.finfo(float).tiny)
        weights = sum(2 * b.count * math.log(b.weight) - b.log_relative for b in objective.blocks)
        deviance = n * (math.log(2 * math.pi * variance) + 1) - weights - _amplitudes(objective)
        k += 1
    return deviance + 2 * k, deviance + k * math.log(n)


def _amplitudes(objective: Objective) -> float:
    """2 Σ log c over real and imaginary parts: of the response itself, whatever its weighting."""
    transfers = [b.measured.transfer for b in objective.blocks if b.measured.transfer is not None]
    return sum(4 * float(np.log(t.amplitude).sum()) for t in transfers)
