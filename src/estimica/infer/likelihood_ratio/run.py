"""Likelihood ratio: whether a model with more that is free is worth it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from estimica.base import view as show
from estimica.base.errors import InferError
from estimica.estimate.criteria.scoring import estimated_levels
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.infer.likelihood_ratio.distribution import RatioDistribution, ratio_distribution
from estimica.infer.likelihood_ratio.nesting import Nested, require_nested, tolerance

Distribution = Literal["chi2", "F"]


@dataclass(frozen=True)
class LikelihoodRatio:
    """The test of a null model within a larger one.

    Where the noise is known the statistic is the cost reduction, which is χ² distributed with
    `freedom` degrees if the null model is true. Where it is estimated the statistic is an F: the
    rise of the squared residuals for each degree of freedom, over the noise of the larger model,
    with `residual_freedom` degrees (exactly so for one output of a linear model with Gaussian
    noise). Outputs have noise levels of their own: few samples of the output that tells of a
    released unknown leave few degrees, however many others there are.
    """

    distribution: Distribution
    statistic: float
    freedom: int  # unknowns that are determined in the larger model only, noise variances counted
    residual_freedom: float  # that tell the noise which the released unknowns depend on
    risk: float  # of preferring the larger model where the null model is true
    cost_reduction: float
    null_cost: float
    other_cost: float
    released: tuple[str, ...]

    def rejects(self, risk: float = 0.05) -> bool:
        """Whether the null model is given up at this risk."""
        return self.risk < risk

    def verdict(self, risk: float = 0.05) -> str:
        """What the test says, in words."""
        what = ", ".join(f"'{n}'" for n in self.released)
        if not self.freedom:
            return (
                f"these data cannot tell {what} from what was free before: nothing is to be gained"
            )
        if self.rejects(risk):
            return (
                f"releasing {what} is worth it: a null model that is true would gain so much by "
                f"chance with probability {self.risk:.2g} only"
            )
        return (
            f"releasing {what} is not worth it: a null model that is true gains as much by chance "
            f"with probability {self.risk:.2f}"
        )

    def table(self) -> show.Table:
        """The numbers of the test."""
        law = (
            f"χ² with {self.freedom} degrees of freedom"
            if self.distribution == "chi2"
            else f"F with {self.freedom} and {self.residual_freedom:.4g} degrees of freedom"
        )
        rows: tuple[tuple[object, ...], ...] = (
            ("released", ", ".join(self.released)),
            ("cost of the null model", self.null_cost),
            ("cost", self.other_cost),
            ("cost reduction", self.cost_reduction),
            ("statistic", self.statistic),
            ("its distribution", law),
            ("risk", show.Rounded(self.risk, 4)),
        )
        return show.Table(("likelihood ratio", ""), rows, "", self.verdict())

    def to_dict(self) -> dict[str, object]:
        """As plain values."""
        return {
            "released": list(self.released),
            "distribution": self.distribution,
            "statistic": self.statistic,
            "freedom": self.freedom,
            "residual_freedom": self.residual_freedom,
            "risk": self.risk,
            "cost_reduction": self.cost_reduction,
            "null_cost": self.null_cost,
            "cost": self.other_cost,
            "verdict": self.verdict(),
        }

    def _repr_html_(self) -> str:
        return show.html(self.table())

    def __repr__(self) -> str:
        return show.text(self.table())


def likelihood_ratio(null: Fit, other: Fit) -> LikelihoodRatio:
    """Test the fit `null` against the fit `other`, in which more is free.

    Both must come from the same data and criterion, and `other` must be able to do all that `null`
    does. Known noise is tested by the χ² distribution of the cost difference, estimated noise by
    the F distribution. Degrees of freedom are what the data determine of the released unknowns.
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
    law = _law(other, nested) if freedom else None
    return _tested(null, other, nested, freedom, law or _without_levels(null, other, freedom))


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
    if null.criterion == "ml":
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
    from scipy.stats import chi2

    return float(chi2.sf(reduction, freedom)) if freedom else 1.0


def f_risk(
    null_cost: float, cost: float, freedom: int, residual_freedom: int
) -> tuple[float, float]:
    """F = ((V₀ − V₁)/p) / (V₁/(N − k)) and the probability that it is exceeded."""
    from scipy.stats import f

    if residual_freedom < 1 or freedom < 1:
        return math.nan, 1.0
    if cost <= 0:
        gained = null_cost > cost
        return (math.inf, 0.0) if gained else (0.0, 1.0)
    statistic = ((null_cost - cost) / freedom) / (cost / residual_freedom)
    return statistic, float(f.sf(statistic, freedom, residual_freedom))
