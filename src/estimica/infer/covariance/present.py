"""How a covariance shows itself: tables, a picture, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from estimica.base import view as show
from estimica.base.result import plain_object
from estimica.base.text import rounded, short
from estimica.base.view import without_empty
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.covariance.result import KINDS, Covariance

#: memories that a record must hold for intervals of kind "hac" to cover by 92 % and more: with four
#: of them they covered by 82 to 94 % in simulated experiments
MEMORIES = 8
#: samples of the longest record below which it is said too: with six samples of each of two outputs
#: and white noise, 88 % were covered in 100 experiments, where the fit's own intervals hold
LEAST = 20


def tables(covariance: Covariance) -> tuple[show.Table, ...]:
    """All there is to read."""
    return standard_errors(covariance), correlations(covariance)


def standard_errors(covariance: Covariance) -> show.Table:
    """Every unknown with its standard error and interval."""
    rows = []
    for k, u in enumerate(covariance.fit.unknowns.items):
        error = float(covariance.stderr[k])
        numbers = (float(covariance.fit.values[k]), error, *map(float, covariance.interval[k]))
        shown = [x if math.isfinite(x) else None for x in (rounded(v, error) for v in numbers)]
        ratio = None if covariance.kind == "model" else short(float(covariance.ratio[k]))
        rows.append((u.label, *shown, ratio, covariance.fit.remark(k)))
    columns = ("unknown", "value", "std. error", "95 % from", "to", "× the fit's", "remark")
    note = KINDS[covariance.kind] + _reach(covariance)
    title = f"{covariance.fit.study.name}: {covariance.kind} covariance"
    return without_empty(show.Table(columns, tuple(rows), title, note), "× the fit's", "remark")


def correlations(covariance: Covariance) -> show.Table:
    """The correlation matrix as a table."""
    rows = [
        (name, *(show.Rounded(float(x), 3) for x in row))
        for name, row in zip(covariance.names, covariance.correlation, strict=True)
    ]
    return show.Table(
        ("correlation", *covariance.names), tuple(rows), "Correlation of the unknowns"
    )


def _reach(covariance: Covariance) -> str:
    if covariance.kind != "hac":
        return ""
    told = f", over {covariance.bandwidth:.0f} samples"
    longest = max((len(o.time) for c in covariance.fit.cases for o in c.outputs), default=0)
    if longest < LEAST:
        return f"{told}: so few samples do not tell a memory, and the intervals are rough"
    if covariance.bandwidth * MEMORIES <= longest:
        return told
    return f"{told}: of so long a memory the record is short, and the intervals are rough"


def picture(covariance: Covariance, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """The standard errors, beside those of the fit."""
    place = np.arange(1, len(covariance.names) + 1, dtype=float)
    ratio = show.Curve("× the fit's", place, covariance.ratio, marked=True)
    panel = show.Panel("standard error, × the fit's", (ratio,))
    label = ", ".join(f"{k}: {n}" for k, n in enumerate(covariance.names, start=1))
    return show.Curves((panel,), standard_errors(covariance).title, label, 300, whole=True)


def page(covariance: Covariance) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    shown = (standard_errors(covariance), correlations(covariance))
    section = show.Section("Covariance of the estimate", KINDS[covariance.kind] + ".", shown)
    one = show.Page(f"Covariance: {covariance.fit.study.name}", (section,))
    study = covariance.fit.study
    return with_reproduction(one, "covariance", study, first=(study_summary(study, "covariance"),))


def as_object(covariance: Covariance) -> dict[str, object]:
    """The covariance as plain values; what is not finite is None."""
    return plain_object(
        {
            "study": covariance.fit.study.name,
            "kind": covariance.kind,
            "bandwidth": covariance.bandwidth,
            "names": list(covariance.names),
            "covariance": covariance.matrix.tolist(),
            "correlation": covariance.correlation.tolist(),
            "stderr": covariance.stderr.tolist(),
            "ci95": covariance.interval.tolist(),
        }
    )
