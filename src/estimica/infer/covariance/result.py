"""Covariance: covariance, standard errors and intervals of all unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import DONE, Outcome, Result
from estimica.base.view import Table
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.accuracy import Accuracy

KINDS = {
    "model": "noise as the criterion assumes: white, of one variance for each output",
    "pooled": "white noise, of one variance for all outputs but for their weights",
    "sandwich": "every sample with a variance of its own (HC3)",
    "hac": "noise of any variance, as coloured as the residuals are",
}


@dataclass(frozen=True, eq=False, repr=False)
class Covariance(Result):
    """Covariance, standard errors and 95 % intervals of all unknowns."""

    presenter = "estimica.infer.covariance.present"

    fit: Fit  # the fit that it is about
    kind: str  # how it was computed
    accuracy: Accuracy  # covariance, standard errors and intervals
    bandwidth: float = 0.0  # samples over which noise remembers; of kind "hac"

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns, in the order of rows and columns."""
        return tuple(u.label for u in self.fit.unknowns.items)

    @property
    def matrix(self) -> Vector:
        """The covariance in physical units; infinite where the data do not determine an unknown."""
        return self.accuracy.covariance

    @property
    def stderr(self) -> Vector:
        """Standard errors; NaN for an unknown at a bound."""
        return self.accuracy.stderr

    @property
    def interval(self) -> Vector:
        """95 % intervals, (n, 2)."""
        return self.accuracy.interval

    @property
    def correlation(self) -> Vector:
        """The correlation matrix; NaN where there is no variance to refer to."""
        size = np.where(np.isfinite(self.stderr) & (self.stderr > 0), self.stderr, np.nan)
        found = np.asarray(self.matrix / np.outer(size, size))
        np.fill_diagonal(found, np.where(np.isfinite(size), 1.0, np.nan))
        return found

    @property
    def ratio(self) -> Vector:
        """These standard errors over those of the fit."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.stderr / self.fit.accuracy.stderr)

    @property
    def outcome(self) -> Outcome:
        """How it ended: there is a covariance."""
        return DONE

    def correlations(self) -> Table:
        """The correlation matrix as a table."""
        return self.tables()[1]
