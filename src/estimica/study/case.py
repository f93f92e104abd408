"""Case: one experiment: its data, inputs, outputs, fixed parameters and free start values."""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from typing import Annotated, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, WithJsonSchema
from pydantic.dataclasses import dataclass

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import CaseError, DataError
from estimica.base.signals import Hold
from estimica.compiled.model.interface import OperatingPoint
from estimica.data.calendar import Calendar
from estimica.data.table import Data
from estimica.simulate.staged.plan import StagePlan
from estimica.study.estimation import GapHandling
from estimica.study.fields.counts import CHANGES
from estimica.study.fields.kinds import (
    LIST,
    NUMBER,
    SECONDS,
    STRICT,
    TABLE,
    TEXT,
    TRUTH,
    ColumnName,
    Finite,
    InputName,
    Number,
    Offer,
    OutputName,
    ParameterName,
    Positive,
    StateName,
    Truth,
    VariableName,
    display_name,
    field_error,
    one_of_kinds,
    with_own_errors,
)
from estimica.study.fields.moments import (
    Moment,
    is_after,
    number_of_moment,
    seconds_at,
    shown_moment,
)
from estimica.study.fields.noise import DetectionLimits as DetectionLimits
from estimica.study.fields.noise import Sigma as Sigma
from estimica.study.prefilter import PrefilterField
from estimica.study.reading import Reading
from estimica.study.response_columns import (
    RESPONSE,
    ResponseColumns,
    kind_of_output,
    require_frequency,
    require_time,
)
from estimica.study.stages import Begin, Beginning, Change, Fixed, staging_of
from estimica.study.tuner import Prior


@with_own_errors(CaseError, "C001", display_name("input column", "column"))
@dataclass(frozen=True, config=STRICT)
class InputColumn:
    """Where an input comes from: value = scale · column + offset."""

    column: Annotated[ColumnName, Field(description="The column of the data.")]
    hold: Annotated[Hold, Field(description="What it does between two stamps.")] = Hold.PREVIOUS
    scale: Annotated[Finite | None, Field(description="Factor to the model's unit.")] = None
    offset: Annotated[Finite | None, Field(description="Added after scaling.")] = None
    unit: Annotated[
        str | None,
        Field(description="Unit of the (scaled) column, which is converted to the model's."),
    ] = None
    unwrap: Annotated[
        Positive | None, Field(description="Period of an angle that wraps around, as 360.")
    ] = None
    sigma: Annotated[
        Positive | None,
        Field(description="Standard deviation of its errors, which are estimated; without time."),
    ] = None


@with_own_errors(CaseError, "C001", display_name("start value"))
@dataclass(frozen=True, config=STRICT)
class StartValue:
    """A quantity of one case that is estimated together with the tuners."""

    start: Annotated[
        Finite | None, Field(description="Where the search begins; by default the model's value.")
    ] = None
    min: Annotated[Number, Field(description="Lower bound.")] = -math.inf
    max: Annotated[Number, Field(description="Upper bound.")] = math.inf
    prior: Annotated[Prior | None, Field(description="Prior knowledge.")] = None

    def __post_init__(self) -> None:
        if self.min >= self.max:
            raise field_error("C012", f"min {self.min:g} is not below max {self.max:g}; swap them")
        if self.start is not None and not self.min <= self.start <= self.max:
            bounds = f"{self.min:g} … {self.max:g}"
            raise field_error("C013", f"start {self.start:g} is outside its bounds {bounds}")


Noise = Annotated[
    Annotated[Positive, Tag(NUMBER)] | Annotated[str, Tag(TEXT)] | Annotated[Sigma, Tag(TABLE)],
    one_of_kinds('a positive number, a formula "a + b*y", or a table { min, max, shared, column }'),
]
Disturbance = Annotated[
    Annotated[Truth, Tag(TRUTH)] | Annotated[StartValue, Tag(TABLE)],
    one_of_kinds("true, or a table { start, min, max }"),
]


@with_own_errors(CaseError, "C001", display_name("output column", "column"))
@dataclass(frozen=True, config=STRICT)
class OutputColumn:
    """What an output is compared with: scale · column + offset, and how much it counts."""

    column: Annotated[ColumnName, Field(description="The column of the data.")]
    weight: Annotated[Positive | None, Field(description="Multiplies the residual.")] = None
    sigma: Annotated[
        Noise | None,
        Field(
            description="Standard deviation of the noise: a number, a formula in tuners, outputs, "
            "inputs, columns and time, or a table { min, max, shared } or { column }."
        ),
    ] = None
    distribution: Annotated[
        Literal["normal", "laplace"], Field(description="How the noise is distributed.")
    ] = "normal"
    limits: Annotated[
        DetectionLimits | None,
        Field(description="Detection limits { min, max }: values beyond are censored."),
    ] = None
    scale: Annotated[Finite | None, Field(description="Factor to the model's unit.")] = None
    offset: Annotated[Finite | None, Field(description="Added after scaling.")] = None
    unit: Annotated[
        str | None,
        Field(description="Unit of the (scaled) column, which is converted to the model's."),
    ] = None
    unwrap: Annotated[
        Positive | None, Field(description="Period of an angle that wraps around, as 360.")
    ] = None
    transform: Annotated[
        str | None,
        Field(description="Compare a function of both: 'log', or an expression in `value`."),
    ] = None
    disturbance: Annotated[
        Disturbance, Field(description="A free constant is added to the simulated output.")
    ] = False
    prefilter: PrefilterField = None
    expression: Annotated[
        str | None,
        Field(
            description="What was measured as a formula of variables and tuners, in Modelica "
            "syntax; its name is then a new one."
        ),
    ] = None


Input = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[Finite, Tag(NUMBER)] | Annotated[InputColumn, Tag(TABLE)],
    one_of_kinds('a column "…", a number, or a table { column = "…", … }'),
]
Output = Annotated[
    Annotated[str, Tag(TEXT)]
    | Annotated[OutputColumn, Tag(TABLE)]
    | Annotated[ResponseColumns, Tag(RESPONSE)],
    Discriminator(
        kind_of_output,
        custom_error_type="kind",
        custom_error_message='write a column "…", or a table { column = "…", … }',
    ),
]
Start = Annotated[
    Annotated[Finite, Tag(NUMBER)] | Annotated[StartValue, Tag(TABLE)],
    one_of_kinds("a number, or a table { start, min, max }"),
]
FreeStart = Annotated[
    Annotated[tuple[StateName, ...], Tag(LIST)] | Annotated[dict[StateName, Start], Tag(TABLE)],
    one_of_kinds("a list of names, or a table { name = start }"),
]
Columns = Annotated[
    object,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            "description": "The file with the measurements; a name with * or a list of names makes "
            "a case of each file.",
        }
    ),
    Offer("path", "data"),
]


@with_own_errors(CaseError, "C001", display_name("case", "name"))
@dataclass(frozen=True, config=STRICT)
class Case:
    """One experiment.

    `data` is a path, a Data, or a pandas object; a case of a design needs none. The simulation
    begins at `begin`, by default the first time stamp; samples outside `from` … `to` or within
    `exclude` do not count.
    """

    name: Annotated[str, Field(description="What it is called in tables and plots.", min_length=1)]
    data: Columns = None
    inputs: Annotated[
        dict[InputName, Input],
        Field(description="Inputs of the model: a column, a number, or a table of details."),
    ] = Field(default_factory=dict)
    outputs: Annotated[
        dict[OutputName, Output],
        Field(description="Variables that were measured: a column, or a table of details."),
    ] = Field(default_factory=dict)
    free_start: Annotated[
        FreeStart,
        Field(description="Start values to estimate too: names, or a table of starts and bounds."),
    ] = ()
    own_starts: Annotated[
        dict[str, dict[StateName, Finite]],
        Field(
            description="Where the search for start values begins in a stretch behind a gap, or in "
            "one of several files, by its name; `estimica use` writes it."
        ),
    ] = Field(default_factory=dict)
    fix: Annotated[
        dict[ParameterName, Fixed],
        Field(
            description="Parameters and start values of this case: a number, or an expression in "
            "tuners."
        ),
    ] = Field(default_factory=dict)
    role: Annotated[
        Literal["calibrate", "validate"],
        Field(description="Whether tuners are estimated from it, or only validated on it."),
    ] = "calibrate"
    time: Annotated[ColumnName | None, Field(description="The column with the time stamps.")] = None
    time_scale: Annotated[
        Positive | None, SECONDS, Field(description="Seconds in one unit of the time column.")
    ] = None
    frequency: Annotated[
        ColumnName | None,
        Field(description="The column with the frequencies in Hz: a frequency response."),
    ] = None
    angular_frequency: Annotated[
        ColumnName | None, Field(description="The same with the frequencies in rad/s.")
    ] = None
    operating_point: Annotated[
        OperatingPoint | None,
        Field(
            description="Where a frequency response is taken: in the steady state (default), or "
            "at the start values."
        ),
    ] = None
    begin: Annotated[
        Begin | None,
        Field(
            description='Where the simulation begins: a time, or "steady": from the steady state '
            "at the first inputs."
        ),
    ] = None
    stop: Annotated[
        Finite | None,
        Field(description="Where the simulation of a design ends; a fit ends with the data."),
    ] = None
    from_: Annotated[
        Moment | None,
        Field(alias="from", description="Samples before it do not count: seconds, or a date."),
    ] = None
    to: Annotated[
        Moment | None, Field(description="Samples after it do not count: seconds, or a date.")
    ] = None
    exclude: Annotated[
        tuple[tuple[Moment, Moment], ...],
        Field(description="Stretches that do not count: two times in seconds, or two dates."),
    ] = ()
    gaps: Annotated[
        GapHandling | None,
        Field(
            description="What is done where inputs or whole rows are missing for long: the case is "
            "split into stretches with start values of their own, or bridged; by default as all "
            "cases are."
        ),
    ] = None
    prefilter: PrefilterField = None
    join: Annotated[
        Truth,
        Field(description="Of several files: they are parts of one record, one after the other."),
    ] = False
    sheet: Annotated[str | None, Field(description="The sheet of a workbook.")] = None
    reading: Annotated[
        Reading | None,
        Field(
            description="How the file is read, where that is not detected; overrides `[reading]`."
        ),
    ] = None
    active: Annotated[Truth, Field(description="If false it is left out.")] = True
    change: Annotated[
        tuple[Change, ...],
        Field(max_length=CHANGES, description="Doses and switches at given times."),
    ] = ()
    without: Annotated[
        tuple[VariableName, ...],
        Field(description="What this case leaves out of the columns of all cases."),
    ] = ()

    def __post_init__(self) -> None:
        from estimica.data.readers import as_data

        several = isinstance(self.data, tuple) and all(isinstance(f, str) for f in self.data)
        if not (self.data is None or several or isinstance(self.data, (str, PathLike, Data))):
            object.__setattr__(self, "data", as_data(self.data))
        if isinstance(self.data, Data):
            self._in_seconds(self.data)
        if is_after(self.from_, self.to) or (self.from_ is not None and self.from_ == self.to):
            raise field_error(
                "C014", f"from {shown_moment(self.from_)} is not before to {shown_moment(self.to)}"
            )
        for a, b in self.exclude:
            if is_after(a, b):
                raise field_error(
                    "C015", f"exclude [{shown_moment(a)}, {shown_moment(b)}] does not go forward"
                )

        if self.staging and self.is_frequency:
            raise field_error("C065", 'a frequency response has no begin = "steady" and no change')
        if self.staging.rest is not None and self.free_start:
            raise field_error(
                "C066", "what begins in the steady state has no free_start; leave out one"
            )
        if self.is_frequency:
            require_frequency(self)
        else:
            require_time(self)

    def _in_seconds(self, data: Data) -> None:
        """Dates become seconds as soon as the table is there that says what 0 s is."""
        dated = [self.from_, self.to, *(m for stretch in self.exclude for m in stretch)]
        if not any(isinstance(m, str) for m in dated):
            return
        try:
            origin = data.origins.get(data.time_name(self.time))
        except DataError:
            return  # whoever needs the time tells
        calendar = Calendar.of(origin) if origin else None
        for key, word in (("from_", "from"), ("to", "to")):
            moment = getattr(self, key)
            if moment is not None:
                object.__setattr__(self, key, seconds_at(moment, calendar, word))
        stretches = [
            (seconds_at(a, calendar, "exclude"), seconds_at(b, calendar, "exclude"))
            for a, b in self.exclude
        ]
        object.__setattr__(self, "exclude", tuple(stretches))

    def with_seconds(self, data: Data) -> Case:
        """The case with its dates in seconds of the data."""
        dated = [self.from_, self.to, *(m for stretch in self.exclude for m in stretch)]
        return replace(self, data=data) if any(isinstance(m, str) for m in dated) else self

    def counts(self, time: Vector) -> Flags:
        """Which of these times lie within `from` … `to` and outside of `exclude`."""
        counted = np.ones(len(time), bool)
        if self.from_ is not None:
            counted &= time >= number_of_moment(self.from_)
        if self.to is not None:
            counted &= time <= number_of_moment(self.to)
        for a, b in self.exclude:
            counted &= (time < number_of_moment(a)) | (time > number_of_moment(b))
        return counted

    @property
    def is_frequency(self) -> bool:
        """Whether the data are a frequency response."""
        return self.frequency is not None or self.angular_frequency is not None

    @property
    def columns_of_inputs(self) -> dict[str, float | InputColumn]:
        """Inputs with the short form written out."""
        return {n: InputColumn(c) if isinstance(c, str) else c for n, c in self.inputs.items()}

    @property
    def columns_of_outputs(self) -> dict[str, OutputColumn]:
        """Outputs over time with the short form written out."""
        if self.is_frequency:
            return {}
        return {
            n: OutputColumn(c) if isinstance(c, str) else c
            for n, c in self.outputs.items()
            if not isinstance(c, ResponseColumns)
        }

    @property
    def expressions(self) -> dict[str, str]:
        """Outputs that are formulas of variables and tuners."""
        columns = self.columns_of_outputs.items()
        return {n: c.expression for n, c in columns if c.expression is not None}

    @property
    def columns_of_responses(self) -> dict[str, ResponseColumns]:
        """Frequency responses; the short form means the two halves of a complex column."""
        if not self.is_frequency:
            return {}
        return {
            n: ResponseColumns(real=f"Re({c})", imag=f"Im({c})") if isinstance(c, str) else c
            for n, c in self.outputs.items()
            if not isinstance(c, OutputColumn)
        }

    def column_of(self, output: str) -> OutputColumn | ResponseColumns:
        """What an output is compared with; a transfer is named "output/input"."""
        if self.is_frequency:
            responses = self.columns_of_responses
            return responses.get(output) or responses[output.rpartition("/")[0]]
        return self.columns_of_outputs[output]

    @property
    def begin_time(self) -> float | None:
        """Where the simulation begins, as far as the case says so."""
        if isinstance(self.begin, Beginning):
            return self.begin.time
        return None if isinstance(self.begin, str) else self.begin

    @property
    def staging(self) -> StagePlan:
        """How the simulation begins, and what is changed while it goes on."""
        return staging_of(self.name, self.begin, self.change)

    @property
    def staged_names(self) -> tuple[str, ...]:
        """Names in expressions of the steady start and of changes."""
        return tuple(dict.fromkeys(n for f in self.staging.formulas.values() for n in f.names))

    @property
    def fixed(self) -> dict[str, float]:
        """What `fix` sets to a number."""
        return {n: v for n, v in self.fix.items() if not isinstance(v, str)}

    @property
    def followed(self) -> dict[str, str]:
        """What `fix` lets follow from tuners: {parameter or state: expression}."""
        return {n: v for n, v in self.fix.items() if isinstance(v, str)}

    @property
    def start_values(self) -> dict[str, StartValue]:
        """Free start values with the short forms written out."""
        if not isinstance(self.free_start, dict):
            return {n: StartValue() for n in self.free_start}
        return {
            n: s if isinstance(s, StartValue) else StartValue(start=s)
            for n, s in self.free_start.items()
        }
