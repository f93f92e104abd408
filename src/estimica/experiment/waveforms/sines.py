"""Signals of sines: one, many at once, one that sweeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.waveforms.base import Smooth, require_few_corners
from estimica.study.fields.counts import LINE

TWO_PI = 2 * np.pi
#: 32 times as many cosines are added to find the peak: 10 seconds. Chosen: so long one waits
LINES_TIMES_HIGHEST = 30_000_000


@dataclass(frozen=True)
class Sine(Smooth):
    """offset + amplitude·sin(2π·frequency·(t − begin) + phase)."""

    frequency: float  # Hz
    phase: float = 0.0  # rad

    def _problems(self) -> Iterator[str]:
        if self.frequency <= 0:
            yield f"frequency {self.frequency:g} Hz is not positive"

    def _shape(self, elapsed: Vector) -> Vector:
        return np.asarray(np.sin(TWO_PI * self.frequency * elapsed + self.phase), np.float64)

    def _grid(self, first: float, last: float) -> Vector:
        return _even(first, last, _chord(TWO_PI * self.frequency, self.tolerance), self.kind)


@dataclass(frozen=True)
class Multisine(Smooth):
    """Sum of amplitude·weight_k·cos(2π·line_k·fundamental·(t − begin) + phase_k).

    `lines` are whole multiples of `fundamental`; the signal repeats after 1/fundamental.
    `weights` are 1 where none are given. `phases` are Schroeder's, which keep the crest factor
    low (M. R. Schroeder, IEEE Trans. Inf. Theory 16, 1970), "random" by `seed`, "zero", or
    numbers in rad.
    """

    lines: Sequence[int]
    fundamental: float  # Hz
    weights: Sequence[float] | None = None
    phases: str | Sequence[float] = "schroeder"
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        for name in ("weights", "phases"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                object.__setattr__(self, name, tuple(map(float, value)))
        super().__post_init__()

    @property
    def frequencies(self) -> Vector:
        """Hz, one for each line."""
        return self.fundamental * np.asarray(self.lines, np.float64)

    @property
    def amplitudes(self) -> Vector:
        """One for each line."""
        return self.amplitude * self._weights

    @property
    def angles(self) -> Vector:
        """The phase of each line, in rad."""
        if not isinstance(self.phases, str):
            return np.array(self.phases)
        if self.phases == "random":
            return np.random.default_rng(self.seed).uniform(0, TWO_PI, len(self.lines))
        if self.phases == "zero":
            return np.zeros(len(self.lines))
        return schroeder(self.lines, self._weights)

    @property
    def crest_factor(self) -> float:
        """Largest deviation from the offset over its root mean square; √2 for a single sine."""
        return self._peak / float(np.sqrt(np.sum(self._weights**2) / 2))

    @property
    def period(self) -> float:
        """Seconds until it repeats."""
        return 1 / self.fundamental

    def with_peak(self, peak: float) -> Multisine:
        """The same with an amplitude by which it just reaches offset ± peak."""
        return replace(self, amplitude=peak / self._peak)

    @property
    def _weights(self) -> Vector:
        return np.ones(len(self.lines)) if self.weights is None else np.array(self.weights)

    @property
    def _peak(self) -> float:
        """Largest magnitude of the shape over a period."""
        # 32 points a cycle of the highest line: between two it rises by 1 − cos(π/32), 0.5 %
        even = np.linspace(0, self.period, 32 * max(self.lines), endpoint=False)
        return float(np.abs(self._shape(even)).max())

    def _problems(self) -> Iterator[str]:
        if not self.lines:
            yield "no lines; give whole multiples of the fundamental, such as range(1, 11)"
        wrong = [n for n in self.lines if n != int(n) or n < 1]
        if wrong:
            yield f"line {wrong[0]} is not a positive whole number"
        elif self.lines and max(self.lines) > LINE:
            yield f"line {max(self.lines)} is above {LINE}; choose a larger fundamental"
        elif self.lines and max(self.lines) * len(self.lines) > LINES_TIMES_HIGHEST:
            yield f"{len(self.lines)} lines up to {max(self.lines)} are too many; leave some out"
        if len(set(self.lines)) < len(self.lines):
            yield "a line is given twice"
        if self.fundamental <= 0:
            yield f"fundamental {self.fundamental:g} Hz is not positive"
        if self.weights is not None and len(self.weights) != len(self.lines):
            yield f"{len(self.weights)} weights for {len(self.lines)} lines"
        if self.weights is not None and not any(self.weights):
            yield "all weights are 0"
        if isinstance(self.phases, str):
            if self.phases not in ("schroeder", "random", "zero"):
                yield f"phases '{self.phases}' are none of schroeder, random, zero"
        elif len(self.phases) != len(self.lines):
            yield f"{len(self.phases)} phases for {len(self.lines)} lines"

    def _shape(self, elapsed: Vector) -> Vector:
        total = np.zeros_like(elapsed)
        for f, w, angle in zip(self.frequencies, self._weights, self.angles, strict=True):
            total += w * np.cos(TWO_PI * f * elapsed + angle)
        return total

    def _grid(self, first: float, last: float) -> Vector:
        # |u''| is at most the sum of the lines' own, and the tolerance is of the peak
        bend = float(np.sum(np.abs(self._weights) * (TWO_PI * self.frequencies) ** 2))
        rate = np.sqrt(bend / self._peak)
        return _even(first, last, _chord(rate, self.tolerance), self.kind)


def schroeder(lines: Sequence[int], weights: Vector) -> Vector:
    """φ_k = −2π/d·Σ_{j<k} (n_k − n_j)·p_j, p_j the share of line n_j in the power.

    The delays of the lines spread over the period as the power does. d is the greatest divisor of
    all distances of lines: with odd lines only, half a period says all. For evenly spaced lines of
    equal power it is −π·k·(k − 1)/n. The first line keeps the phase 0.
    """
    n = np.asarray(lines, np.float64)
    order = np.argsort(n)
    apart = np.gcd.reduce(np.diff(n[order]).astype(int)) if len(n) > 1 else 1
    share = weights**2 / np.sum(weights**2)
    phases = np.zeros(len(n))
    for position, k in enumerate(order):
        before = order[:position]
        phases[k] = -TWO_PI / apart * np.sum((n[k] - n[before]) * share[before])
    return np.remainder(phases, TWO_PI)


@dataclass(frozen=True)
class Chirp(Smooth):
    """A sine whose frequency goes from `start` to `stop` Hz in `duration`, then rests.

    `sweep` "linear": f(t) = start + (stop − start)·t/duration; "log": start·(stop/start)^(t/T),
    with as much time for each octave.
    """

    start: float  # Hz
    stop: float  # Hz
    duration: float
    sweep: str = "linear"

    def frequency(self, elapsed: Vector) -> Vector:
        """Hz at times since `begin`."""
        share = np.asarray(elapsed, np.float64) / self.duration
        if self.sweep == "log":
            return np.asarray(self.start * (self.stop / self.start) ** share, np.float64)
        return self.start + (self.stop - self.start) * share

    @property
    def _end(self) -> float:
        return self.duration

    @property
    def _ratio(self) -> float:
        return float(np.log(self.stop / self.start))

    def _problems(self) -> Iterator[str]:
        if self.sweep not in ("linear", "log"):
            yield f"sweep '{self.sweep}' is none of linear, log"
        if self.duration <= 0:
            yield f"duration {self.duration:g} is not positive"
        low = 0.0 if self.sweep == "linear" else np.finfo(float).tiny
        for name, value in (("start", self.start), ("stop", self.stop)):
            if value < low:
                yield f"{name} {value:g} Hz is too low for a {self.sweep} sweep"
        if self.start == self.stop == 0:
            yield "start and stop are both 0 Hz"

    def _cycles(self, elapsed: Vector) -> Vector:
        """∫ f dt."""
        if self.sweep == "log" and self.start != self.stop:
            growth = self._ratio / self.duration
            return np.asarray(self.start * np.expm1(growth * elapsed) / growth, np.float64)
        return self.start * elapsed + (self.stop - self.start) * elapsed**2 / (2 * self.duration)

    def _shape(self, elapsed: Vector) -> Vector:
        return np.asarray(np.sin(TWO_PI * self._cycles(np.asarray(elapsed, float))), np.float64)

    def _grid(self, first: float, last: float) -> Vector:
        # even in time within each 64th of the sweep, as fine as its highest frequency asks
        edges = np.linspace(first, last, 65)
        speed = TWO_PI * self.frequency(edges)
        drift = TWO_PI * abs(self.stop - self.start) / self.duration
        if self.sweep == "log":
            drift = abs(self._ratio) / self.duration * float(speed.max())
        parts = []
        for k in range(64):
            rate = np.sqrt(max(speed[k], speed[k + 1]) ** 2 + drift)  # bounds √|u''|
            part = _even(edges[k], edges[k + 1], _chord(rate, self.tolerance), self.kind)
            parts.append(part[:-1])
        return np.concatenate([*parts, [last]])


def _chord(rate: float, tolerance: float) -> float:
    """How long a chord may be: a curve of second derivative b leaves it by b·h²/8."""
    return float(np.sqrt(8 * tolerance) / rate)


def _even(first: float, last: float, step: float, kind: str) -> Vector:
    count = require_few_corners(np.ceil((last - first) / step), kind)
    return np.linspace(first, last, max(count, 1) + 1)
