"""Series: Taylor coefficients in time of a graph of operations, each with its derivatives.

A coefficient is an array [value, ∂/∂θ1, ∂/∂θ2, …] of decimal numbers with many digits: what is
zero in exact arithmetic is then told from what is merely small. The recurrences are those of
A. Griewank and A. Walther, Evaluating Derivatives, SIAM 2008, chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.infer.identifiability.structural import decimals

Dual = npt.NDArray[Any]  # of Decimal
ZERO, ONE = Decimal(0), Decimal(1)


def times(a: Dual, b: Dual) -> Dual:
    """Product with the product rule."""
    found: Dual = a[0] * b + b[0] * a
    found[0] = a[0] * b[0]
    return found


def over(a: Dual, b: Dual) -> Dual:
    """Quotient."""
    quotient = a[0] / b[0]
    found: Dual = (a - quotient * b) / b[0]
    found[0] = quotient
    return found


def applied(value: Decimal, slope: Decimal, a: Dual) -> Dual:
    """f(a) from f and f' at its value."""
    found: Dual = slope * a
    found[0] = value
    return found


@dataclass(frozen=True)
class Node:
    """An operation on earlier nodes; a node that is `still` does not change in time."""

    op: str
    operands: tuple[int, ...]
    still: bool
    number: Decimal = ZERO


@dataclass(frozen=True)
class Loop:
    """Unknown nodes that must make the residual nodes, linear in them, vanish."""

    unknowns: tuple[int, ...]
    inner: range  # the nodes that depend on them
    residuals: tuple[int, ...]


class Series:
    """Coefficients of all nodes, found order by order."""

    def __init__(
        self, nodes: Sequence[Node], steps: Sequence[range | Loop], order: int, width: int
    ) -> None:
        self.nodes = nodes
        self.steps = steps
        self.none: Dual = np.array([ZERO] * (width + 1), dtype=object)
        self.at: list[list[Dual]] = [[self.none] * (order + 1) for _ in nodes]
        self._solvers: dict[int, list[list[Dual]]] = {}

    def number(self, value: Decimal) -> Dual:
        """A constant."""
        found = self.none.copy()
        found[0] = value
        return found

    def advance(self, k: int) -> None:
        """Coefficients of order `k` of every node but the leaves, which are there already."""
        for number, step in enumerate(self.steps):
            if isinstance(step, range):
                self.evaluate(step, k)
            else:
                self._close(number, step, k)

    def evaluate(self, nodes: range, k: int) -> None:
        """Coefficients `k` of some nodes, from those that stand before them."""
        for n in nodes:
            node = self.nodes[n]
            rule = RULES.get(node.op)
            if rule is not None and (k == 0 or not node.still):
                self.at[n][k] = rule(self, n, node, k)

    def _close(self, number: int, loop: Loop, k: int) -> None:
        """Solve for coefficient `k` of the unknowns: the residuals are affine in it."""
        for u in loop.unknowns:
            self.at[u][k] = self.none
        self.evaluate(loop.inner, k)
        rest = [self.at[r][k] for r in loop.residuals]
        if k == 0:
            self._solvers[number] = self._columns(loop, rest)
        solution = solve(self._solvers[number], [-r for r in rest])
        for u, value in zip(loop.unknowns, solution, strict=True):
            self.at[u][k] = value
        self.evaluate(loop.inner, k)

    def _columns(self, loop: Loop, rest: Sequence[Dual]) -> list[list[Dual]]:
        columns = []
        for u in loop.unknowns:
            self.at[u][0] = self.number(ONE)
            self.evaluate(loop.inner, 0)
            columns.append([self.at[r][0] - z for r, z in zip(loop.residuals, rest, strict=True)])
            self.at[u][0] = self.none
        return [list(row) for row in zip(*columns, strict=True)]


def solve(A: Sequence[Sequence[Dual]], b: Sequence[Dual]) -> list[Dual]:
    """x with A x = b by elimination."""
    rows = [[*row, value] for row, value in zip(A, b, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k][0]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and any(rows[i][k]):
                factor = over(rows[i][k], rows[k][k])
                rows[i] = [x - times(factor, y) for x, y in zip(rows[i], rows[k], strict=True)]
    return [over(row[n], row[k]) for k, row in enumerate(rows)]


# --- the rules: coefficient k of a node from those of its operands -------------------------------

Rule = Callable[[Series, int, Node, int], Dual]


def _add(s: Series, n: int, node: Node, k: int) -> Dual:
    a, b = node.operands
    return s.at[a][k] + s.at[b][k]


def _sub(s: Series, n: int, node: Node, k: int) -> Dual:
    a, b = node.operands
    return s.at[a][k] - s.at[b][k]


def _neg(s: Series, n: int, node: Node, k: int) -> Dual:
    return -s.at[node.operands[0]][k]


def _mul(s: Series, n: int, node: Node, k: int) -> Dual:
    a, b = node.operands
    if s.nodes[a].still:
        return times(s.at[a][0], s.at[b][k])
    if s.nodes[b].still:
        return times(s.at[a][k], s.at[b][0])
    return sum((times(s.at[a][i], s.at[b][k - i]) for i in range(k + 1)), s.none)


def _div(s: Series, n: int, node: Node, k: int) -> Dual:
    a, b = node.operands
    above = s.at[a][k]
    if not s.nodes[b].still:
        above = above - sum((times(s.at[b][i], s.at[n][k - i]) for i in range(1, k + 1)), s.none)
    return over(above, s.at[b][0])


def _weighted(s: Series, a: int, b: int, k: int) -> Dual:
    """(1/k) Σ i a_i b_(k−i): what a function with f' = b·a' has as coefficient k."""
    total = sum((i * times(s.at[a][i], s.at[b][k - i]) for i in range(1, k + 1)), s.none)
    found: Dual = total / Decimal(k)
    return found


def _exp(s: Series, n: int, node: Node, k: int) -> Dual:
    (a,) = node.operands
    if k == 0:
        value = s.at[a][0][0].exp()
        return applied(value, value, s.at[a][0])
    return _weighted(s, a, n, k)


def _sin(s: Series, n: int, node: Node, k: int) -> Dual:
    a, cosine = node.operands  # its partner stands behind it
    if k == 0:
        sine, other = decimals.sine_and_cosine(s.at[a][0][0])
        return applied(sine, other, s.at[a][0])
    return _weighted(s, a, cosine, k)


def _cos(s: Series, n: int, node: Node, k: int) -> Dual:
    a, sine = node.operands
    if k == 0:
        value, cosine = decimals.sine_and_cosine(s.at[a][0][0])
        return applied(cosine, -value, s.at[a][0])
    return -_weighted(s, a, sine, k)


def _power(s: Series, n: int, node: Node, k: int) -> Dual:
    (a,), r = node.operands, node.number
    base = s.at[a]
    if k == 0:
        value = base[0][0] ** r
        return applied(value, r * value / base[0][0], base[0])
    total = s.none
    for i in range(1, k + 1):
        total = total + (r * i - (k - i)) * times(base[i], s.at[n][k - i])
    return over(total / Decimal(k), base[0])


def _integral(first: Callable[[Decimal], Decimal]) -> Rule:
    """A function with f' = a'/d, d the second operand; `first` is its value."""

    def rule(s: Series, n: int, node: Node, k: int) -> Dual:
        a, d = node.operands
        if k == 0:
            return applied(first(s.at[a][0][0]), ONE / s.at[d][0][0], s.at[a][0])
        total = Decimal(k) * s.at[a][k]
        for i in range(1, k):
            total = total - i * times(s.at[n][i], s.at[d][k - i])
        return over(total / Decimal(k), s.at[d][0])

    return rule


def _abs(s: Series, n: int, node: Node, k: int) -> Dual:
    (a,) = node.operands
    return -s.at[a][k] if s.at[a][0][0] < 0 else s.at[a][k]


def _chosen(first: Callable[[Decimal, Decimal], bool]) -> Rule:
    def rule(s: Series, n: int, node: Node, k: int) -> Dual:
        a, b = node.operands
        return s.at[a if first(s.at[a][0][0], s.at[b][0][0]) else b][k]

    return rule


def _if(s: Series, n: int, node: Node, k: int) -> Dual:
    condition, a, b = node.operands
    return s.at[a if s.at[condition][0][0] else b][k]


def _truth(holds: Callable[..., bool]) -> Rule:
    def rule(s: Series, n: int, node: Node, k: int) -> Dual:
        if k:
            return s.none
        return s.number(Decimal(holds(*(s.at[o][0][0] for o in node.operands))))

    return rule


RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "exp": _exp,
    "sin": _sin,
    "cos": _cos,
    "power": _power,
    "log": _integral(lambda a: a.ln()),
    "atan": _integral(decimals.arctangent),
    "asin": _integral(decimals.arcsine),
    "abs": _abs,
    "min": _chosen(lambda a, b: a <= b),
    "max": _chosen(lambda a, b: a >= b),
    "if": _if,
    "lt": _truth(lambda a, b: a < b),
    "le": _truth(lambda a, b: a <= b),
    "gt": _truth(lambda a, b: a > b),
    "ge": _truth(lambda a, b: a >= b),
    "eq": _truth(lambda a, b: a == b),
    "ne": _truth(lambda a, b: a != b),
    "and": _truth(lambda a, b: bool(a and b)),
    "or": _truth(lambda a, b: bool(a or b)),
    "not": _truth(lambda a: not a),
    "sign": _truth(lambda a: (a > 0) - (a < 0)),
}
