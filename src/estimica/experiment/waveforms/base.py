"""Waveform: a signal given by a few numbers, known at all times and not only at samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.public.calls import require_keywords
from estimica.base.signals import Hold, Signal
from estimica.data.writers import write_csv

SAME_TIME = 1e-9  # a corner this near to a stamp, as a share of the record, is at the stamp
#: of a signal. Chosen: 32 MB of times and values, and each is a stop of the integrator
MOST_CORNERS = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Waveform(ABC):
    """offset + amplitude · shape(t − begin); before `begin` it rests at the offset."""

    amplitude: float = 1.0
    offset: float = 0.0
    begin: float = 0.0

    def __new__(cls, *_: object, **named: object) -> Self:
        """Refuse a keyword that it has not, in our words."""
        require_keywords(cls.__name__, [f.name for f in fields(cls)], named)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, float | int) and not np.isfinite(value):
                raise ExperimentError(
                    "W001", f"{self.kind}: {f.name} is {value}; give a finite number"
                )
        problem = next(self._problems(), None)
        if problem is not None:
            raise ExperimentError("W002", f"{self.kind}: {problem}")

    @property
    def kind(self) -> str:
        """The name by which `signals.make` knows it."""
        return type(self).__name__.lower()

    @abstractmethod
    def signal(self, time: Sequence[float] | Vector) -> Signal:
        """The signal from the first to the last of `time`, with its jumps where they are."""

    def samples(self, time: Sequence[float] | Vector) -> Vector:
        """Its values at `time`; at a jump the value after it."""
        return self.signal(time).at(stamps(time))

    def held(self, time: Sequence[float] | Vector, hold: str = "previous") -> Signal:
        """What comes out if it is sampled at `time` and held: a computer with a D/A converter."""
        try:
            how = Hold(hold)
        except ValueError:
            choices = ", ".join(Hold)
            raise ExperimentError("W003", f"hold '{hold}' is none of {choices}") from None
        return Signal(stamps(time), self.samples(time), how)

    def curves(
        self, time: Sequence[float] | Vector, name: str = "u", unit: str = ""
    ) -> show.Curves:
        """What there is to draw: the signal, jumps upright."""
        drawn = self.signal(time)
        end = float(stamps(time)[-1])
        t, u = drawn.time, drawn.value
        if t[-1] < end:
            t, u = np.append(t, end), np.append(u, u[-1])
        curve = show.Curve(name, t, u, unit, stepped=drawn.hold is Hold.PREVIOUS)
        return show.trajectories([curve], repr(self))

    def plot(self, time: Sequence[float] | Vector, name: str = "u", unit: str = "") -> object:
        """A Plotly figure of the signal over `time`."""
        return show.figure(self.curves(time, name, unit))

    def to_csv(
        self,
        path: str | PathLike[str],
        time: Sequence[float] | Vector,
        name: str = "u",
        unit: str = "",
    ) -> Path:
        """Write columns `time` and `name`, one row a sample; every digit reads back."""
        columns = {"time": stamps(time), name: self.samples(time)}
        return write_csv(path, columns, units={"time": "s", name: unit})

    def _problems(self) -> Iterator[str]:
        """What is wrong with the parameters, in words."""
        yield from ()


class PiecewiseLinear(Waveform):
    """A waveform of straight pieces: it is exact, however coarse the stamps are."""

    @abstractmethod
    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        """Times since `begin` within [first, last], the shape there, and what is in between.

        0 is among the times; what the shape is before that does not matter.
        """

    def signal(self, time: Sequence[float] | Vector) -> Signal:
        """The signal from the first to the last of `time`; corners next to a stamp are at it."""
        grid = stamps(time)
        first, last = float(grid[0]), float(grid[-1])
        if last < self.begin:
            return Signal(grid[:1], np.array([self.offset]))
        beyond = last + SAME_TIME * (last - first)  # a corner at the last stamp, but for rounding
        elapsed, shape, hold = self._corners(max(first - self.begin, 0.0), beyond - self.begin)
        t, u = snapped(self.begin + elapsed, grid), self.offset + self.amplitude * shape
        if first < t[0]:
            lead = [first] if hold is Hold.PREVIOUS else [first, t[0]]
            t = np.concatenate([lead, t])
            u = np.concatenate([np.full(len(lead), self.offset), u])
        return Signal(t, u, hold)


class Smooth(Waveform):
    """A waveform without corners: `signal` is made of straight pieces as fine as needed."""

    tolerance = 1e-5  # of the largest deviation from the offset

    @abstractmethod
    def _shape(self, elapsed: Vector) -> Vector:
        """The shape at times since `begin`."""

    @abstractmethod
    def _grid(self, first: float, last: float) -> Vector:
        """Times since `begin`, so close that chords between them are within the tolerance."""

    @property
    def _end(self) -> float:
        """Since `begin`, when it comes to rest at the offset again."""
        return float("inf")

    def samples(self, time: Sequence[float] | Vector) -> Vector:
        """Its values at `time`, by its formula."""
        grid = stamps(time)
        elapsed = grid - self.begin
        near = SAME_TIME * max(float(np.ptp(grid)), np.finfo(float).tiny)
        runs = (elapsed >= -near) & (elapsed < self._end - near)
        return self.offset + self.amplitude * np.where(
            runs, self._shape(np.maximum(elapsed, 0.0)), 0.0
        )

    def signal(self, time: Sequence[float] | Vector) -> Signal:
        """Straight pieces that leave the formula by at most 1e-5 of its largest deviation."""
        grid = stamps(time)
        first, last = float(grid[0]), float(grid[-1])
        if last < self.begin or first >= self.begin + self._end:
            return Signal(grid[:1], np.array([self.offset]))
        low, high = max(first - self.begin, 0.0), min(last - self.begin, self._end)
        elapsed = self._grid(low, high)
        t, u = self.begin + elapsed, self.offset + self.amplitude * self._shape(elapsed)
        rest = np.array([self.offset])
        if first < self.begin:
            t, u = np.concatenate([[first, t[0]], t]), np.concatenate([rest, rest, u])
        if last > self.begin + self._end:
            t, u = np.concatenate([t, t[-1:]]), np.concatenate([u, rest])
        return Signal(snapped(t, grid), u, Hold.LINEAR)


def stamps(time: Sequence[float] | Vector) -> Vector:
    """Times as an array that does not decrease, or a clear error."""
    try:
        times = np.atleast_1d(np.asarray(time, np.float64))
    except (TypeError, ValueError):
        raise ExperimentError("W004", f"times must be numbers, not {time!r}") from None
    if times.ndim != 1 or not times.size or not np.isfinite(times).all():
        raise ExperimentError("W005", "times must be a list of finite numbers, at least one")
    if (np.diff(times) < 0).any():
        k = int(np.flatnonzero(np.diff(times) < 0)[0])
        raise ExperimentError(
            "W006", f"times must not decrease: {times[k + 1]:g} follows {times[k]:g}"
        )
    return times


def snapped(corners: Vector, grid: Vector) -> Vector:
    """Corners that only rounding keeps from a stamp of `grid` are moved to it."""
    k = np.clip(np.searchsorted(grid, corners), 1, max(len(grid) - 1, 1))
    left, right = grid[k - 1], grid[np.minimum(k, len(grid) - 1)]
    nearest = np.where(corners - left < right - corners, left, right)
    near = np.abs(nearest - corners) <= SAME_TIME * float(np.ptp(grid))
    return np.where(near, nearest, corners)


def require_few_corners(count: float, kind: str) -> int:
    """A number of corners, unless there are so many that nobody means it."""
    if count > MOST_CORNERS:
        raise ExperimentError(
            "W007",
            f"{kind}: {count:.3g} corners between the first and the last time; "
            "is the frequency in Hz and the time in s?",
        )
    return int(count)
