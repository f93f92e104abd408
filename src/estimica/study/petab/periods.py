"""Periods: experiments that change parameters and variables as they go, written into the model.

A parameter that a later period changes becomes a variable that is one parameter before and another
one after; a variable is set anew by a when-clause. When a period begins is a parameter too, so that
every case has its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from estimica.base.errors import StudyError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import (
    Action,
    Branch,
    Equation,
    FlatSystem,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.source.sbml.symbols import Role
from estimica.source.sbml.translate import SbmlSystem
from estimica.study.petab.problem import Experiment, Problem
from estimica.study.stages import SETTLING

#: when a period begins that an experiment does not have
NEVER = 1e99


@dataclass(frozen=True)
class Targets:
    """What experiments change: at their start, and later; only what has another value later."""

    first: frozenset[str]
    later: frozenset[str]
    count: int  # periods of the longest experiment

    @classmethod
    def of(cls, problem: Problem) -> Targets:
        """The targets of all experiments under their names in the model."""

        def named(periods: Iterable[Mapping[str, str]]) -> frozenset[str]:
            return frozenset(problem.aliases.get(n, n) for p in periods for n in p)

        experiments = problem.experiments.values()
        return cls(
            named(p.changes for e in experiments for p in e.periods[:1]),
            named(p.changes for e in experiments for p in e.periods[1:]),
            max(len(e.periods) for e in experiments),
        )


@dataclass(frozen=True)
class ExperimentSchedule:
    """An experiment in the words of the model: values of parameters, and when it begins."""

    begin: float
    last: float  # when its last period begins
    settings: Mapping[str, Expression] = field(default_factory=dict)


class Periods:
    """Writes the periods of a problem's experiments into its model."""

    def __init__(
        self,
        problem: Problem,
        translated: SbmlSystem,
        targets: Targets,
        values: Mapping[str, Expression],
    ) -> None:
        self.problem, self.targets, self.values = problem, targets, values
        self.symbols, self.starts = translated.symbols, translated.start_parameters
        self.known = translated.flat.by_name
        self.formulas = self._formulas()

    # --- names ----------------------------------------------------------------------------------

    def is_switched(self, name: str) -> bool:
        """Whether a parameter has another value in a later period."""
        return name in self.targets.later and not self.is_dynamic(name)

    def is_dynamic(self, name: str) -> bool:
        """Whether equations or events change it, so that a period sets it anew."""
        return name in self.symbols and self.symbols[name].is_dynamic

    @staticmethod
    def value_in(name: str, period: int) -> str:
        """The parameter with the value of `name` in a period, counted from 1."""
        return f"{name}_period{period}"

    @staticmethod
    def begin_of(period: int) -> str:
        """The parameter that says when a period begins."""
        return f"begin_of_period{period}"

    def _formulas(self) -> dict[tuple[str, int], list[Expression]]:
        """What variables are set to in a later period where it depends on other variables."""
        formulas: dict[tuple[str, int], list[Expression]] = {}
        for experiment in self.problem.experiments.values():
            for k, period in enumerate(experiment.periods[1:], 2):
                for target, text in period.changes.items():
                    value, name = self.values[text], self.problem.aliases.get(target, target)
                    known = formulas.setdefault((name, k), [])
                    if self._changes(value) and value not in known:
                        known.append(value)
        return formulas

    def _changes(self, value: Expression) -> bool:
        """Whether a value depends on something that changes in time."""
        symbols = [self.symbols[n] for n in ex.names_in(value) if n in self.symbols]
        return any(s.role is not Role.PARAMETER for s in symbols)

    # --- the model ------------------------------------------------------------------------------

    def written(self, flat: FlatSystem) -> FlatSystem:
        """The model with the periods in it."""
        self._refuse()
        if self.targets.count < 2:
            return flat
        variables: list[Variable] = []
        equations, whens = list(flat.equations), list(flat.whens)
        switched = [v.name for v in flat.variables if self.is_switched(v.name)]
        first = {n: ex.name(self.value_in(n, 1)) for n in switched}
        for v in flat.variables:
            if v.name in first:
                variables += self._values(v, first)
                equations.append(Equation(ex.name(v.name), self._switch(v.name), _ORIGIN))
            else:
                variables.append(_at_first(v, first))
        for k in range(2, self.targets.count + 1):
            variables.append(_parameter(self.begin_of(k), NEVER, f"when period {k} begins"))
            names = [n for n in sorted(self.targets.later) if self.is_dynamic(n)]
            for n in names:
                variables.append(_parameter(self.value_in(n, k), 0.0, f"{n} set in period {k}"))
                variables.append(_parameter(self._flag(n, k), 0.0, f"whether {n} is set"))
            if names:
                begun = ex.relation("ge", ex.TIME, ex.name(self.begin_of(k)))
                actions = tuple(self._action(n, k) for n in names)
                whens.append(When((Branch((begun,), actions),), _ORIGIN))
        return replace(
            flat, variables=tuple(variables), equations=tuple(equations), whens=tuple(whens)
        )

    def _refuse(self) -> None:
        for name in sorted(self.targets.first | self.targets.later):
            symbol = self.symbols.get(name)
            if symbol is None:
                if name in self.known:
                    raise StudyError(
                        "Q121", f"condition table: '{name}' is not a symbol of the model"
                    )
                continue
            later = name in self.targets.later
            if symbol.role is Role.ASSIGNED:
                raise StudyError(
                    "Q120", f"condition table: '{name}' follows from a rule of the model"
                )
            if later and (symbol.kind == "compartment" or symbol.role is Role.DISCRETE):
                what = "a compartment's size" if symbol.kind == "compartment" else "set by events"
                raise StudyError(
                    "Q122",
                    f"condition table: '{name}' is {what}, which a later period cannot change here",
                )

    def _flag(self, name: str, period: int) -> str:
        return f"{name}_is_set{period}"

    def _values(self, v: Variable, first: Mapping[str, Expression]) -> list[Variable]:
        """One parameter for each period, and the variable that is each of them in turn."""
        variables = [replace(v, description="")]
        for k in range(1, self.targets.count + 1):
            binding = v.binding
            if k > 1 and self.problem.keeps_values:
                binding = ex.name(self.value_in(v.name, k - 1))
            one = replace(v, name=self.value_in(v.name, k), binding=binding)
            variables.append(_at_first(one, first))
        variables[0] = replace(v, variability=Variability.CONTINUOUS, binding=None)
        return variables

    def _switch(self, name: str) -> Expression:
        value = ex.name(self.value_in(name, self.targets.count))
        for k in range(self.targets.count, 1, -1):
            before = ex.relation("lt", ex.TIME, ex.name(self.begin_of(k)))
            value = ex.conditional(before, ex.name(self.value_in(name, k - 1)), value)
        return value

    def _action(self, name: str, period: int) -> Action:
        flag = ex.name(self._flag(name, period))
        value = ex.name(self.value_in(name, period))
        for k, formula in enumerate(self.formulas.get((name, period), ()), 2):
            # the flag 2, 3, … means a formula, 1 the parameter
            value = ex.conditional(ex.relation("gt", flag, ex.const(k - 0.5)), formula, value)
        is_set = ex.relation("gt", flag, ex.const(0.5))
        target, now = name, ex.name(name)
        symbol = self.symbols[name]
        if symbol.by_amount:
            target, now = f"{name}_amount", ex.name(f"{name}_amount")
            value = ex.mul(value, ex.name(symbol.compartment))
        return Action(target, ex.conditional(is_set, value, now), reinit=True)

    # --- the cases ------------------------------------------------------------------------------

    def course(self, experiment: Experiment) -> ExperimentSchedule:
        """What the model's parameters are in an experiment."""
        periods = experiment.periods
        begins = [p.begin for p in periods]
        settings: dict[str, Expression] = {}
        for k, period in enumerate(periods, 1):
            if k > 1:
                settings[self.begin_of(k)] = ex.const(begins[k - 1])
            for target, text in period.changes.items():
                name = self.problem.aliases.get(target, target)
                settings |= self._setting(name, k, self.values[text])
        begin = begins[0]
        if math.isinf(begin):
            begin = (begins[1] if len(begins) > 1 else 0.0) - SETTLING
        return ExperimentSchedule(begin, begins[-1], settings)

    def _setting(self, name: str, period: int, value: Expression) -> dict[str, Expression]:
        if self.is_switched(name):
            return {self.value_in(name, period): value}
        if not self.is_dynamic(name):
            return {name: value}
        if period == 1:
            return {self.starts[name]: value}
        formulas = self.formulas.get((name, period), [])
        if value in formulas:
            return {self._flag(name, period): ex.const(2.0 + formulas.index(value))}
        return {self.value_in(name, period): value, self._flag(name, period): ex.ONE}


_ORIGIN = Origin(kind="period")


def _parameter(name: str, value: float, words: str) -> Variable:
    return Variable(
        name, variability=Variability.PARAMETER, binding=ex.const(value), description=words
    )


def _at_first(v: Variable, first: Mapping[str, Expression]) -> Variable:
    """A declaration whose values at the start are those of the first period."""

    def leaf(e: Expression) -> Expression:
        return first.get(e.target, e) if e.op == "name" else e

    def changed(e: Expression | None) -> Expression | None:
        return e if e is None else ex.rewrite([e], leaf)[0]

    return replace(v, binding=changed(v.binding), start=changed(v.start))


def texts_of(experiments: Iterable[Experiment]) -> Sequence[str]:
    """Every text that a change sets something to."""
    return tuple(
        dict.fromkeys(t for e in experiments for p in e.periods for t in p.changes.values())
    )
