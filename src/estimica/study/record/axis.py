"""Axis: what the points of a case can be drawn against: an input, an output or a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import StudyError
from estimica.base.problems import Problem
from estimica.base.suggest import did_you_mean
from estimica.study.case import InputColumn
from estimica.study.record.columns import without_scaling
from estimica.study.record.samples import Record, data_of
from estimica.study.record.stamps import time_scale
from estimica.study.study import Study


def names_along(record: Record) -> list[str]:
    """Everything that the points of a case can be drawn against."""
    outputs = [m.name for m in record.outputs]
    return list(dict.fromkeys([*record.inputs, *outputs, *data_of(record.case).names]))


def input_along(record: Record, name: str) -> str | None:
    """The input that a name means: its own, or that of its column."""
    if name in record.inputs:
        return name
    for own, given in record.case.columns_of_inputs.items():
        if isinstance(given, InputColumn) and given.column == name and own in record.inputs:
            return own
    return None


def input_in_column_unit(record: Record, name: str, values: Vector) -> Vector | None:
    """Values of the input that `name` means, in what `name` counts in: the model's unit, or where
    it is the input's column the column's own; None where a jumping angle has many of them."""
    if name in record.inputs:
        return values
    given = record.case.columns_of_inputs[input_along(record, name) or ""]
    assert isinstance(given, InputColumn)
    return None if given.unwrap is not None else without_scaling(given, values)


def unit_along(record: Record, name: str) -> str:
    """The unit of a column, as its file has it; inputs and outputs have the model's."""
    return data_of(record.case).units.get(name, "")


def values_along(record: Record, name: str, points: Vector, *, has_time: bool) -> Vector:
    """The values of an input, of a measured output or of a column; NaN where there is none."""
    if name in record.inputs:
        return record.inputs[name].at(points)
    for m in record.outputs:
        if m.name == name:
            values = np.full(len(points), np.nan)
            place = np.clip(np.searchsorted(m.time, points), 0, len(m.time) - 1)
            there = m.time[place] == points
            values[there] = m.value[place[there]]
            return values
    data = data_of(record.case)
    if name in data.names:
        column = np.asarray(data.column(name), float)
        if not has_time:
            return np.asarray(column[points.astype(int)])
        stamped = data.time_name(record.case.time)
        stamps = data.column(stamped) * time_scale(record.case, data, stamped)
        place = np.clip(np.searchsorted(stamps, points), 0, len(stamps) - 1)
        return np.asarray(column[place])
    raise unknown_axis_error(name, [record])


def unknown_axis_error(name: str, records: Sequence[Record]) -> StudyError:
    """The error for a name that no case has."""
    known = list(dict.fromkeys(n for r in records for n in names_along(r)))
    hint = did_you_mean(name, known) or f" (there are {', '.join(known)})"
    return StudyError("Q040", f"there is no '{name}' that points could be drawn against{hint}")


def check_axes(study: Study, records: Sequence[Record]) -> list[Problem]:
    """Names in `against` and `by` of the [static] table that no case has."""
    table = study.tables.get("static")
    if not isinstance(table, Mapping) or not records:
        return []
    problems = []
    if table.get("by") and not table.get("against"):
        message = "by needs against: which variable to draw against"
        problems.append(Problem("Q041", "[static]", message))
    for key in ("against", "by"):
        name = table.get(key)
        if isinstance(name, str) and not any(name in names_along(r) for r in records):
            error = unknown_axis_error(name, records)
            problems.append(Problem(error.code, "[static]", f"{key}: {error.message}"))
    return problems
