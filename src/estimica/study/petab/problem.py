"""Problem: a PEtab problem as values: parameters, observables, experiments and measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.study.petab.files import Files, Row, read_files

MISSING = ("", "nan", "NaN", "NA", "N/A", "null", "None")
SCALES = ("lin", "log", "log10")
#: noise distributions of version 2 that are others on a logarithmic scale
_LOGARITHMIC = {"log-normal": "normal", "log-laplace": "laplace"}


@dataclass(frozen=True)
class Prior:
    """What is known of a parameter beforehand; `on_scale`: of its value on the search scale."""

    shape: str  # normal, laplace, uniform, log-normal, log-laplace, and others of version 2
    numbers: tuple[float, ...]
    on_scale: bool = False


@dataclass(frozen=True)
class Parameter:
    """A row of the parameter table."""

    name: str
    value: float  # nominal
    estimated: bool
    low: float = -math.inf
    high: float = math.inf
    scale: str = "lin"
    prior: Prior | None = None


@dataclass(frozen=True)
class Observable:
    """A row of the observable table."""

    name: str
    formula: str
    noise: str
    transformation: str = "lin"
    distribution: str = "normal"
    placeholders: tuple[str, ...] = ()
    noise_placeholders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Period:
    """A stretch of an experiment: from `begin` on these values hold; -inf: the steady state."""

    begin: float
    changes: Mapping[str, str]


@dataclass(frozen=True)
class Experiment:
    """One course of an experiment: its periods in time, the first of which sets the start."""

    name: str
    periods: tuple[Period, ...]


@dataclass(frozen=True)
class Measurement:
    """A row of the measurement table; overrides are texts: numbers or parameters."""

    observable: str
    experiment: str
    time: float
    value: float
    overrides: tuple[str, ...] = ()
    noise_overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A whole problem; `aliases` are names of version 2 that stand for names of the model."""

    name: str
    path: Path
    model: Path
    parameters: Mapping[str, Parameter]
    observables: Mapping[str, Observable]
    experiments: Mapping[str, Experiment]
    measurements: tuple[Measurement, ...]
    aliases: Mapping[str, str]
    #: whether a change without a value keeps the last one (version 2) or takes the model's own
    keeps_values: bool = False

    @property
    def estimated(self) -> tuple[str, ...]:
        """Parameters that are searched."""
        return tuple(n for n, p in self.parameters.items() if p.estimated)

    @property
    def nominal(self) -> dict[str, float]:
        """Nominal values of all parameters."""
        return {n: p.value for n, p in self.parameters.items()}


def read_problem(path: str | Path) -> Problem:
    """The problem of a YAML file."""
    return problem_of(read_files(path))


def problem_of(files: Files) -> Problem:
    """The values in the tables of a problem."""
    parameters = {p.name: p for p in map(_parameter, files.parameters)}
    observables = {o.name: o for o in (_observable(r, files.version) for r in files.observables)}
    if not any("simulationConditionId" in row for row in files.measurements):
        experiments, named = _experiments(files), _by_experiment
    else:
        experiments, named = _simulations(files), _by_condition
    measurements = tuple(_measurement(r, named(r), observables) for r in files.measurements)
    used = {m.experiment for m in measurements}
    for name in sorted(used - set(experiments)):
        hint = did_you_mean(name, list(experiments))
        raise StudyError("Q110", f"measurements name '{name}', which no table has{hint}")
    return Problem(
        files.path.stem,
        files.path,
        files.model,
        parameters,
        observables,
        {n: e for n, e in experiments.items() if n in used},
        measurements,
        {r["petabEntityId"]: r["modelEntityId"] for r in files.mapping if r.get("modelEntityId")},
        named is _by_experiment,
    )


# --- rows ----------------------------------------------------------------------------------------


def is_missing(text: str | None) -> bool:
    """Whether a cell holds nothing."""
    return text is None or text in MISSING


def _cell(row: Row, column: str, table: str) -> str:
    text = row.get(column)
    if is_missing(text):
        raise StudyError("Q111", f"the table of {table}: '{column}' is missing in row {dict(row)}")
    assert text is not None
    return text


def number(text: str, what: str) -> float:
    """A number of a cell; `inf` is one."""
    try:
        return float(text)
    except ValueError:
        raise StudyError("Q112", f"{what}: '{text}' is not a number") from None


def _parameter(row: Row) -> Parameter:
    name = _cell(row, "parameterId", "parameters")
    what = f"parameter '{name}'"
    estimated = row.get("estimate", "1").lower() in ("1", "1.0", "true")
    scale = row.get("parameterScale") or "lin"
    if scale not in SCALES:
        hint = did_you_mean(scale, SCALES)
        raise StudyError("Q113", f"{what}: parameterScale '{scale}' is not known{hint}")
    given = row.get("nominalValue")
    value = math.nan if is_missing(given) else number(str(given), what)
    low, high = (
        default if is_missing(row.get(column)) else number(row[column], what)
        for column, default in (("lowerBound", -math.inf), ("upperBound", math.inf))
    )
    if math.isnan(value) and not estimated:
        raise StudyError("Q114", f"{what} is not estimated and has no nominalValue; give it one")
    return Parameter(name, value, estimated, low, high, scale, _prior(row, what))


def _prior(row: Row, what: str) -> Prior | None:
    """The prior of the objective; a uniform one between the bounds is none."""
    shape, cells = row.get("objectivePriorType"), row.get("objectivePriorParameters")
    if is_missing(shape):
        shape, cells = row.get("priorDistribution"), row.get("priorParameters")
    if is_missing(shape):
        return None
    assert shape is not None
    if is_missing(cells) and shape == "parameterScaleUniform":
        return None
    numbers = tuple(number(t, f"prior of {what}") for t in _split(cells))
    on_scale = shape.startswith("parameterScale")
    plain = shape.removeprefix("parameterScale").lower()
    plain = {"lognormal": "log-normal", "loglaplace": "log-laplace"}.get(plain, plain)
    return Prior(plain, numbers, on_scale)


def _split(text: str | None) -> tuple[str, ...]:
    return () if is_missing(text) else tuple(t.strip() for t in str(text).split(";"))


def _observable(row: Row, version: int) -> Observable:
    name = _cell(row, "observableId", "observables")
    shape = row.get("noiseDistribution") or "normal"
    transformation = row.get("observableTransformation") or "lin"
    if shape in _LOGARITHMIC:
        shape, transformation = _LOGARITHMIC[shape], "log"
    if shape not in ("normal", "laplace") or transformation not in SCALES:
        raise StudyError(
            "Q115",
            f"observable '{name}': noise '{shape}' on scale '{transformation}' is not known; "
            "there are normal and laplace on lin, log and log10",
        )
    formula = _cell(row, "observableFormula", "observables")
    noise = row.get("noiseFormula") or f"noiseParameter1_{name}"
    observable = Observable(
        name,
        formula,
        noise,
        transformation,
        shape,
        _split(row.get("observablePlaceholders")),
        _split(row.get("noisePlaceholders")),
    )
    return observable if version == 2 and _names_placeholders(row) else _numbered(observable)


def _names_placeholders(row: Row) -> bool:
    return "observablePlaceholders" in row or "noisePlaceholders" in row


def _numbered(observable: Observable) -> Observable:
    """Version 1 numbers its placeholders: observableParameter1_name."""

    def placeholders(kind: str, text: str) -> tuple[str, ...]:
        names: list[str] = []
        while f"{kind}{len(names) + 1}_{observable.name}" in text:
            names.append(f"{kind}{len(names) + 1}_{observable.name}")
        return tuple(names)

    both = f"{observable.formula} {observable.noise}"
    return replace(
        observable,
        placeholders=placeholders("observableParameter", both),
        noise_placeholders=placeholders("noiseParameter", both),
    )


def _measurement(row: Row, experiment: str, observables: Mapping[str, Observable]) -> Measurement:
    name = _cell(row, "observableId", "measurements")
    if name not in observables:
        hint = did_you_mean(name, list(observables))
        raise StudyError("Q116", f"measurements: there is no observable '{name}'{hint}")
    what = f"measurement of '{name}'"
    observable = observables[name]
    overrides = _split(row.get("observableParameters"))
    noise = _split(row.get("noiseParameters"))
    for given, wanted, column in (
        (overrides, observable.placeholders, "observableParameters"),
        (noise, observable.noise_placeholders, "noiseParameters"),
    ):
        if len(given) != len(wanted):
            raise StudyError(
                "Q117",
                f"{what}: {column} has {len(given)} entries, and its formula has {len(wanted)} "
                "placeholders",
            )
    return Measurement(
        name,
        experiment,
        number(_cell(row, "time", "measurements"), what),
        number(_cell(row, "measurement", "measurements"), what),
        overrides,
        noise,
    )


# --- experiments ---------------------------------------------------------------------------------


def _by_experiment(row: Row) -> str:
    return "" if is_missing(row.get("experimentId")) else row["experimentId"]


def _by_condition(row: Row) -> str:
    condition = _cell(row, "simulationConditionId", "measurements")
    before = row.get("preequilibrationConditionId")
    return condition if is_missing(before) else f"{before} → {condition}"


def _simulations(files: Files) -> dict[str, Experiment]:
    """Version 1: every pair of a simulation condition and what it is equilibrated in."""
    changes = {
        _cell(row, "conditionId", "conditions"): {
            n: t
            for n, t in row.items()
            if n not in ("conditionId", "conditionName") and n
            if not is_missing(t)
        }
        for row in files.conditions
    }
    experiments: dict[str, Experiment] = {}
    for row in files.measurements:
        name = _by_condition(row)
        condition, before = row["simulationConditionId"], row.get("preequilibrationConditionId")
        periods = [] if is_missing(before) else [(-math.inf, str(before))]
        periods.append((0.0, condition))
        if name in experiments:
            continue
        for _, c in periods:
            if c not in changes:
                hint = did_you_mean(c, list(changes))
                raise StudyError(
                    "Q110", f"measurements name condition '{c}', which no row has{hint}"
                )
        experiments[name] = Experiment(name, tuple(Period(t, changes[c]) for t, c in periods))
    return experiments


def _experiments(files: Files) -> dict[str, Experiment]:
    """Version 2: periods, each with the changes of its conditions."""
    changes: dict[str, dict[str, str]] = {}
    for row in files.conditions:
        own = changes.setdefault(_cell(row, "conditionId", "conditions"), {})
        own[_cell(row, "targetId", "conditions")] = _cell(row, "targetValue", "conditions")
    periods: dict[str, dict[float, dict[str, str]]] = {"": {0.0: {}}}
    for row in files.experiments:
        name = _cell(row, "experimentId", "experiments")
        time = number(_cell(row, "time", "experiments"), f"experiment '{name}'")
        own = periods.setdefault(name, {}).setdefault(time, {})
        if not is_missing(row.get("conditionId")):
            own.update(_of_condition(changes, row["conditionId"], name))
    return {
        name: Experiment(name or "experiment", tuple(_periods(stretches)))
        for name, stretches in periods.items()
    }


def _of_condition(
    changes: Mapping[str, Mapping[str, str]], condition: str, experiment: str
) -> Mapping[str, str]:
    if condition not in changes:
        hint = did_you_mean(condition, list(changes))
        raise StudyError("Q110", f"experiment '{experiment}': no condition '{condition}'{hint}")
    return changes[condition]


def _periods(stretches: Mapping[float, Mapping[str, str]]) -> Iterable[Period]:
    for time in sorted(stretches):
        yield Period(time, stretches[time])
    if len(stretches) == 1 and -math.inf in stretches:
        yield Period(0.0, {})
