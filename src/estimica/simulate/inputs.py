"""Input pieces: between two stamps every input is u(t) = value + slope·(t − start).

Right-continuous: at a jump the value after it holds, so that a sample at that stamp sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.signals import Hold, Signal, as_signal
from estimica.base.suggest import did_you_mean
from estimica.simulate.engine.options import Pieces

_NO_SLOPES: Mapping[str, str] = {}


def inputs_at(pieces: Pieces, time: float) -> Vector:
    """All inputs at one time."""
    k = max(int(np.searchsorted(pieces.starts, time, side="right")) - 1, 0)
    found: Vector = pieces.values[k] + pieces.slopes[k] * (time - pieces.starts[k])
    return found


def signals_of(
    names: Sequence[str],
    given: Mapping[str, object] | None,
    defaults: Mapping[str, float],
    slopes: Mapping[str, str] = _NO_SLOPES,
) -> list[Signal]:
    """One signal for each input of the model, in order; those not given keep their start value.

    `slopes` are inputs that are the time derivative of another one: {derivative: input}.
    """
    given = given or {}
    own = [n for n in names if n not in slopes]
    for name in given:
        if name not in own:
            raise ModelError("M020", f"the model has no input '{name}'{_hint(name, own)}")
    found = {n: as_signal(n, given[n]) if n in given else Signal.constant(defaults[n]) for n in own}
    return [found[n] if n in found else slope_of(slopes[n], found[slopes[n]]) for n in names]


def slope_of(name: str, signal: Signal) -> Signal:
    """The time derivative of a signal, which must not jump."""
    if len(signal.time) == 1 or not np.ptp(signal.value):
        return Signal.constant(0.0)
    if signal.hold is Hold.PREVIOUS:
        raise ModelError(
            "M160",
            f"input '{name}': the model needs its derivative, and with hold 'previous' it jumps; "
            "use hold = 'linear' or 'spline'",
        )
    straight = signal.refined()
    return Signal(straight.time, _slopes(straight, straight.time))


def _hint(name: str, names: Sequence[str]) -> str:
    return did_you_mean(name, names) or f" (inputs: {', '.join(names) or 'none'})"


def pieces_of(signals: Sequence[Signal], begin: float, end: float) -> Pieces:
    """The common pieces of several signals over [begin, end], constant runs merged."""
    refined = [s.refined() for s in signals]
    stamps = [np.array([begin])]
    for s in refined:
        inside = s.time[(s.time > begin) & (s.time <= end)]
        if len(s.time) > 1:
            stamps.append(inside)
    start = np.unique(np.concatenate(stamps))
    value = (
        np.column_stack([s.at(start) for s in refined]) if refined else np.zeros((len(start), 0))
    )
    slope = (
        np.column_stack([_slopes(s, start) for s in refined]) if refined else np.zeros_like(value)
    )
    if not len(start) > 1:
        return Pieces(start, np.ascontiguousarray(value), np.ascontiguousarray(slope))
    width = np.diff(start)[:, None]
    reached = value[:-1] + slope[:-1] * width
    scale = 1e-14 * np.maximum(np.abs(value[1:]), np.abs(reached))
    changed = (np.abs(value[1:] - reached) > scale) | (slope[1:] != slope[:-1])
    keep = np.concatenate([[True], changed.any(axis=1)])
    return Pieces(start[keep], np.ascontiguousarray(value[keep]), np.ascontiguousarray(slope[keep]))


def _slopes(signal: Signal, start: Vector) -> Vector:
    """The signal's slope just after each time of `start`."""
    if signal.hold is Hold.PREVIOUS or len(signal.time) == 1:
        return np.zeros(len(start))
    t, v = signal.time, signal.value
    width = np.diff(t)
    rise = np.divide(np.diff(v), width, out=np.zeros_like(width), where=width > 0)
    k = np.searchsorted(t, start, side="right") - 1
    inside = (k >= 0) & (k < len(rise))
    return np.where(inside, rise[np.clip(k, 0, len(rise) - 1)], 0.0)
