"""The `[backcalculate]` table: what is computed from the data, and against what it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.dataclasses import dataclass

from estimica.study.fields.kinds import STRICT, WHOLE
from estimica.study.fields.offer import VariableName
from estimica.study.fields.settings import settings

LawName = Literal[
    "constant",
    "line",
    "power",
    "exponential",
    "logarithmic",
    "reciprocal",
    "arrhenius",
    "polynomial",
]


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Names = Annotated[
    tuple[VariableName, ...],
    BeforeValidator(_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class BackcalculateTable:
    """A relation that is left out, the variable that it hides, and laws tried on it."""

    compute: Annotated[
        Names, Field(description="Variables or parameters to be computed at every point.")
    ] = ()
    against: Annotated[
        Names,
        Field(
            description="What they may depend on: variables, or columns of the data; by default "
            "the inputs that change."
        ),
    ] = ()
    leave_out: Annotated[
        Names,
        Field(
            description="Equations that do not hold: their text, or a name that stands in one "
            "of them only."
        ),
    ] = ()
    laws: Annotated[
        tuple[LawName, ...],
        BeforeValidator(_several),
        Field(description="Laws that are tried; by default all."),
    ] = ()
    errors: Annotated[
        Literal["absolute", "relative"],
        Field(description="Whether errors are alike in size, or in proportion to the value."),
    ] = "absolute"
    max_degree: Annotated[int, Field(ge=2, le=9, description="Of polynomials."), WHOLE] = 4
    together: Annotated[
        int, Field(ge=1, le=3, description="Regressors that stand in one law, at most."), WHOLE
    ] = 2


def backcalculate_table(*tables: Mapping[str, Any]) -> BackcalculateTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(BackcalculateTable, "[backcalculate]", tables)
