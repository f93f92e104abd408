"""Crossing: where between two stops a profile meets its threshold.

By Newton steps on √(cost − optimum), which is a straight line where the model is linear, within a
bracket that is halved where they gain too little. Each try is fitted from the stop below the
threshold too, so that it cannot be higher than that stop by more than the way between them costs:
what remains of a leap when the bracket is narrow is one of the model, and no end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Point
from estimica.infer.profile.branch import Stop
from estimica.infer.profile.held_refit import HeldRefit
from estimica.infer.profile.terms import Terms

ROOTS = 40  # tries to find a crossing: halving alone comes down to 1e-12
CLOSE = 1e-8  # relative to the threshold, at a crossing
NARROW = 1e-10  # relative width of a bracket
FAILURES = 3  # tries without an optimum, after which there is none to be had
SLOW = 0.5  # share of a bracket that a try has to take off; else the next one halves it


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
    # never quite at an end, and elsewhere after a failure
    share = (min(max(share, 0.01), 0.99) + 0.17 * failed) % 1.0
    return inner.q[k] + share * (outer.q[k] - inner.q[k])
