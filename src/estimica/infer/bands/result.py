"""Bands: how far simulated outputs are uncertain, and where further measurements would lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.result import DONE, Outcome, Result
from estimica.base.suggest import did_you_mean
from estimica.base.view import ViewElement
from estimica.estimate.fit.result import Fit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OutputBand:
    """One output of one case with its two bands, at its stamps."""

    case: str
    role: str
    output: str
    unit: str
    time: Vector
    measured: Vector
    simulated: Vector
    stderr: Vector  # of the simulated output, from the uncertainty of the unknowns
    noise: Vector  # standard deviation of the noise
    quantile: Vector  # by which the standard error is multiplied
    further: Vector  # the same for a further measurement
    across: show.Across | None = None  # of a frequency response

    @property
    def mean(self) -> tuple[Vector, Vector]:
        """Ends of the band in which the true output lies, at each stamp by itself."""
        wide = self.quantile * self.stderr
        return self.simulated - wide, self.simulated + wide

    @property
    def prediction(self) -> tuple[Vector, Vector]:
        """Ends of the band in which a further measurement lies, at each stamp by itself."""
        wide = self.further * np.sqrt(self.stderr**2 + self.noise**2)
        return self.simulated - wide, self.simulated + wide

    @property
    def bounded(self) -> bool:
        """Whether the data bound the output at every stamp."""
        return bool(np.isfinite(self.stderr).all())

    @property
    def inside(self) -> float:
        """The share of the measurements within the prediction band."""
        low, high = self.prediction
        return float(np.mean((self.measured >= low) & (self.measured <= high)))


@dataclass(frozen=True, eq=False, repr=False)
class Bands(Result):
    """Bands around every simulated output."""

    presenter = "estimica.infer.bands.present"

    fit: Fit  # the fit that it is about
    kind: str  # how it was computed
    level: float  # the confidence level
    outputs: tuple[OutputBand, ...]  # the band of each output

    def to_frame(self) -> pd.DataFrame:
        """A row for each sample of each output, with the ends of both bands."""
        import pandas as pd

        frames = {
            (o.case, o.output): pd.DataFrame(
                {
                    "measured": o.measured,
                    "simulated": o.simulated,
                    "mean_low": o.mean[0],
                    "mean_high": o.mean[1],
                    "prediction_low": o.prediction[0],
                    "prediction_high": o.prediction[1],
                },
                index=pd.Index(o.time, name="time"),
            )
            for o in self.outputs
        }
        return pd.concat(frames, names=["case", "output"])

    def output(self, name: str, case: str | None = None) -> OutputBand:
        """One output, of one case where several have it."""
        for one in self.outputs:
            if one.output == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(o.output for o in self.outputs))
        where = f" in case '{case}'" if case else ""
        raise InferError("I321", f"there is no output '{name}'{where}{did_you_mean(name, names)}")

    def curves(self) -> ViewElement:
        """What `plot` draws: the outputs with their bands."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended: there are bands, wide or not."""
        return DONE
