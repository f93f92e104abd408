"""Walk: follows the profile of one unknown outwards, one refit after the other.

Where the unknown is held at q the others are fitted again, once from where they were and once from
there plus a step along the tangent; the lower one counts. The derivative of the profile is that of
the cost at the refit, so each step can be chosen to raise √(cost − optimum) by about the same
amount. The profile is the lowest of all branches of optima: where a lower one is met, the stops
passed already are fitted again from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Point
from estimica.infer.profile.branch import Branch, Ending, FailedRefit, Stop, branch_of
from estimica.infer.profile.held_refit import HeldRefit, Local
from estimica.infer.profile.threshold import Terms
from estimica.infer.refit import FitContext

#: stops that are walked at a time; then they are noted. Chosen: so much is lost by an interruption
BATCH = 5
TRIES = 6  # with shorter and shorter steps: down to 1/1024 after failures, to 1/32 on steep ground
#: of a step over the last one, and of its shortening after a failed refit. Chosen: a flat profile
#: is walked in few stops, and a try that goes too far is soon taken back
GROWTH = 4.0
#: a rise of the root, over the intended one, after which the step is halved. Chosen: above two, a
#: halved step still makes more way than was intended, so that halving does not creep
STEEP = 2.5
#: a step, over what has been walked, that only creeps up to where refits fail. Chosen: the place is
#: then known to a hundredth of the way, and that is all there is to tell
CREEP = 1e-2
FAR = 1e3  # times the size of the unknown; chosen: nobody will look further
DECADES = 6 * math.log(10)  # on a logarithmic scale; chosen: a factor of a million either way
#: of the root beyond the threshold, so that the crossing is seen from both sides. Chosen: less may
#: end at the threshold itself, more costs refits outside
MARGIN = 1.1
FLAT = 1e-6  # a rise, relative to the threshold, that is none; chosen: a thousandth of SAME
#: share of what the slopes at two stops foresee that a change of the cost may differ by before
#: the stops are looked at as on two branches; a cost of fourth order differs by half of it
BENT = 0.1


def advance(place: FitContext, item: tuple[dict[str, Any], Terms]) -> dict[str, Any]:
    """Walk a branch on by a few stops, or to its end; plain values in, plain values out."""
    walker = Walker(place, branch_of(item[0]), item[1])
    walker.look_back()
    for _ in range(BATCH):
        if walker.branch.ending is not Ending.WALKING:
            break
        walker.walk()
    return walker.branch.plain()


class Walker:
    """One branch on its way outwards."""

    def __init__(self, place: FitContext, branch: Branch, terms: Terms) -> None:
        self.place = place
        self.unknowns = place.objective.unknowns
        self.branch = branch
        self.terms = terms
        self.k, self.d = branch.unknown, branch.direction
        self.held = HeldRefit(place, self.k, terms.same)
        bounds = self.unknowns.upper if self.d > 0 else self.unknowns.lower
        self.bound = float(bounds[self.k])

    # --- outwards --------------------------------------------------------------------------------

    def look_back(self) -> None:
        """End where stops that are known already cross the threshold: it may have come down."""
        front = self._front()
        if front is not None and self.terms.root(front.cost) >= self._enough:
            self._finish(Ending.FAILED)

    def walk(self) -> None:
        """Make the next stop and see whether that is the end."""
        front = self._front()
        q = self.place.q if front is None else np.array(front.q)
        if self.d * (self.bound - q[self.k]) <= 0:
            return self._finish(Ending.BOUND)
        point = self.held.at(q)
        if not isinstance(point, Point):  # it has been simulated before
            return self._finish(Ending.FAILED, point.message)
        local = self.held.local(point)
        step = self._step(point, local)
        jump: Stop | None = None
        failed = len(self.branch.failures)
        for _ in range(TRIES):
            target = self.clipped(float(q[self.k]) + self.d * step)
            stop = self.stop_at(target, [self.held.along(point, local, target), point.q])
            if stop is None or not stop.converged:
                step /= GROWTH
                continue
            steep = self.terms.root(stop.cost) - self.terms.root(point.cost) > STEEP * self._stride
            self._keep(stop, step, front=not steep)
            if not steep:
                if self._is_bent(point, local, stop):
                    self.go_back(stop)
                ahead = len(self.branch.failures) > failed
                covered = abs(stop.q[self.k] - float(self.place.q[self.k]))
                if ahead and step < CREEP * covered:
                    return self._finish(Ending.FAILED, self.branch.failures[-1].message)
                return self._judge(stop)
            jump = stop
            step /= 2
        if jump is not None:  # the cost leaps, however short the step
            self._keep(jump, step, front=True)
            return self._judge(jump)
        failures = self.branch.failures
        self._finish(Ending.FAILED, failures[-1].message if failures else "")

    def go_back(self, lower: Stop) -> None:
        """Fit the stops between the estimate and a lower one again from there, while that helps."""
        inwards = [s for s in self.branch.outwards() if self._is_within(s, lower)]
        last = lower
        for passed in reversed(inwards):
            refit = self.held.best([np.array(last.q)], passed.q[self.k])
            self._count(1)
            if refit.stop is None or refit.stop.cost >= passed.cost - self.terms.same:
                return
            last = refit.stop
            stops = tuple(last if s is passed else s for s in self.branch.stops)
            self.branch = replace(self.branch, stops=stops)
        # all the way: the estimate itself may be on a higher branch
        here = float(self.place.q[self.k])
        refit = self.held.best([np.array(last.q)], here)
        self._count(1)
        if refit.stop is not None and refit.stop.cost < self.terms.estimate - self.terms.same:
            self._keep(refit.stop, self.branch.step, front=False)

    def stop_at(self, target: float, starts: list[Vector]) -> Stop | None:
        """The best fit with the unknown at `target`; where there is none, that is noted."""
        refit = self.held.best(starts, target)
        self._count(len(starts))
        if not refit.ok:
            failed = FailedRefit(target, refit.message)
            self.branch = replace(self.branch, failures=(*self.branch.failures, failed))
        return refit.stop

    def apart(self, target: float, start: Vector) -> Stop | None:
        """Where a fit with the unknown at `target` leads that begins anywhere."""
        self._count(1)
        known = [s for s in self.branch.stops if s.q[self.k] == target and s.converged]
        return self.held.apart(start, target, known[0] if known else None)

    def go_on_from(self, lower: Stop) -> None:
        """Walk on from a stop of a lower branch."""
        self._keep(lower, self.branch.step, front=True)
        self.go_back(lower)

    def _front(self) -> Stop | None:
        return self.branch.stops[self.branch.front] if self.branch.front >= 0 else None

    def _is_within(self, stop: Stop, outer: Stop) -> bool:
        """Whether a stop lies between the estimate and another one."""
        return self.d * (stop.q[self.k] - self.place.q[self.k]) > 0 and (
            self.d * (outer.q[self.k] - stop.q[self.k]) > 0
        )

    def _is_bent(self, point: Point, local: Local, stop: Stop) -> bool:
        """Whether the slopes at two stops do not account for the change of the cost."""
        change = stop.cost - point.cost
        foreseen = (local.slope + stop.slope) * (stop.q[self.k] - point.q[self.k])
        beyond = abs(change - foreseen)
        stale = any(
            self._is_within(s, stop) and self.d * (s.q[self.k] - point.q[self.k]) > 0
            for s in self.branch.stops
        )
        return stale or beyond > max(BENT * max(abs(change), abs(foreseen)), self.terms.same)

    def _judge(self, stop: Stop) -> None:
        q = stop.q[self.k]
        here = float(self.place.q[self.k])
        far = DECADES if self.unknowns.items[self.k].log else FAR * max(abs(here), 1.0)
        if self.terms.root(stop.cost) >= self._enough:
            self._finish(Ending.FAILED)
        elif q == self.bound:
            self._finish(Ending.BOUND)
        elif abs(q - here) >= far:
            self._finish(Ending.FLAT)
        # a straight root takes `points` stops; ten times as many is chosen as the end of patience
        elif len(self.branch.stops) >= 10 * self.terms.points:
            failures = self.branch.failures
            count = len(self.branch.stops)
            why = failures[-1].message if failures else f"{count} stops have not come to an end"
            self._finish(Ending.FAILED, why)

    def _step(self, point: Point, local: Local) -> float:
        """A step that raises the root by one stride, as the local quadratic has it."""
        rise = (self.terms.root(point.cost) + self._stride) ** 2 + self.terms.optimum - point.cost
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
        # the first one is at most a tenth of its reach: nothing is known yet (chosen)
        longest = GROWTH * self.branch.step if self.branch.step else reach / 10
        return min(step, longest, reach)

    @property
    def _stride(self) -> float:
        return self._enough / self.terms.points

    @property
    def _enough(self) -> float:
        """The root at which the threshold has been passed clearly."""
        return MARGIN * math.sqrt(self.terms.rise)

    def clipped(self, q: float) -> float:
        """Within the bound on this side."""
        return min(q, self.bound) if self.d > 0 else max(q, self.bound)

    def _keep(self, stop: Stop, step: float, front: bool) -> None:
        """Note a stop; of two at the same value the lower one."""
        stops = list(self.branch.stops)
        same = [j for j, s in enumerate(stops) if s.q[self.k] == stop.q[self.k]]
        place = same[0] if same else len(stops)
        if not same:
            stops.append(stop)
        elif stop.cost < stops[place].cost:
            stops[place] = stop
        front_ = place if front else self.branch.front
        self.branch = replace(self.branch, stops=tuple(stops), front=front_, step=step)

    def _count(self, refits: int) -> None:
        self.branch = replace(self.branch, refits=self.branch.refits + refits)

    # --- the end ---------------------------------------------------------------------------------

    def _finish(self, reason: Ending, why: str = "") -> None:
        """Look for the crossing among the stops; else the reason stands."""
        limit = self.terms.limit
        here = Stop(tuple(map(float, self.place.q)), self.terms.estimate, 0.0, True)
        row = [here, *self.branch.outwards()]
        crossed = next((j for j in range(1, len(row)) if row[j].cost >= limit), None)
        if crossed is None:
            message = why or self._words(reason, row[-1])
            self.branch = self.branch.ended(reason, message)
            return
        below = next((s for s in row[crossed:] if s.cost < limit), None)
        met = crossing(self.held, self.terms, row[crossed - 1], row[crossed], self._tried)
        if met.q is None:
            self.branch = self.branch.ended(Ending.FAILED, met.message)
            return
        again = None if below is None else below.q[self.k]
        ended = (
            self.branch.ended(Ending.FOUND, "the cost leaps over the threshold there")
            if met.leaps
            else self.branch.ended(Ending.CROSSED, "it crosses the threshold")
        )
        self.branch = replace(ended, end=met.q, again=again)

    def _tried(self, target: float, starts: list[Vector]) -> Stop | None:
        """A stop on the way to the crossing."""
        stop = self.stop_at(target, starts)
        if stop is not None and stop.converged:
            self._keep(stop, self.branch.step, front=False)
        return stop

    def _words(self, reason: Ending, last: Stop) -> str:
        share = max((s.cost for s in self.branch.stops), default=self.terms.optimum)
        share = self.terms.share(share)
        if reason is Ending.BOUND:
            return "it reaches the bound below the threshold"
        if reason is Ending.FLAT:
            return (
                "the cost does not change at all"
                if share <= 100 * FLAT
                else f"the cost rises by at most {share:.2g} % of the threshold"
            )
        return last.message


# --- crossing ------------------------------------------------------------------------------------
# Crossing: where between two stops a profile meets its threshold.
#
# By Newton steps on √(cost − optimum), which is a straight line where the model is linear, within a
# bracket that is halved where they gain too little. Each try is fitted from the stop below the
# threshold too, so that it cannot be higher than that stop by more than the way between them costs:
# what remains of a leap when the bracket is narrow is one of the model, and no end.


ROOTS = 40  # tries to find a crossing: halving alone comes down to 1e-12
CLOSE = 1e-8  # relative to the threshold, at a crossing: 5e-9 of the interval's half width
#: relative width of a bracket. Chosen: refits end less exactly; what is open then is a leap
NARROW = 1e-10
FAILURES = 3  # tries without an optimum, after which there is none to be had; chosen
#: share of a bracket that a try may leave; else the next one halves it. It is what halving leaves,
#: so that two tries are never worse than one halving
SLOW = 0.5


@dataclass(frozen=True)
class CrossingPoint:
    """The coordinate of a crossing, or why there is none."""

    q: float | None
    message: str = ""
    leaps: bool = False  # over the limit, of an unknown that acts in steps


Try = Callable[[float, list[Vector]], Stop | None]


def crossing(held: HeldRefit, terms: Terms, inner: Stop, outer: Stop, tried: Try) -> CrossingPoint:
    """The coordinate between two stops at which the profile meets the limit."""
    k, goal = held.k, math.sqrt(terms.rise)
    failed, slow = 0, False
    for _ in range(ROOTS):
        a, b = inner.q[k], outer.q[k]
        if abs(b - a) <= NARROW * max(abs(a), abs(b), 1e-300):
            break
        near = min(inner, outer, key=lambda s: abs(terms.root(s.cost) - goal))
        q = _newton(terms, near, k, goal)
        if slow:
            q = (a + b) / 2
        elif failed or not min(a, b) < q < max(a, b):
            q = _secant(terms, inner, outer, k, goal, failed)
        stop = tried(q, _starts(held, near, inner, q))
        if stop is None or not stop.converged:
            failed += 1
            if failed > FAILURES:
                return CrossingPoint(None, f"no fit came to an optimum near {held.value(q):.4g}")
            continue
        if abs(stop.cost - terms.limit) <= CLOSE * terms.rise:
            return CrossingPoint(q)
        inner, outer = (stop, outer) if stop.cost < terms.limit else (inner, stop)
        slow = abs(outer.q[k] - inner.q[k]) > SLOW * abs(b - a)
    return _at_the_closer(held, terms, inner, outer)


def _at_the_closer(held: HeldRefit, terms: Terms, inner: Stop, outer: Stop) -> CrossingPoint:
    """The end of a narrow bracket that meets the limit; else the cost leaps there."""
    best = min(inner, outer, key=lambda s: abs(s.cost - terms.limit))
    if abs(best.cost - terms.limit) <= terms.same:
        return CrossingPoint(best.q[held.k])
    if terms.stepped:
        return CrossingPoint(inner.q[held.k], leaps=True)
    low, high = (terms.share(s.cost) for s in (inner, outer))
    return CrossingPoint(
        None,
        f"at {held.value(outer.q[held.k]):.6g} the cost leaps from {low:.3g} % to {high:.3g} % "
        "of the threshold, so that it crosses it nowhere",
    )


def _starts(held: HeldRefit, near: Stop, inner: Stop, q: float) -> list[Vector]:
    """Along the tangent of the closer stop, and at the stop below the threshold."""
    starts = [np.array(inner.q)]
    point = held.at(np.array(near.q))
    if isinstance(point, Point):
        starts.insert(0, held.along(point, held.local(point), q))
    return starts


def _newton(terms: Terms, near: Stop, k: int, goal: float) -> float:
    root = terms.root(near.cost)
    if root <= 0 or near.slope == 0:
        return math.nan
    return near.q[k] + (goal - root) * root / near.slope


def _secant(terms: Terms, inner: Stop, outer: Stop, k: int, goal: float, failed: int) -> float:
    low, high = terms.root(inner.cost), terms.root(outer.cost)
    share = (goal - low) / (high - low) if high > low else 0.5
    # never quite at an end, and elsewhere after a failure: 0.17 is chosen, the FAILURES + 1 places
    # that it gives lie apart and spread over half of the bracket
    share = (min(max(share, 0.01), 0.99) + 0.17 * failed) % 1.0
    return inner.q[k] + share * (outer.q[k] - inner.q[k])
