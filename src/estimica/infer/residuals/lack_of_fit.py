"""Lack of fit: whether replicates agree among each other better than with the model."""

from __future__ import annotations

import math

import numpy as np

from estimica.infer.residuals.hypothesis_tests import LACK_OF_FIT, Test
from estimica.infer.residuals.series import Series


def lack_of_fit(series: Series) -> Test | None:
    """F of what the model misses of the means of replicates, over what these scatter about them.

    The fit has taken its degrees of freedom from the means alone, since replicates are simulated
    alike. None where no sample has a replicate.
    """
    from scipy.stats import f

    if series.replicates is None:
        return None
    _, group, counts = np.unique(series.replicates, return_inverse=True, return_counts=True)
    repeated = series.n - len(counts)
    if repeated < 1:
        return None
    means = np.bincount(group, weights=series.residual) / counts
    pure = float(np.sum((series.residual - means[group]) ** 2)) / repeated
    left = len(counts) - float(series.leverage.sum())
    if left < 0.5 or pure == 0:  # half a degree: rounding of none
        why = "the unknowns follow every mean" if pure else "replicates do not scatter"
        return Test(LACK_OF_FIT, math.nan, math.nan, why)
    statistic = float(np.sum(counts * means**2)) / left / pure
    remark = f"F with {left:.3g} and {repeated} degrees of freedom"
    return Test(LACK_OF_FIT, statistic, float(f.sf(statistic, left, repeated)), remark)
