"""Shape: what the distribution of residuals looks like where it is not Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector

APART = 4.0  # distance of two levels in their own spread; halves of a uniform one are 3.5 apart
RARE = 0.1  # least share of a level
PASSES = 200


@dataclass(frozen=True)
class TwoLevels:
    """Two levels about which residuals lie, and how wide they are around them."""

    low: float
    high: float
    spread: float
    share: float  # of the lower one


def moments(e: Vector) -> tuple[float, float]:
    """(skewness, excess kurtosis); both zero for Gaussian noise."""
    z = e - e.mean()
    variance = float(np.mean(z**2))
    if variance == 0:
        return 0.0, 0.0
    return float(np.mean(z**3)) / variance**1.5, float(np.mean(z**4)) / variance**2 - 3


def two_levels(e: Vector) -> TwoLevels | None:
    """Two Gaussians of one width, by expectation maximisation; None where they are one hump."""
    low, high = float(np.percentile(e, 20)), float(np.percentile(e, 80))
    spread, share = float(e.std()) / 2, 0.5
    if spread == 0:
        return None
    floor = 1e-3 * spread
    for _ in range(PASSES):
        odds = ((e - low) ** 2 - (e - high) ** 2) / (2 * spread**2)
        weight = 1 / (1 + (1 - share) / share * np.exp(np.clip(odds, -500, 500)))
        share_new = float(weight.mean())
        if not RARE / 2 < share_new < 1 - RARE / 2:
            return None
        before = low, high
        low = float(weight @ e) / (share_new * len(e))
        high = float((1 - weight) @ e) / ((1 - share_new) * len(e))
        square = weight @ (e - low) ** 2 + (1 - weight) @ (e - high) ** 2
        spread, share = max(math.sqrt(float(square) / len(e)), floor), share_new
        if abs(low - before[0]) + abs(high - before[1]) < 1e-9 * (high - low):
            break
    if (high - low) < APART * spread or not RARE < share < 1 - RARE:
        return None
    return TwoLevels(low, high, spread, share)


def in_words(e: Vector) -> str:
    """The shape of a distribution that is not Gaussian."""
    skewness, kurtosis = moments(e)
    size = math.sqrt(24 / max(len(e), 1))
    if kurtosis > 2 * size:
        said = "they have heavier tails than Gaussian noise"
    elif kurtosis < -2 * size:
        said = "they are flatter than Gaussian noise, as rounded or bounded signals are"
    else:
        said = "their histogram is not a bell"
    if abs(skewness) > 2 * math.sqrt(6 / max(len(e), 1)):
        said += f" and lean to the {'positive' if skewness > 0 else 'negative'} side"
    return said
