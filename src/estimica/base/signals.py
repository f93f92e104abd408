"""Signals: named series of numbers, each with its own time stamps and a rule between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.public.calls import with_known_keywords
from estimica.base.suggest import did_you_mean

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline


class Hold(StrEnum):
    """What a signal does between two stamps."""

    PREVIOUS = "previous"  # it keeps a sample's value until the next stamp
    LINEAR = "linear"
    SPLINE = "spline"  # the not-a-knot cubic through the samples


@with_known_keywords()
@dataclass(frozen=True, eq=False)
class Signal:
    """Samples in time order. Two samples at one stamp are a jump; the later holds from there."""

    time: Vector  # stamps in order
    value: Vector  # at each stamp
    hold: Hold = Hold.PREVIOUS  # what it does between stamps

    @classmethod
    def constant(cls, value: float) -> Signal:
        """A number, for all times."""
        return cls(np.zeros(1), np.array([float(value)]))

    def at(self, times: Vector) -> Vector:
        """Values at `times`; the first and the last sample are held beyond the ends."""
        k = np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self.time) - 1)
        if self.hold is Hold.PREVIOUS or len(self.time) == 1:
            return self.value[k]
        inside = np.clip(times, self.time[0], self.time[-1])
        if self.hold is Hold.SPLINE:
            return np.asarray(self._spline()(inside), np.float64)
        nxt = np.minimum(k + 1, len(self.time) - 1)
        width = self.time[nxt] - self.time[k]
        share = np.divide(inside - self.time[k], width, out=np.zeros_like(inside), where=width > 0)
        return self.value[k] + share * (self.value[nxt] - self.value[k])

    def refined(self, tolerance: float = 1e-7) -> Signal:
        """A spline as straight pieces within `tolerance` of its range; other signals unchanged."""
        if self.hold is not Hold.SPLINE or len(self.time) < 3:
            return (
                self if self.hold is not Hold.SPLINE else Signal(self.time, self.value, Hold.LINEAR)
            )
        spline = self._spline()
        span = float(np.ptp(self.value)) or 1.0
        curvature = np.abs(spline(self.time, 2))  # linear in between, so largest at an end
        bend = np.maximum(curvature[:-1], curvature[1:])
        width = np.diff(self.time)
        # a chord of a curve with second derivative b over a length h is off by at most b·h²/8
        pieces = np.ceil(width * np.sqrt(bend / (8 * tolerance * span))).astype(int).clip(1, 10_000)
        grid = np.concatenate(
            [
                np.linspace(a, b, n, endpoint=False)
                for a, b, n in zip(self.time[:-1], self.time[1:], pieces, strict=True)
            ]
            + [self.time[-1:]]
        )
        return Signal(grid, np.asarray(spline(grid), np.float64), Hold.LINEAR)

    def _spline(self) -> CubicSpline:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.time, self.value)


def as_signal(name: str, given: object) -> Signal:
    """A signal from a number, (times, values), a pandas Series, or {time, value, hold}."""
    if isinstance(given, Signal):
        return given
    hold = Hold.PREVIOUS
    if isinstance(given, Mapping):
        unknown = set(given) - {"time", "value", "hold"}
        if unknown:
            wrong = sorted(map(str, unknown))[0]
            hint = did_you_mean(wrong, ["time", "value", "hold"])
            raise ModelError("M010", f"input '{name}': unknown key '{wrong}'{hint}")
        hold = _hold(name, given.get("hold", "previous"))
        if "time" not in given:
            return Signal.constant(_number(name, given.get("value")))
        time, value = given["time"], given.get("value")
    elif isinstance(given, (tuple, list)) and len(given) == 2:
        time, value = given
    elif hasattr(given, "index") and hasattr(given, "to_numpy"):
        time, value = given.index, given.to_numpy()
    else:
        return Signal.constant(_number(name, given))
    return _checked(name, time, value, hold)


def _hold(name: str, given: object) -> Hold:
    try:
        return Hold(str(given))
    except ValueError:
        choices = ", ".join(Hold)
        raise ModelError("M011", f"input '{name}': hold '{given}' is none of {choices}") from None


def _number(name: str, given: object) -> float:
    try:
        value = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError(
            "M012",
            f"input '{name}': {given!r} is not a number, pair (times, values), or "
            "{'time': ..., 'value': ..., 'hold': ...}",
        ) from None
    if not np.isfinite(value):
        raise ModelError("M013", f"input '{name}': the value {value} is not finite")
    return value


def _checked(name: str, time: object, value: object, hold: Hold) -> Signal:
    try:
        t = np.atleast_1d(np.asarray(time, float))
        v = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError) as error:
        raise ModelError("M014", f"input '{name}': {error}; give numbers") from None
    if t.ndim != 1 or t.shape != v.shape:
        raise ModelError("M015", f"input '{name}': {t.size} times but {v.size} values")
    sampled = np.isfinite(v)  # NaN means: not sampled
    t, v = t[sampled], v[sampled]
    if t.size == 0:
        raise ModelError("M016", f"input '{name}' has no samples")
    if not np.isfinite(t).all():
        raise ModelError("M017", f"input '{name}': a time stamp is not finite")
    back = np.flatnonzero(np.diff(t) < 0)
    if back.size:
        k = int(back[0])
        raise ModelError(
            "M018",
            f"input '{name}': time goes back from {t[k]:g} to {t[k + 1]:g}; sort the samples",
        )
    if hold is Hold.SPLINE and (np.diff(t) == 0).any():
        raise ModelError("M019", f"input '{name}': a spline cannot jump; use hold = 'linear'")
    return Signal(t, v, hold)
