"""region: the ellipse of two unknowns, and the contour of the cost that it stands for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.public.calls import told
from estimica.base.result import Progress
from estimica.base.suggest import did_you_mean
from estimica.estimate.conclusion.freedom import Freedom
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Point
from estimica.estimate.run.one_start import limits_of
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.run import search
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit
from estimica.infer.region.result import OTHERS, Region

POINTS = 48  # directions, 7.5° apart; chosen: a smooth curve, each costs several searches


def region(
    fit: Fit,
    first: str,
    second: str,
    *,
    level: float = 0.95,
    others: str = "profile",
    points: int = POINTS,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Region:
    """The joint confidence region of two unknowns of a fit, by their names or labels.

    `others` says what the remaining unknowns do along the contour: with "profile" they are fitted
    anew at every point, which gives the confidence region; with "conditional" they stay.
    """
    if others not in OTHERS:
        hint = did_you_mean(others, OTHERS)
        raise InferError("I330", f"others '{others}'{hint} ({' or '.join(OTHERS)})")
    if not 0 < level < 1:
        raise InferError("I331", f"level {level:g} is not a chance between 0 and 1; use 0.95")
    if points < 8:
        raise InferError("I332", f"{points} points make no contour; use 8 or more")
    around = linearise_fit(fit)
    places = _place(fit, first), _place(fit, second)
    if places[0] == places[1]:
        raise InferError("I333", f"a region needs two unknowns, not '{first}' twice")
    for k in places:
        if fit.trouble(k):
            label = fit.unknowns.items[k].label
            raise InferError("I334", f"'{label}' has no region: it is {fit.trouble(k)}")
    freedom = _told(around, places, others)
    metric, radius = _sizes(freedom, places, level)
    plane = Plane(around, places, metric, others == "profile")
    threshold = _rise(freedom, places, directions(plane, radius, points))
    traced: Contour = trace(fit, plane, radius, threshold, points, told(progress))
    names = tuple(fit.unknowns.items[k].label for k in places)
    return Region(
        fit,
        (names[0], names[1]),
        level,
        others,
        fit.values[list(places)],
        traced.ellipse,
        traced.contour,
        threshold,
        traced.failed,
        traced.open,
    )


def _place(fit: Fit, name: str) -> int:
    labels = [u.label for u in fit.unknowns.items]
    if name in labels:
        return labels.index(name)
    raise InferError("I335", f"the fit has no unknown '{name}'{did_you_mean(name, labels)}")


def _told(around: LinearisedFit, places: tuple[int, int], others: str) -> Freedom:
    """Errors of the two unknowns: with the others following, or held."""
    if others == "profile":
        return around.told
    both = np.ix_(list(places), list(places))
    inverse = np.zeros_like(around.inverse)
    inverse[both] = np.linalg.inv(around.information[both])
    return around.told_with(inverse)


def _sizes(freedom: Freedom, places: tuple[int, int], level: float) -> tuple[Vector, float]:
    """The covariance of the two, and the radius of the ellipse in units of it.

    The square of the radius is twice the quantile of F, with as many degrees of freedom as their
    errors have together; with noise that is known that of χ² with two.
    """
    from estimica.base.probability.functions import fdtri, gammaincinv

    rows = np.eye(len(freedom.inverse))[list(places)]
    covariance, degrees = freedom.covariance_of(rows), freedom.jointly(rows)
    if degrees <= 0:
        raise InferError("I336", "there are no more samples than unknowns, so no region either")
    if math.isinf(degrees):
        return covariance, math.sqrt(2 * float(gammaincinv(1, level)))
    return covariance, math.sqrt(2 * float(fdtri(2, degrees, level)))


def _rise(freedom: Freedom, places: tuple[int, int], steps: Vector) -> float:
    """How much the cost rises at the edge of the ellipse: the mean over its directions."""
    both = np.ix_(list(places), list(places))
    follow = freedom.inverse[:, list(places)] @ np.linalg.inv(freedom.inverse[both])
    return float(np.mean(freedom.rise(follow @ steps.T)))


# --- contour -------------------------------------------------------------------------------------
# Contour: follows the cost from the estimate outwards in many directions to its threshold.


#: times the ellipse, beyond which a valley counts as open. Chosen: the ellipse says nothing then,
#: and where it ends no longer matters
FARTHEST = 20.0
CLOSE = 1e-9  # relative, of the distance at which the threshold is met; chosen: no curve shows it
TRIES = 40  # chosen: a guard; after it the last distance stands


@dataclass(frozen=True, eq=False)
class Plane:
    """Two unknowns around the estimate; `follows` says whether the others are fitted anew."""

    around: LinearisedFit
    places: tuple[int, int]
    metric: Vector  # (2, 2): the covariance of the two, in coordinates
    follows: bool


@dataclass(frozen=True, eq=False)
class Contour:
    """Points of the ellipse and of the contour, in physical units, direction by direction."""

    ellipse: Vector
    contour: Vector
    failed: int
    open: int


def trace(
    fit: Fit,
    plane: Plane,
    radius: float,
    threshold: float,
    points: int,
    tell: Callable[[Progress], None] | None = None,
) -> Contour:
    """Both curves. Directions are equally spaced where the ellipse is a circle."""
    steps = directions(plane, radius, points)
    walker = _Walker(fit, plane, threshold)
    ends = []
    for step in steps:
        ends.append(walker.end(step))
        if tell:
            tell(Progress(len(ends), points, pieces="points"))
    contour = np.array(
        [_physical(plane, step * end) for step, end in zip(steps, ends, strict=True)]
    )
    contour = np.where(np.isfinite(ends)[:, None], contour, np.nan)
    ellipse = np.array([_linear(plane, step) for step in steps])
    lost = sum(math.isnan(e) for e in ends)
    return Contour(ellipse, contour, lost, sum(math.isinf(e) for e in ends))


def directions(plane: Plane, radius: float, points: int) -> Vector:
    """(points, 2): steps from the estimate to the ellipse, in coordinates."""
    angles = 2 * np.pi * np.arange(points) / points
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(radius * circle @ np.linalg.cholesky(plane.metric).T)


class _Walker:
    """Finds how far the cost stays below its threshold; remembers where the others stood."""

    def __init__(self, fit: Fit, plane: Plane, threshold: float) -> None:
        self._plane = plane
        self._threshold = threshold
        self._objective = plane.around.objective
        self._limits = limits_of(fit.study.estimation)
        self._held = plane.around.held.copy()
        self._held[list(plane.places)] = True
        at = self._objective.at(plane.around.q)
        self._base = at.cost if isinstance(at, Point) else fit.cost
        self._last: Vector = plane.around.q

    def end(self, step: Vector) -> float:
        """The multiple of `step` at the threshold; infinite without one, NaN where it fails.

        √(rise) is all but linear in the distance, so that the secant finds it in a few steps.
        """
        self._last = self._plane.around.q
        low, high = (0.0, -1.0), (math.inf, math.inf)
        at = 1.0
        for _ in range(TRIES):
            rise = self._rise(at * step)
            if rise is None:
                return math.nan
            value = math.sqrt(max(rise, 0.0) / self._threshold) - 1
            if value < 0:
                if not self._inside(at * step) or at >= FARTHEST:
                    return math.inf
                low = at, value
            else:
                high = at, value
            if abs(value) <= CLOSE:
                return at
            at = _next(low, high)
            if high[0] - low[0] <= CLOSE * at:
                return at
        return at

    def _inside(self, step: Vector) -> bool:
        unknowns = self._objective.unknowns
        q = self._plane.around.q.copy()
        q[list(self._plane.places)] += step
        return bool(np.array_equal(unknowns.clipped(q), q))

    def _rise(self, step: Vector) -> float | None:
        """How much the cost is above its least, or None where it cannot be evaluated."""
        plane = self._plane
        q = (self._last if plane.follows else plane.around.q).copy()
        q[list(plane.places)] = plane.around.q[list(plane.places)] + step
        q = self._objective.unknowns.clipped(q)
        if self._held.all() or not plane.follows:
            point = self._objective.at(q)
            return point.cost - self._base if isinstance(point, Point) else None
        held = self._held
        done = search(self._objective, LevenbergMarquardt(), q, self._limits, held=held)
        if done.point is None:
            return None
        self._last = done.point.q
        return done.point.cost - self._base


def _next(low: tuple[float, float], high: tuple[float, float]) -> float:
    """The next distance: outwards while all is below, then the secant within the bracket."""
    (a, u), (b, v) = low, high
    if not math.isfinite(b):
        # √rise grows like the distance: aim a little beyond where it would meet the threshold, but
        # at most four times as far (chosen: where it hardly rises, the aim means little)
        return float(min(FARTHEST, a * min(max(1.0001 / (1 + u), 1.0001), 4.0)))
    at = a + (b - a) * (-u) / (v - u)
    # A secant may stay at one end for long: it keeps a thousandth away, unless both ends are within
    # 5 % of the threshold, where √rise is straight enough to be trusted. Both chosen.
    margin = 1e-3 * (b - a)
    inner = min(max(at, a + margin), b - margin)
    return float(at if abs(v) < 0.05 and abs(u) < 0.05 else inner)


def _physical(plane: Plane, step: Vector) -> Vector:
    q = plane.around.q.copy()
    q[list(plane.places)] += np.where(np.isfinite(step), step, 0.0)
    return np.asarray(plane.around.objective.unknowns.values(q)[list(plane.places)])


def _linear(plane: Plane, step: Vector) -> Vector:
    """The ellipse in physical units, as the covariance has it: not a contour on a log scale."""
    unknowns, q = plane.around.objective.unknowns, plane.around.q
    centre, slopes = unknowns.values(q), unknowns.slopes(q)
    return np.asarray(centre[list(plane.places)] + slopes[list(plane.places)] * step)
