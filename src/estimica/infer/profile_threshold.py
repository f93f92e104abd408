"""Thresholds of a profile: how far the cost may rise within the interval of an unknown."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.errors import InferError
from estimica.estimate.criterion import MaximumLikelihood
from estimica.estimate.fit import Fit
from estimica.estimate.objective import Objective, Point

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The rise of the cost for each unknown, and where it comes from."""

    rises: Vector
    words: str


def thresholds(fit: Fit, objective: Objective, point: Point, level: float) -> Thresholds:
    """Where the profile of each unknown leaves its interval.

    `ml` with known noise: the χ² quantile c. `ml` with estimated noise: N log(1 + t²/(N − p)),
    which is c for many samples and gives the t interval where the model is linear. `oe`: t² s²
    with s² what one standard error of the unknown raises the cost by; where all outputs have the
    same weighted noise, that is the residual variance, cost/(N − p).
    """
    from scipy.stats import chi2, t

    n = objective.n_effective
    freedom = objective.n_independent - sum(not b for b in fit.at_bound)
    if isinstance(objective.criterion, MaximumLikelihood):
        if not any(v.uncertain for v in point.noise.values()):
            rise = float(chi2.ppf(level, 1))
            if objective.is_filtered:
                words = f"χ² threshold {rise:.4g}, times what a standard error raises the cost by"
                return Thresholds(rise * _variances(fit, point, freedom), words)
            return _alike(point, rise, f"the χ² threshold {rise:.4g}, since the noise is known")
        _require_freedom(freedom, n)
        quantile = float(t.ppf((1 + level) / 2, freedom))
        if objective.is_filtered:
            squares = quantile**2 * _variances(fit, point, freedom)
            words = "t² times what a standard error raises the cost by, behind the prefilter"
            return Thresholds(n * np.log1p(squares / n), words)
        rise = n * math.log1p(quantile**2 / freedom)
        c = float(chi2.ppf(level, 1))
        words = f"{rise:.4g}: the χ² threshold {c:.4g}, corrected for the estimated noise"
        return _alike(point, rise, words)
    _require_freedom(freedom, n)
    quantile = float(t.ppf((1 + level) / 2, freedom))
    words = (
        f"t² s² with t = {quantile:.4g} of {freedom:g} degrees of freedom and s² what a standard "
        "error raises the cost by"
    )
    return Thresholds(quantile**2 * _variances(fit, point, freedom), words)


def _alike(point: Point, rise: float, words: str) -> Thresholds:
    return Thresholds(np.full(len(point.q), rise), words)


def _variances(fit: Fit, point: Point, freedom: float) -> Vector:
    """s² of each unknown: its variance times the curvature of its profile.

    Where the data do not determine an unknown, it is at a bound or acts in steps, the residual
    variance.
    """
    free = np.array([not b for b in fit.at_bound], bool)
    free[list(fit.rough.unknowns)] = False
    found = np.full(len(point.q), point.square / freedom)
    norms = np.linalg.norm(point.R, axis=0)
    good = free & fit.accuracy.identifiable & (norms > 0)
    if good.any() and fit.accuracy.identifiable[free].all():
        half = np.linalg.pinv(point.R[:, free] / norms[free]) / norms[free][:, None]
        plain = np.full(len(point.q), np.nan)
        plain[free] = np.sum(half**2, axis=1)
        known = np.diag(fit.covariance) / fit.unknowns.slopes(point.q) ** 2
        ratio = known[good] / plain[good]
        found[good] = np.where(np.isfinite(ratio) & (ratio > 0), ratio, found[good])
    return found


def _require_freedom(freedom: float, n: float) -> None:
    if freedom <= 0:
        raise InferError(
            "I501",
            f"{n:.4g} samples are not more than the unknowns: their noise cannot be told, and "
            "there are no intervals; fix some tuners or add data",
        )
