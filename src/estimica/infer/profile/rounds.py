"""Rounds: all sides of all profiles are walked, then confirmed, until there is nothing to be done.

After each round everything is measured by the lowest cost that anybody has met. What a side does
next depends only on what all sides had come to by then, so that it does not matter who does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from estimica.estimate.fit.result import StartResult
from estimica.estimate.search.run import Status
from estimica.execute.outcome import Outcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import RunWriter
from estimica.execute.threads import one_thread
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.infer.profile.branch import Branch, Ending, Stop, branch_of
from estimica.infer.profile.confirm import Side, confirm, outside
from estimica.infer.profile.terms import SAME, Terms
from estimica.infer.profile.walk import advance
from estimica.infer.refit import FitContext, refit_held

#: of a cost: two sums of the same squares differ by no more
ROUNDING = 1e-9


@dataclass(frozen=True)
class Progress:
    """What there is to tell while profiles are walked."""

    ended: int  # sides
    count: int
    stops: int


OnProgress = Callable[[Progress], None]


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

    def go(self, hands: Executor, context: Context[FitContext], run: RunWriter) -> None:
        """Walk and confirm until every side has come to its end."""
        number = 0
        while open_ := self._with(Ending.WALKING) or self._with(Ending.CROSSED):
            walking = self.branches[open_[0]].ending is Ending.WALKING
            pieces = {_key(s, number): self._item(s, walking) for s in open_}
            told = partial(self._note, open_)
            task: Callable[[FitContext, Any], dict[str, Any]] = advance if walking else confirm
            map_with_checkpoints(hands, task, pieces, context=context, run=run, on_piece=told)
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

    def _note(self, sides: Sequence[Side], number: int, outcome: Outcome[Any]) -> None:
        side = sides[number]
        if outcome.done:
            self.branches[side] = branch_of(outcome.result())
        else:
            self.branches[side] = self.branches[side].ended(Ending.FAILED, outcome.error)
        if self.progress:
            all_ = self.branches.values()
            ended = sum(not b.is_open for b in all_)
            self.progress(Progress(ended, len(all_), sum(len(b.stops) for b in all_)))

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


#: why no interval ends anywhere
NOT_GLOBAL = "the fit is not at the global optimum, and lies outside the threshold around the best"


def _key(side: Side, number: int) -> str:
    return f"profile side {side[0]:04d} {'up' if side[1] > 0 else 'down'} {number:04d}"
