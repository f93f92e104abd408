"""Steps of an FMU for Model Exchange: tried until they are exact enough, cut short at events."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.units import engine_function
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.events import EPS, changed, indicators, search
from estimica.simulate.fmu.loop.explicit import error_norm, explicit_dense, explicit_trial
from estimica.simulate.fmu.loop.stiff import stiff_dense, stiff_trial

Vector = Any
CAUTIOUS = 1e-4  # as FACOLD of Hairer's DOPRI5: what the step control remembers at the beginning
#: the step control of the engine's loop with 1/5 or 1/4, the order, taken out of its exponents:
#: 0.17 is 0.85/5, 0.04 is 0.2/5. It grows eightfold at most (chosen: a rejected step of an FMU is
#: dear)
SAFETY, PRESENT, BEFORE, SHRINK, GROW = 0.9, 0.85, 0.2, 0.2, 8.0


@engine_function
def trial(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """One trial step by the present method."""
    if iw[at.STIFF]:
        return stiff_trial(iw, rw, t, h)
    return explicit_trial(iw, rw, t, h)


@engine_function
def take_step(iw: Vector, rw: Vector, stop: float) -> int:
    """Tries until a step is within tolerance; it stands in TAKEN, its end in ARRIVAL."""
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    t, h = rw[clock + at.NOW], rw[clock + at.NEXT_STEP]
    order = 0.25 if iw[at.STIFF] else 0.2
    while True:
        step, arrival = min(h, rw[setting + at.MAX_STEP]), stop
        if t + 1.01 * step >= stop:  # as DOPRI5: no tiny rest is left for a step of its own
            step = stop - t
        else:
            arrival = t + step
        found = trial(iw, rw, t, step)
        if found == at.FAILED:
            return found
        error = np.inf
        if found == at.DONE:
            error = error_norm(iw, rw, iw[at.O_W0], iw[at.O_W1], iw[at.O_ERR])
        iw[at.SINCE] += 1
        if iw[at.SINCE] > iw[at.MAX_STEPS]:
            return at.TOO_MANY_STEPS
        if error <= 1.0:
            break
        iw[at.REJECTED] += 1
        if np.isfinite(error):
            h = step / min(1.0 / SHRINK, max(1.1, error**order / SAFETY))
        else:
            h = step * 0.25  # chosen: an FMU that discards a step says nothing about a better one
        if iw[at.STIFF] and found and iw[at.FRESH] == 0:
            iw[at.JACOBIAN_AGE] = 1
        # chosen: a few roundings of time; at t = 0, which has none, below any step in earnest
        if h < max(16.0 * EPS * abs(t), 1e-20 * rw[setting + at.SPAN]):
            if found and iw[at.R_STATUS]:
                return found
            return at.STEP_TOO_SMALL if found or np.isfinite(error) else at.NOT_FINITE
    iw[at.STEPS] += 1
    iw[at.STIFF_STEPS] += iw[at.STIFF]
    # 1e-10: GROW bounds what so small an error allows; it only must not be zero
    growth = SAFETY * max(error, 1e-10) ** (-PRESENT * order)
    growth *= rw[clock + at.LAST_ERROR] ** (BEFORE * order)
    rw[clock + at.LAST_ERROR] = max(error, CAUTIOUS)
    growth = min(GROW, max(SHRINK, growth))
    if iw[at.STIFF]:
        # a Jacobian costs a call for each state: it is kept while the iteration converges by a
        # factor of 20 a round, and so are its factors while the step would hardly change (chosen)
        iw[at.JACOBIAN_AGE] = 1 if rw[clock + at.WORST] > 0.05 else 0
        if 0.9 < growth < 1.25:
            growth = 1.0
        iw[at.FRESH] = 0
    rw[clock + at.TAKEN], rw[clock + at.ARRIVAL] = step, arrival
    following = step * growth
    if step < h:  # cut short by what lies ahead, which says little about the next step
        following = max(following, min(h, rw[setting + at.MAX_STEP]))
    rw[clock + at.NEXT_STEP] = following
    return at.DONE


@engine_function
def interpolate(iw: Vector, rw: Vector, h: float) -> None:
    """Prepares dense output of the step just taken."""
    if iw[at.STIFF]:
        stiff_dense(iw, rw, h)
    else:
        explicit_dense(iw, rw, h)


@engine_function
def stop_at_event(iw: Vector, rw: Vector) -> int:
    """Shortens the step to the first change of an indicator; which one, -1 for none, -2: failed."""
    clock, z0, z1 = iw[at.O_CLOCK], iw[at.O_Z0], iw[at.O_Z1]
    t, h = rw[clock + at.NOW], rw[clock + at.TAKEN]
    if indicators(iw, rw, 0, rw[clock + at.ARRIVAL], iw[at.O_W1], z1):
        return -2
    theta = search(iw, rw, t, h)
    if theta > 1.0:
        return -1
    least = 8.0 * EPS * max(abs(t), h)  # time must go on, also where it happens at once
    cause, shorter = changed(iw, rw, z0, z1), max(theta * h, least)
    nudge, last, before, known = 0.25 * least, 0.0, 0.0, False
    # the end of a step is more exact than a point within it: six secants from where search has
    # it, then nudges that are doubled until it is crossed (both numbers chosen)
    for turn in range(40):
        if trial(iw, rw, t, shorter) or indicators(iw, rw, 0, t + shorter, iw[at.O_W1], z1):
            return -2
        value = rw[z1 + cause]
        crossed = (value > 0.0) != (rw[z0 + cause] > 0.0)
        move = nudge
        if turn < 6 and shorter > least:
            rise = (value - before) / (shorter - last) if known and shorter != last else 0.0
            if rise == 0.0:
                rise = (value - rw[z0 + cause]) / shorter
            move = -value / rise if rise != 0.0 else 0.0
            known, last, before = True, shorter, value
        if crossed and (turn >= 6 or shorter <= least or abs(move) <= 2.0 * nudge):
            break
        if abs(move) <= nudge:
            move, nudge = nudge, 2.0 * nudge
        shorter = min(max(shorter + move, least), 1.01 * h)
    rw[clock + at.ARRIVAL], rw[clock + at.TAKEN] = t + shorter, shorter
    return cause


@engine_function
def first_step(iw: Vector, rw: Vector) -> float:
    """A step that changes no state much, from the rates at the beginning."""
    setting = iw[at.O_SETTING]
    h, n = min(rw[setting + at.MAX_STEP], rw[setting + at.SPAN]), iw[at.N]
    x_size, k_size = 0.0, 0.0
    for i in range(n):
        weight = rw[iw[at.O_ATOL] + i] + rw[setting + at.RTOL] * abs(rw[iw[at.O_W0] + i])
        x_size += (rw[iw[at.O_W0] + i] / weight) ** 2
        k_size += (rw[iw[at.O_K1] + i] / weight) ** 2
    # 1e-10 and 0.01: as HINIT of Hairer's DOPRI5
    if x_size > 1e-10 and k_size > 1e-10:
        h = min(h, 0.01 * np.sqrt(x_size / k_size))
    return max(h, 1e-12 * rw[setting + at.SPAN])
