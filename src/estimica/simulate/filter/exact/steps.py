"""Table of steps: what each length of step makes of mean and covariance, exactly.

x(t + h) = F x + G u + E u' + g, C(t + h) = F C Fᵀ + Q, for inputs that are straight in the step.
F, G, E and g are blocks of one matrix exponential. Q is computed over a short step by Van Loan's
matrix (1978), whose growing half would overflow over a long one, and doubled up to h. Derivatives
by the tuners are carried through all products.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.linear_filter import Matrices

#: |A| h up to which Van Loan's matrix keeps all digits: its growing half is then at most e
SHORT = 1.0
#: beyond this a rate times a step is that of no model, and powers of two would overflow
LARGEST = 1e300
#: of a matrix whose norm is SERIES so many terms leave 0.5^18/18! = 6e-22, below rounding
SERIES, TERMS = 0.5, 17


def step_block(system: Matrices, h: float) -> Vector:
    """(1 + m, size): F, G, E, g and Q one after the other, and their derivatives."""
    F, G, E, g = _moved(system, h)
    Q = _grown(system, h)
    rows = len(F)
    return np.hstack([part.reshape(rows, -1) for part in (F, G, E, g, Q)])


def _moved(system: Matrices, h: float) -> tuple[Vector, Vector, Vector, Vector]:
    """F, G, E and g: of x' = A x + B (u + u' τ) + c, in units of the step: else the step itself, in
    seconds perhaps a large number, would stand in the matrix."""
    k, n, nu = system.B.shape
    size = n + 2 * nu + 1
    M = np.zeros((k, size, size))
    M[:, :n, :n] = h * system.A
    M[:, :n, n : n + nu] = h * system.B
    M[:, :n, -1] = h * system.c
    M[0, n : n + nu, n + nu : n + 2 * nu] = np.eye(nu)
    found = _exponentials(M)[:, :n]
    u, slope = slice(n, n + nu), slice(n + nu, n + 2 * nu)
    return found[:, :, :n], found[:, :, u], h * found[:, :, slope], found[:, :, -1]


def _grown(system: Matrices, h: float) -> Vector:
    """Q, what noise adds to the covariance in a step."""
    k, n, _ = system.A.shape
    size = float(np.linalg.norm(system.A[0], 1)) * h
    if not size < LARGEST:  # at values of the tuners without a model: the engine tells why
        return np.full((k, n, n), np.nan)
    doublings = max(0, int(np.ceil(np.log2(size / SHORT)))) if size > SHORT else 0
    M = np.zeros((k, 2 * n, 2 * n))
    M[:, :n, :n] = -system.A
    M[:, :n, n:] = np.einsum("ki,ij->kij", system.q, np.eye(n))
    M[:, n:, n:] = system.A.transpose(0, 2, 1)
    short = _exponentials(M * (h / 2.0**doublings))
    F, upper = short[:, n:, n:].transpose(0, 2, 1), short[:, :n, n:]
    Q = _product(F, upper)
    for _ in range(doublings):
        Q = Q + _product(_product(F, Q), F.transpose(0, 2, 1))
        F = _product(F, F)
    return 0.5 * (Q + Q.transpose(0, 2, 1))


def _product(a: Vector, b: Vector) -> Vector:
    """The product of two matrices with their derivatives."""
    found = a[0] @ b
    found[1:] += a[1:] @ b[0]
    return np.asarray(found)


def _exponentials(M: Vector) -> Vector:
    """exp of the first matrix, and its derivatives in the directions of the others.

    A Taylor series of the matrix divided by a power of two, squared back; for matrices as small as
    these that is many times quicker than a general routine, which derivatives would double in size.
    """
    size = float(np.linalg.norm(M[0], 1))
    if not size < LARGEST:
        return np.full_like(M, np.nan)
    squarings = max(0, int(np.ceil(np.log2(size / SERIES)))) if size > SERIES else 0
    small = M / 2.0**squarings
    unit = np.zeros_like(M)
    unit[0] = np.eye(M.shape[1])
    found = unit
    for i in range(TERMS, 0, -1):
        found = unit + _product(small, found) / i
    for _ in range(squarings):
        found = _product(found, found)
    return found
