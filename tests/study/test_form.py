"""Forms have every field of the study file's types, and what they offer is accepted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from estimica.study.file.edit import value_at, with_value
from estimica.study.file.located import located_problems
from estimica.study.form.tables import Field, Form, every_field, form_of, option_for
from estimica.study.tables.study_file import StudyFile

Pattern = tuple[str, ...]


# --- every field of the types --------------------------------------------------------------------


def classes(annotation: Any, pattern: Pattern) -> Iterator[tuple[type, Pattern]]:
    """The dataclasses that an annotation holds, with one more step in a list or a map."""
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation, pattern
    origin = get_origin(annotation)
    if origin in (tuple, dict):
        inner = get_args(annotation)[0 if origin is tuple else 1]
        yield from classes(inner, (*pattern, "*"))
    elif origin is not None:
        for argument in get_args(annotation):
            yield from classes(argument, pattern)


def tables(cls: type, pattern: Pattern = ()) -> Iterator[tuple[type, Pattern]]:
    yield cls, pattern
    hints = get_type_hints(cls, include_extras=True)
    for own in dataclasses.fields(cls):
        for inner, place in classes(hints[own.name], (*pattern, own.name.rstrip("_"))):
            yield from tables(inner, place)


TABLES = list(tables(StudyFile))


def test_the_walk_reaches_the_depths() -> None:
    patterns = {pattern for _, pattern in TABLES}
    assert ("case", "*", "outputs", "*", "disturbance", "prior") in patterns
    assert ("optimise", "robust", "uncertain", "*") in patterns
    assert len(TABLES) > 35


@pytest.mark.parametrize(
    ("cls", "pattern"), TABLES, ids=lambda v: v.__name__ if isinstance(v, type) else ".".join(v)
)
def test_every_field_of_a_type_is_a_field_of_its_form(cls: type, pattern: Pattern) -> None:
    form = form_of(pattern)
    wanted = [f.name.rstrip("_") for f in dataclasses.fields(cls)]
    if pattern == ("tune", "*"):
        wanted.remove("name")  # the key itself
    ways = [[f.name for f in form.fields], *([f.name for f in o.fields] for o in form.options)]
    assert wanted in ways
    assert form.title
    assert form.description
    fields = next(
        fs
        for fs in (form.fields, *(o.fields for o in form.options))
        if [f.name for f in fs] == wanted
    )
    for field in fields:
        assert field.description, field.place
        assert field.label[0].isupper()
        assert field.pattern == (*pattern, field.name)


def test_a_form_of_a_place_is_that_of_its_pattern() -> None:
    assert form_of(("case", 3, "inputs", "n.v")) == form_of(("case", "*", "inputs", "*"))
    assert form_of(("tune", "T_D")).title == "Tuner"


# --- kinds ---------------------------------------------------------------------------------------


def field(*pattern: str) -> Field:
    return form_of(pattern[:-1]).field(pattern[-1])


def test_kinds_limits_and_defaults_come_from_the_types() -> None:
    rtol = field("solver", "rtol")
    assert (rtol.kind, rtol.minimum, rtol.maximum, rtol.default) == ("number", 1e-14, 1, 1e-6)
    assert rtol.open_maximum
    assert not rtol.open_minimum
    starts = field("estimate", "starts")
    assert (starts.whole, starts.minimum, starts.default) == (True, 1, 1)
    assert field("tune", "*", "max").default == math.inf
    assert field("case", "*", "role").choices == ("calibrate", "validate")
    assert field("case", "*", "inputs", "*", "hold").choices == ("previous", "linear", "spline")
    assert field("case", "*", "active").kind == "truth"
    assert field("case", "*", "name").required
    assert field("criterion", "*", "levels").size == 2
    assert field("model", "class").name == "class"


def test_texts_say_what_a_page_offers() -> None:
    assert field("case", "*", "inputs", "*", "column").kind == "column"
    assert (field("case", "*", "data").kind, field("case", "*", "data").offers) == ("path", "data")
    assert (field("model", "source").kind, field("model", "source").offers) == ("path", "model")
    assert field("static", "against").kind == "variable"
    assert field("tune").names == "parameter"
    assert field("case", "*", "inputs").names == "input"
    assert field("case", "*", "free_start").names == "state"
    assert field("case", "*", "prefilter", "lowpass").unit_hint == "Hz"
    groups = field("release", "groups").item
    assert groups is not None
    assert groups.item is not None
    assert groups.item.offers == "tuner"


def test_each_option_has_the_fields_of_its_own() -> None:
    outputs = form_of(("case", "*", "outputs", "*"))
    assert [o.label for o in outputs.options] == ["Output column", "Response columns"]
    assert "imag" in [f.name for f in outputs.options[1].fields]
    assert "imag" not in [f.name for f in outputs.fields]
    scale = field("tune", "*", "scale")
    assert [(o.label, o.kind) for o in scale.options] == [
        ("auto or log", "choice"),
        ("Number", "number"),
    ]


@pytest.mark.parametrize(
    ("place", "value", "label"),
    [
        (("case", 0, "inputs", "u"), "valve", "Input column"),
        (("case", 0, "inputs", "u"), 3, "Number"),
        (("case", 0, "inputs", "u"), {"column": "c"}, "Input column"),
        (("case", 0, "outputs", "y"), {"real": "r", "imag": "i"}, "Response columns"),
        (("case", 0, "outputs", "y"), {"column": "r", "weight": 1}, "Output column"),
        (("case", 0, "outputs", "y", "disturbance"), True, "Yes or no"),
        (("tune", "a", "drives"), ["x"], "List"),
        (("tune", "a", "drives"), {"x": "2*a"}, "Table"),
        (("sweep", "vary", "a"), {"from": 1}, "Span"),
    ],
)
def test_a_value_chooses_its_option(
    place: tuple[str | int, ...], value: object, label: str
) -> None:
    option = option_for(form_of(place), value)
    assert option is not None
    assert option.label == label


def test_a_plain_field_has_no_option() -> None:
    assert option_for(form_of(("solver",)), {}) is None
    assert isinstance(form_of(()), Form)


# --- what a form offers is accepted --------------------------------------------------------------

SOURCE = '[model]\nsource = "M.mo"\n'
#: what must stand beside a field so that it means something
BESIDE: dict[str, dict[tuple[str | int, ...], object]] = {
    "case": {("case", 0, "name"): "a"},
    "criterion": {("criterion", 0, "name"): "a", ("criterion", 0, "of"): "x"},
    "indicator": {("indicator", 0, "name"): "a", ("indicator", 0, "show"): ["x"]},
    "case.*.operating_point": {("case", 0, "frequency"): "f"},
    "case.*.outputs.*": {("case", 0, "outputs", "n.v", "column"): "c"},
    "case.*.inputs.*": {("case", 0, "inputs", "n.v", "column"): "c"},
    "columns.*": {("columns", "n.v", "column"): "c"},
    "criterion.*.at_rest": {("criterion", 0, "reference"): "r"},
    "criterion.*.kind": {("criterion", 0, "function"): "f.py:f"},
    "solver.method": {("solver", "step"): 0.1},
    "tune.*.prior": {("tune", "n.v", "prior"): {"mean": 1, "sigma": 1}},
}  # fmt: skip


def sample(field: Field) -> list[Any]:
    """Plausible values of a field."""
    if field.options:
        return [value for option in field.options for value in sample(option.field)]
    if field.choices:
        return list(field.choices)
    if field.kind == "number":
        low = 0.25 if field.minimum is None else field.minimum
        high = low + 2 if field.maximum is None else field.maximum
        return [round(high)] if field.whole else [low + (high - low) / 2]
    if field.kind == "truth":
        return [True, False]
    if field.kind == "list":
        assert field.item is not None
        values = sample(field.item)
        return [(values * 2)[: field.size or 2]]
    if field.kind == "map":
        assert field.item is not None
        return [{"n.v": value} for value in sample(field.item) if value != {}]
    if field.kind == "table":
        return [complete(field)]
    if field.name == "timezone":
        return ["Europe/Berlin"]
    dated = {"from", "from_", "to", "exclude"}
    if field.pattern[:2] == ("case", "*") and dated & {field.name, *field.pattern}:
        return ["2025-03-01"]
    return ["1/(1 + s)"]


def complete(field: Field) -> dict[str, Any]:
    """A table with what it needs."""
    return {f.name: sample(f)[0] for f in field.fields if f.required}


def leaves() -> list[Field]:
    found = {f.place: f for f in every_field() if f.pattern[-1] != "*" and f.kind != "table"}
    return [f for f in found.values() if not (f.item and f.item.kind == "table")]


def concrete(pattern: Pattern) -> tuple[str | int, ...]:
    listed = pattern[0] in ("case", "criterion", "indicator")
    items = [k for k, p in enumerate(pattern) if p == "*" and pattern[k - 1] == "change"]
    return tuple(
        0 if (k == 1 and listed) or k in items else "n.v" if p == "*" else p
        for k, p in enumerate(pattern)
    )


def beside(field: Field) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """What the tables around a field need before it can be set."""
    for size in range(1, len(field.pattern) + 1):
        yield from BESIDE.get(".".join(field.pattern[:size]), {}).items()
    outer = form_of(field.pattern[:-1])
    ways = [outer.fields, *(o.fields for o in outer.options)]
    own = next(w for w in ways if any(f.name == field.name for f in w))
    for needed in own:
        if needed.required and needed.name != field.name:
            yield (*concrete(field.pattern[:-1]), needed.name), sample(needed)[0]


RESPONSE = {f.name for f in form_of(("case", "*", "outputs", "*")).options[1].fields}
COMMON = {f.name for f in form_of(("case", "*", "outputs", "*")).fields}


@pytest.mark.parametrize("field", leaves(), ids=lambda f: f.place)
def test_a_plausible_value_of_each_field_is_accepted(field: Field) -> None:
    place = concrete(field.pattern)
    for value in sample(field):
        text = SOURCE
        if field.pattern[:4] == ("case", "*", "outputs", "*") and field.name in RESPONSE - COMMON:
            polar = field.name in ("magnitude", "phase", "magnitude_unit", "phase_unit")
            names = ("magnitude", "phase") if polar else ("real", "imag")
            text = with_value(text, ("case", 0, "name"), "a")
            text = with_value(text, ("case", 0, "frequency"), "f")
            text = with_value(text, ("case", 0, "outputs", "n.v"), dict.fromkeys(names, "c"))
        elif field.pattern[:2] == ("columns", "*") and field.name in RESPONSE - COMMON:
            polar = field.name in ("magnitude", "phase", "magnitude_unit", "phase_unit")
            names = ("magnitude", "phase") if polar else ("real", "imag")
            text = with_value(text, ("columns", "n.v"), dict.fromkeys(names, "c"))
        else:
            for other, given in beside(field):
                text = with_value(text, other, given)
        if field.pattern[-2:-1] == ("prefilter",):
            if field.name == "band":
                value = [0.1, 0.2]
            elif field.name == "order":
                text = with_value(text, (*place[:-1], "lowpass"), 1)
        if field.place == "criterion.*.levels":
            value = [0.2, 0.8]
        new = with_value(text, place, value)
        assert value_at(new, place) == value, new
        assert located_problems(new) == (), new
