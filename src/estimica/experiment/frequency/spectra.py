"""Spectra: a frequency response before the input's hold is looked at, by one of two methods.

Over whole periods of a periodic input there is no leakage, and the scatter tells the error.
Welch's averages (H1) take any input; the coherence tells the uncertainty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Complex, Indices, Vector
from estimica.base.errors import ExperimentError

#: mean square by which periods may differ, relative to the signal's variance. Chosen: noise of a
#: measured input with a fifth of its size still lets the period be found
ALIKE = 0.05
#: power of a line relative to the strongest one: not excited. Chosen: a thousandth in amplitude
UNEXCITED_LINE = 1e-6
CLEAR = 9.0  # power of a line over that of its own scatter, three standard deviations: excited
#: samples by which a period may miss a whole number. Chosen: periods are given with few digits, and
#: over ten of them a fifth of a sample is lost
WHOLE = 0.02
#: of a record, before they overlap by half: 15 averages. Chosen: more would cost resolution
SEGMENTS = 8
#: Squared correlation of the spectra of neighbouring Hann windows that overlap by half (P. D. Welch
#: 1967): Σ w(t)·w(t + N/2) / Σ w² is (1/16)/(3/8) = 1/6.
SHARED = 1 / 36
#: power of the input relative to its strongest frequency: not excited. Chosen: above the leakage of
#: a Hann window, far from its line
UNEXCITED_FREQUENCY = 1e-8


@dataclass(frozen=True, eq=False)
class Spectra:
    """The ratio of sampled output and sampled input; for the fields see FrequencyEstimate."""

    frequency: Vector
    G: Complex
    stderr: Vector
    coherence: Vector
    freedom: float
    averages: float
    text: str


def positive(name: str, value: float) -> float:
    """A length of time that a user gave."""
    if not (math.isfinite(value) and value > 0):
        raise ExperimentError("W055", f"{name} {value:g} must be positive, in seconds")
    return value


def spectra_over_periods(
    u: Vector, y: Vector, step: float, period: float | None, settle: float | None
) -> Spectra:
    """Ratio of mean spectra at the lines that the input excites."""
    n = _found(u) if period is None else _given(period, step)
    whole = len(u) // n
    left = 0.0 if settle is None else settle
    skipped = int(np.ceil(left / step - 1e-9)) if settle is not None else (n if whole >= 3 else 0)
    count = (len(u) - skipped) // n
    if count < 2:
        raise ExperimentError(
            "W056",
            f"the period of {n * step:g} s fits {max(count, 0)} times into the "
            f"{(len(u) - skipped) * step:g} s that are used; the scatter from period to "
            "period needs two or more",
        )
    first = len(u) - count * n  # the last ones: there what was at the beginning has died out
    U, Y = (np.fft.rfft(v[first:].reshape(count, n), axis=1) for v in (u, y))
    mean_u, mean_y = U.mean(axis=0), Y.mean(axis=0)
    lines = _excited(U, n)
    G = mean_y[lines] / mean_u[lines]
    missed = Y[:, lines] - G * U[:, lines]  # errors of both signals
    variance = np.sum(np.abs(missed) ** 2, axis=0) / (count - 1)
    power = np.abs(mean_u[lines]) ** 2
    stderr = np.sqrt(variance / (2 * count * power))
    explained = np.abs(G) ** 2 * power
    coherence = explained / (explained + variance)
    text = f"{count} periods of {n * step:.6g} s ({n} samples) after {first * step:.6g} s"
    return Spectra(lines / (n * step), G, stderr, coherence, 2.0 * (count - 1), float(count), text)


def _given(period: float, step: float) -> int:
    samples = positive("period", period) / step
    n = round(samples)
    if n < 2 or abs(samples - n) > WHOLE:
        raise ExperimentError(
            "W057",
            f"the period {period:g} s is {samples:.6g} samples of {step:g} s; it must be a whole "
            "number of them, or there is leakage",
        )
    return n


def _found(u: Vector) -> int:
    """The shortest shift by which the input repeats itself."""
    centred = u - u.mean()
    N, variance = len(u), float(centred @ centred) / len(u)
    if variance == 0:
        raise ExperimentError("W058", "the input does not change: there is nothing to respond to")
    spectrum = np.fft.rfft(centred, 2 * N)
    overlap = np.fft.irfft(np.abs(spectrum) ** 2)[: N // 2 + 1]
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    shift = np.arange(N // 2 + 1)
    total = squares[N - shift] + squares[N] - squares[shift]
    apart = (total - 2 * overlap) / (2 * variance * (N - shift))  # 0 alike, 1 unlike
    inner = np.arange(2, N // 2 + 1)
    best = float(apart[inner].min())
    if best > ALIKE:
        raise ExperimentError(
            "W059",
            "no period of the input was found within half of the record; give it with period=, or "
            "use method 'welch'",
        )
    good = inner[apart[inner] <= max(3 * best, 1e-9)]
    run = good[: np.argmax(np.append(np.diff(good) > 1, True)) + 1]  # the first such stretch
    return int(run[np.argmin(apart[run])])


def _excited(U: Complex, n: int) -> Indices:
    """Lines between zero and the Nyquist frequency at which there is input."""
    lines = np.arange(1, (n + 1) // 2)
    mean = np.abs(U.mean(axis=0)[lines]) ** 2
    scatter = np.var(U[:, lines], axis=0, ddof=1) / len(U)
    excited = lines[(mean > UNEXCITED_LINE * mean.max(initial=0.0)) & (mean > CLEAR * scatter)]
    if not len(excited):
        raise ExperimentError("W058", "the input does not change: there is nothing to respond to")
    return np.asarray(excited, np.int64)


def spectra_by_welch(
    u: Vector, y: Vector, step: float, settle: float | None, segment: float | None
) -> Spectra:
    """H1 = S_yu/S_uu over stretches with a Hann window that overlap by half.

    Of n independent stretches E|ΔG|² = |G|² (1 − γ²)/γ² /(n − 1), γ² the coherence.
    """
    first = 0 if settle is None else int(np.ceil(settle / step - 1e-9))
    u, y = u[first:], y[first:]
    length = len(u) // SEGMENTS if segment is None else round(positive("segment", segment) / step)
    if length < 8:
        raise ExperimentError(
            "W090",
            f"a segment of {length} samples is too short; take at least 8, or a longer record",
        )
    count = 0
    if length <= len(u):
        U, Y = _segments(u, y, length)
        count = len(U)
    if count < 3:
        raise ExperimentError(
            "W091",
            f"segments of {length * step:g} s fit {count} times into the record, half overlapping "
            "and without gaps; the coherence needs three or more, so take shorter ones",
        )
    S_uu, S_yy = np.mean(np.abs(U) ** 2, axis=0), np.mean(np.abs(Y) ** 2, axis=0)
    S_yu = np.mean(Y * U.conj(), axis=0)
    # the window lets the mean leak into the first line, and the last one is real
    lines = np.arange(2, (length + 1) // 2)
    lines = lines[S_uu[lines] > UNEXCITED_FREQUENCY * S_uu[lines].max(initial=0.0)]
    if not len(lines):
        raise ExperimentError("W058", "the input does not change: there is nothing to respond to")
    G = S_yu[lines] / S_uu[lines]
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = np.abs(S_yu[lines]) ** 2 / (S_uu[lines] * S_yy[lines])
    coherence = np.clip(np.where(np.isfinite(plain), plain, 1.0), 0.0, 1.0)
    independent = count / (1 + 2 * SHARED * (count - 1) / count)
    left = np.maximum(S_yy[lines] * (1 - coherence), 0.0)  # what the input does not explain
    stderr = np.sqrt(left / (2 * S_uu[lines] * (independent - 1)))
    text = f"{count} segments of {length * step:.6g} s with a Hann window, half overlapping"
    return Spectra(
        lines / (length * step), G, stderr, coherence, 2 * (independent - 1), independent, text
    )


def _segments(u: Vector, y: Vector, length: int) -> tuple[Complex, Complex]:
    """Spectra of all stretches without gaps, each without its mean."""
    begins = range(0, len(u) - length + 1, max(length // 2, 1))
    pairs = [(u[b : b + length], y[b : b + length]) for b in begins]
    whole = [p for p in pairs if np.isfinite(p[0]).all() and np.isfinite(p[1]).all()]
    window = np.hanning(length + 1)[:-1]
    stacked = np.array(whole).reshape(len(whole), 2, length)
    stacked = (stacked - stacked.mean(axis=2, keepdims=True)) * window
    spectra = np.fft.rfft(stacked, axis=2)
    return spectra[:, 0], spectra[:, 1]
