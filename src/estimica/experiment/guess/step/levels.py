"""StepLevels: where an output rests before a step and where it settles after it.

They are read off a smooth curve through the noisy samples, of local parabolas; how wide these are
is chosen by leaving out one sample at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.guess.step.record import StepRecord

#: ratio of successive differences from which on nobody can tell where it ends: what is still to
#: come, r²/(1 - r) of the first of them, is then five times as much, and an error of r counts
#: eightfold
SLOWEST = 0.85
#: samples are averaged to at most so many. Chosen: the narrowest width still has several of them
BINS = 200
WIDTHS = 12  # tried, between the two shares of the record; chosen: each is 1.35 times the last
NARROWEST, WIDEST = 1 / 80, 1 / 3
FEWEST = 5  # samples under a parabola: three determine it, two more average


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
    # 1.4826 = 1/Φ⁻¹(3/4), from a median deviation to a standard deviation; 1.5 = 1 + 2·(1/2)²
    return float(np.median(np.abs(apart - np.median(apart))) * 1.4826 / np.sqrt(1.5))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The curve at `time`, its slope, its own standard error, and that of one sample."""

    time: Vector
    value: Vector
    slope: Vector
    error: Vector
    noise: float


def smoothed(time: Vector, value: Vector) -> Smoothed:
    """A smooth curve through at least four samples, in time order."""
    t, y, count = _binned(time, value)
    span = float(t[-1] - t[0])
    widths = np.geomspace(NARROWEST, WIDEST, WIDTHS) * span
    fits = [_local(t, y, count, h) for h in widths]
    scores = [np.sum(count * ((y - v) / (1 - np.minimum(own, 0.99))) ** 2) for v, _, own in fits]
    value_, slope, own = fits[int(np.argmin(scores))]
    rest = value - np.interp(time, t, value_)
    free = max(len(time) - float(own.sum()), 1.0)
    noise = float(np.sqrt(np.sum(rest**2) / free))
    error = noise * np.sqrt(np.maximum(own, 0.0) / count)
    return Smoothed(t, value_, slope, error, noise)


def _binned(time: Vector, value: Vector) -> tuple[Vector, Vector, Vector]:
    """(mean time, mean value, how many) of samples that are close to each other."""
    edges = np.linspace(time[0], time[-1], BINS + 1)
    where = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, BINS - 1)
    if len(time) <= BINS:
        _, where = np.unique(time, return_inverse=True)
    count = np.bincount(where).astype(np.float64)
    used = count > 0
    t, y = np.bincount(where, time), np.bincount(where, value)
    return t[used] / count[used], y[used] / count[used], count[used]


def _local(t: Vector, y: Vector, count: Vector, width: float) -> tuple[Vector, Vector, Vector]:
    """(value, slope, weight of the own sample) of the parabola around each t."""
    apart = t[None, :] - t[:, None]
    near = min(FEWEST, len(t)) - 1
    # where samples are sparse the parabola reaches further
    reach = np.maximum(width, 1.05 * np.partition(np.abs(apart), near, axis=1)[:, near])
    x = apart / reach[:, None]
    w = np.maximum(1 - np.abs(x) ** 3, 0) ** 3 * count
    powers = np.stack([np.ones_like(x), x, x**2], axis=2)
    normal = np.einsum("ij,ija,ijb->iab", w, powers, powers)
    normal += 1e-10 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    right = np.einsum("ij,ija,j->ia", w, powers, y)
    inverse = np.linalg.inv(normal)
    coefficients = np.einsum("iab,ib->ia", inverse, right)
    return coefficients[:, 0], coefficients[:, 1] / reach, inverse[:, 0, 0] * count
