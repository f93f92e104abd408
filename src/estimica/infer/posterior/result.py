"""Posterior: the draws of all chains, and what they say of each unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import Outcome, Result
from estimica.estimate.fit.result import Fit
from estimica.estimate.handover.frames import correlations, labelled
from estimica.infer.posterior.chain import Chain
from estimica.infer.posterior.diagnosis import Comparison, DrawSummary, comparison, draw_summary
from estimica.infer.posterior.predictive import Predictive

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class FailedChain:
    """A chain that could not be drawn."""

    number: int
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Result):
    """Draws of the chains that were finished, in the order of their numbers."""

    presenter = "estimica.infer.posterior.present"
    main_kind = "pairs"

    fit: Fit  # the fit that it is about
    method: str  # how it was computed
    seed: int  # of its random numbers
    requested: int  # draws of each chain that were asked for
    warmup: int  # draws before those, which do not count
    numbers: tuple[int, ...]  # of the chains that were finished
    chains: tuple[Chain, ...]  # the draws
    failures: tuple[FailedChain, ...]  # what could not be computed, and why
    predictive: Predictive | None  # none without a finished chain
    interrupted: bool  # whether it was stopped before its end
    seconds: float  # how long it took
    run: str = field(default="", kw_only=True)  # its id in the store of runs

    @cached_property
    def values(self) -> Vector:
        """Draws of all unknowns, (chains, draws, unknowns)."""
        if not self.chains:
            return np.zeros((0, 0, self.fit.n_free))
        return np.stack([c.values for c in self.chains])

    @cached_property
    def noise(self) -> dict[str, Vector]:
        """Draws of the noise variances that were not known, (chains, draws)."""
        names = self.chains[0].noise if self.chains else ()
        return {n: np.stack([c.noise[n] for c in self.chains]) for n in names}

    @property
    def draws(self) -> int:
        """Draws of one chain."""
        return int(self.values.shape[1])

    @property
    def divergences(self) -> int:
        """Draws whose path could not be followed: what lies there may be missing."""
        return sum(c.diverging for c in self.chains)

    @property
    def covariance(self) -> Vector:
        """Covariance of all unknowns over all draws."""
        return np.atleast_2d(np.cov(self.values.reshape(-1, self.fit.n_free), rowvar=False))

    @cached_property
    def spreads(self) -> tuple[DrawSummary, ...]:
        """What the draws say of each unknown, in the order of the fit's unknowns."""
        return tuple(draw_summary(self.values[:, :, k]) for k in range(self.fit.n_free))

    @cached_property
    def noise_spreads(self) -> dict[str, DrawSummary]:
        """The same for the noise variances."""
        return {name: draw_summary(drawn) for name, drawn in self.noise.items()}

    @cached_property
    def comparison(self) -> Comparison | None:
        """What the draws say of data that are left out: LOO and WAIC."""
        return comparison(self.predictive.log_likelihood) if self.predictive else None

    @property
    def parameters(self) -> pd.DataFrame:
        """A row for each unknown: mean, standard deviation, quantiles, R-hat, effective draws."""
        import pandas as pd

        labels = [u.label for u in self.fit.unknowns.items]
        rows = [s.to_dict() for s in self.spreads]
        return pd.DataFrame(rows, index=pd.Index(labels, name="unknown", dtype=object))

    @property
    def correlation(self) -> pd.DataFrame:
        """Correlations of all unknowns over the draws, with their labels."""
        return labelled(correlations(self.covariance), self.fit)

    def to_frame(self) -> pd.DataFrame:
        """A row for each draw of each chain: its unknowns and the noise variances."""
        import pandas as pd

        columns = {u.label: self.values[:, :, k] for k, u in enumerate(self.fit.unknowns.items)}
        columns |= {f"variance of {n}": v for n, v in self.noise.items()}
        index = pd.MultiIndex.from_product(
            [self.numbers, range(self.draws)], names=["chain", "draw"]
        )
        return pd.DataFrame({n: v.ravel() for n, v in columns.items()}, index=index)

    def to_arviz(self) -> Any:
        """The same as `inference_data`, by the name that it has in other results."""
        return self.inference_data()

    def corner(self, *names: str) -> Any:
        """A Plotly figure of all unknowns, or those named, against each other."""
        from estimica.infer.posterior.present import corner

        return corner(self, names)

    def inference_data(self) -> Any:
        """The draws as ArviZ `InferenceData`: posterior, sample_stats, predictive, likelihood."""
        from estimica.infer.posterior.present import inference_data

        return inference_data(self)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the draws as a netCDF file that ArviZ reads; returns where it is."""
        from estimica.infer.posterior.present import write

        return write(self, path)

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.infer.posterior.verdict import outcome

        return outcome(self)

    def plot(self, kind: str = "pairs", *names: str) -> Any:
        """A Plotly figure.

        `kind` is "pairs" (draws of pairs of unknowns, the most correlated ones, or all pairs of
        `names`), "distribution" (how often each value was drawn), "corner" (both, all unknowns
        against each other), "chains" (draws in their order) or "predictive" (outputs with the bands
        of the draws).
        """
        return self.corner(*names) if kind == "corner" else super().plot(kind, *names)
