"""What the parts of a study share: how strictly they are read, and kinds of fields."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

#: unknown keys are errors, values are not bent into another kind
STRICT = ConfigDict(
    extra="forbid", arbitrary_types_allowed=True, validate_by_name=True, validate_by_alias=True
)


def _number(value: float) -> float:
    if math.isnan(value):
        raise ValueError("nan is no number")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} is not finite")
    return value


Number = Annotated[float, AfterValidator(_number)]  # may be infinite: a bound
Finite = Annotated[float, AfterValidator(_finite)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
