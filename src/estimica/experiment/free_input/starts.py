"""Starts of a search, and the last moves after it.

The best square wave is a start and what a design is compared with; other starts move a process in
many ways. The best inputs often lie on their bounds most of the time; a search by gradients ends
at one of many such courses, of which neighbours may be better: single pieces are moved to a bound
or to a neighbour's value while that is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.signals import Hold, Signal
from estimica.experiment.design.signal_class import CandidateContext, require_class, signals_of
from estimica.experiment.free_input.problem.limits import KEPT, Limits, energy_of
from estimica.experiment.free_input.problem.plan import Plan
from estimica.experiment.free_input.problem.search import Search
from estimica.experiment.waveforms.base import Waveform
from estimica.experiment.waveforms.sines import Chirp, Sine
from estimica.experiment.waveforms.straight import PRBS, Square
from estimica.study.tables.input_design import InputDesignTable, values_of

Score = Callable[[Mapping[str, Signal]], float]
# all chosen: each number multiplies the simulations of a start, and the search improves it anyhow
COARSE = 24  # frequencies of the first look at several inputs
DENSE = 80  # and at a single one
FINE = 13  # and of each closer look
LOOKS = 3
SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the largest amplitude
FIRST_SHARES = (1.0, 0.5, 0.25)
SWEEPS = 3  # over all pieces of the input
WORTH = 1e-5  # of the criterion, below which a move is not a gain: the tolerance of the search


@dataclass(frozen=True, eq=False)
class Reference:
    """A signal of a class, what it is called, and its criterion."""

    text: str
    signals: Mapping[str, Signal]
    score: float


def best_wave(plan: Plan, limits: Limits, score: Score, kept: Callable[..., bool]) -> Reference:
    """The best square wave, each input with a frequency and an amplitude of its own.

    It lies around the middle of the limits and is sampled at every sample, however long the pieces
    of the design are. Where the rate is limited it is a sine.
    """
    waves = _Waves(plan, limits, score, kept)
    waves.first()
    for _ in range(LOOKS):
        waves.closer()
    return waves.best


class _Waves:
    """All waves that were tried, and the best so far."""

    def __init__(self, plan: Plan, limits: Limits, score: Score, kept: Callable[..., bool]) -> None:
        self._plan, self._limits, self._score, self._kept = plan, limits, score, kept
        self._low = 0.5 / plan.bench.duration
        self._high = 0.25 / plan.bench.step
        self._width = (self._high / self._low) ** (1 / (COARSE - 1))  # of closer looks
        self._sine = bool(np.isfinite(limits.rate).any())
        self._seen: dict[tuple[float, ...], float] = {}
        count = len(limits.rate)
        self._at = np.full(count, self._low), np.ones(count)  # frequencies and shares of the best
        self.best = Reference("no wave", self._signals(self._at[0], np.zeros(count)), np.inf)

    def first(self) -> None:
        """A grid of frequencies, the same for all inputs or, of two, any pair."""
        count = len(self._limits.rate)
        grid = np.geomspace(self._low, self._high, DENSE if count == 1 else COARSE)
        every = [np.full(count, f) for f in grid]
        if count == 2:
            some = grid[1 :: COARSE // 8]
            every += [np.array([a, b]) for a in some for b in some]
        elif count > 2:
            every += [f * 1.3 ** np.arange(count) for f in grid]
        shares = (
            product(FIRST_SHARES, repeat=count) if count <= 2 else [(s,) * count for s in SHARES]
        )
        for share in [np.array(s) for s in shares]:
            for frequencies in every:
                self._try(frequencies, share)

    def closer(self) -> None:
        """Look at neighbours of the best, one number after the other."""
        for k in range(len(self._limits.rate)):
            for step in np.geomspace(1 / self._width, self._width, FINE):
                frequencies, shares = self._at[0].copy(), self._at[1]
                frequencies[k] = np.clip(frequencies[k] * step, self._low, 2 * self._high)
                self._try(frequencies, shares)
            for share in {*SHARES, *np.clip(self._at[1][k] * np.array([0.85, 0.93, 1.08]), 0, 1)}:
                shares = self._at[1].copy()
                shares[k] = share
                self._try(self._at[0], shares)
        self._width **= 0.5

    def _try(self, frequencies: Vector, shares: Vector) -> None:
        key = (*map(float, frequencies), *map(float, shares))
        if key in self._seen:
            return
        signals = self._signals(frequencies, shares)
        value = self._score(signals)
        # limits cost a simulation of their own: only where it is worth it
        if not (np.isfinite(value) and value < self.best.score and self._kept(signals)):
            value = np.inf
        self._seen[key] = value
        if value < self.best.score:
            self._at = frequencies.copy(), shares.copy()
            self.best = Reference(self._text(frequencies, shares), signals, value)

    def _signals(self, frequencies: Vector, shares: Vector) -> dict[str, Signal]:
        signals = {}
        for k, (name, f) in enumerate(zip(self._plan.designed, frequencies, strict=True)):
            kind = Sine if self._sine else Square
            amplitude = float(shares[k]) * self._largest(k, f)
            wave = kind(float(f), amplitude=amplitude, offset=float(self._limits.middle[k]))
            signals[name] = wave.held(self._plan.times)
        return signals

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

    def _text(self, frequencies: Vector, shares: Vector) -> str:
        kind = "sine" if self._sine else "square wave"
        listed = ", ".join(f"{f:.4g}" for f in frequencies)
        sizes = ", ".join(
            f"{shares[k] * self._largest(k, f):.4g}" for k, f in enumerate(frequencies)
        )
        return f"best {kind}: {listed} Hz, amplitude {sizes}"


def best_of_class(
    plan: Plan, table: InputDesignTable, score: Score, kept: Callable[..., bool]
) -> Reference:
    """The best of the class of signals that a table varies, among those that keep the limits."""
    here = CandidateContext(plan.bench, table)
    require_class(here)
    best = Reference("no signal", {}, np.inf)
    for settings in _settings(table):
        try:
            signals = signals_of(here, settings)
        except ExperimentError:
            continue
        value = score(signals) if kept(signals) else np.inf
        if value < best.score:
            told = ", ".join(f"{n} {v:.5g}" for n, v in settings.items())
            best = Reference(f"best {table.signal}: {told}", signals, value)
    if not np.isfinite(best.score):
        raise ExperimentError(
            "W215",
            f"no {table.signal} of those in vary keeps the limits and tells the tuners apart; "
            "vary its amplitude too, or leave vary out",
        )
    return best


def _settings(table: InputDesignTable) -> Iterator[dict[str, float]]:
    grids = {n: values_of(g) for n, g in table.vary.items()}
    for combination in product(*grids.values()):
        yield dict(zip(grids, combination, strict=True))


def candidates(
    plan: Plan, limits: Limits, reference: Reference, seed: int
) -> Iterator[tuple[str, Vector]]:
    """(name, free numbers) of many inputs from which a search may start."""
    yield reference.text, pieced(plan, reference.signals)
    duration, step = plan.bench.duration, float(plan.lengths.min())
    longest = max(int(np.log2(max(duration / (8 * step), 1))), 0)
    begin = float(plan.times[0])
    for k in range(longest + 1):
        clock = step * 2.0**k
        shifted = [PRBS(9, clock, shift=37 * i, begin=begin) for i in range(len(plan.designed))]
        yield f"PRBS of {clock:g} s", _each(plan, limits, shifted)
    for top in (0.5, 0.25, 0.1):  # over a piece: up to the fastest that pieces can be, and slower
        low, high = 1 / duration, max(top / step, 2 / duration)
        swept = [
            Chirp(low, high * 0.8**i, duration, sweep="log", begin=begin)
            for i in range(len(plan.designed))
        ]
        yield f"chirp to {high:.3g} Hz", _each(plan, limits, swept)
    random = np.random.default_rng(seed)
    shape = (len(plan.designed), len(plan.stamps))
    for k in range(6):
        slow = random.standard_normal(shape)
        keep = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)[k]
        for j in range(1, shape[1]):
            slow[:, j] = keep * slow[:, j - 1] + np.sqrt(1 - keep**2) * slow[:, j]
        shaped = limits.middle[:, None] + limits.reach[:, None] * np.tanh(1.5 * slow)
        yield f"random {k + 1}", within(plan, limits, shaped.ravel())


def _each(plan: Plan, limits: Limits, waves: Sequence[Waveform]) -> Vector:
    rows = [
        limits.middle[k] + limits.reach[k] * wave.samples(plan.stamps)
        for k, wave in enumerate(waves)
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
    slowed = row.copy()
    for k in range(1, len(row)):
        slowed[k] = np.clip(row[k], slowed[k - 1] - most[k - 1], slowed[k - 1] + most[k - 1])
    return slowed


def _tamed(row: Vector, middle: float, offset: float, most: float, share: Vector) -> Vector:
    """Drawn to the middle, or to the offset where that is not enough, until its energy is kept."""
    if share @ (row - offset) ** 2 <= most:
        return row
    centre = middle if (middle - offset) ** 2 < 0.5 * most else offset
    a = float(share @ (row - centre) ** 2)
    b = 2 * float(share @ (row - centre)) * (centre - offset)
    c = (centre - offset) ** 2 - most
    factor = (-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    tamed: Vector = centre + min(max(factor, 0.0), 1.0) * (row - centre)
    return tamed


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


def polished(search: Search, u: Vector, kept: Callable[[Vector], bool], until: float) -> Vector:
    """`u`, or a better course near it that keeps all limits."""
    plan, limits = search.plan, search.limits
    if np.isfinite(limits.rate).any():
        return u  # one piece alone can hardly move
    best, value = u, search.value(u)
    pieces = len(plan.stamps)
    for _ in range(SWEEPS):
        before = value
        for j in range(plan.n):
            k, piece = divmod(j, pieces)
            near = [best[j + d] for d in (-1, 1) if 0 <= piece + d < pieces]
            for level in {*near, limits.lower[k], limits.upper[k]}:
                if not np.isfinite(level) or abs(level - best[j]) < 1e-3 * limits.reach[k]:
                    continue
                if perf_counter() > until:
                    return best
                moved = best.copy()
                moved[j] = level
                moved = within(plan, limits, moved)
                criterion = search.value(moved)
                if criterion < value - WORTH and kept(moved):
                    best, value = moved, criterion
        if before - value < 10 * WORTH:
            break
    return best
