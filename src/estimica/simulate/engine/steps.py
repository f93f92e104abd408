"""Steps by the method that suits: trial, error, length, and the change of method."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import derivative
from estimica.simulate.engine.methods import dormand_prince as explicit
from estimica.simulate.engine.methods import group_steps
from estimica.simulate.engine.point import (
    begin,
    blame_derivative,
    fulfilled,
    keep_unknowns,
    restore_unknowns,
    swap,
)
from estimica.simulate.engine.samples import blame_state
from estimica.simulate.engine.status import (  # fmt: skip
    ALGEBRAIC,
    DONE,
    FIXED_STEP,
    NEEDS_STIFF,
    NOT_FINITE_START,
    SINGULAR,
    STEP_TOO_SMALL,
    TIME_LIMIT,
    TOO_MANY_STEPS,
)
from estimica.simulate.engine.units import call_unit, engine_function, reals_at  # fmt: skip

Vector = Any
EPS = 2.220446049250313e-16
#: log(1e-4): what the step control remembers where there is nothing; FACOLD of Hairer's DOPRI5
CAUTIOUS = -9.210340371976182
#: the step control of Hairer's DOPRI5 (Hairer, Norsett, Wanner, Solving ODEs I, 1993, II.4 and
#: IV.2), a PI control after Gustafsson (1991): the next step is longer by
#: SAFETY error^-(1/5 - 3/4 BETA) last_error^BETA, between SHRINK and GROW
SAFETY, BETA, SHRINK, GROW = 0.9, 0.04, 0.2, 10.0
EXPONENT = 0.17  # 1/5 - 3/4 BETA
#: an error of zero has no logarithm; below this the growth has reached its limit anyway
#: (0.9 exp(0.17 log 1e10 + 0.04 log 1e-4) = 31)
LEAST_ERROR = 1e-10
#: the local error of the stiff method counts so many times, since its estimate is sharper than that
#: of the explicit pair, which overrates. Measured on a decay, an oscillator, a pendulum, van der
#: Pol and Lotka-Volterra at rtol 1e-4 ... 1e-8: with the factor the error of a run is 0.01 to 3.6
#: times that of the explicit method; without it up to nine
STIFF_ERROR = 2.5
#: steps so much longer than the last one that was looked at within are looked at, too: the error of
#: the polynomial, of order five, is then three times as large; nearer ones would cost a tenth more
PROBED_GROWTH = 1.25
#: ends of fixed steps closer than this part of a step are one: far above the rounding of a time
#: that is a million steps long (2e-16·1e6), far below a step (chosen)
SAME_STEP = 1e-9


@engine_function
def first_step(iw: Vector, rw: Vector, t: float, limit: float) -> float:
    """Hairer's guess of the first step, from the sizes of x, x' and x''.

    Hairer, Norsett, Wanner, Solving ODEs I (1993), II.4: all numbers are theirs, but for the
    thousandth of the step where the model cannot be evaluated after it, which is chosen.
    """
    nx = iw[at.NX]
    if nx == 0:
        return limit
    w0, k1, wt, k2 = iw[at.O_W0], iw[at.O_K1], iw[at.O_WT], iw[at.O_K2]
    rtol = rw[iw[at.O_SETTING] + at.RTOL]
    a, b = 0.0, 0.0
    for k in range(nx):
        scale = rw[iw[at.O_ATOL] + k] + rtol * abs(rw[w0 + k])
        a += (rw[w0 + k] / scale) ** 2
        b += (rw[k1 + k] / scale) ** 2
    a, b = np.sqrt(a / nx), np.sqrt(b / nx)
    h = 0.01 * a / b if a >= 1e-5 and b >= 1e-5 and np.isfinite(b) else 1e-6
    h = min(h, limit)
    for k in range(nx):
        rw[wt + k] = rw[w0 + k] + h * rw[k1 + k]
    if derivative(iw, rw, t + h, wt, k2, False):
        restore_unknowns(iw, rw)
        return h * 1e-3
    c = 0.0
    for k in range(nx):
        scale = rw[iw[at.O_ATOL] + k] + rtol * abs(rw[w0 + k])
        c += ((rw[k2 + k] - rw[k1 + k]) / scale) ** 2
    c = np.sqrt(c / nx) / h
    restore_unknowns(iw, rw)
    if not np.isfinite(c):
        return h * 1e-3
    steep = max(b, c)
    ideal = max(1e-6, h * 1e-3) if steep <= 1e-15 else (0.01 / steep) ** 0.2
    return min(100.0 * h, ideal, limit)


@engine_function
def trial(iw: Vector, rw: Vector, t: float, step: float, sens: bool) -> bool:
    """One trial step by the current method; False where the model cannot be evaluated."""
    if iw[at.STIFF]:
        task = at.STIFF_STEP
        return call_unit(iw[at.UNIT_STIFF], iw, rw, t, step, task, sens) == 0
    if iw[at.LANES] > 1:
        return group_steps.attempt(iw, rw, t, step, sens)
    return explicit.attempt(iw, rw, t, step, sens)


@engine_function
def error_of_trial(iw: Vector, rw: Vector, step: float) -> float:
    """The local error in units of the tolerance."""
    if iw[at.STIFF]:
        explicit.square_given_error(iw, rw)
        return STIFF_ERROR * explicit.error_norm(iw, rw)
    if iw[at.LANES] > 1:
        return group_steps.error(iw, rw, step)
    explicit.square_error(iw, rw, step)
    return explicit.error_norm(iw, rw)


@engine_function
def collapsed(iw: Vector, rw: Vector, t: float, ok: bool) -> int:
    """Why steps have become too small."""
    if blame_derivative(iw, rw, t):
        return NOT_FINITE_START
    if ok:
        blame_state(iw, rw)
        return STEP_TOO_SMALL
    return ALGEBRAIC if iw[at.LAST_FAIL] == 1 else SINGULAR


@engine_function
def lanes_left(iw: Vector, rw: Vector, t: float, task: int) -> bool:
    """Takes members out of a group that cannot go on; whether others can."""
    return call_unit(iw[at.UNIT_LANES], iw, rw, t, 0.0, task, 0) == 0


@engine_function
def take_fixed_step(iw: Vector, rw: Vector, stop: float) -> int:
    """One step of the length that the user has given, or to what comes before its end.

    Steps end at whole multiples of their length from the start of the run on, also after one that
    was cut, so that samples at such times stay at ends of steps.
    """
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    t, h = rw[clock + at.NOW], rw[setting + at.FIXED_STEP]
    begin = reals_at(iw[at.STARTS])[0]
    arrival = begin + (np.floor((t - begin) / h + SAME_STEP) + 1.0) * h
    if arrival > stop - SAME_STEP * h:
        arrival = stop
    iw[at.SINCE] += 1
    if iw[at.SINCE] > rw[setting + at.MAX_STEPS]:
        iw[at.INDEX] = 0
        return TOO_MANY_STEPS
    if not trial(iw, rw, t, arrival - t, iw[at.M] > 0):
        restore_unknowns(iw, rw)
        return NOT_FINITE_START if blame_derivative(iw, rw, t) else FIXED_STEP
    iw[at.STEPS] += 1
    rw[clock + at.TAKEN], rw[clock + at.ARRIVAL] = arrival - t, arrival
    rw[clock + at.NEXT_STEP] = h
    return DONE


@engine_function
def take_step(iw: Vector, rw: Vector, stop: float) -> int:
    """Tries until a step is within tolerance; its size and the next one's go to the clock."""
    if iw[at.METHOD] == at.EULER:
        return take_fixed_step(iw, rw, stop)
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    t, h = rw[clock + at.NOW], rw[clock + at.NEXT_STEP]
    limit, span, rejected = rw[setting + at.MAX_STEP], rw[setting + at.SPAN], False
    while True:
        step, arrival = min(h, limit), stop
        if t + 1.01 * step >= stop:  # rather a step longer by a hundredth than a tiny one after it
            step = stop - t
        else:
            arrival = t + step
        ok = trial(iw, rw, t, step, iw[at.M] > 0)
        error = error_of_trial(iw, rw, step) if ok else np.inf
        iw[at.SINCE] += 1
        if iw[at.SINCE] > rw[setting + at.MAX_STEPS]:
            blame_state(iw, rw)
            return TOO_MANY_STEPS
        # longer than any since the last event: is it true between its ends, too?
        if error <= 1.0 and step > rw[clock + at.PROBED] and not iw[at.STIFF]:
            error = max(error, explicit.error_between(iw, rw, t, step))
            if error <= 1.0:
                rw[clock + at.PROBED] = PROBED_GROWTH * step
        if error <= 1.0:
            break
        restore_unknowns(iw, rw)
        iw[at.REJECTED] += 1
        # by the error's order, at least by a tenth (or the next trial fails as this one did) and
        # at most to a fifth; where nothing is known, to a tenth (chosen)
        shrink = min(1.0 / SHRINK, max(1.1, error**0.2 / SAFETY))
        h = step / shrink if np.isfinite(error) else step * 0.1
        rejected = True
        # members of a group for which there is no number go on alone
        lost = iw[at.LANES] > 1 and not np.isfinite(error)
        if lost and not lanes_left(iw, rw, t, at.LANE_REJECT):
            return TIME_LIMIT
        # the time would no longer move; the second limit is for runs that begin at zero
        if h < max(4.0 * EPS * abs(t), 1e-30 * span):
            rw[clock + at.NEXT_STEP] = h
            if iw[at.LANES] <= 1:
                return collapsed(iw, rw, t, ok)
            # ... and so do those that hold the others up; as after a change of method
            if not lanes_left(iw, rw, t, at.LANE_COLLAPSE):
                return TIME_LIMIT
            h = 1e-6 * (stop - t)
    iw[at.STEPS] += 1
    size = np.log(max(error, LEAST_ERROR))
    growth = SAFETY * np.exp(BETA * rw[clock + at.LAST_ERROR] - EXPONENT * size)
    rw[clock + at.LAST_ERROR] = max(size, CAUTIOUS)
    rw[clock + at.TAKEN], rw[clock + at.ARRIVAL] = step, arrival
    growth = min(GROW, max(SHRINK, growth))
    following = step * (min(growth, 1.0) if rejected and iw[at.STIFF] else growth)
    if step < h:  # cut short by what lies ahead, which says little about the next step
        following = max(following, min(h, limit))
    rw[clock + at.NEXT_STEP] = following
    if iw[at.FRESH]:  # what did after this jump of the inputs will do after the next
        iw[at.FRESH] = 0
        # growing by a tenth at most (chosen): a jump where it fails costs a rejected step
        rw[clock + at.AFTER_JUMP] = max(step, h) * min(max(growth, 1.0), 1.1)
    return DONE


@engine_function
def choose_method(iw: Vector, rw: Vector) -> int:
    """Counts the signs of stiffness in accepted steps, and changes the method after enough.

    Where no sign is seen, the stiff method has the second half of the steps that are allowed.
    """
    clock = iw[at.O_CLOCK]
    step = rw[clock + at.TAKEN]
    if not iw[at.STIFF] and 2.0 * iw[at.SINCE] > rw[iw[at.O_SETTING] + at.MAX_STEPS]:
        return switch_to_stiff(iw)
    if not iw[at.STIFF]:
        if iw[at.STIFF_COUNT] == 0 and iw[at.STEPS] % 4:  # a look at every fourth step will do
            return DONE
        # close to the boundary of stability, 3.3 on the negative axis; DOPRI5 tells its user at
        # 3.25 after 15 signs, here it costs a change of method only and is done earlier (chosen)
        # A step beyond the dominant eigenvalue (1) that leads astray is a sign as well
        rate = explicit.stiffness(iw, rw, step)
        if rate > 2.5 or (rate > 1.0 and explicit.is_torn(iw, rw, step)):
            iw[at.STIFF_COUNT] += 1
        else:
            iw[at.STIFF_COUNT] = max(0, iw[at.STIFF_COUNT] - 1)
        if iw[at.STIFF_COUNT] < 10:
            return DONE
        if iw[at.LANES] > 1 and call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, 0.0, at.LANE_STIFF, 0):
            iw[at.STIFF_COUNT] = 0
            return DONE
        return switch_to_stiff(iw)
    iw[at.STIFF_STEPS] += 1
    if iw[at.NZ]:
        return DONE
    call_unit(iw[at.UNIT_STIFF], iw, rw, 0.0, 0.0, at.STIFF_NORM, 0)
    # the norm bounds the eigenvalues: below 1 the explicit method is far from its boundary, 3.3;
    # and 20 such steps (chosen) are more than a change of method costs
    calm = rw[iw[at.O_REPORT] + at.R_NORM] * rw[clock + at.NEXT_STEP] < 1.0
    iw[at.CALM_COUNT] = iw[at.CALM_COUNT] + 1 if calm else 0
    if iw[at.CALM_COUNT] >= 20:
        iw[at.STIFF] = iw[at.CALM_COUNT] = iw[at.STIFF_COUNT] = 0
        iw[at.SWITCHES] += 1
        iw[at.RESTART] = 1
    return DONE


@engine_function
def switch_to_stiff(iw: Vector) -> int:
    """On to the stiff method, where it has been compiled."""
    if not iw[at.STIFF_READY]:
        return NEEDS_STIFF
    iw[at.STIFF] = 1
    iw[at.STIFF_COUNT] = iw[at.CALM_COUNT] = 0
    iw[at.SWITCHES] += 1
    return DONE


@engine_function
def finish_step(iw: Vector, rw: Vector) -> int:
    """Makes the end of the step the present point; projection and checks."""
    clock = iw[at.O_CLOCK]
    t = rw[clock + at.ARRIVAL]
    rw[clock + at.NOW] = t
    keep_unknowns(iw, rw)
    swap(iw, at.O_W0, at.O_W1)
    swap(iw, at.O_K1, at.O_K7)
    if iw[at.NC]:
        call_unit(iw[at.UNIT_PROJECTION], iw, rw, t, 0.0, iw[at.O_W0], 0)
        iw[at.RESTART] = 1
    if iw[at.RESTART]:
        iw[at.RESTART] = 0
        status = begin(iw, rw, t)
        if status:
            return status
    return fulfilled(iw, rw)
