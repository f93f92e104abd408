"""Derivatives in a partition with a clock: integrated from tick to tick by the clock's solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Kind
from estimica.source.clocks.solution import solved_equations
from estimica.source.clocks.ticks import Ticks

_HALF = ex.const(0.5)
_SIXTH = ex.const(1.0 / 6.0)
_TWO = ex.const(2.0)

Slopes = dict[str, Expression]  # of the states


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of the partition: its clock, whether it is the first, and the time since the last."""

    ticks: Ticks
    first: Expression
    interval: Expression
    starts: Mapping[str, Expression]  # values of states at the first tick
    constants: frozenset[str]  # names that never change


@dataclass(frozen=True, slots=True)
class Discretised:
    """Equations without derivatives, and the variables that were introduced."""

    equations: tuple[Equation, ...]
    variables: tuple[str, ...]


def discretised(
    equations: Sequence[Equation], unknowns: Mapping[str, Kind], tick: Tick
) -> Discretised:
    """`equations` with an equation of differences for every derivative."""
    states = sorted({e.target for q in equations for e in ex.walk(q.lhs, q.rhs) if e.op == "der"})
    origin = equations[0].origin
    method = tick.ticks.method
    if not method:
        raise SourceError(
            "S242",
            f"{origin}: der({states[0]}) stands in equations that have a clock, and the clock has "
            'no solver; give it one: Clock(c, solverMethod="ImplicitEuler")',
        )
    stepping = _METHODS.get(method)
    if stepping is None:
        raise UnsupportedError(
            "U021",
            f"{tick.ticks.origin}: the solver '{method}' of a clock is not supported; use one of "
            f"{', '.join(_METHODS)}",
        )
    step = _Step(equations, unknowns, states, tick)
    increments = stepping(step)
    for x in states:
        moved = ex.add(ex.pre(x), ex.mul(tick.interval, increments[x]))
        value = ex.conditional(tick.first, tick.starts[x], moved)
        step.result.append(Equation(ex.name(x), value, origin))
    return Discretised(tuple(step.result), (*step.slopes.values(), *step.inputs.values()))


@dataclass(slots=True)
class _Step:
    """One step of a method: slopes at the ticks, and at points between them."""

    equations: Sequence[Equation]
    unknowns: Mapping[str, Kind]
    states: Sequence[str]
    tick: Tick
    slopes: dict[str, str] = field(default_factory=dict)
    inputs: dict[Expression, str] = field(default_factory=dict)
    result: list[Equation] = field(default_factory=list)
    _right: Slopes = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.slopes = {x: f"$slope({x})" for x in self.states}
        memo: dict[Expression, Expression] = {}

        def leaf(e: Expression) -> Expression:
            return ex.name(self.slopes[e.target]) if e.op == "der" else e

        for e in self.equations:
            lhs, rhs = ex.rewrite([e.lhs, e.rhs], leaf, memo)
            self.result.append(Equation(lhs, rhs, e.origin))

    def now(self) -> Slopes:
        """At this tick."""
        return {x: ex.name(s) for x, s in self.slopes.items()}

    def before(self) -> Slopes:
        """At the last tick."""
        return {x: ex.pre(s) for x, s in self.slopes.items()}

    def between(self, slopes: Slopes, part: float) -> Slopes:
        """At a part of the interval, which was reached with `slopes`; inputs are interpolated."""
        if not self._right:
            self._find_right_sides()
        ahead = ex.mul(ex.const(part), self.tick.interval)
        values: dict[Expression, Expression] = {
            ex.name(x): ex.add(ex.pre(x), ex.mul(ahead, slopes[x])) for x in self.states
        }
        for leaf, name in self.inputs.items():
            rise = ex.sub(ex.name(name), ex.pre(name))
            values[leaf] = ex.add(ex.pre(name), ex.mul(ex.const(part), rise))
        memo: dict[Expression, Expression] = {}
        roots = list(self._right.values())
        found = ex.rewrite(roots, lambda e: values.get(e, e), memo)
        return dict(zip(self._right, found, strict=True))

    def _find_right_sides(self) -> None:
        """The slopes as functions of the states and of what the partition takes from outside."""
        inner = {n: k for n, k in self.unknowns.items() if n not in self.slopes}
        inner |= dict.fromkeys(self.slopes.values(), Kind.REAL)
        known: dict[Expression, Expression] = {}
        memo: dict[Expression, Expression] = {}
        for s in solved_equations(self.result, inner):
            known[ex.name(s.unknown)] = ex.rewrite([s.value], lambda e: known.get(e, e), memo)[0]
            memo.clear()
        self._right = {x: known[ex.name(s)] for x, s in self.slopes.items()}
        own = {ex.name(x) for x in self.states}
        for e in ex.walk(*self._right.values()):
            constant = e.op == "const" or (e.op == "name" and e.target in self.tick.constants)
            if not e.operands and e not in own and not constant:
                name = f"$input{len(self.inputs) + 1}({self.states[0]})"
                self.inputs[e] = name
                self.result.append(Equation(ex.name(name), e, self.equations[0].origin))


def _mean(step: _Step) -> Slopes:
    now, before = step.now(), step.before()
    return {x: ex.mul(_HALF, ex.add(now[x], before[x])) for x in now}


def _runge_kutta(step: _Step) -> Slopes:
    first = step.before()
    second = step.between(first, 0.5)
    third = step.between(second, 0.5)
    fourth = step.between(third, 1.0)
    return {
        x: ex.mul(
            _SIXTH,
            ex.add(ex.add(first[x], ex.mul(_TWO, ex.add(second[x], third[x]))), fourth[x]),
        )
        for x in first
    }


_METHODS: dict[str, Callable[[_Step], Slopes]] = {
    "ExplicitEuler": lambda step: step.before(),
    "ExplicitMidPoint2": lambda step: step.between(step.before(), 0.5),
    "ExplicitRungeKutta4": _runge_kutta,
    "ImplicitEuler": lambda step: step.now(),
    "ImplicitTrapezoid": _mean,
}
