"""Covering arrays: few rows in which every pair of values of any two factors stands together."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

Row = dict[str, str]
Pair = frozenset[tuple[str, str]]

#: rows drawn for each row that is taken; more gain a row or two
CANDIDATES = 30


def pairs_of(row: Mapping[str, str]) -> set[Pair]:
    """All pairs of values that stand in a row."""
    return {frozenset(two) for two in combinations(row.items(), 2)}


def covering(
    factors: Mapping[str, Sequence[str]],
    allowed: Callable[[Row], bool],
    *,
    rows: int = 0,
    seed: int = 1,
) -> list[Row]:
    """At least so many rows with every pair that an allowed row can have, greedily.

    As Cohen, Dalal, Fredman and Patton (1997): of some rows drawn around a missing pair, the one
    with most pairs that are missing still. When none are missing, rows go on being drawn for
    pairs that were seen least, which covers some of the triples.
    """
    draw = random.Random(seed)
    seen = dict.fromkeys(every_pair(factors), 0)
    found: list[Row] = []
    impossible: set[Pair] = set()
    while True:
        open_pairs = [p for p in seen if p not in impossible]
        least = min(seen[p] for p in open_pairs)
        if least > 0 and len(found) >= rows:
            return found
        wanted = [p for p in open_pairs if seen[p] == least]
        best: Row | None = None
        gain = -1
        for _ in range(CANDIDATES):
            row = _around(draw.choice(wanted), factors, allowed, draw)
            if row is not None:
                new = sum(1 for p in pairs_of(row) if seen[p] == least)
                if new > gain:
                    best, gain = row, new
        if best is None:
            impossible |= {p for p in wanted if not _possible(p, factors, allowed, draw)}
            continue
        found.append(best)
        for p in pairs_of(best):
            seen[p] += 1


def every_pair(factors: Mapping[str, Sequence[str]]) -> list[Pair]:
    """Two values of two factors, all there are."""
    return [
        frozenset({(a, x), (b, y)})
        for a, b in combinations(factors, 2)
        for x in factors[a]
        for y in factors[b]
    ]


def _around(
    pair: Pair,
    factors: Mapping[str, Sequence[str]],
    allowed: Callable[[Row], bool],
    draw: random.Random,
) -> Row | None:
    for _ in range(40):
        row = {name: draw.choice(values) for name, values in factors.items()} | dict(pair)
        if allowed(row):
            return row
    return None


def _possible(
    pair: Pair,
    factors: Mapping[str, Sequence[str]],
    allowed: Callable[[Row], bool],
    draw: random.Random,
) -> bool:
    return any(_around(pair, factors, allowed, draw) for _ in range(20))
