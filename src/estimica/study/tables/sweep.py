"""The `[sweep]` table: which values of which parameters are tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import SAMPLES, SEED
from estimica.study.fields.kinds import STRICT, WHOLE
from estimica.study.fields.offer import ParameterName
from estimica.study.fields.settings import settings
from estimica.study.tables.input_design import Grid


@dataclass(frozen=True, config=STRICT, kw_only=True)
class SweepTable:
    """How the parameters are varied."""

    vary: Annotated[
        dict[ParameterName, Grid],
        Field(description="Parameters: a list of values, or a range. By default the tuners."),
    ] = Field(default_factory=dict)
    design: Annotated[
        Literal["grid", "factorial", "one-at-a-time", "latin-hypercube", "sobol"],
        Field(description="All combinations, corners, single steps, or samples in the ranges."),
    ] = "grid"
    samples: Annotated[
        int, Field(ge=1, le=SAMPLES, description="Latin hypercube and Sobol: how many."), WHOLE
    ] = 256
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of the samples."), WHOLE] = 1


def sweep_table(*tables: Mapping[str, Any]) -> SweepTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(SweepTable, "[sweep]", tables)
