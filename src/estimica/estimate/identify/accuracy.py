"""Accuracy: how far the data determine the unknowns: rank, covariance, intervals.

All of it follows from R, the triangular factor of the weighted Jacobian at the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.unknowns import Unknown, Unknowns

#: share of an unknown in a null direction from which on it counts as part of it. Chosen: what moves
#: by less than a thousandth of the others does not move
SHARE = 1e-3
#: effect of an unknown, relative to the largest, that is rounding; in coordinates of size one
NOTHING = 1e-12
Z95 = 1.96  # the normal quantile of a 95 % interval


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Covariance in physical units; infinite where the data do not determine an unknown.

    An unknown at a bound is free in it, so that the errors of the others do not rest on its
    staying there, unless they would not be determined then.
    """

    covariance: Vector
    stderr: Vector
    interval: Vector  # (n, 2), 95 %, within the bounds
    clipped: Flags  # (n, 2): ends of intervals that a bound has cut off
    freedom: Vector  # degrees of freedom of each variance, infinite where the noise is known
    held: Flags  # unknowns that errors of the others take as staying where they are
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
        clipped = np.where(np.isfinite(interval), self.clipped, False)
        return replace(
            self, covariance=covariance, stderr=stderr, interval=interval, clipped=clipped
        )

    @staticmethod
    def none(n: int) -> Accuracy:
        """Of `n` unknowns about which nothing can be said."""
        unknown = np.full(n, np.nan)
        return Accuracy(
            covariance=np.full((n, n), np.nan),
            stderr=unknown,
            interval=np.full((n, 2), np.nan),
            clipped=np.zeros((n, 2), bool),
            freedom=np.zeros(n),
            held=np.zeros(n, bool),
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
            clipped=np.zeros_like(self.clipped),
        )


def accuracy(
    R: Vector,
    unknowns: Unknowns,
    q: Vector,
    held: Flags,
    moving: FreeCovariance,
    *,
    covariance: Vector,
    freedom: Vector,
    threshold: float,
) -> Accuracy:
    """Accuracy at the estimate `q`.

    `R` and the `covariance` are in coordinates; `held` are the unknowns whose rank is not asked
    for, at bounds or without derivatives, and `moving` those that have errors. `freedom` are the
    degrees of freedom of each variance, and `threshold` is the relative error of the Jacobian.
    """
    values, slopes = unknowns.values(q), unknowns.slopes(q)
    free = ~held
    columns, scale = scaled_columns(R[:, free])
    s, Vt = _svd(columns)
    large = _large(s, threshold)
    null = Vt[~large]
    lost = np.zeros(len(q), bool)
    lost[free] = _part_of(null)
    own = np.where(moving.free[:, None] & moving.free, covariance, 0.0)
    open_ = lost | ~np.isfinite(np.diag(own))  # not determined, or nothing tells the noise
    own[open_, :] = own[:, open_] = np.nan
    own[open_, open_] = np.inf
    errors = np.sqrt(np.diag(own))
    errors[~moving.free] = np.nan
    interval, clipped = intervals(unknowns, q, errors, freedom)
    return Accuracy(
        covariance=own * np.outer(slopes, slopes),
        stderr=errors * slopes,
        interval=interval,
        clipped=clipped,
        freedom=freedom,
        held=~moving.free,
        identifiable=~lost,
        rank=int(large.sum() + held.sum()),
        singular_values=s,
        threshold=threshold,
        null_directions=_relative_directions(null, free, scale, slopes, values),
    )


@dataclass(frozen=True, eq=False)
class FreeCovariance:
    """The unknowns that have errors, and (JᵀJ)⁻¹ among them where they are determined."""

    free: Flags
    inverse: Vector  # (n, n)


def free_covariance(R: Vector, at_bound: Flags, rough: Flags, threshold: float) -> FreeCovariance:
    """What moves from one record to the next: all but what is `rough`.

    An unknown at a bound moves as well: the next record may put it elsewhere, and the others with
    it. It is held only where they would not be determined if it were free.
    """
    free = ~(at_bound | rough)
    lost = _nullity(R[:, free], threshold)
    for k in np.flatnonzero(at_bound & ~rough):
        tried = free.copy()
        tried[k] = True
        if _nullity(R[:, tried], threshold) == lost:
            free = tried
    columns, scale = scaled_columns(R[:, free])
    s, Vt = _svd(columns)
    large = _large(s, threshold)
    inverse = np.zeros((len(free), len(free)))
    own = (Vt[large].T / s[large] ** 2) @ Vt[large]
    inverse[np.ix_(free, free)] = own / np.outer(scale, scale)
    return FreeCovariance(free, inverse)


def _nullity(R: Vector, threshold: float) -> int:
    s, Vt = _svd(scaled_columns(R)[0])
    return len(Vt) - int(_large(s, threshold).sum())


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


def intervals(
    unknowns: Unknowns, q: Vector, errors: Vector, freedom: Vector
) -> tuple[Vector, Flags]:
    """(n, 2) 95 % intervals of `errors` in coordinates, and which ends a bound has cut off.

    They are symmetric in coordinates, which on a logarithmic scale is in factors: the interval of
    a positive quantity is positive.
    """
    from estimica.base.probability.functions import ndtri, stdtrit

    known = np.isinf(freedom)
    quantile = np.where(known, ndtri(0.975), stdtrit(np.where(known, 1.0, freedom), 0.975))
    width = errors * np.where(freedom > 0, quantile, math.inf)
    ends = np.stack([unknowns.values(q - width), unknowns.values(q + width)], axis=1)
    bounds = np.array([(u.min, u.max) for u in unknowns.items], float).reshape(-1, 2)
    kept = np.clip(ends, bounds[:, :1], bounds[:, 1:])
    # without an end there is nothing to be cut off
    open_ = ~np.isfinite(width)
    kept[open_] = np.where(np.isnan(width[open_, None]), np.nan, [[-math.inf, math.inf]])
    return kept, (kept != ends) & ~open_[:, None]


def _relative_directions(
    null: Vector, free: Flags, scale: Vector, slopes: Vector, values: Vector
) -> Vector:
    """Null directions as relative changes, the largest entry 1."""
    directions = np.zeros((len(null), len(free)))
    size = np.where(values[free] != 0, np.abs(values[free]), 1.0)
    directions[:, free] = null / scale * slopes[free] / size
    for row in directions:
        row /= row[np.argmax(np.abs(row))]
        row[np.abs(row) < SHARE] = 0.0
    return directions


# --- Practical: whether the error of an unknown leaves anything of its value, whatever the rank.


class Significance(StrEnum):
    """What an error says of the value that it belongs to."""

    DETERMINED = "determined"
    NEAR_ZERO = "not told from zero"
    LOST = "practically not determined"
    UNSAID = ""  # there is no error to judge by


@dataclass(frozen=True)
class Practical:
    """The standing of one unknown, and why."""

    standing: Significance
    reason: str = ""

    @property
    def remark(self) -> str:
        """A few words for a table; none where all is well."""
        if self.standing in (Significance.DETERMINED, Significance.UNSAID):
            return ""
        return f"{self.standing}: {self.reason}"


def practical(
    unknown: Unknown, value: float, stderr: float, may_be_none: bool = False
) -> Practical:
    """Judge a value by its standard error.

    An error above the value says no more than the order of magnitude, if that: on a logarithmic
    scale the 95 % interval spans a factor of 50 or more, on a linear one it includes zero. The
    latter is not a lack where zero is allowed and the error is small beside the typical size of the
    unknown: an offset of 0.01 ± 0.05 mV that might have been 10 mV is known well, and is zero as
    far as the data tell. An interval that is wider than the bounds says nothing that was not known.
    A noise level `may_be_none` although it is searched on a logarithmic scale.
    """
    if math.isnan(stderr):
        return Practical(Significance.UNSAID)
    if math.isinf(stderr):
        return Practical(Significance.LOST, "no finite error")
    size = abs(value)
    share = stderr / size if size else math.inf
    if may_be_none and share > 1 and size:
        reason = f"its standard error is {_percent(share)} of its value"
        return Practical(Significance.NEAR_ZERO, reason)
    if _spans_bounds(unknown, share, stderr):
        return Practical(Significance.LOST, "its 95 % interval is wider than its bounds")
    if share <= 1:
        return Practical(Significance.DETERMINED)
    reason = f"its standard error is {_percent(share)} of its value" if size else "its value is 0"
    allows_zero = not unknown.log and unknown.min <= 0 <= unknown.max
    if allows_zero and stderr <= max(size, unknown.scale):
        return Practical(Significance.NEAR_ZERO, reason)
    return Practical(Significance.LOST, reason)


def _spans_bounds(unknown: Unknown, share: float, stderr: float) -> bool:
    low, high = unknown.min, unknown.max
    if not math.isfinite(high - low):
        return False
    if unknown.log:
        return low > 0 and 2 * Z95 * share > math.log(high / low)
    return 2 * Z95 * stderr > high - low


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share < 1e4 else f"{100 * share:.1e} %"
