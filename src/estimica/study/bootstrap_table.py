"""The `[bootstrap]` table: how many replicates, and with which noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from estimica.base.problems import Problem, raise_all
from estimica.study.fields import STRICT, WHOLE
from estimica.study.words import complaints


@dataclass(frozen=True, config=STRICT, kw_only=True)
class BootstrapTable:
    """How a fit is repeated on simulated data."""

    replicates: Annotated[int, Field(ge=2, description="How many fits."), WHOLE] = 500
    kind: Annotated[
        Literal["parametric", "residual", "block"],
        Field(description="Noise: Gaussian, drawn from the residuals, or stretches of them."),
    ] = "parametric"
    seed: Annotated[int, Field(ge=0, description="Seed of the noise."), WHOLE] = 1
    block_length: Annotated[
        Annotated[int, Field(ge=1), WHOLE] | None,
        Field(description="Samples in a block of kind 'block'; found from the residuals if not."),
    ] = None


_TABLE: TypeAdapter[BootstrapTable] = TypeAdapter(BootstrapTable)


def bootstrap_table(*tables: Mapping[str, Any]) -> BootstrapTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged |= table
    try:
        return _TABLE.validate_python(merged)
    except ValidationError as error:
        found = complaints(error, BootstrapTable)
        raise_all([Problem(c.code or "Q002", "[bootstrap]", c.text) for c in found])
        raise
