"""Density: the logarithm of the posterior density and its exact gradient.

Maximum likelihood scores −2 log L, so that the density of the unknowns is e^(−cost/2), priors
included. Where a noise variance is not known, the cost is that of the best one; with Jeffreys'
prior 1/r the integral over r gives just the same, ∫ r^(−N/2−1) e^(−S/2r) dr ∝ S^(−N/2), so that
nothing is approximated, and r itself follows an inverse gamma distribution given the unknowns.
Without a prior an unknown is flat between its bounds, on the logarithm where its scale is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.unknowns import Unknown, Unknowns

#: curvature that a bounded coordinate has at least, for the size of the first steps only: that of
#: the logistic density in its middle is 1/2, and a quarter keeps directions that the data leave
#: open at a few units
BOUNDED = 0.25
#: the same where there is no bound, relative to the largest: a direction below it is numerical
OPEN = 1e-12


class Impossible(Exception):
    """The model cannot be simulated there: a point of density zero."""

    is_recoverable = True  # the sampler counts it as a divergence, and goes on


@dataclass(frozen=True, eq=False)
class Density:
    """The posterior in coordinates u in which it is about a standard normal distribution.

    z = origin + spread·u are free coordinates; the spread comes from the curvature at the estimate.
    """

    objective: Objective
    unbounded: Unbounded
    origin: Vector
    spread: Vector  # lower triangular
    measures: Vector  # power of the value by which a prior's own measure differs from that of q

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return len(self.origin)

    def at(self, u: Vector) -> tuple[float, Vector]:
        """The logarithm of the density and its gradient."""
        q, slope, measure, measure_slope = self.unbounded.q(self.origin + self.spread @ u)
        point = self.objective.at(q) if np.isfinite(q).all() else None
        if not isinstance(point, Point):
            raise Impossible("" if point is None else point.message)
        relative = np.where(self.measures == 0, 1.0, point.values)  # positive where it counts
        value = -point.cost / 2 + measure + float(self.measures @ np.log(relative))
        # d log(value)/dq
        growth = self.objective.unknowns.slopes(q) / relative
        gradient = slope * (self.measures * growth - point.gradient) + measure_slope
        return value, self.spread.T @ gradient

    def values(self, u: Vector) -> Vector:
        """Physical values of the unknowns."""
        q, _, _, _ = self.unbounded.q(self.origin + self.spread @ u)
        return self.objective.unknowns.values(self.objective.unknowns.clipped(q))


def density_around(objective: Objective, q: Vector) -> Density:
    """The posterior of a study, looked at from coordinates `q` of its estimate."""
    unknowns = objective.unknowns
    unbounded = Unbounded.of(unknowns)
    inside = unbounded.inside(q)
    origin = unbounded.z(inside)
    point = objective.at(inside)
    if not isinstance(point, Point):
        raise InferError(
            "I701",
            f"case '{point.case}' cannot be simulated where the chains begin, beside the bounds "
            f"of the estimate: {point.message}; widen the bounds",
        )
    _, slope, _, _ = unbounded.q(origin)
    scaled = point.R * slope
    curvature = scaled.T @ scaled
    least = np.where(unbounded.bounded, BOUNDED, OPEN * max(float(np.trace(curvature)), 1.0))
    root = np.linalg.cholesky(curvature + np.diag(least))
    measures = np.array([_measure(u) for u in unknowns.items])
    return Density(objective, unbounded, origin, np.linalg.inv(root).T, measures)


def _measure(unknown: Unknown) -> float:
    """The power of the value that turns the density of a prior into one of the coordinate.

    A prior of the value x on a coordinate log x counts x times, since dx = x d(log x); one of the
    logarithm on a coordinate that is the value 1/x times.
    """
    if unknown.prior is None:
        return 0.0
    return float(unknown.log) - float(unknown.prior.on != "value")


# --- unbounded -----------------------------------------------------------------------------------
# Unbounded: coordinates of the unknowns that know no bounds, so that a sampler may step freely.


#: how near a bound a chain may begin, as a share of the range, or of the coordinate's size where
#: there is one bound only: beyond it the density in these coordinates is flat, and a chain that
#: begins there needs its whole warm-up to come back
INSIDE = 0.01


@dataclass(frozen=True, eq=False)
class Unbounded:
    """q = z without bounds, lower + e^z, upper − e^z, or lower + (upper − lower)/(1 + e^-z)."""

    lower: Vector
    upper: Vector

    @staticmethod
    def of(unknowns: Unknowns) -> Unbounded:
        """For these unknowns; on a logarithmic scale a lower bound of zero is none."""
        open_ = np.array([u.log and u.min <= 0 for u in unknowns.items], bool)
        return Unbounded(np.where(open_, -np.inf, unknowns.lower), unknowns.upper)

    @property
    def both(self) -> Flags:
        """Which have two bounds."""
        return np.isfinite(self.lower) & np.isfinite(self.upper)

    @property
    def bounded(self) -> Flags:
        """Which have a bound."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    def inside(self, q: Vector) -> Vector:
        """The nearest coordinates that are not at a bound."""
        range_ = np.where(self.both, self.upper - self.lower, np.maximum(np.abs(q), 1.0))
        near = INSIDE * range_
        return np.minimum(np.maximum(q, self.lower + near), self.upper - near)

    def z(self, q: Vector) -> Vector:
        """Free coordinates of coordinates within the bounds."""
        free = q.copy()
        both, low, high = self._kinds
        share = (q[both] - self.lower[both]) / (self.upper[both] - self.lower[both])
        free[both] = np.log(share) - np.log1p(-share)
        free[low] = np.log(q[low] - self.lower[low])
        free[high] = np.log(self.upper[high] - q[high])
        return free

    def q(self, z: Vector) -> tuple[Vector, Vector, float, Vector]:
        """(q, dq/dz, Σ log|dq/dz|, its gradient) at free coordinates."""
        q, slope = z.copy(), np.ones_like(z)
        measure, gradient = 0.0, np.zeros_like(z)
        both, low, high = self._kinds
        with np.errstate(over="ignore"):
            share = 1 / (1 + np.exp(-z[both]))
            rest = 1 / (1 + np.exp(z[both]))
            size_low, size_high = np.exp(z[low]), np.exp(z[high])
        range_ = self.upper[both] - self.lower[both]
        q[both] = self.lower[both] + range_ * share
        slope[both] = range_ * share * rest
        q[low], slope[low] = self.lower[low] + size_low, size_low
        q[high], slope[high] = self.upper[high] - size_high, -size_high
        # log(share) and log(rest) without the cancellation far out
        logs = -np.logaddexp(0, -z[both]) - np.logaddexp(0, z[both])
        measure = float(np.sum(np.log(range_) + logs) + z[low].sum() + z[high].sum())
        gradient[both] = rest - share
        gradient[low] = gradient[high] = 1.0
        return q, slope, measure, gradient

    @property
    def _kinds(
        self,
    ) -> tuple[Flags, Flags, Flags]:
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        return low & high, low & ~high, high & ~low


# --- counting ------------------------------------------------------------------------------------
# Counting: a density that counts what it is asked, and keeps what went wrong in the asking.


class CountedDensity:
    """The density for one chain."""

    def __init__(self, density: Density) -> None:
        self.density = density
        self.evaluations = 0
        self.impossible = 0
        self.reason = ""
        self.fault: BaseException | None = None  # one of ours, which ends the chain

    def at(self, u: Vector) -> tuple[float, Vector]:
        """The density at `u`; a point that cannot be simulated is counted."""
        self.evaluations += 1
        try:
            return self.density.at(np.asarray(u, float))
        except Impossible as error:
            self.impossible += 1
            self.reason = self.reason or str(error)
            raise
        except BaseException as error:
            self.fault = error
            raise

    def value(self, u: Vector) -> float:
        """The density alone; minus infinity where nothing can be simulated."""
        try:
            return self.at(u)[0]
        except Impossible:
            return -np.inf
