"""Flows that carry a property upstream: y = semiLinear(x, a, b), with x = 0 in its domain.

`y = if x >= 0 then a*x else b*x` says nothing about a and b where the flow x is zero. Several
equations with one y and one x say more than that: by Modelica's rule for semiLinear (language
specification, section "semiLinear") a chain y = semiLinear(x, a, s1), y = semiLinear(x, s1, s2), …,
y = semiLinear(x, sn, b) means s1 = … = sn = (if x >= 0 then a else b), which is the same where x is
not zero, and its limit from above where it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.expression import Expression
from estimica.flat.system import Equation
from estimica.structure.linear import degree, with_leaf_zero

#: relations with x on the left, and whether they hold for positive x
_RISING = {"ge": True, "gt": True, "le": False, "lt": False}
_MIRRORED = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}


@dataclass(frozen=True, slots=True)
class _Row:
    """y = `above`·x where x > 0, and `below`·x where x < 0."""

    equation: int
    y: Expression
    x: Expression
    above: Expression
    below: Expression


def without_zero_flows(
    equations: Sequence[Equation], unknowns: Collection[str]
) -> tuple[Equation, ...]:
    """The equations, chains along one flow rewritten so that they hold where the flow is zero."""
    groups: dict[tuple[Expression, Expression], list[_Row]] = {}
    for k, e in enumerate(equations):
        row = _row(k, e)
        if row is not None:
            groups.setdefault((row.y, row.x), []).append(row)
    result = list(equations)
    for rows in groups.values():
        ends = _ends(rows, unknowns)
        if ends is None:
            continue
        forward = ex.node("noEvent", ex.relation("ge", rows[0].x, ex.ZERO))
        upstream = ex.conditional(forward, *ends)
        for row in rows:
            last = row.below is ends[1]
            lhs, rhs = (row.y, ex.mul(upstream, row.x)) if last else (row.below, upstream)
            result[row.equation] = replace(equations[row.equation], lhs=lhs, rhs=rhs)
    return tuple(result)


def _row(k: int, e: Equation) -> _Row | None:
    """The equation as a row, where one side is ±y and the other a choice by the sign of ±x."""
    for y, value in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
        (y, y_negative), (value, negative) = _unsigned(y), _unsigned(value)
        if y.op != "name" or value.op != "if":
            continue
        found = _flow(_bare(value.operands[0]))
        if found is None:
            continue
        x, rising = found
        slopes = [_slope(branch, x) for branch in value.operands[1:]]
        if x is y or slopes[0] is None or slopes[1] is None:
            continue
        signed = [ex.neg(s) if y_negative != negative else s for s in slopes if s is not None]
        above, below = signed if rising else signed[::-1]
        return _Row(k, y, x, above, below)
    return None


def _bare(e: Expression) -> Expression:
    """`e` without the operators that only guide the tools."""
    while e.op in ("noEvent", "smooth"):
        e = e.operands[0]
    return e


def _unsigned(e: Expression) -> tuple[Expression, bool]:
    """(e, False), or (the negated expression, True)."""
    e, negative = _bare(e), False
    while e.op == "neg":
        e, negative = _bare(e.operands[0]), not negative
    return e, negative


def _flow(condition: Expression) -> tuple[Expression, bool] | None:
    """(x, whether x is positive where it holds) of a relation between ±x and zero."""
    if condition.op not in _RISING:
        return None
    op, (left, right) = condition.op, condition.operands
    if ex.is_const(left, 0.0):
        op, left, right = _MIRRORED[op], right, left
    x, negative = _unsigned(left)
    if not ex.is_const(right, 0.0) or x.op not in ("name", "time"):
        return None
    return x, _RISING[op] != negative


def _slope(branch: Expression, x: Expression) -> Expression | None:
    """a of a·x; None for any other expression."""
    branch = _bare(branch)
    if degree(branch, (x,)) > 1 or not ex.is_const(with_leaf_zero(branch, x), 0.0):
        return None
    return partial(branch, x)


def _ends(rows: Sequence[_Row], unknowns: Collection[str]) -> tuple[Expression, Expression] | None:
    """The upper and the lower end where the rows make one chain through unknown properties.

    Rows with known properties on both sides are another matter: there x itself is zero.
    """
    above, below = {r.above for r in rows}, {r.below for r in rows}
    first, last, between = above - below, below - above, above & below
    if len(rows) < 2 or len(above) < len(rows) or len(below) < len(rows) or len(first) != 1:
        return None
    names = [_unsigned(e)[0] for e in between]
    if any(n.op != "name" or n.target not in unknowns for n in names):
        return None
    following = {r.above: r.below for r in rows}
    (upper,), (lower,) = first, last
    place = upper
    for _ in rows:
        place = following.get(place, place)
    return (upper, lower) if place is lower else None
