"""A frequency response over whole periods of a periodic input: no leakage, scatter as error."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Complex, Indices, Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.frequency.spectra import Spectra, positive

ALIKE = 0.05  # mean square by which periods may differ, relative to the signal's variance
UNEXCITED_LINE = 1e-6  # power of a line relative to the strongest one: not excited
CLEAR = 9.0  # power of a line over the power of its own scatter: excited
WHOLE = 0.02  # samples by which a period may miss a whole number


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
    found = lines[(mean > UNEXCITED_LINE * mean.max(initial=0.0)) & (mean > CLEAR * scatter)]
    if not len(found):
        raise ExperimentError("W058", "the input does not change: there is nothing to respond to")
    return np.asarray(found, np.int64)
