"""Tables: the study file as it is written; the one definition that reading and schema share."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from estimica.study.criterion import Criterion, Indicator
from estimica.study.fields.counts import CRITERIA
from estimica.study.fields.kinds import STRICT
from estimica.study.tables.fit_file import FitFile
from estimica.study.tables.inference import (
    BackcalculateTable,
    BootstrapTable,
    CrossvalidateTable,
    ProfileTable,
    ReleaseTable,
    SampleTable,
)
from estimica.study.tables.input_design import InputDesignTable
from estimica.study.tables.optimisation import MontecarloTable, OptimiseTable, SweepTable


@dataclass(frozen=True, config=STRICT, kw_only=True)
class StudyFile(FitFile):
    """A model, tuners, cases and the criterion: everything that a fit needs."""

    release: Annotated[ReleaseTable, Field(description="Read by `estimica release`.")] = Field(
        default_factory=ReleaseTable
    )
    bootstrap: Annotated[BootstrapTable, Field(description="Read by `estimica bootstrap`.")] = (
        Field(default_factory=BootstrapTable)
    )
    sample: Annotated[SampleTable, Field(description="Read by `estimica sample`.")] = Field(
        default_factory=SampleTable
    )
    profile: Annotated[ProfileTable, Field(description="Read by `estimica profile`.")] = Field(
        default_factory=ProfileTable
    )
    crossvalidate: Annotated[
        CrossvalidateTable, Field(description="Read by `estimica crossvalidate`.")
    ] = Field(default_factory=CrossvalidateTable)
    backcalculate: Annotated[
        BackcalculateTable, Field(description="Read by `estimica backcalculate`.")
    ] = Field(default_factory=BackcalculateTable)
    input_design: Annotated[
        InputDesignTable, Field(description="Read by `estimica design-input`.")
    ] = Field(default_factory=InputDesignTable)
    criterion: Annotated[
        tuple[Criterion, ...], Field(max_length=CRITERIA, description="Requirements of a design.")
    ] = ()
    optimise: Annotated[OptimiseTable, Field(description="Read by `estimica optimise`.")] = Field(
        default_factory=OptimiseTable
    )
    sweep: Annotated[SweepTable, Field(description="Read by `estimica sweep`.")] = Field(
        default_factory=SweepTable
    )
    montecarlo: Annotated[MontecarloTable, Field(description="Read by `estimica montecarlo`.")] = (
        Field(default_factory=MontecarloTable)
    )
    indicator: Annotated[
        tuple[Indicator, ...],
        Field(max_length=CRITERIA, description="Plots that are drawn for every design."),
    ] = ()

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Requirements of a design."""
        return self.criterion

    @property
    def indicators(self) -> tuple[Indicator, ...]:
        """Plots that are drawn for every design."""
        return self.indicator

    @property
    def backwards(self) -> BackcalculateTable:
        """What is computed backwards."""
        return self.backcalculate
