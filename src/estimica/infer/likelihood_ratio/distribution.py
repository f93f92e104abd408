"""Ratio law: how likely it is that a null model gains so much by chance, with few samples too.

The cost reduction is χ² where the noise is known. Where it is estimated the reduction is measured
in the noise of the larger model, and its law is an F whose degrees of freedom are those of the
noise levels that the released unknowns depend on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.conclusion.freedom import freedom
from estimica.estimate.identify.accuracy import scaled_columns
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.infer.covariance.linearisation import pseudo_inverse


@dataclass(frozen=True)
class RatioDistribution:
    """An F statistic with its degrees of freedom; χ² where the noise is known."""

    statistic: float
    above: float  # degrees of freedom of the numerator
    below: float  # of the denominator; infinite where all noise is known

    @property
    def risk(self) -> float:
        """The probability that it is exceeded by chance."""
        from estimica.base.probability.functions import chdtrc, fdtrc

        if self.above <= 0 or math.isnan(self.statistic):
            return 1.0
        if math.isinf(self.statistic):
            return 0.0
        if math.isinf(self.below):
            return float(chdtrc(self.above, self.above * self.statistic))
        return float(fdtrc(self.above, self.below, self.statistic)) if self.below > 0 else 1.0


def ratio_distribution(
    objective: Objective,
    point: Point,
    null: Vector,
    free: Flags,
    released: Sequence[int],
    threshold: float,
) -> RatioDistribution | None:
    """The law of what the null model at coordinates `null` costs more than a `point`.

    `free` are the unknowns of the larger model that move, `released` those of them that the null
    model holds. With residuals weighed as at the point, the rise of their squares is Σ λχ² of one
    degree each, λ the variance of a combination of the released unknowns over what JᵀJ alone would
    give it: one for known noise, N/(N − p) for one output whose noise `ml` estimates. None where
    residuals cannot be weighed so, or where the data determine nothing more than before.
    """
    square = _rise(objective, point, null)
    if square is None:
        return None
    inverse = pseudo_inverse(point.R.T @ point.R, free, max(threshold, 1e-12))
    told = freedom(
        objective, point.noise, objective.parts(point), objective.prior_rows(point.q), inverse
    )
    rows = _gained(point.R, free, released, max(threshold, 1e-12))
    factors = np.linalg.eigvalsh(told.covariance_of(rows)) if len(rows) else np.zeros(0)
    if not len(factors) or not np.isfinite(factors).all() or not (factors > 0).all():
        return None
    total = float(factors.sum())
    return RatioDistribution(
        max(square, 0.0) / total, total**2 / float(factors @ factors), told.jointly(rows)
    )


def _gained(R: Vector, free: Flags, released: Sequence[int], threshold: float) -> Vector:
    """Combinations of the unknowns that the larger model determines beyond the null model.

    Rows DᵀR with D an orthonormal basis of what the columns of R reach with the released ones and
    not without them; JᵀJ alone gives each of them variance one and makes them independent.
    """
    null = free.copy()
    null[list(released)] = False
    whole, before = _reached(R[:, free], threshold), _reached(R[:, null], threshold)
    beyond = whole - before @ (before.T @ whole)
    U, s, _ = np.linalg.svd(beyond, full_matrices=False)
    # of nested spaces these are zero or one
    found: Vector = U[:, s > 0.5].T @ np.where(free, R, 0.0)
    return found


def _reached(R: Vector, threshold: float) -> Vector:
    """An orthonormal basis of the columns, each of length one, but for what is rounding."""
    columns, _ = scaled_columns(R)
    if not columns.size:
        return np.zeros((len(R), 0))
    U, s, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(U[:, s > threshold * s[0]])


def _rise(objective: Objective, point: Point, null: Vector) -> float | None:
    """By how much the squares of residuals and priors are larger at the null model."""
    if not objective.criterion.has_only_residuals:
        return None
    squares = []
    here = objective.predict(point.values)
    if isinstance(here, Failure):
        return None
    multipliers = objective.criterion.score(objective.residuals(here)).multipliers
    for q in (null, point.q):
        values = objective.unknowns.values(q)
        found = objective.predict(values)
        if isinstance(found, Failure):
            return None
        residuals = objective.residuals(found)
        squares.append(
            sum(float(np.sum((m * v) ** 2)) for m, v in zip(multipliers, residuals, strict=True))
            + _prior(objective, values)
        )
    return squares[0] - squares[1]


def _prior(objective: Objective, values: Vector) -> float:
    pairs = zip(objective.unknowns.items, values, strict=True)
    return sum(u.prior.distance(float(v)) ** 2 for u, v in pairs if u.prior)
