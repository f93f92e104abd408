"""Indicator: a named plot of trajectories, defined once and drawn for every design."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.base.errors import DesignError
from estimica.study.fields.kinds import STRICT, Finite, display_name, field_error, with_own_errors
from estimica.study.fields.offer import CaseName, VariableName


@with_own_errors(DesignError, "O001", display_name("indicator", "name"))
@dataclass(frozen=True, config=STRICT)
class Indicator:
    """What a person looks at to compare two designs."""

    name: Annotated[str, Field(min_length=1, description="The title of the plot.")]
    show: Annotated[
        tuple[VariableName, ...], Field(description="Variables or expressions, drawn in one panel.")
    ] = ()
    cases: Annotated[
        tuple[CaseName, ...], Field(description="Cases that it is drawn for; by default all.")
    ] = ()
    from_: Annotated[Finite | None, Field(alias="from", description="Where it begins.")] = None
    to: Annotated[Finite | None, Field(description="Where it ends.")] = None

    def __post_init__(self) -> None:
        if not self.show:
            raise field_error("O007", "show is empty; name what is drawn")
