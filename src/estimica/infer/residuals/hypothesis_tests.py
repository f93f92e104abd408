"""Tests: each asks one question of residuals, with its p-value for white Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta, rankdata, t

from estimica.base.arrays import Vector
from estimica.infer.residuals.series import Series

#: tests of one series, by the names under which they are shown
LEVEL = "mean and trend"
COLOUR = "autocorrelation (Ljung-Box)"
RUNS = "runs of one sign"
INPUTS = "correlation with inputs"
NORMAL = "normality (Anderson-Darling)"
SPREAD = "constant spread"
OUTLIERS = "outliers (Grubbs)"
LACK_OF_FIT = "lack of fit (replicates)"  # asked where there are replicates
ALL = (LEVEL, COLOUR, RUNS, INPUTS, NORMAL, SPREAD, OUTLIERS)
LEAST = 8  # samples for any test
COLLINEAR = 1e-8


@dataclass(frozen=True)
class Test:
    """One question: `p` is how often white Gaussian noise looks this bad; NaN: not asked."""

    __test__ = False  # pytest takes it for one of its own

    name: str
    statistic: float
    p: float
    remark: str = ""

    def fails(self, level: float) -> bool:
        """Whether noise would seldom look like this."""
        return self.p < level


def score_test(name: str, series: Series, directions: Vector, inflation: float = 1.0) -> Test:
    """Whether residuals contain any of the directions (columns), beyond what the fit removed.

    gᵀK⁻¹g/σ² with g = Xᵀe and K its covariance for white noise; its share of the degrees of
    freedom has a beta distribution. Coloured residuals are worth fewer samples: `inflation`.
    """
    size = np.linalg.norm(directions, axis=0)
    X = directions[:, size > 0] / size[size > 0]
    freedom = series.freedom / inflation
    if not X.size or series.variance == 0 or freedom < LEAST:
        return Test(name, math.nan, math.nan, "nothing to compare with" if not X.size else "")
    values, vectors = np.linalg.eigh(series.scatter(X))
    large = values > COLLINEAR * max(float(values[-1]), COLLINEAR)
    k = int(large.sum())
    if k == 0 or k >= freedom:
        return Test(name, math.nan, math.nan, "the unknowns already follow it")
    g = (vectors[:, large].T @ (X.T @ series.residual)) / np.sqrt(values[large])
    statistic = float(g @ g) / (series.variance * inflation)
    share = min(statistic / freedom, 1.0)
    return Test(name, statistic, float(beta.sf(share, k / 2, (freedom - k) / 2)))


def level_and_trend(series: Series, inflation: float = 1.0) -> Test:
    """Whether residuals have a mean other than zero, or drift."""
    return score_test(LEVEL, series, np.stack([np.ones(series.n), drift(series)], 1), inflation)


def drift(series: Series) -> Vector:
    """A straight line from −1 to 1 over the record, without mean."""
    span = float(np.ptp(series.x)) or 1.0
    line = 2 * (series.x - series.x[0]) / span - 1
    return np.asarray(line - line.mean())


def inputs_test(series: Series, names: list[str], inflation: float = 1.0) -> Test:
    """Whether residuals still contain delayed inputs."""
    if not names:
        return Test(INPUTS, math.nan, math.nan, "no input varies")
    first, *others = (series.inputs[n]() for n in names)
    columns = np.hstack([first, *others]) if others else first
    columns -= columns.mean(axis=0)
    return score_test(INPUTS, series, columns, inflation)


def runs(series: Series) -> Test:
    """Wald and Wolfowitz: whether signs about the median change as often as a coin's."""
    e = series.residual - np.median(series.residual)
    signs = e[e != 0] > 0
    up, down = int(signs.sum()), int((~signs).sum())
    n = up + down
    if min(up, down) < LEAST // 2:
        return Test(RUNS, math.nan, math.nan, "too few samples")
    count = 1 + int(np.sum(signs[1:] != signs[:-1]))
    mean = 2 * up * down / n + 1
    variance = (mean - 1) * (mean - 2) / (n - 1)
    z = (count - mean) / math.sqrt(variance)
    return Test(RUNS, z, float(2 * ndtr(-abs(z))), f"{count} runs, {mean:.0f} expected")


def normality(z: Vector) -> Test:
    """Anderson and Darling's A² with mean and spread estimated (Stephens' modification)."""
    n = len(z)
    spread = float(z.std(ddof=1)) if n > 1 else 0.0
    if n < LEAST or spread == 0:
        return Test(NORMAL, math.nan, math.nan, "too few samples")
    u = np.clip(ndtr(np.sort((z - z.mean()) / spread)), 1e-300, 1 - 1e-16)
    odd = 2 * np.arange(1, n + 1) - 1
    a = -n - float(np.mean(odd * (np.log(u) + np.log1p(-u[::-1]))))
    a *= 1 + 0.75 / n + 2.25 / n**2
    return Test(NORMAL, a, _normal_p(min(a, 100.0)))


def _normal_p(a: float) -> float:
    """D'Agostino and Stephens, Goodness-of-fit techniques, table 4.9."""
    if a >= 0.6:
        return math.exp(1.2937 - 5.709 * a + 0.0186 * a * a)
    if a > 0.34:
        return math.exp(0.9177 - 4.279 * a - 1.38 * a * a)
    if a > 0.2:
        return 1 - math.exp(-8.318 + 42.796 * a - 59.938 * a * a)
    return 1 - math.exp(-13.436 + 101.14 * a - 223.73 * a * a)


def constant_spread(z: Vector, *against: Vector) -> Test:
    """Whether |e| depends on time or on the simulated value: normal scores of its ranks."""
    n = len(z)
    columns = [c - c.mean() for c in against if np.ptp(c) > 0]
    if n < 3 * LEAST or not columns:
        return Test(SPREAD, math.nan, math.nan, "too few samples")
    scores = ndtri((rankdata(np.abs(z)) - 0.375) / (n + 0.25))
    scores -= scores.mean()
    X = np.stack(columns, axis=1)
    U, s, _ = np.linalg.svd(X / np.linalg.norm(X, axis=0), full_matrices=False)
    U = U[:, s > COLLINEAR]
    k = U.shape[1]
    share = float(np.sum((U.T @ scores) ** 2) / (scores @ scores))
    return Test(SPREAD, n * share, float(beta.sf(share, k / 2, (n - 1 - k) / 2)))


def outliers(z: Vector) -> Test:
    """Grubbs: whether the residual farthest from the mean is one too many."""
    n = len(z)
    spread = float(z.std(ddof=1)) if n > 1 else 0.0
    if n < LEAST or spread == 0:
        return Test(OUTLIERS, math.nan, math.nan, "too few samples")
    g = float(np.max(np.abs(z - z.mean()))) / spread
    room = (n - 1) ** 2 - n * g * g
    ratio = math.sqrt(n * (n - 2) * g * g / room) if room > 0 else math.inf
    return Test(OUTLIERS, g, min(1.0, 2 * n * float(t.sf(ratio, n - 2))))


def spikes(z: Vector) -> Vector:
    """How far each sample stands out from both of its neighbours, in robust standard deviations.

    Zero unless the neighbours stand out the other way, as they do beside a single wrong sample but
    not beside a jump or a bend of coloured residuals.
    """
    if len(z) < LEAST:
        return np.zeros(len(z))
    out = np.zeros(len(z))
    out[1:-1] = z[1:-1] - (z[:-2] + z[2:]) / 2
    size = 1.4826 * float(np.median(np.abs(out - np.median(out))))
    if size == 0:
        return np.zeros(len(z))
    alone = np.zeros(len(z), bool)
    beside = np.maximum(out[:-2] * np.sign(out[1:-1]), out[2:] * np.sign(out[1:-1]))
    alone[1:-1] = beside < -np.abs(out[1:-1]) / 4
    return np.where(alone, out / size, 0.0)


def coloured_outliers(z: Vector) -> Test:
    """The same question of residuals that remember: whether a single sample is a spike."""
    far = float(np.max(np.abs(spikes(z)))) if len(z) else 0.0
    remark = "spikes beside both neighbours"
    return Test(OUTLIERS, far, min(1.0, 2 * len(z) * float(ndtr(-far))), remark)
