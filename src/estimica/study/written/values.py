"""Values of a study as tables of TOML hold them, without what is so by default anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, time
from enum import Enum
from numbers import Real
from typing import Any

from estimica.base.errors import StudyError
from estimica.study.fields.messages import short_value

Place = tuple[str, ...]
Table = dict[str, Any]


def table_of(value: object, place: Place, leave_out: frozenset[str] = frozenset()) -> Table:
    """A part of a study as a table, with the keys as a study file spells them."""
    kinds: Mapping[str, Any] = type(value).__pydantic_fields__  # type: ignore[attr-defined]
    table: Table = {}
    for name, kind in kinds.items():
        inner = getattr(value, name)
        if name in leave_out or inner is None:
            continue
        key = kind.alias or name
        if not _is_same(inner, kind.get_default(call_default_factory=True)):
            table[key] = plain(inner, (*place, key))
    return table


def plain(value: object, place: Place) -> object:
    """A value as TOML has it; an error that names its place where TOML has no such thing."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (str, Real, date, time)):  # truth too, and the numbers of NumPy
        return value
    if isinstance(value, Mapping):
        given = {str(k): v for k, v in value.items() if v is not None}
        return {k: plain(v, (*place, k)) for k, v in given.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, place) for v in value]
    if is_dataclass(value) and hasattr(type(value), "__pydantic_fields__"):
        return table_of(value, place)
    raise StudyError(
        "Q180",
        f"{': '.join(place)}: a study file cannot hold {short_value(value)}; give it as a number "
        "or a text there, then write the study",
    )


def _is_same(value: object, default: object) -> bool:
    """Whether a value is the default: 0 is no `false`, and a list of names no table."""
    return type(value) is type(default) and value == default
