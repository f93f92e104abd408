"""Tuner: a parameter to be found, with start, bounds and scale."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.base.errors import TunerError
from estimica.study.fields import STRICT, Finite, Number, Positive


@dataclass(frozen=True, config=STRICT)
class Prior:
    """What is known beforehand: a Gaussian with this mean and standard deviation."""

    mean: Annotated[Finite, Field(description="The expected value.")]
    sigma: Annotated[Positive, Field(description="Its standard deviation.")]


@dataclass(frozen=True, config=STRICT)
class Tuner:
    """A parameter to be found.

    Its name is a parameter of the model, an element of an array parameter, or any new name where
    `drives` says which parameters follow it.
    """

    name: Annotated[str, Field(description="The parameter, as the model calls it.")]
    start: Annotated[
        Finite | None, Field(description="Where the search begins; by default the model's value.")
    ] = None
    min: Annotated[Number, Field(description="Lower bound.")] = -math.inf
    max: Annotated[Number, Field(description="Upper bound.")] = math.inf
    scale: Annotated[
        Literal["auto", "log"] | Positive,
        Field(description="Typical size, 'auto', or 'log' for a positive one that spans decades."),
    ] = "auto"
    drives: Annotated[
        tuple[str, ...] | dict[str, str],
        Field(description="Parameters that take its value, or follow from it: name = expression."),
    ] = ()
    prior: Annotated[Prior | None, Field(description="What is known beforehand.")] = None
    active: Annotated[bool, Field(description="If false it keeps its start value.")] = True
    unit: Annotated[str, Field(description="Unit, where the model does not know it.")] = ""
    description: Annotated[str, Field(description="What it is.")] = ""

    def __post_init__(self) -> None:
        low, high, start = self.min, self.max, self.start
        what = f"tuner '{self.name}'"
        if low > high:
            raise TunerError("T003", f"{what}: min {low:g} is above max {high:g}; swap them")
        if low == high:
            raise TunerError(
                "T004", f"{what}: min and max are both {low:g}; fix it instead of tuning it"
            )
        if start is not None and not low <= start <= high:
            side = f"below min {low:g}" if start < low else f"above max {high:g}"
            raise TunerError("T005", f"{what}: start {start:g} is {side}; move one of them")
        if self.scale == "log" and start is not None and start <= 0:
            raise TunerError("T006", f"{what}: scale 'log' needs a positive start, not {start:g}")
        if self.scale == "log" and high <= 0:
            raise TunerError("T007", f"{what}: scale 'log' needs a positive max, not {high:g}")
