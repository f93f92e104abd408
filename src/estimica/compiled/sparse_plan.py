"""In which order a sparse matrix is factorised, where that is less work than doing so densely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Indices

if TYPE_CHECKING:  # slow to import, and only large models need it
    from scipy.sparse import csc_array

#: matrices so small are factorised before a sparse method has looked up its first column
SMALLEST = 24
#: a multiplication of the sparse method costs as much as so many of the dense one, which works on
#: vectors; and so does a nonzero of the factors, which has to be looked up (estimates)
PER_PRODUCT, PER_NONZERO = 6.0, 12.0
#: room for fill that the pivots of the run cause beyond those of the plan; where it does not do,
#: the matrix is factorised densely
ROOM = 2


@dataclass(frozen=True, eq=False)
class SparsePlan:
    """The nonzeros column by column in the order of elimination, and the rows to pivot on."""

    starts: Indices  # of the columns, (n + 1)
    rows: Indices
    places: Indices  # of the values, in the order that the matrix was given in
    pivots: Indices  # the row that each column prefers
    columns: Indices  # position -> column of the matrix
    capacity: int  # nonzeros that each factor may have


def sparse_plan(
    n: int, rows: Indices, columns: Indices, heavy: Indices, rival: float | None = None
) -> SparsePlan | None:
    """A plan for the matrix with these nonzeros, or None where another method is less work.

    `heavy` are the places of large diagonal elements, `rival` the multiplications of the other
    method; without it, of the dense one.
    """
    if n < SMALLEST or not len(rows):
        return None
    bound = n**3 / 3 if rival is None else rival
    if PER_NONZERO * len(rows) > bound:
        return None
    found = [plan for plan in _candidates(n, rows, columns, heavy) if plan is not None]
    if not found:
        return None
    work, plan = min(found, key=lambda pair: pair[0])
    return plan if work < bound else None


def _candidates(
    n: int, rows: Indices, columns: Indices, heavy: Indices
) -> list[tuple[float, SparsePlan] | None]:
    """Plans and their work: for any pivots, and for pivots on the diagonal."""
    from scipy.sparse import csc_array

    values = np.random.default_rng(0).uniform(0.5, 1.5, len(rows))
    values[heavy] = 10.0  # larger than the sum of the others in most rows
    matrix = csc_array((values, (rows, columns)), shape=(n, n))
    return [
        _planned(matrix, rows, columns, "COLAMD", {}),
        _planned(matrix, rows, columns, "MMD_AT_PLUS_A", {"SymmetricMode": True}),
    ]


def _planned(
    matrix: csc_array, rows: Indices, columns: Indices, order: str, options: dict[str, bool]
) -> tuple[float, SparsePlan] | None:
    from scipy.sparse.linalg import splu

    try:
        done = splu(matrix, permc_spec=order, diag_pivot_thresh=0.1, options=options)
    except RuntimeError:  # singular whatever the values are
        return None
    n = matrix.shape[0]
    below = np.diff(done.L.indptr) - 1  # nonzeros of each column below its pivot
    work = PER_PRODUCT * float(below[done.U.indices].sum())
    work += PER_NONZERO * (done.L.nnz + done.U.nnz)
    position = np.asarray(done.perm_c, np.int64)[columns]
    sequence = np.argsort(position, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(position, minlength=n), out=starts[1:])
    plan = SparsePlan(
        starts=starts,
        rows=np.asarray(rows, np.int64)[sequence],
        places=sequence.astype(np.int64),
        pivots=np.argsort(done.perm_r).astype(np.int64),
        columns=np.argsort(done.perm_c).astype(np.int64),
        capacity=ROOM * int(max(done.L.nnz, done.U.nnz)) + 4 * n,
    )
    return work, plan
