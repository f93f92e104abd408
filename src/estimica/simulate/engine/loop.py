"""The run: steps, events and samples, over all pieces of the inputs. One compiled loop for every
model, which calls the model's functions by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import dormand_prince as explicit
from estimica.simulate.engine import layout as at
from estimica.simulate.engine.dormand_prince import dense
from estimica.simulate.engine.evaluation import call, derivative, set_result, settle_unknowns
from estimica.simulate.engine.status import (  # fmt: skip
    ACCUMULATION,
    ALGEBRAIC,
    CHECK_VIOLATED,
    DONE,
    FIXED_STEP,
    NEEDS_STIFF,
    NOT_FINITE_OUTPUT,
    NOT_FINITE_START,
    SINGULAR,
    STEP_TOO_SMALL,
    TERMINATED,
    TIME_LIMIT,
    TOO_MANY_STEPS,
)
from estimica.simulate.engine.units import Unit, call_unit, engine_function, reals_at  # fmt: skip

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
NEVER = 1e300
#: two instants closer than this are one: some roundings of the time itself, or this part of the run
#: (chosen: far above the error of a located event, 1e-13 of a step, and below any step in earnest)
SAME_ROUNDINGS, SAME_PART = 8.0, 1e-12
#: ends of fixed steps closer than this part of a step are one: far above the rounding of a time
#: that is a million steps long (2e-16·1e6), far below a step (chosen)
SAME_STEP = 1e-9
#: how often the event at the start is gone through with delayed signals (chosen: a discrete signal
#: that is delayed twice)
PAST_ROUNDS = 3
#: changes of one relation closer than this part of the run are counted towards an accumulation.
#: Chosen: a bouncing ball is stopped when its jumps have shrunk to a hundred-millionth of the run
ACCUMULATION_PART = 1e-8
#: a relation rests for this part of the run at first. Chosen: doubled each time, it is looked at
#: ten times in a run
PATIENCE_PART = 1e-3
#: steps to a relation that changes: Newton's method needs two or three, and twenty halves divide
#: the bracket by a million
POLISHING = 20


@engine_function
def load_piece(iw: Vector, rw: Vector, start: float, values: Vector, slopes: Vector) -> None:
    """Makes one piece of the inputs the current one."""
    nu = iw[at.NU]
    rw[iw[at.O_BEGIN]] = start
    sloped = 0
    for k in range(nu):
        rw[iw[at.O_VALUE] + k] = values[k]
        rw[iw[at.O_INPUT] + k] = values[k]
        rw[iw[at.O_UDOT] + k] = slopes[k]
        if slopes[k] != 0.0:
            sloped = 1
    iw[at.SLOPED] = sloped


@engine_function
def keep_unknowns(iw: Vector, rw: Vector) -> None:
    """The algebraic unknowns of the last good point, from which Newton starts again."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V_GOOD] + k] = rw[iw[at.O_V] + k]


@engine_function
def restore_unknowns(iw: Vector, rw: Vector) -> None:
    """Back to the last good point after a failed trial."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V] + k] = rw[iw[at.O_V_GOOD] + k]


@engine_function
def begin(iw: Vector, rw: Vector, t: float) -> int:
    """The derivative at a point from which a new stretch starts."""
    failed = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], iw[at.M] > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    keep_unknowns(iw, rw)
    return DONE


@engine_function
def blame_derivative(iw: Vector, rw: Vector, t: float) -> bool:
    """Whether a derivative at the present point is not finite; remembers which."""
    k1 = iw[at.O_K1]
    if iw[at.STIFF] and begin(iw, rw, t):
        return False
    for k in range(iw[at.N]):
        if not np.isfinite(rw[k1 + k]):
            iw[at.INDEX] = k if k < iw[at.NX] else (k - iw[at.NX]) // iw[at.M]
            iw[at.TUNER] = -1 if k < iw[at.NX] else (k - iw[at.NX]) % iw[at.M]
            return True
    return False


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
def emit(iw: Vector, rw: Vector, t: float, w: int, k: int) -> int:
    """Writes sample k from the point rw[w ...]."""
    ny, m = iw[at.NY], iw[at.M]
    failed = settle_unknowns(iw, rw, t, w, m > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    place = iw[at.OUT] + 8 * k * ny
    iw[at.RESULT] = place
    iw[at.RESULT + 1] = iw[at.OUT_S] + 8 * k * ny * m
    call(iw, at.OUTPUT)
    iw[at.EMITTED] = k + 1
    row, total = reals_at(place), 0.0
    for j in range(ny):
        total += row[j] * 0.0
    if total == 0.0:
        return DONE
    for j in range(ny):
        if not np.isfinite(row[j]):
            iw[at.INDEX] = j
            break
    return NOT_FINITE_OUTPUT


@engine_function
def check(iw: Vector, rw: Vector, t: float, first: int, last: int) -> int:
    """The first of some checks that fails at the present point, or -1."""
    if settle_unknowns(iw, rw, t, iw[at.O_W0], False):
        return -1
    set_result(iw, 0, iw[at.O_CHECK])
    call(iw, at.CHECK)
    slack = rw[iw[at.O_SETTING] + at.ATOL_CHECK]
    for k in range(first, last):
        if not rw[iw[at.O_CHECK] + k] >= -slack:
            return k
    return -1


@engine_function
def blame_state(iw: Vector, rw: Vector) -> None:
    """Remembers the component with the worst local error."""
    nx, m = iw[at.NX], iw[at.M]
    worst, place = -1.0, 0
    n = iw[at.N] if iw[at.ERROR_TEST] else nx
    for k in range(n):
        size = abs(rw[iw[at.O_E] + k])
        if not np.isfinite(size):
            place = k
            break
        if size > worst:
            worst, place = size, k
    iw[at.INDEX] = place if place < nx else (place - nx) // m
    iw[at.TUNER] = -1 if place < nx else (place - nx) % m


@engine_function
def swap(iw: Vector, a: int, b: int) -> None:
    """Exchanges two vectors by their offsets."""
    iw[a], iw[b] = iw[b], iw[a]


@engine_function
def log_event(iw: Vector, t: float, kind: int, index: int) -> None:
    """Adds an event to the log, as long as there is room."""
    count = iw[at.EVENTS]
    iw[at.EVENTS] = count + 1
    if count < iw[at.LOG_SIZE]:
        row = reals_at(iw[at.LOG] + 8 * at.LOG_WIDTH * count)
        row[0], row[1], row[2] = t, kind, index


@engine_function
def next_piece(iw: Vector, rw: Vector, t: float, blur: float) -> bool:
    """Moves on to the piece of the inputs that holds at t; whether there is a new one."""
    starts, n = reals_at(iw[at.STARTS]), iw[at.N_STARTS]
    old = iw[at.PIECE]
    piece = old
    while piece + 1 < n and starts[piece + 1] <= t + blur:
        piece += 1
    iw[at.PIECE] = piece
    return piece != old


@engine_function
def enter_piece(iw: Vector, rw: Vector) -> None:
    """Loads the current piece."""
    nu, piece = iw[at.NU], iw[at.PIECE]
    starts = reals_at(iw[at.STARTS])
    values = reals_at(iw[at.VALUES] + 8 * piece * nu)
    load_piece(iw, rw, starts[piece], values, reals_at(iw[at.SLOPES] + 8 * piece * nu))


@engine_function
def handle_event(iw: Vector, rw: Vector, jumped: bool, cause: int) -> int:
    """Everything that changes at this instant: a new piece, time relations, relation `cause`."""
    clock = iw[at.O_CLOCK]
    t, blur = rw[clock + at.NOW], rw[clock + at.BLUR]
    rw[clock + at.LAST_EVENT] = t
    status = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_BEFORE, cause)
    if status:
        return status
    iw[at.LEFT] = 0
    if jumped:
        enter_piece(iw, rw)
    status = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_SETTLE, 0)
    if status:
        return status
    if iw[at.NT]:
        call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_NEXT, 0)
    return begin(iw, rw, t)


@engine_function
def is_quick(iw: Vector, rw: Vector, t: float, relation: int) -> bool:
    """Whether this relation has changed again and again within a sliver of the run."""
    last = iw[at.O_WINDOW] + at.CHANGED * iw[at.NG] + relation
    quick = iw[at.O_WINDOW] + at.QUICK * iw[at.NG] + relation
    soon = t - rw[last] < ACCUMULATION_PART * rw[iw[at.O_SETTING] + at.SPAN]
    rw[quick] = rw[quick] + 1.0 if soon else 0.0
    rw[last] = t
    if not soon:
        rw[iw[at.O_WINDOW] + at.REST * iw[at.NG] + relation] = 0.0
    return rw[quick] >= at.QUICK_LIMIT


@engine_function
def widen(iw: Vector, rw: Vector, t: float, relation: int, depth: float) -> None:
    """Lets a relation rest on its surface up to twice the depth at which it was seen to change.

    What changes and changes back without any jump of the states is as exact as the solution is; a
    relation that decides nothing of weight there would cut all further steps. It rests until it has
    gone deep into its mode (`events.locate`), or for a while, each time for twice as long: what it
    is there for is not missed for good. How far it was let rest is kept, for the run to tell.
    """
    first, ng = iw[at.O_WINDOW] + relation, iw[at.NG]
    rest, patience = first + at.REST * ng, first + at.PATIENCE * ng
    if rw[rest] == 0.0:  # it begins to rest
        rw[patience] = max(PATIENCE_PART * rw[iw[at.O_SETTING] + at.SPAN], 2.0 * rw[patience])
    rw[rest] = 2.0 * max(rw[rest], depth)
    rw[first + at.UNTIL * ng] = t + rw[patience]
    if rw[rest] > rw[first + at.WIDEST * ng]:
        rw[first + at.WIDEST * ng], rw[first + at.WIDEST_AT * ng] = rw[rest], t


@engine_function
def break_time(iw: Vector, rw: Vector) -> float:
    """When the next jump comes through a delay."""
    return rw[iw[at.O_BREAKS]] if iw[at.BREAK_COUNT] > 0 else NEVER


@engine_function
def pass_delayed_jump(iw: Vector, rw: Vector, i: int) -> int:
    """A jump of delayed signal i reaches the present."""
    clock = iw[at.O_CLOCK]
    t, blur, past = rw[clock + at.NOW], rw[clock + at.BLUR], iw[at.UNIT_HISTORY]
    rw[clock + at.LAST_EVENT] = t
    status = call_unit(past, iw, rw, t, 0.0, at.PAST_BEFORE, 0)
    if status == DONE:
        status = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_BEFORE, -2)
    if status:
        return status
    iw[iw[at.I_SIDE] + i] = 1
    status = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_SETTLE, 0)
    if status:
        return status
    return call_unit(past, iw, rw, t, 0.0, at.PAST_ADD, 0)


@engine_function
def pass_delayed_jumps(iw: Vector, rw: Vector) -> int:
    """Jumps and kinks of the past that reach the present, one signal after the other."""
    clock = iw[at.O_CLOCK]
    t, blur, past = rw[clock + at.NOW], rw[clock + at.BLUR], iw[at.UNIT_HISTORY]
    for i in range(iw[at.NH]):
        iw[iw[at.I_SIDE] + i] = -1
    iw[at.LEFT] = 0
    while break_time(iw, rw) <= t + blur:
        i = call_unit(past, iw, rw, t, 0.0, at.PAST_TAKE, 0)
        generation = iw[at.GENERATION]
        if generation == 0:
            status = pass_delayed_jump(iw, rw, i)
        else:
            status = call_unit(past, iw, rw, t, 0.0, at.PAST_ADD, generation + 1)
        if status:
            return status
    for i in range(iw[at.NH]):
        iw[iw[at.I_SIDE] + i] = 1
    if iw[at.NT]:
        call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_NEXT, 0)
    return begin(iw, rw, t)


@engine_function
def arrive(iw: Vector, rw: Vector, cause: int) -> int:
    """What is due at the present time: input jumps, instants, the relation `cause` (or -1)."""
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    t = rw[clock + at.NOW]
    blur = max(SAME_ROUNDINGS * EPS * abs(t), SAME_PART * rw[setting + at.SPAN])
    rw[clock + at.BLUR] = blur
    timed = iw[at.NT] > 0 and rw[iw[at.O_REPORT] + at.R_INSTANT] <= t + blur
    if iw[at.NH] and break_time(iw, rw) <= t + blur:
        status = pass_delayed_jumps(iw, rw)
        if status:
            return status
    jumped = next_piece(iw, rw, t, blur)
    last = iw[at.TERMINAL] != 0 and t >= rw[setting + at.END]
    if not (jumped or timed or last or cause >= 0):
        iw[at.LEFT] = 0
        return DONE
    rw[clock + at.LAST_ERROR], rw[clock + at.PROBED] = CAUTIOUS, 0.0
    if jumped:
        iw[at.SINCE] = 0
        iw[at.FRESH] = 1
        if rw[clock + at.AFTER_JUMP] > 0.0:
            rw[clock + at.NEXT_STEP] = rw[clock + at.AFTER_JUMP]
    if not iw[at.HAS_EVENTS] and not iw[at.NH]:
        enter_piece(iw, rw)
        return begin(iw, rw, t)
    quick, depth = False, 0.0
    if cause >= 0:
        log_event(iw, t, at.AT_STATE, cause)
        quick, depth = is_quick(iw, rw, t, cause), abs(rw[iw[at.O_ZERO_LOW] + cause])
    elif timed:
        log_event(iw, t, at.AT_TIME, -1)
    rw[iw[at.O_FLAGS] + 1] = 1.0 if last else 0.0
    past = iw[at.UNIT_HISTORY]
    if iw[at.NH] and call_unit(past, iw, rw, t, 0.0, at.PAST_BEFORE, 0):
        return ALGEBRAIC
    status = handle_event(iw, rw, jumped, cause)
    if status == DONE and quick:
        if iw[at.JUMPED]:
            iw[at.INDEX] = cause
            return ACCUMULATION
        widen(iw, rw, t, cause, depth)
    if status == DONE and iw[at.NH]:
        status = call_unit(past, iw, rw, t, 0.0, at.PAST_ADD, 0)
    return status


@engine_function
def trial(iw: Vector, rw: Vector, t: float, step: float, sens: bool) -> bool:
    """One trial step by the current method; False where the model cannot be evaluated."""
    if iw[at.STIFF]:
        task = at.STIFF_STEP
        return call_unit(iw[at.UNIT_STIFF], iw, rw, t, step, task, sens) == 0
    return explicit.attempt(iw, rw, t, step, sens)


@engine_function
def error_of_trial(iw: Vector, rw: Vector, step: float) -> float:
    """The local error in units of the tolerance."""
    if iw[at.STIFF]:
        explicit.square_given_error(iw, rw)
        return STIFF_ERROR * explicit.error_norm(iw, rw)
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
        # the time would no longer move; the second limit is for runs that begin at zero
        if h < max(4.0 * EPS * abs(t), 1e-30 * span):
            rw[clock + at.NEXT_STEP] = h
            return collapsed(iw, rw, t, ok)
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
        return switch_to_stiff(iw) if iw[at.STIFF_COUNT] >= 10 else DONE
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
def stop_at_event(iw: Vector, rw: Vector) -> int:
    """Looks for a relation that changes within the step; shortens the step to it. -1: none."""
    clock = iw[at.O_CLOCK]
    t, step, blur = rw[clock + at.NOW], rw[clock + at.TAKEN], rw[clock + at.BLUR]
    cause = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, step, at.EVENT_LOCATE, 0)
    if cause < 0:
        return -1
    shorter = rw[iw[at.O_REPORT] + at.R_ROOT] * step
    # the end of a step is more exact than a point within it. Newton's method begins at the
    # root of the dense output, so that few rounds do; a tenth of the step is not a correction.
    # Where it would leave what is known to hold the root, that is halved
    low, high, seen = 0.0, step, False
    for _ in range(POLISHING):
        if shorter <= 4.0 * EPS * abs(t) or not trial(iw, rw, t, shorter, False):
            break
        call_unit(iw[at.UNIT_EVENTS], iw, rw, t + shorter, 0.0, at.EVENT_POLISH, cause)
        move = rw[iw[at.O_REPORT] + at.R_ROOT]
        if abs(move) <= 2.0 * EPS * max(abs(t), shorter):
            shorter = min(max(shorter + move, 0.0), step)
            break
        if rw[iw[at.O_REPORT] + at.R_SIDE] < 0.0:
            high, seen = shorter, True
        else:
            low = shorter
        if abs(move) <= 0.1 * step and low < shorter + move < high:
            shorter += move
        elif seen:
            shorter = 0.5 * (low + high)
        else:
            break
        if high - low <= 2.0 * EPS * max(abs(t), shorter):
            break
    if abs(t + shorter - rw[clock + at.ARRIVAL]) <= blur:
        shorter = rw[clock + at.ARRIVAL] - t
    else:
        rw[clock + at.ARRIVAL] = t + shorter
    rw[clock + at.TAKEN] = shorter
    if shorter <= 4.0 * EPS * abs(t) or not trial(iw, rw, t, shorter, iw[at.M] > 0):
        for k in range(iw[at.N]):
            rw[iw[at.O_W1] + k] = rw[iw[at.O_W0] + k]
        iw[at.DENSE] = 0
        rw[clock + at.ARRIVAL], rw[clock + at.TAKEN] = t, 0.0
    return cause


@engine_function
def emit_within(iw: Vector, rw: Vector, limit: float) -> int:
    """Writes the samples inside the step, before the limit."""
    clock = iw[at.O_CLOCK]
    t, step = rw[clock + at.NOW], rw[clock + at.TAKEN]
    times, n = reals_at(iw[at.TIMES]), iw[at.N_TIMES]
    k = iw[at.SAMPLE]
    while k < n and times[k] < limit:
        w = dense(iw, rw, step, (times[k] - t) / step, iw[at.N])
        if iw[at.STIFF]:
            call_unit(iw[at.UNIT_STIFF], iw, rw, times[k], step, at.STIFF_CORRECT, w)
        if iw[at.NC]:
            call_unit(iw[at.UNIT_PROJECTION], iw, rw, times[k], 0.0, w, 0)
        status = emit(iw, rw, times[k], w, k)
        if status:
            iw[at.SAMPLE] = k
            if status == NOT_FINITE_OUTPUT:
                rw[clock + at.NOW] = times[k]
            return status
        k += 1
        iw[at.SINCE] = 0
    iw[at.SAMPLE] = k
    return DONE


@engine_function
def emit_here(iw: Vector, rw: Vector) -> int:
    """Writes the samples that fall on the present time."""
    t = rw[iw[at.O_CLOCK] + at.NOW]
    times, n = reals_at(iw[at.TIMES]), iw[at.N_TIMES]
    while iw[at.SAMPLE] < n and times[iw[at.SAMPLE]] <= t:
        status = emit(iw, rw, times[iw[at.SAMPLE]], iw[at.O_W0], iw[at.SAMPLE])
        if status:
            return status
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
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


@engine_function
def fulfilled(iw: Vector, rw: Vector) -> int:
    """Whether all that must hold does so at the present point."""
    if iw[at.NE]:
        broken = check(iw, rw, rw[iw[at.O_CLOCK] + at.NOW], 0, iw[at.NE])
        if broken >= 0:
            iw[at.INDEX] = broken
            return CHECK_VIOLATED
    return DONE


@engine_function
def ended(iw: Vector, rw: Vector) -> int:
    """Whether the model ends the run here; the point is written where the next sample would be.

    How the tuners move that time is known where an event has brought it about.
    """
    clock = iw[at.O_CLOCK]
    t = rw[clock + at.NOW]
    reached = check(iw, rw, t, iw[at.NE], iw[at.NK])
    if reached < 0:
        return DONE
    status = fulfilled(iw, rw)
    if status == DONE and iw[at.SAMPLE] < iw[at.N_TIMES]:
        status = emit(iw, rw, t, iw[at.O_W0], iw[at.SAMPLE])
        iw[at.EMITTED] = iw[at.SAMPLE]
    if status:
        return status
    iw[at.INDEX] = reached - iw[at.NE]
    if rw[clock + at.LAST_EVENT] != t:
        for j in range(iw[at.M]):
            rw[iw[at.O_DT] + j] = np.nan
    return TERMINATED


@engine_function
def next_stop(iw: Vector, rw: Vector) -> float:
    """Where the present stretch must end: the next piece, the next instant, the end."""
    starts, piece = reals_at(iw[at.STARTS]), iw[at.PIECE]
    stop = rw[iw[at.O_SETTING] + at.END]
    if piece + 1 < iw[at.N_STARTS]:
        stop = min(stop, starts[piece + 1])
    if iw[at.NT]:
        stop = min(stop, rw[iw[at.O_REPORT] + at.R_INSTANT])
    if iw[at.NH]:
        stop = min(stop, break_time(iw, rw))
    return stop


@engine_function
def start_run(iw: Vector, rw: Vector) -> int:
    """The first piece, the derivative and the modes at the start, the first step."""
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    t = reals_at(iw[at.STARTS])[0]
    rw[clock + at.NOW] = t
    rw[clock + at.BLUR] = max(SAME_ROUNDINGS * EPS * abs(t), SAME_PART * rw[setting + at.SPAN])
    rw[clock + at.LAST_ERROR], rw[clock + at.AFTER_JUMP], iw[at.FRESH] = CAUTIOUS, 0.0, 0
    rw[clock + at.PROBED] = 0.0
    rw[clock + at.LAST_LEAP] = -NEVER
    rw[clock + at.LAST_EVENT] = t
    for j in range(iw[at.M]):
        rw[iw[at.O_DT] + j] = 0.0
    for i in range(iw[at.NG]):
        for k in range(at.N_WINDOW):
            rw[iw[at.O_WINDOW] + k * iw[at.NG] + i] = -NEVER if k == at.CHANGED else 0.0
        rw[iw[at.O_SLACK] + i] = 0.0
    rw[iw[at.O_REPORT] + at.R_INSTANT] = NEVER
    rw[iw[at.O_FLAGS]], rw[iw[at.O_FLAGS] + 1] = 0.0, 0.0
    enter_piece(iw, rw)
    past = iw[at.UNIT_HISTORY]
    if iw[at.NH]:
        status = call_unit(past, iw, rw, t, 0.0, at.PAST_BEGIN, 0)
        if status:
            return status
    status = begin(iw, rw, t)
    if status == DONE and iw[at.HAS_EVENTS]:
        if iw[at.NT]:
            call_unit(iw[at.UNIT_EVENTS], iw, rw, t, rw[clock + at.BLUR],
                      at.EVENT_NEXT, 0)  # fmt: skip
        rw[iw[at.O_FLAGS]] = 1.0  # initial() holds during this event only
        status = handle_event(iw, rw, False, -1)
        rw[iw[at.O_FLAGS]] = 0.0
    if status == DONE and iw[at.NH]:
        # the first values are those after the initial event, which may depend on them
        for _ in range(PAST_ROUNDS if iw[at.HAS_EVENTS] else 0):
            status = call_unit(past, iw, rw, t, 0.0, at.PAST_BEGIN, 0)
            if status == DONE:
                status = handle_event(iw, rw, False, -1)
            if status:
                return status
        status = call_unit(past, iw, rw, t, 0.0, at.PAST_BEGIN, 0)
        for j in range(iw[at.M]):
            rw[iw[at.O_DT] + j] = 0.0
        if status == DONE:
            status = call_unit(past, iw, rw, t, 0.0, at.PAST_ADD, 1)
        if status == DONE:
            status = begin(iw, rw, t)
    if status:
        return status
    h = rw[setting + at.FIRST_STEP]
    if h <= 0.0:
        limit = min(rw[setting + at.MAX_STEP], rw[setting + at.SPAN])
        h = first_step(iw, rw, t, limit)
    rw[clock + at.NEXT_STEP] = h
    return DONE


@engine_function
def leap_on(iw: Vector, rw: Vector, stop: float) -> bool:
    """Whether the algebraic unknowns could go on to another branch, once for each instant."""
    clock = iw[at.O_CLOCK]
    t, blur = rw[clock + at.NOW], rw[clock + at.BLUR]
    if iw[at.NZ] == 0 or iw[at.NH] or t <= rw[clock + at.LAST_LEAP]:
        return False
    rw[clock + at.LAST_LEAP] = t + blur
    if call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t + blur, 0.0, 0, at.LEAP):
        restore_unknowns(iw, rw)
        if begin(iw, rw, t):
            return False
        for k in range(iw[at.NX]):
            rw[iw[at.O_XDOT] + k] = rw[iw[at.O_K1] + k]
        call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, 0, at.ALGEBRAIC_RATE)
        if call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t + blur, 0.0, 1, at.LEAP):
            return False
    keep_unknowns(iw, rw)
    # the step that collapsed is no guess: as after a change of method
    rw[clock + at.NEXT_STEP] = 1e-6 * (stop - t)
    if iw[at.HAS_EVENTS] and handle_event(iw, rw, False, -1):
        return False
    return begin(iw, rw, t) == DONE


@engine_function
def run_on(iw: Vector, rw: Vector) -> int:
    """From the start to the last sample; a status comes back."""
    clock = iw[at.O_CLOCK]
    status, cause = start_run(iw, rw), -1
    while status == DONE:
        status = arrive(iw, rw, cause)
        if status == DONE:
            status = emit_here(iw, rw)
        if status == DONE and iw[at.NK] > iw[at.NE]:
            status = ended(iw, rw)
        if status == DONE and iw[at.SAMPLE] == iw[at.N_TIMES]:
            status = fulfilled(iw, rw)  # of events at the last instant too: no step comes after
            break
        if status:
            break
        if iw[at.ABORT]:
            status = TIME_LIMIT
            break
        stop = next_stop(iw, rw)
        iw[at.LEFT] = 1
        status = take_step(iw, rw, stop)
        free = iw[at.METHOD] == at.AUTOMATIC and iw[at.NH] == 0
        # the stiff method also solves for algebraic unknowns, together with the states
        if status in (STEP_TOO_SMALL, ALGEBRAIC, SINGULAR) and free and not iw[at.STIFF]:
            status = switch_to_stiff(iw)
            # the step that collapsed is no guess for the other method; from a millionth of the
            # stretch, six steps that grow tenfold are at its end
            rw[clock + at.NEXT_STEP] = 1e-6 * (stop - rw[clock + at.NOW])
            cause = -1
            continue
        if status in (ALGEBRAIC, SINGULAR) and leap_on(iw, rw, stop):
            status, cause = DONE, -1
            continue
        if status:
            break
        cause = stop_at_event(iw, rw) if iw[at.NG] else -1
        limit = rw[clock + at.ARRIVAL]
        if cause >= 0 or limit == stop:
            limit -= rw[clock + at.BLUR]
        status = emit_within(iw, rw, limit)
        if status in (ALGEBRAIC, SINGULAR) and iw[at.METHOD] != at.EULER:
            # a branch of solutions may end within the step, and another one begin
            restore_unknowns(iw, rw)
            rw[clock + at.NEXT_STEP] = 0.1 * rw[clock + at.TAKEN]
            if rw[clock + at.TAKEN] > rw[clock + at.BLUR] or leap_on(iw, rw, stop):
                status, cause = DONE, -1
                continue
            break
        if status == DONE and iw[at.NH] and rw[clock + at.TAKEN] > 0.0:
            status = call_unit(iw[at.UNIT_HISTORY], iw, rw, rw[clock + at.NOW],
                               rw[clock + at.TAKEN], at.PAST_RECORD, 0)  # fmt: skip
        cut = rw[clock + at.ARRIVAL] == stop  # says nothing about stiffness
        if status == DONE and free and cause < 0 and (iw[at.STIFF] or not cut):
            status = choose_method(iw, rw)
        if status == DONE:
            status = finish_step(iw, rw)
    return status


@engine_function
def prepare(iw: Vector, rw: Vector) -> None:
    """Counters, the order of the vectors and the span of the run, as every run begins."""
    for k in range(at.O_K7 - at.O_W0 + 1):
        iw[at.O_W0 + k] = iw[iw[at.I_VECTORS] + k]
    for k in range(at.N_COUNTER):
        iw[at.STEPS + k] = 0
    iw[at.TUNER] = -1
    iw[at.STIFF] = 1 if iw[at.STIFF_READY] and iw[at.METHOD] >= at.IMPLICIT else 0
    if iw[at.SETUP]:
        set_result(iw, 0, iw[at.O_SAVED])
        call(iw, at.SETUP)
    if iw[at.STIFF_SETUP]:
        set_result(iw, 0, iw[at.O_STIFF_SAVED])
        call(iw, at.STIFF_SETUP)
    setting, n = iw[at.O_SETTING], iw[at.N_TIMES]
    begin = reals_at(iw[at.STARTS])[0]
    end = reals_at(iw[at.TIMES])[n - 1] if n > 0 else begin
    rw[setting + at.END], rw[setting + at.SPAN] = end, end - begin
    # a relation that changes and changes back between two looks is not seen: with SAMPLES looks a
    # step, 400 over a run at least (chosen; it costs models with slow solutions some steps)
    limit = rw[setting + at.LONGEST_STEP]
    rw[setting + at.MAX_STEP] = min(limit, (end - begin) / 100.0) if iw[at.NG] else limit


@engine_function
def summarise(iw: Vector, rw: Vector) -> None:
    """Report, counters, x, S, z, d and dt/dtheta in one piece, for Python to copy."""
    clock, report, place = iw[at.O_CLOCK], iw[at.O_REPORT], iw[at.O_SUMMARY]
    rw[report + at.R_TIME] = rw[clock + at.NOW]
    rw[report + at.R_STEP] = rw[clock + at.NEXT_STEP]
    for k in range(at.N_REPORT):
        rw[place + k] = rw[report + k]
    place += at.N_REPORT
    for k in range(at.N_COUNTER):
        rw[place + k] = iw[at.STEPS + k]
    place += at.N_COUNTER
    for size, source in (
        (iw[at.N], iw[at.O_W0]),
        (iw[at.NZ], iw[at.O_V]),
        (iw[at.ND], iw[at.O_D]),
        (iw[at.M], iw[at.O_DT]),
    ):
        for k in range(size):
            rw[place + k] = rw[source + k]
        place += size


def _drive(iw: Vector, rw: Vector, t: float, h: float, a: int, b: int) -> int:
    """A whole run; everything but the status is in the arrays."""
    prepare(iw, rw)
    status = run_on(iw, rw)
    summarise(iw, rw)
    return status


drive = Unit(_drive)
