"""Columns of data as a case means them: scaled, without the jumps of angles, and with replicates:
rows of one time stamp, each of which is a sample of one and the same experiment."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError
from estimica.base.magnitude import is_usable
from estimica.study.case import InputColumn, OutputColumn
from estimica.study.record.repeated import rounding_of


def first_of_replicates(column: str, source: str, time: Vector, value: Vector) -> Flags:
    """Of rows with one time stamp those that an input is taken from: it has one value there."""
    if (np.diff(time) > 0).all():
        return np.ones(len(time), bool)
    first = np.ones(len(time), bool)
    for k, j in pairwise(np.flatnonzero(np.isfinite(value))):
        if time[k] != time[j]:
            continue
        if value[k] != value[j]:
            step = rounding_of(time)
            rounded = (
                f"the stamps look rounded to {step:g} s: name a column with all digits, or "
                if step
                else ""
            )
            raise CaseError(
                "C008",
                f"column '{column}' of '{source}' has two values at time {time[k]:.10g}, in rows "
                f"{k + 1} and {j + 1}; rows with one time stamp are replicates, whose input is "
                f'one; {rounded}write duplicates = "first", "last" or "mean" in [reading] if they '
                "are not",
            )
        first[j] = False
    return first


def with_scaling(given: InputColumn | OutputColumn, value: Vector) -> Vector:
    """The values of a column after scaling; those that cannot be computed with are missing."""
    if given.unwrap is not None:
        value = unwrapped_angle(value, given.unwrap)
    with np.errstate(over="ignore", invalid="ignore"):  # told by `_overflowing`
        if given.scale is not None:
            value = value * given.scale
        if given.offset is not None:
            value = value + given.offset
    return value if is_usable(value).all() else np.where(is_usable(value), value, np.nan)


def without_scaling(given: InputColumn, value: Vector) -> Vector:
    """The column that has these values after scaling."""
    if given.offset is not None:
        value = value - given.offset
    return value if given.scale is None else value / given.scale


def unwrapped_angle(value: Vector, period: float) -> Vector:
    """An angle without the jumps of its sensor; samples that are missing stay so."""
    sampled = np.isfinite(value)
    whole = value.copy()
    whole[sampled] = np.unwrap(value[sampled], period=period)
    return whole
