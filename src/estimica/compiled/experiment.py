"""Experiment: all that a model is asked to respond to over time, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class Experiment:
    """Samples, inputs, values and tuners of a run; what each kind of model can use, it checks."""

    times: Sequence[float] | Vector  # of the samples; numbers of points where there is no time
    inputs: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)  # of states
    outputs: Sequence[str] | None = None  # without it those that the model declares
    wrt: Sequence[str] = ()  # the tuners, whose values are given with every evaluation
    begin: float | None = None  # of the run; without it the first sample
    options: Any = None  # of the engine: an Options, where the model has use for one
