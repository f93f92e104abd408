"""Smoothing: a curve through noisy samples at any stamps, by local parabolas.

How wide the parabolas are is chosen by leaving out one sample at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector

BINS = 200  # samples are averaged to at most so many
WIDTHS = 12  # tried, between the two shares of the record
NARROWEST, WIDEST = 1 / 80, 1 / 3
FEWEST = 5  # samples under a parabola


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
    found = np.einsum("iab,ib->ia", inverse, right)
    return found[:, 0], found[:, 1] / reach, inverse[:, 0, 0] * count
