"""Tables of designs: `[optimise]`, `[montecarlo]` and `[sweep]`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import (
    CURVES,
    EVALUATIONS,
    FRONT,
    ITERATIONS,
    POPULATION,
    SAMPLES,
    SCENARIOS,
    SEED,
    STARTS,
)
from estimica.study.fields.kinds import (
    LIST,
    REAL,
    SECONDS,
    STRICT,
    TABLE,
    WHOLE,
    CriterionName,
    Finite,
    ParameterName,
    Truth,
    one_of_kinds,
    settings,
)
from estimica.study.tables.input_design import Grid

Aggregate = Literal["max", "smooth-max", "sum"]
DesignMethod = Literal["sqp", "quasi-newton", "pattern", "simplex", "genetic"]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Distribution:
    """How an uncertain parameter is spread."""

    kind: Annotated[
        Literal["normal", "lognormal", "uniform", "triangular"], Field(description="Its shape.")
    ] = "uniform"
    mean: Annotated[Finite | None, Field(description="Normal, lognormal: the mean.")] = None
    sigma: Annotated[
        Finite | None, Field(description="Normal: standard deviation; lognormal: that of the log.")
    ] = None
    min: Annotated[Finite | None, Field(description="Uniform, triangular: the least value.")] = None
    max: Annotated[Finite | None, Field(description="The largest value.")] = None
    mode: Annotated[Finite | None, Field(description="Triangular: the likeliest value.")] = None


Uncertain = Annotated[
    Annotated[tuple[Finite, ...], Tag(LIST)] | Annotated[Distribution, Tag(TABLE)],
    one_of_kinds("a list of values, or a distribution { kind, … }"),
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class RobustTable:
    """Which parameters are uncertain, and what counts of the designs' scatter."""

    uncertain: Annotated[
        dict[ParameterName, Uncertain],
        Field(description="Parameters: a list of values, or a distribution."),
    ] = Field(default_factory=dict)
    measure: Annotated[
        Literal["worst", "mean", "quantile"],
        Field(description="Of the scenarios: the worst, the mean, or those beyond a quantile."),
    ] = "worst"
    quantile: Annotated[
        float, Field(gt=0, lt=1, description="The mean beyond this quantile counts."), REAL
    ] = 0.9
    covariance: Annotated[
        Truth,
        Field(description="Values of the fit that the search starts from scatter as it says."),
    ] = False
    scenarios: Annotated[
        int, Field(ge=1, le=SCENARIOS, description="Scenarios drawn from distributions."), WHOLE
    ] = 16


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ParetoTable:
    """Which criteria are traded against each other."""

    criteria: Annotated[
        tuple[CriterionName, ...],
        Field(description="Two or three criteria; by default all of them."),
    ] = ()
    method: Annotated[
        Literal["nsga2", "epsilon"],
        Field(description="A genetic search, or epsilon-constraints with gradients."),
    ] = "epsilon"
    points: Annotated[int, Field(ge=2, le=FRONT, description="Designs along the front."), WHOLE] = (
        20
    )


@dataclass(frozen=True, config=STRICT, kw_only=True)
class OptimiseTable:
    """How a design is optimised."""

    aggregate: Annotated[
        Aggregate,
        Field(description="One number of all criteria: the largest, a smooth one, or the sum."),
    ] = "max"
    method: Annotated[DesignMethod, Field(description="The search.")] = "sqp"
    sharpness: Annotated[
        float, Field(gt=0, description="Smooth maximum: how closely it follows the largest."), REAL
    ] = 50.0
    max_iterations: Annotated[
        int, Field(ge=1, le=ITERATIONS, description="Maximum number of iterations."), WHOLE
    ] = 100
    max_evaluations: Annotated[
        Annotated[int, Field(ge=1, le=EVALUATIONS), WHOLE] | None,
        Field(description="Maximum number of designs to simulate."),
    ] = None
    tolerance: Annotated[
        Annotated[float, Field(gt=0, lt=1), REAL] | None,
        Field(
            description="Relative change that ends the search; by default 1e-8 of formulas, while "
            "simulated criteria end it where 12 designs gain less than 1e-4."
        ),
    ] = None
    max_seconds: Annotated[
        float,
        SECONDS,
        Field(gt=0, description="Time limit in seconds; the best so far is then the result."),
        REAL,
    ] = math.inf
    starts: Annotated[
        Annotated[int, Field(ge=1, le=STARTS), WHOLE] | None,
        Field(
            description="Number of starts; the first is given. By default 8, fewer where a search "
            "takes long; 1 of the genetic method."
        ),
    ] = None
    population: Annotated[
        int, Field(ge=4, le=POPULATION, description="Genetic: designs of a generation."), WHOLE
    ] = 40
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of everything random."), WHOLE] = 1
    robust: Annotated[RobustTable | None, Field(description="Uncertain parameters.")] = None
    pareto: Annotated[ParetoTable | None, Field(description="A front instead of one design.")] = (
        None
    )


def optimise_table(*tables: Mapping[str, Any]) -> OptimiseTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(OptimiseTable, "[optimise]", tables)


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
        Field(description="Quantiles to report."),
    ] = (0.05, 0.5, 0.95)
    sensitivity: Annotated[
        Literal["none", "morris", "sobol"],
        Field(description="Which parameters matter: Morris' screening or Sobol's indices."),
    ] = "none"
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of the draws."), WHOLE] = 1
    curves: Annotated[
        int,
        Field(
            ge=0,
            le=CURVES,
            description="Samples whose signals are drawn over time, each simulated once more; "
            "0 draws none.",
        ),
        WHOLE,
    ] = 100


def montecarlo_table(*tables: Mapping[str, Any]) -> MontecarloTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(MontecarloTable, "[montecarlo]", tables)


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
    curves: Annotated[
        int,
        Field(
            ge=0,
            le=CURVES,
            description="Samples whose signals are drawn over time, each simulated once more; "
            "0 draws none.",
        ),
        WHOLE,
    ] = 100


def sweep_table(*tables: Mapping[str, Any]) -> SweepTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(SweepTable, "[sweep]", tables)
