"""Intervals of many members at once, from the normal equations at their ends: arrays only."""

from __future__ import annotations

from typing import Any

from estimica.estimate.batch.coordinates import Array
from estimica.estimate.batch.search import BatchProblem, BatchResult, Sums


def half_widths(
    problem: BatchProblem, found: BatchResult, sums: Sums, quantile: Any
) -> tuple[Array, Array]:
    """(standard errors, half widths of 95 % intervals) in coordinates, (L, n), of an `ml` fit.

    As of a single fit: the variance of every noise level is N/(N − p) times that of its residuals,
    p its share of the unknowns, and the quantile is the mean of the t quantiles of the levels,
    weighed by their parts of the variance. `quantile` gives them for degrees of freedom. Every
    block has a noise level of its own, and no unknown is at a bound.
    """
    xp, count = problem.coordinates.xp, problem.scoring.count
    slopes = problem.coordinates.slopes(found.values)
    scaled = sums.information * slopes[:, None, :, None] * slopes[:, None, None, :]
    own = scaled / found.variance[:, :, None, None]  # (L, B, n, n)
    inverse = xp.linalg.inv(found.information)
    share = (own * inverse[:, None]).sum(axis=(2, 3))
    left = count - share
    parts = xp.diagonal(inverse[:, None] @ own @ inverse[:, None], axis1=2, axis2=3)
    parts = parts * (count / left)[:, :, None]
    error = xp.sqrt(parts.sum(axis=1))
    factor = (parts * quantile(left)[:, :, None]).sum(axis=1) / parts.sum(axis=1)
    return error, factor * error
