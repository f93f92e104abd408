"""The equations of a partition, each solved for the variable that it determines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from estimica.base.errors import SourceError, UnsupportedError
from estimica.flat import expression as ex
from estimica.flat.calculus import DerivativeError, partial
from estimica.flat.expression import Expression
from estimica.flat.system import Equation, Kind, Origin


@dataclass(frozen=True, slots=True)
class Solved:
    """unknown := value."""

    unknown: str
    value: Expression
    origin: Origin


def solved_equations(equations: Sequence[Equation], unknowns: Mapping[str, Kind]) -> list[Solved]:
    """One assignment for each unknown, each after those that it needs."""
    rows = [_unknowns_in(e, unknowns) for e in equations]
    row_of = _matched(rows, equations, list(unknowns))
    column = {row: name for name, row in row_of.items()}
    needs = [[row_of[n] for n in row if row_of[n] != k] for k, row in enumerate(rows)]
    result: list[Solved] = []
    for group in _groups(needs):
        if len(group) == 1:
            result.append(_single(equations[group[0]], column[group[0]], unknowns))
        else:
            result += _together([equations[k] for k in group], [column[k] for k in group], unknowns)
    return result


def _unknowns_in(e: Equation, unknowns: Mapping[str, Kind]) -> list[str]:
    names = {x.target for x in ex.walk(e.lhs, e.rhs) if x.op == "name"}
    return sorted(names & unknowns.keys())


def _matched(
    rows: Sequence[Sequence[str]], equations: Sequence[Equation], unknowns: Sequence[str]
) -> dict[str, int]:
    """For every unknown the number of its equation."""
    row_of: dict[str, int] = {}
    for k in range(len(rows)):
        if not _augmented(k, rows, row_of):
            raise SourceError(
                "S238",
                f"{equations[k].origin}: with this equation there are more equations than unknowns "
                f"of its clock ({len(equations)} and {len(unknowns)}); remove one",
            )
    free = [n for n in unknowns if n not in row_of]
    if free:
        where = equations[0].origin if equations else Origin()
        raise SourceError(
            "S239",
            f"no equation determines '{free[0]}' at the ticks of its clock ({len(equations)} "
            f"equations for {len(unknowns)} unknowns, near {where}); add one",
        )
    return row_of


def _augmented(start: int, rows: Sequence[Sequence[str]], row_of: dict[str, int]) -> bool:
    """Find an unknown for an equation, giving others another one where that is needed."""
    came: dict[str, int] = {}
    queue = [start]
    given: dict[int, str] = {}
    while queue:
        k = queue.pop(0)
        for name in rows[k]:
            if name in came:
                continue
            came[name] = k
            if name not in row_of:
                while True:
                    before = given.get(came[name])
                    row_of[name] = came[name]
                    if before is None:
                        return True
                    name = before
            given[row_of[name]] = name
            queue.append(row_of[name])
    return False


def _groups(needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected groups, each after those that it needs (Tarjan)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    result: list[list[int]] = []
    for start in range(len(needs)):
        if start in order:
            continue
        work = [(start, 0)]
        while work:
            k, position = work.pop()
            if position == 0:
                order[k] = low[k] = len(order)
                stack.append(k)
                on_stack.add(k)
            else:
                low[k] = min(low[k], low[needs[k][position - 1]])
            for i in range(position, len(needs[k])):
                n = needs[k][i]
                if n not in order:
                    work += [(k, i + 1), (n, 0)]
                    break
                if n in on_stack:
                    low[k] = min(low[k], order[n])
            else:
                if low[k] == order[k]:
                    group = []
                    while True:
                        n = stack.pop()
                        on_stack.discard(n)
                        group.append(n)
                        if n == k:
                            break
                    result.append(group)
    return result


def _single(e: Equation, unknown: str, kinds: Mapping[str, Kind]) -> Solved:
    value = solved_for(e, unknown, kinds[unknown])
    if value is None:
        raise _refused(e, [unknown])
    return Solved(unknown, value, e.origin)


def solved_for(e: Equation, unknown: str, kind: Kind) -> Expression | None:
    """The value of an unknown by which an equation holds; None where it is not explicit."""
    leaf = ex.name(unknown)
    for one, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
        if _contains(other, leaf):
            continue
        if one is leaf:
            return other
        if one.op == "neg" and one.operands[0] is leaf:
            return ex.neg(other)
        if one.op == "not" and one.operands[0] is leaf:
            return ex.logical_not(other)
    if kind is not Kind.REAL:
        return None
    residual = ex.sub(e.lhs, e.rhs)
    try:
        factor = partial(residual, leaf)
    except DerivativeError:
        return None
    if _contains(factor, leaf) or ex.is_const(factor, 0.0) or not _linear(residual, leaf):
        return None
    rest = ex.rewrite([residual], lambda other: ex.ZERO if other is leaf else other)[0]
    return ex.div(ex.neg(rest), factor)


def _contains(e: Expression, leaf: Expression) -> bool:
    return any(node is leaf for node in ex.walk(e))


def _linear(e: Expression, leaf: Expression) -> bool:
    """Whether the leaf stands outside conditions and steps: where its factor says everything."""
    touched: set[Expression] = set()
    for node in ex.walk(e):
        if node is leaf or any(a in touched for a in node.operands):
            touched.add(node)
        if node.op in ("add", "sub", "neg", "mul", "div", "noEvent", "smooth") or not node.operands:
            continue
        if node.op == "if" and node.operands[0] not in touched:
            continue
        if node in touched:
            return False
    return True


def _together(
    equations: Sequence[Equation], names: Sequence[str], kinds: Mapping[str, Kind]
) -> list[Solved]:
    """Equations that need each other, solved by elimination where they are linear."""
    left = list(equations)
    open_ = list(names)
    found: list[Solved] = []
    while left:
        chosen = _pivot(left, open_, kinds)
        if chosen is None:
            raise _refused(left[0], open_)
        k, name, value = chosen
        found.append(Solved(name, value, left[k].origin))
        del left[k]
        open_.remove(name)
        leaf = ex.name(name)
        memo: dict[Expression, Expression] = {}
        left = [_with_leaf(e, leaf, value, memo) for e in left]
    return found[::-1]


def _with_leaf(
    e: Equation, leaf: Expression, value: Expression, memo: dict[Expression, Expression]
) -> Equation:
    lhs, rhs = ex.rewrite([e.lhs, e.rhs], lambda x: value if x is leaf else x, memo)
    return Equation(lhs, rhs, e.origin)


def _pivot(
    equations: Sequence[Equation], names: Sequence[str], kinds: Mapping[str, Kind]
) -> tuple[int, str, Expression] | None:
    """An equation and the unknown that it gives, one that is written out rather than divided."""
    best: tuple[int, str, Expression] | None = None
    for k, e in enumerate(equations):
        for name in names:
            if not any(x is ex.name(name) for x in ex.walk(e.lhs, e.rhs)):
                continue
            value = solved_for(e, name, kinds[name])
            if value is None:
                continue
            if value.op != "div" or ex.is_const(value.operands[1]):
                return k, name, value
            best = best or (k, name, value)
    return best


def _refused(e: Equation, names: Sequence[str]) -> UnsupportedError:
    told = ", ".join(f"'{n}'" for n in names[:4])
    return UnsupportedError(
        "U020",
        f"{e.origin}: at a tick of its clock {told} would have to be found by iteration, from "
        "equations that are not linear in them; write one as an explicit equation, or take a value "
        "of the last tick by previous()",
    )
