"""First and second order from a step response, as with ruler and pencil on a smooth curve.

After M. Knudsen, Experimental Modelling of Dynamic Systems, chapter 2; the points of 28 % and
63 % after C. L. Smith, Digital Computer Process Control, 1972.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.guess.step.levels import Smoothed, StepLevels, smoothed
from estimica.experiment.guess.step.record import FEWEST, StepRecord

AT_TAU = 1 - np.exp(-1.0)  # 63.2 %
AT_THIRD = 1 - np.exp(-1 / 3)  # 28.3 %
#: the transient is looked at for so many times its rise. Chosen: a first order has come to e⁻¹² by
#: then, and what follows would only widen the smoothing
LONGEST = 12.0
#: of the rise, where a tangent may touch: n equal lags are steepest at 0.26 (n = 2) to 0.5 (n → ∞)
MIDDLE = (0.2, 0.6)
#: of the rise, from which on it may be a second order. Chosen: a damping of 0.71; less overshoot
#: may be noise
OVERSHOOT = 0.04


@dataclass(frozen=True, slots=True)
class FirstOrder:
    """K·exp(−s·delay)/(1 + s·tau) without K; times since the step."""

    tau: float
    delay: float


@dataclass(frozen=True, slots=True)
class Tangent(FirstOrder):
    """The same by a tangent: where it touches, at which share of the rise, and its slope."""

    touch: float
    share: float
    slope: float


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """ω²·exp(−s·delay)/(s² + 2·ζ·ω·s + ω²), and from what it was read."""

    damping: float
    natural_frequency: float  # rad/s
    delay: float
    overshoot: float  # of the rise
    period: float  # s, of the damped oscillation
    peak: float  # when it is highest, since the step


@dataclass(frozen=True, eq=False)
class Transient:
    """A smooth curve through the answer to a step: from 0 before it to 1 in the end."""

    elapsed: Vector
    share: Vector
    slope: Vector
    error: Vector  # of `share`
    noise: float  # of a sample, in the unit of the output


def transient(record: StepRecord, levels: StepLevels) -> Transient:
    """The curve over that part of the record in which something happens."""
    elapsed = record.time - record.at
    end = float(elapsed[-1])
    while True:
        inside = elapsed <= end
        curve = _normed(smoothed(elapsed[inside], record.value[inside]), levels)
        rise = crossing(curve, AT_TAU)
        shorter = LONGEST * max(rise, 1e-12 * end)
        if shorter > 0.7 * end or np.count_nonzero(elapsed <= shorter) < 3 * FEWEST:
            return curve
        end = shorter


def _normed(curve: Smoothed, levels: StepLevels) -> Transient:
    rise = levels.rise
    share = (curve.value - levels.initial) / rise
    return Transient(curve.time, share, curve.slope / rise, curve.error / abs(rise), curve.noise)


def crossing(curve: Transient, level: float) -> float:
    """When the curve reaches a level for good, between its first and its last touch on the way."""
    beyond = np.flatnonzero(curve.share >= min(level + 0.15, 0.999 * max(curve.share)))
    last = int(beyond[0]) if len(beyond) else len(curve.share) - 1
    above = curve.share[: last + 1] >= level
    ups = np.flatnonzero(~above[:-1] & above[1:])
    if not len(ups):
        return float(curve.elapsed[0]) if above.any() else float(curve.elapsed[last])
    return (_between(curve, int(ups[0]), level) + _between(curve, int(ups[-1]), level)) / 2


def _between(curve: Transient, k: int, level: float) -> float:
    """Where the line from sample k to the next meets the level."""
    a, b = curve.share[k], curve.share[k + 1]
    part = (level - a) / (b - a) if b != a else 0.5
    return float(curve.elapsed[k] + part * (curve.elapsed[k + 1] - curve.elapsed[k]))


def by_two_points(curve: Transient) -> FirstOrder:
    """63 %: an exponential passes 28 % and 63 % two thirds of its time constant apart."""
    early, late = crossing(curve, AT_THIRD), crossing(curve, AT_TAU)
    tau = 1.5 * (late - early)  # 1/(1 − 1/3)
    if tau >= late or tau <= 0:
        return FirstOrder(late, 0.0)
    return FirstOrder(tau, late - tau)


def by_tangent(curve: Transient) -> Tangent:
    """The steepest tangent of the middle part meets the final value τ after it touches.

    That holds at every point of an exponential; the delay is where the exponential through that
    point leaves the initial value.
    """
    low, high = (int(np.argmax(curve.share >= level)) for level in MIDDLE)
    middle = slice(low, max(high, low) + 1)
    k = low + int(np.argmax(curve.slope[middle]))
    share = min(float(curve.share[k]), 0.9)
    slope = max(float(curve.slope[k]), 0.1 / float(curve.elapsed[-1]))  # it rises in the end
    tau = (1 - share) / slope
    touch = float(curve.elapsed[k])
    return Tangent(tau, max(touch + tau * float(np.log1p(-share)), 0.0), touch, share, slope)


def by_overshoot(curve: Transient) -> SecondOrder | None:
    """Damping from the overshoot, frequency from the crossings of the final value.

    The crossings of a damped oscillation are half a period apart, exactly. None where there is no
    overshoot that noise could not explain.
    """
    above = curve.share >= 1
    ups = np.flatnonzero(~above[:-1] & above[1:])
    if not len(ups):
        return None
    first = int(ups[0])
    downs = np.flatnonzero(above[:-1] & ~above[1:])
    downs = downs[downs > first]
    end = int(downs[0]) if len(downs) else len(above) - 1
    top = first + 1 + int(np.argmax(curve.share[first + 1 : end + 1]))
    overshoot = float(curve.share[top]) - 1
    if overshoot < max(OVERSHOOT, 4 * float(curve.error[top])):
        return None
    damping = _damping(overshoot)
    half, begin = _half_period(curve, first, end, overshoot) or _from_hump(curve, top, damping)
    speed = np.pi / half
    natural = float(speed / np.sqrt(1 - damping**2))
    delay = max(begin - (np.pi - float(np.arccos(damping))) / speed, 0.0)
    return SecondOrder(damping, natural, delay, overshoot, 2 * half, float(curve.elapsed[top]))


def _damping(overshoot: float) -> float:
    """Overshoot = exp(−π·ζ/√(1 − ζ²)); an overshoot of 1 or more has none."""
    fall = max(-float(np.log(overshoot)), 0.0)
    return float(fall / np.hypot(np.pi, fall))


def _half_period(
    curve: Transient, up: int, down: int, overshoot: float
) -> tuple[float, float] | None:
    """(half a period, first crossing), as long as the swings between stand out from the noise."""
    above = curve.share >= 1
    changes = np.flatnonzero(above[:-1] != above[1:])
    changes = changes[changes >= down]
    times = [_between(curve, up, 1.0)]
    for a, b in pairwise(changes):
        swing = np.abs(curve.share[a + 1 : b + 1] - 1).max(initial=0.0)
        if swing < max(6 * float(curve.error[a + 1]), 0.2 * overshoot**2, OVERSHOOT):
            break
        times.append(_between(curve, int(a), 1.0))
    return ((times[-1] - times[0]) / (len(times) - 1), times[0]) if len(times) > 1 else None


def _from_hump(curve: Transient, top: int, damping: float) -> tuple[float, float]:
    """The same from the width of the first hump at half its height, where only that is clear."""
    height = 1 + (float(curve.share[top]) - 1) / 2
    below = curve.share < height
    left = int(np.flatnonzero(below[:top])[-1])
    after = np.flatnonzero(below[top:])
    left_time = _between(curve, left, height)
    angles = np.linspace(0, 2 * np.pi, 2001)
    decay = damping / np.sqrt(1 - damping**2)
    hump = -np.exp(-decay * angles) * (np.cos(angles) + decay * np.sin(angles))
    inside = angles[hump >= hump.max() / 2]
    if len(after):
        width = _between(curve, top + int(after[0]) - 1, height) - left_time
        speed = float(inside[-1] - inside[0]) / width
    else:
        speed = float(np.pi - inside[0]) / (float(curve.elapsed[top]) - left_time)
    crossing_ = left_time + (np.pi - float(np.arccos(damping)) - float(inside[0])) / speed
    return float(np.pi / speed), crossing_
