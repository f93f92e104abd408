"""Jacobians of small and large systems: dense arrays, or sparse ones, column by column.

Only what Newton's method asks of them; which of the two it is, the caller need not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector

if TYPE_CHECKING:  # slow to import, and few systems need them
    import casadi as ca
    from scipy.sparse import csc_array

Jacobian = Any  # a Vector, or a csc_array
#: unknowns from which on singular values take longer than all else (about a millisecond for 60);
#: so large systems are also sparse ones where less than a tenth of their places is taken: LU then
#: costs a fraction of the dense one (163 unknowns, 936 nonzeros: a tenth)
LARGE, SPARSE = 60, 0.1
#: rounds of the estimate of a condition; it is nearly always found in two (Hager 1984)
ROUNDS = 5


def jacobian_of(matrix: ca.DM) -> Jacobian:
    """What a function has computed, sparse where that pays."""
    rows, columns = matrix.shape
    if min(rows, columns) < LARGE or matrix.nnz() > SPARSE * rows * columns:
        return np.array(matrix)
    from scipy.sparse import csc_array

    starts, places = matrix.sparsity().colind(), matrix.sparsity().row()
    return csc_array((np.array(matrix.nonzeros()), places, starts), shape=(rows, columns))


def dense(J: Jacobian) -> Vector:
    """All elements."""
    return J if isinstance(J, np.ndarray) else np.asarray(J.toarray(), np.float64)


def is_finite(J: Jacobian) -> bool:
    """Whether all elements are."""
    return bool(np.isfinite(J if isinstance(J, np.ndarray) else J.data).all())


def row_sums(J: Jacobian, weights: Vector) -> Vector:
    """sum |J[i, j]| weights[j]."""
    found: Vector = np.abs(J) @ weights if isinstance(J, np.ndarray) else abs(J) @ weights
    return found


def row_maxima(J: Jacobian) -> Vector:
    """max |J[i, j]| of each row."""
    if isinstance(J, np.ndarray):
        return np.asarray(np.abs(J).max(axis=1, initial=0.0), np.float64)
    found = np.zeros(J.shape[0])
    np.maximum.at(found, J.indices, np.abs(J.data))
    return found


def columns_of(J: Jacobian, rows: Flags) -> Flags:
    """Which unknowns stand in some rows."""
    if isinstance(J, np.ndarray):
        return np.asarray((J[rows] != 0.0).any(axis=0), np.bool_)
    found = np.zeros(J.shape[1], np.bool_)
    column = np.repeat(np.arange(J.shape[1]), np.diff(J.indptr))
    found[column[rows[J.indices] & (J.data != 0.0)]] = True
    return found


def block(J: Jacobian, rows: Indices, columns: Indices) -> Jacobian:
    """Some rows and columns; dense where they are few."""
    found = J[np.ix_(rows, columns)]
    return dense(found) if len(rows) < LARGE else found


def scaled(J: Jacobian, rows: Vector, columns: Vector) -> Jacobian:
    """J with each row divided by `rows` and each column times `columns`."""
    if isinstance(J, np.ndarray):
        return J * columns / rows[:, None]
    found = J.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # who takes it looks whether it is finite
        found.data *= np.repeat(columns, np.diff(J.indptr)) / rows[J.indices]
    return found


class Factors:
    """A square matrix taken apart, with its condition."""

    def __init__(self, matrix: Jacobian) -> None:
        self.matrix = matrix
        self.condition = np.inf
        if not isinstance(matrix, np.ndarray):
            self._take_apart(matrix)
        elif matrix.shape[0] < LARGE:
            self.condition = float(np.linalg.cond(matrix))
        else:
            from scipy.linalg import lapack  # slow to import, and only large models need it

            self.factors, self.pivots, failed = lapack.dgetrf(matrix)
            norm = np.linalg.norm(matrix, 1)
            reciprocal = 0.0 if failed else lapack.dgecon(self.factors, norm)[0]
            self.condition = float(1.0 / reciprocal) if reciprocal > 0.0 else np.inf

    def _take_apart(self, matrix: csc_array) -> None:
        from scipy.sparse.linalg import norm, splu

        try:
            self.factors = splu(matrix)
        except RuntimeError:  # exactly singular
            return
        self.condition = float(norm(matrix, 1)) * self._inverse_norm(matrix.shape[0])

    def _inverse_norm(self, n: int) -> float:
        """An estimate of the largest column sum of the inverse (Hager 1984)."""
        x, best = np.full(n, 1.0 / n), 0.0
        for _ in range(ROUNDS):
            y = self.factors.solve(x)
            size = float(np.abs(y).sum())
            if not np.isfinite(size):
                return np.inf
            slope = self.factors.solve(np.where(y >= 0.0, 1.0, -1.0), "T")
            best, place = max(best, size), int(np.argmax(np.abs(slope)))
            if abs(slope[place]) <= slope @ x:
                break
            x = np.zeros(n)
            x[place] = 1.0
        return best

    def solve(self, right: Vector) -> Vector:
        """The solution, column after column."""
        if not isinstance(self.matrix, np.ndarray):
            return np.asarray(self.factors.solve(right), np.float64)
        if self.matrix.shape[0] < LARGE:
            return np.asarray(np.linalg.solve(self.matrix, right), np.float64)
        from scipy.linalg import lapack

        return np.asarray(lapack.dgetrs(self.factors, self.pivots, right)[0], np.float64)
