"""Noise: seeded Gaussian noise in a band of frequencies, to excite with or to disturb by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.signals import Hold
from estimica.experiment.waveforms.base import PiecewiseLinear, require_few_corners


@dataclass(frozen=True)
class Noise(PiecewiseLinear):
    """White Gaussian noise, drawn every `clock` seconds, filtered to `band` and held.

    `band` is (low, high) in Hz, either of them None; without a band the noise stays white. The
    filter is Butterworth's of the given order. `amplitude` is the standard deviation after it.
    """

    clock: float  # s
    band: Sequence[float | None] | None = None
    order: int = 4
    seed: int = 1

    def __post_init__(self) -> None:
        if self.band is not None:
            object.__setattr__(self, "band", tuple(self.band))
        super().__post_init__()

    def _problems(self) -> Iterator[str]:
        if self.clock <= 0:
            yield f"clock {self.clock:g} s is not positive"
            return
        if self.order < 1:
            yield f"order {self.order} is not positive"
        if self.band is None:
            return
        if len(self.band) != 2:
            yield "band has two ends, (low, high) in Hz; one of them may be None"
            return
        fastest = 0.5 / self.clock
        for end in self.band:
            if end is not None and not 0 < end < fastest:
                yield (
                    f"{end:g} Hz is not between 0 and {fastest:g} Hz, half the rate of the clock; "
                    "None leaves an end open"
                )
        low, high = self.band
        if low is not None and high is not None and low >= high:
            yield f"band from {low:g} to {high:g} Hz is empty; swap its ends"

    def gain(self, frequency: Vector) -> Vector:
        """Of the filter at frequencies in Hz."""
        from scipy.signal import freqz_sos

        if self._sections is None:
            return np.ones(np.shape(frequency))
        _, response = freqz_sos(self._sections, np.asarray(frequency) * self.clock * 2 * np.pi)
        return np.asarray(np.abs(response), np.float64)

    @property
    def _sections(self) -> Vector | None:
        from scipy.signal import butter

        low, high = self.band or (None, None)
        rate = 1 / self.clock
        if low is not None and high is not None:
            sections = butter(self.order, (low, high), "bandpass", fs=rate, output="sos")
        elif high is not None:
            sections = butter(self.order, high, "lowpass", fs=rate, output="sos")
        elif low is not None:
            sections = butter(self.order, low, "highpass", fs=rate, output="sos")
        else:
            return None
        return np.asarray(sections, np.float64)

    def _corners(self, first: float, last: float) -> tuple[Vector, Vector, Hold]:
        count = require_few_corners(np.floor(last / self.clock) + 1, self.kind)
        value = self._drawn(count)
        k = np.arange(int(np.floor(first / self.clock)), count)
        time: Vector = self.clock * k.astype(np.float64)
        return time, value[k], Hold.PREVIOUS

    def _drawn(self, count: int) -> Vector:
        """Unit variance; a longer draw begins like a shorter one."""
        from scipy.signal import sosfilt

        random = np.random.default_rng(self.seed)
        sections = self._sections
        if sections is None:
            return random.standard_normal(count)
        warm, norm = self._settling(sections)
        noise = sosfilt(sections, random.standard_normal(warm + count))
        return np.asarray(noise[warm:], np.float64) / norm

    def _settling(self, sections: Vector) -> tuple[int, float]:
        """(samples until the filter has forgotten its start, root of the sum of its impulse²)."""
        from scipy.signal import sosfilt

        slowest = min(f for f in [*(self.band or ()), 0.5 / self.clock] if f is not None)
        low, high = self.band or (None, None)
        if low is not None and high is not None:
            slowest = min(slowest, high - low)
        warm = require_few_corners(np.ceil(5 * self.order / (slowest * self.clock)), self.kind)
        impulse = np.zeros(warm)
        impulse[0] = 1.0
        return warm, float(np.linalg.norm(sosfilt(sections, impulse)))
