"""Values of parameters that must be known while the model is read: sizes, ranges, branches."""

from __future__ import annotations

import math
from collections.abc import Iterable

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.evaluate.names import Names

_LOGICAL = ex.RELATIONS | {"and", "or", "not"}
#: what has no value before the run
_OF_THE_RUN = frozenset(
    ["der", "pre", "time", "initial", "terminal", "sample", "delay", "edge", "change"]
)


class ParameterValues:
    """Numbers of parameters, found on demand; remembers which were built into the equations."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._numbers: dict[str, float | None] = {}
        self._pending: list[str] = []
        self._settled: dict[str, bool] = {}
        self._settled_parts: dict[Expression, bool] = {}
        self._rewritten: dict[Expression, Expression] = {}
        #: parameters whose value is part of the equations, with the reason
        self.evaluated: dict[str, str] = {}

    def number(self, expression: Expression, why: str) -> float | None:
        """The number that `expression` is for the present parameter values, None if it has none.

        Every parameter that took part is marked as evaluated, because `why`.
        """
        result = self.peek(expression)
        if result is None or math.isnan(result):
            return None
        self.mark(ex.names_in(expression), why)
        return result

    def peek(self, expression: Expression) -> float | None:
        """The number that `expression` is for the present values, without building anything in."""
        if expression.op == "const":
            return expression.value
        values = {}
        for e in ex.walk(expression):
            if e.op in _OF_THE_RUN:
                return None
            if e.op == "name":
                value = self._number_of(e.target)
                if value is None:
                    return None
                values[e.target] = value
        return evaluate(expression, values)

    def mark(self, names: Iterable[str], why: str) -> None:
        """Remember that these parameters, and those they depend on, are built in."""
        stack = [n for n in names if n not in self.evaluated]
        seen = set(stack)
        while stack:
            name = stack.pop()
            variable = self._names.variable(name)
            if variable is None or not variable.is_parameter:
                continue
            if variable.variability is Variability.PARAMETER:
                self.evaluated[name] = why
            binding = self._names.binding(name)
            if isinstance(binding, Expression):
                new = ex.names_in(binding) - self.evaluated.keys() - seen
                seen |= new
                stack.extend(new)

    def settle(self, condition: Expression, why: str) -> Expression:
        """`condition` with what Boolean, Integer and enumeration parameters decide put in.

        What depends on Real parameters stays, so that they remain tunable.
        """
        if condition.op == "name":
            return self._decided(condition, why) if self._all_settled(condition) else condition
        done = self._rewritten  # conditions of nested branches share most of their parts
        stack = [condition]
        while stack:
            e = stack[-1]
            if e in done:
                stack.pop()
                continue
            waiting = [a for a in e.operands if a not in done]
            if waiting:
                stack.extend(waiting)
                continue
            done[e] = self._rebuilt(e, why)
            stack.pop()
        return done[condition]

    def _rebuilt(self, e: Expression, why: str) -> Expression:
        operands = e.operands
        if not operands:
            return self._decided(e, why) if e.op == "name" and self._is_settled(e) else e
        parts = [self._rewritten[a] for a in operands]
        same = all(p is a for p, a in zip(parts, operands, strict=True))
        result = e if same else ex.rebuild(e, parts)
        if e.op in _LOGICAL and self._all_settled(result):
            return self._decided(result, why)
        return result

    def _decided(self, e: Expression, why: str) -> Expression:
        value = self.number(e, why)
        return e if value is None else ex.const(value)

    def is_parametric(self, expression: Expression) -> bool:
        """Whether `expression` depends on nothing but parameters and constants."""
        for e in ex.walk(expression):
            if e.op in _OF_THE_RUN:
                return False
            if e.op == "name":
                variable = self._names.variable(e.target)
                if variable is None or not variable.is_parameter:
                    return False
        return True

    def _is_settled(self, name: Expression) -> bool:
        """Whether a name by itself is put in; a number beside a relation is decided with it."""
        variable = self._names.variable(name.target)
        if variable is None or variable.kind not in (Kind.BOOLEAN, Kind.ENUMERATION):
            return False
        return self._settled_name(name.target)

    def _all_settled(self, root: Expression) -> bool:
        known = self._settled_parts
        stack = [root]
        while stack:
            e = stack[-1]
            if e in known:
                stack.pop()
            elif not e.operands:
                known[e] = e.op == "const" or (e.op == "name" and self._settled_name(e.target))
                stack.pop()
            elif any(known.get(a) is False for a in e.operands):
                known[e] = False
                stack.pop()
            elif waiting := [a for a in e.operands if a not in known]:
                stack.append(waiting[0])
            else:
                known[e] = True
                stack.pop()
        return known[root]

    def _settled_name(self, name: str) -> bool:
        if name not in self._settled:
            self._settled[name] = False  # a circle is not settled
            variable = self._names.variable(name)
            if variable is None or not variable.is_parameter or variable.solved:
                return False
            constant = variable.variability is Variability.CONSTANT
            settled = variable.kind is not Kind.REAL or constant
            binding = self._names.binding(name) if settled else None
            self._settled[name] = isinstance(binding, Expression) and self._all_settled(binding)
        return self._settled[name]

    def _number_of(self, name: str) -> float | None:
        if name in self._numbers:
            return self._numbers[name]
        if name in self._pending:
            circle = " -> ".join([*self._pending[self._pending.index(name) :], name])
            raise SourceError("S010", f"parameters depend on each other in a circle: {circle}")
        variable = self._names.variable(name)
        if variable is None or not variable.is_parameter or variable.solved:
            return None
        self._pending.append(name)
        try:
            binding = self._names.binding(name)
            value = self.peek(binding) if isinstance(binding, Expression) else None
        finally:
            self._pending.pop()
        self._numbers[name] = value
        return value
