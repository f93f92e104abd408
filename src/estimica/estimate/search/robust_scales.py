"""Scales of a robust loss: held during a search and taken anew after it, until they stay."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import Scales
from estimica.estimate.objective.cost import Objective, scored, scored_at
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import Iteration, Limits, SearchResult, Status

#: searches between which robust scales are taken anew. With the secant, scales settle in less than
#: 12 even where plain repetition keeps 95 % of the distance or swings with −3 (tested)
PASSES = 25
#: a relative change of these scales that is none: it moves estimates by about a millionth of their
#: errors, and the searches in between end at 1e-8
SETTLED = 1e-6
#: shares of a change, beyond which its secant is not believed: 0.1 tames a swing of −9, 30 jumps
#: over what repetition with 0.97 would creep along
LEAST, MOST = 0.1, 30.0
UNSETTLED = (
    f"the scales of the robust loss do not settle in {PASSES} searches; give loss_scale, or the "
    "sigma of the outputs"
)


def with_scales(
    cases: ResidualFunction,
    start: Vector,
    limits: Limits,
    once: Callable[[Objective, Vector, Limits], SearchResult],
) -> SearchResult:
    """Search `once`, or with robust scales again and again until they stay.

    The scales are those of the residuals at hand, held during a search and taken anew after it.
    """
    begun, settling = perf_counter(), ScaleIteration()
    iterations: list[Iteration] = []
    objective = scored_at(cases, start)
    if isinstance(objective, Failure):
        message = f"the simulation of case '{objective.case}' fails at the start values: "
        return SearchResult(None, Status.FAILED, message + objective.message, ())
    for _ in range(PASSES):
        left = replace(limits, max_seconds=limits.max_seconds - (perf_counter() - begun))
        searched = once(objective, start, left)
        iterations += searched.iterations[bool(iterations) :]
        searched = replace(searched, iterations=numbered(iterations))
        if searched.point is None or searched.status in (Status.INTERRUPTED, Status.TIME):
            return searched
        start = searched.point.q
        again = scored_at(cases, start)
        if isinstance(again, Failure):
            return searched
        scales = settling.after(objective.criterion.scales, again.criterion.scales)
        if scales is None:
            return searched
        objective = scored(cases, scales)
    return replace(searched, status=Status.ITERATIONS, message=UNSETTLED)


class ScaleIteration:
    """The way of the scales to where a search with them leaves residuals that have them.

    Plain repetition may creep, or swing to and fro for ever. How the last change has altered
    the next one tells how many times of it would have been right: a secant step, which is made
    between a tenth and thirty times the plain change, in logarithms.
    """

    def __init__(self) -> None:
        self._share = 1.0
        self._change: Vector | None = None

    def after(self, held: Scales, left_over: Scales) -> Scales | None:
        """The scales for the next search, from those held and those found; None: they stay."""
        change = np.array([math.log(left_over[n] / held[n]) for n in held], float)
        if np.max(np.abs(change), initial=0.0) <= SETTLED:
            return None
        before, self._change = self._change, change
        if before is not None:
            left = min(float(change @ before) / float(before @ before), 1.0)
            right = self._share / (1 - left) if left < 1 else MOST
            self._share = min(max(right, LEAST), MOST)
        moved = np.exp(self._share * change)
        return {n: held[n] * float(m) for n, m in zip(held, moved, strict=True)}


def numbered(iterations: Sequence[Iteration]) -> tuple[Iteration, ...]:
    """Iterations of several passes in one row."""
    return tuple(replace(one, number=k) for k, one in enumerate(iterations))
