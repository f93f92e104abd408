"""Replicates: rows of one time stamp, each of which is a sample of one and the same experiment."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError


def first_of_replicates(column: str, source: str, time: Vector, value: Vector) -> Flags:
    """Of rows with one time stamp those that an input is taken from: it has one value there."""
    if (np.diff(time) > 0).all():
        return np.ones(len(time), bool)
    first = np.ones(len(time), bool)
    for k, j in pairwise(np.flatnonzero(np.isfinite(value))):
        if time[k] != time[j]:
            continue
        if value[k] != value[j]:
            raise CaseError(
                "C008",
                f"column '{column}' of '{source}' has two values at time {time[k]:.10g}, in rows "
                f"{k + 1} and {j + 1}; rows with one time stamp are replicates, whose input is one",
            )
        first[j] = False
    return first
