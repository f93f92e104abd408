"""State selection: which variables stay states when constraints tie them together.

Level by level (Mattsson and Söderlind, 1993): an equation that was differentiated also holds
undifferentiated, and there it takes one variable out of the states ("dummy derivative"). A variable
is taken out only where its factor is a constant that is not zero, so that the choice can never
become singular. Constraints without such a factor are kept beside the states, to be projected on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from estimica.structure.graph.matching import match
from estimica.structure.index.pantelides import DifferentiationOrders

#: a factor: its number, or None where it is not constant
Factor = float | None
Rank = tuple[int, int, bool]
#: what is left of a difference, relative to its terms, counts as zero; chosen: far above what
#: rounding leaves (1e-16 times the steps of elimination), below any difference that a model means
_TINY = 1e-10


@dataclass(frozen=True, slots=True)
class StateSelection:
    """What the constraints do: equations used on a level, and variables that are not states.

    `used[e]` and `demoted[v]` hold levels s: equation e differentiated c(e) - s times, derivative
    d(v) - s of variable v. `by_wish` are variables demoted only because others must be states.
    """

    used: tuple[frozenset[int], ...]
    demoted: tuple[frozenset[int], ...]
    by_wish: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StatePreferences:
    """Which (variable, level) must be states, which had better be, and what decides otherwise.

    `reluctance` ranks the derivative d(v) - s: the higher, the longer it stays a state. `rates`
    says that variable w is the derivative of x: both or none of them should be states.
    """

    reluctance: Mapping[tuple[int, int], tuple[int, int]]
    always: frozenset[tuple[int, int]] = frozenset()
    prefer: frozenset[tuple[int, int]] = frozenset()
    rates: Mapping[int, int] = field(default_factory=dict)  # x → w


def select_states(
    offsets: DifferentiationOrders,
    factors: Sequence[Mapping[int, Factor]],
    wishes: StatePreferences,
) -> StateSelection:
    """Choose on every level which variables to take out of the states.

    `factors[e][v]` are the factors of the highest derivatives in equation e (c(e) ≥ 1 only).
    """
    used: list[set[int]] = [set() for _ in offsets.c]
    demoted: list[set[int]] = [set() for _ in offsets.d]
    by_wish: list[int] = []
    for level in range(1, max(offsets.c, default=0) + 1):
        rows = {
            e: {v: f for v, f in factors[e].items() if level == 1 or level - 1 in demoted[v]}
            for e, c in enumerate(offsets.c)
            if c >= level and (level == 1 or level - 1 in used[e])
        }
        rank = {
            v: (*wishes.reluctance[v, level], _partner_stays(v, level, wishes, demoted))
            for row in rows.values()
            for v in row
        }
        pairs, left = _eliminate(rows, rank, {v for v in rank if (v, level) in wishes.always})
        extra = _forced(left, {v for v in rank if (v, level) in wishes.always | wishes.prefer})
        by_wish += [v for _, v in extra]
        for e, v in pairs + extra:
            used[e].add(level)
            demoted[v].add(level)
    return StateSelection(
        tuple(frozenset(u) for u in used), tuple(frozenset(d) for d in demoted), tuple(by_wish)
    )


def _partner_stays(
    v: int, level: int, wishes: StatePreferences, demoted: Sequence[set[int]]
) -> bool:
    """Whether the rate of v, one level above, has stayed a state."""
    partner = wishes.rates.get(v)
    return partner is not None and level - 1 not in demoted[partner]


def _eliminate(
    rows: Mapping[int, Mapping[int, Factor]], rank: Mapping[int, Rank], fixed: set[int]
) -> tuple[list[tuple[int, int]], dict[int, dict[int, Factor]]]:
    """Gaussian elimination with constant pivots only; the least reluctant columns go first.

    Returns (row, column) of the pivots, and the rows that are left without them.
    """
    work = {e: dict(row) for e, row in rows.items()}
    holders: dict[int, set[int]] = {v: set() for v in rank}
    for e, row in work.items():
        for v in row:
            holders[v].add(e)
    pairs: list[tuple[int, int]] = []
    queue = [(rank[v], len(holders[v]), v) for v in sorted(rank) if v not in fixed]
    heapify(queue)
    while queue:
        reluctance, count, v = heappop(queue)
        if count != len(holders[v]):
            if holders[v]:
                heappush(queue, (reluctance, len(holders[v]), v))
            continue
        pivots = [e for e in holders[v] if work[e][v] is not None]
        if not pivots:
            continue
        pivot = min(pivots, key=lambda e: (len(work[e]), e))
        pairs.append((pivot, v))
        _sweep(work, holders, pivot, v)
    return pairs, work


def _sweep(
    work: dict[int, dict[int, Factor]], holders: dict[int, set[int]], pivot: int, v: int
) -> None:
    """Take row `pivot` out of the system and column `v` out of all other rows."""
    row = work.pop(pivot)
    for w in row:
        holders[w].discard(pivot)
    factor = row.pop(v)
    assert factor is not None
    for e in holders.pop(v):
        other = work[e]
        ratio = other.pop(v)
        for w, f in row.items():
            value = _combined(other.get(w, 0.0), ratio, f, factor)
            if value == 0.0:
                if other.pop(w, 0.0) != 0.0:
                    holders[w].discard(e)
            else:
                other[w] = value
                holders[w].add(e)
    holders[v] = set()


def _combined(old: Factor, ratio: Factor, f: Factor, pivot: float) -> Factor:
    """old - ratio·f/pivot; None where one of them is not constant."""
    if old is None or ratio is None or f is None:
        return None
    change = ratio * f / pivot
    value = old - change
    return 0.0 if abs(value) <= _TINY * (abs(old) + abs(change)) else value


def _forced(rows: Mapping[int, Mapping[int, Factor]], wished: set[int]) -> list[tuple[int, int]]:
    """Pairs for groups of constraints in which just as many variables are not wished for."""
    pairs: list[tuple[int, int]] = []
    for group in _groups(rows):
        inside = {v for e in group for v in rows[e]}
        columns = sorted(inside - wished)
        if not inside & wished or len(columns) != len(group):
            continue
        position = {v: k for k, v in enumerate(columns)}
        table = [[position[v] for v in rows[e] if v in position] for e in group]
        matching = match(table, len(columns))
        if not matching.unmatched_rows:
            pairs += [(e, columns[matching.column_of[i]]) for i, e in enumerate(group)]
    return pairs


def _groups(rows: Mapping[int, Mapping[int, Factor]]) -> list[list[int]]:
    """Constraints that share variables, directly or through others."""
    holders: dict[int, list[int]] = {}
    for e in sorted(rows):
        for v in rows[e]:
            holders.setdefault(v, []).append(e)
    groups, seen = [], set[int]()
    for start in sorted(rows):
        if start in seen:
            continue
        group = [start]
        seen.add(start)
        for e in group:
            for v in rows[e]:
                for other in holders[v]:
                    if other not in seen:
                        seen.add(other)
                        group.append(other)
        groups.append(sorted(group))
    return groups
