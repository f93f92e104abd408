"""Values of parameters that must be known while the model is decoded: sizes, ranges, branches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from estimica.base.errors import SourceError
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.system import Kind, Variability
from estimica.source.interpreter.names import Declaration, NameTable
from estimica.source.interpreter.values import Value, ValueMismatch, broadcast

_LOGICAL = ex.RELATIONS | {"and", "or", "not"}


class ParameterValues:
    """Bindings of parameters and constants, evaluated on demand; remembers which were built in."""

    def __init__(self, names: NameTable, bound: Callable[[Declaration], Value]) -> None:
        self._names = names
        self._bound = bound
        self._bindings: dict[str, Value] = {}
        self._numbers: dict[str, float] = {}
        self._pending: list[str] = []
        self._settled: dict[str, bool] = {}
        #: parameters whose value is part of the equations, with the reason
        self.evaluated: dict[str, str] = {}

    def binding(self, declared: Declaration) -> Value:
        """The value of a parameter or constant in terms of others (an array for an array)."""
        name = declared.name
        if name not in self._bindings:
            if name in self._pending:
                cycle = " -> ".join([*self._pending[self._pending.index(name) :], name])
                raise SourceError("S010", f"parameters depend on each other in a circle: {cycle}")
            self._pending.append(name)
            try:
                self._bindings[name] = self._bound(declared)
            finally:
                self._pending.pop()
        return self._bindings[name]

    def element(self, name: str) -> Expression | str | None:
        """The binding of one scalar parameter, None where it has none."""
        declared = self._names.owner[name]
        value = self.binding(declared)
        if value is None or not declared.dims:
            assert value is None or isinstance(value, (Expression, str))
            return value
        try:
            found: Expression | str | None = broadcast(value, declared.dims)[
                self._names.position[name]
            ]
        except ValueMismatch as mismatch:
            raise SourceError("S011", f"the value of '{declared.name}': {mismatch}") from None
        return found

    def number(self, expression: Expression, why: str) -> float | None:
        """The number that `expression` is for the present parameter values, None if it has none.

        Every parameter that took part is marked as evaluated, because `why`.
        """
        names = ex.names_in(expression)
        if any(e.op in ("der", "pre", "time", "initial", "terminal") for e in ex.walk(expression)):
            return None
        values = {}
        for name in names:
            value = self._number_of(name)
            if value is None:
                return None
            values[name] = value
        result = evaluate(expression, values)
        if math.isnan(result):
            return None
        self.mark(names, why)
        return result

    def peek(self, expression: Expression) -> float | None:
        """The number that `expression` is for the present values, without building anything in."""
        values = {}
        for name in ex.names_in(expression):
            value = self._number_of(name)
            if value is None:
                return None
            values[name] = value
        return evaluate(expression, values)

    def mark(self, names: Iterable[str], why: str) -> None:
        """Remember that these parameters, and those they depend on, are built in."""
        stack = [n for n in names if n not in self.evaluated]
        while stack:
            name = stack.pop()
            owner = self._names.owner.get(name)
            if owner is None or name in self.evaluated:
                continue
            if owner.variability is Variability.PARAMETER:
                self.evaluated[name] = why
            binding = self.element(name) if owner.is_parameter else None
            if isinstance(binding, Expression):
                stack.extend(ex.names_in(binding) - self.evaluated.keys())

    def settle(self, condition: Expression, why: str) -> Expression:
        """`condition` with what Boolean, Integer and enumeration parameters decide put in.

        What depends on Real parameters stays, so that they remain tunable.
        """
        if condition.op == "const":
            return condition
        memo: dict[Expression, Expression] = {}
        for e in ex.walk(condition):
            memo[e] = e if not e.operands else ex.rebuild(e, [memo[a] for a in e.operands])
            if (e.op in _LOGICAL or e.op == "name") and self._is_settled(memo[e], e is condition):
                value = self.number(memo[e], why)
                if value is not None:
                    memo[e] = ex.const(value)
        return memo[condition]

    def _is_settled(self, e: Expression, whole: bool) -> bool:
        if e.op == "name" and not whole:
            owner = self._names.owner.get(e.target)
            # a number beside a relation is decided together with it
            if owner is None or owner.kind not in (Kind.BOOLEAN, Kind.ENUMERATION):
                return False
        leaves = [x for x in ex.walk(e) if not x.operands]
        return all(
            x.op == "const" or (x.op == "name" and self._settled_name(x.target)) for x in leaves
        )

    def _settled_name(self, name: str) -> bool:
        if name not in self._settled:
            self._settled[name] = False  # a circle is not settled
            owner = self._names.owner.get(name)
            if owner is None or not owner.is_parameter or owner.raw["fixed"] == [False]:
                return False
            constant = owner.variability is Variability.CONSTANT
            binding = self.element(name) if owner.kind is not Kind.REAL or constant else None
            self._settled[name] = isinstance(binding, Expression) and all(
                x.op == "const" or (x.op == "name" and self._settled_name(x.target))
                for x in ex.walk(binding)
                if not x.operands
            )
        return self._settled[name]

    def _number_of(self, name: str) -> float | None:
        if name not in self._numbers:
            owner = self._names.owner.get(name)
            if owner is None or not owner.is_parameter or owner.raw["fixed"] == [False]:
                return None
            binding = self.element(name)
            if not isinstance(binding, Expression):
                return None
            inner = {}
            for n in ex.names_in(binding):
                value = self._number_of(n)
                if value is None:
                    return None
                inner[n] = value
            self._numbers[name] = evaluate(binding, inner)
        return self._numbers[name]
