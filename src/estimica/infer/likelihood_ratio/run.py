"""likelihood_ratio: whether a model with more that is free is worth it."""

from __future__ import annotations

import math

import numpy as np

from estimica.base.errors import InferError
from estimica.estimate.criteria.scoring import estimated_levels
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.infer.likelihood_ratio.distribution import RatioDistribution, ratio_distribution
from estimica.infer.likelihood_ratio.mixture import mixture
from estimica.infer.likelihood_ratio.nesting import Nested, require_nested, tolerance
from estimica.infer.likelihood_ratio.result import LikelihoodRatio
from estimica.study.estimation import LIKELIHOODS


def likelihood_ratio(null: Fit, other: Fit) -> LikelihoodRatio:
    """Test the fit `null` against the fit `other`, in which more is free.

    Both must come from the same data and criterion, and `other` must be able to do all that `null`
    does. Known noise is tested by the χ² distribution of the cost difference, estimated noise by
    the F distribution. Degrees of freedom are what the data determine of the released unknowns.
    Noise in states that `null` does not have is tested by the mixture of χ² of a variance at its
    bound; there `null` may be of criterion "ml", whose likelihood is the same without such noise.
    """
    nested = require_nested(null, other)
    freedom = max(len(nested.released) - _lost(other) + _lost(null), 0)
    reduction = null.cost - other.cost
    if reduction < -tolerance(null):
        raise InferError(
            "I006",
            f"the fit with more that is free costs {other.cost:.8g}, the null model only "
            f"{null.cost:.8g}: it ended in a poorer optimum; fit it from the null model's values",
        )
    bounded = nested.bounded(other.setup.noise_floors)
    if bounded and freedom:
        return _mixed(null, other, nested, freedom, bounded)
    law = _law(other, nested) if freedom else None
    return _tested(null, other, nested, freedom, law or _without_levels(null, other, freedom))


def _mixed(
    null: Fit, other: Fit, nested: Nested, freedom: int, bounded: list[int]
) -> LikelihoodRatio:
    """The test where noise is released that the null model does not have."""
    reduction = null.cost - other.cost
    gained = reduction if reduction > tolerance(null) else 0.0
    free = np.ones(len(other.unknowns), bool)
    floors = other.setup.noise_floors
    law = mixture(nested.objective, nested.null, free, nested.places, bounded, floors, gained)
    return LikelihoodRatio(
        "mixture",
        law.statistic,
        freedom,
        _samples(other) - _free(other),
        law.risk,
        gained,
        null.cost,
        other.cost,
        nested.released,
        law.weights,
    )


def _tested(
    null: Fit, other: Fit, nested: Nested, freedom: int, law: RatioDistribution
) -> LikelihoodRatio:
    reduction, known = null.cost - other.cost, math.isinf(law.below)
    left = _samples(other) - _free(other)
    return LikelihoodRatio(
        "chi2" if known else "F",
        law.statistic * law.above if known else law.statistic,
        freedom,
        left if known else round(law.below, 6),  # whole numbers as such
        law.risk if freedom else 1.0,
        reduction,
        null.cost,
        other.cost,
        nested.released,
    )


def _law(other: Fit, nested: Nested) -> RatioDistribution | None:
    """The law with the noise levels of the larger model; None where a level itself is tested."""
    objective = nested.objective
    if nested.frees_noise:
        return None
    point = objective.at(objective.unknowns.coordinates(other.values))
    if isinstance(point, Failure):
        return None
    free = ~other.accuracy.held
    return ratio_distribution(
        objective, point, nested.null, free, nested.places, other.accuracy.threshold
    )


def _without_levels(null: Fit, other: Fit, freedom: int) -> RatioDistribution:
    """The law of the cost difference itself: of noise levels that are tested, or formulas."""
    if null.criterion in LIKELIHOODS:
        return RatioDistribution((null.cost - other.cost) / max(freedom, 1), freedom, math.inf)
    left = _samples(other) - _free(other)
    statistic, _ = f_risk(null.cost, other.cost, freedom, left)
    return RatioDistribution(statistic, freedom, left)


def _samples(fit: Fit) -> int:
    return fit.n_samples if math.isnan(fit.n_independent) else int(fit.n_independent)


def _free(fit: Fit) -> int:
    return fit.n_free - _lost(fit) + estimated_levels(fit.noise)


def _lost(fit: Fit) -> int:
    """How many combinations of its unknowns the data do not determine."""
    return fit.n_free - fit.accuracy.rank


def chi2_risk(reduction: float, freedom: int) -> float:
    """The probability that χ² with so many degrees of freedom exceeds the cost reduction."""
    from estimica.base.probability.functions import chdtrc

    return float(chdtrc(freedom, max(reduction, 0.0))) if freedom else 1.0


def f_risk(
    null_cost: float, cost: float, freedom: int, residual_freedom: int
) -> tuple[float, float]:
    """F = ((V₀ − V₁)/p) / (V₁/(N − k)) and the probability that it is exceeded."""
    from estimica.base.probability.functions import fdtrc

    if residual_freedom < 1 or freedom < 1:
        return math.nan, 1.0
    if cost <= 0:
        gained = null_cost > cost
        return (math.inf, 0.0) if gained else (0.0, 1.0)
    statistic = ((null_cost - cost) / freedom) / (cost / residual_freedom)
    return statistic, float(fdtrc(freedom, residual_freedom, max(statistic, 0.0)))
