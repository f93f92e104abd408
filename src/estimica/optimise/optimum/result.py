"""Optimised: the best design that was found, and the way there."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base import view as show
from estimica.base.files.write import atomic_replacement
from estimica.base.result import Outcome, Result
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.execute.batches import WorkedBy
from estimica.optimise.criteria.score import DesignPoint, FailedDesign, Score
from estimica.optimise.optimum.agreement import Agreement, agreement
from estimica.optimise.optimum.modelica import write_tuned_model
from estimica.optimise.optimum.one_start import Iterate, StartEnd
from estimica.optimise.optimum.starts import SearchedStarts
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable

if TYPE_CHECKING:
    import pandas as pd


#: how a search may end that has found something to use
GOOD = ("converged", "stalled", "iteration limit", "done")


def search_outcome(status: str, message: str) -> Outcome:
    """How a search ended, and whether there is a design to use."""
    return Outcome(status, message, ok=status in GOOD)


@dataclass(frozen=True, eq=False, repr=False)
class Optimised(Result):
    """A study's best design."""

    presenter = "estimica.optimise.optimum.present"

    study: Study  # what was asked
    settings: OptimiseTable  # what was asked for
    outcome: Outcome  # how it ended, and why
    unknowns: Unknowns  # what was searched for
    start: DesignPoint  # the design that the search began with
    best: DesignPoint  # the best design
    iterates: tuple[Iterate, ...]  # the designs on the way
    iterations: int  # steps of the search
    evaluations: int  # designs that were simulated in all cases
    simulations: int  # of single cases, those for differences included
    failures: tuple[FailedDesign, ...]  # the first of each start
    failed: int  # designs that could not be simulated
    searched: SearchedStarts  # what each start came to
    differenced: tuple[str, ...]  # criteria whose derivatives are differences
    seconds: float  # how long it took
    run: str = ""  # its id in the store of runs
    scenarios: tuple[Mapping[str, float], ...] = ()  # of a robust design
    worked_by: WorkedBy | None = None  # what has simulated many designs at once, where some were

    @property
    def starts(self) -> tuple[StartEnd, ...]:
        """What each start led to; the first is that of the study."""
        return self.searched.made

    @cached_property
    def agreement(self) -> Agreement:
        """How many starts have ended at this optimum."""
        return agreement(self.searched, self.unknowns)

    @property
    def tuners(self) -> pd.DataFrame:
        """A row for each tuner: value, start, bounds, whether it lies at one."""
        import pandas as pd

        rows = [
            {
                "value": float(v),
                "start": u.start,
                "min": u.min,
                "max": u.max,
                "at_bound": at_bound(u, float(v)) != 0,
                "unit": u.unit,
                "description": u.description,
            }
            for u, v in zip(self.unknowns.items, self.best.tuners, strict=True)
        ]
        names = [u.name for u in self.unknowns.items]
        return pd.DataFrame(rows, index=pd.Index(names, name="tuner", dtype=object))

    @property
    def criteria(self) -> pd.DataFrame:
        """A row for each criterion in each case: value before and after, demand, weighted.

        Values are NaN where the criterion was not reached; `at_least` says what is known then.
        """
        import pandas as pd

        rows = [
            {
                "case": p.case,
                "criterion": p.criterion.name,
                "role": p.role,
                "demand": p.demand,
                "before": before.value,
                "value": after.value,
                "weighted_before": before.weighted,
                "weighted": after.weighted,
                "before_at_least": before.at_least,
                "at_least": after.at_least,
                "unit": p.criterion.unit,
            }
            for p, before, after in zip(
                self.best.places, self.start.scores, self.best.scores, strict=True
            )
        ]
        numbers = ("before", "value", "weighted_before", "weighted", "before_at_least", "at_least")
        return pd.DataFrame(rows).astype(dict.fromkeys(numbers, float))

    @property
    def alpha(self) -> float:
        """The largest weighted criterion of those that are made small; satisfied up to 1.

        NaN where one of them was not reached: `best.largest_at_least` says what is known then.
        """
        return self.best.largest

    @property
    def satisfied(self) -> bool:
        """Whether all demands hold."""
        return self.best.satisfied()

    @property
    def aggregate(self) -> float:
        """The number that was minimised; NaN where one of its criteria was not reached."""
        counted = self.best.worst or self.best
        known = bool(counted.reached[counted.of_role("minimise")].all())
        return self.aggregate_at_least if known else float("nan")

    @property
    def aggregate_at_least(self) -> float:
        """What it is at least: it grows with every criterion."""
        from estimica.optimise.problem import aggregated

        counted = self.best.worst or self.best
        least = (counted.weights * counted.weighted_least)[counted.of_role("minimise")]
        return aggregated(least, self.settings.aggregate, self.settings.sharpness)

    def indicators(self) -> list[show.Curves]:
        """A figure for each indicator of the study: every case before and after."""
        from estimica.optimise.criteria.indicators import Indicators, comparison_figures

        drawn = Indicators(self.study)
        if not drawn:
            return []
        before, after = drawn.at(self.start.tuners), drawn.at(self.best.tuners)
        return comparison_figures([("before", before), ("after", after)])

    def signals(self) -> show.Curves | None:
        """The signals that the criteria look at, before and after, with their demands; None where
        all criteria are formulas or functions."""
        from estimica.optimise.optimum.signals import signal_figure

        return signal_figure(self.study, self.best.places, self.start.tuners, self.best.tuners)

    def criteria_table(self) -> show.Table:
        """The criteria, before and after."""
        from estimica.optimise.optimum.present import criteria_table

        return criteria_table(self)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the design as a CSV table: its tuners, then its criteria."""
        return write_design(self, path)

    def write_modelica(self, path: str | PathLike[str], name: str | None = None) -> Path:
        """Write a Modelica class that extends the model with the best tuners."""
        return write_designed_model(self, path, name)


def at_bound(unknown: Unknown, value: float) -> int:
    """-1 at the lower bound, 1 at the upper one, else 0; rounding does not count."""
    near = 1e-9 * max(abs(value), 1e-300)
    return -1 if value <= unknown.min + near else 1 if value >= unknown.max - near else 0


def write_design(optimised: Optimised, path: str | PathLike[str]) -> Path:
    """What was found, before and after, as CSV."""
    with atomic_replacement(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(_rows(optimised))
    return Path(path)


def _rows(optimised: Optimised) -> Iterator[tuple[object, ...]]:
    yield ("what", "case", "name", "before", "after", "demand", "unit")
    for u, value in zip(optimised.unknowns.items, optimised.best.tuners, strict=True):
        yield ("tuner", "", u.name, repr(u.start), repr(float(value)), "", u.unit)
    for before, after in zip(optimised.start.scores, optimised.best.scores, strict=True):
        p = after.place
        cells = _cell(before), _cell(after)
        yield ("criterion", p.case, p.criterion.name, *cells, p.demand, p.criterion.unit)


def _cell(score: Score) -> str:
    """A value with all its digits; > and what it is at least where it was not reached."""
    return f">{score.at_least!r}" if score.value is None else repr(score.value)


def _largest(optimised: Optimised) -> str:
    if math.isfinite(optimised.alpha):
        return f"largest criterion/demand {optimised.alpha:.6g}"
    open_ = [s for s in optimised.best.scores if not s.reached]
    return ", ".join(f"{s.place.label} {s.place.open_word}" for s in open_)


def write_designed_model(
    optimised: Optimised, path: str | PathLike[str], name: str | None = None
) -> Path:
    """A Modelica class that extends the model with the best tuners."""
    names = (u.name for u in optimised.unknowns.items)
    values = dict(zip(names, map(float, optimised.best.tuners), strict=True))
    note = f"{_largest(optimised)}, {optimised.outcome.status}"
    return write_tuned_model(optimised.study, values, note, path, name)
