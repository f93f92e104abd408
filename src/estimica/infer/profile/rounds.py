"""Rounds: all sides of all profiles are walked, then confirmed, until there is nothing to be done.

After each round everything is measured by the lowest cost that anybody has met. What a side does
next depends only on what all sides had come to by then, so that it does not matter who does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.result import Progress
from estimica.estimate.fit.result import StartResult
from estimica.estimate.run.multistart import start_points
from estimica.estimate.search.run import Status
from estimica.execute.batches import map_in_batches
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.infer.profile.branch import Branch, Ending, Stop, branch_of
from estimica.infer.profile.joint_walks import JointPlace, Walk, walked_together
from estimica.infer.profile.threshold import SAME, Terms
from estimica.infer.profile.walk import Walker, advance
from estimica.infer.refit import FitContext, refit_held

#: of a cost: two sums of the same squares differ by no more: 2.2e-16 times a million is 2e-10
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ProfileProgress(Progress):
    """How many sides of how many profiles have come to their ends, and after how many stops."""

    stops: int

    @property
    def words(self) -> str:
        """How far it is, in words."""
        return f"{self.done} of {self.count} sides, {self.stops} fits"

    @property
    def ended(self) -> int:
        """Sides that have ended: what is done, by its former name."""
        return self.done


OnProgress = Callable[[ProfileProgress], None]


@dataclass(frozen=True, eq=False)
class ProfileTask:
    """What is profiled: the cost of the estimate, the rise of each unknown, how many stops."""

    place: FitContext
    cost: float
    rises: Mapping[int, float]
    points: int
    stepped: frozenset[int] = frozenset()  # unknowns that act in steps


@dataclass(frozen=True)
class BetterPoint:
    """A point with a lower cost than the estimate, and the unknown whose profile led there."""

    stop: Stop
    unknown: int


class Rounds:
    """The sides of all profiles as far as they have come."""

    def __init__(
        self, asked: ProfileTask, optima: Sequence[StartResult], progress: OnProgress | None
    ) -> None:
        self.asked, self.optima, self.progress = asked, optima, progress
        self.branches: dict[Side, Branch] = {
            (k, d): Branch(k, d) for k in asked.rises for d in (-1, 1)
        }
        self.better: BetterPoint | None = None

    def go(
        self,
        hands: Executor,
        context: Context[FitContext],
        run: RunWriter,
        joint: JointPlace | None = None,
    ) -> None:
        """Walk and confirm until every side has come to its end; in step where there is what
        searches refits together."""
        number = 0
        while open_ := self._with(Ending.WALKING) or self._with(Ending.CROSSED):
            walking = self.branches[open_[0]].ending is Ending.WALKING
            pieces = {_key(s, number): self._item(s, walking) for s in open_}
            told = partial(self._note, open_)
            task: Callable[[FitContext, Any], dict[str, Any]] = advance if walking else confirm
            if joint is None:
                map_with_checkpoints(hands, task, pieces, context=context, run=run, on_piece=told)
            else:
                map_in_batches(
                    hands,
                    partial(_in_step, task),
                    pieces,
                    context=Context(lambda: joint, joint),
                    run=run,
                    on_piece=told,
                    size=len(pieces),
                )
            self._measure_anew()
            number += 1

    def terms(self, k: int) -> Terms:
        """What the profile of an unknown is measured by."""
        lowest = self.asked.cost if self.better is None else self.better.stop.cost
        rise, points = self.asked.rises[k], self.asked.points
        return Terms(lowest, rise, points, self.asked.cost, k in self.asked.stepped)

    def _with(self, ending: Ending) -> list[Side]:
        return [s for s, b in self.branches.items() if b.ending is ending]

    def _item(self, side: Side, walking: bool) -> tuple[Any, ...]:
        plain, terms = self.branches[side].plain(), self.terms(side[0])
        if walking:
            return plain, terms
        place = self.asked.place
        return plain, terms, outside(side, self.branches, place, terms.limit, self.optima)

    def _note(self, sides: Sequence[Side], number: int, outcome: ItemOutcome[Any]) -> None:
        side = sides[number]
        if outcome.done:
            self.branches[side] = branch_of(outcome.result())
        else:
            self.branches[side] = self.branches[side].ended(Ending.FAILED, outcome.error)
        if self.progress:
            all_ = self.branches.values()
            ended = sum(not b.is_open for b in all_)
            self.progress(ProfileProgress(ended, len(all_), stops=sum(len(b.stops) for b in all_)))

    def _measure_anew(self) -> None:
        """By a cost that is lower than all before, if one was met.

        Every end belonged to the higher one. Where the estimate itself is no longer within the
        threshold, its intervals mean nothing.
        """
        found = [(s, b.unknown) for b in self.branches.values() for s in b.stops]
        if not found:
            return
        stop, unknown = min(found, key=lambda pair: pair[0].cost)
        least = min(self.asked.rises.values())
        lowest = self.terms(unknown).optimum
        if stop.cost >= lowest - max(SAME * least, ROUNDING * abs(lowest)):
            return
        self.better = BetterPoint(self._polished(stop), unknown)
        for side, branch in self.branches.items():
            lost = self.asked.cost >= self.terms(side[0]).limit
            again = branch.walking()
            self.branches[side] = again.ended(Ending.FAILED, NOT_GLOBAL) if lost else again

    def _polished(self, stop: Stop) -> Stop:
        """The optimum near a stop, with nothing held."""
        free = np.zeros(len(stop.q), bool)
        with one_thread():
            searched = refit_held(self.asked.place, np.array(stop.q), free)
        if searched.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        point = searched.point
        if point is None or point.cost > stop.cost:
            return stop
        return replace(stop, q=tuple(map(float, point.q)), cost=float(point.cost))


def _in_step(task: Walk, joint: JointPlace, items: Sequence[Any]) -> list[dict[str, Any]]:
    return walked_together(joint, task, items)


#: why no interval ends anywhere
NOT_GLOBAL = "the fit is not at the global optimum, and lies outside the threshold around the best"


def _key(side: Side, number: int) -> str:
    return f"profile side {side[0]:04d} {'up' if side[1] > 0 else 'down'} {number:04d}"


# --- confirm -------------------------------------------------------------------------------------
# Confirm: whether fits from outside come to the threshold where a walk has crossed it.
#
# A walk only knows the optima that hang together with the estimate. Where it has crossed the
# threshold, all other unknowns are fitted once more with the unknown held there, from starts that
# have nothing to do with the walk. One that ends below the threshold has found a lower branch: the
# walk goes on from it. Where none comes to the threshold itself, the end is not to be trusted.


Side = tuple[int, int]  # unknown and direction

#: stops of other walks that fits from outside begin at: each is an optimum with something else
#: held, and those farthest apart are most likely to belong to other branches. Chosen, as the next
#: two: every start is one more search at both ends of every interval
MET = 2
OPTIMA = 1  # other ends of a fit from several starts
#: starts from all over the bounds: a Latin hypercube of them has each unknown once in the lower,
#: middle and upper third of its range
SPREAD = 3
SEED = 1  # any: the same starts each time, so that a profile can be repeated
CROSSES = "it crosses the threshold"
#: lower branches after which it is given up: each was the lowest known in its turn. Chosen: a fit
#: from more starts is the better way then, and that is said
REOPENED = 8
APART = 1e-3  # of a coordinate: nearer points are the same start. Chosen: searches from both meet


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
    starts = [np.array(s.q) for s in sorted(beyond, key=lambda s: s.cost)[:1]]
    others = np.arange(len(unknowns)) != k
    own = [place.q, *(np.array(s.q) for s in branch.stops)]
    starts += _farthest([np.array(s.q) for s in met], own + starts, others, MET)
    ends = [unknowns.coordinates(np.array(list(o.values.values()))) for o in optima if o.values]
    starts += _farthest(ends, own + starts, others, OPTIMA)
    starts += start_points(unknowns, 1 + SPREAD, SEED)[1:]
    return [q.tolist() for q in starts]


def _farthest(
    points: Sequence[Vector], known: Sequence[Vector], others: Flags, count: int
) -> list[Vector]:
    """Up to so many of the points, each as far as can be from all that are known by then."""
    farthest: list[Vector] = []
    if not points:
        return farthest
    size = np.maximum(np.abs(known[0]), 1.0)
    rows = (np.array(points) / size)[:, others]
    near = np.full(len(points), np.inf)
    for q in known:
        near = np.minimum(near, np.abs(rows - (q / size)[others]).max(axis=1))
    while len(farthest) < count and near.max() > APART:
        best = int(np.argmax(near))
        farthest.append(points[best])
        near = np.minimum(near, np.abs(rows - rows[best]).max(axis=1))
    return farthest
