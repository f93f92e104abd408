"""Noise law: −2 log of the density of one residual, with its score and its expected information.

All of it is in two directions: how the mean moves, in units of σ, and how log σ does. Residuals v
are simulated − measured. The information is the expected one of a sample before it is known whether
it is censored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from estimica.base.arrays import Flags, Vector

LOG_2PI = math.log(2 * math.pi)
#: least information of a sample that was seen although the model holds it to be censored almost
#: surely: there the expected one tends to zero while its score does not, and a step would have no
#: end; at the optimum that is one sample in a hundred at most
SEEN = 0.05
#: least information of any sample, so that it has a square root: its score is as small
LEAST = 1e-30


@dataclass(frozen=True, eq=False)
class Terms:
    """Of each sample: −2 log density without log 2π, half its gradient, half its mean Hessian."""

    cost: Vector
    by_mean: Vector
    by_level: Vector
    mean: Vector  # information of the mean
    both: Vector  # of the mean and log σ
    level: Vector  # of log σ


@dataclass(frozen=True, eq=False)
class ResidualLimits:
    """Detection limits less the simulated value, and which samples are beyond them."""

    low: Vector
    high: Vector
    below: Flags
    above: Flags


def normal(v: Vector, sigma: Vector, reach: ResidualLimits | None) -> Terms:
    """Gaussian noise; a censored sample counts by the probability to lie beyond its limit."""
    z = v / sigma
    cost, by_mean, by_level = z**2 + 2 * np.log(sigma), z, 1 - z**2
    one = np.ones_like(z)
    if reach is None:
        return Terms(cost, by_mean, by_level, one, 0 * one, 2 * one)
    for beyond, limit, side in ((reach.below, reach.low, 1.0), (reach.above, reach.high, -1.0)):
        u = side * np.where(beyond, limit, 0.0) / sigma
        tail = log_ndtr(u)
        mills = np.exp(-(u**2) / 2 - LOG_2PI / 2 - tail)
        cost = np.where(beyond, -2 * tail - LOG_2PI, cost)  # log 2π is added for all alike
        by_mean = np.where(beyond, side * mills, by_mean)
        by_level = np.where(beyond, mills * u, by_level)
    mean, both, level = _expected(reach.low / sigma, reach.high / sigma)
    seen = ~(reach.below | reach.above)
    mean = np.where(seen, np.maximum(mean, SEEN), mean)
    level = np.where(seen, np.maximum(level, SEEN), level)
    return Terms(cost, by_mean, by_level, mean, both, level)


def laplace(v: Vector, sigma: Vector, reach: ResidualLimits | None) -> Terms:
    """Noise with the density exp(−|v|/b)/(2b), b = σ/√2."""
    assert reach is None, "detection limits need normal noise"
    b = sigma / math.sqrt(2)
    share = np.abs(v) / b
    one = np.ones_like(v)
    # −2 log density less log 2π, which is added for all laws alike
    cost = 2 * share + 2 * np.log(2 * b) - LOG_2PI
    return Terms(cost, math.sqrt(2) * np.sign(v), 1 - share, 2 * one, 0 * one, one)


LAWS: Mapping[str, Callable[[Vector, Vector, ResidualLimits | None], Terms]] = {
    "normal": normal,
    "laplace": laplace,
}


def _expected(c: Vector, d: Vector) -> tuple[Vector, Vector, Vector]:
    """E[s sᵀ] of the score s in the mean and log σ, seen between c and d in units of σ."""
    low, high = np.isfinite(c), np.isfinite(d)
    c, d = np.where(low, c, 0.0), np.where(high, d, 0.0)
    at_c = np.where(low, np.exp(-(c**2) / 2 - LOG_2PI / 2), 0.0)
    at_d = np.where(high, np.exp(-(d**2) / 2 - LOG_2PI / 2), 0.0)
    under = np.where(low, np.exp(-(c**2) - LOG_2PI - log_ndtr(c)), 0.0)  # φ²/Φ
    over = np.where(high, np.exp(-(d**2) - LOG_2PI - log_ndtr(-d)), 0.0)
    inside = 1.0 - np.where(low, ndtr(c), 0.0) - np.where(high, ndtr(-d), 0.0)
    mean = inside + c * at_c - d * at_d + under + over
    both = (c**2 + 1) * at_c - (d**2 + 1) * at_d + c * under + d * over
    level = 2 * inside + (c**3 + c) * at_c - (d**3 + d) * at_d + c**2 * under + d**2 * over
    mean = np.maximum(mean, LEAST)
    # what is left of a positive definite matrix by rounding
    level = np.maximum(level, both**2 / mean * (1 + 1e-12) + LEAST)
    return mean, both, level
