"""Draft: a commented study file, written from a model and the columns of its data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from estimica.base.errors import StudyError
from estimica.base.files.read import read_text
from estimica.base.files.write import write_text
from estimica.base.quantities import Quantity
from estimica.base.view import name_with_unit
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.simulate.linear.model import LinearModel
from estimica.source.syntax.contents import models_of
from estimica.source.syntax.file import parse_file
from estimica.source.syntax.tree import Source
from estimica.study.case import Case
from estimica.study.draft.columns import (
    Columns,
    Table,
    as_case,
    case_names,
    matched_columns,
    sample_time_of,
    spectrum_lines,
    time_column,
    time_scale_of,
)
from estimica.study.draft.inputs import finite, inputs_without_column, start_without_value
from estimica.study.draft.matching import Match, is_drawing
from estimica.study.draft.offers import Offers, assumed, measurable, offers_of
from estimica.study.draft.parameters import Choice, choose_parameters, number_of, stable_starts
from estimica.study.draft.remarks import Drafted, of_chosen_inputs, of_columns, of_held
from estimica.study.toml.write import toml_key, toml_number, toml_value

# Chosen, so that a draft fits a few screens.
LISTED = 60  # parameters that are written as comments
_STATIC = "[static]   # each row of the data is an operating point of its own"


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


def draft(
    model: Model,
    source: str,
    class_: str | None,
    tables: Sequence[Table],
    libraries: Sequence[str] = (),
    suggest: Suggest | None = None,
    *,
    mode: str = "",
) -> Drafted:
    """The text of a study of `model` with one case for each table, and remarks on it.

    `suggest` gives start values from the cases for those of the tuners that it can. `mode` says
    how points are computed where the data have no time.
    """
    named = zip(tables, case_names(tables), strict=True)
    cases = [matched_columns(model, t, name) for t, name in named]
    offers = [offers_of(model, c) for c in cases]
    parameters = [q for q in model.quantities() if q.role == "parameter" and q.tunable]
    tunable = [q for q in parameters if not is_drawing(q.name)]
    tried = [assumed(c, o) for c, o in zip(cases, offers, strict=True)]
    choice = choose_parameters(model, tunable, tried)
    lines = [
        f"# A study of {model.name}" + (f": {model.description}" if model.description else ""),
        "# `estimica check` tells what is wrong with it, `estimica fit` fits it.",
        "",
        "[model]",
        f"source = {toml_value(source)}",
        *([f"class = {toml_value(class_)}"] if class_ else []),
        *_sampling(model, tables),
        *([f"libraries = [{', '.join(map(toml_value, libraries))}]"] if libraries else []),
        "# fix = { parameter = 1.0 }   # values for all cases; also sizes and switches",
        "",
        *([_STATIC, f"mode = {toml_value(mode)}", ""] if mode else []),
        *_tune(model, tunable, choice, cases, suggest),
        "",
        *_cases(model, cases, offers),
        *([] if cases else _no_case(model)),
        "[estimate]",
        'criterion = "oe"   # output error; "ml" estimates the noise of each output too',
    ]
    remarks = [
        *of_chosen_inputs(_chosen_in_time(model)),
        *of_columns(cases, offers),
        *of_held(choice, tunable),
    ]
    return Drafted("\n".join(lines) + "\n", tuple(remarks))


def _sampling(model: Model, tables: Sequence[Table]) -> Iterator[str]:
    step = model.sample_time if isinstance(model, LinearModel) else None
    if step is not None:
        measured = any(sample_time_of(t.data) is not None for t in tables)
        origin = "as the data have it" if measured else "set it: no data say it"
        yield f"sample_time = {toml_number(step)}   # seconds, {origin}"


def relative(path: str | os.PathLike[str], folder: Path) -> str:
    """A path as a study file in `folder` writes it."""
    try:
        name = os.path.relpath(path, folder)
    except ValueError:  # on another drive
        name = os.path.abspath(path)
    return Path(name).as_posix()


def require_one_class(source: str) -> None:
    """Refuse a file of several models: one of them must be chosen."""
    path = Path(source)
    if not os.path.isfile(path):
        return
    models = models_of(parse_file(Source(read_text(path, errors="replace"), str(path))))
    if len(models) > 1:
        raise StudyError(
            "Q016",
            f"'{path}' holds {len(models)} models: {', '.join(models[:12])}; say which, as in "
            f"estimica new {source} {models[-1]}",
        )


def require_new(path: Path, *, force: bool = False) -> None:
    """Refuse a path where something is already, unless `force` is given."""
    if os.path.exists(path) and not force:
        raise StudyError(
            "Q017", f"'{path}' is there already; write to another --output, or use --force"
        )


def write_study(path: Path, text: str) -> None:
    """Write a study file."""
    write_text(path, text)


# --- tuners --------------------------------------------------------------------------------------


def _tune(
    model: Model,
    tunable: Sequence[Quantity],
    choice: Choice,
    cases: Sequence[Columns],
    suggest: Suggest | None,
) -> Iterator[str]:
    chosen = set(choice.chosen)
    starts: dict[str, Start] = dict(stable_starts(model))
    if suggest is not None:
        ready = [as_case(c, model) for c in cases if c.outputs or c.spectrum]
        wanted = [q.name for q in tunable if q.name in chosen or q.value is None]
        suggested = suggest(ready, wanted)
        starts |= suggested
        chosen |= set(suggested)
    tunable = [_started(q, starts.get(q.name)) for q in tunable]
    yield "[tune]"
    if not tunable:
        yield "# The model has no parameter that can be tuned."
        return
    yield "# Parameters to be found, with their start and the bounds that the model declares."
    yield from _grouped([q for q in tunable if q.name in chosen], "")
    together = [q for q in tunable if q.name in choice.together and q.name not in chosen]
    if together:
        yield "# These data do not determine these beside others, which follow the values they are"
        yield "# held at: give them their true values, or tune them and hold one of the others."
        beside = {
            n: f"(beside {', '.join(map(toml_value, o))})" for n, o in choice.together.items()
        }
        yield from _aligned(together, "# ", beside)
    rest = [q for q in tunable if q.name not in chosen and q.name not in choice.together]
    if rest:
        yield "# These keep their values; take the # away to tune them as well."
        yield from _grouped(rest[:LISTED], "# ")
    if len(rest) > LISTED:
        yield f"# … and {len(rest) - LISTED} more, which `estimica inspect` shows"


def _grouped(quantities: Sequence[Quantity], before: str) -> Iterator[str]:
    """Those of the model itself, then those of each component under its name."""
    groups: dict[str, list[Quantity]] = {}
    for q in sorted(quantities, key=lambda q: "." in q.name):
        groups.setdefault(q.name.rpartition(".")[0], []).append(q)
    for component, own in groups.items():
        if component:
            yield f"# {component}:"
        yield from _aligned(own, before)


def _started(q: Quantity, start: Start | None) -> Quantity:
    """The parameter with a suggested start; its description says where that comes from."""
    if start is None:
        return q
    value = number_of(q)
    was = "" if value is None else f"; the model has {toml_number(value)}"
    about = f"{q.description} (start: {start.source}{was})".strip()
    return replace(q, value=start.value, description=about)


def _aligned(
    quantities: Sequence[Quantity], before: str, remarks: Mapping[str, str] | None = None
) -> Iterator[str]:
    written = [f"{before}{toml_key(q.name)} = {_tuner(q)}" for q in quantities]
    width = min(max(map(len, written), default=0), 60)
    for line, q in zip(written, quantities, strict=True):
        remark = (remarks or {}).get(q.name, "")
        about = " ".join(filter(None, [_comment_of(q), remark]))
        yield f"{line:<{width}}   # {about}" if about else line


def _tuner(q: Quantity) -> str:
    value = number_of(q)
    if value is None:
        return toml_number(start_without_value(q))
    sides = [("min", q.min), ("max", q.max)]
    limits = [
        f"{k} = {toml_number(v)}"
        for k, v in sides
        if finite(v) is not None and q.min <= value <= q.max
    ]
    if not limits or q.min == q.max:
        return toml_number(value)
    return f"{{ {', '.join([f'start = {toml_number(value)}', *limits])} }}"


# --- cases ---------------------------------------------------------------------------------------


def _cases(model: Model, cases: Sequence[Columns], offers: Sequence[Offers]) -> Iterator[str]:
    """A case for each table; what they would all say of their columns is said once."""
    shared = _shared(model, cases, offers)
    if shared:
        yield "[columns]   # for all cases; what a case says itself goes before"
        yield from shared
        yield ""
    for c, own in zip(cases, offers, strict=True):
        yield from _head(c)
        if c.spectrum is not None:
            yield from spectrum_lines(model, c.table.data, c.spectrum)
            continue
        yield from () if shared else _time(model, c)
        yield from _particular(model)
        yield from () if shared else _mapping(model, c, own)
        yield ""


def _shared(model: Model, cases: Sequence[Columns], offers: Sequence[Offers]) -> list[str]:
    """The lines of all cases, where several are alike and the model tells inputs from outputs."""
    from estimica.simulate.modelica.model import ModelicaModel

    is_open = isinstance(model, ModelicaModel) and bool(model.causality.inputs)
    if len(cases) < 2 or not model.has_time or is_open or any(c.spectrum for c in cases):
        return []
    written = [_for_all(model, c, o) for c, o in zip(cases, offers, strict=True)]
    return written[0] if all(w == written[0] for w in written) else []


def _for_all(model: Model, c: Columns, offers: Offers) -> list[str]:
    data = c.table.data
    time, scale = time_column(data), time_scale_of(data)
    lines = list(_time(model, c))
    if scale is not None:
        about = f"   # seconds in a {data.units[time]}"
        lines = [f"time = {{ column = {toml_value(time)}, scale = {toml_number(scale)} }}{about}"]
    headings = {"[case.inputs]": "# Inputs:", "[case.outputs]": "# Outputs:"}
    return [*lines, *(headings.get(line, line) for line in _mapping(model, c, offers))]


def _head(c: Columns) -> Iterator[str]:
    data = c.table.data
    yield "[[case]]"
    yield f"name = {toml_value(c.name)}"
    yield f"data = {toml_value(c.table.path)}   # {len(data)} rows of {_columns_listed(data)}"


def _time(model: Model, c: Columns) -> Iterator[str]:
    data = c.table.data
    time, scale = time_column(data), time_scale_of(data)
    if model.has_time:
        yield (
            f"time = {toml_value(time)}"
            if time
            else '# time = "…"   # the column with the time stamps'
        )
    if scale is not None:
        yield f"time_scale = {toml_number(scale)}   # seconds in a {data.units[time]}"


def _particular(model: Model) -> Iterator[str]:
    yield '# role = "validate"   # only to try the fitted model on'
    states = [q.name for q in model.quantities() if q.role == "state"][:8]
    if states and model.has_time:
        listed = ", ".join(map(toml_value, states))
        yield f"# free_start = [{listed}]   # start values that are not known"


def _mapping(model: Model, c: Columns, offers: Offers) -> Iterator[str]:
    inputs = offers.inputs
    if inputs:
        yield "[case.inputs]"
        if not c.inputs and _was_chosen(model):
            yield "# Other variables may be the inputs: `estimica inspect` shows which go together."
        given = [q for q in inputs if model.has_time or q.name in c.inputs]
        yield from _columns(given, c.inputs, offers)
        yield from _numbers(model, c, offers)
    yield "[case.outputs]"
    yield from _columns(offers.outputs, c.outputs, offers)


def _chosen_in_time(model: Model) -> tuple[str, ...]:
    """Inputs of a model with time that were chosen here, as it lacks equations."""
    from estimica.simulate.modelica.model import ModelicaModel

    return model.causality.inputs if isinstance(model, ModelicaModel) else ()


def _was_chosen(model: Model) -> bool:
    """Whether inputs of a component were chosen here."""
    from estimica.simulate.modelica.operating_points import PointModel

    return isinstance(model, PointModel) and bool(model.model.causality.inputs)


def _numbers(model: Model, c: Columns, offers: Offers) -> Iterator[str]:
    """Inputs of points that have no column: a number will do, where the model knows one."""
    offered = inputs_without_column(model, c)
    for q in offers.inputs:
        if q.name not in offered:
            continue
        number = offered[q.name]
        near = " or ".join(_column(m) for m in offers.of.get(q.name, ()))
        perhaps = f"perhaps {near}" if near else ""
        if number is None:
            what, origin, before, value = "give a number", "", "# ", "…"
        else:
            what, origin, before = "a number", number.origin, ""
            value = toml_number(number.value) if number.value else "0.0"
        what += " for all points, or a column"
        about = "; ".join(p for p in (what, origin, _comment_of(q), perhaps) if p)
        yield f"{before}{toml_key(q.name)} = {value}   # {about}"


def _columns(
    quantities: Sequence[Quantity], matches: Mapping[str, Match], offers: Offers
) -> Iterator[str]:
    if any(q.name not in matches for q in quantities):
        yield "# Take the # away where you know the column."
    for q in quantities:
        about = _comment_of(q)
        match = matches.get(q.name)
        if match is not None and match.by_unit:
            about = f"{about} (by its unit)".strip()
        after = f"   # {about}" if about else ""
        if match is None:
            near = [_column(m) for m in offers.of.get(q.name, ())]
            yield from (f"# {toml_key(q.name)} = {column}{after}" for column in near or ['"…"'])
            continue
        yield f"{toml_key(q.name)} = {_column(match)}{after}"


def _column(match: Match) -> str:
    """A column with the factors that its unit needs."""
    column = toml_value(match.column)
    return column if match.change.is_nothing else f"{{ column = {column}, {match.change.text} }}"


def _no_case(model: Model) -> list[str]:
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    outputs = list(model.output_names()) or measurable(model)
    given = ", ".join(f'{toml_key(n)} = "…"' for n in inputs)
    measured = ", ".join(f'{toml_key(n)} = "…"' for n in outputs[:8])
    return [
        "# A case for each experiment: its file, and which column is what.",
        "# [[case]]",
        '# name = "run 1"',
        '# data = "run1.csv"',
        *([f"# inputs = {{ {given} }}"] if given else []),
        f"# outputs = {{ {measured} }}",
        "",
    ]


# --- comments ------------------------------------------------------------------------------------


def _comment_of(q: Quantity) -> str:
    """Unit, description and remarks of a quantity, as a comment."""
    parts = [f"[{q.unit}]" if q.unit and q.unit != "1" else "", " ".join(q.description.split())]
    value = number_of(q)
    if q.role == "parameter":
        if value is None:
            as_good = "this is its nominal one" if finite(q.nominal) else "1 is as good as any"
            parts.append(f"(the model has no value: {as_good})")
        elif not q.min <= value <= q.max:
            parts.append(f"(outside its bounds {q.min:g} … {q.max:g})")
        if q.nominal is not None:
            parts.append(f"(nominal {toml_number(q.nominal)})")
    return " ".join(p for p in parts if p)


def _columns_listed(data: Data, count: int = 12) -> str:
    """The columns of a table, the first of them."""
    names = [name_with_unit(n, data.units.get(n, "")) for n in data.names[:count]]
    return ", ".join(names).replace("\n", " ") + (", …" if len(data.names) > count else "")
