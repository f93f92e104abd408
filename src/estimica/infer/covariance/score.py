"""ScoreCovariance: how the gradient of the cost scatters, sample by sample or along time.

The covariance of an estimate is (JᵀJ)⁻¹ M (JᵀJ)⁻¹, a sandwich with the scatter M of the gradient
inside it. A prior adds to both as a measurement with just the error that it states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.infer.covariance.grid import residual_grids
from estimica.infer.covariance.linearisation import LinearisedFit
from estimica.infer.covariance.noise_colour import Colour, colours, crossing
from estimica.infer.covariance.white_frame import WhiteFrame

#: of its variance that a residual keeps, or white noise in any direction. Chosen: it bounds what is
#: put back for the fit's pull to a factor of 20
LEAST_SHARE = 0.05


def white_score_covariance(around: LinearisedFit) -> Vector:
    """s² JᵀJ: white noise whose scored residuals have one mean square s² for all outputs."""
    return _white(around, [""] * len(around.rows))


def _white(around: LinearisedFit, groups: Sequence[str]) -> Vector:
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


def heteroscedastic_score_covariance(around: LinearisedFit) -> Vector:
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
        if one.level is not None:
            part = part + one.level[1] * one.level[0][:, None]
        total = total + part.T @ part
    return total


@dataclass(frozen=True, eq=False)
class ScoreCovariance:
    """The scatter of the gradient, the samples that noise remembers, degrees of freedom."""

    meat: Vector
    reach: float
    freedom: Vector  # of the variance of each unknown


def coloured_score_covariance(around: LinearisedFit) -> ScoreCovariance:
    """The scatter of the gradient with coloured noise.

    Σ Jᵀ Γ J with Γ the autocovariance of each output's noise, and of the outputs of a case among
    each other; what the unknowns have taken from the noise is in it. The variance of single
    samples is their own, as of `by_sample`. Unlike a sum over lags of the gradient itself, as that
    of Newey and West, this knows how the Jacobian goes on: under a periodic input the gradient
    seems to remember what is only the period.
    """
    colours_of_blocks = colours(around, residual_grids(around))
    n = len(around.q)
    total, white = np.zeros((n, n)), np.zeros((n, n))
    for colour in colours_of_blocks:
        one = colour.of
        plain = colour.value[0] * one.jacobian.T @ one.jacobian
        total += colour.scatter() - plain + _uneven(colour)
        white += plain
    for first, second in combinations(colours_of_blocks, 2):
        if (cross := crossing(first, second)) is not None:
            total += cross + cross.T
    for rows in around.rows:  # squares of coloured noise are less coloured, and taken as white
        if rows.level is not None:
            part = rows.level[1] * rows.level[0][:, None]
            total += part.T @ part
            white += rows.level[1].T @ rows.level[1]
    reach = max((c.reach for c in colours_of_blocks), default=0)
    meat = _lifted(total, white) + around.prior.T @ around.prior
    return ScoreCovariance(meat, float(reach), _freedom(around, colours_of_blocks))


def _freedom(around: LinearisedFit, colours_of_blocks: Sequence[Colour]) -> Vector:
    """Satterthwaite's degrees of freedom of each unknown's variance: 2 (Σv)² / Σ v² Var(log v)."""
    whole = np.sum((around.prior @ around.inverse) ** 2, axis=0)
    parts = [colour.variances(around.inverse) for colour in colours_of_blocks]
    whole = whole + sum(variance for variance, _ in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        # shares, whose squares neither overflow nor vanish
        doubt = sum((variance / whole) ** 2 * logs for variance, logs in parts)
        degrees = np.where(doubt > 0, 2 / np.asarray(doubt), np.inf)
    # below one a t distribution has hardly any quantile to speak of
    return np.clip(degrees, 1.0, max(around.freedom, 1.0))


def _uneven(colour: Colour) -> Vector:
    """Σ ρ² jjᵀ, with what the fit has taken from the residuals put back."""
    one = colour.of
    square = float(one.residual @ one.residual)
    scale = colour.value[0] * one.count / square if square > 0 else 0.0
    part = one.jacobian * one.residual[:, None]
    return np.asarray(scale * part.T @ part)


def _lifted(total: Vector, white: Vector) -> Vector:
    """The same, in no direction below a share of white noise: a sum cut off may be indefinite."""
    frame = WhiteFrame.of(white)
    sizes, directions = np.linalg.eigh(frame.inside(total))
    return frame.outside((directions * np.maximum(sizes, LEAST_SHARE)) @ directions.T)
