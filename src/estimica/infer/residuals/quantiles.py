"""Quantile residuals: residuals as normal noise of one level would have left them.

Dunn and Smyth, Randomized quantile residuals, Journal of Computational and Graphical Statistics 5
(1996): a residual is brought to the normal quantile of its probability; one of which only a limit
is known is drawn from what lies beyond.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from estimica.base.arrays import Vector
from estimica.estimate.fit.outputs import OutputComparison


def quantile_residuals(output: OutputComparison, residual: Vector) -> Vector:
    """Residuals whose samples have their own σ, limits or another law, as of one normal level.

    Where all samples are alike they stay as they are.
    """
    sigma = output.sigma
    if sigma is None:
        return residual
    z = residual / sigma
    if output.distribution == "laplace":
        size = np.sqrt(2) * np.abs(z)
        # log of the lesser tail, exp(−|v|/b)/2
        z = np.sign(z) * -ndtri_exp(-size - np.log(2))
    if output.beyond is not None:
        # drawn alike whenever the data are, and independently of those of other experiments
        seed = crc32(np.ascontiguousarray(output.measured).tobytes())
        drawn = np.log(np.random.default_rng(seed).uniform(size=len(z)))
        for side in (-1, 1):
            chosen = output.beyond == side
            # measured below the limit: simulated − measured is at least the residual there
            tail = log_ndtr(side * z[chosen])
            z[chosen] = side * ndtri_exp(drawn[chosen] + tail)
    return np.asarray(z * np.sqrt(np.mean(sigma**2)))
