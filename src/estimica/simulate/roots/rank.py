"""Which rows or columns of a matrix say something of their own, whatever units they are in.

Forces of an engine's gas beside angles of its rods differ by ten decades, so that singular values
of the matrix as it stands say more about units than about its rank. Rows and columns are scaled
first so that the entries of the best matching are one and no other is larger (Duff and Koster,
On algorithms for permuting large entries to the diagonal of a sparse matrix, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector

#: what is left of a vector without its parts along others, relative to it; chosen: what is below is
#: a difference of equal terms, which has lost its digits, and not a coefficient of a model
DEPENDENT = 1e-9
#: a logarithm of no entry (its size would be 1e-4343): above all sums of logarithms of entries
_NONE = 1e4


def balanced(matrix: Vector) -> Vector:
    """The matrix with rows and columns scaled: entries of the best matching are one in size."""
    there = matrix != 0.0
    if not there.any():
        return matrix
    from scipy.optimize import linear_sum_assignment  # slow to import, and few models need it

    size = np.where(there, np.abs(matrix), 1.0)
    cost = np.where(there, -np.log(size), np.inf)
    rows, columns = linear_sum_assignment(np.where(there, cost, _NONE))
    real = there[rows, columns]
    rows, columns = rows[real], columns[real]
    matched = cost[rows, columns]
    v: Vector = np.zeros(matrix.shape[1])
    for _ in range(len(rows) + 1):  # shortest ways along the matching; there are no longer ones
        u = matched - v[columns]
        shorter = np.minimum(v, (cost[rows] - u[:, None]).min(axis=0))
        if np.allclose(shorter, v, rtol=0.0, atol=1e-6):  # a millionth of a scale does not matter
            break
        v = shorter
    v = np.where(np.isin(np.arange(v.size), columns), v, _largest(cost[rows], matched - v[columns]))
    w = _largest(cost.T, v)
    w[rows] = matched - v[columns]
    scaled: Vector = np.where(there, np.sign(matrix) * np.exp(w[:, None] + v - cost), 0.0)
    return scaled


def _largest(cost: Vector, known: Vector) -> Vector:
    """Logarithms of the scales by which the largest entry of every column becomes one."""
    least = (cost - known[:, None]).min(axis=0)
    return np.where(np.isfinite(least), least, 0.0)


def independent(vectors: Vector, order: Sequence[int]) -> list[int]:
    """Rows of `vectors` that are no combination of those before them in `order`."""
    basis: Vector = np.zeros((min(len(order), vectors.shape[1]), vectors.shape[1]))
    found: list[int] = []
    for k in order:
        if len(found) == len(basis):  # they span everything
            break
        so_far = basis[: len(found)]
        rest = vectors[k]
        whole = float(np.linalg.norm(rest))
        for _ in range(2):  # what rounding leaves of the first pass the second one takes
            rest = rest - (so_far @ rest) @ so_far
        left = float(np.linalg.norm(rest))
        if left > DEPENDENT * whole:
            basis[len(found)] = rest / left
            found.append(k)
    return found


def rank(matrix: Vector) -> int:
    """How many rows of a balanced matrix are independent."""
    return len(independent(matrix, range(matrix.shape[0])))
