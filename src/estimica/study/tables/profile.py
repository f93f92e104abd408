"""The `[profile]` table: which unknowns are profiled, and how finely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import PROFILE
from estimica.study.fields.kinds import REAL, STRICT, WHOLE
from estimica.study.fields.offer import TunerName
from estimica.study.fields.settings import settings


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ProfileTable:
    """How the profiles of unknowns are walked."""

    unknowns: Annotated[
        tuple[TunerName, ...],
        Field(description="Tuners, start values or disturbances; by default all."),
    ] = ()
    level: Annotated[float, Field(gt=0, lt=1, description="Confidence of the intervals."), REAL] = (
        0.95
    )
    points: Annotated[
        int,
        Field(ge=2, le=PROFILE, description="Refits between the estimate and either end, about."),
        WHOLE,
    ] = 8


def profile_table(*tables: Mapping[str, Any]) -> ProfileTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(ProfileTable, "[profile]", tables)
