"""Bootstrap: the estimates of all replicates, and what they say of each unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.base.result import Outcome, Result
from estimica.estimate.fit.result import Fit
from estimica.estimate.handover.frames import correlations, labelled
from estimica.estimate.handover.inference_data import inference_data
from estimica.execute.batches import WorkedBy
from estimica.infer.bootstrap.intervals import (
    ReplicateSummary,
    empty_summary,
    replicate_summary,
    widened,
)

if TYPE_CHECKING:
    import pandas as pd

#: share of failed replicates above which the others say nothing of standard errors and intervals:
#: a middle 95 % that leaves out as many as lie outside of it is not 95 %
MANY = 0.05


@dataclass(frozen=True)
class FailedReplicate:
    """A replicate whose fit did not come to an optimum."""

    number: int
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Result):
    """Estimates of the replicates that came to an optimum, in the order of their numbers."""

    presenter = "estimica.infer.bootstrap.present"
    main_kind = "scatter"

    fit: Fit  # the fit that it is about
    kind: str  # how noise was drawn
    seed: int  # of its random numbers
    requested: int  # replicates that were asked for
    numbers: tuple[int, ...]  # of the replicates that came to an optimum
    values: Vector  # (replicates, unknowns)
    at_bound: Flags  # (replicates, unknowns)
    undetermined: Flags  # (replicates, unknowns): its value means nothing there
    costs: Vector  # of these replicates
    noise: Mapping[str, Vector]  # estimated variances by output
    noise_drawn: Mapping[str, float]  # variances that the replicates were drawn with
    freedom: Vector  # degrees of freedom of the noise that each unknown was drawn with
    acceleration: Vector  # of the BCa intervals, for each unknown
    noise_acceleration: Mapping[str, float]  # the same for noise levels
    block_lengths: Mapping[tuple[str, str], int]  # by case and output
    failures: tuple[FailedReplicate, ...]  # what could not be computed, and why
    interrupted: bool  # whether it was stopped before its end
    seconds: float  # how long it took
    worked_by: WorkedBy = field(default=WorkedBy("scalar"), kw_only=True)  # what simulated them
    run: str = field(default="", kw_only=True)  # its id in the store of runs

    @property
    def replicates(self) -> int:
        """How many came to an optimum."""
        return len(self.numbers)

    @property
    def failed(self) -> int:
        """How many did not."""
        return len(self.failures)

    @property
    def covariance(self) -> Vector:
        """Covariance of all unknowns over the replicates; infinite where one is not determined."""
        found = np.atleast_2d(np.cov(self.values, rowvar=False))
        lost = self.undetermined.any(axis=0)
        found[lost, :] = found[:, lost] = np.nan
        found[lost, lost] = np.inf
        return found

    @property
    def trusted(self) -> bool:
        """Whether enough replicates came to an optimum for the intervals to mean something."""
        return self.replicates >= 2 and self.failed <= MANY * (self.replicates + self.failed)

    @cached_property
    def spreads(self) -> tuple[ReplicateSummary, ...]:
        """What the replicates say of each unknown, in the order of the fit's unknowns."""
        if not self.trusted:
            return tuple(empty_summary(float(v)) for v in self.fit.values)
        return tuple(
            replicate_summary(
                float(self.fit.values[k]),
                self.values[:, k],
                float(self.acceleration[k]),
                widened=widened(self.fit.unknowns, k, float(self.freedom[k])),
                at_bound=self.at_bound[:, k],
                undetermined=self.undetermined[:, k],
            )
            for k in range(self.fit.n_free)
        )

    @cached_property
    def noise_spreads(self) -> dict[str, ReplicateSummary]:
        """The same for the estimated noise variances; their bias is that of the replicates."""
        if not self.trusted:
            return {name: empty_summary(self.fit.noise[name].variance) for name in self.noise}
        return {
            name: replicate_summary(
                self.fit.noise[name].variance,
                variances,
                self.noise_acceleration.get(name, 0.0),
                truth=self.noise_drawn[name],
            )
            for name, variances in self.noise.items()
        }

    @property
    def messages(self) -> list[tuple[str, int]]:
        """Why replicates failed and how often, the most frequent first."""
        return Counter(f.message for f in self.failures).most_common()

    @property
    def parameters(self) -> pd.DataFrame:
        """A row for each unknown: value, mean, bias, stderr, intervals, shares of replicates."""
        import pandas as pd

        rows = []
        for s in self.spreads:
            rows.append(
                {
                    "value": s.value,
                    "mean": s.mean,
                    "bias": s.bias,
                    "stderr": s.stderr,
                    "ci95_low": s.percentile[0],
                    "ci95_high": s.percentile[1],
                    "bca_low": s.bca[0],
                    "bca_high": s.bca[1],
                    "at_bound": s.at_bound,
                    "undetermined": s.undetermined,
                }
            )
        labels = [u.label for u in self.fit.unknowns.items]
        return pd.DataFrame(rows, index=pd.Index(labels, name="unknown", dtype=object))

    @property
    def correlation(self) -> pd.DataFrame:
        """Correlations of all unknowns over the replicates, with their labels."""
        return labelled(correlations(self.covariance), self.fit)

    def to_frame(self) -> pd.DataFrame:
        """A row for each replicate: its unknowns, the noise variances, and its cost."""
        import pandas as pd

        columns = {u.label: self.values[:, k] for k, u in enumerate(self.fit.unknowns.items)}
        columns |= {f"variance of {n}": v for n, v in self.noise.items()}
        index = pd.Index(self.numbers, name="replicate", dtype=int)
        return pd.DataFrame({**columns, "cost": self.costs}, index=index)

    def to_arviz(self) -> Any:
        """ArviZ `InferenceData` of the replicates; that they are no posterior is in its `attrs`.

        Replicates that do not determine an unknown are left out.
        """
        good = ~self.undetermined.any(axis=1)
        if not good.any():
            raise InferError(
                "I411",
                "to_arviz: no replicate determines all unknowns; fix what is not determined",
            )
        frame = self.to_frame()[good].drop(columns="cost")
        return inference_data(
            self.fit,
            {name: frame[name].to_numpy()[None, :] for name in frame},
            sample=f"replicates of a {self.kind} bootstrap; not a posterior",
            seed=self.seed,
            left_out=int((~good).sum()),
        )

    def corner(self, *names: str) -> Any:
        """A Plotly figure of all unknowns, or those named, against each other."""
        from estimica.infer.bootstrap.present import corner

        return corner(self, names)

    def remark(self, k: int) -> str:
        """What to know about an unknown beyond its numbers."""
        s = self.spreads[k]
        if not self.fit.accuracy.identifiable[k] or s.undetermined == 1:
            return "not determined by these data"
        if s.undetermined:
            return f"not determined by {100 * s.undetermined:.2g} % of the replicates"
        return "at a bound in every replicate" if s.at_bound == 1 else ""

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.infer.bootstrap.present import outcome

        return outcome(self)

    def plot(self, kind: str = "scatter", *names: str) -> Any:
        """A Plotly figure.

        `kind` is "scatter" (replicates of pairs of unknowns, the most correlated ones, or all
        pairs of `names`), "distribution" (how often each value was found) or "corner" (both, all
        unknowns against each other).
        """
        return self.corner(*names) if kind == "corner" else super().plot(kind, *names)
