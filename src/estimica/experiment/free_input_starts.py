"""Starts of a search: the best square wave, which is also what a design is compared with, and
other signals that move a process in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.signals import Hold, Signal
from estimica.experiment.binary import PRBS
from estimica.experiment.corners import Square
from estimica.experiment.free_input_limits import KEPT, Limits, energy_of
from estimica.experiment.free_input_plan import Plan
from estimica.experiment.sines import Chirp, Sine
from estimica.experiment.waveform import Waveform

Vector = npt.NDArray[np.float64]
Score = Callable[[Mapping[str, Signal]], float]
COARSE = 24  # frequencies of the first look
FINE = 7  # and of each closer look
LOOKS = 3
SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the largest amplitude


@dataclass(frozen=True, eq=False)
class Reference:
    """A signal of a class, what it is called, and its criterion."""

    text: str
    signals: Mapping[str, Signal]
    score: float


def best_wave(plan: Plan, limits: Limits, score: Score, kept: Callable[..., bool]) -> Reference:
    """The best square wave over frequency and amplitude, each input with a frequency of its own.

    It lies around the middle of the limits and is sampled at every sample, however long the pieces
    of the design are. Where the rate is limited it is a sine.
    """
    waves = _Waves(plan, limits, score, kept)
    frequencies = waves.first()
    share = SHARES[0]
    for _ in range(LOOKS):
        frequencies = waves.closer(frequencies, share)
        share = waves.amplitude(frequencies)
    return waves.best


class _Waves:
    """All waves that were tried, and the best so far."""

    def __init__(self, plan: Plan, limits: Limits, score: Score, kept: Callable[..., bool]) -> None:
        self._plan, self._limits, self._score, self._kept = plan, limits, score, kept
        self._low = 0.5 / plan.bench.duration
        self._high = 0.25 / plan.bench.step
        self._width = (self._high / self._low) ** (1 / (COARSE - 1))
        self._sine = bool(np.isfinite(limits.rate).any())
        self._seen: dict[tuple[float, ...], float] = {}
        self.best = Reference(
            "no wave", self._signals(np.full(len(limits.rate), self._low), 0), np.inf
        )

    def first(self) -> Vector:
        """The best of a grid of frequencies, the same for all inputs or, of two, any pair."""
        grid = np.geomspace(self._low, self._high, COARSE)
        count = len(self._limits.rate)
        pairs = [np.full(count, f) for f in grid]
        if count == 2:
            some = grid[:: COARSE // 8]
            pairs += [np.array([a, b]) for a in some for b in some]
        elif count > 2:
            pairs += [f * 1.3 ** np.arange(count) for f in grid]
        return min(pairs, key=lambda f: self._try(f, 1.0))

    def closer(self, around: Vector, share: float) -> Vector:
        """Look at neighbours of each frequency, one input after the other."""
        best = around
        for k in range(len(around)):
            for step in np.geomspace(1 / self._width, self._width, FINE):
                other = best.copy()
                other[k] = np.clip(around[k] * step, self._low, 2 * self._high)
                if self._try(other, share) < self._try(best, share):
                    best = other
        self._width **= 0.4
        return best

    def amplitude(self, frequencies: Vector) -> float:
        """The best share of the largest amplitude."""
        return min(SHARES, key=lambda share: self._try(frequencies, share))

    def _try(self, frequencies: Vector, share: float) -> float:
        key = (*map(float, frequencies), share)
        if key not in self._seen:
            signals = self._signals(frequencies, share)
            value = self._score(signals) if self._kept(signals) else np.inf
            self._seen[key] = value if np.isfinite(value) else np.inf
            if self._seen[key] < self.best.score:
                text = self._text(frequencies, share)
                self.best = Reference(text, signals, self._seen[key])
        return self._seen[key]

    def _signals(self, frequencies: Vector, share: float) -> dict[str, Signal]:
        found = {}
        for k, (name, f) in enumerate(zip(self._plan.designed, frequencies, strict=True)):
            kind = Sine if self._sine else Square
            amplitude = share * self._largest(k, f)
            wave = kind(float(f), amplitude=amplitude, offset=float(self._limits.middle[k]))
            found[name] = wave.held(self._plan.times)
        return found

    def _largest(self, k: int, frequency: float) -> float:
        """The largest amplitude by bounds, rate and energy."""
        limits = self._limits
        most = float(limits.reach[k])
        if np.isfinite(limits.energy[k]):
            apart = (limits.middle[k] - limits.offset[k]) ** 2
            power = 0.5 if self._sine else 1.0
            most = min(most, float(np.sqrt(max(limits.energy[k] - apart, 0) / power)))
        if np.isfinite(limits.rate[k]):
            most = min(most, float(limits.rate[k] / (2 * np.pi * frequency)))
        return most * (1 - KEPT)

    def _text(self, frequencies: Vector, share: float) -> str:
        kind = "sine" if self._sine else "square wave"
        listed = ", ".join(f"{f:.4g}" for f in frequencies)
        sizes = ", ".join(f"{share * self._largest(k, f):.4g}" for k, f in enumerate(frequencies))
        return f"best {kind}: {listed} Hz, amplitude {sizes}"


def candidates(
    plan: Plan, limits: Limits, reference: Reference, seed: int
) -> Iterator[tuple[str, Vector]]:
    """(name, free numbers) of many inputs from which a search may start."""
    yield reference.text, pieced(plan, reference.signals)
    duration, step = plan.bench.duration, float(plan.lengths.min())
    longest = max(int(np.log2(max(duration / (8 * step), 1))), 0)
    for k in range(longest + 1):
        clock = step * 2.0**k
        yield (
            f"PRBS of {clock:g} s",
            _each(plan, limits, lambda i, c=clock: PRBS(9, c, shift=37 * i, begin=plan.times[0])),
        )
    for top in (0.5, 0.25, 0.1):
        low, high = 1 / duration, max(top / step, 2 / duration)
        yield (
            f"chirp to {high:.3g} Hz",
            _each(
                plan,
                limits,
                lambda i, a=low, b=high: Chirp(
                    a, b * 0.8**i, duration, sweep="log", begin=plan.times[0]
                ),
            ),
        )
    random = np.random.default_rng(seed)
    shape = (len(plan.designed), len(plan.stamps))
    for k in range(6):
        slow = random.standard_normal(shape)
        keep = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)[k]
        for j in range(1, shape[1]):
            slow[:, j] = keep * slow[:, j - 1] + np.sqrt(1 - keep**2) * slow[:, j]
        shaped = limits.middle[:, None] + limits.reach[:, None] * np.tanh(1.5 * slow)
        yield f"random {k + 1}", within(plan, limits, shaped.ravel())


def _each(plan: Plan, limits: Limits, wave: Callable[[int], Waveform]) -> Vector:
    rows = [
        limits.middle[k] + limits.reach[k] * wave(k).samples(plan.stamps)
        for k in range(len(plan.designed))
    ]
    return within(plan, limits, np.concatenate(rows))


def pieced(plan: Plan, signals: Mapping[str, Signal]) -> Vector:
    """A signal as pieces: its mean over the samples of each."""
    first = np.searchsorted(plan.times, plan.stamps - 1e-9 * plan.bench.step)
    counts = np.diff(np.append(first, len(plan.times)))
    rows = [np.add.reduceat(signals[n].at(plan.times), first) / counts for n in plan.designed]
    return np.concatenate(rows)


def within(plan: Plan, limits: Limits, u: Vector) -> Vector:
    """Free numbers pulled towards the middle until bounds, rates and energy are kept."""
    rows = plan.shaped(u).copy()
    samples = plan.lengths / plan.lengths.sum()
    for k, row in enumerate(rows):
        middle, lower, upper = limits.middle[k], limits.lower[k], limits.upper[k]
        row[:] = np.clip(row, lower, upper)
        if np.isfinite(limits.rate[k]):
            row[:] = _slowed(row, limits.rate[k] * plan.lengths)
        if np.isfinite(limits.energy[k]):
            row[:] = _tamed(row, middle, limits.offset[k], limits.energy[k], samples)
    return rows.ravel()


def _slowed(row: Vector, most: Vector) -> Vector:
    """Follows a course as fast as it may, where it is too fast for that."""
    found = row.copy()
    for k in range(1, len(row)):
        found[k] = np.clip(row[k], found[k - 1] - most[k - 1], found[k - 1] + most[k - 1])
    return found


def _tamed(row: Vector, middle: float, offset: float, most: float, share: Vector) -> Vector:
    """Drawn to the middle, or to the offset where that is not enough, until its energy is kept."""
    if share @ (row - offset) ** 2 <= most:
        return row
    centre = middle if (middle - offset) ** 2 < 0.5 * most else offset
    a = float(share @ (row - centre) ** 2)
    b = 2 * float(share @ (row - centre)) * (centre - offset)
    c = (centre - offset) ** 2 - most
    factor = (-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    found: Vector = centre + min(max(factor, 0.0), 1.0) * (row - centre)
    return found


def reference_of(plan: Plan, text: str, samples: Mapping[str, Vector], score: Score) -> Reference:
    """A given signal, sampled, as what a design is compared with."""
    signals = {n: Signal(plan.times, v, Hold.PREVIOUS) for n, v in samples.items()}
    return Reference(text, signals, score(signals))


def energies(plan: Plan, signals: Mapping[str, Signal], limits: Limits) -> Vector:
    """The energy of each designed input."""
    return np.array(
        [
            energy_of(signals[n].at(plan.times), float(limits.offset[k]))
            for k, n in enumerate(plan.designed)
        ]
    )
