"""Build: a PEtab problem as a model with its observables, and its measurements case by case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import FlatSystem, Variability, Variable
from estimica.source.sbml.document import read_document
from estimica.source.sbml.mathematics import parse_petab_formula
from estimica.source.sbml.translate import translate
from estimica.study.petab.observables import Noise, ObservableBuilder, Output
from estimica.study.petab.periods import ExperimentSchedule, Periods, Targets, texts_of
from estimica.study.petab.problem import Measurement, Problem
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
