"""Observed: the observables of a problem as variables of the model, one for each override."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Origin, Variable
from estimica.source.sbml.mathematics import parse_petab_formula
from estimica.study.petab.problem import Measurement, Observable, Problem

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
        found = [
            Variable(o.name, causality="output", description=f"observable {o.observable.name}")
            for o in self.outputs
        ]
        noises = [n for n in self._noises.values() if n.variable]
        return found + [Variable(n.variable, description="standard deviation") for n in noises]

    def equations(self) -> list[Equation]:
        """What they are."""
        pairs = [(o.name, o.formula) for o in self.outputs]
        pairs += [(n.variable, n.formula) for n in self._noises.values() if n.variable]
        return [Equation(ex.name(n), e, Origin(text=n, kind="observable")) for n, e in pairs]
