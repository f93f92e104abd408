"""TimeAxes: seconds along an axis as dates, or in minutes, hours or days where a record is long."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.text import axis_unit
from estimica.base.view import Across, Curves, Panel
from estimica.data.calendar import Calendar

#: labels of axes over time; a tuner in seconds, as "T [s]", is none
_SECONDS = re.compile(r"(?P<name>(?:time|lag)\b.*) \[s\](?P<more>.*)")
_EPOCH = datetime(1970, 1, 1)
_WEEK = 604_800.0  # clocks are not changed and changed back within one
_MOST_LOOKS = 2000  # weeks of a record: 38 years


def with_time_axes(curves: Curves) -> Curves:
    """The same curves along the axes that figures show; what is not over time stays as it is.

    Panels whose time has an origin get dates: seconds since 1970 of the clock there. All others
    share a unit, chosen by the longest of them.
    """
    if curves.whole or curves.log_time:
        return curves
    clocks = _clocks(curves.panels)
    label = _SECONDS.fullmatch(curves.time_label)
    own = [p for p in curves.panels if p.across is None and p.origin not in clocks]
    size, unit = axis_unit(max((b - a for a, b in map(_ends, own)), default=0.0))
    panels = []
    for panel in curves.panels:
        if panel.across is not None:
            panels.append(panel)
        elif panel.origin in clocks:
            panels.append(_dated(panel, clocks[panel.origin], curves.time_label))
        elif label is not None and size != 1:
            panels.append(_moved(panel, lambda t: t / size))
        else:
            panels.append(panel)
    if label is None:
        return replace(curves, panels=tuple(panels))
    told = f"{label['name']} [{unit}]{label['more']}"
    return replace(curves, panels=tuple(panels), time_label=told)


@dataclass(frozen=True)
class _Clock:
    """What is added to seconds of a record for those of a clock since 1970, and whose clock."""

    shift: float
    name: str  # nothing where the place is not known


def _clocks(panels: Iterable[Panel]) -> dict[str, _Clock]:
    """One for each origin that can be read: what a stored page holds may come from anywhere."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for panel in panels:
        if panel.origin and panel.across is None:
            spans.setdefault(panel.origin, []).append(_ends(panel))
    clocks = {}
    for origin, ends in spans.items():
        try:
            begin, end = min(a for a, _ in ends), max(b for _, b in ends)
            clocks[origin] = _clock(Calendar.of(origin), begin, end)
        except (ValueError, OverflowError, KeyError, OSError):
            continue
    return clocks


def _clock(calendar: Calendar, begin: float, end: float) -> _Clock:
    """The clock of the place; where it was put forward or back, that of the record's beginning.

    So an hour is as long as another, and the axis says by which offset it counts.
    """
    if calendar.zone is None:
        return _Clock((calendar.origin - _EPOCH).total_seconds(), "")
    looks = np.linspace(begin, end, min(2 + int((end - begin) / _WEEK), _MOST_LOOKS))
    offsets = [calendar.at(t).utcoffset() or timedelta() for t in looks.tolist()]
    instant = calendar.origin.astimezone(UTC).replace(tzinfo=None)
    shift = (instant + offsets[0] - _EPOCH).total_seconds()
    if isinstance(calendar.zone, ZoneInfo) and len(set(offsets)) == 1:
        return _Clock(shift, calendar.zone.key)
    return _Clock(shift, _offset_name(offsets[0]))


def _offset_name(offset: timedelta) -> str:
    """As UTC+02:00."""
    minutes = int(offset.total_seconds()) // 60
    if not minutes:
        return "UTC"
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _dated(panel: Panel, clock: _Clock, label: str) -> Panel:
    name = re.sub(r" \[[^\]]*\]", "", label, count=1)
    across = Across(f"{name} ({clock.name})" if clock.name else name, dates=True)
    return replace(_moved(panel, lambda t: t + clock.shift), across=across)


def _moved(panel: Panel, along: Callable[[Vector], Vector]) -> Panel:
    """The panel with other values along its horizontal axis."""
    edges = along(np.asarray(panel.gaps, np.float64).reshape(-1, 2))
    return replace(
        panel,
        curves=tuple(replace(c, time=along(c.time)) for c in panel.curves),
        ribbons=tuple(replace(r, time=along(r.time)) for r in panel.ribbons),
        gaps=tuple((float(a), float(b)) for a, b in edges),
    )


def _ends(panel: Panel) -> tuple[float, float]:
    """The smallest and the largest time of a panel; 0 and 0 where it has none."""
    times = [c.time for c in panel.curves] + [r.time for r in panel.ribbons]
    low = min((float(np.min(t)) for t in times if len(t)), default=0.0)
    high = max((float(np.max(t)) for t in times if len(t)), default=0.0)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (0.0, 0.0)
