"""A square system in evaluation order: explicit assignments, and blocks that are solved together."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.flat import expression as ex
from estimica.flat.calculus import partial
from estimica.flat.expression import Expression
from estimica.flat.system import Equation
from estimica.structure.graph import match, strong_components
from estimica.structure.linear import Safety, degree, solve_for
from estimica.structure.sorted_system import Assignment, Block
from estimica.structure.tearing import tear


def label(leaf: Expression) -> str:
    """How an unknown is spelt: `x`, or `der(x)`."""
    return f"der({leaf.target})" if leaf.op == "der" else leaf.target


def incidence(equations: Sequence[Equation], unknowns: Sequence[Expression]) -> list[list[int]]:
    """For every equation the positions of the unknowns that stand in it."""
    position = {leaf: k for k, leaf in enumerate(unknowns)}
    rows = []
    for e in equations:
        rows.append(sorted({position[x] for x in ex.walk(e.lhs, e.rhs) if x in position}))
    return rows


def weak_unknowns(
    equations: Sequence[Equation],
    rows: Sequence[Sequence[int]],
    unknowns: Sequence[Expression],
    values: dict[str, float],
) -> list[frozenset[int]]:
    """For every equation the unknowns that vanish from it with the parameters as they stand."""
    zero = {ex.name(n) for n, value in values.items() if value == 0.0}
    memo: dict[Expression, Expression] = {}
    result = []
    for e, row in zip(equations, rows, strict=True):
        roots = ex.rewrite((e.lhs, e.rhs), lambda x: ex.ZERO if x in zero else x, memo)
        left = set(ex.walk(*roots))
        result.append(frozenset(k for k in row if unknowns[k] not in left))
    return result


def sort_blocks(
    equations: Sequence[Equation], unknowns: Sequence[Expression], safety: Safety
) -> tuple[Assignment | Block, ...] | None:
    """The blocks in the order in which they can be evaluated; None where no matching exists."""
    rows = incidence(equations, unknowns)
    weak = weak_unknowns(equations, rows, unknowns, safety.values)
    strong = [[k for k in row if k not in w] for row, w in zip(rows, weak, strict=True)]
    matching = match(strong, len(unknowns))
    if matching.unmatched_rows:
        matching = match(rows, len(unknowns))
    if matching.unmatched_rows or matching.unmatched_columns:
        return None
    successors = [sorted({matching.row_of[k] for k in row} - {e}) for e, row in enumerate(rows)]
    result: list[Assignment | Block] = []
    for component in strong_components(successors):
        members = [equations[e] for e in component]
        leaves = [unknowns[matching.column_of[e]] for e in component]
        result.append(_block(members, leaves, safety))
    return tuple(result)


def _block(
    members: Sequence[Equation], leaves: Sequence[Expression], safety: Safety
) -> Assignment | Block:
    if len(members) == 1:
        (e,), (leaf,) = members, leaves
        value = solve_for(e.lhs, e.rhs, leaf)
        if value is not None:
            return Assignment(label(leaf), value, e.origin)
        residual = ex.sub(e.lhs, e.rhs)
        return Block((label(leaf),), (), (residual,), False, (e.origin,))
    return _torn_block(members, leaves, safety)


def _torn_block(members: Sequence[Equation], leaves: Sequence[Expression], safety: Safety) -> Block:
    rows = [frozenset(row) for row in incidence(members, leaves)]
    solvable = [
        frozenset(k for k in row if _solvable(e, leaves[k], safety))
        for e, row in zip(members, rows, strict=True)
    ]
    plan = tear(rows, solvable)
    inner = []
    for e, k in plan.inner:
        value = solve_for(members[e].lhs, members[e].rhs, leaves[k])
        assert value is not None
        inner.append(Assignment(label(leaves[k]), value, members[e].origin))
    together = set(leaves)
    return Block(
        torn=tuple(label(leaves[k]) for k in plan.torn),
        inner=tuple(inner),
        residuals=tuple(ex.sub(members[e].lhs, members[e].rhs) for e in plan.residuals),
        linear=all(degree(ex.sub(e.lhs, e.rhs), together) <= 1 for e in members),
        origins=tuple(members[e].origin for e in plan.residuals),
    )


def _solvable(e: Equation, leaf: Expression, safety: Safety) -> bool:
    """Whether `e` is linear in `leaf` with a factor that cannot vanish."""
    residual = ex.sub(e.lhs, e.rhs)
    return degree(residual, (leaf,)) == 1 and safety.nonzero(partial(residual, leaf))
