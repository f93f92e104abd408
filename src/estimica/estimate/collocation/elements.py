"""Elements: the pieces of time of a collocated case, their points, and the inputs there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.signals import Hold, Signal


@dataclass(frozen=True, eq=False)
class Radau:
    """Radau points on (0, 1], the last of them 1, and slopes of the polynomials through them.

    With X_0 at 0 and X_1 … X_d at the points, h·x'(τ_j) = Σ_r slopes[r, j] X_r. One point is the
    implicit Euler method.
    """

    points: Vector  # (d,)
    slopes: Vector  # (d + 1, d)

    @staticmethod
    def of(degree: int) -> Radau:
        """The scheme with `degree` points; its error at the ends is of order 2·degree − 1."""
        tau = ca.collocation_points(degree, "radau")
        slopes, _, _ = ca.collocation_coeff(tau)
        return Radau(np.array(tau, float), np.array(ca.DM(slopes), float))


@dataclass(frozen=True, eq=False)
class Elements:
    """Where the elements of a case begin and end, and what they see."""

    bounds: Vector  # (M + 1,)
    times: Vector  # (d, M), of the collocation points
    inputs: Vector  # (nu, d, M), in the piece of the input that the element lies in
    stamps: Vector  # (S,), of the samples
    places: Indices  # (S,), the bound at which each stamp lies
    seen: Vector  # (nu, S), inputs at the stamps, after a jump there

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.bounds) - 1


def intervals(begin: float, stamps: Vector, signals: Sequence[Signal]) -> Vector:
    """The bounds that elements must have: every stamp, and every change of an input."""
    marks = [np.array([begin]), stamps]
    for signal in signals:
        changes = _changes(signal)
        marks.append(changes[(changes > begin) & (changes < stamps[-1])])
    return np.unique(np.concatenate(marks))


def divided(bounds: Vector, parts: Indices) -> Vector:
    """Bounds with each interval cut into so many equal parts."""
    first = np.repeat(bounds[:-1], parts)
    width = np.repeat(np.diff(bounds) / parts, parts)
    number = np.arange(len(first)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(first + number * width, bounds[-1])


def elements(bounds: Vector, stamps: Vector, signals: Sequence[Signal], scheme: Radau) -> Elements:
    """The elements between given bounds."""
    times = bounds[:-1] + scheme.points[:, None] * np.diff(bounds)
    times[-1] = bounds[1:]
    begins = np.broadcast_to(bounds[:-1], times.shape)
    inputs = np.array([_within(s, begins, times) for s in signals])
    seen = np.array([s.at(stamps) for s in signals])
    return Elements(
        bounds,
        times,
        inputs.reshape(len(signals), *times.shape),
        stamps,
        np.searchsorted(bounds, stamps),
        seen.reshape(len(signals), len(stamps)),
    )


def _changes(signal: Signal) -> Vector:
    """Stamps at which a signal is not smooth."""
    t, v = signal.time, signal.value
    if len(t) == 1:
        return t[:0]
    if signal.hold is Hold.PREVIOUS:
        return np.asarray(t[1:][np.diff(v) != 0], np.float64)
    if signal.hold is Hold.SPLINE:
        return t
    width = np.diff(t)
    rise = np.divide(np.diff(v), width, out=np.full_like(width, np.inf), where=width > 0)
    return np.concatenate([t[:1], t[1:-1][rise[1:] != rise[:-1]], t[-1:]])


def _within(signal: Signal, begins: Vector, times: Vector) -> Vector:
    """The signal at `times`, each seen from the element that begins at `begins`."""
    if signal.hold is Hold.PREVIOUS or len(signal.time) == 1:
        return signal.at(begins.ravel()).reshape(times.shape)
    if signal.hold is Hold.SPLINE:
        return signal.at(times.ravel()).reshape(times.shape)
    t, v = signal.time, signal.value
    k = np.searchsorted(t, begins, side="right") - 1
    inside = (k >= 0) & (k + 1 < len(t))
    k = np.clip(k, 0, len(t) - 2)
    rise = (v[k + 1] - v[k]) / np.where(t[k + 1] > t[k], t[k + 1] - t[k], 1.0)
    return np.where(inside, v[k] + rise * (times - t[k]), signal.at(begins))
