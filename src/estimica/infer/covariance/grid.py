"""Grid: scored residuals and their Jacobian on the grid of their case, and sums over lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.covariance.linearisation import LinearisedFit, Rows
from estimica.infer.covariance.spacing import spacing


@dataclass(frozen=True, eq=False)
class GriddedResiduals:
    """Scored residuals of one output of a case and their Jacobian, zero where no sample is."""

    case: str
    output: str
    step: float  # seconds of one lag
    residual: Vector  # (places,)
    jacobian: Vector  # (places, n)
    count: int  # samples
    pairs: Vector  # (places,): samples that have a partner at each lag

    @property
    def size(self) -> int:
        """Places of the grid."""
        return len(self.residual)

    @property
    def most(self) -> int:
        """The longest lag that a sum over single lags looks at."""
        return max(self.size // 2, 1)

    @property
    def share(self) -> Vector:
        """Of the samples that have a partner at a lag, over that without gaps."""
        lags = np.arange(self.most + 1)
        pairs = np.append(self.pairs, 0.0)[: self.most + 1]
        return np.asarray(self.count * (1 - lags / self.size) / np.maximum(pairs, 1.0))


def residual_grids(around: LinearisedFit) -> list[GriddedResiduals]:
    """Every block of residuals on the grid of its case."""
    cases: dict[str, list[Rows]] = {}
    for one in around.rows:
        cases.setdefault(one.case, []).append(one)
    return [g for rows in cases.values() for g in _on_grid(rows)]


def _on_grid(rows: Sequence[Rows]) -> list[GriddedResiduals]:
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
        pairs = lagged_products(seen, seen, where.size - 1).round()
        found.append(
            GriddedResiduals(
                one.case, one.output, where.step, residual, jacobian, len(places), pairs
            )
        )
    return found


def lagged_products(x: Vector, y: Vector, most: int) -> Vector:
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


def toeplitz_product(value: Vector, columns: Vector) -> Vector:
    """Γ·columns with Γ the Toeplitz matrix of autocovariances at lags 0, 1, … up to a last one."""
    n, reach = len(columns), len(value) - 1
    size = 1 << (n + 2 * reach + 1).bit_length()
    spectrum = np.fft.rfft(np.concatenate([value[::-1], value[1:]]), size)
    found = np.empty_like(columns)
    for k, column in enumerate(columns.T):  # one by one: spectra of long records are large
        found[:, k] = np.fft.irfft(spectrum * np.fft.rfft(column, size), size)[reach : reach + n]
    return found


def removed_by_fit(
    block: GriddedResiduals, moved: Vector, inverse: Vector, middle: Vector, most: int
) -> Vector:
    """Sums along the diagonals of HΓ + ΓH − HΓH: what a fit takes from noise of covariance Γ.

    `moved` is ΓJ and `middle` G JᵀΓJ G, over all blocks.
    """
    follow = block.jacobian @ inverse
    there = lagged_products(follow, moved, most) + lagged_products(moved, follow, most)
    return there - lagged_products(block.jacobian @ middle, block.jacobian, most)


def folded(value: Vector) -> Vector:
    """Σ γ(l) cos ωl over lags of both signs, at the frequencies of the record."""
    around = value.copy()
    around[1:] += value[:0:-1]
    return np.asarray(np.fft.rfft(around).real)
