"""Meat: how the gradient of the cost scatters, sample by sample or along time.

The covariance of an estimate is (JᵀJ)⁻¹ M (JᵀJ)⁻¹, a sandwich with the scatter M of the gradient
inside it. A prior adds to both as a measurement with just the error that it states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from estimica.base.errors import InferError
from estimica.infer.covariance_rows import Linearised, Rows
from estimica.infer.residual_spacing import spacing

Vector = npt.NDArray[np.float64]
STRONGEST = 0.97  # first-order memory of a gradient that is believed
LEAST_SHARE = 0.05  # of its variance that a residual keeps


def by_output(around: Linearised) -> Vector:
    """Σ s² JᵀJ: white noise whose scored residuals have one mean square s² for each output."""
    return _white(around, [one.output for one in around.rows])


def pooled(around: Linearised) -> Vector:
    """s² JᵀJ: white noise whose scored residuals have one mean square s² for all outputs."""
    return _white(around, [""] * len(around.rows))


def _white(around: Linearised, groups: Sequence[str]) -> Vector:
    """White noise whose scored residuals have one mean square for all rows of a group."""
    objective = around.objective
    unit = objective.criterion.has_unit_variance
    if unit and not objective.is_filtered:
        return around.information
    sums: dict[str, tuple[float, float]] = {}
    for group, one, block in zip(groups, around.rows, objective.blocks, strict=True):
        square, count = sums.get(group, (0.0, 0.0))
        sums[group] = square + float(one.scored @ one.scored), count + block.count
    total: Vector = around.prior.T @ around.prior
    for group, one, block in zip(groups, around.rows, objective.blocks, strict=True):
        square, count = sums[group]
        rows = block.returned(one.jacobian)  # white before a prefilter, coloured behind it
        total = total + (1.0 if unit else square / max(count, 1)) * rows.T @ rows
    return total


def by_sample(around: Linearised) -> Vector:
    """Σ ρ²/(1 − h)² jjᵀ: every sample has a variance of its own (White; HC3)."""
    if around.objective.is_filtered:
        raise InferError(
            "I351",
            "covariance 'sandwich' needs residuals that do not know of each other, and behind a "
            "prefilter they do; use kind 'hac'",
        )
    inverse = around.inverse
    total: Vector = around.prior.T @ around.prior
    for one in around.rows:
        pull = np.einsum("ij,jk,ik->i", one.jacobian, inverse, one.jacobian)
        kept = np.clip(1 - pull, LEAST_SHARE, 1.0)
        part = one.jacobian * (one.scored / kept)[:, None]
        total = total + part.T @ part
    return total


def along_time(around: Linearised) -> tuple[Vector, float]:
    """The scatter of the gradient with noise that remembers, and the bandwidth in samples.

    Newey and West's weights 1 − l/(b + 1), the bandwidth of Andrews for a first-order memory, and
    each component made nearly white before and coloured again after (Andrews and Monahan).
    """
    scale = _whitener(around)
    parts = [_scores(rows) @ scale for rows in _cases(around.rows)]
    memory = _memories(parts)
    white = [part[1:] - part[:-1] * memory for part in parts]
    bandwidth = _bandwidth(white, sum(map(len, white)))
    total = np.zeros((scale.shape[1],) * 2)
    for part in white:
        total += _weighted(part, bandwidth)
    back = np.diag(1 / (1 - memory))
    count = sum(map(len, parts)) / max(sum(map(len, white)), 1)
    unscale = np.linalg.pinv(scale)
    whole = unscale.T @ (back @ total @ back) @ unscale * count
    return np.asarray(whole + around.prior.T @ around.prior), bandwidth


def _whitener(around: Linearised) -> Vector:
    """Coordinates in which the gradient of white noise has independent components of one size."""
    values, vectors = np.linalg.eigh(around.information)
    large = values > 1e-14 * values[-1]
    return np.asarray(vectors[:, large] / np.sqrt(values[large]))


def _cases(rows: Sequence[Rows]) -> list[list[Rows]]:
    """Rows of each case together: its outputs may be disturbed by the same thing."""
    found: dict[str, list[Rows]] = {}
    for one in rows:
        found.setdefault(one.case, []).append(one)
    return list(found.values())


def _scores(rows: Sequence[Rows]) -> Vector:
    """The gradient of each stamp, all outputs together, on a grid where there is one."""
    stamps = np.unique(np.concatenate([one.time for one in rows]))
    total = np.zeros((len(stamps), rows[0].jacobian.shape[1]))
    for one in rows:
        total[np.searchsorted(stamps, one.time)] += one.jacobian * one.scored[:, None]
    return spacing(stamps).spread(total)


def _memories(parts: Sequence[Vector]) -> Vector:
    """First-order autocorrelation of each component."""
    above = sum(np.sum(p[1:] * p[:-1], axis=0) for p in parts)
    below = sum(np.sum(p[:-1] ** 2, axis=0) for p in parts)
    ratio = np.divide(above, below, out=np.zeros_like(below), where=np.asarray(below) > 0)
    return np.asarray(np.clip(ratio, -STRONGEST, STRONGEST))


def _bandwidth(parts: Sequence[Vector], count: int) -> float:
    """1.1447 (α n)^⅓ with Andrews' α for a first-order memory, components counting alike."""
    rho = _memories(parts)
    noise = sum(np.sum((p[1:] - p[:-1] * rho) ** 2, axis=0) for p in parts) / max(count, 1)
    size = noise**2
    above = np.sum(4 * rho**2 * size / ((1 - rho) ** 6 * (1 + rho) ** 2))
    below = np.sum(size / (1 - rho) ** 4)
    alpha = float(above / below) if below > 0 else 0.0
    return float(1.1447 * (alpha * count) ** (1 / 3))


def _weighted(part: Vector, bandwidth: float) -> Vector:
    total = part.T @ part
    for lag in range(1, min(int(bandwidth) + 1, len(part) - 1)):
        cross = part[lag:].T @ part[:-lag]
        total = total + (1 - lag / (bandwidth + 1)) * (cross + cross.T)
    return np.asarray(total)
