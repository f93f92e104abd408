"""Elements of arrays at places that only the run knows: chains of choices as one operation."""

from __future__ import annotations

from estimica.flat import expression as ex
from estimica.flat.expression import Expression

#: shorter chains are as quick as they are
_FEW = 6
#: an array with larger places would be mostly empty
_MOST = 100_000


def with_lookups(root: Expression, memo: dict[Expression, Expression]) -> Expression:
    """`root` with `if i == 1 then a1 else if i == 2 then a2 … else an` as elements of an array.

    What has been done already is found in `memo`.
    """
    chains: dict[Expression, tuple[Expression, ...] | None] = {}
    stack = [root]
    while stack:
        e = stack[-1]
        if e in memo:
            stack.pop()
            continue
        if e not in chains:
            chains[e] = _chain(e) if e.op == "if" else None
        parts = chains[e] or e.operands
        waiting = [p for p in parts if p not in memo]
        if waiting:
            stack.extend(waiting)
            continue
        if chains[e] is not None:
            memo[e] = ex.node("element", *(memo[p] for p in parts))
        elif any(memo[p] is not p for p in parts):
            memo[e] = ex.rebuild(e, [memo[p] for p in parts])
        else:
            memo[e] = e
        stack.pop()
    return memo[root]


def _chain(e: Expression) -> tuple[Expression, ...] | None:
    """(index, a1, …, an) of a chain that begins here; None where it is none."""
    first = e.operands[0]
    if first.op != "eq":
        return None
    index, found = first.operands[0], dict[int, Expression]()
    while e.op == "if":
        condition, yes, no = e.operands
        if condition.op != "eq" or condition.operands[0] is not index:
            break
        place = condition.operands[1]
        if place.op != "const" or not 1 <= place.value <= _MOST or place.value % 1:
            break
        found.setdefault(int(place.value), yes)
        e = no
    if len(found) < _FEW:
        return None
    return (index, *(found.get(k, e) for k in range(1, max(found) + 2)))
