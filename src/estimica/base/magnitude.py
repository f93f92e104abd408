"""Magnitude: how large and how small a number of a study or of data may be.

Costs are sums of squares. Between 1e-100 and 1e100 the square of every number is one as well: at
most 1e200, of which 1e108 can be added before the sum is beyond 1.8e308, the largest double, and at
least 1e-200, far above 2e-308, where digits get lost. Nothing that is measured comes near: the
universe has some 1e80 atoms. What only a combination makes too large, a residual of 1e90 with a
sigma of 1e-90, is told where it is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Flags, Vector

LARGEST = 1e100
SMALLEST = 1e-100


def magnitude_problem(number: float) -> str:
    """Why a finite number cannot be computed with; empty where it can."""
    size = abs(number)
    if size > LARGEST:
        return f"is too large to compute with; at most {LARGEST:g}, choose another unit"
    if 0 < size < SMALLEST:
        return f"is too small to compute with; at least {SMALLEST:g}, choose another unit"
    return ""


def is_usable(values: Vector) -> Flags:
    """Which values count: those that are numbers, and not too large."""
    usable: npt.NDArray[Any] = np.abs(values) <= LARGEST  # NaN is not
    return usable
