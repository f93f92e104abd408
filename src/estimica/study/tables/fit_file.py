"""Tables of a fit: what every study file may hold; `study_file` adds those of other commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, Tag
from pydantic.dataclasses import dataclass

from estimica.study.case import Case
from estimica.study.estimation import Estimation, Execution, Solver
from estimica.study.fields.counts import CASES, OUTPUTS, TUNERS
from estimica.study.fields.kinds import (
    NUMBER,
    SECONDS,
    STRICT,
    TABLE,
    TEXT,
    TRUTH,
    Finite,
    Offer,
    OutputName,
    ParameterName,
    Positive,
    StateName,
    Truth,
    VariableName,
    field_error,
    finite,
    one_of_kinds,
)
from estimica.study.noise.process import Filter, Level
from estimica.study.reading import Reading
from estimica.study.shared_columns import SharedEntry
from estimica.study.tables.listed_names import EquationNames
from estimica.study.tuner import Tuner

if TYPE_CHECKING:
    from estimica.study.criterion import Criterion, Indicator
    from estimica.study.tables.inference import BackcalculateTable


def _front_end(value: object) -> object:
    if value == "rumoca":
        raise field_error(
            "kind", "'rumoca' is gone: Estimica reads Modelica itself; leave 'frontend' out"
        )
    return value


def _plain_number(value: object) -> object:
    return value if isinstance(value, int) else finite(value)


def _named(value: object) -> object:
    """Each tuner with its name; a number alone is its start."""
    if not isinstance(value, Mapping):
        return value
    return {name: _tuner(str(name), given) for name, given in value.items()}


def _tuner(name: str, given: object) -> object:
    if isinstance(given, Tuner):
        return given
    if not isinstance(given, Mapping):
        return {"name": name, "start": given}
    if "name" in given:
        raise field_error("T001", f"{name}: the key is the name already; leave 'name' out")
    return {"name": name, **given}


Value = Annotated[
    Annotated[str, Tag(TEXT)]
    | Annotated[Truth, Tag(TRUTH)]
    | Annotated[int | float, BeforeValidator(_plain_number), Tag(NUMBER)],
    one_of_kinds("a number, true, false or a text"),
]
FunctionName = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[dict[str, str], Tag(TABLE)],
    one_of_kinds('"file.py:function", or { value = "…", derivatives = "…" }'),
]
Expressions = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[dict[OutputName, str], Tag(TABLE)],
    one_of_kinds('an expression "…", or a table { output = "…" }'),
]


@dataclass(frozen=True, config=STRICT, kw_only=True)
class ModelTable:
    """Which model, and the values it is loaded with."""

    source: Annotated[
        str,
        Offer("path", "model"),
        Field(
            min_length=1,
            description=(
                "A Modelica file, the folder of a package, a class of a library, a Base Modelica "
                "file (.bmo), an Optimica file (.mop), an FMU, a Python function as "
                '`"file.py:function"`, or a transfer function as `"K*exp(-T*s)/(1 + tau*s)"` or, '
                'in discrete time, `"b/(z - a)"`, from input `u` to output `y`.'
            ),
        ),
    ]
    class_: Annotated[
        str | None,
        Offer("text", "class"),
        Field(
            alias="class",
            description="The class, where the source holds several; perhaps with a modification, "
            "as `Valve(redeclare package Medium = Modelica.Media.Water.StandardWater)`.",
        ),
    ] = None
    libraries: Annotated[
        tuple[Annotated[str, Offer("path", "folder")], ...],
        Field(description="Further folders of Modelica packages."),
    ] = ()
    fix: Annotated[
        dict[ParameterName, Value],
        Field(description="Values of parameters for all cases; also sizes and switches."),
    ] = Field(default_factory=dict)
    leave_out: Annotated[
        EquationNames,
        Field(
            description="Equations that do not hold, each of which asks for one input more: their "
            "text, as `omega = der(phi)`, or a name that stands in one of them only."
        ),
    ] = ()
    functions: Annotated[
        dict[str, FunctionName],
        Field(
            description="Modelica functions that Python computes, as properties of a medium, by "
            'their full names: `{ "Medium.h" = "props.py:h" }`; with derivatives as `{ value = '
            '"props.py:h", derivatives = "props.py:dh" }`.'
        ),
    ] = Field(default_factory=dict)
    frontend: Annotated[
        Literal["estimica", "openmodelica"],
        BeforeValidator(_front_end),
        Field(description="What reads the Modelica text."),
    ] = "estimica"
    interface: Annotated[
        Literal["me", "cs"] | None,
        Field(
            description="For an FMU: Model Exchange (default where it has both) or Co-Simulation."
        ),
    ] = None
    communication_step: Annotated[
        Positive | None,
        Field(description="Step of Co-Simulation in seconds; otherwise what the FMU suggests."),
    ] = None
    sample_time: Annotated[
        Positive | None,
        Field(description="Of a transfer function in z: seconds from one sample to the next."),
    ] = None


@dataclass(frozen=True, config=STRICT, kw_only=True)
class StaticTable:
    """A study without time: each row of the data is a point of its own."""

    expression: Annotated[
        Expressions | None,
        Field(
            description="The output as a formula in tuners and inputs, in Modelica syntax; "
            "for several outputs a table. It stands in for the model."
        ),
    ] = None
    against: Annotated[
        VariableName | None,
        Field(description="An input, output or column that fits are drawn against."),
    ] = None
    by: Annotated[
        VariableName | None,
        Field(description="A variable by whose values points are grouped in such plots."),
    ] = None
    mode: Annotated[
        Literal["static", "steady", "simulate"],
        Field(
            description="How a point of [model] is computed: a model without states, derivatives "
            "set to zero, or simulated until it is at rest."
        ),
    ] = "static"
    tolerance: Annotated[
        Positive,
        Field(description="A simulated point is at rest when no state moves more, relatively."),
    ] = 1e-8
    max_time: Annotated[
        Positive,
        SECONDS,
        Field(description="How long a point may be simulated, in seconds of the model."),
    ] = 1e7
    guess: Annotated[
        dict[VariableName, Finite],
        Field(
            description="Unknowns of implicit equations and the values near which their solutions "
            "are looked for; of several solutions the nearest is taken."
        ),
    ] = Field(default_factory=dict)


@dataclass(frozen=True, config=STRICT, kw_only=True)
class FitFile:
    """A model, tuners, cases and the criterion: everything that a fit needs."""

    model: Annotated[ModelTable | None, Field(description="The model.")] = None
    static: Annotated[
        StaticTable | None,
        Field(description="Points without time: of a formula, or of the model."),
    ] = None
    tune: Annotated[
        dict[ParameterName, Tuner],
        BeforeValidator(_named),
        Field(
            max_length=TUNERS, description="Parameters to be found: name = start, or name = { … }."
        ),
    ] = Field(default_factory=dict)
    outputs: Annotated[
        dict[OutputName, str],
        Field(
            max_length=OUTPUTS,
            description="Outputs that are formulas of variables and tuners, in Modelica syntax, "
            "for all cases: name = expression.",
        ),
    ] = Field(default_factory=dict)
    from_fit: Annotated[
        dict[ParameterName, str],
        Field(
            max_length=TUNERS + 2,
            description="Values of a run of this or another study: its name here = its name there. "
            "`study` names the other study, `run` its run, by default the last one that fits.",
        ),
    ] = Field(default_factory=dict)
    reading: Annotated[
        Reading,
        Field(description="How all data files are read, where this cannot be detected."),
    ] = Field(default_factory=Reading)
    columns: Annotated[
        dict[VariableName, SharedEntry],
        Field(
            max_length=OUTPUTS,
            description="Which column each input and output comes from, for all cases with data: "
            "a column, a number, or a table of details; what a case says itself goes before. "
            "`time` names the column with the time stamps.",
        ),
    ] = Field(default_factory=dict)
    case: Annotated[tuple[Case, ...], Field(max_length=CASES, description="The experiments.")] = ()
    estimate: Annotated[
        Estimation, Field(description="How the misfit is scored and how the search runs.")
    ] = Field(default_factory=Estimation)
    process_noise: Annotated[
        dict[StateName, Level],
        Field(
            max_length=TUNERS,
            description='Noise in the states, which criterion "prediction" reckons with: state = '
            "its standard deviation after one second, a number or a formula of tuners, parameters "
            "and inputs. A name that the model does not have becomes a tuner.",
        ),
    ] = Field(default_factory=dict)
    filter: Annotated[
        Filter, Field(description='How criterion "prediction" follows the uncertain states.')
    ] = Field(default_factory=Filter)
    solver: Annotated[Solver, Field(description="Tolerances and limits of each simulation.")] = (
        Field(default_factory=Solver)
    )
    execute: Annotated[
        Execution,
        Field(description="What computes bootstraps, profiles, Monte Carlo and the like."),
    ] = Field(default_factory=Execution)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """Requirements of a design."""
        return ()

    @property
    def indicators(self) -> tuple[Indicator, ...]:
        """Plots that are drawn for every design."""
        return ()

    @property
    def backwards(self) -> BackcalculateTable | None:
        """What is computed backwards."""
        return None
