"""Signals of straight pieces: step, staircase, square wave, square wave on a ramp, PRBS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.signals import Hold
from estimica.experiment.waveforms.base import PiecewiseLinear, require_few_corners

REGISTERS = (2, 20)  # a million clocks with the last; chosen: the longest that is of use


@dataclass(frozen=True)
class Step(PiecewiseLinear):
    """From the offset to offset + amplitude at `begin`; a pulse where it has a duration."""

    duration: float | None = None

    def _problems(self) -> Iterator[str]:
        if self.duration is not None and self.duration <= 0:
            yield f"duration {self.duration:g} is not positive"

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        if self.duration is None:
            return np.zeros(1), np.ones(1), Hold.PREVIOUS
        return np.array([0.0, self.duration]), np.array([1.0, 0.0]), Hold.PREVIOUS


@dataclass(frozen=True)
class Staircase(PiecewiseLinear):
    """`stairs` equal steps, amplitude/stairs each, over `duration`; the last one stays.

    With `down` it goes up and, as evenly, down again to the first stair.
    """

    stairs: int
    duration: float
    down: bool = False

    def _problems(self) -> Iterator[str]:
        if self.stairs < 1:
            yield f"{self.stairs} stairs; give at least 1"
        if self.duration <= 0:
            yield f"duration {self.duration:g} is not positive"

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        up = np.arange(1, self.stairs + 1)
        levels = np.concatenate([up, up[-2::-1]]) if self.down and self.stairs > 1 else up
        begins = self.duration * np.arange(len(levels)) / len(levels)
        return begins, levels / self.stairs, Hold.PREVIOUS


@dataclass(frozen=True)
class Square(PiecewiseLinear):
    """offset + amplitude for the share `duty` of each period, then offset − amplitude."""

    frequency: float  # Hz
    duty: float = 0.5

    def _problems(self) -> Iterator[str]:
        yield from _periodic_problems(self.frequency, self.duty)

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        time, sign = _switches(self.frequency, self.duty, first, last, self.kind)
        return time, sign, Hold.PREVIOUS


@dataclass(frozen=True)
class SquareRamp(PiecewiseLinear):
    """A square wave whose size grows evenly from 0 to the amplitude at `duration`, then stays."""

    frequency: float  # Hz
    duration: float
    duty: float = 0.5

    @property
    def kind(self) -> str:
        """The name by which `signals.make` knows it."""
        return "square-ramp"

    def _problems(self) -> Iterator[str]:
        yield from _periodic_problems(self.frequency, self.duty)
        if self.duration <= 0:
            yield f"duration {self.duration:g} is not positive"

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        begins, sign = _switches(self.frequency, self.duty, first, last, self.kind)
        # a piece ends where the next begins, and where the ramp ends
        ends = np.append(begins[1:], max(last, begins[-1]))
        time = np.column_stack([begins, ends]).ravel()
        signs = np.repeat(sign, 2)
        k = int(np.searchsorted(time, self.duration))
        if 0 < k < len(time) and time[k] > self.duration:
            time, signs = np.insert(time, k, self.duration), np.insert(signs, k, signs[k])
        return time, signs * np.minimum(time / self.duration, 1.0), Hold.LINEAR


def _periodic_problems(frequency: float, duty: float) -> Iterator[str]:
    if frequency <= 0:
        yield f"frequency {frequency:g} Hz is not positive"
    if not 0 < duty < 1:
        yield f"duty {duty:g} is not between 0 and 1"


def _switches(
    frequency: float, duty: float, first: float, last: float, kind: str
) -> tuple[Vector, Vector]:
    """(times, signs): the last switch at or before `first`, and all up to `last`."""
    require_few_corners(2 * (last - first) * frequency, kind)
    whole = np.arange(np.floor(first * frequency), np.floor(last * frequency) + 2)
    time = np.column_stack([whole, whole + duty]).ravel() / frequency
    sign = np.tile([1.0, -1.0], len(whole))
    k = max(int(np.searchsorted(time, first, side="right")) - 1, 0)
    inside = slice(k, max(int(np.searchsorted(time, last, side="right")), k + 1))
    return time[inside], sign[inside]


@dataclass(frozen=True)
class PRBS(PiecewiseLinear):
    """offset ± amplitude, drawn anew at every clock; repeats after 2^registers − 1 clocks.

    Over a period its autocorrelation is 1 at shift 0 and −1/(2^registers − 1) at all other clocks
    (in units of amplitude²): white up to about 0.44/clock Hz. `shift` clocks of the sequence are
    left out, so that two inputs with different shifts are nearly uncorrelated.
    """

    registers: int
    clock: float  # s
    shift: int = 0

    @property
    def length(self) -> int:
        """Clocks in a period."""
        return int(2**self.registers) - 1

    @property
    def period(self) -> float:
        """Seconds until it repeats."""
        return self.length * self.clock

    def _problems(self) -> Iterator[str]:
        low, high = REGISTERS
        if not low <= self.registers <= high:
            yield f"{self.registers} registers; there are sequences for {low} to {high}"
        if self.clock <= 0:
            yield f"clock {self.clock:g} s is not positive"

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        low = int(np.floor(first / self.clock))
        require_few_corners((last - first) / self.clock, self.kind)
        clocks = np.arange(low, int(np.floor(last / self.clock)) + 2)
        sign = _sequence(self.registers)[(clocks + self.shift) % self.length]
        time: Vector = self.clock * clocks.astype(np.float64)
        inside = time <= last
        return time[inside], sign[inside], Hold.PREVIOUS


@lru_cache(maxsize=8)
def _sequence(registers: int) -> Vector:
    from scipy.signal import max_len_seq

    bits, _ = max_len_seq(registers)
    return np.asarray(2.0 * bits - 1.0, np.float64)
