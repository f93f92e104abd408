"""Swing: the autocovariance of noise that swings through zero, as no sum of memories does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.covariance.block_length import correlation_length
from estimica.infer.covariance.grid import (
    GriddedResiduals,
    lagged_products,
    removed_by_fit,
    toeplitz_product,
)

#: rounds in which what the fit has taken from the noise is put back: with the second the variance
#: of white noise is SSR/(N − p) up to (p/N)², further ones change intervals by less than 1 %
ROUNDS = 2
CLEARLY = 3.0  # standard deviations below zero, which 1 % of noise that does not swing reaches
#: memories of swinging noise that the window reaches over: it halves γ after 0.37 of its length
WINDOW = 3
SHORT = 10  # lags behind the cut that are looked at in any case


def swings(
    blocks: Sequence[GriddedResiduals], inverse: Vector, freedom: float
) -> list[Vector | None]:
    """γ of each block whose noise swings; `freedom` is the share of it that the fit leaves."""
    raw = [lagged_products(b.residual, b.residual, b.most) for b in blocks]
    found = [_cut(b, s / freedom) for b, s in zip(blocks, raw, strict=True)]
    for _ in range(ROUNDS):
        inner = sum(
            b.jacobian.T @ toeplitz_product(v, b.jacobian)
            for b, (v, _) in zip(blocks, found, strict=True)
        )
        middle = inverse @ inner @ inverse
        # passed again rather than kept: of long records there may be no room for all
        found = [
            _cut(b, s + removed_by_fit(b, toeplitz_product(v, b.jacobian), inverse, middle, b.most))
            for b, s, (v, _) in zip(blocks, raw, found, strict=True)
        ]
    return [value if swung else None for value, swung in found]


def _cut(block: GriddedResiduals, sums: Vector) -> tuple[Vector, bool]:
    """γ up to the first pair of lags whose sum is not positive (Geyer, Statist. Science 7, 1992).

    Further lags are chance, unless the noise swings: then what follows that pair counts too, as
    far as it is more than chance (Politis and White, Econometric Reviews 23, 2004).
    """
    value = sums * block.share[: len(sums)] / max(block.count, 1)
    even = len(value) // 2 * 2
    negative = np.flatnonzero(value[0:even:2] + value[1:even:2] <= 0)
    cut = max(2 * int(negative[0]) if len(negative) else even, 1)
    if not value[0] > 0 or not _below(value / value[0], cut, block.count):
        return value[:cut].copy(), False
    # while it swings through zero, a quarter of a period looks like chance
    end = WINDOW * correlation_length(value / value[0], block.count, run=2 * cut)
    lags = np.arange(min(end, len(value) - 1) + 1)
    return value[: len(lags)] * parzen(lags / max(lags[-1], 1)), True


def parzen(x: Vector) -> Vector:
    """Parzen's window, whose spectrum is nowhere negative."""
    near, far = 1 - 6 * x**2 * (1 - x), 2 * np.clip(1 - x, 0.0, 1.0) ** 3
    return np.where(x <= 0.5, near, far)


def _below(correlation: Vector, cut: int, count: int) -> bool:
    """Whether the correlation falls clearly below zero behind the cut, by Bartlett's formula."""
    following = correlation[cut : 4 * cut + SHORT]
    spread = np.sqrt((1 + 2 * np.sum(correlation[1:cut] ** 2)) / max(count, 1))
    return bool(len(following) and following.min() < -CLEARLY * spread)
