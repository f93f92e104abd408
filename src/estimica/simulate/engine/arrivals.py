"""What comes due on the way: pieces of inputs, instants, relations, delayed jumps."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.point import begin, enter_piece, take_in
from estimica.simulate.engine.status import (  # fmt: skip
    ACCUMULATION,
    ALGEBRAIC,
    DONE,
)
from estimica.simulate.engine.steps import CAUTIOUS, EPS, lanes_left, trial
from estimica.simulate.engine.units import call_unit, engine_function, reals_at  # fmt: skip

Vector = Any
NEVER = 1e300
#: two instants closer than this are one: some roundings of the time itself, or this part of the run
#: (chosen: far above the error of a located event, 1e-13 of a step, and below any step in earnest)
SAME_ROUNDINGS, SAME_PART = 8.0, 1e-12
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
def take_in_between(iw: Vector, rw: Vector, t: float) -> int:
    """As `take_in`, and relations that hold no longer where it has put the states change."""
    status = take_in(iw, rw, t)
    if status == DONE and iw[at.NG]:
        status = handle_event(iw, rw, False, -1)
    return status


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
    if iw[at.LANES] > 1 and iw[at.HAS_EVENTS]:
        return call_unit(iw[at.UNIT_EVENTS], iw, rw, t, blur, at.EVENT_ARRIVE, jumped)
    if not iw[at.HAS_EVENTS] and not iw[at.NH]:
        enter_piece(iw, rw)
        return take_in(iw, rw, t) if iw[at.UPDATE] else begin(iw, rw, t)
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
    iw[at.IDLE] = 1 if cause >= 0 and not (jumped or timed or last) else 0
    status = handle_event(iw, rw, jumped, cause)
    if status == DONE and iw[at.IDLE]:
        iw[at.EVENTS] -= 1  # nothing has happened
    iw[at.IDLE] = 0
    if status == DONE and quick:
        if iw[at.JUMPED]:
            iw[at.INDEX] = cause
            return ACCUMULATION
        widen(iw, rw, t, cause, depth)
    if status == DONE and jumped and iw[at.UPDATE]:
        status = take_in_between(iw, rw, t)
    if status == DONE and iw[at.NH]:
        status = call_unit(past, iw, rw, t, 0.0, at.PAST_ADD, 0)
    return status


@engine_function
def approach(iw: Vector, rw: Vector, t: float, step: float, cause: int) -> float:
    """How far off relation `cause` changes, from the root of the dense output that is reported."""
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
    return shorter


@engine_function
def try_again(iw: Vector, rw: Vector, t: float, shorter: float, ok: bool) -> bool:
    """A step to an event of one member that others cannot take: they leave the group."""
    if ok or iw[at.LANES] <= 1:
        return ok
    ok = lanes_left(iw, rw, t, at.LANE_COLLAPSE) and trial(iw, rw, t, shorter, iw[at.M] > 0)
    if not ok:
        iw[at.ABORT] = 1
    return ok


@engine_function
def stop_at_event(iw: Vector, rw: Vector) -> int:
    """Looks for a relation that changes within the step; shortens the step to it. -1: none."""
    clock = iw[at.O_CLOCK]
    t, step, blur = rw[clock + at.NOW], rw[clock + at.TAKEN], rw[clock + at.BLUR]
    cause = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, step, at.EVENT_LOCATE, 0)
    if cause < 0:
        return -1
    if iw[at.LANES] > 1:
        shorter = rw[iw[at.O_REPORT] + at.R_ROOT] * step
    else:
        shorter = approach(iw, rw, t, step, cause)
    if abs(t + shorter - rw[clock + at.ARRIVAL]) <= blur:
        shorter = rw[clock + at.ARRIVAL] - t
    else:
        rw[clock + at.ARRIVAL] = t + shorter
    rw[clock + at.TAKEN] = shorter
    moved = shorter > 4.0 * EPS * abs(t)
    if moved:
        ok = trial(iw, rw, t, shorter, iw[at.M] > 0)
        moved = try_again(iw, rw, t, shorter, ok)
    if not moved:
        for k in range(iw[at.N]):
            rw[iw[at.O_W1] + k] = rw[iw[at.O_W0] + k]
        iw[at.DENSE] = 0
        rw[clock + at.ARRIVAL], rw[clock + at.TAKEN] = t, 0.0
    return cause


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
