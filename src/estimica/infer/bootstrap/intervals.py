"""Intervals from replicates: percentiles, and percentiles corrected for bias and skewness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.unknowns import Unknowns

Ends = tuple[float, float]
Widened = Callable[[float, Ends], Ends]
NOTHING = (math.nan, math.nan)
LEVEL = 0.95
FEWEST = 40  # replicates for a 95 % interval: at least one beyond either end


@dataclass(frozen=True)
class Spread:
    """What the replicates say of one unknown; NaN where they say nothing.

    That is so where there are too few of them, and where it is at a bound in all of them. What
    the data do not determine has an infinite standard error.
    """

    value: float  # the estimate
    mean: float
    bias: float
    stderr: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    at_bound: float  # share of the replicates
    undetermined: float = 0.0  # share of the replicates whose data do not determine it


def spread(
    value: float,
    replicates: Vector,
    acceleration: float,
    *,
    truth: float | None = None,
    widened: Widened | None = None,
    at_bound: Flags | None = None,
    undetermined: Flags | None = None,
) -> Spread:
    """Bias, standard error and 95 % intervals; `truth` is what the replicates were drawn with.

    `widened` takes into account that they were drawn with a noise level that is itself estimated.
    """
    bound, lost = _share(at_bound), _share(undetermined)
    if undetermined is not None and undetermined.any():
        ends = open_interval(replicates, undetermined)
        return Spread(value, math.nan, math.nan, math.inf, ends, NOTHING, bound, lost)
    if len(replicates) < 2 or bound == 1:
        mean = float(replicates.mean()) if len(replicates) else math.nan
        return Spread(value, mean, math.nan, math.nan, NOTHING, NOTHING, bound)
    mean = float(replicates.mean())
    wide = widened or _as_they_are
    return Spread(
        value,
        mean,
        mean - (value if truth is None else truth),
        float(replicates.std(ddof=1)),
        wide(value, percentile_interval(replicates)),
        wide(value, bca_interval(value, replicates, acceleration)),
        bound,
    )


def widened(unknowns: Unknowns, k: int, freedom: float) -> Widened:
    """Ends as far from the estimate of unknown `k` as t is wider than the normal distribution.

    Replicates scatter as with noise that is known to be what the residuals tell. Their quantiles
    are those of a normal distribution where the model is linear, and should be those of t: for
    eight samples and two unknowns 2.45 instead of 1.96 standard errors. Distances are those of the
    tuner's scale, and ends stay within its bounds.
    """
    from scipy.special import ndtri, stdtrit

    tail = (1 + LEVEL) / 2
    factor = float(stdtrit(freedom, tail) / ndtri(tail)) if 0 < freedom < math.inf else 1.0
    one = Unknowns([unknowns.items[k]])

    def moved(value: float, ends: tuple[float, float]) -> tuple[float, float]:
        centre = one.coordinates(np.array([value]))
        found = []
        for end in ends:
            q = centre + factor * (one.coordinates(np.array([end])) - centre)
            found.append(float(one.values(one.clipped(q))[0]) if math.isfinite(end) else end)
        return found[0], found[1]

    return moved


def _as_they_are(value: float, ends: Ends) -> Ends:
    return ends


def empty_spread(value: float) -> Spread:
    """Of replicates that say nothing."""
    return Spread(value, math.nan, math.nan, math.nan, NOTHING, NOTHING, 0.0)


def _share(flags: Flags | None) -> float:
    return float(flags.mean()) if flags is not None and len(flags) else 0.0


def open_interval(replicates: Vector, undetermined: Flags) -> tuple[float, float]:
    """The 95 % interval if a replicate that determines nothing may have any value whatever."""
    low, _ = percentile_interval(np.where(undetermined, -np.inf, replicates))
    _, high = percentile_interval(np.where(undetermined, np.inf, replicates))
    return low, high


def percentile_interval(replicates: Vector) -> tuple[float, float]:
    """The 2.5 and 97.5 % quantiles, by the (B + 1)α rule."""
    if len(replicates) < FEWEST:
        return math.nan, math.nan
    tail = (1 - LEVEL) / 2
    low, high = _quantiles(replicates, np.array([tail, 1 - tail]))
    return float(low), float(high)


def _quantiles(replicates: Vector, shares: Vector) -> Vector:
    """Quantiles at (B + 1)·share; between a number and infinity there is only infinity."""
    ordered = np.sort(replicates)
    place = np.clip(shares * (len(ordered) + 1), 1, len(ordered))
    below = np.floor(place).astype(int) - 1
    rest = place - 1 - below
    low, high = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)]
    finite = np.isfinite(low) & np.isfinite(high)
    width = np.subtract(high, low, out=np.zeros(len(low)), where=finite)
    found: Vector = np.where(finite | (rest == 0) | np.isinf(low), low + rest * width, high)
    return found


def bca_interval(value: float, replicates: Vector, acceleration: float) -> tuple[float, float]:
    """Efron's BCa: quantiles at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z₀ from the share below `value`.

    NaN where all replicates lie on one side of the estimate, or where the ends would lie beyond
    the outermost replicates.
    """
    from scipy.stats import norm

    if len(replicates) < FEWEST:
        return NOTHING
    below = float(np.mean(replicates < value) + 0.5 * np.mean(replicates == value))
    if not 0 < below < 1:
        return NOTHING
    z0 = float(norm.ppf(below))
    z = z0 + norm.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    divisor = 1 - acceleration * z
    if (divisor <= 0).any():
        return NOTHING
    shares = norm.cdf(z0 + z / divisor)
    outermost = 1 / (len(replicates) + 1)
    if shares[0] < outermost or shares[1] > 1 - outermost:
        return NOTHING
    low, high = _quantiles(replicates, shares)
    return float(low), float(high)
