"""Course: all values, noise levels and percentages after each step of a release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from estimica.base.text import percent, short
from estimica.base.view import Rounded, Table
from estimica.infer.release.result import Release

#: steps side by side in one table: as many as a terminal of 100 columns holds beside the names
SIDE_BY_SIDE = 6


@dataclass(frozen=True)
class Stop:
    """Where everything stands after a step; 0 is the null model of the first one."""

    step: int
    free: tuple[str, ...]
    cost: float
    values: Mapping[str, float]
    noise: Mapping[str, float]  # variances by output
    fit_percent: Mapping[tuple[str, str], float]  # by case and output


def course(release: Release) -> tuple[Stop, ...]:
    """The null model, and the model after each step in which something was released."""
    if not release.steps:
        return ()
    first = release.steps[0]
    stops = [
        Stop(0, first.free, first.cost, first.values, first.noise, _percentages(release, 0)),
    ]
    for step in release.steps:
        if (c := step.choice) is not None:
            free = (*stops[-1].free, *c.released)
            met = _percentages(release, step.number)
            stops.append(Stop(step.number, free, c.cost, c.values, c.noise, met))
    return tuple(stops)


def _percentages(release: Release, step: int) -> dict[tuple[str, str], float]:
    model = release.model(step)
    return {
        (c.name, o.name): o.fit_percent
        for c in model.cases
        if c.role == "calibrate"
        for o in c.outputs
    }


def course_tables(release: Release) -> Iterator[Table]:
    """A row for each unknown and noise variance, a column for each step; a few steps a table."""
    stops = course(release)
    for begin in range(0, len(stops), SIDE_BY_SIDE):
        yield _table(release, stops, stops[begin : begin + SIDE_BY_SIDE])


def _table(release: Release, stops: tuple[Stop, ...], shown: tuple[Stop, ...]) -> Table:
    first, last = stops[0], stops[-1]
    ended = shown[-1] is last
    rows: list[tuple[object, ...]] = []
    units = {u.label: u.unit for u in release.objective.unknowns.items}
    for name in first.values:
        along = [s.values.get(name, math.nan) for s in shown]
        change = _change(first.values[name], last.values.get(name, math.nan))
        unit = "" if units.get(name) == "1" else units.get(name, "")
        rows.append((name, *map(_short, along), _released(stops, name), change, unit))
    for output in first.noise:
        name = f"noise of {output}"
        along = [s.noise.get(output, math.nan) for s in shown]
        change = _change(first.noise[output], last.noise.get(output, math.nan))
        released = _released(stops, name)
        rows.append((f"variance of {output}", *map(_short, along), released, change, ""))
    for (case, output), _ in first.fit_percent.items():
        met = [percent(s.fit_percent[case, output]) for s in shown]
        where = f" in {case}" if len({c for c, _ in first.fit_percent}) > 1 else ""
        rows.append((f"fit % of {output}{where}", *met, "", None, ""))
    headings = ["start" if s.step == 0 else f"step {s.step}" for s in shown]
    columns = ("unknown", *headings, "free from", "change %", "unit")
    note = (
        "free from: the step that released it; change %: from start to end; fit %: 100 is perfect, "
        "0 no better than the mean"
    )
    table = Table(columns, tuple(rows), "Values after each step", note if ended else "")
    keep = [k for k, c in enumerate(columns) if ended or c != "change %"]
    keep = [k for k in keep if columns[k] != "unit" or any(r[k] for r in rows)]
    return Table(
        tuple(columns[k] for k in keep),
        tuple(tuple(r[k] for k in keep) for r in rows),
        table.title,
        table.note,
    )


def _short(value: float) -> object:
    return short(value) if math.isfinite(value) else None


def _released(stops: tuple[Stop, ...], name: str) -> str:
    """Of what was released, and of noise that was free all along."""
    for stop in stops:
        if name in stop.free:
            return f"step {stop.step}" if stop.step else "the start"
    return ""


def _change(start: float, end: float) -> object:
    if start == 0 or not math.isfinite(end):
        return None
    return Rounded(100 * (end - start) / abs(start) + 0.0, 1)


def as_objects(release: Release) -> list[dict[str, object]]:
    """The same as plain values."""
    told: list[dict[str, object]] = []
    for s in course(release):
        met: dict[str, dict[str, float]] = {}
        for (case, output), value in s.fit_percent.items():
            met.setdefault(case, {})[output] = value
        told.append(
            {
                "step": s.step,
                "free": list(s.free),
                "cost": s.cost,
                "values": dict(s.values),
                "noise": dict(s.noise),
                "fit_percent": met,
            }
        )
    return told
