"""Estimation: how disagreement is scored, how the best values are searched, and by what."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.base.errors import StudyError
from estimica.study.fields.counts import ELEMENTS, ITERATIONS, SEED, SEGMENTS, SOLVER_STEPS, STARTS
from estimica.study.fields.kinds import (
    REAL,
    SECONDS,
    STRICT,
    WHOLE,
    Positive,
    display_name,
    field_error,
    with_own_errors,
)

if TYPE_CHECKING:
    from estimica.simulate.engine.options import Options

Loss = Literal["squared", "huber", "soft-l1", "cauchy"]
Method = Literal["levenberg-marquardt", "gauss-newton", "steepest-descent"]
Transcription = Literal["shooting", "multiple-shooting", "collocation"]
GapHandling = Literal["split", "bridge"]
#: criteria that are likelihoods: of measured noise alone, and of noise in the states too
LIKELIHOODS = ("ml", "prediction")


@with_own_errors(StudyError, "Q002", display_name("estimation"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Estimation:
    """The `[estimate]` table."""

    criterion: Annotated[
        str,
        Field(
            description="'oe', 'ml', 'prediction' (with noise in the states), an expression in "
            "residual, weight, time, dt, measured and simulated whose sum is minimised, or "
            "'file.py:function'."
        ),
    ] = "oe"
    loss: Annotated[Loss, Field(description="How strongly large residuals count.")] = "squared"
    loss_scale: Annotated[
        Positive | None,
        Field(description="Where a robust loss bends, in weighted residuals; found by default."),
    ] = None
    method: Annotated[Method, Field(description="The search.")] = "levenberg-marquardt"
    transcription: Annotated[
        Transcription, Field(description="How the simulation enters the search.")
    ] = "shooting"
    gaps: Annotated[
        GapHandling,
        Field(
            description="Where inputs or whole rows are missing for long: a case is split into "
            "stretches with start values of their own, or bridged with its inputs held."
        ),
    ] = "split"
    starts: Annotated[
        int, Field(ge=1, le=STARTS, description="Number of starts; the first is given."), WHOLE
    ] = 1
    seed: Annotated[int, Field(ge=0, le=SEED, description="Seed of everything random."), WHOLE] = 1
    max_iterations: Annotated[
        int, Field(ge=1, le=ITERATIONS, description="Maximum number of steps of the search."), WHOLE
    ] = 1000  # Bennett5 of NIST creeps along a valley for 545 and gains in every step
    tolerance: Annotated[
        float,
        Field(gt=0, lt=1, description="Relative change of cost or tuners that ends the search."),
        REAL,
    ] = 1e-8
    max_seconds: Annotated[
        float,
        SECONDS,
        Field(gt=0, description="Time limit in seconds; the best so far is then the result."),
        REAL,
    ] = math.inf
    segments: Annotated[
        Annotated[int, Field(ge=2, le=SEGMENTS), WHOLE] | None,
        Field(description="Multiple shooting: pieces of each case."),
    ] = None
    elements: Annotated[
        Annotated[int, Field(ge=1, le=ELEMENTS), WHOLE] | None,
        Field(description="Collocation: elements of each case."),
    ] = None
    degree: Annotated[
        int, Field(ge=1, le=9, description="Collocation: points per element."), WHOLE
    ] = 3

    def __post_init__(self) -> None:
        if self.loss != "squared" and self.criterion == "prediction":
            raise field_error(
                "Q148",
                f"loss '{self.loss}' does not go with criterion 'prediction', which is the "
                "likelihood of normal noise; leave the loss out",
            )
        if self.loss != "squared" and self.criterion not in ("oe", "ml"):
            raise field_error(
                "Q148",
                f"loss '{self.loss}' bends the squares of criterion 'oe' or 'ml'; your own "
                f"criterion '{self.criterion}' says itself how large residuals count: leave the "
                "loss out, or write its shape into the criterion",
            )


@with_own_errors(StudyError, "Q002", display_name("solver"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Solver:
    """The `[solver]` table: tolerances and limits of each simulation."""

    rtol: Annotated[float, Field(ge=1e-14, lt=1, description="Relative tolerance."), REAL] = 1e-6
    atol: Annotated[Positive, Field(description="Absolute tolerance in nominal units.")] = 1e-8
    method: Annotated[
        Literal["auto", "explicit", "implicit", "implicit-euler"],
        Field(description="Integration method."),
    ] = "auto"
    step: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False), REAL] | None,
        SECONDS,
        Field(description="Length of the steps of implicit-euler, which controls no error."),
    ] = None
    max_step: Annotated[float, SECONDS, Field(gt=0, description="Longest step."), REAL] = math.inf
    max_steps: Annotated[
        int,
        Field(ge=1, le=SOLVER_STEPS, description="Maximum number of steps between two samples."),
        WHOLE,
    ] = 100_000
    max_seconds: Annotated[
        float,
        SECONDS,
        Field(gt=0, description="Time limit in seconds for one simulation."),
        REAL,
    ] = math.inf

    def __post_init__(self) -> None:
        if self.method == "implicit-euler" and self.step is None:
            raise field_error(
                "Q149", "method 'implicit-euler' has steps of one length; give it: step = 0.1"
            )

    @property
    def options(self) -> Options:
        """The same as a simulation takes it."""
        from estimica.simulate.engine.options import Options

        return Options(
            rtol=self.rtol,
            atol=self.atol,
            method=self.method,
            step=(self.step or 0.0) if self.method == "implicit-euler" else 0.0,
            max_step=self.max_step,
            max_steps=self.max_steps,
            max_seconds=self.max_seconds,
        )


Backend = Literal["auto", "scalar", "vector", "cuda"]


@with_own_errors(StudyError, "Q002", display_name("execute"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Execution:
    """The `[execute]` table: what computes the same model at many values of its tuners."""

    backend: Annotated[
        Backend,
        Field(
            description="What simulates many members of one model: 'scalar' one after the other, "
            "'vector' several at once in the vector units of the processor, 'cuda' on a graphics "
            "card; 'auto' chooses by their number and by what there is."
        ),
    ] = "auto"
