"""Equations that are linear in an unknown: the test, the coefficient, the solution."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.evaluate import EvaluationPoint, evaluate
from estimica.flat.expression import Expression, fold

_NONLINEAR = 2  # of degrees: 0 does not depend, 1 is linear, all others are not told apart


def degree(e: Expression, unknowns: Collection[Expression]) -> int:
    """0: free of the unknowns, 1: linear in all of them together, 2: anything else."""
    memo: dict[Expression, int] = {}
    for node in ex.walk(e):
        if not node.operands:
            memo[node] = int(node in unknowns)
        else:
            memo[node] = _node_degree(node, [memo[a] for a in node.operands])
    return memo[e]


def _node_degree(e: Expression, d: list[int]) -> int:
    match e.op:
        case "add" | "sub" | "neg" | "noEvent":
            return max(d)
        case "smooth":
            return d[0]
        case "mul":
            return min(_NONLINEAR, d[0] + d[1])
        case "div":
            return _NONLINEAR if d[1] else d[0]
        case "if":
            return _NONLINEAR if d[0] else max(d[1], d[2])
        case _:
            return _NONLINEAR if any(d) else 0


def linear_split(e: Expression, leaf: Expression) -> tuple[Expression, Expression] | None:
    """(a, b) with e = a·leaf + b and both free of `leaf`; None where e is not linear in it."""
    if degree(e, (leaf,)) > 1:
        return None
    return partial(e, leaf), with_leaf_zero(e, leaf)


def with_leaf_zero(e: Expression, leaf: Expression) -> Expression:
    """`e` with `leaf` set to zero."""
    return ex.rewrite([e], lambda other: ex.ZERO if other is leaf else other)[0]


def solve_for(lhs: Expression, rhs: Expression, leaf: Expression) -> Expression | None:
    """The value of `leaf` by which lhs = rhs holds; None where that is not linear."""
    for one, other in ((lhs, rhs), (rhs, lhs)):
        if one is leaf and not contains(other, leaf):
            return other
    parts = linear_split(ex.sub(lhs, rhs), leaf)
    if parts is None or ex.is_const(parts[0], 0.0):
        return None
    factor, rest = parts
    if ex.is_const(factor):
        return ex.div(ex.neg(rest), factor) if factor.value > 0 else ex.div(rest, ex.neg(factor))
    if factor.op == "neg":
        return ex.div(rest, factor.operands[0])
    return ex.div(ex.neg(rest), factor)


def contains(e: Expression, leaf: Expression) -> bool:
    """Whether `leaf` stands below `e`."""
    return any(node is leaf for node in ex.walk(e))


class DivisionGuard:
    """Says which factors may be divided by: those that cannot vanish as the model stands."""

    def __init__(self, values: dict[str, float]) -> None:
        """`values` are the numbers of the parameters as the model gives them."""
        self.values = values
        self._memo: dict[Expression, bool] = {}

    def constant(self, e: Expression) -> float | None:
        """The number of an expression of parameters; None for anything else."""
        for node in ex.walk(e):
            if node.op == "name":
                if node.target not in self.values:
                    return None
            elif node.op != "const" and not node.operands:
                return None
        value = evaluate(e, values=EvaluationPoint(names=self.values))
        return value if value == value else None

    def nonzero(self, e: Expression) -> bool:
        """Whether `e` is a parameter expression, a choice or product of such, and not zero."""
        if e not in self._memo:
            for node in ex.walk(e):
                if node not in self._memo:
                    self._memo[node] = self._node_nonzero(node)
        return self._memo[e]

    def _node_nonzero(self, e: Expression) -> bool:
        known: Callable[[Expression], bool] = self._memo.__getitem__
        match e.op:
            case "const":
                return e.value != 0.0
            case "if":
                return known(e.operands[1]) and known(e.operands[2])
            case "neg" | "noEvent" | "abs":
                return known(e.operands[0])
            case "mul" | "div":
                if known(e.operands[0]) and known(e.operands[1]):
                    return True
            case "exp" | "cosh":
                return True
        value = self.constant(e)
        return value is not None and abs(value) > 1e-300


@dataclass(frozen=True, slots=True)
class LinearForm:
    """A residual seen from the unknowns of a block: their factors, and how it depends on them."""

    factors: dict[int, Expression]  # ∂ residual / ∂ unknown, by the unknown's position
    alone: frozenset[int]  # unknowns whose factor is free of themselves
    linear: bool  # linear in all unknowns together

    @staticmethod
    def of(residual: Expression, position: Mapping[Expression, int]) -> LinearForm:
        """All factors of a residual."""
        inside = [e for e in ex.walk(residual) if e in position]
        linear = degree(residual, inside) <= 1
        factors = {position[leaf]: partial(residual, leaf) for leaf in inside}
        alone = (
            frozenset(factors)
            if linear
            else frozenset(position[leaf] for leaf in inside if degree(residual, (leaf,)) <= 1)
        )
        return LinearForm(dict(sorted(factors.items())), alone, linear)

    def solvable(self, unknown: int, safety: DivisionGuard) -> bool:
        """Whether the residual can be solved for an unknown without dividing by zero."""
        return unknown in self.alone and safety.nonzero(self.factors[unknown])


class TypicalValues:
    """Numbers for factors at some point that has nothing special about it."""

    def __init__(
        self, parameters: Mapping[str, float], truth: bool | None = None, choice: int = 1
    ) -> None:
        """`parameters` are taken as they are, everything else is between 0.5 and 1.5; conditions
        are all true, all false, or some of them either (None), which ones by `choice`."""
        self.parameters, self.truth, self.choice = parameters, truth, choice
        self._memo: dict[Expression, float] = {}

    def value(self, e: Expression) -> float:
        """The number of `e`; 1 where it has none."""
        for node in ex.walk(e) if e not in self._memo else ():
            if node not in self._memo:
                self._memo[node] = self._node(node)
        return self._memo[e]

    def _node(self, e: Expression) -> float:
        if e.op == "const":
            return e.value
        if not e.operands:
            known = self.parameters.get(e.target) if e.op == "name" else None
            if known is not None and known == known:
                return known
            return 1.0 + 0.5 * math.sin(self.choice + 2.3 * len(self._memo))
        a = [self._memo[x] for x in e.operands]
        if e.op == "if":
            return a[1] if (a[0] > 1.0 if self.truth is None else self.truth) else a[2]
        if e.op in ex.WRAPPERS:
            return a[0]
        value = fold(e.op, *a)
        return 1.0 if value is None else value
