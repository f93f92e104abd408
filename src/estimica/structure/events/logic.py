"""Equations of Booleans, Integers and enumerations, each solved for the variable it defines."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import StructureError
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation
from estimica.structure.graph.diagnosis import UnmatchedSystem, unmatched_error
from estimica.structure.graph.matching import match, strong_components
from estimica.structure.linear import contains, solve_for
from estimica.structure.sorted_system import Assignment
from estimica.structure.working_system import WorkingSystem


def solve_logic(
    draft: WorkingSystem, equations: Sequence[Equation], unknowns: Sequence[str]
) -> tuple[Assignment, ...]:
    """One assignment for each unknown."""
    position = {n: k for k, n in enumerate(unknowns)}
    rows = []
    solutions: list[dict[int, Expression]] = []
    for e in equations:
        names = {x.target for x in ex.walk(e.lhs, e.rhs) if x.op == "name"}
        rows.append(sorted(position[n] for n in names if n in position))
        by_unknown = {k: _solution(e, ex.name(unknowns[k])) for k in rows[-1]}
        solutions.append({k: value for k, value in by_unknown.items() if value is not None})
    matching = match([sorted(s) for s in solutions], len(unknowns))
    if matching.unmatched_rows or matching.unmatched_columns:
        structural = match(rows, len(unknowns))
        if structural.unmatched_rows or structural.unmatched_columns:
            problem = UnmatchedSystem(draft.flat.name, draft.counts, equations, unknowns)
            raise unmatched_error(problem, rows, structural)
        raise _implicit(equations, unknowns, matching.unmatched_columns[0], rows)
    return tuple(
        Assignment(n, solutions[e][k], equations[e].origin)
        for k, (n, e) in enumerate(zip(unknowns, matching.row_of, strict=True))
    )


def _solution(e: Equation, leaf: Expression) -> Expression | None:
    for one, other in ((e.lhs, e.rhs), (e.rhs, e.lhs)):
        if one.op == "not" and one.operands[0] is leaf and not contains(other, leaf):
            return ex.logical_not(other)
    value = solve_for(e.lhs, e.rhs, leaf)
    exact = value is None or value.op != "div"
    return value if exact else None


def _implicit(
    equations: Sequence[Equation], unknowns: Sequence[str], k: int, rows: Sequence[Sequence[int]]
) -> StructureError:
    where = next(e.origin for e, row in zip(equations, rows, strict=True) if k in row)
    name = unknowns[k]
    return StructureError(
        "E404", f"{where} does not give '{name}' explicitly; write it as {name} = ..."
    )


def order_assignments(assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
    """Each after those whose value it needs, as far as that is possible."""
    position = {a.unknown: k for k, a in enumerate(assignments)}
    successors = []
    for k, a in enumerate(assignments):
        names = {x.target for x in ex.walk(a.value) if x.op == "name"}
        successors.append(sorted({position[n] for n in names if n in position} - {k}))
    return tuple(assignments[k] for group in strong_components(successors) for k in group)
