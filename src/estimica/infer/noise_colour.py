"""Noise colour: the autocovariance of the noise, from the residuals that a fit has left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.infer.bootstrap_length import memory
from estimica.infer.covariance_rows import Linearised, Rows
from estimica.infer.residual_spacing import spacing

Vector = npt.NDArray[np.float64]
#: rounds in which what the fit has taken from the noise is put back: with the second the variance
#: of white noise is SSR/(N − p) up to (p/N)², further ones change intervals by less than 1 %
ROUNDS = 2
#: standard deviations of a cross-correlation, beyond which two outputs are disturbed together:
#: the highest of some twenty lags of independent noise stays below in 95 %
TOGETHER = 3.0
CLEARLY = 3.0  # standard deviations below zero, which 1 % of noise that does not swing reaches
#: memories of swinging noise that the window reaches over: it halves γ after 0.37 of its length
WINDOW = 3
SHORT = 10  # lags behind the cut that are looked at in any case


@dataclass(frozen=True, eq=False)
class Gridded:
    """Scored residuals of one output of a case and their Jacobian, zero where no sample is."""

    case: str
    residual: Vector  # (places,)
    jacobian: Vector  # (places, n)
    count: int  # samples
    share: Vector  # of the samples that have a partner at a lag, over that without gaps

    @property
    def most(self) -> int:
        """The longest lag that is looked at."""
        return len(self.share) - 1


@dataclass(frozen=True, eq=False)
class Colour:
    """The autocovariance γ of one output's noise at lags 0, 1, … up to where it ends."""

    of: Gridded
    value: Vector

    @property
    def reach(self) -> int:
        """The last lag that counts."""
        return len(self.value) - 1

    def passed(self, columns: Vector) -> Vector:
        """Γ·columns with Γ the covariance of the noise of all places."""
        n, reach = len(columns), self.reach
        size = 1 << (n + 2 * reach + 1).bit_length()
        kernel = np.concatenate([self.value[::-1], self.value[1:]])
        spectrum = np.fft.rfft(kernel, size)
        found = np.empty_like(columns)
        for k, column in enumerate(columns.T):  # one by one: spectra of long records are large
            found[:, k] = np.fft.irfft(spectrum * np.fft.rfft(column, size), size)[
                reach : reach + n
            ]
        return found


def gridded(around: Linearised) -> list[Gridded]:
    """Every block of residuals on the grid of its case."""
    cases: dict[str, list[Rows]] = {}
    for one in around.rows:
        cases.setdefault(one.case, []).append(one)
    return [g for rows in cases.values() for g in _on_grid(rows)]


def _on_grid(rows: Sequence[Rows]) -> list[Gridded]:
    """Outputs of one case; where stamps come twice, lags count samples of each output."""
    stamps = np.unique(np.concatenate([one.time for one in rows]))
    single = all(np.all(np.diff(one.time) > 0) for one in rows)
    found = []
    for one in rows:
        where = spacing(stamps if single else np.arange(len(one.time), dtype=float))
        places = where.places[np.searchsorted(stamps, one.time)] if single else where.places
        seen = np.zeros(where.size)
        seen[places] = 1.0
        residual, jacobian = one.scored, one.jacobian
        if where.size != len(places):  # without gaps they are on the grid as they are
            residual, jacobian = np.zeros(where.size), np.zeros((where.size, jacobian.shape[1]))
            residual[places], jacobian[places] = one.scored, one.jacobian
        most = max(where.size // 2, 1)
        pairs = np.maximum(lagged(seen, seen, most).round(), 1.0)
        share = len(places) * (1 - np.arange(most + 1) / where.size) / pairs
        found.append(Gridded(one.case, residual, jacobian, len(places), share))
    return found


def lagged(x: Vector, y: Vector, most: int) -> Vector:
    """Σ x(i)·y(i + l) for l = 0 … most, of columns together."""
    size = 1 << (2 * len(x) - 1).bit_length()
    total = np.zeros(size // 2 + 1, complex)
    for a, b in zip(np.atleast_2d(x.T), np.atleast_2d(y.T), strict=True):
        product = np.fft.rfft(a, size)
        np.conj(product, out=product)
        product *= np.fft.rfft(b, size)
        total += product
    # a copy: a view would keep the longer array alive
    found: Vector = np.fft.irfft(total, size)[: most + 1].copy()
    return found


def colours(around: Linearised, blocks: Sequence[Gridded]) -> list[Colour]:
    """The colour of every block's noise, what the fit has taken from it put back.

    Of noise n with covariance Γ a fit leaves (I − H)n with H = J G Jᵀ, G = (JᵀJ)⁻¹: the more
    slowly the noise changes, the more of it the unknowns can follow.
    """
    raw = [lagged(b.residual, b.residual, b.most) for b in blocks]
    inverse = around.inverse
    freedom = max(around.freedom / max(around.n_samples, 1.0), 0.05)
    found = [_cut(b, s / freedom) for b, s in zip(blocks, raw, strict=True)]
    for _ in range(ROUNDS):
        inner = sum(c.of.jacobian.T @ c.passed(c.of.jacobian) for c in found)
        middle = inverse @ inner @ inverse
        # passed again rather than kept: of long records there may be no room for all
        found = [
            _cut(b, s + _taken(b, c.passed(b.jacobian), inverse, middle))
            for b, s, c in zip(blocks, raw, found, strict=True)
        ]
    return found


def _taken(block: Gridded, passed: Vector, inverse: Vector, middle: Vector) -> Vector:
    """Sums along the diagonals of HΓ + ΓH − HΓH."""
    follow = block.jacobian @ inverse
    there = lagged(follow, passed, block.most) + lagged(passed, follow, block.most)
    return there - lagged(block.jacobian @ middle, block.jacobian, block.most)


def _cut(block: Gridded, sums: Vector) -> Colour:
    """γ up to the first pair of lags whose sum is not positive (Geyer, Statist. Science 7, 1992).

    Further lags are chance, unless the noise swings: then what follows that pair counts too, as
    far as it is more than chance (Politis and White, Econometric Reviews 23, 2004).
    """
    value = sums * block.share / max(block.count, 1)
    even = len(value) // 2 * 2
    negative = np.flatnonzero(value[0:even:2] + value[1:even:2] <= 0)
    cut = max(2 * int(negative[0]) if len(negative) else even, 1)
    if not value[0] > 0 or not _swings(value / value[0], cut, block.count):
        return Colour(block, value[:cut].copy())
    # while it swings through zero, a quarter of a period looks like chance
    end = WINDOW * memory(value / value[0], block.count, run=2 * cut)
    lags = np.arange(min(end, len(value) - 1) + 1)
    return Colour(block, value[: len(lags)] * _parzen(lags / max(lags[-1], 1)))


def _parzen(x: Vector) -> Vector:
    """Parzen's window, whose spectrum is nowhere negative."""
    near, far = 1 - 6 * x**2 * (1 - x), 2 * np.clip(1 - x, 0.0, 1.0) ** 3
    return np.where(x <= 0.5, near, far)


def _swings(correlation: Vector, cut: int, count: int) -> bool:
    """Whether the correlation falls clearly below zero behind the cut, by Bartlett's formula."""
    following = correlation[cut : 4 * cut + SHORT]
    spread = np.sqrt((1 + 2 * np.sum(correlation[1:cut] ** 2)) / max(count, 1))
    return bool(len(following) and following.min() < -CLEARLY * spread)


def crossing(one: Colour, other: Colour) -> Vector | None:
    """Σ γ₁₂(l) J₁(t) J₂(t + l)ᵀ of two outputs of a case; None where they are not disturbed alike.

    For independent noise the cross-correlation has the variance Σ ρ₁(l) ρ₂(l)/N (Bartlett).
    """
    a, b = one.of, other.of
    if a.case != b.case or len(a.residual) != len(b.residual):
        return None
    if not (one.value[0] > 0 and other.value[0] > 0):
        return None
    reach = min(one.reach, other.reach)
    count = float(np.sqrt(a.count * b.count))
    ahead = lagged(a.residual, b.residual, reach) / count
    behind = lagged(b.residual, a.residual, reach) / count
    alike = one.value[: reach + 1] * other.value[: reach + 1]
    spread = np.sqrt((2 * alike.sum() - alike[0]) / count)
    if max(np.abs(ahead).max(), np.abs(behind).max()) <= TOGETHER * spread:
        return None
    size = 1 << (len(a.residual) + 2 * reach + 1).bit_length()
    kernel = np.concatenate([ahead[::-1], behind[1:]])
    spectrum = np.fft.rfft(kernel, size)[:, None] * np.fft.rfft(b.jacobian, size, axis=0)
    moved = np.fft.irfft(spectrum, size, axis=0)[reach : reach + len(b.jacobian)]
    return np.asarray(a.jacobian.T @ moved)
