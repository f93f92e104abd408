"""Diagnosis: whether chains agree and how much they are worth, by ArviZ.

Vehtari, Gelman, Simpson, Carpenter and Bürkner, Rank-normalization, folding, and localization: an
improved R-hat, Bayesian Analysis 16, 2021; Vehtari, Gelman and Gabry, Practical Bayesian model
evaluation using leave-one-out cross-validation and WAIC, Statistics and Computing 27, 2017.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.posterior.libraries import arviz

#: chains agree below this R-hat, and are worth something from so many effective draws a chain on
#: (Vehtari et al. 2021, section 4: 1.01, and 100 a chain)
AGREED, EFFECTIVE = 1.01, 100
#: a Pareto shape above this: leaving the sample out changes the posterior too much for its weights
#: (Vehtari, Gelman and Gabry 2017)
DOUBTFUL = 0.7


@dataclass(frozen=True)
class DrawSummary:
    """The draws of one quantity in numbers."""

    mean: float
    stderr: float  # standard deviation of the draws
    median: float
    interval: tuple[float, float]  # the middle 95 %
    rhat: float
    ess_bulk: float
    ess_tail: float
    mcse: float  # of the mean, from the number of draws

    def to_dict(self) -> dict[str, float]:
        """As a row of a table."""
        found = {n: v for n, v in asdict(self).items() if n != "interval"}
        return {**found, "ci95_low": self.interval[0], "ci95_high": self.interval[1]}

    def agrees(self, chains: int) -> bool:
        """Whether the chains agree, and hold enough effective draws for their quantiles."""
        enough = min(self.ess_bulk, self.ess_tail) >= EFFECTIVE * chains
        return enough and bool(self.rhat <= AGREED)


def draw_summary(draws: Vector) -> DrawSummary:
    """Of draws (chains, draws)."""
    library = arviz()
    low, middle, high = (float(x) for x in np.quantile(draws, (0.025, 0.5, 0.975)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what cannot be computed is NaN, and is told as such
        # halves of one chain stand for two, so that it is compared with itself
        rhat = float(library.rhat(draws if len(draws) > 1 else _halves(draws[0])))
        bulk = float(library.ess(draws, method="bulk"))
        tail = float(library.ess(draws, method="tail"))
        alike = float(library.ess(draws, method="mean"))
    deviation = float(draws.std(ddof=1))
    mcse = deviation / math.sqrt(alike) if alike > 0 else math.nan
    return DrawSummary(float(draws.mean()), deviation, middle, (low, high), rhat, bulk, tail, mcse)


def _halves(draws: Vector) -> Vector:
    half = len(draws) // 2
    return np.stack([draws[:half], draws[half : 2 * half]])


@dataclass(frozen=True)
class Comparison:
    """Expected logarithm of the likelihood of new data like each sample; larger is better."""

    loo: float
    loo_error: float
    loo_parameters: float  # effective number
    doubtful: int  # samples whose weights cannot be trusted
    waic: float
    waic_error: float
    waic_parameters: float
    samples: int


def comparison(log_likelihood: Vector) -> Comparison:
    """Of log-likelihoods (chains, draws, samples)."""
    library = arviz()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubtful samples are counted instead
        data = library.from_dict(
            posterior={"one": np.zeros(log_likelihood.shape[:2])},
            log_likelihood={"sample": log_likelihood},
        )
        loo = library.loo(data, pointwise=True)
        waic = library.waic(data)
    return Comparison(
        float(loo.elpd_loo),
        float(loo.se),
        float(loo.p_loo),
        int((np.asarray(loo.pareto_k) > DOUBTFUL).sum()),
        float(waic.elpd_waic),
        float(waic.se),
        float(waic.p_waic),
        log_likelihood.shape[2],
    )
