"""Stages of a case: a steady start, and doses and switches at given times."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.simulate.staged.plan import Stage, StagePlan, SteadyStart, value_pairs
from estimica.study.fields.kinds import (
    NUMBER,
    SECONDS,
    STRICT,
    TABLE,
    TEXT,
    Finite,
    InputName,
    ParameterName,
    VariableName,
    display_name,
    one_of_kinds,
    with_own_errors,
)

Fixed = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[str, Tag(TEXT)],
    one_of_kinds('a number, or an expression in tuners "…"'),
]

#: how long a model is left alone until it counts as being in its steady state, in its own unit of
#: time. Steps grow as it settles, so that a long time costs little; the slowest rates of the
#: PEtab benchmark collection are 1e-4 a unit
SETTLING = 1e6


@with_own_errors(CaseError, "C001", display_name("change"))
@dataclass(frozen=True, config=STRICT)
class Change:
    """What is done to an experiment at a given time; a sample at that time sees it done."""

    time: Annotated[Finite, SECONDS, Field(description="When it happens.")]
    add: Annotated[
        dict[VariableName, Fixed],
        Field(description="What is added to states: a number, or an expression in tuners."),
    ] = Field(default_factory=dict)
    set_: Annotated[
        dict[VariableName, Fixed],
        Field(
            alias="set",
            description="What states, parameters or inputs are from then on: a number, or an "
            "expression in tuners.",
        ),
    ] = Field(default_factory=dict)


@with_own_errors(CaseError, "C001", display_name("steady state"))
@dataclass(frozen=True, config=STRICT)
class Steady:
    """Conditions of the steady state from which a case begins, where they differ from its own."""

    inputs: Annotated[
        dict[InputName, Finite], Field(description="Inputs there: name = number.")
    ] = Field(default_factory=dict)
    fix: Annotated[
        dict[ParameterName, Fixed],
        Field(description="Parameters there: a number, or an expression in tuners."),
    ] = Field(default_factory=dict)


@with_own_errors(CaseError, "C001", display_name("begin"))
@dataclass(frozen=True, config=STRICT)
class Beginning:
    """Where and how the simulation begins."""

    time: Annotated[Finite | None, Field(description="Where the simulation begins.")] = None
    steady: Annotated[
        Steady | None,
        Field(description="It begins from the steady state under these conditions."),
    ] = None


Begin = Annotated[
    Annotated[Finite, Tag(NUMBER)]
    | Annotated[Literal["steady"], Tag(TEXT)]
    | Annotated[Beginning, Tag(TABLE)],
    one_of_kinds('a time, "steady", or a table { time, steady = { inputs, fix } }'),
]


def staging_of(
    name: str, begin: float | str | Beginning | None, changes: tuple[Change, ...]
) -> StagePlan:
    """What a case asks of its simulation."""
    steady = Steady() if begin == "steady" else None
    if isinstance(begin, Beginning):
        steady = begin.steady
    rest = None
    if steady is not None:
        rest = SteadyStart(tuple(steady.inputs.items()), value_pairs(steady.fix))
    ordered = sorted(changes, key=lambda c: c.time)
    stages = tuple(Stage(c.time, value_pairs(c.add), value_pairs(c.set_)) for c in ordered)
    return StagePlan(rest, stages, name)
