"""Settings of a command: what its table says, and over that what the command line says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from estimica.base.problems import Problem, raise_all
from estimica.study.fields.messages import validation_messages

T = TypeVar("T")


def settings(kind: type[T], where: str, tables: Sequence[Mapping[str, Any]]) -> T:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged |= table
    try:
        return TypeAdapter(kind).validate_python(merged)
    except ValidationError as error:
        raise_all(
            [Problem(c.code or "Q002", where, c.text) for c in validation_messages(error, kind)]
        )
        raise
