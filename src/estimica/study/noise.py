"""Sigma: what a study says of a noise level that is not a plain number."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields.kinds import REAL, STRICT, display_name, field_error, with_own_errors
from estimica.study.fields.offer import ColumnName


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
