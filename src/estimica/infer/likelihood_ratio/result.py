"""LikelihoodRatio: the test of a null model within a larger one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from estimica.base.result import Outcome, Result

Distribution = Literal["chi2", "F", "mixture"]


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatio(Result):
    """The test of a null model within a larger one.

    Where the noise is known the statistic is the cost reduction, which is χ² distributed with
    `freedom` degrees if the null model is true. Where it is estimated the statistic is an F: the
    rise of the squared residuals for each degree of freedom, over the noise of the larger model,
    with `residual_freedom` degrees (exactly so for one output of a linear model with Gaussian
    noise). Outputs have noise levels of their own: few samples of the output that tells of a
    released unknown leave few degrees, however many others there are.

    Where noise is released that the null model does not have, its variance lies at a bound there,
    and the cost reduction is a mixture of χ²: `weights` are those of the least degrees of freedom
    and the next ones (Self and Liang 1987).
    """

    presenter = "estimica.infer.likelihood_ratio.present"

    distribution: Distribution  # of the statistic if the null model is true
    statistic: float  # χ² or F
    freedom: int  # unknowns that are determined in the larger model only, noise variances counted
    residual_freedom: float  # that tell the noise which the released unknowns depend on
    risk: float  # of preferring the larger model where the null model is true
    cost_reduction: float  # from the null model to the larger one
    null_cost: float  # of the null model
    other_cost: float  # of the larger model
    released: tuple[str, ...]  # unknowns that only the larger model has
    weights: tuple[float, ...] = ()  # of a mixture; the last is that of `freedom` degrees

    def rejects(self, risk: float = 0.05) -> bool:
        """Whether the null model is given up at this risk."""
        return self.risk < risk

    def verdict(self, risk: float = 0.05) -> str:
        """What the test says, in words."""
        what = ", ".join(f"'{n}'" for n in self.released)
        if self.weights and not self.cost_reduction > 0:
            return f"no {self._noise} is needed: the data ask for none"
        if not self.freedom:
            return (
                f"these data cannot tell {what} from what was free before: nothing is to be gained"
            )
        if self.weights and self.freedom == len(self.weights) - 1:
            return self._noise_verdict(risk)
        if self.rejects(risk):
            return (
                f"releasing {what} is worth it: a null model that is true would gain so much by "
                f"chance with probability {self.risk:.2g} only"
            )
        return (
            f"releasing {what} is not worth it: a null model that is true gains as much by chance "
            f"with probability {self.risk:.2f}"
        )

    @property
    def _noise(self) -> str:
        return f"noise {', '.join(repr(n) for n in self.released)}"

    def _noise_verdict(self, risk: float) -> str:
        if self.rejects(risk):
            return (
                f"{self._noise} is needed: data without it would ask for so much by chance with "
                f"probability {self.risk:.2g} only"
            )
        return (
            f"no {self._noise} is needed: data without it ask for as much by chance with "
            f"probability {self.risk:.2f}"
        )

    @property
    def outcome(self) -> Outcome:
        """How it ended: with its verdict at a risk of 5 %."""
        return Outcome("done", self.verdict())
