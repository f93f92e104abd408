"""Influence: how far each sample moves the estimate, from the exact Jacobian.

Leaving sample i out moves the estimate, in one Gauss-Newton step, by H⁻¹ Jᵢᵀρᵢ / (1 − hᵢ) with
H = JᵀJ and the leverage hᵢ = Jᵢ H⁻¹ Jᵢᵀ: a jackknife without a single new fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure, Prediction

#: relative size of a singular value that counts as zero
SMALL = 1e-8


def accelerations(
    objective: Objective, point: Point, lengths: Sequence[int]
) -> tuple[Vector, dict[str, float]]:
    """BCa's acceleration a = Σ L³ / (6 (Σ L²)^1.5) for each unknown and each estimated variance.

    L are the moves by leaving out a sample, or a stretch of `lengths` samples of its block.
    """
    predictions = objective.predict(point.values)
    assert not isinstance(predictions, Failure), "the estimate was simulated before"
    residuals = objective.residuals(predictions)
    judge = objective.criterion.judge(residuals)
    chosen = objective.criterion if isinstance(judge, str) else judge
    scoring = chosen.score(residuals, objective.sigmas(predictions))
    inverse = _inverse(point.R)
    moves: list[Vector] = []
    squares: dict[str, list[Vector]] = {}
    for k, prediction in enumerate(predictions):
        scored = np.asarray(scoring.scored[k], float)
        if k in scoring.levels:
            slopes = objective.unknowns.slopes(point.q)
            pairs = objective.wide_level_rows(k, prediction, scoring, slopes)
            gradient = sum(rows * rho[:, None] for rows, rho in pairs)
            moves.append(_summed(-gradient @ inverse, lengths[k]))
            continue
        rows = _rows(objective, k, prediction, scoring.multipliers[k], point)
        leverage = np.clip(np.einsum("ij,jk,ik->i", rows, inverse, rows), 0.0, 0.99)
        own = -(rows * (scored / (1 - leverage))[:, None]) @ inverse
        moves.append(_summed(own, lengths[k]))
        noise = point.noise.get(objective.blocks[k].name)
        if noise is not None and noise.estimated:
            centred = scored**2 - np.mean(scored**2)
            summed = _summed(centred[:, None], lengths[k])[:, 0]
            squares.setdefault(objective.blocks[k].name, []).append(summed)
    together = np.concatenate(moves) if moves else np.zeros((0, len(point.q)))
    return _acceleration(together), {
        n: float(_acceleration(np.concatenate(v)[:, None])[0]) for n, v in squares.items()
    }


def _rows(
    objective: Objective,
    k: int,
    prediction: Prediction,
    multiplier: float | Vector,
    point: Point,
) -> Vector:
    """The scored Jacobian of one block, in coordinates."""
    owners = [(p, j) for p in objective.predictors for j in range(len(p.record.outputs))]
    predictor, place = owners[k]
    m = np.broadcast_to(np.asarray(multiplier, float), prediction.value.shape)
    transform = objective.blocks[k].measured.transform
    if transform is not None:
        m = m * transform.derivative(prediction.value)
    slopes = objective.unknowns.slopes(point.q)
    rows = np.zeros((len(prediction.value), len(point.q)))
    if objective.blocks[k].filter is not None:
        found, columns = objective.filtered_slopes(k, prediction)
        rows[:, list(columns)] = np.asarray(multiplier, float) * found
        return rows * slopes
    for j, column in enumerate(predictor.columns):
        rows[:, column] = m * prediction.slope[:, j] * slopes[column]
    extra = predictor.extras[place]
    if extra is not None:
        rows[:, extra] = m * slopes[extra]
    return rows


def _inverse(R: Vector) -> Vector:
    """(RᵀR)⁻¹ where the data determine something, zero elsewhere."""
    norms = np.linalg.norm(R, axis=0)
    scale = np.where(norms > 0, norms, 1.0)
    half = np.linalg.pinv(R / scale, rcond=SMALL) / scale[:, None]
    inverse: Vector = half @ half.T
    return inverse


def _summed(moves: Vector, length: int) -> Vector:
    """Moves of stretches of samples."""
    if length <= 1 or not len(moves):
        return moves
    return np.add.reduceat(moves, np.arange(0, len(moves), length), axis=0)


def _acceleration(moves: Vector) -> Vector:
    centred = moves - moves.mean(axis=0) if len(moves) else moves
    square = np.sum(centred**2, axis=0)
    safe = np.where(square > 0, square, 1.0)
    found: Vector = np.where(square > 0, np.sum(centred**3, axis=0) / (6 * safe**1.5), 0.0)
    return found
