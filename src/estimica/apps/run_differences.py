"""Run differences: by how much what later runs found differs from what the first one found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from estimica.apps.run_facts import (
    FIGURES,
    WORDS,
    criteria_of,
    facts,
    figures,
    label_of,
    objects,
    unknowns,
)
from estimica.base.text import with_error
from estimica.base.view import Table
from estimica.execute.runs.record import StoredRun
from estimica.report.text import printed

ABOUT = (
    "± of a difference is that of runs which know nothing of each other, √(s₁² + s₂²); fits to the "
    "same data mostly scatter together, and then it is too large."
)

#: of a value, below which two runs have found the same: simulations are no more exact by default
SAME = 1e-6
#: what can be subtracted only where criterion and data are the same
OF_ONE_CRITERION = ("cost", *(WORDS[n] for n in ("aic", "aicc", "bic")))


@dataclass(frozen=True, slots=True)
class Difference:
    """A value less that of the first run, with the standard error of independent runs."""

    value: float
    stderr: float | None = None
    relative: float | None = None  # of the first value

    @property
    def text(self) -> str:
        """With its sign, standard error and per cent."""
        if not self.value:
            return "0"
        share = "" if self.relative is None else f" ({100 * self.relative:+.3g} %)"
        if self.stderr is not None:
            told = with_error(self.value, self.stderr, 3)
            if told.startswith("0 "):
                return told
            return f"{'+' if self.value > 0 else ''}{told}{share}"
        if self.relative is not None and abs(self.relative) < SAME:
            return "≈ 0"
        value = float(f"{self.value:.4g}")  # of a difference that has fewer digits than its terms
        return f"{'+' if value > 0 else ''}{printed(value)}{share}"

    def to_dict(self) -> dict[str, float | None]:
        """As JSON has it."""
        return {"difference": self.value, "stderr": self.stderr, "relative": self.relative}


def differences(run: StoredRun, first: StoredRun) -> dict[str, Difference]:
    """By the names of the rows in which both runs have a number."""
    own, other = dict(_numbers(run)), dict(_numbers(first))
    both = [name for name in own if name in other]
    if any(run.result.get(key) != first.result.get(key) for key in ("criterion", "n_samples")):
        both = [name for name in both if name not in OF_ONE_CRITERION]
    return {name: _difference(own[name], other[name]) for name in both}


def comparison_rows(runs: Sequence[StoredRun]) -> list[tuple[str, ...]]:
    """Name, then what each run found; behind each later run its difference from the first."""
    texts = [
        facts(run) | {WORDS.get(n, n): text for n, text in figures(run).items()} for run in runs
    ]
    less = [differences(run, runs[0]) for run in runs[1:]]
    rows = []
    for name in dict.fromkeys(n for one in texts for n in one):
        cells = [texts[0].get(name, "")]
        for own, difference in zip(texts[1:], less, strict=True):
            told = difference.get(name)
            cells += [own.get(name, ""), "" if told is None else told.text]
        rows.append((name, *cells))
    return rows


def comparison_columns(runs: Sequence[StoredRun]) -> list[str]:
    """What stands above such rows: what each run is called, and what is taken from what."""
    first, *others = distinct_names(runs)
    later = [(name, f"{name} − {first}") for name in others]
    return [first, *(word for pair in later for word in pair)]


def distinct_names(runs: Sequence[StoredRun]) -> list[str]:
    """What runs are called beside one another: with study or id where stores share a name."""
    names = [r.summary.title for r in runs]
    if len(set(names)) < len(names):
        names = [f"{r.summary.title} of {r.summary.name}" for r in runs]
    if len(set(names)) < len(names):
        names = [f"{r.summary.title} ({r.id})" for r in runs]
    return names


def difference_table(runs: Sequence[StoredRun]) -> Table | None:
    """What differs, a column for each run after the first; None where nothing does."""
    less = [differences(run, runs[0]) for run in runs[1:]]
    names = dict.fromkeys(n for one in less for n, d in one.items() if d.value)
    rows = tuple((n, *(one[n].text if n in one else "" for one in less)) for n in names)
    columns = ("", *comparison_columns(runs)[2::2])
    note = ABOUT if has_errors(runs) else ""
    return Table(columns, rows, "Differences", note) if rows else None


def has_errors(runs: Sequence[StoredRun]) -> bool:
    """Whether a difference has a standard error, so that `ABOUT` says something."""
    return any(d.stderr is not None for r in runs[1:] for d in differences(r, runs[0]).values())


def _difference(own: tuple[float, float | None], other: tuple[float, float | None]) -> Difference:
    (value, error), (first, first_error) = own, other
    stderr = None if error is None or first_error is None else math.hypot(error, first_error)
    less = value - first
    return Difference(less, stderr, less / abs(first) if first else None)


def _numbers(run: StoredRun) -> Iterator[tuple[str, tuple[float, float | None]]]:
    """Every number of a run that stands in a row of its own, with its standard error."""
    result = run.result
    for name, estimate in unknowns(result):
        if _is_number(estimate.get("value")):
            error = estimate.get("stderr")
            yield name, (estimate["value"], error if _is_number(error) else None)
    for label, one in criteria_of(result):
        if _is_number(one.get("value")):
            yield label, (one["value"], None)
    whole = objects(result).get("aggregate", {}).get("largest")
    if _is_number(whole):
        yield "largest criterion/demand", (whole, None)
    yield from _quantiles(result)
    for name in FIGURES:
        if _is_number(result.get(name)):
            yield WORDS.get(name, name), (result[name], None)


def _quantiles(result: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float | None]]]:
    """Of a Monte Carlo: the quantiles of every criterion, and how often all demands hold."""
    share = objects(result).get("probability_satisfied", {}).get("value")
    if _is_number(share):
        yield "all demands hold with", (share, None)
    criteria = objects(result.get("criteria"))
    for case, own in objects(result.get("quantiles")).items():
        for name, levels in objects(own).items():
            label = label_of(case, name, objects(criteria.get(case)).get(name, {}))
            for level, value in levels.items():
                if _is_number(value):
                    yield f"{label}, {100 * float(level):g} %", (value, None)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
