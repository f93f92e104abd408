"""Noise colour: the autocovariance of the noise, from the residuals that a fit has left of it.

A sum of memories where it dies away, a swing where it goes through zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.covariance.block_length import correlation_length
from estimica.infer.covariance.grid import (
    GriddedResiduals,
    folded,
    lagged_products,
    removed_by_fit,
    toeplitz_product,
)
from estimica.infer.covariance.linearisation import LinearisedFit
from estimica.infer.covariance.noise_memories import (
    Memories,
    Spectrum,
    explained,
    memories,
    spectrum,
)
from estimica.infer.covariance.white_frame import WhiteFrame

#: standard deviations of a cross-correlation, beyond which two outputs are disturbed together:
#: the highest of some twenty lags of independent noise stays below in 95 %
TOGETHER = 3.0
#: places up to which what a fit takes from every single memory is computed; of longer records it
#: takes the same share of all at one frequency, which costs intervals of 200 samples 3 % of their
#: coverage and those of 600 samples none
LONG = 4096
#: of its memory behind the lag that is told as the reach of the noise. Chosen: it is told in words
LEFT = 0.05


@dataclass(frozen=True, eq=False)
class Colour:
    """The autocovariance γ of one output's noise at lags 0, 1, … up to where it ends.

    Of noise that does not swing it is the mean of sums of memories; `scatters` is JᵀΓJ of each
    memory with weight one.
    """

    of: GriddedResiduals
    value: Vector
    memories: Memories | None = None
    scatters: Vector | None = None  # (K, n, n)

    @property
    def reach(self) -> int:
        """The lag behind which hardly any memory is left; 0 of white noise."""
        size = np.abs(self.value[1:])
        if not size.sum() > LEFT * abs(self.value[0]):
            return 0
        return 1 + int(np.searchsorted(np.cumsum(size), (1 - LEFT) * size.sum()))

    def scatter(self) -> Vector:
        """JᵀΓJ; of several sums of memories the geometric mean."""
        J = self.of.jacobian
        if self.memories is None or self.scatters is None:
            return np.asarray(J.T @ toeplitz_product(self.value, J))
        every = np.einsum("mk,kij->mij", self.memories.weights, self.scatters)
        return geometric_mean(self.memories.chance, every, J.T @ J)

    def variances(self, inverse: Vector) -> tuple[Vector, Vector]:
        """The variance of each unknown by this noise, and the variance of its logarithm."""
        if self.memories is None or self.scatters is None:
            follow = self.of.jacobian @ inverse
            return np.sum(follow * toeplitz_product(self.value, follow), axis=0), self._doubts(
                follow
            )
        return self.memories.doubts(np.einsum("ai,kij,ja->ka", inverse, self.scatters, inverse))

    def _doubts(self, follow: Vector) -> Vector:
        """2/ν of Σ w(l) γ(l) with ν = n (∫af)²/∫a²f², a the spectrum of the windowed weights w."""
        n, reach = len(follow), len(self.value) - 1
        window, value = np.zeros(n), np.zeros(n)
        window[: reach + 1] = parzen(np.arange(reach + 1) / max(reach, 1))
        value[: reach + 1] = self.value
        f, found = folded(value), []
        for column in follow.T:
            both = f * folded(lagged_products(column, column, n - 1) * window)
            square = n * float(np.mean(both)) ** 2
            found.append(2 * float(np.mean(both**2)) / square if square > 0 else 0.0)
        return np.array(found)


def geometric_mean(chance: Vector, scatters: Vector, white: Vector) -> Vector:
    """exp Σ p log M of matrices (M, n, n), relative to that of white noise.

    The arithmetic mean would be that of the longest memory, however unlikely it is.
    """
    frame = WhiteFrame.of(white)
    sizes, directions = np.linalg.eigh(frame.inside(scatters))
    logs = np.log(np.maximum(sizes, 1e-300))
    mean = np.einsum("m,mik,mk,mjk->ij", chance, directions, logs, directions)
    sizes, directions = np.linalg.eigh(mean)
    return frame.outside((directions * np.exp(sizes)) @ directions.T)


def colours(around: LinearisedFit, blocks: Sequence[GriddedResiduals]) -> list[Colour]:
    """The colour of every block's noise, what the fit has taken from it put back.

    Of noise n with covariance Γ a fit leaves (I − H)n with H = J G Jᵀ, G = (JᵀJ)⁻¹: the more
    slowly the noise changes, the more of it the unknowns can follow. Cases of one output with the
    same step have the same noise.
    """
    left = max(around.freedom / max(around.n_samples, 1.0), 0.05)
    swinging = swings(blocks, around.inverse, left)
    kinds = memories(max(b.size for b in blocks))
    scatters = [_scatters(b, kinds) for b in blocks]
    middle = around.inverse @ sum(scatters) @ around.inverse
    seen = [
        _spectrum(b, kinds, swung, around.inverse, middle)
        for b, swung in zip(blocks, swinging, strict=True)
    ]
    by_block: dict[int, Colour] = {}
    for places in _alike(blocks):
        shared = explained(Spectrum.joined([seen[k][0] for k in places]))
        mean = shared.mean @ kinds
        for k in places:
            (plain, other), swung = seen[k], swinging[k]
            by_block[k] = Colour(blocks[k], mean[: blocks[k].size], shared, scatters[k])
            if swung is not None and plain.deviance(other) < plain.deviance(
                shared.mean @ plain.expected
            ):
                by_block[k] = Colour(blocks[k], swung)
    return [by_block[k] for k in range(len(blocks))]


def _alike(blocks: Sequence[GriddedResiduals]) -> list[list[int]]:
    """Blocks of one output whose lags are alike."""
    groups: dict[tuple[str, str], list[int]] = {}
    for k, block in enumerate(blocks):
        groups.setdefault((block.output, f"{block.step:.2g}"), []).append(k)
    return list(groups.values())


def _scatters(block: GriddedResiduals, kinds: Vector) -> Vector:
    """JᵀΓJ of each memory."""
    J = block.jacobian
    return np.array(
        [
            J.T @ (J if k == 0 else toeplitz_product(kind[: block.size], J))
            for k, kind in enumerate(kinds)
        ]
    )


def _spectrum(
    block: GriddedResiduals, kinds: Vector, swung: Vector | None, inverse: Vector, middle: Vector
) -> tuple[Spectrum, Vector]:
    """The spectrum of the residuals, with what is expected of it for each memory after the fit has
    taken its share; and the same for noise that swings."""
    most, J = block.size - 1, block.jacobian
    rows, share = [], np.ones(0)
    for k, kind in enumerate(kinds[:, : block.size]):
        row = folded(block.pairs * kind)
        if k == 0 or block.size <= LONG:
            moved = J if k == 0 else toeplitz_product(kind, J)
            less = row - folded(removed_by_fit(block, moved, inverse, middle[k], most))
        if k == 0:
            share = np.maximum(less, 0.0) / row
        rows.append(less if block.size <= LONG else row * share)
    other = np.zeros(block.size)
    if swung is not None:
        other[: len(swung)] = swung
    rows.append(folded(block.pairs * other) * share)
    seen = folded(lagged_products(block.residual, block.residual, most))
    every = spectrum(seen, np.array(rows), block.size)
    return Spectrum(every.seen, every.expected[:-1], every.worth), every.expected[-1]


def crossing(one: Colour, other: Colour) -> Vector | None:
    """Σ γ₁₂(l) J₁(t) J₂(t + l)ᵀ of two outputs of a case; None where they are not disturbed alike.

    For independent noise the cross-correlation has the variance Σ ρ₁(l) ρ₂(l)/N (Bartlett).
    """
    a, b = one.of, other.of
    if a.case != b.case or a.size != b.size:
        return None
    if not (one.value[0] > 0 and other.value[0] > 0):
        return None
    reach = min(one.reach, other.reach, a.most)
    count = float(np.sqrt(a.count * b.count))
    ahead = lagged_products(a.residual, b.residual, reach) / count
    behind = lagged_products(b.residual, a.residual, reach) / count
    alike = one.value[: reach + 1] * other.value[: reach + 1]
    spread = np.sqrt((2 * alike.sum() - alike[0]) / count)
    if max(np.abs(ahead).max(), np.abs(behind).max()) <= TOGETHER * spread:
        return None
    size = 1 << (a.size + 2 * reach + 1).bit_length()
    kernel = np.concatenate([ahead[::-1], behind[1:]])
    spectra = np.fft.rfft(kernel, size)[:, None] * np.fft.rfft(b.jacobian, size, axis=0)
    moved = np.fft.irfft(spectra, size, axis=0)[reach : reach + b.size]
    return np.asarray(a.jacobian.T @ moved)


# --- noise swing ---------------------------------------------------------------------------------
# Swing: the autocovariance of noise that swings through zero, as no sum of memories does.


#: rounds in which what the fit has taken from the noise is put back: with the second the variance
#: of white noise is SSR/(N − p) up to (p/N)², further ones change intervals by less than 1 %
ROUNDS = 2
CLEARLY = 3.0  # standard deviations below zero, which 1 % of noise that does not swing reaches
#: memories of swinging noise that the window reaches over: it halves γ after 0.37 of its length
WINDOW = 3
#: lags behind the cut that are looked at in any case. Chosen: four times an early cut is too few
SHORT = 10


def swings(
    blocks: Sequence[GriddedResiduals], inverse: Vector, freedom: float
) -> list[Vector | None]:
    """γ of each block whose noise swings; `freedom` is the share of it that the fit leaves."""
    raw = [lagged_products(b.residual, b.residual, b.most) for b in blocks]
    autocovariances = [_cut(b, s / freedom) for b, s in zip(blocks, raw, strict=True)]
    for _ in range(ROUNDS):
        inner = sum(
            b.jacobian.T @ toeplitz_product(v, b.jacobian)
            for b, (v, _) in zip(blocks, autocovariances, strict=True)
        )
        middle = inverse @ inner @ inverse
        # passed again rather than kept: of long records there may be no room for all
        autocovariances = [
            _cut(b, s + removed_by_fit(b, toeplitz_product(v, b.jacobian), inverse, middle, b.most))
            for b, s, (v, _) in zip(blocks, raw, autocovariances, strict=True)
        ]
    return [value if swung else None for value, swung in autocovariances]


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
