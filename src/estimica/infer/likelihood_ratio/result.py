"""LikelihoodRatio: the test of a null model within a larger one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from estimica.base.result import Outcome, Result

Distribution = Literal["chi2", "F"]


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodRatio(Result):
    """The test of a null model within a larger one.

    Where the noise is known the statistic is the cost reduction, which is χ² distributed with
    `freedom` degrees if the null model is true. Where it is estimated the statistic is an F: the
    rise of the squared residuals for each degree of freedom, over the noise of the larger model,
    with `residual_freedom` degrees (exactly so for one output of a linear model with Gaussian
    noise). Outputs have noise levels of their own: few samples of the output that tells of a
    released unknown leave few degrees, however many others there are.
    """

    presenter = "estimica.infer.likelihood_ratio.present"

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

    @property
    def outcome(self) -> Outcome:
        """How it ended: with its verdict at a risk of 5 %."""
        return Outcome("done", self.verdict())
