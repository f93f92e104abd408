"""The `[bootstrap]` table: how many replicates, and with which noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import BLOCK, REPLICATES, SEED
from estimica.study.fields.kinds import STRICT, WHOLE
from estimica.study.fields.settings import settings


@dataclass(frozen=True, config=STRICT, kw_only=True)
class BootstrapTable:
    """How a fit is repeated on simulated data."""

    replicates: Annotated[int, Field(ge=2, le=REPLICATES, description="How many fits."), WHOLE] = (
        500
    )
    kind: Annotated[
        Literal["parametric", "residual", "block"],
        Field(description="Noise: Gaussian, drawn from the residuals, or stretches of them."),
    ] = "parametric"
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of the noise."), WHOLE] = 1
    block_length: Annotated[
        Annotated[int, Field(ge=1, le=BLOCK), WHOLE] | None,
        Field(description="Samples in a block of kind 'block'; found from the residuals if not."),
    ] = None


def bootstrap_table(*tables: Mapping[str, Any]) -> BootstrapTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(BootstrapTable, "[bootstrap]", tables)
