"""Bipartite graphs of equations and unknowns: integers only, deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Matching:
    """Which column each row has, and the reverse; -1 for none."""

    column_of: tuple[int, ...]
    row_of: tuple[int, ...]

    @property
    def unmatched_rows(self) -> list[int]:
        """Rows without a column."""
        return [i for i, c in enumerate(self.column_of) if c < 0]

    @property
    def unmatched_columns(self) -> list[int]:
        """Columns without a row."""
        return [j for j, r in enumerate(self.row_of) if r < 0]


def match(rows: Rows, n_columns: int) -> Matching:
    """A maximum matching of rows (the columns they hold) with columns."""
    n_rows = len(rows)
    if not n_rows or not n_columns:
        return Matching((-1,) * n_rows, (-1,) * n_columns)
    # slow to import, and models whose sorted form is kept do not need them
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_bipartite_matching

    pointers = np.zeros(n_rows + 1, np.int32)
    np.cumsum([len(r) for r in rows], out=pointers[1:])
    indices = np.fromiter((c for r in rows for c in sorted(r)), np.int32, int(pointers[-1]))
    data = np.ones(len(indices), np.int8)
    graph = csr_matrix((data, indices, pointers), shape=(n_rows, n_columns))
    column_of = [int(c) for c in maximum_bipartite_matching(graph, perm_type="column")]
    row_of = [-1] * n_columns
    for i, c in enumerate(column_of):
        if c >= 0:
            row_of[c] = i
    return Matching(tuple(column_of), tuple(row_of))


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The parts of Dulmage and Mendelsohn that are not square."""

    over_rows: tuple[int, ...]  # more equations than unknowns
    over_columns: tuple[int, ...]
    under_rows: tuple[int, ...]
    under_columns: tuple[int, ...]  # more unknowns than equations


def decompose(rows: Rows, matching: Matching) -> Decomposition:
    """Everything that alternating paths reach from unmatched rows, and from unmatched columns."""
    holders: list[list[int]] = [[] for _ in matching.row_of]
    for i, row in enumerate(rows):
        for c in row:
            holders[c].append(i)
    over_rows, over_columns = _reach(matching.unmatched_rows, rows, matching.row_of)
    under_columns, under_rows = _reach(matching.unmatched_columns, holders, matching.column_of)
    return Decomposition(over_rows, over_columns, under_rows, under_columns)


def _reach(
    seeds: Sequence[int], neighbours: Rows, partner: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    near, far = set(seeds), set[int]()
    stack = list(seeds)
    while stack:
        for other in neighbours[stack.pop()]:
            if other in far:
                continue
            far.add(other)
            back = partner[other]
            if back >= 0 and back not in near:
                near.add(back)
                stack.append(back)
    return tuple(sorted(near)), tuple(sorted(far))


def strong_components(successors: Rows) -> list[list[int]]:
    """Strongly connected components (Tarjan), each after all those that it points to."""
    n = len(successors)
    index = [-1] * n
    low = [0] * n
    on_stack = [False] * n
    stack: list[int] = []
    components: list[list[int]] = []
    counter = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            v, position = work.pop()
            if position == 0:
                index[v] = low[v] = counter
                counter += 1
                stack.append(v)
                on_stack[v] = True
            for k in range(position, len(successors[v])):
                w = successors[v][k]
                if index[w] < 0:
                    work.append((v, k + 1))
                    work.append((w, 0))
                    break
                if on_stack[w]:
                    low[v] = min(low[v], index[w])
            else:
                if low[v] == index[v]:
                    components.append(_pop_component(v, stack, on_stack))
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[v])
    return components


def _pop_component(v: int, stack: list[int], on_stack: list[bool]) -> list[int]:
    component = []
    while True:
        w = stack.pop()
        on_stack[w] = False
        component.append(w)
        if w == v:
            return sorted(component)
