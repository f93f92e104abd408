"""Starts: the search from the study's own start and from others, shared out among workers.

One local optimum is not the end: by default there are several starts. Those after the first run
side by side and are noted in the run, so that it can be taken up again. Where a search takes long
they are given up, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from time import time
from typing import Any

from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import map_with_checkpoints
from estimica.execute.runs.writer import RunWriter
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.methods.box import start_points
from estimica.optimise.optimum.one_start import (
    GIVEN_UP,
    NO_DESIGN,
    WAITING,
    StartEnd,
    StartInterrupted,
    StartLimits,
    StartSearch,
    build_search,
    end_from_dict,
    end_to_dict,
    search_start,
)
from estimica.optimise.problem import rank
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable

#: starts where a study asks for no number. Chosen: an optimum that a third of all starts finds is
#: missed by the seven drawn ones with a probability of (2/3)⁷ = 6 %
DEFAULT = 8
#: s of effort of one search, or of the further starts of a process, after which others are not
#: made.
#: Chosen: as long as somebody waits who has not asked for it
LONG = 10.0
PATIENCE = WAITING  # times LONG, after which a start that nobody has asked for is cut short
#: times as many designs as the first start has taken, for each further one. Chosen: they begin
#: farther away
ROOM = 2
NOTED = "design from start "
#: how a first search may end after which others are not begun: nothing is left, or nothing to gain
OVER = ("evaluation limit", "time limit", "interrupted", "unbounded")


def asked_starts(table: OptimiseTable) -> int:
    """How many starts a table means; a population is many starts already."""
    if table.starts is not None:
        return table.starts
    return 1 if table.method == "genetic" else DEFAULT


@dataclass(frozen=True, eq=False)
class SearchedStarts:
    """What all starts led to, in their order; of the first there is always an end."""

    ends: tuple[StartEnd, ...]
    asked: int
    interrupted: bool = False
    why_fewer: str = ""  # in words, where fewer starts were made

    @property
    def best(self) -> StartEnd:
        """The end that counts; of equal ones the earliest."""
        return min(self.ends, key=lambda end: end.rank)

    @property
    def made(self) -> tuple[StartEnd, ...]:
        """Those that were searched from."""
        return tuple(end for end in self.ends if end.status != GIVEN_UP)


@dataclass(eq=False)
class Starts:
    """All starts of one design."""

    search: StartSearch
    hands: Executor
    run: RunWriter
    study: Study
    source: TunerDistribution | None = None
    on_end: Callable[[StartEnd], None] | None = None
    _ends: dict[int, StartEnd] = field(default_factory=dict)

    def searched(self) -> SearchedStarts:
        """The first start here, then the others; Ctrl-C keeps what there is."""
        table, begun = self.search.table, time()
        asked = asked_starts(table)
        points = start_points(self.search.design.unknowns, asked, table.seed)
        last = begun + table.max_seconds
        interrupted, why = False, ""
        try:
            first = self._first(StartLimits(table.max_evaluations, until=last))
            if first.status not in OVER and asked > 1:
                count, why = self._room(first, asked - 1)
                self._others(points[1 : 1 + count], first, last)
        except StartInterrupted as stop:
            self._ends[stop.end.number] = stop.end
            interrupted = True
        except KeyboardInterrupt:
            interrupted = True
            self._ends.setdefault(1, StartEnd(1, points[0], "interrupted", "before any design"))
        ends = tuple(self._ends[number] for number in sorted(self._ends))
        return SearchedStarts(ends, asked, interrupted, why or _given_up(ends, asked))

    def _note(self, end: StartEnd) -> None:
        self._ends[end.number] = end
        if self.on_end is not None:
            self.on_end(end)

    def _first(self, limits: StartLimits) -> StartEnd:
        start = self.search.design.unknowns.start
        if self.search.table.method == "genetic":  # its generations are noted
            end = self.search.ended(1, start, limits)
        else:
            key = _key(1)
            noted = self.run.checkpoints().get(key)
            if noted is None:
                end = self.search.ended(1, start, limits)
                self._ends[1] = end
                if end.status not in OVER:  # more designs or seconds may be given the next time
                    self.run.checkpoint(key, {"value": end_to_dict(end)})
                    self.run.flush()
            else:
                end = end_from_dict(self.search.design, noted["value"])
        self._note(end)
        return end

    def _room(self, first: StartEnd, wanted: int) -> tuple[int, str]:
        """How many further starts there is room for, and why not for all."""
        table = self.search.table
        most = table.max_evaluations
        each = ROOM * max(first.evaluations, 1)
        left = wanted if most is None else (most - first.evaluations) // each
        if left < wanted:
            was = f"max_evaluations = {most} leaves room for {left} of {wanted} further starts"
            return max(left, 0), was
        if table.starts is None and first.effort > LONG:
            return 0, (
                f"no further starts were made, as the search took {first.seconds:.0f} s; "
                f"set starts = {wanted + 1} to make them"
            )
        return wanted, ""

    def _others(self, points: list[Any], first: StartEnd, last: float) -> None:
        if not points:
            return
        table = self.search.table
        most = table.max_evaluations
        share = None if most is None else (most - first.evaluations) // len(points)
        limits = StartLimits(share, until=last, worth=rank(first.violation, first.cost))
        if table.starts is None:  # nobody has asked for them
            limits = replace(limits, seconds=PATIENCE * LONG, budget=LONG)
        if table.method == "genetic":
            for number, q in enumerate(points, start=2):
                self._note(self.search.ended(number, q, limits))
            return
        items = {
            _key(number): {"number": number, "q": q.tolist(), "limits": asdict(limits)}
            for number, q in enumerate(points, start=2)
        }

        def done(place: int, outcome: ItemOutcome[Any]) -> None:
            if outcome.done:
                self._note(end_from_dict(self.search.design, outcome.result()))
            else:
                self._note(StartEnd(place + 2, points[place], NO_DESIGN, outcome.error))

        build = partial(build_search, self.study, table, self.source)
        map_with_checkpoints(
            self.hands,
            search_start,
            items,
            context=Context(build, self.search),
            run=self.run,
            on_piece=done,
        )


def _key(number: int) -> str:
    return f"{NOTED}{number:06d}"


def _given_up(ends: tuple[StartEnd, ...], asked: int) -> str:
    count = sum(end.status == GIVEN_UP for end in ends)
    if not count:
        return ""
    starts = "1 start was" if count == 1 else f"{count} starts were"
    return (
        f"{starts} not made, as the others took more than {LONG:g} s; set starts = {asked} to make "
        "them"
    )
