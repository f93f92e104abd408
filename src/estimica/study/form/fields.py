"""Fields of forms from annotated types: kind, limits, choices and options of one key; and what a
person types into a field as the value that it means, and back."""

from __future__ import annotations

import re
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import WithJsonSchema
from pydantic.fields import FieldInfo

from estimica.base.files.toml import load_toml
from estimica.study.fields.kinds import Offer, Unit
from estimica.study.toml.short_forms import is_short
from estimica.study.toml.write import toml_value

Kind = Literal[
    "number", "text", "truth", "choice", "list", "table", "map", "column", "variable", "parameter",
    "path", "any",
]  # fmt: skip
_WHOLE = re.compile(r"[+-]?\d+")
#: kinds that are written as a text
TEXTS = ("text", "choice", "column", "variable", "parameter", "path")


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a table: what may stand there, and what it means."""

    name: str
    label: str
    description: str
    kind: Kind
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    unit_hint: str = ""
    minimum: float | None = None
    maximum: float | None = None
    options: tuple[Option, ...] = ()
    open_minimum: bool = False  # the minimum itself is not allowed
    open_maximum: bool = False
    whole: bool = False
    fields: tuple[Field, ...] = ()  # of a table
    item: Field | None = None  # of a list or a map
    names: str = ""  # of a map: which names are its keys, as "parameter", "input", "output"
    offers: str = ""  # of a text: which names it takes, as "input", "tuner", "case", "data"
    size: int | None = None  # of a list that has always as many items
    pattern: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The pattern as `tune.*.start`."""
        return ".".join(self.pattern)


@dataclass(frozen=True, slots=True)
class Option:
    """One of the ways in which a key may be written."""

    label: str
    kind: Kind
    field: Field

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of an option that is a table."""
        return self.field.fields

    def takes(self, value: object) -> bool:
        """Whether a value is written in this way."""
        if isinstance(value, bool):
            return self.kind == "truth"
        if isinstance(value, (int, float)):
            return self.kind == "number"
        if isinstance(value, str):
            return self.kind in TEXTS
        if isinstance(value, (list, tuple)):
            return self.kind == "list"
        return isinstance(value, dict) and self.kind in ("table", "map")


def label_of(name: str) -> str:
    """A name as a label: `max_seconds` is "Max seconds", `InputColumn` is "Input column"."""
    spaced = re.sub(r"(?<=[a-z])([A-Z])", lambda m: f" {m[1].lower()}", name.replace("_", " "))
    return spaced[:1].upper() + spaced[1:]


def all_fields(field: Field) -> tuple[Field, ...]:
    """The fields of a table, or those of all its options that are tables."""
    by_name = {f.name: f for o in reversed(field.options) for f in reversed(o.fields)}
    return field.fields or tuple(reversed(by_name.values()))


def field_of_type(name: str, annotation: object, pattern: tuple[str, ...]) -> Field:
    """The field of an annotated type."""
    inner, notes = _bare(annotation)
    field = replace(_field(name, inner, pattern), **_limits(notes))
    for note in notes:
        if isinstance(note, FieldInfo) and note.description:
            field = replace(field, description=note.description)
        elif isinstance(note, Unit):
            field = replace(field, unit_hint=note.symbol)
        elif isinstance(note, Offer) and field.kind == "text":
            field = replace(field, kind=note.kind, offers=note.of or note.kind)
        elif isinstance(note, WithJsonSchema) and note.json_schema and field.kind == "any":
            schema = note.json_schema
            description = field.description or str(schema.get("description", ""))
            field = replace(field, kind="text", description=description)
    return field


def _field(name: str, kind: Any, pattern: tuple[str, ...]) -> Field:
    field = Field(name, label_of(name), "", "any", pattern=pattern)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _union(field, [a for a in get_args(kind) if a is not type(None)])
    if origin is Literal:
        return replace(field, kind="choice", choices=tuple(map(str, get_args(kind))))
    if origin in (tuple, list):
        return _list(field, get_args(kind))
    if origin is dict:
        key, value = get_args(kind)
        offered = [n for n in _bare(key)[1] if isinstance(n, Offer)]
        names = (offered[0].of or offered[0].kind) if offered else ""
        item = _item(field, value)
        if item.kind == "table":  # the key is its name
            item = replace(item, fields=tuple(f for f in item.fields if f.name != "name"))
        return replace(field, kind="map", item=item, names=names)
    if not isinstance(kind, type):
        return field
    if is_dataclass(kind):
        about = (kind.__doc__ or "").split("\n\n")[0].strip()
        return replace(field, kind="table", description=about, fields=tuple(_keys(kind, pattern)))
    if issubclass(kind, Enum):
        return replace(field, kind="choice", choices=tuple(str(m.value) for m in kind))
    if issubclass(kind, bool):
        return replace(field, kind="truth")
    if issubclass(kind, (int, float)):
        return replace(field, kind="number", whole=issubclass(kind, int))
    return replace(field, kind="text") if issubclass(kind, str) else field


def _union(field: Field, kinds: list[Any]) -> Field:
    ways = [(kind, field_of_type(field.name, kind, field.pattern)) for kind in kinds]
    if {way.kind for _, way in ways} == {"number"}:
        return replace(ways[0][1], whole=all(way.whole for _, way in ways))
    if len(ways) > 1:
        ways = [(k, w) for k, w in ways if not is_short(field.pattern, w.kind)]
    if len(ways) == 1:
        return ways[0][1]
    options = tuple(Option(_title(kind, way), way.kind, way) for kind, way in ways)
    return replace(field, options=options)


def _title(kind: Any, way: Field) -> str:
    if way.kind == "choice":
        return " or ".join(way.choices)
    return _called(kind) or {"truth": "Yes or no", "map": "Table"}.get(way.kind, label_of(way.kind))


def _called(kind: Any) -> str:
    bare = _bare(kind)[0]
    return label_of(bare.__name__) if isinstance(bare, type) and is_dataclass(bare) else ""


def _list(field: Field, kinds: tuple[Any, ...]) -> Field:
    repeated = len(kinds) == 2 and kinds[1] is Ellipsis
    item = _item(field, kinds[0])
    return replace(field, kind="list", item=item, size=None if repeated else len(kinds))


def _item(outer: Field, kind: Any) -> Field:
    """What stands in a list or a map; it is called like its class, or like the whole."""
    item = field_of_type("*", kind, (*outer.pattern, "*"))
    return replace(item, label=_called(kind) or outer.label)


def _keys(cls: Any, pattern: tuple[str, ...]) -> Iterator[Field]:
    hints = get_type_hints(cls, include_extras=True)
    infos: dict[str, FieldInfo] = cls.__pydantic_fields__
    for own in fields(cls):
        info = infos[own.name]
        name = info.alias or own.name
        field = field_of_type(name, hints[own.name], (*pattern, name))
        default = None if info.is_required() else info.get_default(call_default_factory=True)
        yield replace(field, required=info.is_required(), default=_plain(default))


def _plain(default: Any) -> Any:
    """A default as a study file would have it; None for a table."""
    if isinstance(default, Enum):
        return default.value
    return (
        None if is_dataclass(default) else list(default) if isinstance(default, tuple) else default
    )


def _bare(annotation: Any) -> tuple[Any, list[Any]]:
    """A type without its notes, and the notes, the innermost first."""
    if get_origin(annotation) is not Annotated:
        return annotation, []
    inner, *notes = get_args(annotation)
    inner, within = _bare(inner)
    return inner, [*within, *notes]


def _limits(notes: list[Any]) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    marks = [m for n in notes for m in (n.metadata if isinstance(n, FieldInfo) else [n])]
    for note in marks:
        match note:
            case Gt(gt=value):
                limits |= {"minimum": value, "open_minimum": True}
            case Ge(ge=value):
                limits |= {"minimum": value}
            case Lt(lt=value):
                limits |= {"maximum": value, "open_maximum": True}
            case Le(le=value):
                limits |= {"maximum": value}
    return limits


# --- what is typed into a field ------------------------------------------------------------------


def value_from_text(field: Field, text: str) -> Any:
    """The value of a text that was typed; None where nothing was.

    What does not fit is kept as a text, so that the study file's own check tells what is wrong.
    """
    plain = text.strip()
    if not plain:
        return None
    if field.kind in TEXTS:
        return plain
    if field.kind == "number":
        return _number(plain)
    if field.kind == "truth":
        return {"true": True, "false": False}.get(plain.lower(), plain)
    if field.kind == "list" and field.item is not None:
        return _list_from_text(field.item, plain)
    number = _number(plain)
    return _as_toml(plain, plain) if number == plain else number


def text_from_value(value: object) -> str:
    """A value as it stands in a field: a text without its quotes, a list without brackets."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    text = toml_value(value)
    if isinstance(value, (list, tuple)) and not any(isinstance(v, (list, dict)) for v in value):
        plain = all(isinstance(v, str) and v.strip(" ,[]\"'") == v and "," not in v for v in value)
        return ", ".join(map(str, value)) if plain else text[1:-1]
    return text


def _number(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _list_from_text(item: Field, text: str) -> Any:
    values = _as_toml(text, None) if text.startswith("[") else None
    values = _as_toml(f"[{text}]", None) if values is None else values
    if values is None:
        return [
            value_from_text(item, part)
            for part in text.removeprefix("[").removesuffix("]").split(",")
        ]
    lone = item.kind == "list" and not any(isinstance(v, list) for v in values)
    return [values] if lone else values


def _as_toml(text: str, default: Any) -> Any:
    if "\n" in text:
        return default
    try:
        return load_toml(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return default
