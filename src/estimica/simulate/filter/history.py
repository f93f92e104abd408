"""StateHistory: what is known of uncertain states at many times, and of noise between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Vector


@dataclass(frozen=True, eq=False)
class Estimate:
    """A vector that is uncertain, at many times: (N, n) and (N, n, n)."""

    mean: Vector
    covariance: Vector

    @property
    def deviation(self) -> Vector:
        """Standard deviations; rounding below zero is zero."""
        found: Vector = np.sqrt(np.maximum(np.einsum("kii->ki", self.covariance), 0.0))
        return found


@dataclass(frozen=True, eq=False)
class StateHistory:
    """States at the stamps, the begin of the record before them where it has no values."""

    times: Vector
    states: tuple[str, ...]
    predicted: Estimate  # from the values before the stamp
    filtered: Estimate  # from those up to it
    smoothed: Estimate  # from all
    #: of each interval between two times: what the noise has added to each state; its variance
    #: before anything was measured
    added: Estimate
    expected: Vector


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """What a run forward leaves behind, at M times."""

    filtered: Estimate
    predicted: Estimate
    e: Vector  # (M, ny)
    s: Vector
    given: Flags
    slopes: Vector  # (M, ny, n)
    measuring: Vector  # (M, ny)
    move: Vector  # (M, n, n), since the time before
    came: Vector
    grown: Vector  # (M, n)


@dataclass(frozen=True, eq=False)
class Ahead:
    """Predictions at N stamps: axis 1 is the horizon, 1 … k samples; where nothing was measured so
    many samples before, they are from the start of the record."""

    times: Vector
    outputs: Vector  # (N, k, ny)
    variances: Vector  # with the noise of measuring
    sure: Vector  # without it


@dataclass(frozen=True, eq=False)
class Path:
    """One course of the states and what would be measured of it."""

    times: Vector
    states: Vector  # (N, n)
    outputs: Vector  # (N, ny), without noise of measuring
    measured: Vector  # with it
