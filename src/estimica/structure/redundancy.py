"""Equations that follow from others: sums that cancel, as flow sums without a ground do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.system import Equation

Row = dict[Expression, float]
#: elimination is given up after this many changes of an entry for each equation; chosen: it
#: bounds the time for blocks that fill up; what is given up is only that redundancy goes unseen
_EFFORT = 200


def split_redundant(
    equations: Sequence[Equation],
) -> tuple[tuple[Equation, ...], tuple[Equation, ...]]:
    """(those that say something, those that follow from them); sums of variables only."""
    rows = [linear_row(e) for e in equations]
    redundant = _dependent(rows)
    kept = tuple(e for k, e in enumerate(equations) if k not in redundant)
    return kept, tuple(equations[k] for k in sorted(redundant))


def linear_row(e: Equation) -> Row | None:
    """lhs - rhs as numbers times leaves; the constant stands at 1; None where it is no such sum."""
    row: Row = {}
    stack = [(e.lhs, 1.0), (e.rhs, -1.0)]
    while stack:
        node, factor = stack.pop()
        match node.op:
            case "add":
                stack += [(node.operands[0], factor), (node.operands[1], factor)]
            case "sub":
                stack += [(node.operands[0], factor), (node.operands[1], -factor)]
            case "neg":
                stack.append((node.operands[0], -factor))
            case "mul" if node.operands[0].op == "const":
                stack.append((node.operands[1], factor * node.operands[0].value))
            case "mul" if node.operands[1].op == "const":
                stack.append((node.operands[0], factor * node.operands[1].value))
            case "div" if node.operands[1].op == "const" and node.operands[1].value:
                stack.append((node.operands[0], factor / node.operands[1].value))
            case "const":
                row[ex.ONE] = row.get(ex.ONE, 0.0) + factor * node.value
            case "name" | "der" | "time":
                row[node] = row.get(node, 0.0) + factor
            case _:
                return None
    return {leaf: value for leaf, value in row.items() if value}


def _dependent(rows: Sequence[Row | None]) -> set[int]:
    """Rows that are combinations of earlier ones."""
    counts = Counter(leaf for row in rows if row for leaf in row if leaf.op == "name")
    basis: dict[Expression, Row] = {}
    dependent: set[int] = set()
    effort = _EFFORT * len(rows)
    for k, row in enumerate(rows):
        if row is None:
            continue
        effort -= _reduce(row, basis, effort)
        if effort < 0:
            return dependent
        candidates = [leaf for leaf in row if leaf.op == "name"]
        if candidates:
            basis[min(candidates, key=lambda leaf: (counts[leaf], leaf.target))] = row
        elif not row:
            dependent.add(k)
    return dependent


def _reduce(row: Row, basis: dict[Expression, Row], limit: int) -> int:
    """Take out of `row` all that `basis` has pivots for; returns the work done."""
    work = 0
    pending = [leaf for leaf in row if leaf in basis]
    while pending and work <= limit:
        pivot = pending.pop()
        factor = row.get(pivot)
        if factor is None:
            continue
        source = basis[pivot]
        ratio = factor / source[pivot]
        for leaf, value in source.items():
            new = row.get(leaf, 0.0) - ratio * value
            work += 1
            if abs(new) > 1e-12 * abs(ratio * value):
                row[leaf] = new
                if leaf in basis:
                    pending.append(leaf)
            else:
                row.pop(leaf, None)
    return work
