"""Cross-correlation: how residuals follow an input, after the input's own memory is taken away."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from estimica.base.arrays import Vector
from estimica.infer.residuals.series import Series

BACK, FORTH = 10, 40  # lags that are shown
ORDER = 10  # of the filter that whitens an input


@dataclass(frozen=True, eq=False)
class CrossCorrelation:
    """Correlation of residuals with an input `time` seconds before them."""

    input: str
    time: Vector
    value: Vector
    band: float  # half the width in which 95 % of them lie
    whitened: bool  # whether both were filtered first

    @property
    def highest(self) -> float:
        """The largest correlation after the input has moved, in standard deviations."""
        after = self.value[self.time >= 0]
        return float(np.max(np.abs(after), initial=0.0)) * 1.96 / self.band

    @property
    def p(self) -> float:
        """How often the highest of so many lags is as high by chance, whatever their ties."""
        count = int(np.sum(self.time >= 0))
        return min(1.0, 2 * count * float(ndtr(-self.highest)))


def crosscorrelations(series: Series) -> tuple[CrossCorrelation, ...]:
    """One for each input that varies; residuals of a static model have none."""
    if len(series.x) < 2 * BACK:
        return ()
    return tuple(_one(series, name) for name in series.signals)


def _one(series: Series, name: str) -> CrossCorrelation:
    """Both signals pass the filter that makes the input white, where stamps are regular.

    A step that an input makes is then one moment, and what residuals do after it stands alone.
    """
    where = series.spacing
    if where.regular:
        time = series.x[0] + where.step * np.arange(where.size)
        residual = np.full(where.size, np.nan)
        residual[where.places] = series.residual - series.residual.mean()
    else:
        time, residual = series.x, series.residual - series.residual.mean()
    u = series.signals[name].at(time)
    u = u - u.mean()
    order = min(ORDER, len(u) // 10) if where.regular else 0
    if order:
        weights = np.concatenate([[1.0], -_memory(u, order)])
        u = np.convolve(u, weights, "valid")
        residual = np.convolve(residual, weights, "valid")
    forth = min(FORTH, len(u) // 3)
    lags = np.arange(-min(BACK, forth), forth + 1)
    value = np.array([_correlation(u, residual, int(lag)) for lag in lags])
    count = max(int(np.isfinite(residual).sum()), 1)
    return CrossCorrelation(
        name, np.asarray(lags * where.step), value, 1.96 / math.sqrt(count), order > 0
    )


def _memory(u: Vector, order: int) -> Vector:
    """Coefficients by which the past of an input foretells it, in least squares."""
    past = np.stack([u[order - k : len(u) - k] for k in range(1, order + 1)], axis=1)
    return np.asarray(np.linalg.lstsq(past, u[order:], rcond=1e-8)[0])


def _correlation(u: Vector, e: Vector, lag: int) -> float:
    """Correlation of u(i − lag) with e(i), over the pairs that exist."""
    a = u[: len(u) - lag] if lag >= 0 else u[-lag:]
    b = e[lag:] if lag >= 0 else e[:lag]
    both = np.isfinite(b)
    known = e[np.isfinite(e)]
    size = np.sqrt(np.mean(u**2) * np.mean(known**2)) * max(len(known), 1)
    return float(a[both] @ b[both]) / size if size > 0 else 0.0
