"""StepLevels: where an output rests before a step and where it settles after it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.guess.step.smoothing import smoothed
from estimica.experiment.guess.step.record import StepRecord

SLOWEST = 0.85  # ratio of successive thirds from which on nobody can tell where it ends


@dataclass(frozen=True, slots=True)
class StepLevels:
    """Initial and final value of the output, and remarks on how they were found."""

    initial: float
    final: float
    notes: tuple[str, ...] = ()

    @property
    def rise(self) -> float:
        """From the initial to the final value; negative where the output falls."""
        return self.final - self.initial


def step_levels(record: StepRecord) -> StepLevels:
    """Means over the rest before the step and over the end, prolonged where it still moves."""
    noise = _noise(record.value)
    final, notes = _final(record, noise)
    if len(record.before):
        settled = record.before[len(record.before) // 2 :]
        initial, count = float(settled.mean()), len(settled)
    else:
        curve = smoothed(record.time, record.value)
        initial = float(curve.value[0] + curve.slope[0] * (record.at - curve.time[0]))
        count = 3
        notes += (f"no sample before the step: the initial value {initial:.4g} is read at it",)
    rise = abs(final - initial)
    doubt = noise * np.sqrt(1 / count + 4 / len(record.value))
    if rise <= 4 * doubt or rise == 0:
        raise ExperimentError(
            "W035",
            f"'{record.output}' does not answer the step of {record.input} at {record.at:g}: it "
            f"goes from {initial:.4g} to {final:.4g}, which its noise ({noise:.2g}) can explain",
        )
    return StepLevels(initial, final, notes)


def _final(record: StepRecord, noise: float) -> tuple[float, tuple[str, ...]]:
    """The mean of the last quarter, or the limit of the exponential through the last thirds."""
    begin, end = record.time[0], record.time[-1]
    last = record.value[record.time >= end - (end - begin) / 4]
    edges = begin + (end - begin) * np.array([0.25, 0.5, 0.75, 1.0])
    thirds = [record.value[(record.time >= a) & (record.time <= b)] for a, b in pairwise(edges)]
    plain = float(last.mean())
    if min(map(len, thirds)) < 2:
        return plain, ()
    means = [float(v.mean()) for v in thirds]
    errors = [noise / np.sqrt(len(v)) for v in thirds]
    d1, d2 = means[1] - means[0], means[2] - means[1]
    if abs(d2) <= 4 * np.hypot(errors[1], errors[2]) or d1 * d2 <= 0:
        return plain, ()
    if d2 / d1 > SLOWEST:
        return plain, ("the output has not settled: the gain is too small, record for longer",)
    rest = d2**2 / (d1 - d2)  # d, d·r, d·r², …: all that is still to come
    final = means[2] + rest
    note = f"the output still moves at the end: its final value {final:.4g} is prolonged"
    visible = abs(final - plain) > 0.01 * abs(final - record.value[0])
    return final, (note,) if visible else ()


def _noise(value: Vector) -> float:
    """Of one sample, from differences of neighbours."""
    apart = value[1:-1] - (value[:-2] + value[2:]) / 2
    return float(np.median(np.abs(apart - np.median(apart))) * 1.4826 / np.sqrt(1.5))
