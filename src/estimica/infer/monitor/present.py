"""How a monitor shows itself: estimates, counts and alarms as tables, courses as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.result import plain_object
from estimica.base.text import aligned, short
from estimica.base.view import without_empty
from estimica.data.calendar import Calendar
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.monitor.charts import Alarm
from estimica.infer.monitor.result import MonitorResult
from estimica.infer.monitor.state import COUNTS

_CHARTS = (
    "Innovations, measured − predicted values over the standard deviations that the filter "
    "predicts, are standard normal and independent as long as nothing changes. Charts add up how "
    "far their mean and their spread are off, and how much better another value of a tuner would "
    "have predicted; at 1 a chart raises an alarm."
)


def tables(result: MonitorResult) -> tuple[show.Table, ...]:
    """All there is to read."""
    return (estimates(result), changes(result), rows(result))


def estimates(result: MonitorResult) -> show.Table:
    """A row for each unknown, as it is now."""
    items = zip(result.unknowns, result.values, result.stderr, strict=True)
    lines = tuple(
        (
            u.label,
            aligned(float(v), float(e)),
            short(float(e)),
            "" if u.unit == "1" else u.unit,
            u.description,
        )
        for u, v, e in items
    )
    columns = ("tuner", "value", "std. error", "unit", "description")
    taken = result.counts["taken"]
    note = f"after {taken} samples, at {when(result, result.time)}" if taken else "no samples yet"
    title = f"{result.study.name}: estimates while data arrive"
    return without_empty(show.Table(columns, lines, title, note), "unit", "description")


def changes(result: MonitorResult) -> show.Table:
    """A row for each alarm."""
    lines = tuple(
        (when(result, a.time), when(result, a.since), a.name, a.words) for a in result.alarms
    )
    many = result.design.run_length
    note = f"one false alarm in {many:.0f} samples is expected where nothing changes"
    columns = ("seen at", "since about", "of", "change")
    return show.Table(columns, lines, "Changes" if lines else "No changes", note)


def rows(result: MonitorResult) -> show.Table:
    """What became of the rows."""
    lines = tuple((COUNTS[n], c) for n, c in result.counts.items() if c or n == "taken")
    return show.Table(("rows and values", "number"), lines, "What came")


def when(result: MonitorResult, time: float) -> str:
    """A time as the data write it."""
    return stamp(result.origin, time)


def stamp(origin: str, time: float) -> str:
    """A time as data write it whose 0 s is `origin`, if anything."""
    if not np.isfinite(time):
        return "–"
    return Calendar.of(origin).told(time) if origin else f"{time:.10g} s"


def picture(result: MonitorResult, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """The course of every unknown with its 95 % band, innovations, and charts."""
    course, m = result.rows, len(result.unknowns)
    time = course[:, 0]
    panels: list[show.Panel] = []
    for k, one in enumerate(result.unknowns):
        if names and one.label not in names:
            continue
        ribbon = show.Ribbon("95 % band", time, *result.band(k), listed=not panels)
        curve = show.Curve(one.label, time, course[:, 1 + k], one.unit, colour=1, listed=False)
        label = show.name_with_unit(one.label, one.unit)
        panels.append(
            show.Panel(label, (curve,), ribbons=(ribbon,), log=one.log, origin=result.origin)
        )
    if not names:
        panels += _of_charts(result, 1 + 2 * m)
    return show.Curves(tuple(panels), f"{result.study.name}: estimates while data arrive")


def _of_charts(result: MonitorResult, first: int) -> list[show.Panel]:
    time, panels = result.rows[:, 0], []
    for k, name in enumerate(result.outputs):
        curve = show.Curve(
            f"innovation of {name}", time, result.rows[:, first + k], dotted=True, colour=7,
            listed=False,
        )  # fmt: skip
        panels.append(show.Panel(f"{name}: innovation/σ", (curve,), origin=result.origin))
    level = show.Curve("charts", time, result.rows[:, -1], colour=1, listed=False)
    seen = _marks(result.alarms)
    curves = (level, *seen)
    panels.append(show.Panel("alarm level", curves, origin=result.origin))
    return panels


def _marks(alarms: Sequence[Alarm]) -> tuple[show.Curve, ...]:
    if not alarms:
        return ()
    times = np.array([a.time for a in alarms])
    return (show.Curve("alarm", times, np.ones(len(times)), dotted=True, colour=2),)


def page(result: MonitorResult) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    sections = [
        show.Section("Estimates", "", (replace(estimates(result), title=""),)),
        show.Section("Changes", _CHARTS, (replace(changes(result), title=""),)),
        show.Section("Courses", "", (replace(picture(result), title=""),)),
        show.Section("What came", "", (replace(rows(result), title=""),)),
    ]
    one = show.Page(f"Monitor: {result.study.name}", tuple(sections))
    asked = study_summary(result.study, "monitor")
    return with_reproduction(one, "monitor", result.study, first=(asked,))


def as_object(result: MonitorResult) -> dict[str, object]:
    """The result as plain values."""
    course = result.course()
    items = zip(result.unknowns, result.values, result.stderr, strict=True)
    return plain_object(
        {
            "study": result.study.name,
            "outcome": {"status": result.outcome.status, "message": result.outcome.message},
            "time": result.time,
            "parameters": {
                u.label: {"value": float(v), "stderr": float(e), "unit": u.unit}
                for u, v, e in items
            },
            "alarms": [alarm_object(a) for a in result.alarms],
            "counts": dict(result.counts),
            "false_alarm_samples": result.design.run_length,
            "course": {
                "time": course.index.tolist(),
                **{str(n): course[n].tolist() for n in course.columns},
            },
        }
    )


def alarm_object(alarm: Alarm) -> dict[str, object]:
    """An alarm as plain values."""
    return {
        "time": alarm.time,
        "since": alarm.since,
        "name": alarm.name,
        "kind": alarm.kind,
        "sample": alarm.sample,
        "message": alarm.words,
    }
