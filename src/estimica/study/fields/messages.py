"""Messages: what is wrong with a value, told with its place and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError

from estimica.base.suggest import did_you_mean

_CODE = re.compile(r"[A-Z]\d{3}$")
_MISSING = re.compile(r"'(\w+)' is missing")
_DOTTED = "a dotted name stands in quotes:"
_QUOTED = re.compile(r"'([^']*)'")


@dataclass(frozen=True, slots=True)
class ValidationMessage:
    """One wrong value: where it stands, and why it cannot be."""

    place: tuple[str | int, ...]
    message: str
    code: str = ""  # where the complaint has one of its own

    @property
    def text(self) -> str:
        """The complaint behind its place."""
        return ": ".join([*map(_step, self.place), self.message])


def validation_messages(error: ValidationError, root: object) -> list[ValidationMessage]:
    """All that is wrong, in the order of the fields of `root`."""
    messages = []
    for e in error.errors(include_url=False):
        place = tuple(p for p in e["loc"] if not (isinstance(p, str) and p.startswith("<")))
        if place and isinstance(place[0], int):  # an argument without its name
            known = list(_keys(root))
            place = (known[place[0]] if place[0] < len(known) else place[0], *place[1:])
        code = e["type"] if _CODE.match(e["type"]) else ""
        messages.append(_told(e, place, root, code))
    return [c for c in dict.fromkeys(messages) if not _follows(c, messages)]


def short_value(value: object) -> str:
    """A value as a user writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e300):
        return f"{value:g}"
    if isinstance(value, int):
        return "a number of that size"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = str(value)
    return text if len(text) <= 40 else f"a {type(value).__name__}"


def _told(e: Any, place: tuple[str | int, ...], root: object, code: str) -> ValidationMessage:
    kind = e["type"]
    if kind in ("unexpected_keyword_argument", "no_such_attribute"):
        *outer, key = place
        return ValidationMessage(tuple(outer), _unknown(str(key), root, outer))
    if kind in ("missing", "missing_argument", "missing_positional_only_argument"):
        *outer, key = place
        if isinstance(key, int):
            return ValidationMessage(
                tuple(outer), "two numbers are needed, where it begins and ends"
            )
        return ValidationMessage(tuple(outer), f"'{key}' is missing{_what_to_write(place, e)}")
    if kind == "tuple_type" and place == ("case",):
        return ValidationMessage((), "write [[case]] with two brackets: there may be several")
    if isinstance(e["input"], Mapping) and e["input"] and kind in ("kind", "string_type"):
        dotted = f"{_step(place[-1])}.{next(iter(e['input']))}"
        return ValidationMessage(place[:-1], f'{_DOTTED} "{dotted}"', code)
    words = _WORDS.get(kind)
    message = words(e.get("ctx", {}), e["input"]) if words else str(e["msg"])
    return ValidationMessage(place, message, code)


def _what_to_write(place: tuple[str | int, ...], e: Any) -> str:
    """The next step where the source of a model is missing: a class of a library is one itself."""
    if place != ("model", "source"):
        return ""
    given = e["input"]
    given = given if isinstance(given, Mapping) else getattr(given, "kwargs", None) or {}
    class_ = given.get("class")
    if isinstance(class_, str) and "." in class_:
        return (
            f'; a class of a library is the source itself: write source = "{class_}" instead of '
            "class, or name the file that holds the class"
        )
    return '; write the file of the model, as source = "Model.mo", or a class of a library'


def _follows(complaint: ValidationMessage, others: list[ValidationMessage]) -> bool:
    """Whether a missing key is only the other side of one that is misspelt."""
    missing = _MISSING.match(complaint.message)
    return missing is not None and any(
        other.place == complaint.place
        and other.message.startswith("unknown key")
        and (f"mean '{missing[1]}'" in other.message or _DOTTED in other.message)
        for other in others
    )


def _unknown(key: str, root: object, outer: list[str | int]) -> str:
    known = list(dict.fromkeys(k for owner in _owners(root, outer) for k in _keys(owner)))
    if outer and outer[0] == "tune":
        known.remove("name")  # the key itself
    hint = did_you_mean(key, known)
    if not hint and len(outer) >= 2:
        hint = f'; {_DOTTED} "{outer[-1]}.{key}" (or is it one of {", ".join(known)}?)'
    return f"unknown key '{key}'" + (hint or f"; there are {', '.join(known)}")


def _owners(root: object, place: list[str | int]) -> list[object]:
    """The dataclasses that may stand at `place` below `root`."""
    current = [root]
    for step in place:
        annotations = [dict(_annotations(c)).get(str(step)) for c in current]
        inner = [c for a in annotations if a is not None for c in _classes(a)]
        if inner:
            current = list(inner)
    return current


def _annotations(cls: object) -> Iterator[tuple[str, object]]:
    if not (isinstance(cls, type) and is_dataclass(cls)):
        return
    hints = get_type_hints(cls, include_extras=True)
    for f in fields(cls):
        yield f.name.rstrip("_"), hints[f.name]


def _keys(cls: object) -> Iterator[str]:
    """The keys a user may write, dataclasses' own and not the names given to them."""
    return (name for name, _ in _annotations(cls))


def _classes(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type) and is_dataclass(annotation):
        yield annotation
    for inner in get_args(annotation):
        yield from _classes(inner)


def _step(step: str | int) -> str:
    return str(step + 1) if isinstance(step, int) else step


def _choice(context: Mapping[str, Any], value: object) -> str:
    expected = str(context["expected"])
    choices = _QUOTED.findall(expected)
    hint = did_you_mean(value, choices) if isinstance(value, str) else ""
    return f"{short_value(value)} is none of {expected.replace(' or ', ', ')}{hint}"


def _limit(words: str, key: str) -> Callable[[Mapping[str, Any], object], str]:
    return lambda context, value: (
        f"{short_value(value)} is wrong, it must be {words} {context[key]:g}"
    )


def _instead(what: str) -> Callable[[Mapping[str, Any], object], str]:
    return lambda _, value: f"{short_value(value)} is not {what}"


_WORDS: dict[str, Callable[[Mapping[str, Any], object], str]] = {
    "greater_than": _limit("above", "gt"),
    "greater_than_equal": _limit("at least", "ge"),
    "less_than": _limit("below", "lt"),
    "less_than_equal": _limit("at most", "le"),
    "literal_error": _choice,
    "enum": _choice,
    "string_type": _instead("text in quotes"),
    "string_too_short": lambda *_: "is empty",
    "bool_type": _instead("true or false"),
    "dict_type": _instead("a table { … }"),
    "dataclass_type": _instead("a table { … }"),
    "dataclass_exact_type": _instead("a table { … }"),
    "tuple_type": _instead("a list [ … ]"),
    "list_type": _instead("a list [ … ]"),
    "too_long": lambda c, _: (
        f"has {c['actual_length']} entries, at most {c['max_length']} are read"
    ),
    "unexpected_positional_argument": lambda _, value: (
        f"{short_value(value)} is one argument too many"
    ),
}
