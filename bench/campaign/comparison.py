"""The rule by which a curve of ours agrees with one of a reference result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

#: share of a signal's range by which it may be off
SHARE = 0.01
#: no signal is asked to be nearer than this share of its largest value, ten times the relative
#: tolerance (1e-6) of both runs: a pressure that stands still at 1e5 Pa has no range to speak of
RELATIVE_FLOOR = 1e-5
#: nor nearer than this, the absolute tolerance of our runs: where a signal is zero, both round
ABSOLUTE_FLOOR = 1e-8
#: an interval between outputs is met to this share: some files have times of single precision
ROUNDED = 1e-3
#: share of a run by which a jump may be early or late, where that is more than an interval of the
#: table: the interval that tools take where a class names none. Tables have ten times as many rows,
#: but the runs behind them place their events no better: a thermostat's, 18 times switched, is
#: 1.3 ms off in 10 s beside our solution, which stays where it is from rtol 1e-5 to 1e-10
EVENT_SHIFT = 1 / 500
#: … and share of the time to the next jump of the signal, so that pulses have to overlap
OVERLAP = 1 / 4


@dataclass(frozen=True, eq=False)
class Curve:
    """A signal over times that increase; at an event it has two values or more: lowest, highest."""

    times: Vector
    low: Vector
    high: Vector

    @staticmethod
    def of(times: Vector, values: Vector) -> Curve:
        """From rows as a file has them: a time that stands there twice is an event."""
        order = np.argsort(times, kind="stable")
        stamps, first = np.unique(times[order], return_index=True)
        sorted_values = values[order]
        return Curve(
            stamps,
            np.fmin.reduceat(sorted_values, first),
            np.fmax.reduceat(sorted_values, first),
        )

    @property
    def tolerance(self) -> float:
        """By how much another curve may be off this one."""
        low, high = float(np.nanmin(self.low)), float(np.nanmax(self.high))
        largest = max(abs(low), abs(high))
        return max(SHARE * (high - low), RELATIVE_FLOOR * largest, ABSOLUTE_FLOOR)


@dataclass(frozen=True)
class Distance:
    """How far apart two curves are where they are furthest apart."""

    signal: str
    share: float  # of the distance that is allowed: above 1 they deviate
    time: float
    reference: float
    ours: float

    @property
    def agrees(self) -> bool:
        """Whether the signal is within its tolerance everywhere."""
        return self.share <= 1.0


def output_interval(times: Vector) -> float:
    """The longest step from one output to the next; events only make steps shorter."""
    stamps = np.unique(times)
    return float(np.diff(stamps).max()) if len(stamps) > 1 else 0.0


def distance(
    signal: str, reference: Curve, ours: Vector, interval: float, *, late_events: bool = True
) -> Distance:
    """The distance of `ours`, sampled at the times of the reference, from it.

    Ours may be early or late by one interval between outputs: it has to lie between the lowest and
    the highest value that the reference takes within an interval, and the reference between those
    of ours. The second half finds a curve that stands still where the reference goes to and fro
    quickly. With `late_events` the jumps of the reference may be further off; see EVENT_SHIFT.
    """
    known = np.isfinite(reference.low)
    finite = np.isfinite(ours)
    if not finite.all():
        k = int(np.flatnonzero(~finite)[0])
        return _at(signal, np.inf, k, reference, ours)
    if not known.any():
        return _at(signal, 0.0, 0, reference, ours)
    reach = _reach(reference, interval) if late_events else np.full(len(ours), interval)
    windows = Windows.around(reference.times, reach)
    low = np.where(known, reference.low, np.inf)
    high = np.where(known, reference.high, -np.inf)
    outside = np.maximum(windows.lowest(low) - ours, ours - windows.highest(high))
    missed = np.maximum(low - windows.highest(ours), windows.lowest(ours) - high)
    if len(ours) > 1:
        # an event at the very begin or end of one curve may lie just beyond it in the other: then
        # the neighbouring sample counts
        for end, beside in ((0, 1), (-1, -2)):
            bounds = windows.lowest(low)[end], windows.highest(high)[end]
            there = max(bounds[0] - ours[beside], ours[beside] - bounds[1])
            outside[end] = min(outside[end], there)
            bounds = windows.lowest(ours)[end], windows.highest(ours)[end]
            there = max(low[beside] - bounds[1], bounds[0] - high[beside])
            missed[end] = min(missed[end], there)
    apart = np.where(known, np.maximum(outside, missed), 0.0)
    k = int(np.argmax(apart))
    return _at(signal, max(float(apart[k]), 0.0) / reference.tolerance, k, reference, ours)


def _reach(reference: Curve, interval: float) -> Vector:
    """How early or late a value may be at each time: more beside a jump than elsewhere."""
    t = reference.times
    jumps = t[reference.high - reference.low > reference.tolerance]
    if not len(jumps):
        return np.full(len(t), interval)
    gaps = np.diff(jumps, prepend=-np.inf, append=np.inf)
    shift = np.minimum(EVENT_SHIFT * (t[-1] - t[0]), OVERLAP * np.minimum(gaps[:-1], gaps[1:]))
    after = np.clip(np.searchsorted(jumps, t), 0, len(jumps) - 1)
    before = np.clip(after - 1, 0, None)
    beside = np.where(t - jumps[before] < np.abs(jumps[after] - t), before, after)
    near = np.abs(t - jumps[beside]) <= shift[beside]
    return np.maximum(interval, np.where(near, shift[beside], 0.0))


def _at(signal: str, share: float, k: int, reference: Curve, ours: Vector) -> Distance:
    middle = 0.5 * (reference.low[k] + reference.high[k])
    return Distance(signal, share, float(reference.times[k]), float(middle), float(ours[k]))


@dataclass(frozen=True, eq=False)
class Windows:
    """For every sample the samples from `begin` up to `end`, which is not one of them."""

    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]

    @staticmethod
    def around(times: Vector, reach: Vector) -> Windows:
        """All samples that are at most that far away."""
        far = reach * (1 + ROUNDED)
        begin = np.searchsorted(times, times - far, side="left")
        end = np.searchsorted(times, times + far, side="right")
        return Windows(begin.astype(np.int64), end.astype(np.int64))

    def lowest(self, values: Vector) -> Vector:
        """The lowest value in every window."""
        return -self.highest(-values)

    def highest(self, values: Vector) -> Vector:
        """The highest value in every window, from those of all stretches of 1, 2, 4 … samples."""
        length = self.end - self.begin
        level = np.floor(np.log2(length)).astype(np.int64)
        result = np.empty_like(values)
        stretch = values.copy()
        for power in range(int(level.max()) + 1):
            of = level == power
            size = 1 << power
            result[of] = np.maximum(stretch[self.begin[of]], stretch[self.end[of] - size])
            stretch[: -size or None] = np.maximum(stretch[: -size or None], stretch[size:])
        return result
