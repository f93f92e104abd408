"""Sigma: bounds of a noise level."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields import REAL, STRICT, called, spoken, wrong


@spoken(CaseError, "C001", called("sigma"))
@dataclass(frozen=True, config=STRICT)
class Sigma:
    """Bounds of a noise level that is estimated."""

    min: Annotated[float, Field(ge=0, description="Smallest standard deviation."), REAL] = 0.0
    max: Annotated[float, Field(gt=0, description="Largest standard deviation."), REAL] = math.inf

    def __post_init__(self) -> None:
        if self.min > self.max:
            raise wrong("C011", f"min {self.min:g} is above max {self.max:g}; swap them")
