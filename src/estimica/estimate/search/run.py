"""Search: goes down from a start; where failing simulations lead it astray it is tried again."""

from __future__ import annotations

from dataclasses import replace

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import Objective
from estimica.estimate.search.descent import (
    Attempt,
    Descent,
    Iteration,
    Limits,
    Method,
    OnIteration,
    SearchResult,
    Status,
)

__all__ = ["Iteration", "Limits", "Method", "OnIteration", "SearchResult", "Status", "search"]

_FURTHER = (
    Attempt(wary=True),
    Attempt(wary=True, mirrored=True),
    Attempt(wary=True, thorough=True),
)


def search(
    objective: Objective,
    method: Method,
    start: Vector,
    limits: Limits,
    on_iteration: OnIteration | None = None,
    held: Flags | None = None,
    *,
    persistent: bool = False,
) -> SearchResult:
    """Minimise the objective from coordinates `start`; unknowns marked in `held` stay there.

    Where failing simulations have led it astray, a persistent search tries again: with steps that
    keep their distance, from a start on the other side of what ran away, and closely from the best
    point so far.
    """
    best = Descent(objective, method, limits, on_iteration, held, Attempt()).run(start)
    for attempt in _FURTHER:
        if not (persistent and best.is_astray):
            break
        begin = attempt.begin(objective.unknowns, start, best)
        if begin is not None:
            rest = replace(limits, max_seconds=limits.max_seconds - best.seconds)
            one = Descent(objective, method, rest, on_iteration, held, attempt).run(begin)
            best = _joined(best, one, follows=attempt.thorough)
    return best


def _joined(best: SearchResult, one: SearchResult, *, follows: bool) -> SearchResult:
    """The better of two attempts; the second may have begun where the first ended."""
    seconds = best.seconds + one.seconds
    if one.point is None or (best.point and best.point.cost < one.point.cost):
        if one.status in (Status.INTERRUPTED, Status.TIME):
            best = replace(best, status=one.status, message=one.message, is_astray=False)
        return replace(best, seconds=seconds)
    if follows:
        one = replace(one, iterations=(*best.iterations, *one.iterations[1:]))
    return replace(one, seconds=seconds)
