"""The run: steps, events and samples, over all pieces of the inputs. One compiled loop for every
model, which calls the model's functions by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.arrivals import (
    NEVER,
    SAME_PART,
    SAME_ROUNDINGS,
    arrive,
    handle_event,
    next_stop,
    stop_at_event,
    take_in_between,
)
from estimica.simulate.engine.evaluation import call, set_result
from estimica.simulate.engine.point import (
    begin,
    check,
    enter_piece,
    fulfilled,
    keep_unknowns,
    restore_unknowns,
)
from estimica.simulate.engine.samples import emit, emit_here, emit_within
from estimica.simulate.engine.status import (  # fmt: skip
    ALGEBRAIC,
    DONE,
    SINGULAR,
    STEP_TOO_SMALL,
    TERMINATED,
    TIME_LIMIT,
)
from estimica.simulate.engine.steps import (
    CAUTIOUS,
    EPS,
    choose_method,
    finish_step,
    first_step,
    lanes_left,
    switch_to_stiff,
    take_step,
)
from estimica.simulate.engine.units import Unit, call_unit, engine_function, reals_at  # fmt: skip

Vector = Any
#: how often the event at the start is gone through with delayed signals (chosen: a discrete signal
#: that is delayed twice)
PAST_ROUNDS = 3


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
    rw[iw[at.O_FLAGS]], rw[iw[at.O_FLAGS] + 1], rw[iw[at.O_FLAGS] + 2] = 0.0, 0.0, -1.0
    enter_piece(iw, rw)
    past = iw[at.UNIT_HISTORY]
    if iw[at.NH]:
        status = call_unit(past, iw, rw, t, 0.0, at.PAST_BEGIN, 0)
        if status:
            return status
    status = begin(iw, rw, t)
    # members of a group that cannot be solved for leave it
    if status == ALGEBRAIC and iw[at.LANES] > 1 and lanes_left(iw, rw, t, at.LANE_COLLAPSE):
        status = begin(iw, rw, t)
    if status == DONE and iw[at.HAS_EVENTS] and iw[at.LANES] > 1:
        status = call_unit(iw[at.UNIT_EVENTS], iw, rw, t, rw[clock + at.BLUR], at.EVENT_BEGIN, 0)
    elif status == DONE and iw[at.HAS_EVENTS]:
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
    if status == DONE and iw[at.UPDATE]:
        status = take_in_between(iw, rw, t)
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
    iw[at.TUNER], iw[at.IDLE] = -1, 0
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
