"""Limits: between which values an output can be measured; beyond them it is only known to be so."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields.kinds import (
    NUMBER,
    STRICT,
    TEXT,
    Finite,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)
from estimica.study.fields.offer import ColumnName

Limit = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[ColumnName, Tag(TEXT)],
    one_of_kinds('a number, or a column "…"'),
]


@with_own_errors(CaseError, "C001", display_name("limits"))
@dataclass(frozen=True, config=STRICT)
class DetectionLimits:
    """Detection limits in the unit of the column: a sample at or beyond one is censored."""

    min: Annotated[
        Limit | None,
        Field(description="Values at or below it are only known to be so: a number, or a column."),
    ] = None
    max: Annotated[
        Limit | None,
        Field(description="Values at or above it are only known to be so: a number, or a column."),
    ] = None

    def __post_init__(self) -> None:
        if self.min is None and self.max is None:
            raise field_error("C071", "give min, max or both")
        low, high = self.min, self.max
        if isinstance(low, float) and isinstance(high, float) and low >= high:
            raise field_error("C071", f"min {low:g} is not below max {high:g}; swap them")
