"""Held refits: the best fit of all other unknowns with one of them held, from several starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.run import Iteration, SearchResult, Status
from estimica.infer.profile.branch import Stop
from estimica.infer.refit import FitContext, refit_apart, refit_held

#: singular values of the others' columns, over the largest, along which they do not follow. Chosen:
#: far above rounding; the tangent is a start of a refit, and what it misses costs iterations only
RCOND = 1e-10
#: of a coordinate: a search that comes as near to an optimum, at the same cost, ends there. Chosen:
#: it saves the last iterations; another optimum as near would have the same cost anyhow
NEAR = 1e-2


class _Known(Exception):
    """A search has come to an optimum that is known."""


@dataclass(frozen=True, eq=False)
class Local:
    """The profile around a point: cost + 2 slope·δ + bend·δ², and how the others go along."""

    slope: float
    bend: float
    tangent: Vector


@dataclass(frozen=True)
class Refit:
    """The best of the searches with the unknown at one value; no stop where none led anywhere."""

    stop: Stop | None
    message: str = ""  # of the best

    @property
    def ok(self) -> bool:
        """Whether it is at an optimum of the others."""
        return self.stop is not None and self.stop.converged


class HeldRefit:
    """Fits of all others with unknown `k` held; costs that differ by `same` or less are equal."""

    def __init__(self, place: FitContext, k: int, same: float) -> None:
        self.place, self.k, self.same = place, k, same
        self.unknowns = place.objective.unknowns
        self.held = np.zeros(len(self.unknowns), bool)
        self.held[k] = True

    def at(self, q: Vector) -> Point | Failure:
        """The objective at a point that has been fitted before."""
        return self.place.objective.at(q)

    def value(self, q: float) -> float:
        """The held unknown's value at its coordinate."""
        return self.unknowns.value(self.k, q)

    def local(self, point: Point) -> Local:
        """Free others move by −R_o⁺ r_k; what is left of r_k bends the profile."""
        g, q = point.gradient, point.q
        stuck = ((q <= self.unknowns.lower) & (g > 0)) | ((q >= self.unknowns.upper) & (g < 0))
        norms = np.linalg.norm(point.R, axis=0)
        others = ~stuck & ~self.held & (norms > 0)
        column = point.R[:, self.k]
        tangent = np.zeros(len(q))
        left = column
        if others.any() and norms[self.k] > 0:
            scaled = point.R[:, others] / norms[others]
            moved = np.linalg.lstsq(scaled, column, rcond=RCOND)[0]
            left = column - scaled @ moved
            tangent[others] = -moved / norms[others]
        tangent[self.k] = 1.0
        return Local(float(g[self.k]), float(left @ left), tangent)

    def along(self, point: Point, local: Local, target: float) -> Vector:
        """Where the others are at `target` if they go on along the tangent.

        Others that the data hardly determine follow by decades; there the line means nothing, so
        all of them go only so far that each keeps its order of magnitude.
        """
        moved = (target - point.q[self.k]) * local.tangent
        moved[self.k] = 0.0
        excess = float(np.max(np.abs(moved) / self.unknowns.near(point.q), initial=0.0))
        there: Vector = point.q + (moved / excess if excess > 1 else moved)
        return there

    def best(self, starts: Iterable[Vector], target: float) -> Refit:
        """The lowest end of the searches from all starts with the unknown at `target`.

        Of ends that are equally low one at an optimum is taken.
        """
        ends: list[SearchResult] = []
        for start in starts:
            good = [s.point for s in ends if s.point is not None and self._is_good(s)]
            searched = self._searched(refit_held, start, target, good)
            if searched is not None:
                ends.append(searched)
        lowest = min((s.point.cost for s in ends if s.point is not None), default=np.inf)
        low = [s for s in ends if s.point is not None and s.point.cost <= lowest + self.same]
        if not low:
            return Refit(None, _told(ends[-1]))
        best = min(low, key=lambda s: (not self._is_good(s), s.point.cost if s.point else np.inf))
        return Refit(self._stop(best), _told(best))

    def apart(self, start: Vector, target: float, known: Stop | None) -> Stop | None:
        """Where a search ends that begins anywhere; it ends where it comes to a known optimum."""
        point = None if known is None else self.place.objective.at(np.array(known.q))
        points = [point] if isinstance(point, Point) else []
        searched = self._searched(refit_apart, start, target, points)
        if searched is None:
            return known
        return None if searched.point is None else self._stop(searched)

    def _searched(
        self, refit: Callable[..., SearchResult], start: Vector, target: float, known: list[Point]
    ) -> SearchResult | None:
        """A search; None where it has come to a point that is known."""

        def told(_: Iteration, point: Point) -> None:
            if any(self._is_near(point, one) for one in known):
                raise _Known

        q = self.unknowns.clipped(start)
        q[self.k] = target
        try:
            searched = refit(self.place, q, self.held, told)
        except _Known:
            return None
        if searched.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return searched

    def _is_near(self, point: Point, known: Point) -> bool:
        """Whether a search is so close to an optimum that it will end there."""
        if abs(point.cost - known.cost) > self.same:
            return False
        size = np.maximum(np.abs(known.q), 1.0)
        return bool(np.max(np.abs(point.q - known.q) / size) <= NEAR)

    def _stop(self, searched: SearchResult) -> Stop:
        point = searched.point
        assert point is not None
        return Stop(
            tuple(float(x) for x in point.q),
            float(point.cost),
            float(point.gradient[self.k]),
            self._is_good(searched),
            searched.message,
        )

    def _is_good(self, searched: SearchResult) -> bool:
        if searched.point is None:
            return False
        # where no other unknown has an effect there is nothing to fit
        idle = not searched.point.R[:, ~self.held].any()
        return searched.status is Status.CONVERGED or idle


def _told(searched: SearchResult) -> str:
    return f"{searched.status}: {searched.message}"
