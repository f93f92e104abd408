"""Noise of measured outputs: how large it is (Sigma), and between which values an output can be
measured at all; beyond them it is only known to be so."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields.kinds import (
    NUMBER,
    REAL,
    STRICT,
    TEXT,
    ColumnName,
    Finite,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)


@with_own_errors(CaseError, "C001", display_name("sigma"))
@dataclass(frozen=True, config=STRICT)
class Sigma:
    """A noise level that is estimated, within bounds and for several outputs; or a column."""

    min: Annotated[float, Field(ge=0, description="Smallest standard deviation."), REAL] = 0.0
    max: Annotated[float, Field(gt=0, description="Largest standard deviation."), REAL] = math.inf
    shared: Annotated[
        str | None,
        Field(description="A name: outputs that give the same one have one noise level."),
    ] = None
    column: Annotated[
        ColumnName | None,
        Field(description="The column with the known standard deviation of each sample."),
    ] = None

    def __post_init__(self) -> None:
        if self.min > self.max:
            raise field_error("C011", f"min {self.min:g} is above max {self.max:g}; swap them")
        bounded = self.min > 0 or math.isfinite(self.max)
        if self.column is not None and (bounded or self.shared is not None):
            raise field_error(
                "C070",
                "a column of standard deviations is known: min, max and shared do not go with it; "
                f'for a factor that is estimated, write sigma = "s*{self.column}" with a tuner s',
            )


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
