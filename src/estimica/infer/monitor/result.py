"""MonitorResult: what a monitor has found so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import DONE, Outcome, Result
from estimica.estimate.unknowns import Unknown
from estimica.infer.monitor.charts import Alarm, ChartDesign
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class MonitorResult(Result):
    """Estimates, how they have moved, changes that were seen, and what became of the rows."""

    presenter = "estimica.infer.monitor.present"

    study: Study
    unknowns: tuple[Unknown, ...]
    values: Vector  # of the unknowns, after the last row
    stderr: Vector  # of the values
    outputs: tuple[str, ...]
    rows: Vector  # thinned: time, values, their standard errors, innovations, level of the charts
    alarms: tuple[Alarm, ...]
    counts: Mapping[str, int]
    time: float  # of the last row
    design: ChartDesign
    settings: Mapping[str, Any]
    origin: str = ""  # the instant of 0 s where stamps are dates
    outcome: Outcome = DONE
    run: str = ""  # its number in the run store

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the unknowns."""
        return tuple(u.label for u in self.unknowns)

    def course(self) -> pd.DataFrame:
        """A row for each of up to some thousand stamps: estimates and standard errors,
        innovations over their standard deviations by output, and how near the charts were to an
        alarm."""
        import pandas as pd

        names = [
            *self.labels,
            *(f"stderr {n}" for n in self.labels),
            *(f"innovation {n}" for n in self.outputs),
            "alarm level",
        ]
        rows = self.rows.reshape(-1, 1 + len(names))
        return pd.DataFrame(rows[:, 1:], columns=names, index=pd.Index(rows[:, 0], name="time"))

    def __getitem__(self, tuner: str) -> float:
        """The estimate of one unknown."""
        return float(self.values[self.labels.index(tuner)])

    def band(self, k: int, width: float = 1.96) -> tuple[Vector, Vector]:
        """Ends of the 95 % band of an unknown along its course."""
        m = len(self.unknowns)
        value, error = self.rows[:, 1 + k], self.rows[:, 1 + m + k]
        low, high = value - width * error, value + width * error
        if self.unknowns[k].log:  # on such a scale the band is one of factors
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                factor = np.exp(width * error / value)
                low, high = value / factor, value * factor
        return low, high
