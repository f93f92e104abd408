"""Confirm: whether fits from outside come to the threshold where a walk has crossed it.

A walk only knows the optima that hang together with the estimate. Where it has crossed the
threshold, all other unknowns are fitted once more with the unknown held there, from starts that
have nothing to do with the walk. One that ends below the threshold has found a lower branch: the
walk goes on from it. Where none comes to the threshold itself, the end is not to be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.estimate.fit import StartResult
from estimica.estimate.multistart import start_points
from estimica.infer.profile_branch import Branch, Ending, Stop, branch_of
from estimica.infer.profile_terms import Terms
from estimica.infer.profile_walk import Walker
from estimica.infer.refit import Workplace

Vector = npt.NDArray[np.float64]
Side = tuple[int, int]  # unknown and direction

SPREAD = 2  # starts from all over the bounds
OPTIMA = 2  # other ends of a fit from several starts
SEED = 1
#: lower branches after which it is given up: each was the lowest known in its turn
REOPENED = 8
APART = 1e-3  # of a coordinate: nearer points are the same start


def confirm(
    place: Workplace, item: tuple[dict[str, Any], Terms, list[list[float]]]
) -> dict[str, Any]:
    """Judge the end of a branch by fits from outside; plain values in, plain values out."""
    branch, terms, seeds = branch_of(item[0]), item[1], [np.array(s) for s in item[2]]
    return _confirmed(Walker(place, branch, terms), seeds).plain()


def _confirmed(walker: Walker, seeds: Sequence[Vector]) -> Branch:
    end, terms = walker.branch.end, walker.terms
    assert end is not None
    if len(walker.unknowns) == 1:  # nothing else is fitted
        return walker.branch.ended(Ending.FOUND, "it crosses the threshold")
    reached: list[Stop] = []
    for start in _starts(walker, end, seeds):
        stop = walker.apart(end, start)
        if stop is None:
            continue
        if stop.cost < terms.limit - terms.same:
            return _reopened(walker, stop)
        reached.append(stop)
    if any(stop.cost <= terms.limit + terms.same for stop in reached):
        return walker.branch.ended(Ending.FOUND, "it crosses the threshold")
    best = min((s.cost for s in reached), default=np.inf)
    told = f"the best has risen by {terms.share(best):.3g} %" if reached else "none led anywhere"
    return walker.branch.ended(
        Ending.FAILED,
        f"it crosses the threshold at {walker.held.value(end):.6g}, but no fit from outside comes "
        f"to the same there: {told}",
    )


def _reopened(walker: Walker, lower: Stop) -> Branch:
    """On from a lower branch, with which all that was passed is looked at again."""
    value, share = walker.held.value(lower.q[walker.k]), walker.terms.share(lower.cost)
    if walker.branch.reopened >= REOPENED:
        return walker.branch.ended(
            Ending.FAILED,
            f"lower optima of the others turned up at {REOPENED} ends one after the other, at "
            f"last at {value:.6g} with a rise of {share:.3g} % of the threshold; start the fit "
            "from more places (starts = 20)",
        )
    walker.branch = replace(walker.branch.walking(), reopened=walker.branch.reopened + 1)
    walker.go_on_from(lower)
    return walker.branch


def _starts(walker: Walker, end: float, seeds: Sequence[Vector]) -> Iterator[Vector]:
    """Where fits from outside begin."""
    yield walker.place.q  # one leap from the estimate
    here = float(walker.place.q[walker.k])
    beyond = walker.clipped(2 * end - here)
    if beyond != end:
        stop = walker.apart(beyond, walker.place.q)
        if stop is not None:
            yield np.array(stop.q)
    yield from seeds


def outside(
    side: Side,
    branches: Mapping[Side, Branch],
    place: Workplace,
    limit: float,
    optima: Sequence[StartResult],
) -> list[list[float]]:
    """Starts that the walk along a side does not know: what else was met, and places at random."""
    k, d = side
    end = branches[side].end
    assert end is not None
    unknowns = place.objective.unknowns
    met = [s for other, b in branches.items() if other != side for s in b.stops]
    below = [s for s in met if d * (s.q[k] - end) >= 0 and s.cost < limit]
    found = [np.array(s.q) for s in sorted(below, key=lambda s: s.cost)[:1]]
    opposite = branches.get((k, -d))
    if opposite is not None and opposite.stops:
        found.append(np.array(opposite.outwards()[-1].q))
    known = [place.q]
    for one in optima:
        if one.values and len(known) <= OPTIMA:
            q = unknowns.coordinates(np.array([one.values[u.label] for u in unknowns.items]))
            if all(np.max(np.abs(q - o) / np.maximum(np.abs(o), 1.0)) > APART for o in known):
                known.append(q)
    found += known[1:]
    found += start_points(unknowns, 1 + SPREAD, SEED)
    return [q.tolist() for q in found]
