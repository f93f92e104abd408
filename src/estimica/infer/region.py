"""Region: where two unknowns lie together: the ellipse and the true contour of the likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.estimate.conclusion.freedom import Freedom
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Point
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.estimate.run.one_start import limits_of
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.run import search
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit

OTHERS = {
    "profile": "all other unknowns follow",
    "conditional": "all other unknowns stay at their estimates",
}
POINTS = 48


@dataclass(frozen=True, eq=False)
class Region:
    """The joint region of two unknowns, once to first order and once by the cost itself.

    Both are closed curves of as many points, one in each direction from the estimate.
    """

    fit: Fit = field(repr=False)
    names: tuple[str, str]
    level: float
    others: str  # what the other unknowns do: "profile" or "conditional"
    centre: Vector
    ellipse: Vector  # (points, 2)
    contour: Vector  # (points, 2); NaN where the cost stays below its threshold
    threshold: float  # by how much the cost may rise
    failed: int  # directions in which a simulation failed
    open: int  # directions without an end: a bound, or a flat valley

    @property
    def closed(self) -> bool:
        """Whether the contour ends in every direction."""
        return not (self.failed or self.open)

    @property
    def text(self) -> str:
        """What it is a region of: of both together, not of each."""
        told = f"joint {show.percent_text(self.level)} confidence region of "
        told += " and ".join(self.names)
        known = len(self.fit.unknowns) > 2 and self.others == "conditional"
        return f"{told} if all other unknowns were known" if known else told

    @property
    def mismatch(self) -> float:
        """The largest distance of contour and ellipse, relative to the ellipse."""
        far = np.linalg.norm((self.contour - self.ellipse) / self._size, axis=1)
        return float(np.nanmax(far)) if np.isfinite(far).any() else math.nan

    @property
    def _size(self) -> Vector:
        return np.asarray(np.abs(self.ellipse - self.centre).max(axis=0))

    def table(self) -> show.Table:
        """The widest extent of both curves along each unknown."""
        rows: list[tuple[object, ...]] = []
        for k, name in enumerate(self.names):
            for what, curve in (("ellipse", self.ellipse), ("contour", self.contour)):
                ends = curve[:, k][np.isfinite(curve[:, k])]
                low, high = (float(ends.min()), float(ends.max())) if len(ends) else (None, None)
                rows.append((name, what, float(self.centre[k]), low, high))
        columns = ("unknown", "curve", "estimate", "from", "to")
        title = f"{self.fit.study.name}: {self.text}"
        return show.Table(columns, tuple(rows), title, self._note())

    def curves(self) -> show.Curves:
        """Both curves in the plane of the two unknowns."""
        closed = np.vstack([self.ellipse, self.ellipse[:1]])
        traced = np.vstack([self.contour, self.contour[:1]])
        curves = (
            show.Curve("ellipse", closed[:, 0], closed[:, 1], dashed=True, colour=7),
            show.Curve("contour of the cost", traced[:, 0], traced[:, 1], colour=1),
            show.Curve("estimate", self.centre[:1], self.centre[1:], dotted=True, colour=0),
        )
        units = [u.unit for n in self.names for u in self.fit.unknowns.items if u.label == n]
        panel = show.Panel(show.name_with_unit(self.names[1], units[1]), curves)
        label = show.name_with_unit(self.names[0], units[0])
        return show.Curves((panel,), self.table().title, label, 420)

    def plot(self) -> Any:
        """A Plotly figure of both curves."""
        return show.figure(self.curves())

    def page(self) -> show.Page:
        """All of it as a page, for files, the store and the workbench."""
        shown = (replace(self.curves(), title=""), replace(self.table(), title=""))
        text = (
            "The ellipse follows from the covariance, which is exact for linear models. The "
            f"contour is where the cost has risen by {self.threshold:.4g} while "
            f"{OTHERS[self.others]}. {self._alone()}"
        )
        section = show.Section("Joint region", text, shown)
        told = show.Page(self.table().title, (section,))
        study = self.fit.study
        return with_reproduction(told, "region", study, first=(study_summary(study, "region"),))

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page."""
        return show.write(self.page(), path)

    def to_dict(self) -> dict[str, object]:
        """The region as plain values; what is not finite is None."""
        found = {
            "study": self.fit.study.name,
            "names": list(self.names),
            "level": self.level,
            "others": self.others,
            "centre": self.centre.tolist(),
            "ellipse": self.ellipse.tolist(),
            "contour": self.contour.tolist(),
            "threshold": self.threshold,
            "failed": self.failed,
            "open": self.open,
        }
        plain = finite(found)
        assert isinstance(plain, dict)
        return plain

    def _alone(self) -> str:
        """What the widest extent of a joint region is not."""
        return (
            f"It holds both unknowns at once with {show.percent_text(self.level)} probability "
            "if the "
            "model is right; its widest extent along one of them is more than the "
            f"{show.percent_text(self.level)} interval of that one alone."
        )

    def _note(self) -> str:
        said = f"contour: cost {self.threshold:.4g} above the best, {OTHERS[self.others]}"
        if self.open:
            said += f"; open in {self.open} of {len(self.contour)} directions"
        if self.failed:
            said += f"; simulations failed in {self.failed} of {len(self.contour)} directions"
        return said

    def _repr_html_(self) -> str:
        return show.html(self.table())

    def __repr__(self) -> str:
        return show.text(self.table())


def region(
    fit: Fit,
    first: str,
    second: str,
    *,
    level: float = 0.95,
    others: str = "profile",
    points: int = POINTS,
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
    told = _told(around, places, others)
    metric, radius = _sizes(told, places, level)
    plane = Plane(around, places, metric, others == "profile")
    threshold = _rise(told, places, directions(plane, radius, points))
    traced: Contour = trace(fit, plane, radius, threshold, points)
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


def _sizes(told: Freedom, places: tuple[int, int], level: float) -> tuple[Vector, float]:
    """The covariance of the two, and the radius of the ellipse in units of it.

    The square of the radius is twice the quantile of F, with as many degrees of freedom as their
    errors have together; with noise that is known that of χ² with two.
    """
    from scipy.stats import chi2, f

    rows = np.eye(len(told.inverse))[list(places)]
    covariance, degrees = told.covariance_of(rows), told.jointly(rows)
    if degrees <= 0:
        raise InferError("I336", "there are no more samples than unknowns, so no region either")
    if math.isinf(degrees):
        return covariance, math.sqrt(float(chi2.ppf(level, 2)))
    return covariance, math.sqrt(2 * float(f.ppf(level, 2, degrees)))


def _rise(told: Freedom, places: tuple[int, int], steps: Vector) -> float:
    """How much the cost rises at the edge of the ellipse: the mean over its directions."""
    both = np.ix_(list(places), list(places))
    follow = told.inverse[:, list(places)] @ np.linalg.inv(told.inverse[both])
    return float(np.mean(told.rise(follow @ steps.T)))


# --- contour -------------------------------------------------------------------------------------
# Contour: follows the cost from the estimate outwards in many directions to its threshold.


FARTHEST = 20.0  # times the ellipse, beyond which a valley counts as open
CLOSE = 1e-9  # relative, of the distance at which the threshold is met
TRIES = 40


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


def trace(fit: Fit, plane: Plane, radius: float, threshold: float, points: int) -> Contour:
    """Both curves. Directions are equally spaced where the ellipse is a circle."""
    steps = directions(plane, radius, points)
    walker = _Walker(fit, plane, threshold)
    ends = [walker.end(step) for step in steps]
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
        # √rise grows like the distance: aim a little beyond where it would meet the threshold
        return float(min(FARTHEST, a * min(max(1.0001 / (1 + u), 1.0001), 4.0)))
    at = a + (b - a) * (-u) / (v - u)
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
