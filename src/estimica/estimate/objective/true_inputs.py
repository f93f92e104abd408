"""Elimination: the true inputs of every point, found by small Newton steps, all points at once.

With weighted residuals ρ(z) of the outputs of a point and its input errors z in units of their
standard deviations, each point minimises |ρ(z)|² + |z|². What is left is a function of the tuners
alone, with the gradient Jᵀρ and the Gauss-Newton matrix Jᵀ(I + GGᵀ)⁻¹J, G = ∂ρ/∂z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector

ITERATIONS = 60
ENOUGH = 1e-8  # step, in standard deviations of an input
LEAST_CURVATURE = 1e-3  # of a Hessian that is believed; that of Gauss-Newton is at least 1
FIRST_DAMPING = 1e-2
ROUNDING = 1e-15  # relative, of the cost of a point


@dataclass(frozen=True, eq=False)
class Linearised:
    """Weighted residuals of all points at some input errors, with their derivatives."""

    residual: Vector  # (N, ny)
    by_error: Vector  # (N, ny, k)
    ok: Flags  # (N,): points that could be computed


Evaluate = Callable[[Vector], Linearised]


def eliminate(evaluate: Evaluate, n: int, k: int) -> Vector | None:
    """The input errors z (N, k) at which every point is best; None where a point has no value.

    Gauss-Newton with what the residuals' curvature adds as a secant sees it, and with a damping of
    each point's own: a step that makes a point worse is taken back there.
    """
    z = np.zeros((n, k))
    here = evaluate(z)
    if not here.ok.all():
        return None
    cost = _cost(here, z)
    damping = np.zeros(n)
    curvature = np.zeros((n, k, k))
    active = np.ones(n, bool)
    for _ in range(ITERATIONS):
        step = _step(here, z, curvature, damping) * active[:, None]
        trial = z + step
        there = evaluate(trial)
        new = np.where(there.ok, _cost(there, trial), np.inf)
        small = np.abs(step).max(axis=1) < ENOUGH * (1 + np.abs(z).max(axis=1))
        better = active & (new <= cost * (1 + ROUNDING))
        curvature = np.where(better[:, None, None], _bent(curvature, here, there, step), curvature)
        damping = np.where(better, damping / 10, np.maximum(10 * damping, FIRST_DAMPING))
        damping[damping < FIRST_DAMPING / 10] = 0.0
        z = np.where(better[:, None], trial, z)
        cost = np.where(better, new, cost)
        here = _merged(better, there, here)
        active &= ~small
        if not active.any():
            break
    return z


def followed(by_error: Vector, by_tuner: Vector) -> Vector:
    """dz/dθ (N, k, m) = −(I + GᵀG)⁻¹GᵀJ: how the input errors follow the tuners."""
    k = by_error.shape[2]
    inner = np.eye(k) + np.einsum("nyi,nyj->nij", by_error, by_error)
    pull = np.einsum("nyi,nym->nim", by_error, by_tuner)
    if k == 1:
        return np.asarray(-pull / inner)
    return np.asarray(-np.linalg.solve(inner, pull))


def _cost(at: Linearised, z: Vector) -> Vector:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sum(at.residual**2, axis=1) + np.sum(z**2, axis=1))


def _step(at: Linearised, z: Vector, curvature: Vector, damping: Vector) -> Vector:
    k = z.shape[1]
    gradient = np.einsum("nyi,ny->ni", at.by_error, at.residual) + z
    plain = np.eye(k) + np.einsum("nyi,nyj->nij", at.by_error, at.by_error)
    bent = plain + curvature
    lowest = bent[:, 0, 0] if k == 1 else np.linalg.eigvalsh(bent)[:, 0]
    matrix = np.where((lowest > LEAST_CURVATURE)[:, None, None], bent, plain)
    size = np.trace(plain, axis1=1, axis2=2)
    matrix = matrix + (damping * size)[:, None, None] * np.eye(k)
    if k == 1:
        return np.asarray(-gradient / matrix[:, 0])
    return np.asarray(-np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0])


def _bent(curvature: Vector, here: Linearised, there: Linearised, step: Vector) -> Vector:
    """Σ ρ ∂²ρ/∂z² by the symmetric rank-one formula; in one dimension the secant itself."""
    turned = there.by_error - here.by_error
    missed = np.einsum("nyi,ny->ni", turned, there.residual)
    missed = missed - np.einsum("nij,nj->ni", curvature, step)
    along = np.einsum("ni,ni->n", missed, step)
    size = np.linalg.norm(missed, axis=1) * np.linalg.norm(step, axis=1)
    with np.errstate(invalid="ignore"):
        usable = (np.abs(along) > 1e-8 * size) & (size > 0) & np.isfinite(size)
    below = np.where(usable, along, 1.0)[:, None, None]
    rank_one = missed[:, :, None] * missed[:, None, :] / below
    return np.asarray(curvature + np.where(usable[:, None, None], rank_one, 0.0))


def _merged(better: Flags, there: Linearised, here: Linearised) -> Linearised:
    return Linearised(
        np.where(better[:, None], there.residual, here.residual),
        np.where(better[:, None, None], there.by_error, here.by_error),
        here.ok,
    )
