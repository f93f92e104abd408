"""RunLength: after how many samples a CUSUM chart raises an alarm though nothing has changed.

A chart S ← max(0, S + increment) alarms above its threshold. Its average run length is that of a
Markov chain on a grid of values (Brook and Evans, Biometrika 59, 1972).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from estimica.base.arrays import Vector

Distribution = Callable[[Vector], Vector]  # P(increment <= x)
#: values of the grid: for normal increments the run length is right to 0.1 % with these
GRID = 201
#: run lengths are found to this part, far below what their assumptions are worth
ACCURACY = 1e-4


def average_run_length(threshold: float, distribution: Distribution, grid: int = GRID) -> float:
    """Samples until an alarm of a chart that begins at zero."""
    width = 2 * threshold / (2 * grid - 1)
    centre = width * np.arange(grid)
    ends = width * (np.arange(grid) + 0.5)
    below = distribution(ends[None, :] - centre[:, None])
    step = np.diff(below, axis=1, prepend=0.0)
    lengths = np.linalg.solve(np.eye(grid) - step, np.ones(grid))
    return float(lengths[0])


def threshold_for(run_length: float, distribution: Distribution) -> float:
    """The threshold of a chart that alarms once in so many samples by chance."""
    from scipy.optimize import brentq

    def excess(h: float) -> float:
        length = average_run_length(h, distribution)
        # behind 1e15 the chain is singular in rounded arithmetic
        return math.log(length if 0 < length < 1e15 else 1e15) - math.log(run_length)

    high = 1.0
    while excess(high) < 0:
        high *= 1.5
    low = high / 1.5
    while low > 1e-6 and excess(low) > 0:
        low /= 2
    return float(brentq(excess, low, high, rtol=ACCURACY))


def shifted(shift: float) -> Distribution:
    """Increments z − shift/2 of standard normal z, for a mean that rises (or, by −z, falls)."""
    from estimica.base.probability.functions import ndtr

    def below(x: Vector) -> Vector:
        chance: Vector = ndtr(x + shift / 2)
        return chance

    return below


def scaled(ratio: float) -> Distribution:
    """Increments z²/2 (1 − 1/ratio²) − log ratio, for standard deviations that become `ratio`."""
    from scipy.special import erf

    a, b = (1 - 1 / ratio**2) / 2, math.log(ratio)

    def below(x: Vector) -> Vector:
        square = (x + b) / a  # that z² has to be below, or above where a is negative
        chance: Vector = erf(np.sqrt(np.maximum(square, 0.0) / 2))
        return chance if a > 0 else 1 - chance

    return below
