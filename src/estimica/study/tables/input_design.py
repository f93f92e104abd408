"""The `[input_design]` table: which inputs are considered, and what makes one the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.study.fields.counts import LINE, PIECES, SEED, STARTS
from estimica.study.fields.kinds import (
    HERTZ,
    LIST,
    NUMBER,
    SECONDS,
    STRICT,
    TABLE,
    TEXT,
    WHOLE,
    CaseName,
    Finite,
    InputName,
    Number,
    OutputName,
    Positive,
    Truth,
    TunerName,
    VariableName,
    field_error,
    one_of_kinds,
    settings,
)

Count = Annotated[int, Field(ge=1, le=LINE), WHOLE]
MOST = 200_000  # values of a span: each is a simulation, and a list of all is held
_FREE = ("min", "max", "rate", "limits", "pieces", "robust")  # keys of kind "free" alone


@dataclass(frozen=True, config=STRICT)
class Span:
    """Values from one end to the other, both included."""

    from_: Annotated[Finite, Field(alias="from", description="The first value.")]
    to: Annotated[Finite, Field(description="The last value.")]
    count: Annotated[int, Field(ge=1, le=MOST, description="How many values."), WHOLE] = 11
    spacing: Annotated[
        Literal["linear", "log"], Field(description="Equal steps, or equal ratios.")
    ] = "linear"

    def __post_init__(self) -> None:
        if self.spacing == "log" and not (self.from_ > 0 and self.to > 0):
            raise field_error(
                "Q030", "spacing 'log' needs two positive ends; write spacing = \"linear\""
            )

    def values(self) -> tuple[float, ...]:
        """All values, in order."""
        if self.count == 1:
            return (self.from_,)
        low, high = self.from_, self.to
        if self.spacing == "log":
            low, high = math.log(low), math.log(high)
        inner = [low + (high - low) * k / (self.count - 1) for k in range(1, self.count - 1)]
        inner = [math.exp(v) for v in inner] if self.spacing == "log" else inner
        return (self.from_, *inner, self.to)


@dataclass(frozen=True, config=STRICT)
class Limits:
    """Between which values a quantity must stay."""

    min: Annotated[Number, Field(description="Smallest value.")] = -math.inf
    max: Annotated[Number, Field(description="Largest value.")] = math.inf

    def __post_init__(self) -> None:
        if self.min >= self.max:
            raise field_error("Q031", f"min {self.min:g} is not below max {self.max:g}; swap them")


NAMES = one_of_kinds("a name, or a list of names")
SeveralInputs = Annotated[
    Annotated[InputName, Tag(TEXT)] | Annotated[tuple[InputName, ...], Tag(LIST)], NAMES
]
SeveralOutputs = Annotated[
    Annotated[OutputName, Tag(TEXT)] | Annotated[tuple[OutputName, ...], Tag(LIST)], NAMES
]
SeveralTuners = Annotated[
    Annotated[TunerName, Tag(TEXT)] | Annotated[tuple[TunerName, ...], Tag(LIST)], NAMES
]
Grid = Annotated[
    Annotated[tuple[Finite, ...], Tag(LIST)] | Annotated[Span, Tag(TABLE)],
    one_of_kinds("a list of values, or a table { from, to, count, spacing }"),
]
PerInput = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[dict[InputName, Finite], Tag(TABLE)],
    one_of_kinds("a number, or a table { input = number }"),
]
PerOutput = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[dict[OutputName, Positive], Tag(TABLE)],
    one_of_kinds("a standard deviation, or a table { output = standard deviation }"),
]
Other = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[dict[str, Any], Tag(TABLE)],
    one_of_kinds('a number, or a signal { signal = "square", frequency = … }'),
]
Energy = Annotated[
    Annotated[Literal["class"], Tag(TEXT)] | Annotated[Positive, Tag(NUMBER)],
    one_of_kinds('a positive number, or "class"'),
]
Lines = Annotated[
    Annotated[tuple[Count, ...], Tag(LIST)] | Annotated[Span, Tag(TABLE)],
    one_of_kinds("a list of whole numbers, or a table { from, to, count, spacing }"),
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class InputDesignTable:
    """Which inputs are considered, and what makes one the best.

    Keys of kind "class": signal, fixed, vary, refine, hold. Of "multisine": fundamental, lines,
    energy, fixed (offset). Of "free": min, max, rate, energy, limits, pieces, robust, worst,
    starts, seed, and for energy = "class" also those of "class". All others serve every kind.
    """

    kind: Annotated[
        Literal["class", "multisine", "free"],
        Field(
            description="A class of signals over one or two of their parameters, a sum of sines, "
            "or any course within limits."
        ),
    ] = "class"
    input: Annotated[
        SeveralInputs,
        Field(description="The input to design, or several; by default the only one."),
    ] = ()
    outputs: Annotated[
        SeveralOutputs,
        Field(description="What is measured; by default the outputs of the case or model."),
    ] = ()
    case: Annotated[
        CaseName,
        Field(
            description="The case whose other inputs, fixed parameters and start values hold; "
            "by default the first."
        ),
    ] = ""
    others: Annotated[
        dict[InputName, Other],
        Field(description="The other inputs: a number, or a signal with its parameters."),
    ] = Field(default_factory=dict)
    step: Annotated[
        Positive | None,
        SECONDS,
        Field(description="Seconds between samples; by default as in the data of the case."),
    ] = None
    duration: Annotated[
        Positive | None,
        SECONDS,
        Field(description="Seconds of the whole experiment: duration/step samples from 0 on."),
    ] = None
    hold: Annotated[
        Literal["previous", "linear", "exact"],
        Field(description="What the input does between samples; 'exact': as its formula says."),
    ] = "previous"
    # -- what makes an input good
    criterion: Annotated[
        Literal["R", "S_min", "D", "A", "E"],
        Field(
            description="What chooses: least R, greatest S_min, greatest determinant (D), least "
            "mean variance (A), least variance in the worst direction (E). By default R; D for a "
            "free course, since R does not ask for much information."
        ),
    ] = None  # type: ignore[assignment]  # depends on the kind
    tuners: Annotated[
        SeveralTuners,
        Field(description="Tuners that count, the others being unknown too; by default all."),
    ] = ()
    weights: Annotated[
        dict[TunerName, Positive],
        Field(description="How much the sensitivity of a tuner counts; 1 where none is given."),
    ] = Field(default_factory=dict)
    sigma: Annotated[
        PerOutput | None,
        Field(
            description="Noise of the outputs; with it, standard errors are reported, and D, A and "
            "E are of the covariance to be expected. By default the sigma of the case."
        ),
    ] = None
    # -- a class of signals
    signal: Annotated[
        str, Field(description="step, staircase, square, square-ramp, sine, prbs, chirp, noise, …")
    ] = "square"
    fixed: Annotated[
        dict[str, Any], Field(description="Parameters of the signal that keep a value.")
    ] = Field(default_factory=dict)
    vary: Annotated[
        dict[str, Grid],
        Field(description="One or two parameters of the signal, with the values to be tried."),
    ] = Field(default_factory=dict)
    refine: Annotated[
        Truth, Field(description="Search on between the best value and its neighbours.")
    ] = False
    # -- a sum of sines
    fundamental: Annotated[
        Positive | None, HERTZ, Field(description="Hz between lines; by default 1/duration.")
    ] = None
    lines: Annotated[
        Lines | None,
        Field(description="Multiples of the fundamental that may be used; by default 1 to 50."),
    ] = None
    energy: Annotated[
        Energy | None,
        Field(
            description="Mean of u², Σu²·h/duration (of a multisine: around its offset, 0.5 by "
            "default; of a free course: around its offset, by default the middle of min and max). "
            "'class': as much as the best of the class of signals has."
        ),
    ] = None
    # -- a free course
    min: Annotated[PerInput | None, Field(description="Smallest value of the input.")] = None
    max: Annotated[PerInput | None, Field(description="Largest value of the input.")] = None
    rate: Annotated[
        PerInput | None, Field(description="Largest change of the input, per second.")
    ] = None
    limits: Annotated[
        dict[VariableName, Limits],
        Field(description="Outputs and other variables that must stay within { min, max }."),
    ] = Field(default_factory=dict)
    pieces: Annotated[
        int | None,
        Field(
            ge=1,
            le=PIECES,
            description="Free values of each input; by default one for each sample.",
        ),
        WHOLE,
    ] = None
    robust: Annotated[
        dict[TunerName, Grid],
        Field(
            description="Tuners that may lie in a range: values to be counted, or "
            "{ from, to, count, spacing }; the design is good on average over them."
        ),
    ] = Field(default_factory=dict)
    worst: Annotated[
        Truth, Field(description="The worst of the robust values counts, not their mean.")
    ] = False
    starts: Annotated[int, Field(ge=1, le=STARTS, description="Starts of the search."), WHOLE] = 4
    seed: Annotated[int, Field(ge=0, le=SEED, description="Of the random starts."), WHOLE] = 1

    def __post_init__(self) -> None:
        if self.criterion is None:
            object.__setattr__(self, "criterion", "D" if self.kind == "free" else "R")
        for key in ("vary", "robust"):
            for name, grid in getattr(self, key).items():
                if not isinstance(grid, Span) and not grid:
                    raise field_error(
                        "Q032", f"{key}: {name}: the list is empty; give values to be tried"
                    )

    @property
    def input_names(self) -> tuple[str, ...]:
        """The inputs to design; empty for the only one."""
        return names_of(self.input)

    def idle_notes(self) -> list[str]:
        """Which keys were given that mean nothing for this kind."""
        keys = {"class": _FREE, "multisine": (*_FREE, "vary"), "free": ()}[self.kind]
        given = [k for k in keys if getattr(self, k)]
        return [f'Not used for kind = "{self.kind}": {", ".join(given)}'] if given else []


def values_of(grid: tuple[float, ...] | Span) -> tuple[float, ...]:
    """The values of a list or of a span."""
    return grid.values() if isinstance(grid, Span) else grid


def names_of(several: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name, or several, as a list."""
    return (several,) if isinstance(several, str) else several


def input_design_table(*tables: Mapping[str, Any]) -> InputDesignTable:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    return settings(InputDesignTable, "[input_design]", tables)
