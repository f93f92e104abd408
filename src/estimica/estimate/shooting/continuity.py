"""Continuity: the Gauss-Newton step of pieces that have to fit together.

    min |J d + ρ|² + λ |d_q|²   with   C d + h = 0,   low ≤ d_q ≤ high,

d the change of the unknowns q and of the states at the nodes, h the gaps. The equations of the
optimum are solved as one sparse system: eliminating the nodes one after another, the usual
condensing, multiplies the growth of all pieces and loses every digit where a model is unstable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csc_array, eye_array, hstack, vstack
from scipy.sparse.linalg import SuperLU, splu

from estimica.base.arrays import Flags, Indices, Vector

#: of the active set, each of which may hold or release several bounds; then the last is taken,
#: which keeps to all bounds but may hold one too many
ROUNDS = 20
#: changes, in sizes of the states, up to which elimination keeps enough digits: it loses as many as
#: they have, and of 16 the ten that are left are more than sensitivities have
GROWN = 1e6
TINY = 1e-14  # standard error of a coordinate, below which rounding decides
SLIGHT = 1e-12  # a slope of the Lagrangian that is rounding


@dataclass(frozen=True, eq=False)
class Linearised:
    """J, ρ, C and h; the first `n` columns belong to the unknowns."""

    J: csc_array
    rho: Vector
    C: csc_array
    h: Vector
    n: int


@dataclass(frozen=True, eq=False)
class Step:
    """The step, the multipliers of the continuity, and which unknowns stopped at a bound."""

    d: Vector
    multipliers: Vector
    held: Flags


class Triplets:
    """A sparse matrix that grows by dense blocks."""

    def __init__(self) -> None:
        self._rows: list[Indices] = []
        self._columns: list[Indices] = []
        self._values: list[Vector] = []

    def add(self, first: int, columns: Indices, block: Vector) -> None:
        """A block whose rows follow one another from `first` on."""
        rows, places = np.nonzero(block)
        self._rows.append(first + rows)
        self._columns.append(columns[places])
        self._values.append(block[rows, places])

    def matrix(self, shape: tuple[int, int]) -> csc_array:
        """All blocks together."""
        if not self._values:
            return csc_array(shape)
        values = np.concatenate(self._values)
        rows, columns = np.concatenate(self._rows), np.concatenate(self._columns)
        return csc_array(coo_array((values, (rows, columns)), shape=shape))


def step(
    problem: Linearised, damping: float, low: Vector, high: Vector, dead: Flags
) -> Step | None:
    """The bounded step by an active set; `dead` unknowns stay. None where it has no solution."""
    n = problem.n
    value = np.zeros(n)
    held = dead.copy()
    for _ in range(ROUNDS):
        solution = _solved(problem, damping, held, value)
        if solution is None:
            return None
        d, multipliers = solution
        below, above = ~held & (d[:n] < low), ~held & (d[:n] > high)
        if not (below | above).any():
            # the slope of the Lagrangian says which held unknowns would rather leave
            slope = problem.J.T @ (problem.J @ d + problem.rho) + problem.C.T @ multipliers
            inward = np.where(value <= low, slope[:n] < 0, slope[:n] > 0)
            leaving = held & ~dead & inward & (np.abs(slope[:n]) > SLIGHT)
            if not leaving.any() or _ == ROUNDS - 1:
                return Step(d, multipliers, held & ~dead)
            held &= ~leaving
            continue
        value = np.where(below, low, np.where(above, high, value))
        held |= below | above
    return Step(d, multipliers, held & ~dead)


def _solved(
    problem: Linearised, damping: float, held: Flags, value: Vector
) -> tuple[Vector, Vector] | None:
    """(d, multipliers) with the held unknowns at their values."""
    J, C, n = problem.J, problem.C, problem.n
    total = J.shape[1]
    free = np.concatenate([~held, np.ones(total - n, bool)])
    fixed = np.zeros(total)
    fixed[:n] = np.where(held, value, 0.0)
    rho, h = problem.rho + J @ fixed, problem.h + C @ fixed
    factor = factorised(J[:, free], C[:, free], damping, int(free[:n].sum()))
    if factor is None:
        return None
    rows, count = J.shape[0], int(free.sum())
    solution = factor.solve(np.concatenate([-rho, np.zeros(count), h]))
    if not np.isfinite(solution).all():
        return None
    d = fixed
    d[free] = solution[rows : rows + count]
    return d, solution[rows + count :]


def factorised(J: csc_array, C: csc_array, damping: float, n: int) -> SuperLU | None:
    """The factors of [I J 0; Jᵀ −λD −Cᵀ; 0 −C 0], where D counts the unknowns only."""
    rows, total = J.shape
    gaps = C.shape[0]
    D = np.zeros(total)
    D[:n] = damping
    matrix = vstack(
        [
            hstack([eye_array(rows), J, csc_array((rows, gaps))]),
            hstack([J.T, _diagonal(-D), -C.T]),
            hstack([csc_array((gaps, rows)), -C, csc_array((gaps, gaps))]),
        ]
    )
    try:
        factors: SuperLU = splu(csc_array(matrix))
        return factors
    except RuntimeError:  # singular
        return None


def _diagonal(values: Vector) -> csc_array:
    n = len(values)
    return csc_array((values, (np.arange(n), np.arange(n))), shape=(n, n))


def information(problem: Linearised) -> Vector:
    """R with RᵀR the Hessian that is left for the unknowns once everything else follows them.

    Where trajectories part so fast that elimination would cost digits, it comes from the inverse
    of the whole system.
    """
    n = problem.n
    eliminated = _eliminated(problem)
    if eliminated is not None:
        return eliminated
    largest = np.sqrt((problem.J.multiply(problem.J)).sum(axis=0).max(initial=0.0))
    damping = (1e-12 * largest) ** 2 or 1e-300
    factor = factorised(problem.J, problem.C, damping, n)
    if factor is None:
        return np.zeros((n, n))
    rows, total = problem.J.shape
    right = np.zeros((rows + total + problem.C.shape[0], n))
    right[rows + np.arange(n), np.arange(n)] = -1.0
    covariance = factor.solve(right)[rows : rows + n]
    if not np.isfinite(covariance).all():
        return np.zeros((n, n))
    # in units of the standard errors, or the best determined unknown would drown in the worst
    sizes = np.sqrt(np.maximum(np.diag(covariance), TINY**2))
    scaled = covariance / np.outer(sizes, sizes)
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    values = np.maximum(values, 1e-15 * max(values.max(initial=0.0), 1.0))
    return triangular((vectors / np.sqrt(values)).T / sizes)


def _eliminated(problem: Linearised) -> Vector | None:
    """R by forward elimination; None where that is not accurate, or the conditions too few."""
    n, C = problem.n, problem.C
    if C.shape[0] != C.shape[1] - n:
        return None
    following = np.zeros((0, n))
    if C.shape[0]:
        try:
            following = splu(csc_array(C[:, n:])).solve(-C[:, :n].toarray())
        except RuntimeError:  # singular
            return None
    if not np.max(np.abs(following), initial=0.0) <= GROWN:
        return None
    R = triangular(problem.J[:, :n].toarray() + problem.J[:, n:] @ following)
    if len(R) < n:
        R = np.vstack([R, np.zeros((n - len(R), n))])
    return R


def compressed(rows: Vector) -> Vector:
    """Rows of [J ρ], no more of them than columns, with the same RᵀR."""
    if len(rows) <= rows.shape[1]:
        return rows
    return triangular(rows)


def triangular(rows: Vector) -> Vector:
    """R of rows = QR."""
    return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)


def stacked(J: csc_array, more: csc_array, C: csc_array, n: int) -> Linearised:
    """Rows of J with more rows below them; the values of ρ and h do not matter."""
    rows = csc_array(vstack([J, more]))
    return Linearised(rows, np.zeros(rows.shape[0]), C, np.zeros(C.shape[0]), n)
