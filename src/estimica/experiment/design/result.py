"""InputDesign: inputs that were considered, what each would tell, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.result import Outcome, Result
from estimica.base.signals import Signal
from estimica.data.writers import write_csv
from estimica.experiment.design.information import InformationMeasures
from estimica.experiment.design.problem import DesignProblem
from estimica.study.study import Study
from estimica.study.tables.input_design import InputDesignTable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Candidate:
    """One input that was considered; where it could not be tried, `error` says why."""

    label: str  # such as "frequency = 0.05"
    settings: Mapping[str, float]  # what it differs by from the others
    judgement: InformationMeasures | None
    error: str = ""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A multisine: the lines that might be used, the power of each, and a bound on what is lost."""

    frequencies: Vector  # Hz
    power: Vector  # mean square of each line
    gain: Vector  # what power in a line would add, 1 where it is worth its share, never above
    efficiency: float  # at least so near to the best that any powers could do, 0 to 1
    crest_factor: float


@dataclass(frozen=True, eq=False, repr=False)
class InputDesign(Result):
    """What `estimica design-input` found.

    `inputs` are the courses of the designed inputs, `Y` the outputs that the model answers with.
    """

    presenter = "estimica.experiment.design.present"

    bench: DesignProblem  # the problem that was solved
    settings: InputDesignTable  # what was asked for
    tried: tuple[Candidate, ...]  # all candidates
    chosen: Candidate | None  # the best of them
    inputs: Mapping[str, Signal]  # courses of the designed inputs
    Y: Vector  # (samples, outputs)
    about: str  # what the input is, in words
    notes: tuple[str, ...] = ()  # what to know of it
    spectrum: Spectrum | None = None  # of the input
    sections: tuple[show.Section, ...] = ()  # more for the page
    told: Mapping[str, object] = field(default_factory=dict)  # more for the JSON
    interrupted: bool = False  # whether it was stopped before its end
    seconds: float = 0.0  # how long it took
    run: str = ""  # its id in the store of runs
    origin: Study | None = field(default=None, repr=False)  # what was asked

    @property
    def best(self) -> Candidate:
        """The best of all that were tried."""
        if self.chosen is None:
            raise ExperimentError("W080", f"there is no best input: {self.outcome.message}")
        return self.chosen

    @property
    def candidates(self) -> pd.DataFrame:
        """A row for each candidate: its settings, all measures, and why it failed."""
        import pandas as pd

        from estimica.experiment.design.present import rows

        return pd.DataFrame(rows(self))

    @property
    def signal(self) -> Signal:
        """The course of the designed input; of the first where there are several."""
        if not self.inputs:
            raise ExperimentError("W080", f"there is no best input: {self.outcome.message}")
        return next(iter(self.inputs.values()))

    @property
    def samples(self) -> pd.DataFrame:
        """Time, designed inputs and the outputs to be expected, a row for each sample."""
        import pandas as pd

        columns = {"time": self.bench.times, **self._columns()}
        columns |= {n: self.Y[:, k] for k, n in enumerate(self.bench.outputs)}
        return pd.DataFrame(columns)

    def write_csv(self, path: str | PathLike[str]) -> Path:
        """Write the time and the designed inputs, one row a sample; every digit reads back."""
        if not self.inputs:
            raise ExperimentError("W080", f"there is no best input: {self.outcome.message}")
        columns = {"time": self.bench.times, **self._columns()}
        units = {"time": "s", **{n: self.bench.units.get(n, "") for n in self.inputs}}
        return write_csv(path, columns, units=units)

    def _columns(self) -> dict[str, Vector]:
        return {n: s.at(self.bench.times) for n, s in self.inputs.items()}

    @property
    def outcome(self) -> Outcome:
        """How it went."""
        from estimica.experiment.design.present import outcome

        return outcome(self)

    def plot(self, kind: str = "", *names: str) -> Any:
        """A Plotly figure: "measures" of the candidates, "outputs", or the "spectrum"."""
        return super().plot(kind, *names)
