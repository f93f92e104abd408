"""Validating residuals: what is left when the uncertainty of the tuners is taken into account."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.estimate.fit.outputs import CaseFit
from estimica.estimate.fit.result import Fit
from estimica.infer.covariance.linearisation import LinearisedFit
from estimica.infer.covariance.output_spread import chain_of, level_of, slopes_of
from estimica.infer.residuals.quantiles import quantile_residuals

Rest = tuple[Vector, Vector, Vector]  # residuals, Jacobian, metric


def validation_residuals(
    fit: Fit, case: CaseFit, around: LinearisedFit, spread: Vector
) -> list[Rest]:
    """Residuals of a validating case less what an error of the tuners within their covariance V
    explains best, with what this has taken from white noise.

    Residuals e = v + Sδ with δ of covariance V have the best δ = A Sᵀe/σ², A⁻¹ = SᵀS/σ² + V⁻¹;
    without it their covariance is σ²(I − S A Sᵀ/σ²), as if the tuners had been fitted.
    """
    compared = [quantile_residuals(o, o.compared) for o in case.outputs]
    plain = [(v, np.zeros((len(v), 1)), np.zeros((1, 1))) for v in compared]
    try:
        parts = slopes_of(fit, case, around, spread)
    except EstimicaError:
        return plain
    weights = [chain_of(fit, case, o) / level_of(fit, case, o)[0] for o in case.outputs]
    scaled = [[w[:, None] * s for s, _ in own] for w, own in zip(weights, parts, strict=True)]
    common = np.vstack([own[0] for own in scaled])
    inner = _posterior(parts[0][0][1], common.T @ common)
    if not np.isfinite(inner).all():
        return plain
    # one level for all samples, also where each has its own
    levels = [float(np.sqrt(np.mean(np.square(level_of(fit, case, o)[0])))) for o in case.outputs]
    residual = [v / s for v, s in zip(compared, levels, strict=True)]
    error = inner @ (common.T @ np.concatenate(residual))
    found = []
    for own, e, level in zip(scaled, residual, levels, strict=True):
        metric = inner if len(own) == 1 else _joined(inner, parts[0][1][1])
        rest = (e - own[0] @ error) * level
        found.append((rest, np.hstack(own), metric))
    return found


def _posterior(prior: Vector, information: Vector) -> Vector:
    """(information + prior⁻¹)⁻¹, also where the prior leaves some tuners no room."""
    values, vectors = np.linalg.eigh((prior + prior.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    middle = np.eye(len(prior)) + root.T @ information @ root
    return np.asarray(root @ np.linalg.solve(middle, root.T))


def _joined(first: Vector, second: Vector) -> Vector:
    n, m = len(first), len(second)
    found = np.zeros((n + m, n + m))
    found[:n, :n], found[n:, n:] = first, second
    return found
