"""States: filtered and smoothed states, and what noise has added to them between samples."""

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

BEHIND = ("filtered", "smoothed")


@dataclass(frozen=True, eq=False)
class StateCourse:
    """One state of one case at its stamps; each value has a standard error beside it.

    `added` is what noise has brought into the state since the stamp before, as all the data tell
    it, and NaN at the first stamp; `rate` is that over the time between, what the equation lacks.
    """

    case: str
    role: str
    state: str
    unit: str
    time: Vector
    filtered: Vector  # from the values up to each stamp
    filtered_error: Vector
    smoothed: Vector  # from all values
    smoothed_error: Vector
    added: Vector
    added_error: Vector
    expected: Vector  # standard deviation of what noise adds, before anything was measured
    step: Vector  # seconds since the stamp before
    quantile: float  # by which standard errors are multiplied for the bands

    @property
    def rate(self) -> Vector:
        """What the equation of the state lacks, on the mean between two stamps, per second."""
        return self.added / self.step

    @property
    def rate_error(self) -> Vector:
        """Its standard error."""
        return self.added_error / self.step

    @property
    def is_noisy(self) -> bool:
        """Whether there is noise in its equation."""
        return bool(np.nanmax(self.expected, initial=0.0) > 0)

    @property
    def diffusion(self) -> float:
        """Standard deviation of what noise adds in a second, root mean square over the case."""
        known = np.isfinite(self.expected)
        length = float(np.sum(self.step[known]))
        return float(np.sqrt(np.sum(self.expected[known] ** 2) / length)) if length else 0.0

    def band(self, kind: str) -> tuple[Vector, Vector]:
        """The ends of the band of `filtered`, `smoothed`, `added` or `rate`."""
        value, error = getattr(self, kind), getattr(self, f"{kind}_error")
        return value - self.quantile * error, value + self.quantile * error


@dataclass(frozen=True)
class NoiseEvidence:
    """Whether noise in a state is told from none."""

    state: str
    level: str  # as the study has it
    value: float  # in units of the state over the root of a second
    unit: str
    ratio: float  # over its standard error; NaN where it was given, not found
    at_bound: bool = False

    @property
    def is_given(self) -> bool:
        """Whether the study says how large it is."""
        return not np.isfinite(self.ratio) and not self.at_bound


@dataclass(frozen=True)
class Companion:
    """A signal that may go with what an equation lacks."""

    state: str
    signal: str
    kind: str  # "input", "column" or "state"
    correlation: float
    samples: float  # independent ones that the correlation counts as
    p: float  # chance of a correlation so large by accident, for all signals looked at together


@dataclass(frozen=True, eq=False, repr=False)
class States(Result):
    """What the data tell of the states, and of what their equations lack."""

    presenter = "estimica.infer.states.present"
    main_kind = "smoothed"

    fit: Fit
    level: float
    courses: tuple[StateCourse, ...]
    evidence: tuple[NoiseEvidence, ...]  # the most certain first
    companions: tuple[Companion, ...]  # by state, the strongest first
    verdict: str  # in words, a paragraph for each thing
    run: str = ""

    def to_frame(self) -> pd.DataFrame:
        """A row for each stamp of each state, with the ends of all bands."""
        import pandas as pd

        frames = {}
        for c in self.courses:
            columns: dict[str, Vector] = {}
            for kind in ("filtered", "smoothed", "added", "rate"):
                low, high = c.band(kind)
                columns |= {kind: getattr(c, kind), f"{kind}_low": low, f"{kind}_high": high}
            index = pd.Index(c.time, name="time")
            frames[c.case, c.state] = pd.DataFrame(columns, index=index)
        return pd.concat(frames, names=["case", "state"])

    def state(self, name: str, case: str | None = None) -> StateCourse:
        """One state, of one case where there are several."""
        for one in self.courses:
            if one.state == name and case in (None, one.case):
                return one
        names = list(dict.fromkeys(c.state for c in self.courses))
        where = f" in case '{case}'" if case else ""
        raise InferError("I852", f"there is no state '{name}'{where}{did_you_mean(name, names)}")

    def write(self, path: str | PathLike[str]) -> Path:
        """Write `to_frame` to a CSV file, or to Parquet where the path ends so."""
        from estimica.infer.states.curve_files import write_frame

        return write_frame(self.to_frame(), path)

    def curves(self) -> ViewElement:
        """What `plot` draws: the smoothed states with their bands."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return DONE
