"""PRBS: a pseudo-random binary sequence of maximum length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.signals import Hold
from estimica.experiment.waveforms.base import PiecewiseLinear, require_few_corners

REGISTERS = (2, 20)


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
