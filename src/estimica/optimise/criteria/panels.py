"""Panels: stretches of time on which trajectories are polynomials as good as the solver's own.

Each stretch between two breaks (jumps of inputs, events, ends of windows) is cut into panels with
Chebyshev nodes. Panels on which a signal is not yet resolved are cut, so that extrema, crossings
and integrals do not depend on any output grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector

#: of a panel: polynomials of degree 8. Chosen: more would resolve a smooth signal with fewer
#: panels, fewer lose less where a panel with a kink is cut
NODES = 9
_ANGLES = np.pi * np.arange(NODES)[::-1] / (NODES - 1)
POINTS = np.cos(_ANGLES)  # from -1 to 1
#: values at the nodes @ TO_COEFFICIENTS are Chebyshev coefficients
TO_COEFFICIENTS = np.linalg.inv(np.cos(np.outer(np.arange(NODES), _ANGLES)))
FIRST = 16  # panels that a run is cut into at first; those that do not resolve a signal are cut
NOTHING = 1e-6  # of the run: a model that ends it sooner has not begun; criteria need some panels
SAME = 1e-9  # of the run: breaks that are closer are one
BEFORE = 1e-10  # of the run: how far before a break its left side is taken; events have a width


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels one after the other; `low` and `high` are their ends, `breaks` those of stretches.

    Where the last end is an event (`ended`), it is seen from before.
    """

    low: Vector
    high: Vector
    breaks: Vector
    ended: bool = False

    @staticmethod
    def of(breaks: Sequence[float] | Vector, count: int = FIRST) -> Panels:
        """About `count` panels between the first and the last break."""
        ends = _distinct(np.sort(np.asarray(breaks, float)))
        span = ends[-1] - ends[0]
        cuts = []
        for a, b in pairwise(ends):
            parts = max(1, int(np.ceil(count * (b - a) / span)))
            cuts.append(np.linspace(a, b, parts + 1))
        low = np.concatenate([c[:-1] for c in cuts])
        high = np.concatenate([c[1:] for c in cuts])
        return Panels(low, high, ends)

    def broken(self, times: Sequence[float]) -> Panels:
        """The same panels, cut at further breaks."""
        inner = [t for t in times if self.breaks[0] < t < self.breaks[-1]]
        breaks = _distinct(np.sort(np.concatenate([self.breaks, inner])))
        if len(breaks) == len(self.breaks):
            return self
        edges = _distinct(np.sort(np.concatenate([self.low, self.high[-1:], breaks])))
        return Panels(edges[:-1], edges[1:], breaks, self.ended)

    def until(self, time: float) -> Panels | None:
        """The same up to an event at which the run is over; None where nothing is left."""
        if not time - self.breaks[0] > NOTHING * (self.breaks[-1] - self.breaks[0]):
            return None
        edges = _distinct(np.append(self.low[self.low < time], time))
        breaks = _distinct(np.append(self.breaks[self.breaks < time], time))
        return Panels(edges[:-1], edges[1:], breaks, True)

    def holding(self, times: Sequence[float]) -> Flags:
        """The panels that one of the times is inside of."""
        holding = np.zeros(self.size, bool)
        for t in times:
            holding |= (self.low < t) & (t < self.high)
        return holding

    def inside(self, times: Sequence[float], which: Flags) -> list[float]:
        """Those of the times that lie within one of some panels, and are not among the breaks."""
        some = np.asarray(times, float)
        if not some.size:
            return []
        near = SAME * (self.breaks[-1] - self.breaks[0])
        place = np.clip(np.searchsorted(self.low, some, "right") - 1, 0, self.size - 1)
        apart = np.abs(some[:, None] - self.breaks[None, :]).min(axis=1) > near
        within = (self.low[place] < some) & (some < self.high[place]) & which[place]
        return [float(t) for t in some[within & apart]]

    def cut(self, which: Flags, parts: int = 2) -> Panels:
        """The same with some panels cut into equal parts."""
        shares = np.arange(1, parts) / parts
        inner = (self.low[which, None] + (self.high - self.low)[which, None] * shares).ravel()
        low = np.sort(np.concatenate([self.low, inner]))
        high = np.sort(np.concatenate([self.high, inner]))
        return Panels(low, high, self.breaks, self.ended)

    def fixed(self, breaks: Vector) -> Panels:
        """The same panels with fewer breaks: events of one run are not those of another."""
        return Panels(self.low, self.high, breaks)

    @cached_property
    def sampling(self) -> tuple[Vector, Indices]:
        """(times that rise, the place of each node among them (panels, NODES))."""
        half = (self.high - self.low) / 2
        nodes = (self.high + self.low)[:, None] / 2 + half[:, None] * POINTS
        nodes[:, 0], nodes[:, -1] = self.low, self.high
        at_break = np.isin(self.high, self.breaks[1:] if self.ended else self.breaks[1:-1])
        # a sample at a break sees what comes after it
        shift = BEFORE * (self.breaks[-1] - self.breaks[0])
        nodes[at_break, -1] -= np.maximum(shift, 8 * np.spacing(np.abs(self.high[at_break])))
        times, places = np.unique(nodes, return_inverse=True)
        return times, places.reshape(nodes.shape)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.low)


def _distinct(times: Vector) -> Vector:
    """Rising times without those that are closer than rounding."""
    span = max(times[-1] - times[0], np.spacing(np.abs(times).max()))
    kept = [times[0]]
    for t in times[1:]:
        if t - kept[-1] > SAME * span:
            kept.append(t)
    if kept[-1] != times[-1] and len(kept) > 1:
        kept[-1] = times[-1]
    return np.array(kept)
