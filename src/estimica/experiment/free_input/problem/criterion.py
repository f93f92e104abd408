"""Criteria of an experiment: one number for the information that it holds, with its derivative.

With the information M about all unknowns, relative to their values, and C the block of M⁻¹ that
belongs to the named tuners, the others being unknown too:

D: (1/2n) log det C,  A: ½ log(Σ w²C_ii / Σ w²),  E: ½ log λ_max(WCW),  R: ½ log(λ_max/λ_min).

All are logarithms of a relative standard error (of R: of a ratio), the smaller the better. E and R
are smoothed while they are searched: λ_max ≈ (tr Cᵖ)^(1/p).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from estimica.base.arrays import Indices, Vector

Name = Literal["D", "A", "E", "R"]

#: p of the smoothed largest eigenvalue: n that are equal are seen as n^(1/p) times as large, so
#: that the standard error of three tuners is at most 2.8 % too large to the search, and none in
#: results
POWER = 20.0
#: smallest eigenvalue of M, scaled to a unit diagonal, relative to the largest: below, its inverse
#: is rounding (2.2e-16 times the number of unknowns)
SINGULAR = 1e-14


@dataclass(frozen=True, eq=False)
class ExperimentCriterion:
    """A criterion over the unknowns `named`, each with a weight."""

    name: Name
    named: Indices  # places of the tuners that count
    weights: Vector

    def value(self, M: Vector) -> float:
        """The criterion of the information M, exact; infinite where M is singular."""
        C = covariance(M)
        if C is None:
            return np.inf
        block = C[np.ix_(self.named, self.named)]
        if self.name == "D":
            return float(np.linalg.slogdet(block)[1]) / (2 * len(block))
        if self.name == "A":
            return 0.5 * float(np.log(self.weights**2 @ np.diag(block) / np.sum(self.weights**2)))
        values = np.linalg.eigvalsh(self.weights[:, None] * block * self.weights)
        spread = values[-1] / values[0] if self.name == "R" else values[-1]
        return 0.5 * float(np.log(spread))

    def slope(self, M: Vector) -> tuple[float, Vector] | None:
        """(value, d value / dM), smoothed; None where M is singular."""
        C = covariance(M)
        if C is None:
            return None
        block = C[np.ix_(self.named, self.named)]
        value, by_block = self._of_block(block)
        by_C = np.zeros_like(C)
        by_C[np.ix_(self.named, self.named)] = by_block
        return value, -C @ by_C @ C

    def _of_block(self, C: Vector) -> tuple[float, Vector]:
        n, w = len(C), self.weights
        if self.name == "D":
            return float(np.linalg.slogdet(C)[1]) / (2 * n), np.linalg.inv(C) / (2 * n)
        if self.name == "A":
            total = float(w**2 @ np.diag(C))
            return 0.5 * float(np.log(total / np.sum(w**2))), np.diag(w**2) / (2 * total)
        scaled = w[:, None] * C * w
        value, slope = _largest(scaled)
        if self.name == "R":
            inverse = np.asarray(np.linalg.inv(scaled), np.float64)
            other, bend = _largest(inverse)
            value, slope = value + other, slope - inverse @ bend @ inverse
        return 0.5 * value, 0.5 * w[:, None] * slope * w


def _largest(C: Vector) -> tuple[float, Vector]:
    """(1/p) log tr Cᵖ and its derivative."""
    values, vectors = np.linalg.eigh(C)
    share = (values / values[-1]).clip(0) ** POWER
    total = float(share.sum())
    slope = (vectors * (share / values.clip(1e-300) / total)) @ vectors.T
    return float(np.log(values[-1])) + np.log(total) / POWER, slope


def covariance(M: Vector) -> Vector | None:
    """M⁻¹, or None where M is singular."""
    size = np.sqrt(np.diag(M))
    if not (np.isfinite(M).all() and (size > 0).all()):
        return None
    values, vectors = np.linalg.eigh(M / size / size[:, None])
    if values[0] < SINGULAR * values[-1]:
        return None
    inverse: Vector = (vectors / values) @ vectors.T / size / size[:, None]
    return inverse
