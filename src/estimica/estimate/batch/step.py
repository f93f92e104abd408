"""Steps of many members at once: damped least squares within bounds, from normal equations."""

from __future__ import annotations

from typing import Any

from estimica.estimate.batch.coordinates import Array


def inverse_factor(A: Array, xp: Any) -> tuple[Array, Array]:
    """(W, positive) with A⁻¹ = WᵀW, for (L, n, n) symmetric A; W is lower triangular.

    Where a pivot is not positive, A is singular to rounding and W means nothing. Written out, so
    that every module gives it for many small matrices at the price of some operations on arrays.
    """
    n, many = A.shape[1], A.shape[0]
    A = xp.ascontiguousarray(A.transpose(1, 2, 0))  # members last: operations run along them
    factor, inverse = xp.zeros((n, n, many)), xp.zeros((n, n, many))
    positive = xp.ones(many, bool)
    for j in range(n):
        row = factor[j, :j]
        pivot = A[j, j] - (row * row).sum(axis=0)
        positive &= pivot > 0
        root = xp.sqrt(xp.where(pivot > 0, pivot, 1.0))
        factor[j, j] = root
        if j + 1 < n:
            below = A[j + 1 :, j] - (factor[j + 1 :, :j] * row).sum(axis=1)
            factor[j + 1 :, j] = below / root
        # the columns behind the diagonal stay zero
        inverse[j, :j] = -(row[:, None] * inverse[:j, :j]).sum(axis=0) / root
        inverse[j, j] = 1 / root
    return xp.ascontiguousarray(inverse.transpose(2, 0, 1)), positive


def applied(W: Array, vector: Array) -> Array:
    """W v of every member."""
    return (W * vector[:, None, :]).sum(axis=2)


def applied_back(W: Array, vector: Array) -> Array:
    """Wᵀ v of every member."""
    return (W * vector[:, :, None]).sum(axis=1)


def times(H: Array, p: Array) -> Array:
    """H p of every member."""
    return (H * p[:, None, :]).sum(axis=2)


def restricted(H: Array, free: Array, diagonal: Array, xp: Any) -> Array:
    """H among the free unknowns with something added to its diagonal; one for the others."""
    n = H.shape[1]
    kept = xp.where(free[:, :, None] & free[:, None, :], H, 0.0)
    added = xp.where(free, diagonal, 1.0)
    return kept + added[:, :, None] * xp.eye(n)


def damped_step(
    H: Array, g: Array, damping: Array, free: Array, low: Array, high: Array, xp: Any
) -> Array:
    """p that lowers 2 gᵀp + pᵀHp + λ|p|² with low ≤ p ≤ high; 0 must lie within.

    Unknowns whose step leaves the bounds are set on them and the others solved for again, until
    none does: the minimum itself where no bound is met, and what leads down elsewhere. (Going back
    from a bound is left to the next step.)
    """
    p = xp.zeros_like(g)
    for _ in range(H.shape[1] + 1):
        target = -(g + times(H, p))
        W, _ = inverse_factor(restricted(H, free, damping[:, None], xp), xp)
        own = applied_back(W, applied(W, xp.where(free, target, 0.0)))
        tried = xp.where(free, own, p)
        out = free & ((tried < low) | (tried > high))
        p = xp.where(out, xp.clip(tried, low, high), xp.where(free, 0.0, p))
        if not bool(out.any()):
            return tried
        free = free & ~out
    return p
