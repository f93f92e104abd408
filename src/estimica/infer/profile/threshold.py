"""Thresholds of a profile: how far the cost may rise within the interval of an unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.estimate.conclusion.freedom import Freedom, freedom
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective, Point, accuracy_objective, with_curvature_of
from estimica.infer.covariance.linearisation import pseudo_inverse


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The rise of the cost for each unknown, and where it comes from."""

    rises: Vector
    words: str


def thresholds(fit: Fit, objective: Objective, point: Point, level: float) -> Thresholds:
    """Where the profile of each unknown leaves its interval.

    It is where the profile of a linear model reaches the t interval, with the degrees of freedom
    of the unknown's own error: δ = t·stderr away. With `a` what an output has in the curvature of
    the profile, the cost rises by δ²a there, and by N log(1 + δ²a/N) where `ml` estimates the noise
    of the output. With all noise known that is the χ² quantile; with one output it is
    N log(1 + t²/(N − p)) of `ml`, and t²s² of `oe`.
    """
    from estimica.base.probability.functions import ndtri, stdtrit

    judge = accuracy_objective(objective, point)
    judge = objective if isinstance(judge, str) else judge
    free = ~fit.accuracy.held
    R = with_curvature_of(judge, point).R
    inverse = pseudo_inverse(R.T @ R, free, max(fit.accuracy.threshold, 1e-12))
    told = freedom(judge, point.noise, judge.parts(point), judge.prior_rows(point.q), inverse)
    if not any(v.residual_freedom > 0 for v in told.levels) and not told.known:
        raise InferError(
            "I501",
            f"{objective.n_effective:.4g} samples are not more than the unknowns: their noise "
            "cannot be told, and there are no intervals; fix some tuners or add data",
        )
    degrees = told.of()
    tail = (1 + level) / 2
    quantiles = np.array([stdtrit(v, tail) if 0 < v < math.inf else ndtri(tail) for v in degrees])
    rises = np.array([_rise(told, k, q) for k, q in enumerate(quantiles)])
    good = np.isfinite(rises) & (rises > 0) & free & fit.accuracy.identifiable
    rises[~good] = _without(told, tail)
    return Thresholds(rises, _words(told, judge, degrees[good], rises[good]))


def _rise(freedom: Freedom, k: int, quantile: float) -> float:
    """How much the cost rises from the estimate to the end of the interval of unknown `k`."""
    own = freedom.inverse[k, k]
    if own <= 0:
        return math.nan
    error = math.sqrt(float(freedom.variance(np.eye(len(freedom.inverse))[k])[0]))
    path = quantile * error * freedom.inverse[:, k] / own  # the others follow it
    return float(freedom.rise(path[:, None])[0])


def _without(freedom: Freedom, tail: float) -> float:
    """The rise for an unknown whose error is not known: as if all noise were of one output."""
    from estimica.base.probability.functions import ndtri, stdtrit

    if freedom.known:
        return float(ndtri(tail)) ** 2
    own = [v for v in freedom.levels if not v.known and v.residual_freedom > 0]
    count, left = sum(v.count for v in own), sum(v.residual_freedom for v in own)
    square = float(stdtrit(left, tail)) ** 2
    if any(v.follows for v in own):
        return count * math.log1p(square / left)
    return square * float(np.average([v.variance for v in own], weights=[v.count for v in own]))


def _words(freedom: Freedom, objective: Objective, degrees: Vector, rises: Vector) -> str:
    """Where the thresholds come from."""
    if freedom.known:
        known = "the χ² threshold, since the noise is known"
        return (
            f"{known}: {_span(rises)}"
            if not objective.is_filtered
            else (
                f"{_span(rises)}: the χ² threshold, times what a standard error raises the cost by"
            )
        )
    finite = degrees[np.isfinite(degrees)]
    of = f"t of {_span(finite)} degrees of freedom" if len(finite) else "normal quantiles"
    return f"{_span(rises)}: where the cost is at the end of an interval with {of}"


def _span(values: Vector) -> str:
    if not len(values):
        return "none"
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if high - low <= 1e-3 * high else f"{low:.4g} to {high:.4g}"


# --- terms ---------------------------------------------------------------------------------------
# Terms of a walk: the threshold of one unknown's profile, and when two costs are equal.


#: costs that differ by less, relative to the threshold, are equal: so much moves an end by a two
#: thousandth of the interval's half width
SAME = 1e-3


@dataclass(frozen=True)
class Terms:
    """What a walk needs to know: the costs it is measured by, and about how many stops to make."""

    optimum: float  # the lowest cost that is known
    rise: float  # of the cost, at the threshold
    points: int
    estimate: float  # the cost of the estimate
    stepped: bool = False  # whether the unknown acts in steps, so that the cost leaps by itself

    @property
    def limit(self) -> float:
        """The cost at which the interval ends."""
        return self.optimum + self.rise

    @property
    def same(self) -> float:
        """The difference up to which costs are equal."""
        return SAME * self.rise

    def root(self, cost: float) -> float:
        """√(cost − optimum), which is a straight line where the model is linear."""
        return math.sqrt(max(cost - self.optimum, 0.0))

    def share(self, cost: float) -> float:
        """By how many percent of the threshold a cost has risen."""
        return 100 * (cost - self.optimum) / self.rise
