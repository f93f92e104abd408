"""A frequency response by Welch's averages: H1, with the uncertainty that the coherence tells."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.frequency.spectra import Spectra, positive

SEGMENTS = 8  # of a record, before they overlap by half
#: squared correlation of the spectra of neighbouring Hann windows that overlap by half
SHARED = 1 / 36
UNEXCITED_FREQUENCY = 1e-8  # power of the input relative to its strongest frequency: not excited


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
