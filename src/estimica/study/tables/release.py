"""The `[release]` table: in which order unknowns are set free, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import RELEASES, SEED, STARTS
from estimica.study.fields.kinds import (
    LIST,
    NUMBER,
    REAL,
    STRICT,
    TABLE,
    TEXT,
    WHOLE,
    Positive,
    one_of_kinds,
)
from estimica.study.fields.offer import OutputName, TunerName
from estimica.study.fields.settings import settings

Together = Annotated[
    Annotated[TunerName, Tag(TEXT)] | Annotated[tuple[TunerName, ...], Tag(LIST)],
    one_of_kinds("a name, or a list of names that are released together"),
]
Stage = Annotated[
    Annotated[TunerName, Tag(TEXT)] | Annotated[tuple[Together, ...], Tag(LIST)],
    one_of_kinds("a name, or a list of candidates"),
]
Variances = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[dict[OutputName, Positive], Tag(TABLE)],
    one_of_kinds("a variance, or a table { output = variance }"),
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ReleaseTable:
    """How unknowns are released one step after the other."""

    risk: Annotated[
        float, Field(gt=0, lt=1, description="Largest risk at which something is released."), REAL
    ] = 0.05
    reduction: Annotated[
        float,
        Field(ge=0, lt=1, description="Least relative cost reduction, for criterion 'oe' only."),
        REAL,
    ] = 0.01
    noise: Annotated[
        Variances | None,
        Field(description="Noise variances that hold until they are released, for 'ml'."),
    ] = None
    order: Annotated[
        tuple[Stage, ...],
        Field(
            description="Stages, one after the other: each a list of candidates. By default start "
            "values with noise, then disturbances, then single tuners."
        ),
    ] = ()
    groups: Annotated[
        tuple[tuple[TunerName, ...], ...], Field(description="Tuners that are released together.")
    ] = ()
    starts: Annotated[
        int, Field(ge=1, le=STARTS, description="Starts of the search for a candidate."), WHOLE
    ] = 4
    seed: Annotated[
        Annotated[int, Field(ge=0, le=SEED), WHOLE] | None,
        Field(description="Seed of the starts; by default that of [estimate]."),
    ] = None
    max_steps: Annotated[int, Field(ge=1, le=RELEASES, description="Most steps."), WHOLE] = 50


def release_table(*tables: Mapping[str, Any]) -> ReleaseTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(ReleaseTable, "[release]", tables)
