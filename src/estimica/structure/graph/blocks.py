"""A square system in evaluation order: assignments, and blocks that are solved together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation
from estimica.structure.graph.matching import Matching, decompose, match, strong_components
from estimica.structure.graph.regularity import may_be_singular
from estimica.structure.graph.tearing import stable_tearing
from estimica.structure.linear import DivisionGuard, LinearForm, TypicalValues, solve_for
from estimica.structure.sorted_system import CLOSED_FORM, Assignment, Block

#: trials with some switches open and others closed. Chosen: chains through one of each amplify
#: most, and half of the mixtures have a given pair of switches in different states
MIXED = 6


def unknown_label(leaf: Expression) -> str:
    """How an unknown is spelt: `x`, or `der(x)`."""
    return f"der({leaf.target})" if leaf.op == "der" else leaf.target


def incidence(equations: Sequence[Equation], unknowns: Sequence[Expression]) -> list[list[int]]:
    """For every equation the positions of the unknowns that stand in it."""
    position = {leaf: k for k, leaf in enumerate(unknowns)}
    rows = []
    for e in equations:
        rows.append(sorted({position[x] for x in ex.walk(e.lhs, e.rhs) if x in position}))
    return rows


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks in evaluation order; `zeros` are parameters whose being zero makes them singular."""

    order: tuple[Assignment | Block, ...]
    zeros: frozenset[str] = frozenset()


def sort_blocks(
    equations: Sequence[Equation], unknowns: Sequence[Expression], safety: DivisionGuard
) -> Blocks:
    """The blocks in the order in which they can be evaluated."""
    rows = incidence(equations, unknowns)
    matching, zeros = _matched(equations, unknowns, rows, safety)
    successors = [sorted({matching.row_of[k] for k in row} - {e}) for e, row in enumerate(rows)]
    result: list[Assignment | Block] = []
    for component in strong_components(successors):
        members = [equations[e] for e in component]
        leaves = [unknowns[matching.column_of[e]] for e in component]
        result.append(_block(members, leaves, safety))
    return Blocks(tuple(result), zeros)


def _matched(
    equations: Sequence[Equation],
    unknowns: Sequence[Expression],
    rows: Sequence[Sequence[int]],
    safety: DivisionGuard,
) -> tuple[Matching, frozenset[str]]:
    """A matching that avoids factors that are zero as the parameters stand, where there is one."""
    zero = {ex.name(n): n for n, value in safety.values.items() if value == 0.0}
    memo: dict[Expression, Expression] = {}
    strong, vanishing = list[list[int]](), list[set[str]]()
    for e, row in zip(equations, rows, strict=True):
        roots = ex.rewrite((e.lhs, e.rhs), lambda x: ex.ZERO if x in zero else x, memo)
        left = set(ex.walk(*roots))
        strong.append([k for k in row if unknowns[k] in left])
        weak = len(strong[-1]) < len(row)
        vanishing.append({zero[x] for x in ex.walk(e.lhs, e.rhs) if x in zero} if weak else set())
    matching = match(strong, len(unknowns))
    if not matching.unmatched_rows:
        return matching, frozenset()
    parts = decompose(strong, matching)
    zeros = {n for e in (*parts.over_rows, *parts.under_rows) for n in vanishing[e]}
    matching = match(rows, len(unknowns))
    if matching.unmatched_rows:
        raise StructureError(
            "E303",
            f"no unknown is left for {equations[matching.unmatched_rows[0]].origin} after index "
            "reduction; choose the states by stateSelect",
        )
    return matching, frozenset(zeros)


def _block(
    members: Sequence[Equation], leaves: Sequence[Expression], safety: DivisionGuard
) -> Assignment | Block:
    if len(members) == 1:
        (e,), (leaf,) = members, leaves
        value = solve_for(e.lhs, e.rhs, leaf)
        if value is not None:
            return Assignment(unknown_label(leaf), value, e.origin)
        residual = ex.sub(e.lhs, e.rhs)
        return Block((unknown_label(leaf),), (), (residual,), False, (e.origin,))
    return _torn_block(members, leaves, safety)


def _torn_block(
    members: Sequence[Equation], leaves: Sequence[Expression], safety: DivisionGuard
) -> Block:
    position = {leaf: k for k, leaf in enumerate(leaves)}
    forms = [LinearForm.of(ex.sub(e.lhs, e.rhs), position) for e in members]
    rows = [frozenset(f.factors) for f in forms]
    solvable = [frozenset(k for k in f.factors if f.solvable(k, safety)) for f in forms]
    # a switch that is closed has other factors than one that is open, by ten decades
    trials = [TypicalValues(safety.values, truth) for truth in (True, False)]
    trials += [TypicalValues(safety.values, None, choice) for choice in range(1, 1 + MIXED)]
    numbers = [[{k: t.value(f.factors[k]) for k in f.factors} for f in forms] for t in trials]
    plan = stable_tearing(rows, solvable, numbers)
    inner = []
    for e, k in plan.inner:
        value = solve_for(members[e].lhs, members[e].rhs, leaves[k])
        assert value is not None
        inner.append(Assignment(unknown_label(leaves[k]), value, members[e].origin))
    linear = all(f.linear for f in forms)
    small = linear and len(plan.torn) <= CLOSED_FORM
    return Block(
        torn=tuple(unknown_label(leaves[k]) for k in plan.torn),
        inner=tuple(inner),
        residuals=tuple(ex.sub(members[e].lhs, members[e].rhs) for e in plan.residuals),
        linear=linear,
        origins=tuple(members[e].origin for e in plan.residuals),
        regular=not (small and may_be_singular(forms, plan, safety)),
    )
