"""The `[crossvalidate]` table: what is left out in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from estimica.base.problems import Problem, raise_all
from estimica.study.fields import STRICT, WHOLE
from estimica.study.words import complaints


@dataclass(frozen=True, config=STRICT, kw_only=True)
class CrossvalidateTable:
    """How data are left out of a fit and predicted by it."""

    by: Annotated[
        Literal["case", "time"] | None,
        Field(description="Leave out whole cases, or stretches of time; cases if there are two."),
    ] = None
    folds: Annotated[
        Annotated[int, Field(ge=2), WHOLE] | None,
        Field(description="How many fits; by default one for each case, or five."),
    ] = None


_TABLE: TypeAdapter[CrossvalidateTable] = TypeAdapter(CrossvalidateTable)


def crossvalidate_table(*tables: Mapping[str, Any]) -> CrossvalidateTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged |= table
    try:
        return _TABLE.validate_python(merged)
    except ValidationError as error:
        found = complaints(error, CrossvalidateTable)
        raise_all([Problem(c.code or "Q002", "[crossvalidate]", c.text) for c in found])
        raise
