"""Columns of a draft: which of a table are its time or frequency, its inputs and its outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.draft.by_unit import match_by_unit
from estimica.study.draft.inputs import trial_value
from estimica.study.draft.matching import (
    Match,
    is_drawing,
    is_shown_by_sensor,
    match_columns,
)
from estimica.study.response_columns import ResponseColumns
from estimica.study.toml.write import toml_key, toml_value
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
    others = [
        q
        for q in quantities
        if q.role in varying and q.name not in declared and not is_drawing(q.name)
    ]
    # a sensor's value is what was measured, before all else that is called alike
    outputs |= match_columns(data, [q for q in others if is_shown_by_sensor(q)], taken)
    others = [q for q in others if q.name not in outputs]
    outputs |= match_columns(data, others, taken)
    found = match_by_unit(model, data, {**inputs, **outputs}, taken)
    names = {q.name for q in driven}
    inputs |= {n: m for n, m in found.items() if n in names}
    outputs |= {n: m for n, m in found.items() if n not in names}
    return Columns(table, name, inputs, outputs, taken)


def _of_others(model: Model, data: Data) -> set[str]:
    """Columns that are called exactly like a variable that is not an input."""
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
    if not model.has_time:  # numbers with which effects show
        left = [q for q in model.quantities() if q.role == "input" and q.name not in inputs]
        inputs |= {q.name: trial_value(q) for q in left}
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


def sample_time_of(data: Data) -> float | None:
    """Seconds from one stamp to the next, in the median; None where there are no stamps in time."""
    name = time_column(data)
    if not name or spectrum_of(data) is not None:
        return None
    apart = np.diff(data.column(name)) * (time_scale_of(data) or 1.0)
    apart = apart[np.isfinite(apart) & (apart > 0)]
    # six digits: of stamps with a rounding error, as 0.30000000000000004 - 0.2
    return float(f"{np.median(apart):.6g}") if len(apart) else None


_HERTZ = re.compile(r"f|freq|frequency|frequenz|f_hz|freq_hz", re.IGNORECASE)
_ANGULAR = re.compile(r"w|omega|ω|angular.?frequency", re.IGNORECASE)
_REAL = re.compile(r"re|real|z'|z_?re(al)?|.*[_ .]re(al)?|(re|real)[_ .].*|re\(.*\)", re.IGNORECASE)
_IMAG = re.compile(
    r"im|imag|z''|z_?im(ag)?|.*[_ .]im(ag)?|(im|imag)[_ .].*|im\(.*\)", re.IGNORECASE
)
_SIZE = re.compile(r"gain|mag|magnitude|amplitude|\|.*\||.*[_ .]mag(nitude)?", re.IGNORECASE)
_PHASE = re.compile(r"phase|ph|phi|angle|phase\(.*\)|.*[_ .]phase", re.IGNORECASE)
_PAIRS = ((("real", _REAL), ("imag", _IMAG)), (("magnitude", _SIZE), ("phase", _PHASE)))


@dataclass(frozen=True)
class Spectrum:
    """The columns of a frequency response, as a study file names them."""

    key: str  # frequency, or angular_frequency
    column: str
    parts: tuple[tuple[str, str], ...]  # as (("real", "Re(Z)"), ("imag", "Im(Z)"))


def spectrum_of(data: Data) -> Spectrum | None:
    """The frequency response that a table holds, if its columns look like one."""
    for key, pattern in (("frequency", _HERTZ), ("angular_frequency", _ANGULAR)):
        column = _first(data.names, pattern)
        if column is None:
            continue
        unit = data.units.get(column, "").replace(" ", "")
        if unit.startswith("rad"):
            key = "angular_frequency"
        elif unit.endswith("Hz"):
            key = "frequency"
        rest = [n for n in data.names if n != column]
        for names in _PAIRS:
            parts = [(part, _first(rest, p)) for part, p in names]
            if all(c is not None for _, c in parts):
                return Spectrum(key, column, tuple((p, c) for p, c in parts if c is not None))
    return None


def spectrum_lines(model: Model, data: Data, spectrum: Spectrum) -> Iterator[str]:
    """The lines of a case below its name and file."""
    yield f"{spectrum.key} = {toml_value(spectrum.column)}"
    yield '# role = "validate"   # only to try the fitted model on'
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    if inputs:
        point = ", ".join(f"{toml_key(n)} = 0.0" for n in inputs[:8])
        yield f"# inputs = {{ {point} }}   # the operating point, where the model is not linear"
    columns = keys_of_spectrum(inputs, data, spectrum)
    details = ", ".join(f"{key} = {toml_value(value)}" for key, value in columns.items())
    yield "[case.outputs]"
    for k, name in enumerate(_outputs(model)[:8]):
        before = "" if k == 0 else "# "
        yield f"{before}{toml_key(name)} = {{ {details} }}"
    if "sigma" not in columns:
        yield '# add weighting = "relative" to count errors relative to the magnitude'
    yield ""


def spectrum_case(model: Model, name: str, data: Data, spectrum: Spectrum) -> Case:
    """The case that the study will have."""
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    columns = ResponseColumns(**keys_of_spectrum(inputs, data, spectrum))  # type: ignore[arg-type]
    return Case(
        name,
        data,
        outputs=dict.fromkeys(_outputs(model)[:1], columns),
        **{spectrum.key: spectrum.column},  # type: ignore[arg-type]
    )


def _outputs(model: Model) -> list[str]:
    states = [q.name for q in model.quantities() if q.role == "state"]
    return list(model.output_names()) or states


def keys_of_spectrum(inputs: Sequence[str], data: Data, spectrum: Spectrum) -> dict[str, str]:
    """The keys of a response, as a study file has them."""
    keys = dict(spectrum.parts)
    if "magnitude" in keys:
        decibel = data.units.get(keys["magnitude"], "").lower() == "db"
        radian = data.units.get(keys["phase"], "") == "rad"
        keys |= {"magnitude_unit": "dB"} if decibel else {}
        keys |= {"phase_unit": "rad"} if radian else {}
    spread = next((n for n in data.names if n.lower() == "sigma"), None)
    keys |= {"sigma": spread} if spread is not None else {}
    keys |= {"input": inputs[0]} if len(inputs) > 1 else {}
    return keys


def _first(names: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    return next((n for n in names if pattern.fullmatch(n)), None)
