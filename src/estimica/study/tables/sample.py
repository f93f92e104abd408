"""The `[sample]` table: how the posterior is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import CHAINS, DRAWS, SEED
from estimica.study.fields.kinds import REAL, STRICT, WHOLE
from estimica.study.fields.settings import settings


@dataclass(frozen=True, config=STRICT, kw_only=True)
class SampleTable:
    """How many chains draw from the posterior, and how."""

    draws: Annotated[
        int, Field(ge=10, le=DRAWS, description="Draws of each chain that are kept."), WHOLE
    ] = 1000
    chains: Annotated[int, Field(ge=1, le=CHAINS, description="How many chains."), WHOLE] = 4
    warmup: Annotated[
        int,
        Field(ge=10, le=DRAWS, description="Draws before them, in which step sizes are found."),
        WHOLE,
    ] = 1000
    method: Annotated[
        Literal["auto", "nuts", "ensemble"],
        Field(description="NUTS on exact gradients, or an ensemble of walkers without them."),
    ] = "auto"
    acceptance: Annotated[
        float,
        Field(gt=0, lt=1, description="Steps that NUTS aims to accept; more is more careful."),
        REAL,
    ] = 0.9
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of the draws."), WHOLE] = 1


def sample_table(*tables: Mapping[str, Any]) -> SampleTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(SampleTable, "[sample]", tables)
