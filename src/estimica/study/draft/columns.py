"""Columns of a draft: which of a table are its time, its inputs and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.draft.frequency import Spectrum, spectrum_case, spectrum_of
from estimica.study.draft.matching import Match, match_columns
from estimica.study.response_columns import ResponseColumns
from estimica.study.units import UnknownUnit, conversion

_TIMES = ("time", "date", "zeit", "second", "minute", "hour")
_TIME_UNITS = ("s", "ms", "min", "h", "d")


@dataclass(frozen=True)
class Table:
    """A data file, as the study will name it, with what was read from it."""

    path: str
    data: Data


@dataclass(frozen=True)
class Columns:
    """A table with the columns that belong to inputs and outputs."""

    table: Table
    name: str
    inputs: dict[str, Match]
    outputs: dict[str, Match]
    taken: set[str]
    spectrum: Spectrum | None = None


def has_time(table: Table) -> bool:
    """Whether a table has time stamps, or frequencies."""
    name = time_column(table.data)
    called = name.lower().startswith(_TIMES) or name.lower() in ("t", "s")
    stamped = name in table.data.origins or table.data.units.get(name) in _TIME_UNITS
    return (bool(name) and (called or stamped)) or spectrum_of(table.data) is not None


def case_names(tables: Sequence[Table]) -> list[str]:
    """The files' own names; the whole path where two are called alike."""
    stems = [Path(t.path).stem for t in tables]
    return [s if stems.count(s) == 1 else t.path for s, t in zip(stems, tables, strict=True)]


def matched_columns(model: Model, table: Table, name: str) -> Columns:
    """A table with the columns that seem to be meant."""
    data, quantities = table.data, model.quantities()
    spectrum = spectrum_of(data) if model.has_time else None
    if spectrum is not None:
        return Columns(table, name, {}, {}, set(), spectrum)
    declared = set(model.output_names())
    taken = {time_column(data)} if time_column(data) and model.has_time else set()
    driven = [q for q in quantities if q.role == "input"]
    inputs = match_columns(data, driven, taken | _of_others(model, data))
    taken |= {m.column for m in inputs.values()}
    outputs = match_columns(data, [q for q in quantities if q.name in declared], taken)
    varying = ("state", "algebraic") if model.has_time else ("state", "algebraic", "alias")
    others = [q for q in quantities if q.role in varying and q.name not in declared]
    outputs |= match_columns(data, others, taken)
    return Columns(table, name, inputs, outputs, taken)


def _of_others(model: Model, data: Data) -> set[str]:
    """Columns of points that are called exactly like a variable that is not an input."""
    if model.has_time:
        return set()
    others = {q.name for q in model.quantities() if q.role != "input"}
    return {c for c in data.names if c in others}


def as_case(c: Columns, model: Model) -> Case:
    """The case that the study will have."""
    if c.spectrum is not None:
        return spectrum_case(model, c.name, c.table.data, c.spectrum)
    inputs: dict[str, str | float | InputColumn] = {
        n: InputColumn(m.column, scale=m.change.scale, offset=m.change.offset)
        for n, m in c.inputs.items()
    }
    if not model.has_time:  # as the study will say
        left = [q.name for q in model.quantities() if q.role == "input" and q.name not in inputs]
        inputs |= dict.fromkeys(left, 0.0)
    outputs: dict[str, str | OutputColumn | ResponseColumns] = {
        n: OutputColumn(m.column, scale=m.change.scale, offset=m.change.offset)
        for n, m in c.outputs.items()
    }
    scale = time_scale_of(c.table.data)
    return Case(c.name, c.table.data, inputs=inputs, outputs=outputs, time_scale=scale)


def time_column(data: Data) -> str:
    """The column with the time stamps, or nothing."""
    try:
        return data.time_name()
    except EstimicaError:
        return ""


def time_scale_of(data: Data) -> float | None:
    """Seconds in a unit of the time column, where that is not the second."""
    name = time_column(data)
    try:
        change = conversion(data.units.get(name, "s"), "s") if name not in data.origins else None
    except UnknownUnit:
        return None
    return None if change is None or change.is_nothing else change.scale
