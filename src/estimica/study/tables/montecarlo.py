"""The `[montecarlo]` table: how parameters scatter, and what is asked of the scatter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import SAMPLES, SEED
from estimica.study.fields.kinds import REAL, STRICT, WHOLE
from estimica.study.fields.offer import ParameterName
from estimica.study.fields.settings import settings
from estimica.study.tables.optimise import Distribution


@dataclass(frozen=True, config=STRICT, kw_only=True)
class MontecarloTable:
    """How the parameters are drawn."""

    draw: Annotated[
        dict[ParameterName, Distribution], Field(description="Parameters and how each is spread.")
    ] = Field(default_factory=dict)
    source: Annotated[
        str | None,
        Field(
            description="Where the tuners are drawn from instead: 'fit' (the covariance of this "
            "study's fit), 'bootstrap' (its sample), 'sample' (the posterior), or the name of a "
            "stored run."
        ),
    ] = None
    samples: Annotated[int, Field(ge=2, le=SAMPLES, description="Simulated designs."), WHOLE] = 1000
    sampling: Annotated[
        Literal["random", "latin-hypercube", "sobol"], Field(description="How they are drawn.")
    ] = "random"
    quantiles: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1), REAL], ...],
        Field(description="Quantiles that are told."),
    ] = (0.05, 0.5, 0.95)
    sensitivity: Annotated[
        Literal["none", "morris", "sobol"],
        Field(description="Which parameters matter: Morris' screening or Sobol's indices."),
    ] = "none"
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of the draws."), WHOLE] = 1


def montecarlo_table(*tables: Mapping[str, Any]) -> MontecarloTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(MontecarloTable, "[montecarlo]", tables)
