"""Intervals from replicates: percentiles, and percentiles corrected for bias and skewness."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
LEVEL = 0.95
FEWEST = 40  # replicates for a 95 % interval: at least one beyond either end


@dataclass(frozen=True)
class Spread:
    """What the replicates say of one unknown; NaN where there are too few of them."""

    value: float  # the estimate
    mean: float
    bias: float
    stderr: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    at_bound: float  # share of the replicates


def spread(
    value: float,
    replicates: Vector,
    acceleration: float,
    *,
    truth: float | None = None,
    at_bound: float = 0.0,
) -> Spread:
    """Bias, standard error and 95 % intervals; `truth` is what the replicates were drawn with."""
    if len(replicates) < 2:
        nothing = (math.nan, math.nan)
        mean = float(replicates.mean()) if len(replicates) else math.nan
        return Spread(value, mean, math.nan, math.nan, nothing, nothing, at_bound)
    mean = float(replicates.mean())
    return Spread(
        value,
        mean,
        mean - (value if truth is None else truth),
        float(replicates.std(ddof=1)),
        percentile_interval(replicates),
        bca_interval(value, replicates, acceleration),
        at_bound,
    )


def percentile_interval(replicates: Vector) -> tuple[float, float]:
    """The 2.5 and 97.5 % quantiles, by the (B + 1)α rule."""
    if len(replicates) < FEWEST:
        return math.nan, math.nan
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail], method="weibull")
    return float(low), float(high)


def bca_interval(value: float, replicates: Vector, acceleration: float) -> tuple[float, float]:
    """Efron's BCa: quantiles at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z₀ from the share below `value`.

    NaN where all replicates lie on one side of the estimate, or where the ends would lie beyond
    the outermost replicates.
    """
    from scipy.stats import norm

    nothing = math.nan, math.nan
    if len(replicates) < FEWEST:
        return nothing
    below = float(np.mean(replicates < value) + 0.5 * np.mean(replicates == value))
    if not 0 < below < 1:
        return nothing
    z0 = float(norm.ppf(below))
    z = z0 + norm.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    divisor = 1 - acceleration * z
    if (divisor <= 0).any():
        return nothing
    shares = norm.cdf(z0 + z / divisor)
    outermost = 1 / (len(replicates) + 1)
    if shares[0] < outermost or shares[1] > 1 - outermost:
        return nothing
    low, high = np.quantile(replicates, shares, method="weibull")
    return float(low), float(high)
