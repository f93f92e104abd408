"""Criterion: one number that says how good a design is in one case; smaller is better. Indicator: a
named plot of trajectories, drawn for every design."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import DesignError
from estimica.study.fields.kinds import (
    NUMBER,
    STRICT,
    TABLE,
    TEXT,
    CaseName,
    Finite,
    Positive,
    Truth,
    VariableName,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)

Kind = Literal[
    "overshoot",
    "undershoot",
    "rise-time",
    "settling-time",
    "peak",
    "final",
    "steady-state-error",
    "rms",
    "iae",
    "ise",
    "itae",
    "maximum",
    "minimum",
    "mean",
    "integral",
    "energy",
    "value",
    "function",
]
Role = Literal["minimise", "at-most", "equal", "watch"]

Reference = Annotated[
    Annotated[VariableName, Tag(TEXT)] | Annotated[Finite, Tag(NUMBER)],
    one_of_kinds("a variable or an expression in quotes, or a number"),
]
PerCase = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[dict[CaseName, Positive], Tag(TABLE)],
    one_of_kinds("a positive number, or a table { case = number }"),
]


def not_reached_text(kind: str) -> str:
    """What is said where a window ends before a criterion of this kind has a value."""
    return "not settled" if kind == "settling-time" else "not reached"


@with_own_errors(DesignError, "O001", display_name("criterion", "name"))
@dataclass(frozen=True, config=STRICT)
class Criterion:
    """What is asked of a design: a measure of one trajectory, and the value that satisfies."""

    name: Annotated[str, Field(min_length=1, description="What it is called in tables and plots.")]
    of: Annotated[
        VariableName,
        Field(
            description="The variable, or an expression in variables, parameters and time. For "
            "kind 'value' an expression in tuners needs no model."
        ),
    ] = ""
    kind: Annotated[Kind, Field(description="Which measure of the trajectory.")] = "value"
    reference: Annotated[
        Reference | None,
        Field(description="What it should follow: a variable, an expression or a number."),
    ] = None
    demand: Annotated[
        PerCase,
        Field(description="The value that is good enough; the criterion counts as value/demand."),
    ] = 1.0
    weight: Annotated[
        PerCase,
        Field(
            description="How much value/demand counts beside the others that are made small; what "
            "satisfies stays the same."
        ),
    ] = 1.0
    role: Annotated[
        Role,
        Field(description="Made small, kept at most or equal to its demand, or only watched."),
    ] = "minimise"
    from_: Annotated[Finite | None, Field(alias="from", description="Where its window begins.")] = (
        None
    )
    to: Annotated[Finite | None, Field(description="Where its window ends.")] = None
    at_rest: Annotated[
        Truth, Field(description="Its window begins where the reference has come to rest.")
    ] = False
    band: Annotated[
        Positive | None,
        Field(description="Settling: half the width of the band, in units of `of`."),
    ] = None
    tolerance: Annotated[
        float,
        Field(gt=0, lt=1, description="Settling: the band as a share of the step, without `band`."),
    ] = 0.02
    levels: Annotated[
        tuple[float, float], Field(description="Rise: the shares of the step that it lies between.")
    ] = (0.1, 0.9)
    function: Annotated[
        str | None, Field(description="Kind 'function': `file.py:function` of the trajectory.")
    ] = None
    cases: Annotated[
        tuple[CaseName, ...], Field(description="Cases that it is taken in; by default all.")
    ] = ()
    unit: Annotated[str, Field(description="Its unit, for tables.")] = ""
    active: Annotated[Truth, Field(description="If false it is left out.")] = True

    def __post_init__(self) -> None:
        if self.kind == "function":
            if not self.function:
                raise field_error("O002", "kind 'function' needs function = \"file.py:function\"")
        elif not self.of:
            raise field_error(
                "O003", f"kind '{self.kind}' needs of = \"a variable or an expression\""
            )
        if self.from_ is not None and self.to is not None and self.from_ >= self.to:
            raise field_error("O004", f"from {self.from_:g} is not before to {self.to:g}")
        low, high = self.levels
        if not 0 <= low < high <= 1:
            raise field_error(
                "O005", f"levels [{low:g}, {high:g}] are not two shares between 0 and 1"
            )
        if self.at_rest and self.reference is None:
            raise field_error("O006", "at_rest needs a reference that comes to rest")

    def demand_in(self, case: str) -> float:
        """The demand in one case."""
        return _in_case(self.demand, case)

    def weight_in(self, case: str) -> float:
        """The weight in one case; only what is made small is weighed."""
        return _in_case(self.weight, case) if self.role == "minimise" else 1.0


def _in_case(given: float | dict[str, float], case: str) -> float:
    return given.get(case, 1.0) if isinstance(given, dict) else given


@with_own_errors(DesignError, "O001", display_name("indicator", "name"))
@dataclass(frozen=True, config=STRICT)
class Indicator:
    """What a person looks at to compare two designs."""

    name: Annotated[str, Field(min_length=1, description="The title of the plot.")]
    show: Annotated[
        tuple[VariableName, ...], Field(description="Variables or expressions, drawn in one panel.")
    ] = ()
    cases: Annotated[
        tuple[CaseName, ...], Field(description="Cases that it is drawn for; by default all.")
    ] = ()
    from_: Annotated[Finite | None, Field(alias="from", description="Where it begins.")] = None
    to: Annotated[Finite | None, Field(description="Where it ends.")] = None

    def __post_init__(self) -> None:
        if not self.show:
            raise field_error("O007", "show is empty; name what is drawn")
