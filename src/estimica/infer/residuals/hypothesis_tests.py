"""Tests: each asks one question of residuals, with its p-value for white Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.probability.functions import betaincc, fdtrc, ndtr, ndtri, stdtr
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
LEAST = 8  # samples for any test; chosen: below, none would find anything but the grossest
COLLINEAR = 1e-8  # relative size of a direction that is rounding: √2.2e-16


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
    return Test(name, statistic, float(betaincc(k / 2, (freedom - k) / 2, share)))


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
    # (rank − 3/8)/(n + 1/4): Blom (1958)
    scores = ndtri((_ranks(np.abs(z)) - 0.375) / (n + 0.25))
    scores -= scores.mean()
    X = np.stack(columns, axis=1)
    U, s, _ = np.linalg.svd(X / np.linalg.norm(X, axis=0), full_matrices=False)
    U = U[:, s > COLLINEAR]
    k = U.shape[1]
    share = min(float(np.sum((U.T @ scores) ** 2) / (scores @ scores)), 1.0)
    return Test(SPREAD, n * share, float(betaincc(k / 2, (n - 1 - k) / 2, share)))


def _ranks(values: Vector) -> Vector:
    """From 1 on; equal values share the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Vector = (last - (counts - 1) / 2)[group]
    return ranks


def outliers(z: Vector) -> Test:
    """Grubbs: whether the residual farthest from the mean is one too many."""
    n = len(z)
    spread = float(z.std(ddof=1)) if n > 1 else 0.0
    if n < LEAST or spread == 0:
        return Test(OUTLIERS, math.nan, math.nan, "too few samples")
    g = float(np.max(np.abs(z - z.mean()))) / spread
    room = (n - 1) ** 2 - n * g * g
    ratio = math.sqrt(n * (n - 2) * g * g / room) if room > 0 else math.inf
    return Test(OUTLIERS, g, min(1.0, 2 * n * float(stdtr(n - 2, -ratio))))


def spikes(z: Vector) -> Vector:
    """How far each sample stands out from both of its neighbours, in robust standard deviations.

    Zero unless the neighbours stand out the other way, as they do beside a single wrong sample but
    not beside a jump or a bend of coloured residuals.
    """
    if len(z) < LEAST:
        return np.zeros(len(z))
    out = np.zeros(len(z))
    out[1:-1] = z[1:-1] - (z[:-2] + z[2:]) / 2
    # 1.4826 = 1/Φ⁻¹(3/4): the standard deviation of a Gaussian over its median deviation
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


# --- lack of fit ---------------------------------------------------------------------------------
# Lack of fit: whether replicates agree among each other better than with the model.


def lack_of_fit(series: Series) -> Test | None:
    """F of what the model misses of the means of replicates, over what these scatter about them.

    The fit has taken its degrees of freedom from the means alone, since replicates are simulated
    alike. None where no sample has a replicate.
    """
    if series.replicates is None:
        return None
    _, group, counts = np.unique(series.replicates, return_inverse=True, return_counts=True)
    repeated = series.n - len(counts)
    if repeated < 1:
        return None
    means = np.bincount(group, weights=series.residual) / counts
    pure = float(np.sum((series.residual - means[group]) ** 2)) / repeated
    left = len(counts) - float(series.leverage.sum())
    if left < 0.5 or pure == 0:  # half a degree: rounding of none
        why = "the unknowns follow every mean" if pure else "replicates do not scatter"
        return Test(LACK_OF_FIT, math.nan, math.nan, why)
    statistic = float(np.sum(counts * means**2)) / left / pure
    remark = f"F with {left:.3g} and {repeated} degrees of freedom"
    return Test(LACK_OF_FIT, statistic, float(fdtrc(left, repeated, statistic)), remark)


# --- shape ---------------------------------------------------------------------------------------
# Shape: what the distribution of residuals looks like where it is not Gaussian.


APART = 4.0  # distance of two levels in their own spread; halves of a uniform one are 3.5 apart
RARE = 0.1  # least share of a level; chosen: fewer samples are outliers
PASSES = 200  # chosen: slow where levels overlap, and these are refused anyway


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
    # in different levels where the rarer one has more than a fifth; passes do the rest
    low, high = float(np.percentile(e, 20)), float(np.percentile(e, 80))
    spread, share = float(e.std()) / 2, 0.5
    if spread == 0:
        return None
    floor = 1e-3 * spread  # two exact levels have no width; chosen
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
    # of Gaussian samples kurtosis has a variance of 24/n, skewness of 6/n
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
