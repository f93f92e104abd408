"""Grid: scored residuals and their Jacobian on the grid of their case, and sums over lags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.infer.covariance.linearisation import LinearisedFit, Rows


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
    grids = []
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
        grids.append(
            GriddedResiduals(
                one.case, one.output, where.step, residual, jacobian, len(places), pairs
            )
        )
    return grids


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


# --- spacing -------------------------------------------------------------------------------------
# Spacing: what a lag means where stamps are not quite regular, or samples are missing.


# all chosen: a lag must mean one time, and clocks that jitter or lose samples are common
JITTER = 0.2  # of a step, by which a stamp may be off its grid: at 0.5 it fits any place
REGULAR = 0.95  # share of the steps that must lie on it
WIDEST = 20  # grid places for each sample, at most: arrays are as long as the grid


@dataclass(frozen=True, eq=False)
class Spacing:
    """Places of samples on a grid of `step`; where there is no grid, their numbers."""

    places: Indices  # rising, from 0
    step: float  # seconds of one lag; where stamps are irregular, in the median
    regular: bool
    missing: int  # places without a sample
    shortest: float
    longest: float
    axis: str = "time"  # what samples are ordered by
    unit: str = "s"

    @property
    def size(self) -> int:
        """Places on the grid."""
        return int(self.places[-1]) + 1 if len(self.places) else 0

    def spread(self, values: Vector) -> Vector:
        """Values at their places, zero where there is no sample."""
        found = np.zeros((self.size, *values.shape[1:]))
        found[self.places] = values
        return found

    @property
    def in_words(self) -> str:
        """What one lag is."""
        if self.axis != "time":
            return f"a lag counts points in the order of {self.axis}"
        if self.regular:
            gaps = f"; {self.missing} samples are missing and left out" if self.missing else ""
            return f"one lag is {self.step:.4g} {self.unit}{gaps}"
        return (
            f"stamps are irregular ({self.shortest:.3g} … {self.longest:.3g} {self.unit} apart): "
            f"a lag counts samples, {self.step:.3g} {self.unit} in the median"
        )


def spacing(time: Vector, axis: str = "time") -> Spacing:
    """The grid of rising stamps, where all but a few gaps are multiples of one step."""
    n = len(time)
    if n < 2:
        return Spacing(np.arange(n), 1.0, True, 0, 0.0, 0.0, axis)
    steps = np.diff(time)
    step = float(np.median(steps))
    ends = float(steps.min()), float(steps.max())
    if axis == "time":
        # where most samples are missing, the median step is a multiple of the grid's
        for tried in (step, float(np.quantile(steps, 0.05))):
            places = _places(steps, tried)
            if places is not None:
                return Spacing(places, tried, True, int(places[-1]) + 1 - n, *ends, axis)
    apart = steps[steps > 0]  # replicates have one stamp
    step = float(np.median(apart)) if len(apart) else 1.0
    return Spacing(np.arange(n), step, False, 0, *ends, axis)


def _places(steps: Vector, step: float) -> Indices | None:
    """Places on a grid of `step`, if the samples lie on one."""
    if step <= 0:
        return None
    counts = np.round(steps / step)
    near = (np.abs(steps / step - counts) <= JITTER) & (counts >= 1)
    places = np.concatenate([[0], np.cumsum(np.maximum(counts, 1))]).astype(np.int64)
    fits = near.mean() >= REGULAR and places[-1] < WIDEST * (len(steps) + 1)
    return places if fits else None
