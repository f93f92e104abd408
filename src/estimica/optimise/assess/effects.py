"""Effects: what each parameter does to each criterion, from the samples of an assessment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.view import Bar, Bars, Table
from estimica.optimise.assess.global_sensitivity import rank_correlations, regression
from estimica.optimise.assess.result import Assessment

MOST = 60  # bars of one picture
SURE = 2.0  # standard errors from which on a rank correlation stands out
MEANING = {
    "one-at-a-time": "Changes of criterion/demand while one parameter moves and the others rest.",
    "grid": "Means over each value of a parameter, against the mean of all: of criterion/demand.",
    "correlations": "Rank correlations tell direction and strength of a relation that only rises "
    "or only falls; R² is the share of the scatter that a straight relation with all parameters "
    "explains.",
}
#: what becomes of samples in which a criterion was not reached
OPEN = {
    "one-at-a-time": "A criterion that is not reached changes by more than its window shows; one "
    "that is not reached at the centre has no changes.",
    "grid": "A criterion that is not reached in some samples has no mean, and no main effect.",
    "correlations": "For rank correlations what is not reached is larger than all that is; "
    "regressions leave it out, so that they speak of the samples that reach it.",
}


@dataclass(frozen=True, eq=False)
class EffectColumn:
    """One number for each criterion and each parameter, (criteria, n); NaN where it is unknown."""

    key: str
    name: str
    values: Vector
    at_least: Vector | None = None  # what is known there, where something is

    def cell(self, k: int, j: int) -> float | str:
        """How one of them stands in a table."""
        if self.at_least is None or np.isnan(self.at_least[k, j]):
            return float(self.values[k, j])
        return f"> {self.at_least[k, j]:.4g}"


@dataclass(frozen=True, eq=False)
class Effects:
    """`kind` is "ranges" (changes of a criterion/demand) or "correlations"."""

    kind: str
    columns: tuple[EffectColumn, ...]


def effects(assessment: Assessment) -> Effects | None:
    """Ranges for designs on levels, correlations for samples; None where there is too little."""
    good = assessment.good & assessment.drawn
    if assessment.design == "one-at-a-time":
        return _single(assessment)
    if assessment.samples.axes:
        return _levels(assessment)
    n = len(assessment.samples.names)
    if good.sum() < n + 3:
        return None
    x = assessment.samples.values[good]
    # what was not reached is larger than all that was
    ranked = np.where(assessment.open[good], np.inf, assessment.values[good])
    slopes, shares = _regressions(x, assessment.values[good])
    return Effects(
        "correlations",
        (
            EffectColumn("rank_correlation", "rank correlation", rank_correlations(x, ranked)),
            EffectColumn("regression", "standardised regression", slopes),
            EffectColumn("explained", "R² of all", np.repeat(shares[:, None], n, axis=1)),
        ),
    )


def _regressions(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """Slopes and R² of every criterion over the samples that reached it; NaN where few did."""
    n = x.shape[1]
    slopes, shares = np.full((y.shape[1], n), np.nan), np.full(y.shape[1], np.nan)
    for k, column in enumerate(y.T):
        own = np.isfinite(column)
        if own.sum() >= n + 3:
            fitted = regression(x[own], column[own, None])
            slopes[k], shares[k] = fitted[0][0], fitted[1][0]
    return slopes, shares


def _ranges(low: Vector, high: Vector, at_least: Vector | None = None) -> Effects:
    return Effects(
        "ranges",
        (
            EffectColumn("least", "least change", low),
            EffectColumn("largest", "largest change", high, at_least),
        ),
    )


def _single(assessment: Assessment) -> Effects | None:
    """Changes of criterion/demand from the first sample, the centre, along each parameter.

    What was not reached at the centre has none; where it is not reached elsewhere, the largest is
    not known.
    """
    centre, values = assessment.weighted[0], assessment.samples.values
    if not assessment.good[0]:
        return None
    shape = len(assessment.places), len(assessment.samples.names)
    low, high, bound = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    for j in range(shape[1]):
        moved = (values[:, j] != values[0, j]) & assessment.good
        if moved.any():
            change = assessment.weighted_least[moved] - centre
            open_ = assessment.open[moved]
            low[:, j] = np.where(open_, 0.0, change).min(axis=0, initial=0.0)
            top = change.max(axis=0, initial=0.0)
            high[:, j] = np.where(open_.any(axis=0), np.nan, top)
            bound[:, j] = np.where(open_.any(axis=0), top, np.nan)
    low[np.isnan(centre)] = high[np.isnan(centre)] = np.nan
    return _ranges(low, high, bound)


def _levels(assessment: Assessment) -> Effects | None:
    """Means over each level of a parameter against the mean of all: the main effects of a grid.

    A criterion that was not reached in some samples has no mean.
    """
    good = assessment.good
    if not good.any():
        return None
    weighted, values = assessment.weighted[good], assessment.samples.values[good]
    middle = weighted.mean(axis=0)
    shape = len(assessment.places), len(assessment.samples.names)
    low, high = np.zeros(shape), np.zeros(shape)
    for j in range(len(assessment.samples.axes)):
        order = np.argsort(values[:, j], kind="stable")
        begins = np.r_[0, np.flatnonzero(np.diff(values[order, j])) + 1]
        counts = np.diff(np.r_[begins, len(order)])
        means = np.add.reduceat(weighted[order], begins, axis=0) / counts[:, None]
        low[:, j], high[:, j] = (means - middle).min(axis=0), (means - middle).max(axis=0)
    return _ranges(low, high)


def effects_table(assessment: Assessment) -> Table:
    """A row for each criterion and parameter."""
    own = effects(assessment)
    if own is None:
        return Table(("criterion", "parameter"), (), "Effects", "There are too few samples.")
    rows = [
        (place.label, name, *(c.cell(k, j) for c in own.columns))
        for k, place in enumerate(assessment.places)
        for j, name in enumerate(assessment.samples.names)
    ]
    columns = ("criterion", "parameter", *(c.name for c in own.columns))
    notes = [MEANING[_kind(assessment, own)]]
    if assessment.open.any():
        notes.append(OPEN[_kind(assessment, own)])
    return Table(columns, tuple(rows), "Effects", " ".join(notes))


def _kind(assessment: Assessment, own: Effects) -> str:
    if own.kind == "correlations":
        return own.kind
    return "grid" if assessment.samples.axes else "one-at-a-time"


def tornado(assessment: Assessment, names: tuple[str, ...] = ()) -> Bars:
    """Bars of each criterion, the parameter that does most on top."""
    own = effects(assessment)
    if own is None:
        return Bars((), "effect", "There are too few samples to tell effects")
    places = [k for k, p in enumerate(assessment.places) if not names or p.criterion.name in names]
    kind = _kind(assessment, own)
    groups = []
    for k in places:
        bars = _bars(assessment, own, k)
        if bars:
            groups.append((assessment.places[k].label, tuple(bars)))
    n = len(assessment.samples.names)
    most = max(1, MOST // max(n, 1))
    if len(groups) > most:  # those that change most
        sizes = [max((_size(b) for b in bars), default=0.0) for _, bars in groups]
        chosen = sorted(np.argsort(sizes)[::-1][:most])
        groups = [groups[k] for k in chosen]
    label = "rank correlation" if kind == "correlations" else "change of criterion/demand"
    title = {
        "correlations": "Which parameters go with which criteria",
        "one-at-a-time": "One parameter at a time",
        "grid": "Main effects of the parameters",
    }[kind]
    return Bars(tuple(groups), label, title)


def _size(bar: Bar) -> float:
    return abs(bar.value - bar.base) if np.isfinite(bar.value) else 0.0


def _bars(assessment: Assessment, own: Effects, k: int) -> list[Bar]:
    bars = []
    sure = SURE / np.sqrt(max(int((assessment.good & assessment.drawn).sum()), 1))
    for j, name in enumerate(assessment.samples.names):
        if own.kind == "correlations":
            value = float(np.nan_to_num(own.columns[0].values[k, j]))
            slope = own.columns[1].values[k, j]
            about = f"standardised regression {slope:.3g}" if np.isfinite(slope) else ""
            bars.append(Bar(name, value, about, strong=abs(value) > sure))
        else:
            low, high = (float(c.values[k, j]) for c in own.columns)
            column, bound = assessment.samples.values[:, j], own.columns[1].at_least
            end = f"{high:+.3g}"
            if np.isnan(high) and bound is not None and np.isfinite(bound[k, j]):
                high = float(bound[k, j])
                end = f"more than {high:+.3g} ({assessment.places[k].open_word})"
            about = f"{name} from {column.min():.5g} to {column.max():.5g}: {low:+.3g} … {end}"
            if np.isfinite(high):
                bars.append(Bar(name, high, about, strong=False, base=low))
    bars.sort(key=_size, reverse=True)
    if own.kind == "ranges" and bars and _size(bars[0]) > 0:
        bars[0] = Bar(bars[0].name, bars[0].value, bars[0].about, True, bars[0].base)
    return bars
