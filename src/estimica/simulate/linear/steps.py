"""Exact steps of a linear system under held inputs, and their exact derivatives.

x(h) = Φ x + Γ u + Λ s for an input u + s·t, from one exponential of the augmented matrix (Van Loan
1978); derivatives from its Fréchet derivative, the corner of exp([[M, dM], [0, M]]).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.compiled.llvm.numba import njit

#: the Padé approximation of degree 13 and the norm up to which it is exact (Higham 2005)
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_REACH = 5.371920351148152
_HALVINGS = 60


def exponentials(M: Vector) -> Vector:
    """exp of each of a stack of matrices, (..., q, q)."""
    norm = np.abs(M).sum(axis=-2).max(axis=-1, initial=0.0)
    with np.errstate(divide="ignore"):
        halvings = np.clip(np.ceil(np.log2(norm / _REACH)), 0, _HALVINGS).astype(int)
    A = M * np.ldexp(1.0, -halvings)[..., None, None]
    b, one = _PADE, np.eye(M.shape[-1])
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    odd = A6 @ (b[13] * A6 + b[11] * A4 + b[9] * A2) + b[7] * A6 + b[5] * A4 + b[3] * A2
    even = A6 @ (b[12] * A6 + b[10] * A4 + b[8] * A2) + b[6] * A6 + b[4] * A4 + b[2] * A2
    U, V = A @ (odd + b[1] * one), even + b[0] * one
    found: Vector = np.linalg.solve(V - U, V + U)
    for k in range(int(halvings.max(initial=0))):
        again = halvings > k
        found[again] = found[again] @ found[again]
    return found


@dataclass(frozen=True, eq=False)
class StepMatrices:
    """Φ, Γ, Λ for each of L lengths, and their derivatives by m tuners."""

    phi: Vector  # (L, n, n)
    gamma: Vector  # (L, n, nu)
    ramp: Vector  # (L, n, nu)
    d_phi: Vector  # (L, m, n, n)
    d_gamma: Vector
    d_ramp: Vector

    @property
    def arrays(self) -> tuple[Vector, ...]:
        """All of them, each in one piece of memory."""
        every = (self.phi, self.gamma, self.ramp, self.d_phi, self.d_gamma, self.d_ramp)
        return tuple(np.ascontiguousarray(a) for a in every)


def steps(A: Vector, B: Vector, dA: Vector, dB: Vector, lengths: Vector) -> StepMatrices:
    """The steps over each of `lengths`, exact to rounding."""
    n, nu = B.shape
    L, m, q = len(lengths), len(dA), n + 2 * nu
    unit = _columns(A, B)  # sizes that make the inputs count like the states
    M, dM = np.zeros((q, q)), np.zeros((m, q, q))
    M[:n, :n], M[:n, n : n + nu] = A, B / unit
    dM[:, :n, :n], dM[:, :n, n : n + nu] = dA, dB / unit
    M = M * lengths[:, None, None]
    M[:, n : n + nu, n + nu :] = np.eye(nu)  # the slope counts as the rise over a step
    dM = dM[None] * lengths[:, None, None, None]
    plain, moved = _with_derivatives(M, dM) if m else (exponentials(M), np.zeros((L, 0, q, q)))
    h = lengths[:, None, None]
    return StepMatrices(
        plain[:, :n, :n],
        plain[:, :n, n : n + nu] * unit,
        plain[:, :n, n + nu :] * unit * h,
        moved[:, :, :n, :n],
        moved[:, :, :n, n : n + nu] * unit,
        moved[:, :, :n, n + nu :] * unit * h[:, None],
    )


def _columns(A: Vector, B: Vector) -> Vector:
    size = max(float(np.abs(A).sum(axis=0).max(initial=0.0)), 1e-300)
    columns = np.abs(B).sum(axis=0)
    return np.where(columns > 0, columns / size, 1.0)


def _with_derivatives(M: Vector, dM: Vector) -> tuple[Vector, Vector]:
    """exp(M) and its derivative in each direction; a direction's size must not count."""
    q = M.shape[-1]
    size = np.abs(M).sum(axis=-2).max(axis=-1)[:, None]
    length = np.abs(dM).sum(axis=-2).max(axis=-1)
    factor = np.where(
        length > 0, np.where(size > 0, size, 1.0) / np.where(length > 0, length, 1), 1
    )
    double = np.zeros((*dM.shape[:2], 2 * q, 2 * q))
    double[..., :q, :q] = double[..., q:, q:] = M[:, None]
    double[..., :q, q:] = dM * factor[..., None, None]
    found = exponentials(double)
    return found[:, 0, :q, :q], found[..., :q, q:] / factor[..., None, None]


@njit(cache=True, nogil=True)
def propagate(
    one: tuple[Vector, Vector, Vector, Vector, Vector, Vector],
    which: Indices,
    u: Vector,
    rise: Vector,
    dT: Vector,
    kicks: Vector,
    X: Vector,
    S: Vector,
) -> None:
    """Fill X (K, n) and S (K, m, n) from their first rows, the steps `one` given as arrays.

    Inputs and their slopes stand at each node; an input's delay moves its slope and its jumps, the
    latter being the kicks (K, m, n).
    """
    phi, gamma, ramp, d_phi, d_gamma, d_ramp = one
    K, n = X.shape
    m, nu = S.shape[1], u.shape[1]
    for k in range(K - 1):
        w = which[k]
        for i in range(n):
            total = 0.0
            for j in range(n):
                total += phi[w, i, j] * X[k, j]
            for j in range(nu):
                total += gamma[w, i, j] * u[k, j] + ramp[w, i, j] * rise[k, j]
            X[k + 1, i] = total
        for p in range(m):
            for i in range(n):
                total = kicks[k + 1, p, i]
                for j in range(n):
                    total += phi[w, i, j] * S[k, p, j] + d_phi[w, p, i, j] * X[k, j]
                for j in range(nu):
                    total += d_gamma[w, p, i, j] * u[k, j]
                    total += (d_ramp[w, p, i, j] - gamma[w, i, j] * dT[p, j]) * rise[k, j]
                S[k + 1, p, i] = total
