"""The operators of clocks, as they are met in expressions.

Every application becomes a name of its own, such as `$hold3`, and is remembered beside it: nothing
but names reaches the expressions, and the partitions are cut where those names stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Origin
from estimica.source.evaluate.names import Scope
from estimica.source.evaluate.values import Frame, Value, ValueMismatch, elementwise, is_array
from estimica.source.syntax import tree

if TYPE_CHECKING:
    from estimica.source.evaluate.expressions import Evaluator

#: operators that change the rate or the phase of a clock, with the names of their numbers
CONVERSIONS = {
    "subSample": ("factor",),
    "superSample": ("factor",),
    "shiftSample": ("shiftCounter", "resolution"),
    "backSample": ("backCounter", "resolution"),
}


@dataclass(frozen=True, slots=True)
class Application:
    """One operator where it is applied.

    The operators of Clock() are told apart: Clock (inferred), Clock.periodic (`numbers` are
    counter and resolution), Clock.interval (`argument`), Clock.event (`argument`, `start`),
    Clock.solver (`argument`, `method`).
    """

    result: str  # the name that stands for it
    operator: str
    origin: Origin
    argument: Expression | None = None
    numbers: tuple[int, ...] = ()  # none: to be inferred
    clock: Expression | None = None
    start: Expression = ex.ZERO
    method: str = ""
    kind: Kind = Kind.REAL

    @property
    def makes_clock(self) -> bool:
        """Whether it is a constructor of a clock."""
        return self.operator.startswith("Clock")


class ClockVariables(Protocol):
    """What must be known of variables here."""

    def is_clock(self, name: str) -> bool:
        """Whether a scalar variable is a clock."""


class ClockOperators:
    """Collects the applications of a model."""

    def __init__(self, variables: ClockVariables) -> None:
        self._variables = variables
        self.applications: dict[str, Application] = {}

    def value(
        self, evaluator: Evaluator, call: tree.Call, scope: Scope, frame: Frame
    ) -> Value | None:
        """The value of a call of such an operator; None where it is none."""
        name = call.function.text
        reader = _READERS.get(name)
        if reader is None or evaluator.names.function(call.function, scope) is not None:
            return None
        return reader(self, _Call(evaluator, call, scope, frame))

    def is_clock(self, value: Value) -> bool:
        """Whether a value is a clock: a variable, a constructor, or another clock converted."""
        if not isinstance(value, Expression) or value.op != "name":
            return False
        known = self.applications.get(value.target)
        if known is None:
            return self._variables.is_clock(value.target)
        if known.makes_clock:
            return True
        return known.operator in CONVERSIONS and self.is_clock(known.argument)

    def expressions(self) -> list[Expression]:
        """All that operators are applied to."""
        found = [e for a in self.applications.values() for e in (a.argument, a.clock, a.start)]
        return [e for e in found if e is not None]

    # --- readers -------------------------------------------------------------------------------

    def _add(self, call: _Call, operator: str, **parts: object) -> Expression:
        result = f"${operator.lower()}{len(self.applications) + 1}"
        place = call.evaluator.place
        self.applications[result] = Application(result, operator, place, **parts)  # type: ignore[arg-type]
        return ex.name(result)

    def _clock(self, call: _Call) -> Value | None:
        given = call.arguments
        method = call.take("solverMethod")
        if not given:
            return self._add(call, "Clock")
        first = call.evaluator.one(given[0], call.scope, call.frame)
        if self.is_clock(first):
            node = method if method is not None else given[1] if len(given) > 1 else None
            text = call.evaluator.one(node, call.scope, call.frame) if node is not None else ""
            if not isinstance(text, str):
                raise ValueMismatch("the solverMethod of a clock is not a text")
            return self._add(call, "Clock.solver", argument=first, method=text)
        if not isinstance(first, Expression):
            raise ValueMismatch("Clock() takes an interval, a condition or a clock")
        kind = self._kind(call, first, given[0])
        if kind is Kind.BOOLEAN:
            start = call.scalar(given[1]) if len(given) > 1 else ex.ZERO
            return self._add(call, "Clock.event", argument=first, start=start)
        if not call.evaluator.parameters.is_parametric(first):
            call.evaluator.refuse(
                "a clock whose interval changes during the run",
                "use an event clock, Clock(condition), with the condition in the model",
            )
        if kind is Kind.INTEGER:
            resolution = call.number(given[1]) if len(given) > 1 else 1
            counter = int(call.evaluator.number(first, "it is the interval of a clock"))
            return self._add(call, "Clock.periodic", numbers=(counter, resolution))
        return self._add(call, "Clock.interval", argument=first)

    def _sample(self, call: _Call) -> Value | None:
        given = call.arguments
        clock: Value = None
        if not 1 <= len(given) <= 2:
            return None
        if len(given) == 2:
            clock = call.evaluator.one(given[1], call.scope, call.frame)
            if not self.is_clock(clock):
                return None
        value = call.evaluator.one(given[0], call.scope, call.frame)
        return self._each(call, "sample", value, given[0], clock=clock)

    def _previous(self, call: _Call) -> Value | None:
        (node,) = call.exactly(1)
        frame = call.evaluator.without_variables(call.frame)
        value = call.evaluator.one(node, call.scope, frame)
        return self._each(call, "previous", value, node)

    def _of_value(self, call: _Call) -> Value | None:
        (node,) = call.exactly(1)
        value = call.evaluator.one(node, call.scope, call.frame)
        return self._each(call, call.operator, value, node)

    def _of_partition(self, call: _Call) -> Value | None:
        """firstTick and interval: of a value, or of the equation in which they stand."""
        kind = Kind.BOOLEAN if call.operator == "firstTick" else Kind.REAL
        if not call.arguments:
            return self._add(call, call.operator, kind=kind)
        (node,) = call.exactly(1)
        value = call.evaluator.one(node, call.scope, call.frame)
        if is_array(value) and value.size:
            value = value.flat[0]  # all elements have the same clock
        if not isinstance(value, Expression):
            raise ValueMismatch(f"{call.operator}() of something that is not a number")
        return self._add(call, call.operator, argument=value, kind=kind)

    def _conversion(self, call: _Call) -> Value | None:
        names = CONVERSIONS[call.operator]
        given = dict(zip(("u", *names), call.arguments, strict=False))
        if "u" not in given:
            raise ValueMismatch(f"{call.operator}() without an argument")
        value = call.evaluator.one(given["u"], call.scope, call.frame)
        numbers = tuple(call.number(given[n]) for n in names if n in given)
        if "resolution" in names and len(numbers) < len(names):
            numbers = (*numbers, 1) if numbers else (0, 1)
        if "factor" in names and numbers == (0,):
            numbers = ()
        wrong = [n for n in numbers[-1:] if n < 1] or [n for n in numbers if n < 0]
        if wrong:
            raise ValueMismatch(f"{call.operator}() with the number {wrong[0]}")
        return self._each(call, call.operator, value, given["u"], numbers=numbers)

    def _each(
        self, call: _Call, operator: str, value: Value, node: tree.Expression, **parts: object
    ) -> Value:
        def one(a: Value) -> Value:
            if not isinstance(a, Expression):
                raise ValueMismatch(f"{operator}() of a text")
            kind = self._kind(call, a, node)
            return self._add(call, operator, argument=a, kind=kind, **parts)

        return elementwise(one, value)

    def _kind(self, call: _Call, e: Expression, node: tree.Expression) -> Kind:
        applied = self.applications.get(e.target) if e.op == "name" else None
        if applied is not None:
            return applied.kind
        known = call.evaluator.type_of(node, e, call.scope, call.frame)
        return known.kind if known is not None else Kind.REAL


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, with what its arguments are evaluated in."""

    evaluator: Evaluator
    node: tree.Call
    scope: Scope
    frame: Frame

    @property
    def operator(self) -> str:
        """The name of the operator."""
        return self.node.function.text

    @property
    def arguments(self) -> Sequence[tree.Expression]:
        """All arguments in order; those that are named come in the order of the definition."""
        order = _ARGUMENTS.get(self.operator, ())
        rank = {name: k for k, name in enumerate(order)}
        named = [pair for pair in self.node.named if pair[0] != "solverMethod"]
        unknown = [n for n, _ in named if n not in rank]
        if unknown:
            raise ValueMismatch(f"{self.operator}() has no argument '{unknown[0]}'")
        return [*self.node.arguments, *(v for _, v in sorted(named, key=lambda p: rank[p[0]]))]

    def take(self, name: str) -> tree.Expression | None:
        """The argument of that name."""
        return next((v for n, v in self.node.named if n == name), None)

    def exactly(self, count: int) -> Sequence[tree.Expression]:
        """The arguments, which must be so many."""
        given = self.arguments
        if len(given) != count:
            raise ValueMismatch(f"{self.operator}() takes {count} argument")
        return given

    def scalar(self, node: tree.Expression) -> Expression:
        """An argument that is one number."""
        return self.evaluator.scalar(node, self.scope, self.frame)

    def number(self, node: tree.Expression) -> int:
        """An argument that is a whole number and known."""
        value = self.evaluator.number(self.scalar(node), "it sets the rate of a clock")
        if value != int(value):
            raise ValueMismatch(f"{self.operator}() with the number {value:g}")
        return int(value)


_ARGUMENTS = {
    "Clock": ("c", "intervalCounter", "interval", "condition", "resolution", "startInterval"),
    "sample": ("u", "start", "c", "clock", "interval"),
    **{name: ("u", *numbers) for name, numbers in CONVERSIONS.items()},
    **dict.fromkeys(("previous", "hold", "noClock", "interval", "firstTick"), ("u",)),
}
_Reader = Callable[[ClockOperators, _Call], "Value | None"]
_READERS: dict[str, _Reader] = {
    "Clock": ClockOperators._clock,
    "sample": ClockOperators._sample,
    "previous": ClockOperators._previous,
    "hold": ClockOperators._of_value,
    "noClock": ClockOperators._of_value,
    "interval": ClockOperators._of_partition,
    "firstTick": ClockOperators._of_partition,
    **dict.fromkeys(CONVERSIONS, ClockOperators._conversion),
}
