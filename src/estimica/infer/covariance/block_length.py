"""Block length: how far residuals remember each other.

After Politis and White (Econometric Reviews 23, 2004) with the correction of Patton, Politis and
White (28, 2009), for blocks that run on over the end.
"""

from __future__ import annotations

import math

import numpy as np

from estimica.base.arrays import Vector


def block_length(residual: Vector) -> int:
    """The length that makes the estimated variance of a mean most accurate; 1 for white noise."""
    n = len(residual)
    centred = residual - residual.mean() if n else residual
    variance = float(centred @ centred) / max(n, 1)
    if n < 8 or variance <= 0:
        return 1
    most = math.ceil(min(3 * math.sqrt(n), n / 3))
    lags = min(most + max(5, math.ceil(math.sqrt(math.log10(n)))), n - 1)
    covariance = np.array([float(centred[: n - k] @ centred[k:]) / n for k in range(lags + 1)])
    reach = min(2 * correlation_length(covariance / variance, n), most, lags)
    if reach == 0:
        return 1
    k = np.arange(-reach, reach + 1)
    window = _flat_top(k / reach) * covariance[np.abs(k)]
    g, spectrum = float(np.sum(np.abs(k) * window)), float(np.sum(window))
    if spectrum <= 0:
        return most
    length = (2 * g**2 / (4 / 3 * spectrum**2)) ** (1 / 3) * n ** (1 / 3)
    # a length that is whole but for rounding is not rounded up
    return int(min(max(math.ceil(length - 1e-9), 1), most))


def correlation_length(correlation: Vector, n: int, run: int = 5) -> int:
    """The last lag before a stretch of `run` correlations that chance alone explains."""
    run = max(run, math.ceil(math.sqrt(math.log10(n))))
    small = np.abs(correlation[1:]) < 2 * math.sqrt(math.log10(n) / n)
    counts = np.concatenate([[0], np.cumsum(small)])
    quiet = np.flatnonzero(counts[run:] - counts[:-run] == run)
    return int(quiet[0]) if len(quiet) else len(small)


def _flat_top(x: Vector) -> Vector:
    size = np.abs(x)
    return np.where(size <= 0.5, 1.0, np.where(size <= 1, 2 * (1 - size), 0.0))
