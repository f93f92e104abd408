"""Magnitude: how large and how small a number of a study or of data may be.

Costs are sums of squares of ratios: (value / sigma)², (slope · size / sigma)². Of numbers between
1e-60 and 1e60 the square of a ratio is at most 1e240, and 1e68 of them can be added before the sum
is beyond 1.8e308, the largest double; no square is below 1e-240, far above 2e-308, where digits get
lost. Nothing that is measured comes near: the universe has 1e80 atoms, but nobody has counted them
one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST = 1e60
SMALLEST = 1e-60


def trouble(number: float) -> str:
    """Why a finite number cannot be computed with; empty where it can."""
    size = abs(number)
    if size > LARGEST:
        return f"is too large to compute with; at most {LARGEST:g}, choose another unit"
    if 0 < size < SMALLEST:
        return f"is too small to compute with; at least {SMALLEST:g}, choose another unit"
    return ""


def countable(values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which values count: those that are numbers, and not too large."""
    found: npt.NDArray[Any] = np.abs(values) <= LARGEST  # NaN is not
    return found
