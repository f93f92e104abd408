"""Tables of the analyses of a fit: `[bootstrap]`, `[crossvalidate]`, `[profile]`, `[release]`,
`[sample]` and `[backcalculate]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Tag
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import (
    BLOCK,
    CHAINS,
    DRAWS,
    FOLDS,
    PROFILE,
    RELEASES,
    REPLICATES,
    SEED,
    STARTS,
)
from estimica.study.fields.kinds import (
    LIST,
    NUMBER,
    REAL,
    STRICT,
    TABLE,
    TEXT,
    WHOLE,
    OutputName,
    Positive,
    TunerName,
    one_of_kinds,
    settings,
)
from estimica.study.tables.listed_names import EquationNames, Names, several


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
        Field(
            description="Samples in a block of kind 'block'; by default chosen from the residuals."
        ),
    ] = None


def bootstrap_table(*tables: Mapping[str, Any]) -> BootstrapTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(BootstrapTable, "[bootstrap]", tables)


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
        Field(
            ge=2,
            le=PROFILE,
            description="Refits between the estimate and either end, approximately.",
        ),
        WHOLE,
    ] = 8


def profile_table(*tables: Mapping[str, Any]) -> ProfileTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(ProfileTable, "[profile]", tables)


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
            "values with noise, then disturbances, then single tuners, then noise in the states."
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
    max_steps: Annotated[
        int, Field(ge=1, le=RELEASES, description="Maximum number of steps."), WHOLE
    ] = 50


def release_table(*tables: Mapping[str, Any]) -> ReleaseTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(ReleaseTable, "[release]", tables)


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


LawName = Literal[
    "constant",
    "line",
    "power",
    "exponential",
    "logarithmic",
    "reciprocal",
    "arrhenius",
    "polynomial",
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class BackcalculateTable:
    """A relation that is left out, the variable that it hides, and laws tried on it."""

    compute: Annotated[
        Names, Field(description="Variables or parameters to be computed at every point.")
    ] = ()
    against: Annotated[
        Names,
        Field(
            description="What they may depend on: variables, or columns of the data; by default "
            "the inputs that change."
        ),
    ] = ()
    leave_out: Annotated[
        EquationNames,
        Field(
            description="Equations that do not hold: their text, or a name that stands in one "
            "of them only."
        ),
    ] = ()
    laws: Annotated[
        tuple[LawName, ...],
        BeforeValidator(several),
        Field(description="Laws that are tried; by default all."),
    ] = ()
    errors: Annotated[
        Literal["absolute", "relative"],
        Field(description="Whether errors are alike in size, or in proportion to the value."),
    ] = "absolute"
    max_degree: Annotated[int, Field(ge=2, le=9, description="Of polynomials."), WHOLE] = 4
    together: Annotated[
        int, Field(ge=1, le=3, description="Maximum number of regressors in one law."), WHOLE
    ] = 2


def backcalculate_table(*tables: Mapping[str, Any]) -> BackcalculateTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(BackcalculateTable, "[backcalculate]", tables)
