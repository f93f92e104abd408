"""Draft: a commented study file, written from a model and the columns of its data."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from estimica.base.errors import EstimicaError, StudyError
from estimica.base.quantities import Quantity
from estimica.base.show import labelled
from estimica.compiled.model import Model
from estimica.data.table import Data
from estimica.source.outline import outline
from estimica.study.case import Case, InputColumn, OutputColumn
from estimica.study.effects import NO_EFFECT, check_effects
from estimica.study.frequency_columns import ResponseColumns
from estimica.study.frequency_draft import Spectrum, spectrum_lines, spectrum_of
from estimica.study.matching import Match, match_columns, proposals
from estimica.study.names import known_names
from estimica.study.record import examine
from estimica.study.study import Study
from estimica.study.tuner import Tuner
from estimica.study.units import UnknownUnit, conversion

HANDFUL = 5  # tuners that are active
LISTED = 60  # parameters that are written as comments
_STATIC = "[static]   # each row of the data is an operating point of its own"
_TIMES = ("time", "date", "zeit", "second", "minute", "hour")
_TIME_UNITS = ("s", "ms", "min", "h", "d")
TRIED = 40  # parameters whose effect is looked at
_BARE = re.compile(r"[A-Za-z0-9_-]+$")


@dataclass(frozen=True)
class Table:
    """A data file, as the study will name it, with what was read from it."""

    path: str
    data: Data


class Start(Protocol):
    """A start value of a tuner that the data suggest, and where it comes from in words."""

    @property
    def value(self) -> float:
        """In the unit of the parameter."""

    @property
    def source(self) -> str:
        """As in "gain of the step of u in run 1"."""


#: what the data of the cases suggest for parameters
Suggest = Callable[[Sequence[Case], Sequence[str]], Mapping[str, Start]]


@dataclass(frozen=True)
class _Columns:
    """A table with the columns that belong to inputs and outputs."""

    table: Table
    name: str
    inputs: dict[str, Match]
    outputs: dict[str, Match]
    taken: set[str]
    spectrum: Spectrum | None = None


def draft(
    model: Model,
    source: str,
    class_: str | None,
    tables: Sequence[Table],
    libraries: Sequence[str] = (),
    suggest: Suggest | None = None,
    *,
    mode: str = "",
) -> str:
    """The text of a study of `model` with one case for each table.

    `suggest` gives start values from the cases for those of the tuners that it can. `mode` says
    how points are computed where the data have no time.
    """
    cases = [_matched(model, t, name) for t, name in zip(tables, _names(tables), strict=True)]
    lines = [
        f"# A study of {model.name}" + (f": {model.description}" if model.description else ""),
        "# `estimica check` tells what is wrong with it, `estimica fit` fits it.",
        "",
        "[model]",
        f"source = {_text(source)}",
        *([f"class = {_text(class_)}"] if class_ else []),
        *([f"libraries = [{', '.join(map(_text, libraries))}]"] if libraries else []),
        "# fix = { parameter = 1.0 }   # values for all cases; also sizes and switches",
        "",
        *([_STATIC, f"mode = {_text(mode)}", ""] if mode else []),
        *_tune(model, cases, suggest),
        "",
        *(line for case in cases for line in _case(model, case)),
        *([] if cases else _no_case(model)),
        "[estimate]",
        'criterion = "oe"   # output error; "ml" estimates the noise of each output too',
    ]
    return "\n".join(lines) + "\n"


def has_time(table: Table) -> bool:
    """Whether a table has time stamps, or frequencies."""
    name = _time(table.data)
    called = name.lower().startswith(_TIMES) or name.lower() in ("t", "s")
    stamped = name in table.data.origins or table.data.units.get(name) in _TIME_UNITS
    return (bool(name) and (called or stamped)) or spectrum_of(table.data) is not None


def relative(path: str | os.PathLike[str], folder: Path) -> str:
    """A path as a study file in `folder` writes it."""
    try:
        found = os.path.relpath(path, folder)
    except ValueError:  # on another drive
        found = os.path.abspath(path)
    return Path(found).as_posix()


def require_one_class(source: str) -> None:
    """Refuse a file of several models: one of them must be chosen."""
    path = Path(source)
    if not path.is_file():
        return
    models = outline(path.read_text(encoding="utf-8", errors="replace")).models()
    if len(models) > 1:
        raise StudyError(
            "Q016",
            f"'{path}' holds {len(models)} models: {', '.join(models[:12])}; say which, as in "
            f"estimica new {source} {models[-1]}",
        )


def require_new(path: Path, *, force: bool = False) -> None:
    """Refuse a path where something is already, unless `force` is given."""
    if path.exists() and not force:
        raise StudyError(
            "Q017", f"'{path}' is there already; write to another --output, or use --force"
        )


def write_study(path: Path, text: str) -> None:
    """Write a study file."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StudyError("Q018", f"cannot write '{path}': {error.strerror}") from None


# --- tuners --------------------------------------------------------------------------------------


def _tune(model: Model, cases: Sequence[_Columns], suggest: Suggest | None) -> Iterator[str]:
    tunable = [q for q in model.quantities() if q.role == "parameter" and q.tunable]
    chosen = _chosen(model, tunable, cases)
    if suggest is not None:
        ready = [_as_case(c, model) for c in cases if c.outputs]
        starts = suggest(ready, [q.name for q in tunable if q.name in chosen or q.value is None])
        tunable = [_started(q, starts.get(q.name)) for q in tunable]
        chosen |= set(starts)
    chosen |= {q.name for q in tunable if q.value is None}
    yield "[tune]"
    if not tunable:
        yield "# The model has no parameter that can be tuned."
        return
    yield "# Parameters to be found, with their start and the bounds that the model declares."
    yield from _aligned([q for q in tunable if q.name in chosen], "")
    rest = [q for q in tunable if q.name not in chosen]
    if rest:
        yield "# These keep their values; take the # away to tune them as well."
        yield from _aligned(rest[:LISTED], "# ")
    if len(rest) > LISTED:
        yield f"# … and {len(rest) - LISTED} more, which `estimica inspect` shows"


def _chosen(model: Model, tunable: Sequence[Quantity], cases: Sequence[_Columns]) -> set[str]:
    """A handful that is likely to be wanted: declared with bounds, and with some effect."""
    usable = [q for q in tunable if _value(q) is not None]
    usable.sort(key=lambda q: (-_bounds(q), q.name.count(".")))
    tried = usable[:TRIED]
    idle = _idle(model, tried, [c for c in cases if c.outputs])
    return {q.name for q in [q for q in tried if q.name not in idle][:HANDFUL]}


def _started(q: Quantity, start: Start | None) -> Quantity:
    """The parameter with a suggested start; its description says where that comes from."""
    if start is None:
        return q
    value = _value(q)
    was = "" if value is None else f"; the model has {_number(value)}"
    about = f"{q.description} (start: {start.source}{was})".strip()
    return replace(q, value=start.value, description=about)


def _idle(model: Model, tried: Sequence[Quantity], cases: Sequence[_Columns]) -> set[str]:
    """Parameters without effect on the matched outputs, as far as the data can tell."""
    ready = [_as_case(c, model) for c in cases]
    study = Study(model, [Tuner(q.name) for q in tried], ready)
    found = [examine(case, has_time=model.has_time) for case in study.cases]
    records = [record for record, problems in found if record is not None and not problems]
    if not records:
        return set()
    told = check_effects(study, records, known_names(study))
    return {p.where.split("'")[1] for p in told if p.code == NO_EFFECT}


def _as_case(c: _Columns, model: Model) -> Case:
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
    scale = _time_scale(c.table.data)
    return Case(c.name, c.table.data, inputs=inputs, outputs=outputs, time_scale=scale)


def _aligned(quantities: Sequence[Quantity], before: str) -> Iterator[str]:
    written = [f"{before}{_key(q.name)} = {_tuner(q)}" for q in quantities]
    width = min(max(map(len, written), default=0), 60)
    for line, q in zip(written, quantities, strict=True):
        about = _about(q)
        yield f"{line:<{width}}   # {about}" if about else line


def _tuner(q: Quantity) -> str:
    value = _value(q)
    if value is None:
        return "1.0"
    sides = [("min", q.min), ("max", q.max)]
    limits = [
        f"{k} = {_number(v)}" for k, v in sides if math.isfinite(v) and q.min <= value <= q.max
    ]
    if not limits or q.min == q.max:
        return _number(value)
    return f"{{ {', '.join([f'start = {_number(value)}', *limits])} }}"


def _about(q: Quantity) -> str:
    parts = [f"[{q.unit}]" if q.unit and q.unit != "1" else "", " ".join(q.description.split())]
    value = _value(q)
    if q.role == "parameter":
        if value is None:
            parts.append("(the model has no value: 1 is as good as any)")
        elif not q.min <= value <= q.max:
            parts.append(f"(outside its bounds {q.min:g} … {q.max:g})")
        if q.nominal is not None:
            parts.append(f"(nominal {_number(q.nominal)})")
    return " ".join(p for p in parts if p)


def _bounds(q: Quantity) -> int:
    return math.isfinite(q.min) + math.isfinite(q.max)


def _value(q: Quantity) -> float | None:
    number = isinstance(q.value, (int, float)) and not isinstance(q.value, bool)
    return float(q.value) if number and math.isfinite(q.value) else None  # type: ignore[arg-type]


# --- cases ---------------------------------------------------------------------------------------


def _names(tables: Sequence[Table]) -> list[str]:
    """The files' own names; the whole path where two are called alike."""
    stems = [Path(t.path).stem for t in tables]
    return [s if stems.count(s) == 1 else t.path for s, t in zip(stems, tables, strict=True)]


def _matched(model: Model, table: Table, name: str) -> _Columns:
    data, quantities = table.data, model.quantities()
    spectrum = spectrum_of(data) if model.has_time else None
    if spectrum is not None:
        return _Columns(table, name, {}, {}, set(), spectrum)
    declared = set(model.output_names())
    taken = {_time(data)} if _time(data) and model.has_time else set()
    driven = [q for q in quantities if q.role == "input"]
    inputs = match_columns(data, driven, taken | _of_others(model, data))
    taken |= {m.column for m in inputs.values()}
    outputs = match_columns(data, [q for q in quantities if q.name in declared], taken)
    varying = ("state", "algebraic") if model.has_time else ("state", "algebraic", "alias")
    others = [q for q in quantities if q.role in varying and q.name not in declared]
    outputs |= match_columns(data, others, taken)
    return _Columns(table, name, inputs, outputs, taken)


def _of_others(model: Model, data: Data) -> set[str]:
    """Columns of points that are called exactly like a variable that is no input."""
    if model.has_time:
        return set()
    others = {q.name for q in model.quantities() if q.role != "input"}
    return {c for c in data.names if c in others}


def _case(model: Model, c: _Columns) -> Iterator[str]:
    data = c.table.data
    yield "[[case]]"
    yield f"name = {_text(c.name)}"
    yield f"data = {_text(c.table.path)}   # {len(data)} rows of {_listed(data)}"
    if c.spectrum is not None:
        yield from spectrum_lines(model, data, c.spectrum)
        return
    time, scale = _time(data), _time_scale(data)
    if model.has_time:
        yield (
            f"time = {_text(time)}" if time else '# time = "…"   # the column with the time stamps'
        )
    if scale is not None:
        yield f"time_scale = {_number(scale)}   # seconds in a {data.units[time]}"
    yield '# role = "validate"   # only to try the fitted model on'
    states = [q.name for q in model.quantities() if q.role == "state"][:8]
    if states and model.has_time:
        listed = ", ".join(map(_text, states))
        yield f"# free_start = [{listed}]   # start values that are not known"
    quantities = {q.name: q for q in model.quantities()}
    inputs = [q for q in quantities.values() if q.role == "input"]
    if inputs:
        yield "[case.inputs]"
        yield from _columns(
            c, [q for q in inputs if model.has_time or q.name in c.inputs], c.inputs
        )
        yield from _numbers(model, c, inputs)
    yield "[case.outputs]"
    names = dict.fromkeys([*model.output_names(), *c.outputs])
    yield from _columns(c, [quantities[n] for n in names], c.outputs)
    yield ""


def _numbers(model: Model, c: _Columns, inputs: Sequence[Quantity]) -> Iterator[str]:
    """Inputs of points that have no column: a number will do."""
    for q in inputs:
        if not model.has_time and q.name not in c.inputs:
            about = " ".join(["a number for all points, or a column;", _about(q)]).strip(" ;")
            near = " or ".join(_column(m) for m in proposals(c.table.data, q, c.taken))
            about += f"; perhaps {near}" if near else ""
            yield f"{_key(q.name)} = 0.0   # {about}"


def _columns(c: _Columns, quantities: Sequence[Quantity], found: dict[str, Match]) -> Iterator[str]:
    if any(q.name not in found for q in quantities):
        yield "# Take the # away where you know the column."
    for q in quantities:
        about = _about(q)
        after = f"   # {about}" if about else ""
        match = found.get(q.name)
        if match is None:
            near = [_column(m) for m in proposals(c.table.data, q, c.taken)]
            yield from (f"# {_key(q.name)} = {column}{after}" for column in near or ['"…"'])
            continue
        yield f"{_key(q.name)} = {_column(match)}{after}"


def _column(match: Match) -> str:
    """A column with the factors that its unit needs."""
    column = _text(match.column)
    return column if match.change.is_nothing else f"{{ column = {column}, {match.change.text} }}"


def _no_case(model: Model) -> list[str]:
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    outputs = list(model.output_names()) or [
        q.name for q in model.quantities() if q.role == "state"
    ]
    given = ", ".join(f'{_key(n)} = "…"' for n in inputs)
    measured = ", ".join(f'{_key(n)} = "…"' for n in outputs[:8])
    return [
        "# A case for each experiment: its file, and which column is what.",
        "# [[case]]",
        '# name = "run 1"',
        '# data = "run1.csv"',
        *([f"# inputs = {{ {given} }}"] if given else []),
        f"# outputs = {{ {measured} }}",
        "",
    ]


def _time(data: Data) -> str:
    try:
        return data.time_name()
    except EstimicaError:
        return ""


def _time_scale(data: Data) -> float | None:
    name = _time(data)
    try:
        change = conversion(data.units.get(name, "s"), "s") if name not in data.origins else None
    except UnknownUnit:
        return None
    return None if change is None or change.is_nothing else change.scale


# --- TOML ----------------------------------------------------------------------------------------


def _listed(data: Data, count: int = 12) -> str:
    shown = [labelled(n, data.units.get(n, "")) for n in data.names[:count]]
    return ", ".join(shown).replace("\n", " ") + (", …" if len(data.names) > count else "")


def _key(name: str) -> str:
    return name if _BARE.match(name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float) -> str:
    text = f"{value:.15g}"
    return repr(value) if float(text) != value else text
