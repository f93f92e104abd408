"""Relations outside noEvent: each becomes a mode that is frozen between events."""

from __future__ import annotations

from collections.abc import Callable

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Origin, Variable
from estimica.structure.linear import linear_split
from estimica.structure.sorted_system import Relation

#: stands for "never" where an instant has no finite value
NEVER = ex.const(1e300)


class RelationTable:
    """Collects the relations of a model; equal ones share one mode, opposite ones as well."""

    def __init__(self, moves: Callable[[Expression], bool], variables: dict[str, Variable]) -> None:
        """`moves` tells whether an expression may change between events."""
        self.moves, self.variables = moves, variables
        self.found: list[Relation] = []
        self._states: dict[tuple[Expression, bool], int] = {}
        self._instants: dict[Expression, int] = {}

    def mode(self, op: str, a: Expression, b: Expression, origin: Origin) -> Expression:
        """The truth of `a op b` (lt, le, gt, ge) in terms of modes."""
        if op in ("lt", "le"):
            op, a, b = ("gt" if op == "lt" else "ge"), b, a
        difference, strict = ex.sub(a, b), op == "gt"
        timed = self._time_mode(difference, strict, origin)
        if timed is not None:
            return timed
        opposite = self._states.get((ex.sub(b, a), not strict))
        if opposite is not None:
            return ex.logical_not(ex.node("mode", opposite))
        key = (difference, strict)
        if key not in self._states:
            self._states[key] = self._add(Relation(difference, strict, origin=origin))
        return ex.node("mode", self._states[key])

    def stop_at(self, instant: Expression, origin: Origin) -> Expression:
        """The mode that is true from `instant` on."""
        if instant not in self._instants:
            difference = ex.sub(ex.TIME, instant)
            self._instants[instant] = self._add(
                Relation(difference, strict=False, instant=instant, origin=origin)
            )
        return ex.node("mode", self._instants[instant])

    def _add(self, relation: Relation) -> int:
        self.found.append(relation)
        return len(self.found) - 1

    def _time_mode(self, difference: Expression, strict: bool, origin: Origin) -> Expression | None:
        """factor·time + rest > 0 with both constant between events, or None."""
        if not any(e is ex.TIME for e in ex.walk(difference)):
            return None
        parts = linear_split(difference, ex.TIME)
        if parts is None or any(self.moves(p) for p in parts):
            return None
        factor, rest = parts
        sign, instant = self._sign(factor), _root(factor, rest)
        if sign:
            mode = self.stop_at(instant, origin)
            return mode if sign > 0 else ex.logical_not(mode)
        zero = ex.relation("eq", factor, ex.ZERO) if _can_vanish(factor) else ex.ZERO
        mode = self.stop_at(ex.conditional(zero, NEVER, instant), origin)
        constant = ex.relation("gt" if strict else "ge", rest, ex.ZERO)
        rising = ex.relation("gt", factor, ex.ZERO)
        return ex.conditional(zero, constant, ex.conditional(rising, mode, ex.logical_not(mode)))

    def _sign(self, e: Expression) -> int:
        """+1 or -1 where the sign is certain, 0 where it is not."""
        match e.op:
            case "const":
                return (e.value > 0) - (e.value < 0)
            case "name":
                v = self.variables.get(e.target)
                low = v.minimum if v is not None else None
                return int(low is not None and low.op == "const" and low.value > 0)
            case "neg":
                return -self._sign(e.operands[0])
            case "mul" | "div":
                return self._sign(e.operands[0]) * self._sign(e.operands[1])
            case _:
                return 0


def _root(factor: Expression, rest: Expression) -> Expression:
    """The t for which factor·t + rest = 0."""
    if factor.op == "neg":
        return ex.neg(_root(factor.operands[0], rest))
    if factor.op == "div":
        top, bottom = factor.operands
        return ex.div(ex.mul(ex.neg(rest), bottom), top)
    if ex.is_const(factor) and factor.value < 0:
        return ex.div(rest, ex.neg(factor))
    return ex.div(ex.neg(rest), factor)


def _can_vanish(e: Expression) -> bool:
    match e.op:
        case "const":
            return e.value == 0.0
        case "neg" | "div":
            return _can_vanish(e.operands[0])
        case _:
            return True
