"""TOML text of values and keys, in the shortest form that reads back as the same."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from enum import Enum
from numbers import Integral, Real

from estimica.base.errors import StudyError
from estimica.study.fields.messages import short_value

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f"}
_ESCAPES["\r"] = "\\r"


def toml_value(value: object, like: str = "") -> str:
    """A value as TOML; `like` is the text that it replaces, whose quotes it keeps."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        literal = like.startswith("'") and not like.startswith("'''")
        literal = literal and "'" not in value and all(map(_printed, value))
        return f"'{value}'" if literal else _quoted(value)
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return _number(float(value))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in _given(value).items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, (Sequence, set, frozenset)):
        return f"[{', '.join(toml_value(v) for v in value)}]"
    raise StudyError(
        "Q076", f"{short_value(value)} has no place in a study file; give a number or text"
    )


def toml_number(value: float) -> str:
    """A number in as few digits as it has, as people write it: 250 where `toml_value` has 250.0."""
    text = f"{value:.15g}"
    return repr(value) if float(text) != value else text


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def same_value(one: object, other: object) -> bool:
    """Whether two values mean the same in a study file: 250 and 250.0 do, 1 and true do not."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        other = _given(other)
        return one.keys() == other.keys() and all(same_value(v, other[k]) for k, v in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    if isinstance(one, float) and isinstance(other, Real) and math.isnan(one):
        return math.isnan(other)
    return one == other


def _given(table: Mapping[str, object]) -> dict[str, object]:
    return {k: v for k, v in table.items() if v is not None}


def _number(value: float) -> str:
    return re.sub(r"e([+-]?)0*(\d)", lambda m: f"e{m[1].replace('+', '')}{m[2]}", repr(value))


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    return sign if _printed(sign) else f"\\u{ord(sign):04X}"


def _printed(sign: str) -> bool:
    return sign >= " " and sign != "\x7f"
