"""Forecast: how outputs and states go on after the data, and how far that is certain."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import DONE, Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.base.view import ViewElement
from estimica.estimate.fit.result import Fit

if TYPE_CHECKING:
    import pandas as pd

OUTPUT, STATE = "output", "state"


@dataclass(frozen=True, eq=False)
class ForecastCourse:
    """One output or state of one case after its last measured value.

    Variances are those of the states (noise in them, and what the data leave open), of the
    estimates, and of measuring, which a state does not have.
    """

    case: str
    kind: str  # "output" or "state"
    name: str
    unit: str
    time: Vector
    mean: Vector
    states: Vector  # standard deviation from the states
    estimates: Vector  # from the uncertainty of the estimates, to first order
    measuring: Vector  # of the noise of measuring
    quantile: float
    past_time: Vector  # what was measured before
    past: Vector
    paths: Vector  # draws, (count, stamps), without the noise of measuring

    @property
    def error(self) -> Vector:
        """Standard deviation of the true value."""
        found: Vector = np.sqrt(self.states**2 + self.estimates**2)
        return found

    @property
    def measured_error(self) -> Vector:
        """Standard deviation of a value that will be measured."""
        found: Vector = np.sqrt(self.states**2 + self.estimates**2 + self.measuring**2)
        return found

    @property
    def band(self) -> tuple[Vector, Vector]:
        """Ends of the band of the true value, each stamp by itself."""
        wide = self.quantile * self.error
        return self.mean - wide, self.mean + wide

    @property
    def measured_band(self) -> tuple[Vector, Vector]:
        """Ends of the band of values that will be measured."""
        wide = self.quantile * self.measured_error
        return self.mean - wide, self.mean + wide


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Result):
    """How it goes on after the data."""

    presenter = "estimica.infer.forecast.present"

    fit: Fit
    level: float
    courses: tuple[ForecastCourse, ...]
    notes: tuple[str, ...]  # what was assumed
    run: str = ""

    def to_frame(self) -> pd.DataFrame:
        """A row for each stamp of each output and state, with the ends of both bands."""
        import pandas as pd

        frames = {}
        for c in self.courses:
            columns = {"mean": c.mean, "low": c.band[0], "high": c.band[1]}
            if c.kind == OUTPUT:
                columns |= {"measured_low": c.measured_band[0], "measured_high": c.measured_band[1]}
            columns |= {f"path_{k + 1}": path for k, path in enumerate(c.paths)}
            index = pd.Index(c.time, name="time")
            frames[c.case, c.kind, c.name] = pd.DataFrame(columns, index=index)
        return pd.concat(frames, names=["case", "kind", "name"])

    def course(self, name: str, case: str | None = None) -> ForecastCourse:
        """One output or state, of one case where there are several."""
        for one in self.courses:
            if one.name == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(c.name for c in self.courses))
        where = f" in case '{case}'" if case else ""
        raise InferError("I865", f"there is no '{name}'{where}{did_you_mean(name, names)}")

    def write(self, path: str | PathLike[str]) -> Path:
        """Write `to_frame` to a CSV file, or to Parquet where the path ends so."""
        from estimica.infer.states.curve_files import write_frame

        return write_frame(self.to_frame(), path)

    def curves(self) -> ViewElement:
        """What `plot` draws: outputs and states with their bands."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return DONE
