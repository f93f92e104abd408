"""Predictions: what the model says of each measured value from those some samples before it."""

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


@dataclass(frozen=True, eq=False)
class OutputPrediction:
    """One output of one case at its stamps, and how predictions get worse with the horizon."""

    case: str
    role: str
    output: str
    unit: str
    time: Vector
    measured: Vector
    predicted: Vector
    error: Vector  # standard deviation of measured - predicted, the noise of measuring included
    quantile: float
    #: for 1, 2, … samples ahead: root mean square of measured - predicted, what the filter expects
    #: of it, and the share of the measured values within their intervals
    rmse: Vector
    expected: Vector
    shares: Vector

    @property
    def interval(self) -> tuple[Vector, Vector]:
        """Ends of the interval in which the measured value was to be expected."""
        wide = self.quantile * self.error
        return self.predicted - wide, self.predicted + wide

    @property
    def inside(self) -> float:
        """The share of the measured values within it."""
        return float(self.shares[-1])


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Result):
    """Predictions of all outputs some samples ahead."""

    presenter = "estimica.infer.prediction.present"

    fit: Fit
    ahead: int
    level: float
    outputs: tuple[OutputPrediction, ...]
    run: str = ""

    def to_frame(self) -> pd.DataFrame:
        """A row for each measured value with its prediction and the ends of its interval."""
        import pandas as pd

        frames = {
            (o.case, o.output): pd.DataFrame(
                {
                    "measured": o.measured,
                    "predicted": o.predicted,
                    "low": o.interval[0],
                    "high": o.interval[1],
                },
                index=pd.Index(o.time, name="time"),
            )
            for o in self.outputs
        }
        return pd.concat(frames, names=["case", "output"])

    @property
    def horizons(self) -> pd.DataFrame:
        """A row for each output and horizon: RMS error, what was expected of it, share inside."""
        import pandas as pd

        frames = {
            (o.case, o.output): pd.DataFrame(
                {"rmse": o.rmse, "expected": o.expected, "inside": o.shares},
                index=pd.Index(np.arange(1, self.ahead + 1), name="ahead"),
            )
            for o in self.outputs
        }
        return pd.concat(frames, names=["case", "output"])

    def output(self, name: str, case: str | None = None) -> OutputPrediction:
        """One output, of one case where several have it."""
        for one in self.outputs:
            if one.output == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(o.output for o in self.outputs))
        where = f" in case '{case}'" if case else ""
        raise InferError("I855", f"there is no output '{name}'{where}{did_you_mean(name, names)}")

    def write(self, path: str | PathLike[str]) -> Path:
        """Write `to_frame` to a CSV file, or to Parquet where the path ends so."""
        from estimica.infer.states.curve_files import write_frame

        return write_frame(self.to_frame(), path)

    def curves(self) -> ViewElement:
        """What `plot` draws: the predictions with their intervals."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return DONE
