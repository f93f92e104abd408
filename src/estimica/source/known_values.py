"""What expressions are worth whatever happens during a run, with the parameters as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.flat.function import (
    Assign,
    Break,
    Choice,
    FlatFunction,
    Foreign,
    Loop,
    Return,
    Statement,
    assigned_names,
    called,
    statements,
)
from estimica.flat.system import FlatSystem, Variability


@dataclass(frozen=True, slots=True)
class Known:
    """A number, and the parameters that make it so."""

    number: float
    parameters: frozenset[str] = frozenset()

    def because(self, *others: Known) -> Known:
        """The same number, which depends on what these depend on."""
        return Known(self.number, self.parameters.union(*(o.parameters for o in others)))


_ZERO = Known(0.0)
Names = Mapping[str, "Known | None"]


class KnownValues:
    """Values of the expressions of a system; None where the run decides."""

    def __init__(self, system: FlatSystem) -> None:
        self._variables = system.by_name
        self._definitions = {
            e.lhs.target: e.rhs for e in system.equations if e.lhs.op == "name"
        }  # fmt: skip
        self._memo: dict[Expression, Known | None] = {}
        self._names: dict[str, Known | None] = {}
        self._calls: dict[object, dict[str, Known | None]] = {}

    def value(self, e: Expression) -> Known | None:
        """What `e` is worth always."""
        for part in ex.walk(e, known=self._memo):
            self._memo[part] = self._part(part, self._memo, None)
        return self._memo[e]

    def _name(self, name: str) -> Known | None:
        if name not in self._names:
            self._names[name] = None  # while it is asked: what depends on itself is not known
            self._names[name] = self._defined(name)
        return self._names[name]

    def _defined(self, name: str) -> Known | None:
        variable = self._variables.get(name)
        if variable is None:
            return None
        if variable.variability in (Variability.PARAMETER, Variability.CONSTANT):
            if variable.binding is None:
                return None
            found = self.value(variable.binding)
            return None if found is None else found.because(Known(0.0, frozenset({name})))
        if variable.variability is not Variability.CONTINUOUS or name not in self._definitions:
            return None
        return self.value(self._definitions[name])

    def _part(
        self, e: Expression, memo: Mapping[Expression, Known | None], local: Names | None
    ) -> Known | None:
        """A node whose operands are in `memo`."""
        if e.op == "const":
            return Known(e.value)
        if e.op == "name":
            return self._name(e.target) if local is None else local.get(e.target, _ZERO)
        if not e.operands:
            return None
        parts = [memo[o] for o in e.operands]
        if e.op == "call":
            function, output = called(e)
            return self._called(function, parts).get(function.outputs[output], _ZERO)
        if e.op in ("mul", "and"):
            zero = next((p for p in parts if p is not None and p.number == 0.0), None)
            if zero is not None:
                return zero
        if e.op == "div" and parts[0] is not None and parts[0].number == 0.0:
            return parts[0]
        if e.op == "or":
            one = next((p for p in parts if p is not None and p.number != 0.0), None)
            if one is not None:
                return one
        if e.op == "if":
            return _chosen(*parts)
        known = [p for p in parts if p is not None]
        if len(known) < len(parts) or e.op in ("sample", "edge", "change", "delay"):
            return None
        return _computed(e, known)

    # -- functions -------------------------------------------------------------------------------

    def _called(self, function: FlatFunction, given: Sequence[Known | None]) -> Names:
        key = (function, *given)
        if key not in self._calls:
            names: dict[str, Known | None] = dict(zip(function.inputs, given, strict=True))
            try:
                self._run(function.body, names)
            except _LeftOpenError:
                names.update(dict.fromkeys(function.outputs))
            self._calls[key] = names
        return self._calls[key]

    def _run(self, body: Sequence[Statement], names: dict[str, Known | None]) -> bool:
        """Executes statements; whether the function goes on behind them."""
        for s in body:
            match s:
                case Assign():
                    values = [self._local(v, names) for v in s.values]
                    names.update(zip(s.targets, values, strict=True))
                case Choice():
                    if not self._choice(s, names):
                        return False
                case Loop():
                    if any(isinstance(x, Return) for x in statements(s.body)):
                        raise _LeftOpenError
                    names.update(dict.fromkeys(assigned_names(s.body)))
                case Foreign():
                    names.update(dict.fromkeys(s.targets))
                case Return():
                    return False
                case Break():
                    raise _LeftOpenError
        return True

    def _local(self, e: Expression, names: Names) -> Known | None:
        memo: dict[Expression, Known | None] = {}
        for part in ex.walk(e):
            memo[part] = self._part(part, memo, names)
        return memo[e]

    def _choice(self, s: Choice, names: dict[str, Known | None]) -> bool:
        condition = self._local(s.condition, names)
        assigned = assigned_names([*s.yes, *s.no])
        if condition is not None:
            passed = self._run(s.yes if condition.number else s.no, names)
            for name in assigned:
                value = names.get(name, _ZERO)
                names[name] = None if value is None else value.because(condition)
            return passed
        if any(isinstance(x, Return | Break) for x in statements([*s.yes, *s.no])):
            raise _LeftOpenError
        other = dict(names)
        self._run(s.yes, names)
        self._run(s.no, other)
        for name in assigned:
            names[name] = _same(names.get(name, _ZERO), other.get(name, _ZERO))
        return True


class _LeftOpenError(Exception):
    """Where a function ends is not known."""


def _same(a: Known | None, b: Known | None) -> Known | None:
    if a is None or b is None or a.number != b.number:
        return None
    return a.because(b)


def _chosen(condition: Known | None, yes: Known | None, no: Known | None) -> Known | None:
    if condition is None:
        return _same(yes, no)
    chosen = yes if condition.number else no
    return None if chosen is None else chosen.because(condition)


def _computed(e: Expression, operands: Sequence[Known]) -> Known | None:
    try:
        number = evaluate(ex.rebuild(e, [ex.const(p.number) for p in operands]))
    except (ArithmeticError, KeyError, ValueError):
        return None
    if not math.isfinite(number):
        return None
    return Known(number).because(*operands)
