"""Walk: follows the profile of one unknown outwards, one refit after the other.

Where the unknown is held at q the others are fitted again, from where they were plus a step along
the tangent. The derivative of the profile is that of the cost at the refit, so each step can be
chosen to raise √(cost − optimum) by about the same amount; the end of the interval is found by
Newton steps on that root, which is a straight line where the model is linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.estimate.objective import Point
from estimica.estimate.search import Searched, Status
from estimica.infer.profile_branch import Branch, Ending, FailedRefit, Stop, branch_of
from estimica.infer.refit import Workplace, refit_held

Vector = npt.NDArray[np.float64]

BATCH = 5  # stops that are walked at a time; then they are noted
TRIES = 6  # with shorter and shorter steps
GROWTH = 4.0  # of a step over the last one
STEEP = 2.5  # a rise of the root, over the intended one, after which the step is halved
CREEP = 1e-2  # a step, over what has been walked, that only creeps up to where refits fail
FAR = 1e3  # times the size of the unknown: nobody will look further
DECADES = 6 * math.log(10)  # the same on a logarithmic scale
MARGIN = 1.1  # of the root beyond the threshold, so that the crossing is seen from both sides
ROOTS = 15  # refits to find a crossing
CLOSE = 1e-8  # relative to the threshold, at a crossing
NARROW = 1e-10  # relative width of a bracket
FLAT = 1e-6  # a rise, relative to the threshold, that is none


@dataclass(frozen=True)
class Terms:
    """What a walk needs to know: the optimum's cost, the rise at the threshold, how many stops."""

    optimum: float
    rise: float
    points: int


def advance(place: Workplace, item: tuple[dict[str, Any], Terms]) -> dict[str, Any]:
    """Walk a branch on by a few stops, or to its end; plain values in, plain values out."""
    walker = _Walker(place, branch_of(item[0]), item[1])
    for _ in range(BATCH):
        if walker.branch.ending is not Ending.WALKING:
            break
        walker.walk()
    return walker.branch.plain()


@dataclass(frozen=True, eq=False)
class _Local:
    """The profile around a point: cost + 2 slope·δ + bend·δ², and how the others go along."""

    slope: float
    bend: float
    tangent: Vector


class _Walker:
    def __init__(self, place: Workplace, branch: Branch, terms: Terms) -> None:
        self.place = place
        self.unknowns = place.objective.unknowns
        self.branch = branch
        self.terms = terms
        self.k, self.d = branch.unknown, branch.direction
        self.held = np.zeros(len(self.unknowns), bool)
        self.held[self.k] = True
        bounds = self.unknowns.upper if self.d > 0 else self.unknowns.lower
        self.bound = float(bounds[self.k])

    # --- outwards --------------------------------------------------------------------------------

    def walk(self) -> None:
        """Make the next stop and see whether that is the end."""
        front = self.branch.stops[self.branch.front] if self.branch.front >= 0 else None
        q = self.place.q if front is None else np.array(front.q)
        if self.d * (self.bound - q[self.k]) <= 0:
            return self._finish(Ending.BOUND)
        point = self.place.objective.at(q)
        if not isinstance(point, Point):  # it has been simulated before
            return self._finish(Ending.FAILED, point.message)
        local = self._local(point)
        step = self._step(point, local)
        jump: Stop | None = None
        failed = len(self.branch.failures)
        for _ in range(TRIES):
            target = self._clipped(float(q[self.k]) + self.d * step)
            stop = self._stop(point, local, target)
            if stop is None or not stop.converged:
                step /= GROWTH
                continue
            steep = self._root(stop.cost) - self._root(point.cost) > STEEP * self._stride
            self._keep(stop, step, front=not steep)
            if not steep:
                ahead = len(self.branch.failures) > failed
                covered = abs(stop.q[self.k] - float(self.place.q[self.k]))
                if ahead and step < CREEP * covered:
                    return self._finish(Ending.FAILED, self.branch.failures[-1].message)
                return self._judge(stop)
            jump = stop
            step /= 2
        if jump is not None:  # the cost leaps, however short the step
            self.branch = replace(self.branch, front=self.branch.stops.index(jump))
            return self._judge(jump)
        failures = self.branch.failures
        self._finish(Ending.FAILED, failures[-1].message if failures else "")

    def _judge(self, stop: Stop) -> None:
        q = stop.q[self.k]
        here = float(self.place.q[self.k])
        far = DECADES if self.unknowns.items[self.k].log else FAR * max(abs(here), 1.0)
        if self._root(stop.cost) >= MARGIN * math.sqrt(self.terms.rise):
            self._finish(Ending.FOUND)
        elif q == self.bound:
            self._finish(Ending.BOUND)
        elif abs(q - here) >= far:
            self._finish(Ending.FLAT)
        elif len(self.branch.stops) >= 10 * self.terms.points:
            failures = self.branch.failures
            self._finish(
                Ending.FAILED if failures else Ending.FLAT,
                failures[-1].message if failures else "",
            )

    def _step(self, point: Point, local: _Local) -> float:
        """A step that raises the root by one stride, as the local quadratic has it."""
        rise = (self._root(point.cost) + self._stride) ** 2 + self.terms.optimum - point.cost
        uphill = self.d * local.slope
        root = math.sqrt(max(uphill**2 + local.bend * rise, 0.0))
        reach = float(self.unknowns.reach(point.q)[self.k])
        # two forms of the same root, of which one does not cancel
        if uphill + root > 0 and uphill >= 0:
            step = rise / (uphill + root)
        elif local.bend > 0:
            step = (root - uphill) / local.bend
        else:
            step = reach
        longest = GROWTH * self.branch.step if self.branch.step else reach / 10
        return min(step, longest, reach)

    @property
    def _stride(self) -> float:
        return MARGIN * math.sqrt(self.terms.rise) / self.terms.points

    def _root(self, cost: float) -> float:
        return math.sqrt(max(cost - self.terms.optimum, 0.0))

    def _clipped(self, q: float) -> float:
        return min(q, self.bound) if self.d > 0 else max(q, self.bound)

    def _keep(self, stop: Stop, step: float, front: bool) -> None:
        place = len(self.branch.stops) if front else self.branch.front
        stops = (*self.branch.stops, stop)
        self.branch = replace(self.branch, stops=stops, front=place, step=step)

    # --- refits ----------------------------------------------------------------------------------

    def _local(self, point: Point) -> _Local:
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
            moved = np.linalg.lstsq(scaled, column, rcond=1e-10)[0]
            left = column - scaled @ moved
            tangent[others] = -moved / norms[others]
        tangent[self.k] = 1.0
        return _Local(float(g[self.k]), float(left @ left), tangent)

    def _stop(self, point: Point, local: _Local, target: float) -> Stop | None:
        """The best fit with the unknown at `target`; where there is none, that is noted."""
        along = point.q + (target - point.q[self.k]) * local.tangent
        found = self._searched(along, target)
        if not self._is_good(found):
            plain = self._searched(point.q, target)
            if self._is_good(plain) or found.point is None:
                found = plain
        if not self._is_good(found):
            failed = FailedRefit(target, f"{found.status}: {found.message}")
            self.branch = replace(self.branch, failures=(*self.branch.failures, failed))
        if found.point is None:
            return None
        return Stop(
            tuple(float(x) for x in found.point.q),
            float(found.point.cost),
            float(found.point.gradient[self.k]),
            self._is_good(found),
            found.message,
        )

    def _searched(self, start: Vector, target: float) -> Searched:
        q = self.unknowns.clipped(start)
        q[self.k] = target
        searched = refit_held(self.place, q, self.held)
        if searched.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return searched

    def _is_good(self, found: Searched) -> bool:
        if found.point is None:
            return False
        # where no other unknown has an effect there is nothing to fit
        idle = not found.point.R[:, ~self.held].any()
        return found.status is Status.CONVERGED or idle

    # --- the end ---------------------------------------------------------------------------------

    def _finish(self, reason: Ending, why: str = "") -> None:
        """Look for the crossing among the stops; else the reason stands."""
        limit = self.terms.optimum + self.terms.rise
        here = Stop(tuple(map(float, self.place.q)), self.terms.optimum, 0.0, True)
        row = [here, *self.branch.outwards()]
        crossed = next((j for j in range(1, len(row)) if row[j].cost >= limit), None)
        if crossed is None:
            message = why or self._words(reason, row[-1])
            self.branch = self.branch.ended(reason, message)
            return
        below = next((s for s in row[crossed:] if s.cost < limit), None)
        end = self._crossing(row[crossed - 1], row[crossed], limit)
        if end is None:
            failures = self.branch.failures
            told = failures[-1].message if failures else why
            self.branch = self.branch.ended(Ending.FAILED, told)
            return
        again = None if below is None else below.q[self.k]
        self.branch = replace(
            self.branch.ended(Ending.FOUND, "it crosses the threshold"), end=end, again=again
        )

    def _words(self, reason: Ending, last: Stop) -> str:
        share = max((s.cost for s in self.branch.stops), default=self.terms.optimum)
        share = (share - self.terms.optimum) / self.terms.rise
        if reason is Ending.BOUND:
            return "it reaches the bound below the threshold"
        if reason is Ending.FLAT:
            return (
                "the cost does not change at all"
                if share <= FLAT
                else f"the cost rises by at most {100 * share:.2g} % of the threshold"
            )
        return last.message

    def _crossing(self, inner: Stop, outer: Stop, limit: float) -> float | None:
        """The coordinate between two stops at which the profile meets the limit."""
        goal = math.sqrt(self.terms.rise)
        failed = 0
        for _ in range(ROOTS):
            a, b = inner.q[self.k], outer.q[self.k]
            if abs(b - a) <= NARROW * max(abs(a), abs(b), 1e-300):
                return b
            near = min(inner, outer, key=lambda s: abs(self._root(s.cost) - goal))
            q = self._newton(near, goal)
            if failed or not min(a, b) < q < max(a, b):
                q = self._secant(inner, outer, goal, failed)
            point = self.place.objective.at(np.array(near.q))
            stop = None
            if isinstance(point, Point):
                stop = self._stop(point, self._local(point), q)
            if stop is None or not stop.converged:
                failed += 1
                if failed > 3:
                    return None
                continue
            self._keep(stop, self.branch.step, front=False)
            if abs(stop.cost - limit) <= CLOSE * self.terms.rise:
                return q
            inner, outer = (stop, outer) if stop.cost < limit else (inner, stop)
        return outer.q[self.k]

    def _newton(self, near: Stop, goal: float) -> float:
        root = self._root(near.cost)
        if root <= 0 or self.d * near.slope <= 0:
            return math.nan
        return near.q[self.k] + (goal - root) * root / near.slope

    def _secant(self, inner: Stop, outer: Stop, goal: float, failed: int) -> float:
        low, high = self._root(inner.cost), self._root(outer.cost)
        share = (goal - low) / (high - low) if high > low else 0.5
        # never quite at an end, and elsewhere after a failure
        share = (min(max(share, 0.01), 0.99) + 0.17 * failed) % 1.0
        return inner.q[self.k] + share * (outer.q[self.k] - inner.q[self.k])
