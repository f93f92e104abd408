"""SharedColumns: which column each input and output comes from, said once for all cases.

An entry says what is in the data; whether that is an input or an output the model says. Cases keep
what they say themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import field, fields, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.base.problems import Problem, raise_all
from estimica.base.quantities import Quantity
from estimica.base.signals import Hold
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.study.case import Case, Input, InputColumn, Output, OutputColumn
from estimica.study.fields.kinds import (
    NUMBER,
    STRICT,
    TABLE,
    TEXT,
    ColumnName,
    Finite,
    VariableName,
    display_name,
    with_own_errors,
)
from estimica.study.fields.messages import validation_messages
from estimica.study.response_columns import RESPONSE, ResponseColumns, kind_of_output

Role = Literal["input", "output"]
COLUMNS = "[columns]"
#: the entry that is neither input nor output: no variable of a model is called so
TIME = "time"
#: what of an entry a column of time can have
_OF_TIME = frozenset(("column", "scale"))
_HELD = ("parameter", "constant")


@with_own_errors(CaseError, "C001", display_name("column", "column"))
@dataclass(frozen=True, config=STRICT)
class SharedColumn(OutputColumn):
    """Where an input or an output of all cases comes from, as in a case."""

    hold: Annotated[
        Hold | None, Field(description="Of an input: what it does between two stamps.")
    ] = None
    role: Annotated[
        Role | None,
        Field(
            description="What it is, where the model leaves that open: a function, or a component "
            "that is not connected."
        ),
    ] = None


def _of_either(value: object) -> object:
    """What a program gives as the column of an input or of an output."""
    if isinstance(value, SharedColumn):
        return value
    if isinstance(value, InputColumn):
        return SharedColumn(**_said(value), role="input")
    if isinstance(value, OutputColumn):
        return SharedColumn(**_said(value), role="output")
    return value


SharedEntry = Annotated[
    Annotated[ColumnName, Tag(TEXT)]
    | Annotated[Finite, Tag(NUMBER)]
    | Annotated[SharedColumn, Tag(TABLE)]
    | Annotated[ResponseColumns, Tag(RESPONSE)],
    Discriminator(
        kind_of_output,
        custom_error_type="kind",
        custom_error_message='write a column "…", a number, or a table { column = "…", … }',
    ),
    BeforeValidator(_of_either),
]
Entries = Mapping[str, SharedEntry]
_ENTRIES: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[VariableName, SharedEntry])


def shared_entries(given: Mapping[str, object] | None) -> dict[str, SharedEntry]:
    """What a program gives for all cases; every mistake is told at once."""
    try:
        return _ENTRIES.validate_python(dict(given or {}))
    except ValidationError as error:
        told = validation_messages(error, dict)
        raise_all([Problem(c.code or "C001", COLUMNS, c.text) for c in told])
        raise


@plain_dataclass(frozen=True)
class SharedColumns:
    """The entries for all cases, each with what it is in the model."""

    entries: Entries = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def into(self, cases: Iterable[Case]) -> tuple[Case, ...]:
        """The cases with what they do not say themselves."""
        return tuple(self._into(c) for c in timed(cases, self.entries))

    def _into(self, case: Case) -> Case:
        """In the order of the entries, so that all cases have their outputs in one order."""
        shared = self._for(case)
        tables: list[dict[str, Any]] = []
        for role, own in (("input", case.inputs), ("output", case.outputs)):
            given = {**own, **{n: e for n, e in shared.items() if self.roles[n] == role}}
            order = [*(n for n in self.entries if n in given), *given]
            tables.append({n: given[n] for n in order})
        inputs, outputs = tables
        if [*inputs] == [*case.inputs] and [*outputs] == [*case.outputs]:
            return case
        return replace(case, inputs=inputs, outputs=outputs)

    def _for(self, case: Case) -> dict[str, Input | Output]:
        """What a case takes from here."""
        if case.data is None:
            return {}
        said = {*case.inputs, *case.outputs, *case.without}
        if case.is_frequency:  # a transfer is named "output/input"
            said |= {n.rpartition("/")[0] for n in case.outputs if "/" in n}
        return {n: e for n, e in self._fitting(case).items() if n not in said}

    def _fitting(self, case: Case) -> dict[str, Input | Output]:
        """Every entry that means something in a case of its kind, as the case would write it."""
        fitting: dict[str, Input | Output] = {}
        for name, role in self.roles.items():
            entry = self.entries[name]
            if case.is_frequency:
                kinds: tuple[type, ...] = (
                    (float,) if role == "input" else (str, ResponseColumns)
                )  # inputs are the operating point
            else:
                kinds = (str, SharedColumn, *((float,) if role == "input" else ()))
            transfer = "/" in name and not case.is_frequency
            if isinstance(entry, kinds) and not transfer:
                fitting[name] = _WRITTEN[role](entry)
        return fitting

    def gives(self, case: Case, name: str) -> bool:
        """Whether a case has the entry of a name from here."""
        written = {**case.outputs, **case.inputs}.get(name)
        return case.data is not None and self._fitting(case).get(name, _NOTHING) == written

    def out_of(self, case: Case) -> Case:
        """The case with only what it must say itself, so that `into` makes it again."""
        if case.data is None or not self:
            return case
        shared = self._fitting(case)
        own: dict[str, Any] = {
            key: {n: e for n, e in table.items() if shared.get(n, _NOTHING) != e}
            for key, table in (("inputs", case.inputs), ("outputs", case.outputs))
        }
        there = {*case.inputs, *case.outputs, *case.without}
        without = (*case.without, *(n for n in shared if n not in there))
        time = _time(self.entries)
        stamps: dict[str, Any] = {}
        if time is not None and not case.is_frequency:
            if (case.time, case.time_scale) == time:
                stamps = {"time": None, "time_scale": None}
            elif case.time is None and TIME not in without:
                without = (*without, TIME)
        return replace(case, **own, **stamps, without=without)

    def advice(self, case: Case, name: str) -> str:
        """What to do where a case has no such column as is said here; "" where it says so."""
        if not self.gives(case, name):
            return ""
        other = f'{self.roles[name]}s = {{ {_key(name)} = "…" }}'
        return _advice(name, other)

    def advice_on_time(self, case: Case) -> str:
        """The same for the column of the time."""
        time = _time(self.entries)
        if time is None or case.time != time[0] or case.is_frequency:
            return ""
        return _advice(TIME, 'time = "…"')

    def unused(self, cases: Iterable[Case]) -> Iterator[Problem]:
        """Entries that no case takes."""
        cases = [c for c in cases if c.data is not None]
        for name in self.entries:
            taken = [c for c in cases if self.gives(c, name)]
            taken += [c for c in cases if name == TIME and self.advice_on_time(c)]
            if not taken:
                yield Problem(
                    "C143",
                    f"{COLUMNS} {name}",
                    "no case takes it: each gives its own, leaves it out, has no data, or is of "
                    "another kind",
                    "leave it out",
                    warning=True,
                    place=("columns", name),
                )


NO_COLUMNS = SharedColumns()
_NOTHING = object()


def _advice(name: str, other: str) -> str:
    return (
        f"{COLUMNS} {name} says so for all cases: write {other} in this case where it is called "
        f'otherwise, or without = ["{name}"] where there is none'
    )


def _key(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


# --- what an entry is ----------------------------------------------------------------------------


def columns_of_model(
    entries: Entries, model: Model, formulas: Mapping[str, str]
) -> tuple[SharedColumns, list[Problem]]:
    """The entries with their roles in a model, without those that have none, and what is wrong.

    `formulas` are outputs of the study that the model itself does not have.
    """
    known = {q.name: q for q in model.quantities()} if entries else {}
    roles: dict[str, Role] = {}
    problems: list[Problem] = []
    kept: dict[str, SharedEntry] = {}
    for name, entry in entries.items():
        role, wrong = (None, _not_time(entry)) if name == TIME else _role(
            name, entry, model, known, formulas
        )  # fmt: skip
        wrong = wrong or (_unfit(entry, role) if role is not None else None)
        if wrong is not None:
            where = f"{COLUMNS} {name}"
            problems.append(Problem(wrong[0], where, *wrong[1:], place=("columns", name)))
            continue
        held = name in known and known[name].role in _HELD
        kept[name] = entry if held else _without_role(entry)
        if role is not None:
            roles[name] = role
    return SharedColumns(kept, roles), problems


def cases_with_columns(
    model: Model,
    given: Mapping[str, object] | SharedColumns | None,
    cases: tuple[Case, ...],
    formulas: Mapping[str, str],
) -> tuple[SharedColumns, tuple[Case, ...]]:
    """What a program gives for all cases, and the cases with it; every mistake is told at once.

    Cases of a study that has its columns already are as they should be.
    """
    if isinstance(given, SharedColumns):
        return given, cases
    entries = shared_entries(given)
    shared, wrong = columns_of_model(entries, model, formulas)
    raise_all(wrong + without_problems(entries, cases))
    return shared, shared.into(cases)


def said_roles(entries: Entries, role: Callable[[str], Role | None]) -> SharedColumns:
    """The entries whose roles are known before there is a model; `role` knows some by name."""
    known: dict[str, Role] = {}
    for name, entry in entries.items():
        said = entry.role if isinstance(entry, SharedColumn) else None
        found = said or role(name)
        if name != TIME and found is not None and _unfit(entry, found) is None:
            known[name] = found
    return SharedColumns({n: entries[n] for n in known}, known)


def _without_role(entry: SharedEntry) -> SharedEntry:
    """The entry without a role that goes without saying: what is no input is an output."""
    said = isinstance(entry, SharedColumn) and entry.role == "output"
    return replace(entry, role=None) if said else entry  # type: ignore[type-var]


_Wrong = tuple[str, str, str]  # code, message, suggestion


def _role(
    name: str,
    entry: SharedEntry,
    model: Model,
    known: Mapping[str, Quantity],
    formulas: Mapping[str, str],
) -> tuple[Role | None, _Wrong | None]:
    said = entry.role if isinstance(entry, SharedColumn) else None
    if name in formulas or (isinstance(entry, SharedColumn) and entry.expression is not None):
        return said or "output", None
    is_transfer = "/" in name and isinstance(entry, (str, ResponseColumns))
    bare = name.rpartition("/")[0] if is_transfer else name
    q = known.get(bare)
    if q is None:
        return None, _unknown(bare, model, known)
    if q.role in _HELD and said is None:
        advice = "put it into [tune], or into fix of a case"
        if not model.has_time:
            advice = 'where it varies, write role = "input" beside its column'
        return None, ("C140", f"'{bare}' is a {q.role}, not an input or output", advice)
    if q.role == "input" and said == "output":
        return None, ("C140", f"'{bare}' is an input, which nothing can change", "leave role out")
    return said or ("input" if q.role == "input" else "output"), None


def _unknown(name: str, model: Model, known: Mapping[str, Quantity]) -> _Wrong:
    why = model.why_unknown(name)
    if why:
        return "C140", why, ""
    elements = [n for n in known if n.startswith(f"{name}[")]
    if elements:
        return "C140", f"'{name}' is an array", f"name an element, as '{elements[0]}'"
    varying = [q.name for q in known.values() if q.role not in _HELD]
    hint = did_you_mean(name, varying) or did_you_mean(name, known)
    inputs = [q.name for q in known.values() if q.role == "input"]
    listed = ", ".join([*inputs, *model.output_names()][:12])
    advice = "" if hint or not listed else f"there are {listed}"
    return "C140", f"the model has no input or output '{name}'{hint}", advice


def _not_time(entry: SharedEntry) -> _Wrong | None:
    plain = isinstance(entry, str) or (
        isinstance(entry, SharedColumn) and set(_said(entry)) <= _OF_TIME
    )
    scale = entry.scale if isinstance(entry, SharedColumn) else None
    if plain and (scale is None or scale > 0):
        return None
    way = 'write time = "…", or { column = "…", scale = 60 } for a column of minutes'
    return "C141", "the time has a column, and perhaps the seconds in one unit as scale", way


def _unfit(entry: SharedEntry, role: Role) -> _Wrong | None:
    """Keys that mean nothing for an input, or for an output."""
    if isinstance(entry, ResponseColumns):
        if role == "output":
            return None
        return "C141", "a frequency response is measured of an output; this is an input", (
            "name the output, and the input within it"
        )  # fmt: skip
    if isinstance(entry, float) and role == "output":
        return "C141", f"{entry:g} is a number, and an output has a column", 'write a column "…"'
    if not isinstance(entry, SharedColumn):
        return None
    own = InputColumn if role == "input" else OutputColumn
    allowed = {f.name for f in fields(own)} | {"role"}
    for key in _said(entry):
        if key not in allowed:
            other = "an output" if role == "input" else "an input"
            message = f"{key} is for {other}, and this is an {role} of the model"
            return "C141", message, f"leave {key} out"
    if role == "input" and entry.sigma is not None and not isinstance(entry.sigma, float):
        return "C141", "sigma of an input is a number", "write sigma = 0.1, or leave it out"
    return None


def _said(entry: InputColumn | OutputColumn) -> dict[str, Any]:
    """The keys of an entry that are not as by default."""
    return {
        f.name: getattr(entry, f.name)
        for f in fields(entry)
        if getattr(entry, f.name) is not f.default and getattr(entry, f.name) != f.default
    }


def _as_input(entry: SharedEntry) -> Input:
    if not isinstance(entry, SharedColumn):
        assert isinstance(entry, (str, float))
        return entry
    return InputColumn(**{n: v for n, v in _said(entry).items() if n != "role"})


def _as_output(entry: SharedEntry) -> Output:
    if not isinstance(entry, SharedColumn):
        assert isinstance(entry, (str, ResponseColumns))
        return entry
    return OutputColumn(**{n: v for n, v in _said(entry).items() if n != "role"})


_WRITTEN: Mapping[Role, Callable[[SharedEntry], Input | Output]] = {
    "input": _as_input,
    "output": _as_output,
}


# --- time, and what cases leave out --------------------------------------------------------------


def _time(entries: Entries) -> tuple[str, float | None] | None:
    """The column of the time and the seconds in one of its units."""
    entry = entries.get(TIME)
    if isinstance(entry, str):
        return entry, None
    return (entry.column, entry.scale) if isinstance(entry, SharedColumn) else None


def timed(cases: Iterable[Case], entries: Entries) -> tuple[Case, ...]:
    """The cases with the column of the time: no model is needed for it, and reading data is."""
    time = _time(entries)
    cases = tuple(cases)
    if time is None or (time[1] is not None and time[1] <= 0):
        return cases
    return tuple(
        replace(c, time=time[0], time_scale=time[1] if c.time_scale is None else c.time_scale)
        if c.data is not None and c.time is None and not c.is_frequency and TIME not in c.without
        else c
        for c in cases
    )


def without_problems(entries: Collection[str], cases: Iterable[Case]) -> list[Problem]:
    """Names that cases leave out and that are not there, or that they give themselves."""
    problems = []
    for case in cases:
        where = f"case '{case.name}'"
        for name in case.without:
            if name not in entries:
                hint = did_you_mean(name, entries)
                listed = f"; there are {', '.join(entries)}" if entries else ""
                message = f"without: {COLUMNS} has no '{name}'{hint or listed}"
                problems.append(Problem("C142", where, message, "" if hint else "leave it out"))
            elif name in case.inputs or name in case.outputs or (name == TIME and case.time):
                message = f"without: the case gives '{name}' itself"
                problems.append(Problem("C142", where, message, "leave out one of the two"))
    return problems
