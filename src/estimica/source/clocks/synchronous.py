"""Clocked partitions as when-clauses: a model with clocks becomes one without.

Every partition is one when-clause, whose condition is its clock: `sample(first, interval)` where it
is periodic. previous(x) is pre(x), a sampled value the left limit of the signal, and what hold()
hands on is the discrete variable itself.

An event clock is one round of the event iteration behind its condition: the condition may be reset
by what happens at the tick, as that of a clock that ticks at every turn of a wheel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import (
    Action,
    Branch,
    Equation,
    FlatSystem,
    Kind,
    Origin,
    Variability,
    Variable,
    When,
)
from estimica.source.clocks.discretisation import Tick, discretised
from estimica.source.clocks.operators import Application, ClockOperators
from estimica.source.clocks.partitions import Partition, Partitions, argument_of, partitions_of
from estimica.source.clocks.solution import solved_equations
from estimica.source.clocks.ticks import BaseClock, Ticks, ticks_of


def without_clocks(
    system: FlatSystem, operators: ClockOperators, clock_variables: Sequence[str]
) -> FlatSystem:
    """The same model with when-clauses instead of clocks."""
    if not operators.applications and not clock_variables:
        return system
    partitions = partitions_of(system, operators)
    return _Translation(system, operators, partitions, frozenset(clock_variables)).system()


#: an interval of which only the beginning of the run matters; ticks that are a billionth of it
#: early count as in time, so that it must not be too large
_RARELY = ex.const(1000.0)


def _is_constant(variable: Variable) -> bool:
    return variable.variability in (Variability.PARAMETER, Variability.CONSTANT)


class _Translation:
    def __init__(
        self,
        system: FlatSystem,
        operators: ClockOperators,
        partitions: Partitions,
        clock_variables: frozenset[str],
    ) -> None:
        self._system = system
        self._applications: Mapping[str, Application] = operators.applications
        self._partitions = partitions
        self._clock_variables = clock_variables
        self._ticks = ticks_of(partitions)
        self._values: dict[str, Expression] = {}  # of applications
        self._memo: dict[Expression, Expression] = {}
        self._new: dict[str, Variable] = {}
        self._continuous: list[Equation] = []  # that define new variables of continuous time
        self._clocked: dict[str, list[Equation]] = {}  # by the root of their partition
        self._counted: dict[BaseClock, str] = {}
        self._whens: list[When] = []
        self._homes: dict[str, list[str]] = {}  # new variables by the root of their partition
        self._members: dict[str, list[Variable]] = {}  # by the root of their partition
        for v in system.variables:
            if not _is_constant(v) and v.name not in clock_variables:
                self._members.setdefault(partitions.joined.root(v.name), []).append(v)
        self._initial = list(system.initial_equations)

    def system(self) -> FlatSystem:
        """The model without clocks."""
        system = self._system
        for partition in self._partitions.clocked():
            equations = [self._plain(e) for e in partition.equations]
            self._clocked.setdefault(partition.root, []).extend(equations)
        equations = [
            self._plain(e)
            for p in self._partitions.found.values()
            if not p.clocked
            for e in p.equations
        ]
        for when in self._partitions.whens:
            self._whens.append(self._plain_when(when))
        self._initial = [self._plain(e) for e in self._initial]
        assertions = tuple(
            replace(a, condition=self._rewritten(a.condition)) for a in system.assertions
        )
        for ticks in self._ticks.values():
            if ticks.base.condition is not None:
                self._rewritten(ticks.base.condition)
        for root in list(self._clocked):  # by now all that expressions of operators need is there
            self._clause(self._partitions.found[root])
        return replace(
            system,
            variables=(*self._variables(), *self._new.values()),
            equations=(*equations, *self._continuous),
            initial_equations=tuple(self._initial),
            whens=tuple(self._whens),
            assertions=assertions,
        )

    def _variables(self) -> list[Variable]:
        result = []
        for v in self._system.variables:
            if v.name in self._clock_variables:
                continue
            if (
                not _is_constant(v)
                and v.causality != "input"
                and self._partitions.of(v.name).clocked
            ):
                v = replace(v, variability=Variability.DISCRETE)
            result.append(v)
        return result

    # --- expressions ---------------------------------------------------------------------------

    def _plain(self, e: Equation) -> Equation:
        return Equation(self._rewritten(e.lhs), self._rewritten(e.rhs), e.origin)

    def _plain_when(self, when: When) -> When:
        branches = tuple(
            Branch(
                tuple(self._rewritten(c) for c in b.conditions),
                tuple(replace(a, value=self._rewritten(a.value)) for a in b.actions),
            )
            for b in when.branches
        )
        return When(branches, when.origin)

    def _rewritten(self, e: Expression) -> Expression:
        for node in ex.walk(e):  # values of operators first: they may hold operators themselves
            if node.op in ("name", "pre", "der") and node.target in self._applications:
                self._value_of(node.target)
        return ex.rewrite([e], self._leaf, self._memo)[0]

    def _leaf(self, e: Expression) -> Expression:
        if e.op == "name" and e.target in self._values:
            return self._values[e.target]
        return e

    def _value_of(self, name: str) -> Expression:
        if name not in self._values:
            self._values[name] = self._operated(self._applications[name])
        return self._values[name]

    def _operated(self, a: Application) -> Expression:
        match a.operator:
            case "interval":
                return self._interval(self._partitions.of(a.result))
            case "firstTick":
                return ex.logical_not(ex.pre(self._ticked(self._partitions.of(a.result))))
        if a.argument is None or a.makes_clock:
            raise SourceError("S240", f"{a.origin}: a clock stands where a value is needed")
        value = self._rewritten(a.argument)
        match a.operator:
            case "previous":
                held = self._variable_for(value, a)
                return ex.pre(held.target) if held.op == "name" else held
            case "hold":
                return self._variable_for(value, a)
            case "sample":
                return self._left_limit(value, a)
        return value  # of another clock: what it was at its last tick, or is at this one

    def _is_constant(self, e: Expression) -> bool:
        if e.op == "const":
            return True
        variable = self._system.by_name.get(e.target) if e.op == "name" else None
        return variable is not None and _is_constant(variable)

    def _variable_for(self, value: Expression, a: Application) -> Expression:
        """A discrete variable with this value at the ticks of the argument's clock."""
        if self._is_constant(value):
            return value
        if value.op == "name" and value.target in self._system.by_name:
            return value
        name = f"{a.result}.value"
        self._add(name, a.kind, a.origin, start=None)
        self._place(self._partitions.of(argument_of(a)), name, value)
        return ex.name(name)

    def _left_limit(self, value: Expression, a: Application) -> Expression:
        """The value just before the tick."""

        def leaf(e: Expression) -> Expression:
            if e.op == "der":
                name = f"$slope({e.target})"
                if name not in self._new:
                    self._new[name] = Variable(name, protected=True, origin=a.origin)
                    self._continuous.append(Equation(ex.name(name), e, a.origin))
                return ex.pre(name)
            if e.op != "name" or self._is_constant(e):
                return e
            variable = self._system.by_name.get(e.target)
            if variable is not None and variable.causality == "input":
                return e
            return ex.pre(e.target)

        return ex.rewrite([value], leaf)[0]

    # --- what a partition knows of its clock ---------------------------------------------------

    def _add(
        self, name: str, kind: Kind, origin: Origin, *, start: Expression | None = ex.ZERO
    ) -> None:
        self._new[name] = Variable(
            name,
            kind,
            Variability.DISCRETE,
            start=start,
            fixed=start is not None,
            protected=True,
            origin=origin,
        )

    def _state(self, partition: Partition, label: str, kind: Kind, value: Expression) -> str:
        """A variable of ours that is set at every tick of a partition."""
        name = f"${label}({partition.root})"
        if name not in self._new:
            self._add(name, kind, partition.origin)
            self._place(partition, name, value)
        return name

    def _place(self, partition: Partition, name: str, value: Expression) -> None:
        """A new variable is set at the ticks of a partition."""
        self._homes.setdefault(partition.root, []).append(name)
        equation = Equation(ex.name(name), value, partition.origin)
        self._clocked.setdefault(partition.root, []).append(equation)

    def _ticked(self, partition: Partition) -> str:
        return self._state(partition, "ticked", Kind.BOOLEAN, ex.ONE)

    def _interval(self, partition: Partition) -> Expression:
        ticks = self._ticks_of(partition)
        if ticks.interval is not None:
            return ticks.interval
        last = self._state(partition, "instant", Kind.REAL, ex.TIME)
        since = ex.sub(ex.TIME, ex.pre(last))
        return ex.conditional(ex.pre(self._ticked(partition)), since, ticks.base.start)

    def _ticks_of(self, partition: Partition) -> Ticks:
        ticks = self._ticks.get(partition.root)
        if ticks is None:
            raise SourceError(
                "S237",
                f"{partition.origin}: '{partition.clocked}' needs a clock, and nothing says which",
            )
        return ticks

    # --- clauses -------------------------------------------------------------------------------

    def _clause(self, partition: Partition) -> None:
        ticks = self._ticks_of(partition)
        equations = self._clocked[partition.root]
        if any(e.op == "der" for q in equations for e in ex.walk(q.lhs, q.rhs)):
            tick = Tick(
                ticks,
                ex.logical_not(ex.pre(self._ticked(partition))),
                self._interval(partition),
                self._starts(partition),
                frozenset(v.name for v in self._system.variables if _is_constant(v)),
            )
            unknowns = self._unknowns(partition)
            continuous = discretised(equations, unknowns, tick)
            equations = list(continuous.equations)
            for name in continuous.variables:
                self._add(name, Kind.REAL, partition.origin)
                self._homes.setdefault(partition.root, []).append(name)
        unknowns = self._unknowns(partition)
        actions = tuple(
            Action(s.unknown, s.value, False, s.origin)
            for s in solved_equations(equations, unknowns)
        )
        condition = self._condition(ticks, partition.origin)
        self._whens.append(When((Branch((condition,), actions),), partition.origin))

    def _unknowns(self, partition: Partition) -> dict[str, Kind]:
        own = {
            v.name: v.kind
            for v in self._members.get(partition.root, ())
            if v.causality != "input" and v.kind is not Kind.STRING
        }
        return own | {n: self._new[n].kind for n in self._homes.get(partition.root, ())}

    def _starts(self, partition: Partition) -> dict[str, Expression]:
        """What initial equations and start values say of the variables of a partition."""
        starts = {
            v.name: v.start if v.start is not None else ex.ZERO for v in self._system.variables
        }
        kept = []
        for e in self._initial:
            for one, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
                if one.op == "name" and self._partitions.of(one.target) is partition:
                    starts[one.target] = other
                    break
            else:
                kept.append(e)
        self._initial = kept
        return starts

    def _condition(self, ticks: Ticks, origin: Origin) -> Expression:
        if ticks.interval is not None:
            return ex.node("sample", ticks.first, ticks.interval)
        factor, shift = ticks.factor, ticks.shift
        if factor.denominator != 1 or shift.denominator != 1:
            raise SourceError(
                "S241",
                f"{origin}: a clock that ticks at events cannot tick between them; superSample() "
                "and fractions of shiftSample() need a periodic clock",
            )
        counter = self._counter(ticks.base, origin)
        number = ex.sub(ex.pre(counter), ex.const(1 + int(shift)))
        due = ex.relation("ne", ex.pre(counter), ex.pre(f"{counter}.done"))
        if shift:
            due = ex.logical_and(due, ex.relation("ge", number, ex.ZERO))
        if factor != 1:
            turn = ex.call("mod", number, ex.const(int(factor)))
            due = ex.logical_and(due, ex.relation("eq", turn, ex.ZERO))
        return due

    def _counter(self, base: BaseClock, origin: Origin) -> str:
        """The number of ticks of an event clock so far.

        A condition that holds from the start makes the first tick there.
        """
        known = self._counted.get(base)
        if known is None:
            known = self._counted[base] = f"$ticks{len(self._counted) + 1}"
            done, event, begun = f"{known}.done", f"{known}.event", f"{known}.begun"
            assert base.condition is not None
            for name in (known, done):
                self._add(name, Kind.INTEGER, origin)
            self._add(event, Kind.BOOLEAN, origin, start=None)
            self._add(begun, Kind.BOOLEAN, origin)
            condition = ex.name(event)
            self._continuous.append(Equation(condition, self._rewritten(base.condition), origin))
            has_begun = Action(begun, ex.ONE, False, origin)

            def counted(true: Expression) -> Action:
                return Action(known, ex.add(ex.pre(known), true), False, origin)

            at_start = ex.logical_and(condition, ex.logical_not(ex.pre(begun)))
            one_if = ex.conditional(at_start, ex.ONE, ex.ZERO)
            first = ex.node("sample", ex.ZERO, _RARELY)
            self._whens.append(
                When(
                    (
                        Branch((condition,), (counted(ex.ONE), has_begun)),
                        Branch((first,), (counted(one_if), has_begun)),
                    ),
                    origin,
                )
            )
            due = ex.relation("ne", ex.pre(known), ex.pre(done))
            caught_up = Action(done, ex.pre(known), False, origin)
            self._whens.append(When((Branch((due,), (caught_up,)),), origin))
        return known
