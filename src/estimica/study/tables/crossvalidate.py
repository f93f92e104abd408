"""The `[crossvalidate]` table: what is left out in turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import FOLDS
from estimica.study.fields.kinds import STRICT, WHOLE
from estimica.study.fields.settings import settings


@dataclass(frozen=True, config=STRICT, kw_only=True)
class CrossvalidateTable:
    """How data are left out of a fit and predicted by it."""

    by: Annotated[
        Literal["case", "time"] | None,
        Field(description="Leave out whole cases, or stretches of time; cases if there are two."),
    ] = None
    folds: Annotated[
        Annotated[int, Field(ge=2, le=FOLDS), WHOLE] | None,
        Field(description="How many fits; by default one for each case, or five."),
    ] = None


def crossvalidate_table(*tables: Mapping[str, Any]) -> CrossvalidateTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(CrossvalidateTable, "[crossvalidate]", tables)
