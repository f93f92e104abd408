"""Tuner: a parameter to be found, with start, bounds and scale."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import TunerError
from estimica.study.fields.kinds import (
    LIST,
    NUMBER,
    STRICT,
    TABLE,
    TEXT,
    Finite,
    Number,
    ParameterName,
    Positive,
    Truth,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)

Scale = Annotated[
    Annotated[Literal["auto", "log"], Tag(TEXT)] | Annotated[Positive, Tag(NUMBER)],
    one_of_kinds("'auto', 'log' or a positive number"),
]
Drives = Annotated[
    Annotated[tuple[ParameterName, ...], Tag(LIST)]
    | Annotated[dict[ParameterName, str], Tag(TABLE)],
    one_of_kinds('a list of parameters, or a table { parameter = "expression" }'),
]


@with_own_errors(TunerError, "T001", display_name("prior"))
@dataclass(frozen=True, config=STRICT)
class Prior:
    """What is known beforehand: a Gaussian of the value, or of its logarithm."""

    mean: Annotated[Finite, Field(description="The expected value, of what `on` says.")]
    sigma: Annotated[Positive, Field(description="Its standard deviation, of what `on` says.")]
    on: Annotated[
        Literal["value", "log", "log10"],
        Field(description="Mean and sigma are of the value, or of its logarithm."),
    ] = "value"

    @property
    def text(self) -> str:
        """The prior in a few letters."""
        plain = f"{self.mean:g} ± {self.sigma:g}"
        return plain if self.on == "value" else f"{self.on}: {plain}"

    def distance(self, value: float) -> float:
        """How many sigmas a value is off; its square is what the prior costs."""
        return (self._seen(value) - self.mean) / self.sigma

    def slope(self, value: float) -> float:
        """The derivative of the distance by the value."""
        if self.on == "value":
            return 1 / self.sigma
        unit = math.log(10.0) if self.on == "log10" else 1.0
        return 1 / (value * unit * self.sigma) if value > 0 else math.inf

    def _seen(self, value: float) -> float:
        if self.on == "value":
            return value
        if value <= 0:  # no such value is possible: a step that leads there is not taken
            return math.inf
        return math.log10(value) if self.on == "log10" else math.log(value)


@with_own_errors(TunerError, "T001", display_name("tuner"))
@dataclass(frozen=True, config=STRICT)
class Tuner:
    """A parameter to be found.

    Its name is a parameter of the model, an element of an array parameter, or any new name where
    `drives` says which parameters follow it.
    """

    name: Annotated[str, Field(description="The parameter, as the model calls it.", min_length=1)]
    start: Annotated[
        Finite | None, Field(description="Where the search begins; by default the model's value.")
    ] = None
    min: Annotated[Number, Field(description="Lower bound.")] = -math.inf
    max: Annotated[Number, Field(description="Upper bound.")] = math.inf
    scale: Annotated[
        Scale,
        Field(description="Typical size, 'auto', or 'log' for a positive one that spans decades."),
    ] = "auto"
    drives: Annotated[
        Drives,
        Field(description="Parameters that take its value, or follow from it: name = expression."),
    ] = ()
    prior: Annotated[Prior | None, Field(description="Prior knowledge.")] = None
    active: Annotated[Truth, Field(description="If false it keeps its start value.")] = True
    unit: Annotated[str, Field(description="Unit, where the model does not know it.")] = ""
    description: Annotated[str, Field(description="What it is.")] = ""

    def __post_init__(self) -> None:
        low, high, start = self.min, self.max, self.start
        if low > high:
            raise field_error("T003", f"min {low:g} is above max {high:g}; swap them")
        if low == high:
            raise field_error("T004", f"min and max are both {low:g}; fix it instead of tuning it")
        if start is not None and not low <= start <= high:
            side = f"below min {low:g}" if start < low else f"above max {high:g}"
            raise field_error("T005", f"start {start:g} is {side}; move one of them")
        if self.scale == "log" and start is not None and start <= 0:
            raise field_error("T006", f"scale 'log' needs a positive start, not {start:g}")
        on_log = self.prior is not None and self.prior.on != "value"
        if on_log and (high <= 0 or (start is not None and start <= 0)):
            side = f"max {high:g}" if high <= 0 else f"start {start:g}"
            raise field_error(
                "T018", f"a prior on its logarithm needs a positive tuner, not {side}"
            )
        if self.scale == "log" and high <= 0:
            raise field_error("T007", f"scale 'log' needs a positive max, not {high:g}")

    @property
    def driven(self) -> dict[str, str]:
        """The parameters that follow it, each with the expression that gives its value."""
        if isinstance(self.drives, dict):
            return dict(self.drives)
        return dict.fromkeys(self.drives, self.name) if self.drives else {self.name: self.name}
