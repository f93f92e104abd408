"""Build: a PEtab problem as a model with its observables, one variable for each override, and its
measurements case by case."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, FlatSystem, Origin, Variability, Variable
from estimica.source.sbml.document import read_document
from estimica.source.sbml.mathematics import parse_petab_formula
from estimica.source.sbml.translate import translate
from estimica.study.petab.periods import ExperimentSchedule, Periods, Targets, texts_of
from estimica.study.petab.problem import Measurement, Observable, Problem
from estimica.study.stages import SETTLING


@dataclass(frozen=True)
class Sample:
    """One measurement, at a time that the model reaches."""

    output: Output
    noise: Noise
    time: float
    value: float


@dataclass(frozen=True)
class PetabModel:
    """The model and what was measured in each experiment."""

    problem: Problem
    flat: FlatSystem
    courses: Mapping[str, ExperimentSchedule]
    samples: Mapping[str, tuple[Sample, ...]]
    outputs: tuple[Output, ...]


def build(problem: Problem) -> PetabModel:
    """The model of a problem with everything that its tables say."""
    document = read_document(problem.model)
    targets = Targets.of(problem)
    translated = translate(document, targets.first | targets.later)
    flat = _with_parameters(translated.flat, problem, targets)
    names = _Names(problem, flat)
    texts = texts_of(problem.experiments.values())
    values = {t: parse_petab_formula(t, names.lookup, "condition table") for t in texts}
    periods = Periods(problem, translated, targets, values)
    courses = {n: periods.course(e) for n, e in problem.experiments.items()}
    flat = periods.written(_at_nominal(flat, problem))
    observed = ObservableBuilder(problem, names.lookup, flat.by_name)
    samples: dict[str, list[Sample]] = {n: [] for n in problem.experiments}
    for m in problem.measurements:
        samples[m.experiment].append(_sample(m, observed, courses[m.experiment]))
    whole = replace(
        flat,
        name=_identifier(problem.name),
        variables=(*flat.variables, *observed.variables()),
        equations=(*flat.equations, *observed.equations()),
    )
    return PetabModel(
        problem, whole, courses, {n: tuple(s) for n, s in samples.items()}, observed.outputs
    )


def _sample(m: Measurement, observed: ObservableBuilder, course: ExperimentSchedule) -> Sample:
    time = course.last + SETTLING if math.isinf(m.time) else m.time
    if time < course.last and time < course.begin:
        raise StudyError(
            "Q124", f"a measurement of '{m.observable}' at {m.time:g} is before its experiment"
        )
    return Sample(*observed.of(m), time, m.value)


class _Names:
    """What a name in a formula of a table means."""

    def __init__(self, problem: Problem, flat: FlatSystem) -> None:
        self.aliases, self.known = problem.aliases, flat.by_name

    def lookup(self, name: str) -> Expression:
        """The variable or parameter of the model that a name stands for."""
        if name == "time":
            return ex.TIME
        name = self.aliases.get(name, name)
        if name not in self.known:
            hint = did_you_mean(name, list(self.known))
            raise StudyError(
                "Q125", f"'{name}' is neither in the model nor in the parameter table{hint}"
            )
        return ex.name(name)


def _with_parameters(flat: FlatSystem, problem: Problem, targets: Targets) -> FlatSystem:
    """The model with the parameters that only the tables know."""
    known = flat.by_name
    new = [n for n in problem.parameters if problem.aliases.get(n, n) not in known]
    changed = sorted(targets.first | targets.later)
    new += [n for n in changed if n not in known and n not in problem.parameters]
    added = [Variable(n, variability=Variability.PARAMETER, binding=ex.const(0.0)) for n in new]
    return replace(flat, variables=(*flat.variables, *added))


def _at_nominal(flat: FlatSystem, problem: Problem) -> FlatSystem:
    """The model with the nominal values of the parameter table."""
    values = {
        problem.aliases.get(n, n): p.value
        for n, p in problem.parameters.items()
        if not math.isnan(p.value)
    }
    for name in values:
        if flat.by_name[name].variability is not Variability.PARAMETER:
            raise StudyError(
                "Q126", f"parameter table: '{name}' changes in the model and is not a parameter"
            )

    def valued(variables: Iterable[Variable]) -> Iterable[Variable]:
        for v in variables:
            yield replace(v, binding=ex.const(values[v.name])) if v.name in values else v

    return replace(flat, variables=tuple(valued(flat.variables)))


def _identifier(name: str) -> str:
    plain = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return plain if plain[:1].isalpha() else f"Problem{plain}"


Lookup = Callable[[str], Expression]


@dataclass(frozen=True)
class Output:
    """What is compared: a variable of the model, and how measurements scatter about it."""

    name: str
    observable: Observable
    formula: Expression
    noise: Expression | None  # its standard deviation; none: a number with each sample


@dataclass(frozen=True)
class Noise:
    """A standard deviation as a formula, and the variable of it where it is not a number."""

    formula: Expression
    variable: str = ""

    @property
    def known(self) -> float | None:
        """Its value, where it is a number."""
        return self.formula.value if self.formula.op == "const" else None


class ObservableBuilder:
    """Finds the output and the noise of each measurement; equal formulas share one."""

    def __init__(self, problem: Problem, lookup: Lookup, taken: Collection[str]) -> None:
        self.problem, self.lookup = problem, lookup
        self.taken = set(taken)
        self._outputs: dict[tuple[str, Expression, Expression | None], Output] = {}
        self._noises: dict[Expression, Noise] = {}
        self._known: dict[tuple[object, ...], tuple[Output, Noise]] = {}

    def of(self, measurement: Measurement) -> tuple[Output, Noise]:
        """The output that a measurement is compared with, and its noise."""
        m = measurement
        key = (m.observable, m.overrides, m.noise_overrides)
        if key not in self._known:
            self._known[key] = self._found(m)
        return self._known[key]

    def _found(self, m: Measurement) -> tuple[Output, Noise]:
        observable = self.problem.observables[m.observable]
        given = dict(zip(observable.placeholders, m.overrides, strict=True))
        given |= dict(zip(observable.noise_placeholders, m.noise_overrides, strict=True))

        def lookup(name: str) -> Expression:
            if name in given:
                return parse_petab_formula(
                    given[name], self.lookup, f"measurement of '{m.observable}'"
                )
            return self.lookup(name)

        where = f"observable '{observable.name}'"
        formula = parse_petab_formula(observable.formula, lookup, where)

        def noise_lookup(name: str) -> Expression:
            return formula if name == observable.name else lookup(name)

        noise = parse_petab_formula(observable.noise, noise_lookup, f"noise of {where}")
        law = None if noise.op == "const" else noise
        output = self._outputs.get((observable.name, formula, law))
        if output is None:
            output = Output(self._unused(observable.name), observable, formula, law)
            self._outputs[observable.name, formula, law] = output
        if noise not in self._noises:
            name = "" if noise.op == "const" else self._unused(f"sigma_{output.name}")
            self._noises[noise] = Noise(noise, name)
        return output, self._noises[noise]

    def _unused(self, wish: str) -> str:
        name, k = wish, 1
        while name in self.taken:
            k += 1
            name = f"{wish}_{k}"
        self.taken.add(name)
        return name

    @property
    def outputs(self) -> tuple[Output, ...]:
        """Every output that was asked for."""
        return tuple(self._outputs.values())

    def variables(self) -> list[Variable]:
        """Outputs and standard deviations as variables of the model."""
        observed = [
            Variable(o.name, causality="output", description=f"observable {o.observable.name}")
            for o in self.outputs
        ]
        noises = [n for n in self._noises.values() if n.variable]
        return observed + [Variable(n.variable, description="standard deviation") for n in noises]

    def equations(self) -> list[Equation]:
        """What they are."""
        pairs = [(o.name, o.formula) for o in self.outputs]
        pairs += [(n.variable, n.formula) for n in self._noises.values() if n.variable]
        return [Equation(ex.name(n), e, Origin(text=n, kind="observable")) for n, e in pairs]
