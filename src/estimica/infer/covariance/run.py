"""Covariance: the covariance of an estimate under one or another view of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import rounded, short
from estimica.base.view import without_empty
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.accuracy import Accuracy, FreeCovariance, accuracy
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.covariance.linearisation import LinearisedFit, linearise_fit, require_estimate
from estimica.infer.covariance.score import (
    coloured_score_covariance,
    heteroscedastic_score_covariance,
    white_score_covariance,
)
from estimica.infer.refit import refuse_input_errors

#: memories that a record must hold for intervals of kind "hac" to cover by 92 % and more: with four
#: of them they covered by 82 to 94 % in simulated experiments
MEMORIES = 8
#: samples of the longest record below which it is said too: with six samples of each of two outputs
#: and white noise, 88 % were covered in 100 experiments, where the fit's own intervals hold
LEAST = 20
KINDS = {
    "model": "noise as the criterion assumes: white, of one variance for each output",
    "pooled": "white noise, of one variance for all outputs but for their weights",
    "sandwich": "every sample with a variance of its own (HC3)",
    "hac": "noise of any variance, as coloured as the residuals are",
}


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance, standard errors and 95 % intervals of all unknowns."""

    fit: Fit = field(repr=False)
    kind: str
    accuracy: Accuracy = field(repr=False)
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

    # -- how it shows itself --------------------------------------------------------------------

    def table(self) -> show.Table:
        """Every unknown with its standard error and interval."""
        rows = []
        for k, u in enumerate(self.fit.unknowns.items):
            error = float(self.stderr[k])
            numbers = (float(self.fit.values[k]), error, *map(float, self.interval[k]))
            shown = [x if math.isfinite(x) else None for x in (rounded(v, error) for v in numbers)]
            ratio = None if self.kind == "model" else short(float(self.ratio[k]))
            rows.append((u.label, *shown, ratio, self.fit.remark(k)))
        columns = ("unknown", "value", "std. error", "95 % from", "to", "× the fit's", "remark")
        note = KINDS[self.kind] + self._reach()
        title = f"{self.fit.study.name}: {self.kind} covariance"
        return without_empty(show.Table(columns, tuple(rows), title, note), "× the fit's", "remark")

    def correlations(self) -> show.Table:
        """The correlation matrix as a table."""
        rows = [
            (name, *(show.Rounded(float(x), 3) for x in row))
            for name, row in zip(self.names, self.correlation, strict=True)
        ]
        return show.Table(("correlation", *self.names), tuple(rows), "Correlation of the unknowns")

    def plot(self) -> Any:
        """A Plotly figure of the standard errors, beside those of the fit."""
        place = np.arange(1, len(self.names) + 1, dtype=float)
        ratio = show.Curve("× the fit's", place, self.ratio, marked=True)
        panel = show.Panel("standard error, × the fit's", (ratio,))
        label = ", ".join(f"{k}: {n}" for k, n in enumerate(self.names, start=1))
        return show.figure(show.Curves((panel,), self.table().title, label, 300, whole=True))

    def page(self) -> show.Page:
        """All of it as a page, for files, the store and the workbench."""
        shown = (self.table(), self.correlations())
        section = show.Section("Covariance of the estimate", KINDS[self.kind] + ".", shown)
        told = show.Page(f"Covariance: {self.fit.study.name}", (section,))
        study = self.fit.study
        return with_reproduction(
            told, "covariance", study, first=(study_summary(study, "covariance"),)
        )

    def report(self, path: str | PathLike[str]) -> Path:
        """Write a self-contained HTML page with both tables."""
        return show.write(self.page(), path)

    def to_dict(self) -> dict[str, object]:
        """The covariance as plain values; what is not finite is None."""
        found = {
            "study": self.fit.study.name,
            "kind": self.kind,
            "bandwidth": self.bandwidth,
            "names": list(self.names),
            "covariance": self.matrix.tolist(),
            "correlation": self.correlation.tolist(),
            "stderr": self.stderr.tolist(),
            "ci95": self.interval.tolist(),
        }
        plain = finite(found)
        assert isinstance(plain, dict)
        return plain

    def _reach(self) -> str:
        if self.kind != "hac":
            return ""
        told = f", over {self.bandwidth:.0f} samples"
        longest = max((len(o.time) for c in self.fit.cases for o in c.outputs), default=0)
        if longest < LEAST:
            return f"{told}: so few samples do not tell a memory, and the intervals are rough"
        if self.bandwidth * MEMORIES <= longest:
            return told
        return f"{told}: of so long a memory the record is short, and the intervals are rough"

    def _repr_html_(self) -> str:
        return show.html(self.table()) + show.html(self.correlations())

    def __repr__(self) -> str:
        return f"{show.text(self.table())}\n\n{show.text(self.correlations())}"


def covariance(fit: Fit, kind: str = "model") -> Covariance:
    """The covariance of a fit's unknowns.

    `kind` is "model" (white noise, as the fit has it), "pooled" (one variance for all outputs, as
    their weights have it), "sandwich" (each sample with a variance of its own) or "hac" (noise that
    may be coloured as well).
    """
    require_kind(kind)
    require_estimate(fit)
    if kind == "model":
        return Covariance(fit, kind, fit.accuracy)
    refuse_input_errors(fit.study, f"covariance '{kind}'", "use kind 'model', or bootstrap")
    return around_estimate(fit, linearise_fit(fit), kind)


def require_kind(kind: str) -> None:
    """Refuse a covariance that does not exist."""
    if kind not in KINDS:
        raise InferError(
            "I311",
            f"there is no covariance '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})",
        )


def around_estimate(fit: Fit, around: LinearisedFit, kind: str) -> Covariance:
    """The same for a study that is linearised already."""
    memory = 0.0
    freedom = around.freedom
    if freedom <= 0:
        raise InferError(
            "I312",
            f"{around.n_samples} samples for {fit.n_free} unknowns leave nothing to tell the noise "
            "from; add data, or fix unknowns",
        )
    factor, degrees = 1.0, around.told.of(by_residuals=True)
    if kind == "sandwich":
        meat = heteroscedastic_score_covariance(around)
    elif kind == "pooled":
        meat, factor = white_score_covariance(around), around.n_samples / freedom
        degrees = np.full(len(around.q), freedom)
        if around.told.known:
            factor, degrees = 1.0, around.told.of()
    else:
        found = coloured_score_covariance(around)
        meat, memory = found.meat, found.reach
        degrees = np.minimum(degrees, found.freedom)
    inverse = around.inverse
    known = accuracy(
        around.root,
        around.objective.unknowns,
        around.q,
        fit.held,
        FreeCovariance(~around.held, inverse),
        covariance=factor * inverse @ meat @ inverse,
        freedom=degrees,
        threshold=fit.accuracy.threshold,
    )
    return Covariance(fit, kind, known, memory)
