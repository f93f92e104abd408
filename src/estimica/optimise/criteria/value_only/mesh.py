"""Where a run is looked at: panels between breaks, and breaks that events move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.optimise.criteria.panels import Panels
from estimica.simulate.engine.layout import LOG_WIDTH
from estimica.simulate.engine.result import LOG_SIZE, Run

NEAR = 1e-9  # of the run: breaks that are closer are one


@dataclass(frozen=True, eq=False)
class ValueOnlyMesh:
    """Panels, the stretch between two breaks that each lies in, and those that are looked at.

    `views` are windows of criteria as numbers of breaks: from, to.
    """

    low: Vector
    high: Vector
    stretch: Indices  # of each panel
    breaks: Vector
    views: Indices  # (criteria, 2)

    @staticmethod
    def of(breaks: Vector, views: Indices, count: int) -> ValueOnlyMesh:
        """About `count` panels."""
        panels = Panels.of(breaks, count)
        stretch = np.searchsorted(breaks, panels.low, "right") - 1
        return ValueOnlyMesh(panels.low, panels.high, stretch, breaks, views)

    def cut(self, which: Flags) -> ValueOnlyMesh:
        """The same with some panels halved."""
        middle = (self.low + self.high)[which] / 2
        low = np.sort(np.concatenate([self.low, middle]))
        high = np.sort(np.concatenate([self.high, middle]))
        stretch = np.sort(np.concatenate([self.stretch, self.stretch[which]]))
        return ValueOnlyMesh(low, high, stretch, self.breaks, self.views)

    def moved(self, breaks: Vector) -> ValueOnlyMesh:
        """The same with its breaks elsewhere; panels keep their shares of the stretches."""
        old, k = self.breaks, self.stretch
        ratio = (np.diff(breaks) / np.diff(old))[k]
        low = breaks[k] + (self.low - old[k]) * ratio
        high = np.append(low[1:], breaks[-1])
        return ValueOnlyMesh(low, high, k, breaks, self.views)

    @cached_property
    def ranges(self) -> Indices:
        """The panels of each window: first, and one after the last."""
        return np.asarray(np.searchsorted(self.stretch, self.views), np.int64)

    @cached_property
    def broken(self) -> Flags:
        """Whether a panel ends at a break."""
        return np.append(np.diff(self.stretch) > 0, True)

    @cached_property
    def sampling(self) -> tuple[Vector, Indices]:
        """(times that rise, the place of each node among them).

        A panel that no criterion looks at is seen at its begin only.
        """
        seen = np.zeros(len(self.low), bool)
        for first, last in self.ranges:
            seen[max(first - 1, 0) : last] = True  # the one before tells whether it was at rest
        times, places = Panels(self.low, self.high, self.breaks).sampling
        places = np.where(seen[:, None], places, places[:, :1])
        wanted = np.zeros(len(times), bool)
        wanted[places] = True
        wanted[-1] = True
        number = np.cumsum(wanted) - 1
        return np.ascontiguousarray(times[wanted]), np.ascontiguousarray(number[places])


@dataclass(frozen=True, eq=False)
class RunBreaks:
    """Breaks of a run as it was at the start: those that stay, and events that may move."""

    breaks: Vector
    log: Vector  # as the engine wrote it
    events: Vector  # (events, 3): time, kind and number of the relation
    homes: Indices  # the break that each event is
    stays: Flags  # breaks that are also ends of windows or turns of inputs

    @staticmethod
    def of(fixed: Sequence[float], run: Run) -> RunBreaks:
        """From breaks that stay and the events of a run."""
        log = _events(run.log)
        times = np.sort(np.concatenate([np.asarray(fixed, float), log[:, 0]]))
        near = NEAR * (times[-1] - times[0])
        kept = times[np.append(True, np.diff(times) > near)]
        homes = np.abs(kept[None, :] - log[:, :1]).argmin(axis=1)
        stays = (np.abs(kept[:, None] - np.asarray(fixed, float)) <= near).any(axis=1)
        return RunBreaks(kept, run.log, log, homes, stays)

    def breaks_at(self, written: Vector) -> Vector | None:
        """The breaks of another run by its log: the same where nothing moved, None where events
        differ or were too many to be written down."""
        if written.size == self.log.size and (written == self.log).all():
            return self.breaks
        if written.size >= LOG_SIZE * LOG_WIDTH:
            return None
        log = _events(written)
        if len(log) != len(self.events) or (log[:, 1:] != self.events[:, 1:]).any():
            return None
        if not len(log):
            return self.breaks
        span = float(self.breaks[-1] - self.breaks[0])
        shift = np.abs(log[:, 0] - self.breaks[self.homes])
        if shift.max() <= 1e-12 * span:
            return self.breaks
        if (shift[self.stays[self.homes]] > 1e-12 * span).any():
            return None
        breaks = self.breaks.copy()
        breaks[self.homes] = log[:, 0]
        together = np.abs(breaks[self.homes] - log[:, 0]).max() <= 1e-12 * span
        return breaks if together and (np.diff(breaks) > NEAR * span).all() else None


def _events(log: Vector) -> Vector:
    """(time, kind, number) of events of states and of time, not those of inputs and delays."""
    rows = log.reshape(-1, LOG_WIDTH)
    return rows[rows[:, 1] < 2]
