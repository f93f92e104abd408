"""Likelihood: how well the noise model explains the residuals, for AIC, AICc and BIC."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import MaximumLikelihood, OutputError, estimated_levels
from estimica.estimate.objective.cost import Objective, Point
from estimica.study.record.transform import Transform


@dataclass(frozen=True)
class Information:
    """−2 log L of a Gaussian likelihood of the data, with penalties for what was estimated."""

    deviance: float  # −2 log L
    k: int  # unknowns, noise levels counted
    n: float  # samples that count

    @property
    def log_likelihood(self) -> float:
        """log L with all its constants."""
        return -0.5 * self.deviance

    @property
    def aic(self) -> float:
        """−2 log L + 2k (Akaike)."""
        return self.deviance + 2 * self.k

    @property
    def aicc(self) -> float:
        """AIC + 2k(k + 1)/(N − k − 1), for few samples (Hurvich and Tsai, Biometrika 76, 1989).

        Infinite where so few samples allow no comparison.
        """
        room = self.n - self.k - 1
        return self.aic + 2 * self.k * (self.k + 1) / room if room > 0 else math.inf

    @property
    def bic(self) -> float:
        """−2 log L + k log N (Schwarz)."""
        return self.deviance + self.k * math.log(self.n)


UNKNOWN = Information(math.nan, 0, math.nan)


def information(objective: Objective, point: Point, held: int = 0) -> Information:
    """What the likelihood says at a point; `held` unknowns are not counted.

    For `oe` the weighted residuals share one variance, which counts as an unknown; for `ml` each
    estimated variance counts. The likelihood is that of the columns as they stand in the data,
    whatever was compared of them: models that see logarithms, or other units, can be ranked.
    Priors are not data and are left out.
    Robust losses and other criteria are not a likelihood: NaN.
    """
    criterion = objective.criterion
    squares = isinstance(criterion, OutputError) and not criterion.losses
    if not (squares or isinstance(criterion, MaximumLikelihood)):
        return UNKNOWN
    n = objective.n_effective
    k = len(objective.unknowns) - held
    prior = objective.prior_cost(point.q)
    if not squares:
        deviance = point.cost - prior + n * math.log(2 * math.pi)
        k += estimated_levels(point.noise)
    else:
        variance = max((point.cost - prior) / n, np.finfo(float).tiny)
        relative = sum(b.log_relative for b in objective.blocks)
        deviance = n * (math.log(2 * math.pi * variance) + 1) + relative
        k += 1
    return Information(deviance - _stretch(objective), k, n)


def _stretch(objective: Objective) -> float:
    """2 Σ log |d(what is scored)/d(what the column says)| over all samples that were seen.

    A censored sample counts by a probability, which has no unit.
    """
    cases = {p.record.case.name: p.record.case for p in objective.predictors}
    total = 0.0
    for block in objective.blocks:
        measured = block.measured
        seen = ~measured.censored
        count = block.count * float(seen.mean()) if len(seen) else 0.0
        column = cases[block.case].columns_of_outputs.get(block.name)
        scale = abs(column.scale or 1.0) if column is not None else 1.0
        total += 2 * count * (math.log(block.weight) + math.log(scale))
        if measured.transfer is not None:  # real and imaginary parts, each times its amplitude
            total += 4 * float(np.log(measured.transfer.amplitude).sum())
        if measured.transform is not None:
            total += 2 * count * _slope(measured.transform, measured.value[seen])
    return total


def _slope(transform: Transform, values: Vector) -> float:
    """The mean of log |g'(y)| of a transform g at measured values.

    Where g has no slope, as |y| at zero, or an infinite one, a sample tells nothing of the scale.
    """
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(transform.derivative(values)))
    known = np.isfinite(logs)
    return float(logs[known].mean()) if known.any() else 0.0
