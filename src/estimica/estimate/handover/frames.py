"""Frames: a fit as DataFrames: curves over time, correlations, what a summary tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from estimica.base import view
from estimica.base.arrays import Vector
from estimica.estimate.fit.files import columns_of_case
from estimica.estimate.fit.present import tables
from estimica.estimate.fit.result import Fit

if TYPE_CHECKING:
    import pandas as pd

TOLD = 0.1  # correlations below it are left out of the summary, as lmfit does
MOST = 15  # pairs that it tells at most: what fits on a screen


def correlations(covariance: Vector) -> Vector:
    """Correlation matrix; NaN where there is no finite variance."""
    deviation = np.sqrt(np.diag(covariance))
    deviation = np.where(np.isfinite(deviation) & (deviation > 0), deviation, np.nan)
    found: Vector = covariance / np.outer(deviation, deviation)
    return np.clip(found, -1.0, 1.0)


def labelled(matrix: Vector, fit: Fit) -> pd.DataFrame:
    """A matrix over the unknowns of a fit with their labels."""
    import pandas as pd

    labels = pd.Index([u.label for u in fit.unknowns.items], name="unknown", dtype=object)
    return pd.DataFrame(matrix, index=labels, columns=labels.rename(None))


def correlation_frame(fit: Fit) -> pd.DataFrame:
    """Correlations of all unknowns."""
    return labelled(correlations(fit.covariance), fit)


def curves_frame(fit: Fit, case: str | None) -> pd.DataFrame:
    """Inputs, measured and simulated outputs and residuals; all cases below each other."""
    import pandas as pd

    chosen = [fit.case(case)] if case is not None else [c for c in fit.cases if c.outputs]
    frames = {}
    for one in chosen:
        columns, _ = columns_of_case(fit, one)
        axis = next(iter(columns))
        frames[one.name] = pd.DataFrame(columns).set_index(axis)
    if case is not None:
        return frames[case]
    return pd.concat(frames, names=["case"])


def summary_tables(fit: Fit) -> Iterator[view.Table]:
    """The facts, the tables of the fit, and which unknowns go together."""
    yield _facts(fit)
    yield from tables(fit)
    pairs = _pairs(fit)
    if pairs:
        note = f"those below {TOLD} are left out" if fit.n_free > 2 else ""
        yield view.Table(("unknown", "with", "correlation"), pairs, "Correlations", note)


def _facts(fit: Fit) -> view.Table:
    estimation = fit.study.estimation
    rows = (
        ("study", fit.study.name),
        ("model", fit.study.model.name),
        ("criterion", fit.criterion),
        ("method", f"{estimation.method}, {estimation.transcription}"),
        ("outcome", view.status_line(*fit.outcome)),
        ("samples", str(fit.n_samples)),
        ("unknowns", str(fit.n_free)),
        ("cost", f"{fit.cost:.6g}"),
        (
            "log-likelihood",
            f"{fit.log_likelihood:.6g}" if np.isfinite(fit.log_likelihood) else None,
        ),
        ("AIC", f"{fit.aic:.6g}"),
        ("BIC", f"{fit.bic:.6g}"),
        ("iterations", str(len(fit.iterations))),
        ("seconds", f"{fit.seconds:.6g}"),
    )
    told = tuple(row for row in rows if row[1] != "nan")  # a criterion of one's own has none
    return view.Table(("fit", ""), told)


def _pairs(fit: Fit) -> tuple[tuple[object, ...], ...]:
    labels, matrix = [u.label for u in fit.unknowns.items], correlations(fit.covariance)
    upper = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    strong = [p for p in upper if np.isfinite(matrix[p]) and abs(matrix[p]) >= TOLD]
    strong.sort(key=lambda p: -abs(matrix[p]))
    return tuple((labels[i], labels[j], view.Rounded(matrix[i, j], 3)) for i, j in strong[:MOST])
