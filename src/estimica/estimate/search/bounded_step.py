"""Bounded least squares: the step of a linear model that keeps to its bounds.

Cutting a step off at the bounds is not enough: with correlated unknowns what is left of it may
lead uphill. This is the active set of Stark and Parker (1995).
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Vector

#: times the number of unknowns, after which the best so far is taken. The active set ends by
#: itself, as Stark and Parker prove; rounding may make it circle, and a feasible step is good
#: enough then
PASSES = 3
#: share of its size from which on a gradient counts: some thousand roundings of 2e-16
SLIGHT = 1e-12


def least_squares(
    A: Vector, target: Vector, low: Vector, high: Vector, rcond: float | None = None
) -> Vector:
    """p that minimises |A p − target| with low ≤ p ≤ high; 0 must lie within."""
    whole = np.asarray(np.linalg.lstsq(A, target, rcond=rcond)[0], np.float64)
    if ((whole >= low) & (whole <= high)).all():
        return whole
    p = np.zeros(len(whole))
    free = np.ones(len(p), bool)
    stuck = np.zeros(len(p), bool)  # released in vain since the last progress
    for _ in range(PASSES * len(p)):
        before = p.copy()
        _descend(A, target, low, high, p, free, rcond)
        if not np.array_equal(p, before):
            stuck[:] = False
        release = _release(A, target, low, p, free | stuck)
        if release is None:
            break
        free[release] = stuck[release] = True
    return p


def _descend(
    A: Vector,
    target: Vector,
    low: Vector,
    high: Vector,
    p: Vector,
    free: Flags,
    rcond: float | None,
) -> None:
    """Go to the minimum over the free unknowns; those that meet a bound on the way stay there."""
    while free.any():
        rest = target - A[:, ~free] @ p[~free]
        aim = np.linalg.lstsq(A[:, free], rest, rcond=rcond)[0]
        here, lower, upper = p[free], low[free], high[free]
        room = np.where(aim < lower, lower - here, np.where(aim > upper, upper - here, np.inf))
        way = aim - here
        share = np.divide(room, way, out=np.full(len(way), np.inf), where=np.isfinite(room))
        first = int(np.argmin(share))
        if share[first] >= 1:
            p[free] = aim
            return
        p[free] = np.clip(here + share[first] * way, lower, upper)
        met = np.flatnonzero(free)[first]
        p[met] = low[met] if way[first] < 0 else high[met]
        free[met] = False


def _release(A: Vector, target: Vector, low: Vector, p: Vector, passed: Flags) -> int | None:
    """The unknown at a bound that gains most by leaving it."""
    left = target - A @ p
    size = np.linalg.norm(A, axis=0) * float(np.linalg.norm(left))
    pull = A.T @ left
    inward = np.where(p <= low, pull, -pull)
    gain = np.where(passed | (size == 0), 0.0, inward / np.where(size == 0, 1.0, size))
    best = int(np.argmax(gain))
    return best if gain[best] > SLIGHT else None
