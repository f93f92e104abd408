"""Measures of a trajectory: overshoot, settling time, integrals, each with its exact gradient.

`y` is what is measured, `r` its reference, both within the window of the criterion. A measure that
cannot be taken (a level that is not reached, a band that is not kept) is `NotReached`: it goes on
growing with what is missing, so that a search has a slope to follow, and says what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from estimica.optimise.criteria.dense_signal import DenseSignal
from estimica.optimise.criteria.value_with_gradient import ValueWithGradient
from estimica.study.criterion import Criterion


@dataclass(frozen=True, eq=False)
class NotReached(ValueWithGradient):
    """What a search follows where the window ends before there is a value."""

    at_least: float = 0.0  # what the value is at least


@dataclass(frozen=True, eq=False)
class Window:
    """What a criterion looks at: the signal, its reference, and how far the reference went."""

    y: DenseSignal
    r: DenseSignal | None
    step: ValueWithGradient  # of the reference over the whole run, or of the signal in the window
    at_rest: bool

    @cached_property
    def error(self) -> DenseSignal:
        """What is left of the way to the reference; the signal itself where there is none."""
        return self.y if self.r is None else self.y - self.r

    @cached_property
    def beyond(self) -> DenseSignal:
        """How far it is from where it should end; without a reference from where it ends."""
        return self.error if self.r is not None else self.y.above(self.y.last)

    @property
    def target(self) -> ValueWithGradient:
        """Where the signal should end: the reference, or where it ends."""
        return self.y.last if self.r is None else self.r.last

    @property
    def length(self) -> float:
        """Seconds."""
        return self.y.end - self.y.begin


def overshoot(w: Window, c: Criterion) -> ValueWithGradient:
    """How far it goes beyond its target: max(0, s·(y − r)), s the direction of the step.

    After rest: the greatest |y − r| at which it turns back (block Overshoot of Elmqvist et al.,
    2005), or at the end where it still grows.
    """
    if w.at_rest:
        return _swing(w)
    s = _direction(w)
    peak = w.beyond.highest() if s > 0 else w.beyond.lowest()
    return peak.times(s).positive


def undershoot(w: Window, c: Criterion) -> ValueWithGradient:
    """How far it goes the wrong way from where it begins: max(0, s·(y(begin) − y)).

    After rest: the greatest distance on the near side of the reference at which it turns.
    """
    s = _direction(w)
    if w.at_rest:
        turn = w.error.turn(lambda values: -s * values)
        return turn.times(-s).positive if turn else w.step.nothing
    far = w.y.lowest() if s > 0 else w.y.highest()
    return (w.y.first - far).times(s).positive


def _swing(w: Window) -> ValueWithGradient:
    error = w.error
    turn = error.turn(np.abs)
    turns = [turn.size] if turn else []
    if error.last.value * error.last_rate > 0:
        turns.append(error.last.size)
    return max(turns, key=lambda g: g.value, default=w.step.nothing)


def _direction(w: Window) -> float:
    return -1.0 if w.step.value < 0 else 1.0


def rise_time(w: Window, c: Criterion) -> ValueWithGradient:
    """From the first crossing of one share of the step to the first of the other."""
    step = w.target - w.y.first
    low, high = (w.y.first + step.times(share) for share in c.levels)
    if not step.value:
        return step.nothing
    s = 1.0 if step.value > 0 else -1.0
    begin = _first_crossing(w.y, low, s)
    end = _first_crossing(w.y, high, s)
    begun = w.y.end if begin is None else begin.value  # what has not begun may be short
    if begin is None:
        begin = ValueWithGradient(w.y.begin, 0 * step.gradient)
    if end is not None:
        return end - begin
    reached = w.y.highest() if s > 0 else w.y.lowest()
    missing = (high - reached).over(step)
    penalty = ValueWithGradient(w.y.end, 0 * step.gradient) - begin + missing.times(w.length)
    return NotReached(penalty.value, penalty.gradient, w.y.end - begun)


def _first_crossing(y: DenseSignal, level: ValueWithGradient, s: float) -> ValueWithGradient | None:
    if s * (y.first.value - level.value) >= 0:
        return ValueWithGradient(y.begin, 0 * level.gradient)
    return y.crossing(level)


def band_of(w: Window, c: Criterion) -> ValueWithGradient:
    """Half the width of the band that a signal settles in."""
    if c.band is not None:
        return ValueWithGradient(c.band, 0 * w.step.gradient)
    return w.step.size.times(c.tolerance)


def settling_time(w: Window, c: Criterion) -> ValueWithGradient:
    """When |y − r| (without a reference |y − y(end)|) leaves the band for the last time."""
    error = w.beyond
    band = band_of(w, c)
    outside = error.last.size - band
    if outside.value > 0:
        over = outside.over(band) if band.value else outside
        penalty = over.times(w.length) + ValueWithGradient(w.length, 0 * band.gradient)
        return NotReached(penalty.value, penalty.gradient, w.length)
    above, below = error.crossing(band, last=True), error.crossing(band.times(-1.0), last=True)
    passed = [c for c in (above, below) if c is not None]
    if not passed:
        return band.nothing
    last = max(passed, key=lambda g: g.value)
    return ValueWithGradient(last.value - w.y.begin, last.gradient)


def peak(w: Window, c: Criterion) -> ValueWithGradient:
    """max |y − r|."""
    error = w.error
    return max(error.highest(), error.lowest().times(-1.0), key=lambda g: g.value)


def final(w: Window, c: Criterion) -> ValueWithGradient:
    """y where the window ends."""
    return w.y.last


def steady_state_error(w: Window, c: Criterion) -> ValueWithGradient:
    """|y − r| where the window ends."""
    return w.error.last.size


def rms(w: Window, c: Criterion) -> ValueWithGradient:
    """√(1/T ∫(y − r)² dt)."""
    return w.error.square_integral().over(w.error.length).root


def iae(w: Window, c: Criterion) -> ValueWithGradient:
    """∫|y − r| dt."""
    return w.error.size_integral()


def ise(w: Window, c: Criterion) -> ValueWithGradient:
    """∫(y − r)² dt."""
    return w.error.square_integral()


def itae(w: Window, c: Criterion) -> ValueWithGradient:
    """∫t·|y − r| dt, the time counted from the begin of the window."""
    return w.error.size_integral(over_time=True)


def maximum(w: Window, c: Criterion) -> ValueWithGradient:
    """The greatest y − r."""
    return w.error.highest()


def minimum(w: Window, c: Criterion) -> ValueWithGradient:
    """The least y − r."""
    return w.error.lowest()


def mean(w: Window, c: Criterion) -> ValueWithGradient:
    """1/T ∫(y − r) dt."""
    return w.error.integral().over(w.error.length)


def integral(w: Window, c: Criterion) -> ValueWithGradient:
    """∫(y − r) dt."""
    return w.error.integral()


def energy(w: Window, c: Criterion) -> ValueWithGradient:
    """∫y² dt."""
    return w.y.square_integral()


MEASURES: dict[str, Callable[[Window, Criterion], ValueWithGradient]] = {
    "overshoot": overshoot,
    "undershoot": undershoot,
    "rise-time": rise_time,
    "settling-time": settling_time,
    "peak": peak,
    "final": final,
    "steady-state-error": steady_state_error,
    "rms": rms,
    "iae": iae,
    "ise": ise,
    "itae": itae,
    "maximum": maximum,
    "minimum": minimum,
    "mean": mean,
    "integral": integral,
    "energy": energy,
}


def rest(r: DenseSignal, tolerance: float = 1e-9) -> float:
    """From when on the reference stays where it ends: a break, or the end of a panel."""
    far = np.abs(r.fine - r.last.value) > tolerance * (np.ptp(r.fine) or 1.0)
    moving = np.flatnonzero(far.any(axis=1))
    if not len(moving):
        return r.begin
    return float(r.panels.high[moving[-1]])
