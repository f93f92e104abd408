"""Stamps: the times of a case's rows in seconds of the model, in order."""

from __future__ import annotations

import numpy as np

from estimica.base import magnitude
from estimica.base.arrays import Vector
from estimica.base.errors import CaseError
from estimica.data.calendar import Calendar
from estimica.data.table import Data
from estimica.study.case import Case
from estimica.study.record.conversion import time_change

_HOUR = 3600.0
_SUNDAY = 6


def stamps(case: Case, data: Data, has_time: bool = True) -> Vector:
    """The times of all rows; the rows' numbers where there is no time."""
    if not has_time:
        return np.arange(len(data), dtype=np.float64)
    name = data.time_name(case.time)
    scale = time_scale(case, data, name)
    time = data.column(name) if scale == 1 else data.column(name) * scale
    if not len(time):
        raise CaseError("C005", f"'{data.source}' holds no rows")
    missing = np.flatnonzero(~np.isfinite(time))
    if len(missing):
        raise CaseError(
            "C006", f"time '{name}' is missing in row {missing[0] + 1} of '{data.source}'"
        )
    require_magnitude(f"time '{name}' of '{data.source}'", time - time[0], "time_scale")
    _require_order(data, name, time)
    _require_steady_clock(data, name, time)
    return time


def origin_of(case: Case, data: Data) -> str:
    """The instant of 0 s where the stamps are dates, as a calendar reads it; else nothing."""
    name = data.time_name(case.time)
    return data.origins.get(name, "") if time_scale(case, data, name) == 1 else ""


def time_scale(case: Case, data: Data, name: str) -> float:
    """Seconds in one unit of a time column: as the case says, or as the unit of its header."""
    change = time_change(case, data, name)
    return change.change.scale if change is not None else case.time_scale or 1.0


def _require_order(data: Data, name: str, time: Vector) -> None:
    back = np.flatnonzero(np.diff(time) < 0)
    if not len(back):
        return
    k = int(back[0])
    calendar = _clock_of(data, name)
    one, other = (
        f"{t:.10g}" if calendar is None else str(calendar.at(t)) for t in (time[k], time[k + 1])
    )
    advice = 'write unordered = "sort" in [reading], or split the file into cases'
    if calendar is not None and len(back) == 1 and time[k] - time[k + 1] < _HOUR:
        advice = (
            "clocks do so in autumn: if this one did, write timezone = "
            '"Europe/Berlin" or the like in [reading], otherwise unordered = "sort"'
        )
    raise CaseError(
        "C007",
        f"time '{name}' of '{data.source}' goes back from {one} to {other} in row {k + 2}; "
        f"{advice}",
    )


def _clock_of(data: Data, name: str) -> Calendar | None:
    """The calendar of stamps that are dates of a clock somewhere."""
    origin = data.origins.get(name)
    calendar = Calendar.of(origin) if origin else None
    return calendar if calendar is not None and calendar.zone is None else None


def _require_steady_clock(data: Data, name: str, time: Vector) -> None:
    """Refuse dates without a zone that leave out just the hour that clocks skip in spring."""
    calendar = _clock_of(data, name)
    step = np.diff(time)
    if calendar is None or len(step) < 3:
        return
    usual = float(np.median(step))
    # the gap is an hour longer than the others, to the second
    for k in np.flatnonzero(np.abs(step - usual - _HOUR) < 1.0):
        before, after = calendar.at(time[k]), calendar.at(time[k + 1])
        forward = before.month == 3 and before.weekday() == _SUNDAY and usual <= _HOUR
        if forward and before.hour in (1, 2) and after.hour in (2, 3):
            raise CaseError(
                "C135",
                f"time '{name}' of '{data.source}' has no rows between {before} and {after}, when "
                'clocks go forward in many places; write timezone = "Europe/Berlin" or the like '
                'in [reading], or timezone = "UTC" if this clock did not',
            )


def require_magnitude(what: str, values: Vector, remedy: str) -> None:
    """The largest of the values can be computed with, or all of them are zero."""
    largest = float(np.abs(values).max(initial=0.0))
    trouble = magnitude.magnitude_problem(largest)
    if trouble:
        raise CaseError(
            "C098", f"{what}: {largest:g}, its largest value, {trouble} or give a {remedy}"
        )
