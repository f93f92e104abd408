"""Correlation: how much a residual tells of the next ones, and how residuals follow an input."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.probability.functions import gammaincc, ndtr
from estimica.infer.covariance.grid import Spacing
from estimica.infer.residuals.series import Series

#: lags of the Ljung-Box test. Chosen: more would dilute a short memory, fewer miss a slow one
TESTED = 20
SHOWN = 40  # lags, where nothing asks for more: twice those of the test
MOST = 2000  # lags that are computed; chosen: no curve shows more


@dataclass(frozen=True, eq=False)
class Autocorrelation:
    """r at lags 1, 2, … with the band in which 95 % of them lie for white residuals."""

    lag: Vector  # in samples
    time: Vector  # in seconds, or as the spacing says
    value: Vector
    band: Vector  # half its width at each lag
    weighted: Vector  # r times the share of samples that have a partner at this lag
    spacing: Spacing
    statistic: float  # Ljung-Box, over the first `tested` lags
    tested: int
    p: float

    @property
    def inflation(self) -> float:
        """1 + 2Σr up to the first pair of lags whose sum is negative (Geyer): samples that are
        worth one independent one."""
        r = self.weighted
        if len(r) and r[0] < 0:
            return max(1 + 2 * float(r[0]), 0.05)
        total = 0.0
        for k in range(0, len(r) - 1, 2):
            pair = float(r[k] + r[k + 1])
            if pair < 0:
                break
            total += pair
        return 1 + 2 * total

    @property
    def memory(self) -> float:
        """The time after which the autocorrelation has fallen to 1/e; NaN where it never does."""
        r = np.concatenate([[1.0], self.value])
        t = np.concatenate([[0.0], self.time])
        low = np.flatnonzero(r <= math.exp(-1))
        if not len(low):
            return math.nan
        k = int(low[0])
        share = (r[k - 1] - math.exp(-1)) / (r[k - 1] - r[k])
        return float(t[k - 1] + share * (t[k] - t[k - 1]))

    @property
    def period(self) -> float:
        """The lag of the first clear maximum after a clear minimum; NaN without one."""
        r, band = self.value, 2 * self.band
        below = np.flatnonzero(r < -band)
        if not len(below):
            return math.nan
        first = int(below[0])
        rising = np.flatnonzero(r[first:] > band[first:])
        if not len(rising):
            return math.nan
        begin = first + int(rising[0])
        end = begin
        while end < len(r) and r[end] > 0:
            end += 1
        return float(self.time[begin + int(np.argmax(r[begin:end]))])


def autocorrelation(
    residual: Vector, where: Spacing, jacobian: Vector, metric: Vector
) -> Autocorrelation:
    """Autocorrelation about the mean over all pairs of samples that exist, with Ljung-Box's Q.

    A fit takes from white noise what its unknowns can follow: the covariance of the residuals is
    σ²(I − J P Jᵀ), and the mean that this gives each r is taken off before the test. `metric` is P.
    """
    n = len(residual)
    most = max(1, min(MOST, where.size // 2))
    centred = residual - residual.mean()
    square = float(centred @ centred) or 1.0
    pairs = _lagged(where.spread(np.ones(n)), most).round()
    raw = _lagged(where.spread(centred), most) / square
    tested = max(1, min(TESTED, n // 8, most))
    shift = _shift(where, jacobian, metric, tested, pairs) / n
    counted = pairs[:tested] > 0
    clean = raw[:tested] - shift
    q = float(np.sum(n * (n + 2) * clean[counted] ** 2 / pairs[:tested][counted]))
    count = int(counted.sum())
    p = float(gammaincc(count / 2, q / 2)) if count else 1.0
    shown = _shown(raw, min(most, max(SHOWN, tested)))
    lag = np.arange(1, shown + 1, dtype=float)
    existing = np.maximum(pairs[:shown], 1.0)
    # one where no sample is missing: r then has its customary form
    scale = n * (1 - lag / where.size) / existing
    band = 1.96 * np.sqrt(existing) / n * scale
    value = raw[:shown] * scale
    return Autocorrelation(lag, lag * where.step, value, band, raw[:shown], where, q, count, p)


def _lagged(grid: Vector, most: int) -> Vector:
    """Σ x(i) x(i + l) for l = 1 … most."""
    size = 1 << (2 * len(grid) - 1).bit_length()
    spectrum = np.fft.rfft(grid, size)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, size)[1 : most + 1])


def _shift(where: Spacing, jacobian: Vector, metric: Vector, tested: int, pairs: Vector) -> Vector:
    """What the fit and the subtracted mean take from Σ e(i) e(i + l), relative to σ²."""
    n = len(jacobian)
    left, right = where.spread(jacobian @ metric), where.spread(jacobian)
    taken = np.array([float(np.sum(left[:-lag] * right[lag:])) for lag in range(1, tested + 1)])
    sums = jacobian.sum(axis=0)
    # a constant that the unknowns can follow is not taken twice
    share = max(0.0, 1 - float(sums @ metric @ sums) / n)
    return -taken - share * pairs[:tested] / n


def _shown(r: Vector, least: int) -> int:
    """As many lags as it takes to see the autocorrelation come down and stay there."""
    # come down: below what a curve shows; stay: for twice as long again. Both chosen by eye
    low = np.flatnonzero(r <= 0.05)
    fallen = int(low[0]) + 1 if len(low) else len(r)
    return min(len(r), max(least, 3 * fallen))


# --- with inputs ---------------------------------------------------------------------------------
# Cross-correlation: how residuals follow an input, after the input's own memory is taken away.


#: lags that are shown: those before the input tell of feedback only. Chosen
BACK, FORTH = 10, 40
#: of the filter that whitens an input. Chosen: it flattens a few resonances; `cra` of the System
#: Identification Toolbox has the same
ORDER = 10


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
