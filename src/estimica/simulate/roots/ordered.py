"""Roots of large systems part by part: equations that share no unknown need not wait for another.

The angles of a linkage follow from its geometry, their rates from linear equations, and only then
accelerations and forces; all at once the damping of one part holds up the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.simulate.roots.jacobian import Jacobian, block
from estimica.simulate.roots.newton import Evaluate, solve
from estimica.structure.graph.matching import match, strong_components

Part = tuple[Indices, Indices]  # rows and columns
Pair = tuple[Vector, Jacobian]  # residuals and their slopes


def parts_of(rows: Sequence[Sequence[int]], n: int) -> list[Part]:
    """Parts in the order in which they can be solved; none where equations do not match."""
    matching = match(rows, n)
    if len(rows) != n or matching.unmatched_rows:
        return []
    successors = [sorted({matching.row_of[k] for k in row} - {e}) for e, row in enumerate(rows)]
    return [
        (np.array(members), np.array([matching.column_of[e] for e in members]))
        for members in strong_components(successors)
    ]


def solve_in_order(evaluate: Evaluate, U: Vector, parts: Sequence[Part]) -> Vector:
    """`U` with all parts solved up to the first one that cannot be."""
    U = U.copy()
    for rows, columns in parts:

        def at(point: Vector, rows: Indices = rows, columns: Indices = columns) -> Pair:
            whole = U.copy()
            whole[columns] = point
            R, J = evaluate(whole)
            return R[rows], block(J, rows, columns)

        found = solve(at, U[columns])
        if found is None:
            return U
        U[columns] = found
    return U
