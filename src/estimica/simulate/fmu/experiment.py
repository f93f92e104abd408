"""FmuExperiment, FmuPoint, FmuRun: what the host process is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.simulate.fmu.description import FmuDescription, Interface, Kind

_ORDER: tuple[Kind, ...] = ("real", "integer", "boolean")


@dataclass(frozen=True)
class VariableGroup:
    """Variables in the order in which the FMU is asked for them: reals, integers, booleans."""

    names: tuple[str, ...]
    references: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]

    @staticmethod
    def of(description: FmuDescription, names: tuple[str, ...]) -> VariableGroup:
        """The group of some names."""
        variables = [description.named(n) for n in names]
        sorted_ = [[v for v in variables if v.kind == kind] for kind in _ORDER]
        reals, integers, booleans = (tuple(v.reference for v in part) for part in sorted_)
        return VariableGroup(
            tuple(v.name for part in sorted_ for v in part), (reals, integers, booleans)
        )


@dataclass(frozen=True, eq=False)
class FmuExperiment:
    """Everything about a run that does not change from point to point."""

    key: int
    interface: Interface
    fmi: int
    n_states: int
    n_indicators: int
    wants_steps: bool
    times: Vector
    begin: float
    starts: Vector
    values: Vector
    slopes: Vector
    parameters: VariableGroup
    inputs: VariableGroup
    outputs: VariableGroup
    state_references: tuple[int, ...]
    rate_references: tuple[int, ...]
    late: tuple[bool, ...]  # states that are set after initialisation
    rtol: float
    atol: float | tuple[float, ...]
    method: int
    max_step: float
    max_steps: int
    grid: Vector  # communication points
    variable_step: bool


_KEYS = count(1)


def next_key() -> int:
    """A number that no other experiment of this process has."""
    return next(_KEYS)


@dataclass(frozen=True, eq=False)
class FmuStretch:
    """Another time than that of the experiment, with one piece of inputs and its end as sample."""

    begin: float
    end: float
    values: Vector  # of the inputs at the begin
    slopes: Vector
    grid: Vector  # communication points
    span: float  # of the whole record: what is short is so beside it


@dataclass(frozen=True, eq=False)
class FmuPoint:
    """Values of one run; rows: the model, then above and below for each tuner."""

    parameters: Vector  # (1 + 2m, n_parameters)
    late: Vector  # (1 + 2m, n_states)
    deltas: Vector = field(default_factory=lambda: np.zeros(0))  # (m,)
    scales: Vector = field(default_factory=lambda: np.zeros(0))
    ways: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    known: tuple[int, ...] = ()  # the reference of each tuner that is a parameter, else -1
    rtol: float | None = None  # another tolerance than that of the experiment
    stretch: FmuStretch | None = None  # for an experiment with one sample and one piece of inputs


@dataclass(frozen=True, eq=False)
class FmuRun:
    """What came out; `status` is one of fmu_layout."""

    Y: Vector
    YS: Vector
    status: int
    time: float
    function: str
    fmi_status: int
    said: tuple[str, ...]
    counters: dict[str, int]
    end: Vector = field(default_factory=lambda: np.zeros(0))  # outputs where the FMU ended it
