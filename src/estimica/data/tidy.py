"""Tidy: the rows of a table in order of time and one for each stamp, as far as that is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.data.reading import Reading
from estimica.data.table import Data


def tidied(data: Data, reading: Reading) -> Data:
    """The table with its rows sorted and thinned as `reading` says; with a note of what changed."""
    if reading.unordered == "error" and reading.duplicates == "replicates":
        return data
    try:
        name = data.time_name(reading.time)
    except DataError:
        return data  # whoever needs the time tells
    if reading.unordered == "sort":
        data = _sorted(data, name)
    return data if reading.duplicates == "replicates" else _once(data, name, reading)


def _sorted(data: Data, name: str) -> Data:
    time = data.column(name)
    back = int(np.count_nonzero(np.diff(time) < 0))
    if not back:
        return data
    order = np.argsort(time, kind="stable")  # rows of one stamp keep their order
    note = f"the rows are sorted by '{name}', which went back {_times(back)}"
    columns = {n: v[order] for n, v in data.columns.items()}
    return replace(data, columns=columns, notes=(*data.notes, note))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _once(data: Data, name: str, reading: Reading) -> Data:
    """One row a stamp; rows without a stamp stay as they are."""
    time = data.column(name)
    first = np.flatnonzero(np.concatenate([[True], ~(np.diff(time) == 0)]))
    extra = len(time) - len(first)
    if not extra:
        return data
    if reading.duplicates == "error":
        k = int(np.flatnonzero(np.diff(time) == 0)[0])
        raise DataError(
            "D072",
            f"{data.where}: rows {k + 1} and {k + 2} have one time stamp ({extra} such in all); "
            'write duplicates = "first", "last" or "mean" in [reading]',
        )
    ends = np.concatenate([first[1:], [len(time)]])
    if reading.duplicates == "mean":
        columns = {n: _means(v, first) for n, v in data.columns.items()}
    else:
        kept = first if reading.duplicates == "first" else ends - 1
        columns = {n: v[kept] for n, v in data.columns.items()}
    columns[name] = time[first]
    what = {"first": "the first is taken", "last": "the last is taken", "mean": "they are averaged"}
    rows = "1 row repeats" if extra == 1 else f"{extra} rows repeat"
    note = f"{rows} a time stamp; of each {what[reading.duplicates]}"
    return replace(data, columns=columns, notes=(*data.notes, note))


def _means(values: Vector, first: npt.NDArray[np.intp]) -> Vector:
    """Means of the samples that are there; NaN where there is none."""
    there = np.isfinite(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), first)
    counts = np.add.reduceat(there.astype(np.float64), first)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / counts)
