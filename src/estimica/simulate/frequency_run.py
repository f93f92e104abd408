"""FrequencyRun: transfers at given frequencies as real numbers, with their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ModelError

_TEXT = "all frequencies computed"


@dataclass(frozen=True, eq=False)
class FrequencyRun:
    """Re and Im of every transfer at all frequencies; `text` says what went wrong if not `ok`."""

    times: Vector  # ω in rad/s
    Y: Vector  # (N, 2k): Re, Im of the first transfer, Re, Im of the next, …
    YS: Vector  # (N, 2k, m)
    ok: bool = True
    text: str = _TEXT

    @staticmethod
    def of(omega: Vector, G: Complex, dG: Complex) -> FrequencyRun:
        """From the transfers (N, k) and their derivatives (N, k, m)."""
        N, k, m = dG.shape
        Y = np.stack([G.real, G.imag], axis=2).reshape(N, 2 * k)
        YS = np.stack([dG.real, dG.imag], axis=2).reshape(N, 2 * k, m)
        if not (np.isfinite(Y).all() and np.isfinite(YS).all()):
            return FrequencyRun.failed(omega, k, m, "the frequency response is not finite")
        return FrequencyRun(omega, Y, YS)

    @staticmethod
    def failed(omega: Vector, k: int, m: int, why: str) -> FrequencyRun:
        """What cannot be computed, with the reason."""
        N = len(omega)
        return FrequencyRun(
            omega, np.full((N, 2 * k), np.nan), np.full((N, 2 * k, m), np.nan), False, why
        )


def checked_frequencies(omega: Sequence[float] | Vector) -> Vector:
    """Angular frequencies that a user gave: at least one, all finite and none negative."""
    frequencies = np.atleast_1d(np.asarray(omega, np.float64))
    if not frequencies.size:
        raise ModelError("M151", "no frequencies; give at least one")
    bad = np.flatnonzero(~(np.isfinite(frequencies) & (frequencies >= 0)))
    if bad.size:
        raise ModelError(
            "M152", f"the frequency {frequencies[bad[0]]:g} rad/s must be finite and ≥ 0"
        )
    return frequencies
