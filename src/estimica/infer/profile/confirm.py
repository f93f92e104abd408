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

from estimica.base.arrays import Flags, Vector
from estimica.estimate.fit.result import StartResult
from estimica.estimate.run.multistart import start_points
from estimica.infer.profile.branch import Branch, Ending, Stop, branch_of
from estimica.infer.profile.terms import Terms
from estimica.infer.profile.walk import Walker
from estimica.infer.refit import FitContext

Side = tuple[int, int]  # unknown and direction

#: stops of other walks that fits from outside begin at: each is an optimum with something else
#: held, and those farthest apart are most likely to belong to other branches
MET = 2
OPTIMA = 1  # other ends of a fit from several starts
#: starts from all over the bounds: a Latin hypercube of them has each unknown once in the lower,
#: middle and upper third of its range
SPREAD = 3
SEED = 1
CROSSES = "it crosses the threshold"
#: lower branches after which it is given up: each was the lowest known in its turn
REOPENED = 8
APART = 1e-3  # of a coordinate: nearer points are the same start


def confirm(
    place: FitContext, item: tuple[dict[str, Any], Terms, list[list[float]]]
) -> dict[str, Any]:
    """Judge the end of a branch by fits from outside; plain values in, plain values out."""
    branch, terms, seeds = branch_of(item[0]), item[1], [np.array(s) for s in item[2]]
    return _confirmed(Walker(place, branch, terms), seeds).plain()


def _confirmed(walker: Walker, seeds: Sequence[Vector]) -> Branch:
    end, terms = walker.branch.end, walker.terms
    assert end is not None
    if len(walker.unknowns) == 1:
        return walker.branch.ended(Ending.FOUND, CROSSES)
    reached: list[Stop] = []
    for start in _starts(walker, end, seeds, reached):
        stop = walker.apart(end, start)
        if stop is None:
            continue
        if stop.cost < terms.limit - terms.same:
            return _reopened(walker, stop)
        reached.append(stop)
    if _agree(reached, terms):
        return walker.branch.ended(Ending.FOUND, CROSSES)
    best = min((s.cost for s in reached), default=np.inf)
    told = f"the best of them has risen by {terms.share(best):.4g} % of it" if reached else "none"
    return walker.branch.ended(
        Ending.FAILED,
        f"it crosses the threshold at {walker.held.value(end):.6g}, but no fit from outside comes "
        f"to the same there: {told}",
    )


def _starts(
    walker: Walker, end: float, seeds: Sequence[Vector], reached: Sequence[Stop]
) -> Iterator[Vector]:
    """Where fits from outside begin, as long as what they have reached calls for more of them."""
    here = float(walker.place.q[walker.k])
    beyond = walker.clipped(2 * end - here)
    stop = None if beyond == end else walker.apart(beyond, walker.place.q)
    if stop is not None:
        yield np.array(stop.q)
    yield from seeds
    if not _agree(reached, walker.terms):
        yield walker.place.q
    if not _agree(reached, walker.terms):
        outer = [s for s in walker.branch.outwards() if walker.d * (s.q[walker.k] - end) > 0]
        yield from (np.array(s.q) for s in outer[:1])


def _agree(reached: Sequence[Stop], terms: Terms) -> bool:
    """Whether a fit from outside has come to the threshold."""
    return any(stop.cost <= terms.limit + terms.same for stop in reached)


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


def outside(
    side: Side,
    branches: Mapping[Side, Branch],
    place: FitContext,
    limit: float,
    optima: Sequence[StartResult],
) -> list[list[float]]:
    """Starts that the walk along a side does not know: what else was met, and places at random."""
    k, d = side
    branch = branches[side]
    assert branch.end is not None
    unknowns = place.objective.unknowns
    if len(unknowns) == 1:  # nothing else is fitted
        return []
    met = [s for other, b in branches.items() if other != side for s in b.stops]
    # a point beyond the end that is below the threshold says that the interval goes on
    beyond = [s for s in met if d * (s.q[k] - branch.end) >= 0 and s.cost < limit]
    found = [np.array(s.q) for s in sorted(beyond, key=lambda s: s.cost)[:1]]
    others = np.arange(len(unknowns)) != k
    own = [place.q, *(np.array(s.q) for s in branch.stops)]
    found += _farthest([np.array(s.q) for s in met], own + found, others, MET)
    ends = [unknowns.coordinates(np.array(list(o.values.values()))) for o in optima if o.values]
    found += _farthest(ends, own + found, others, OPTIMA)
    found += start_points(unknowns, 1 + SPREAD, SEED)[1:]
    return [q.tolist() for q in found]


def _farthest(
    points: Sequence[Vector], known: Sequence[Vector], others: Flags, count: int
) -> list[Vector]:
    """Up to so many of the points, each as far as can be from all that are known by then."""
    found: list[Vector] = []
    if not points:
        return found
    size = np.maximum(np.abs(known[0]), 1.0)
    rows = (np.array(points) / size)[:, others]
    near = np.full(len(points), np.inf)
    for q in known:
        near = np.minimum(near, np.abs(rows - (q / size)[others]).max(axis=1))
    while len(found) < count and near.max() > APART:
        best = int(np.argmax(near))
        found.append(points[best])
        near = np.minimum(near, np.abs(rows - rows[best]).max(axis=1))
    return found
