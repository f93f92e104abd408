"""RunEnd: where a model has ended its run by `terminate`, as criteria see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.dense_signal import DenseSignal
from estimica.optimise.criteria.signals import Sampled, SignalFormula
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient


@dataclass(frozen=True, eq=False)
class RunEnd:
    """When and why a run is over, what holds after that instant, and how the tuners move it."""

    time: float
    text: str
    after: Sampled  # one sample
    motion: Vector  # (m,) NaN where it is not known

    def closing(self, signal: DenseSignal, formula: SignalFormula, steady: bool) -> DenseSignal:
        """A signal with the value that it jumps to at the end.

        `steady`: what it is made of changes at events only, so that it does not move with that end.
        """
        value, slope = formula.at(self.after)
        jumped = ValueWithGradient(float(value[0]), slope[0])
        if not signal.jumps_to(jumped.value):
            return signal
        if not steady:  # how fast it goes on after the jump nobody knows
            jumped = ValueWithGradient(jumped.value, np.full_like(jumped.gradient, np.nan))
        return signal.closed(jumped)

    def completed(self, run: Sampled) -> Sampled:
        """All samples of a run, that of its end included, for functions of the user."""
        values: dict[str, Vector | float] = {}
        for name, value in run.values.items():
            last = self.after.values[name]
            values[name] = np.append(value, last) if isinstance(value, np.ndarray) else value
        return Sampled(np.append(run.times, self.time), values, {}, run.count)
