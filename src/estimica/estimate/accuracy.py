"""Accuracy: how far the data determine the unknowns: rank, covariance, intervals.

All of it follows from R, the triangular factor of the weighted Jacobian at the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: share of an unknown in a null direction from which on it counts as part of it
SHARE = 1e-3
#: effect of an unknown, relative to the largest, that is rounding; in coordinates of size one
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Covariance in physical units; infinite where the data do not determine an unknown.

    An unknown at a bound is held there: its rows are zero, its standard error is NaN.
    """

    covariance: Vector
    stderr: Vector
    interval: Vector  # (n, 2), 95 %
    identifiable: Flags
    rank: int
    singular_values: Vector  # of the Jacobian with columns of length one
    threshold: float  # below which a singular value counts as zero
    null_directions: Vector  # (count, n), in relative changes of the unknowns

    def without(self, unknowns: Sequence[int]) -> Accuracy:
        """The same where nothing can be said of some unknowns, whose others' errors hold for them
        staying where they are."""
        covariance, stderr, interval = (
            a.copy() for a in (self.covariance, self.stderr, self.interval)
        )
        chosen = list(unknowns)
        covariance[chosen, :] = covariance[:, chosen] = np.nan
        stderr[chosen] = interval[chosen] = np.nan
        return replace(self, covariance=covariance, stderr=stderr, interval=interval)

    @staticmethod
    def none(n: int) -> Accuracy:
        """Of `n` unknowns about which nothing can be said."""
        unknown = np.full(n, np.nan)
        return Accuracy(
            covariance=np.full((n, n), np.nan),
            stderr=unknown,
            interval=np.full((n, 2), np.nan),
            identifiable=np.zeros(n, bool),
            rank=0,
            singular_values=np.zeros(0),
            threshold=0.0,
            null_directions=np.zeros((0, n)),
        )

    def without_errors(self) -> Accuracy:
        """The same of a point that is not an optimum: rank and directions hold, errors do not."""
        return replace(
            self,
            covariance=np.full_like(self.covariance, np.nan),
            stderr=np.full_like(self.stderr, np.nan),
            interval=np.full_like(self.interval, np.nan),
        )


def accuracy(
    R: Vector,
    values: Vector,
    slopes: Vector,
    held: Flags,
    *,
    scatter: Vector | None,
    variance: float,
    freedom: float,
    threshold: float,
) -> Accuracy:
    """Accuracy at an estimate.

    `R` is in coordinates, `slopes` are d(value)/d(coordinate), `held` the unknowns at bounds. The
    covariance is (RᵀR)⁻¹ FᵀF (RᵀR)⁻¹ with F the gradient's `scatter` (none: F = R), multiplied by
    `variance`; `freedom` are the degrees of freedom of the t intervals and `threshold` is the
    relative error of the Jacobian.
    """
    n = len(values)
    free = ~held
    columns, scale = scaled_columns(R[:, free])
    s, Vt = _svd(columns)
    large = _large(s, threshold)
    rank = int(large.sum())
    null = Vt[~large]
    inner = (Vt[large].T / s[large] ** 2) @ Vt[large]
    if scatter is not None:
        half = scatter[:, free] / scale @ inner
        inner = half.T @ half
    physical = slopes[free] / scale
    covariance = np.zeros((n, n))
    if math.isfinite(variance):
        covariance[np.ix_(free, free)] = variance * inner * np.outer(physical, physical)
    else:  # as many unknowns as samples: nothing tells the noise
        covariance[np.ix_(free, free)] = np.where(np.eye(len(physical), dtype=bool), np.inf, np.nan)
    lost = np.zeros(n, bool)
    lost[free] = _part_of(null)
    covariance[lost, :] = covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    stderr = np.sqrt(np.diag(covariance))
    stderr[held] = np.nan
    return Accuracy(
        covariance=covariance,
        stderr=stderr,
        interval=_intervals(values, stderr, freedom),
        identifiable=~lost,
        rank=rank + int(held.sum()),
        singular_values=s,
        threshold=threshold,
        null_directions=_relative_directions(null, free, scale, slopes, values),
    )


def undetermined(R: Vector, held: Flags, threshold: float) -> Flags:
    """The unknowns that data with this triangular factor do not determine; `held` ones are told."""
    columns, _ = scaled_columns(R[:, ~held])
    s, Vt = _svd(columns)
    lost = np.zeros(len(held), bool)
    lost[~held] = _part_of(Vt[~_large(s, threshold)])
    return lost


def remaining(R: Vector, b: Vector, held: Flags, threshold: float) -> tuple[float, Vector]:
    """(offset, step): how far a point lies from its optimum to first order.

    The offset is in standard errors of noise of variance one: the largest component of the
    residuals along a singular direction of the tangent plane (Bates and Watts, A relative offset
    orthogonality convergence criterion, Technometrics 23, 1981). The step is that of Gauss and
    Newton, in coordinates. Directions that are not determined do not count.
    """
    step = np.zeros(len(held))
    columns, scale = scaled_columns(R[:, ~held])
    if not columns.size:
        return 0.0, step
    U, s, Vt = np.linalg.svd(columns, full_matrices=False)
    large = _large(s, threshold)
    along = U[:, large].T @ b
    step[~held] = -(Vt[large].T @ (along / s[large])) / scale
    return float(np.max(np.abs(along), initial=0.0)), step


def _large(s: Vector, threshold: float) -> Flags:
    """Which singular values are more than the error of the Jacobian."""
    found: Flags = s > threshold * (s[0] if len(s) and s[0] > 0 else 1.0)
    return found


def _part_of(null: Vector) -> Flags:
    """Which unknowns take part in some null direction."""
    return np.asarray((np.abs(null) > SHARE).any(axis=0))


def scaled_columns(R: Vector) -> tuple[Vector, Vector]:
    """Columns of length one and their lengths; what is rounding beside the longest is zero."""
    norms = np.linalg.norm(R, axis=0)
    seen = norms > NOTHING * norms.max(initial=0.0)
    scale = np.where(seen, norms, 1.0)
    return np.where(seen, R / scale, 0.0), scale


def _svd(A: Vector) -> tuple[Vector, Vector]:
    """Singular values and the rows of Vᵀ."""
    if not A.size:
        return np.zeros(0), np.zeros((0, A.shape[1]))
    _, s, Vt = np.linalg.svd(A)
    return s, Vt


def _intervals(values: Vector, stderr: Vector, freedom: float) -> Vector:
    # not scipy.stats: it takes longer to import than many a fit takes
    from scipy.special import stdtrit

    width = stderr * (float(stdtrit(freedom, 0.975)) if freedom > 0 else math.inf)
    return np.stack([values - width, values + width], axis=1)


def _relative_directions(
    null: Vector, free: Flags, scale: Vector, slopes: Vector, values: Vector
) -> Vector:
    """Null directions as relative changes, the largest entry 1."""
    found = np.zeros((len(null), len(free)))
    size = np.where(values[free] != 0, np.abs(values[free]), 1.0)
    found[:, free] = null / scale * slopes[free] / size
    for row in found:
        row /= row[np.argmax(np.abs(row))]
        row[np.abs(row) < SHARE] = 0.0
    return found
