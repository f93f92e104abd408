"""FreeInput: a designed input, what it promises, and what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.result import Outcome, Result
from estimica.base.signals import Signal
from estimica.data.writers import write_csv
from estimica.experiment.free_input.problem.limits import Limits
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Attempt:
    """One search: where it began, the criterion that it ended with, and how it ended."""

    start: str
    criterion: float  # as the engine says
    iterations: int
    ended: str


@dataclass(frozen=True, eq=False)
class Expected:
    """What an experiment promises, from the engine's own sensitivities."""

    text: str
    signals: Mapping[str, Signal]
    criterion: float  # over all scenarios; the logarithm of a relative error, the less the better
    stderr: Vector  # of all unknowns, at the nominal values
    energy: Vector  # of each designed input
    courses: Vector  # (times, shown)


@dataclass(frozen=True, eq=False, repr=False)
class FreeInput(Result):
    """A designed input; all numbers are those of the engine, not of the search."""

    presenter = "estimica.experiment.free_input.present"

    study: str
    designed: tuple[str, ...]
    units: Mapping[str, str]
    times: Vector  # of the samples
    stamps: Vector  # where the pieces begin
    names: tuple[str, ...]  # of all unknowns
    values: Vector
    counted: tuple[int, ...]  # the tuners that count
    criterion: str
    worst: bool
    scenarios: tuple[Mapping[str, float], ...]
    limits: Limits
    shown: tuple[str, ...]  # variables in `courses`
    seen: Vector  # their times
    design: Expected
    reference: Expected
    attempts: tuple[Attempt, ...]
    way: str  # how derivatives by the input were computed
    difference: float  # largest, of standard errors as the search saw them and the engine's
    passed: float  # by how much a limit is passed, as a share of its range
    interrupted: bool = False
    seconds: float = 0.0
    run: str = ""
    origin: Study | None = field(default=None, repr=False)  # what was asked
    notes: tuple[str, ...] = ()  # what to know of it

    @property
    def gain(self) -> Vector:
        """1 − (standard error / that of the reference), of each tuner that counts."""
        own = list(self.counted)
        gain: Vector = 1 - self.design.stderr[own] / self.reference.stderr[own]
        return gain

    @property
    def stderr(self) -> dict[str, float]:
        """The standard error to be expected of each unknown."""
        return dict(zip(self.names, map(float, self.design.stderr), strict=True))

    @property
    def signals(self) -> dict[str, Signal]:
        """The designed inputs, as `simulate` takes them."""
        return dict(self.design.signals)

    @property
    def inputs(self) -> dict[str, Vector]:
        """The designed inputs at the samples."""
        return {n: s.at(self.times) for n, s in self.design.signals.items()}

    @property
    def samples(self) -> pd.DataFrame:
        """Time, designed inputs and the variables to be expected, a row for each sample."""
        import pandas as pd

        rows = np.searchsorted(self.seen, self.times)
        shown = {n: self.design.courses[rows, k] for k, n in enumerate(self.shown)}
        return pd.DataFrame({"time": self.times, **self.inputs, **shown})

    @property
    def errors(self) -> pd.DataFrame:
        """A row for each unknown: value, standard error of design and reference, gain."""
        import pandas as pd

        with np.errstate(divide="ignore", invalid="ignore"):
            gain = 1 - self.design.stderr / self.reference.stderr
        columns = {
            "value": self.values,
            "reference": self.reference.stderr,
            "design": self.design.stderr,
            "gain": gain,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="unknown", dtype=object))

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.experiment.free_input.present import outcome

        return outcome(self)

    def write_csv(self, path: str | PathLike[str]) -> Path:
        """Write the designed inputs, one row a sample, units in the headers."""
        units = {"time": "s", **{n: self.units.get(n, "") for n in self.designed}}
        return write_csv(path, {"time": self.times, **self.inputs}, units=units)
