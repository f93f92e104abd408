"""The run of an FMU for Model Exchange: steps, events and samples over all pieces of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.units import engine_function, reals_at
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import (
    call_instance,
    direction,
    get_group,
    initialise,
    load_byte,
    load_int,
    perturbed_states,
    read_end,
    real,
    set_inputs,
    set_point,
    slope,
)
from estimica.simulate.fmu.loop.events import CROWDED, handle_event, indicators, iterate
from estimica.simulate.fmu.loop.explicit import explicit_stiffness, interpolated
from estimica.simulate.fmu.loop.steps import (
    CAUTIOUS,
    first_step,
    interpolate,
    stop_at_event,
    take_step,
)
from estimica.simulate.fmu.loop.unit import FmuUnit

Vector = Any


@engine_function
def completed(iw: Vector, rw: Vector, t: float) -> int:
    """Tells every instance that the step is done; 1 where one wants an event, < 0: -status."""
    if not iw[at.WANTS_STEPS]:
        return 0
    memory, wanted = iw[at.MEMORY], 0
    for k in range(iw[at.INSTANCES]):
        x = iw[at.O_W0]
        if k:
            x = perturbed_states(iw, rw, iw[at.O_W0], (k - 1) // 2, 1.0 if k % 2 else -1.0)
        found = set_point(iw, rw, k, t, x)
        if found == at.DONE:
            found = call_instance(iw, at.COMPLETED, k, 1, memory, memory + 4, 0)
        if found:
            return -found
        event = load_int(memory) if iw[at.FMI] == 2 else load_byte(memory)
        ends = load_int(memory + 4) if iw[at.FMI] == 2 else load_byte(memory + 4)
        if ends:
            return -at.TERMINATED
        if event:
            wanted = 1
    return wanted


@engine_function
def next_stop(iw: Vector, rw: Vector) -> float:
    """Where the present stretch must end: the next piece, the next announced event, the end."""
    stop, piece = rw[iw[at.O_SETTING] + at.END], iw[at.PIECE]
    if piece + 1 < iw[at.N_STARTS]:
        stop = min(stop, reals_at(iw[at.STARTS])[piece + 1])
    return min(stop, rw[iw[at.O_NEXT]])


@engine_function
def enter_piece(iw: Vector, rw: Vector, piece: int) -> bool:
    """Makes a piece of the inputs the present one; whether an input jumps there."""
    nu, t, jump = iw[at.NU], reals_at(iw[at.STARTS])[piece], False
    values, slopes = reals_at(iw[at.VALUES]), reals_at(iw[at.SLOPES])
    sloped = 0
    reals = iw[at.G_INPUTS + 1]
    for i in range(nu):
        if slopes[piece * nu + i] != 0.0:
            sloped = 1
        if piece:
            old = (piece - 1) * nu + i
            reached = values[old] + slopes[old] * (t - reals_at(iw[at.STARTS])[piece - 1])
            new = values[piece * nu + i]
            # 1e-13: rounding of a straight piece that ends where the next begins
            if i >= reals or abs(new - reached) > 1e-13 * max(abs(new), abs(reached)):
                jump = jump or new != reached
    iw[at.PIECE] = piece
    iw[at.SLOPED] = sloped
    return jump


@engine_function
def restart(iw: Vector, rw: Vector) -> int:
    """Rates and indicators at a point from which a new stretch starts."""
    t, w = rw[iw[at.O_CLOCK] + at.NOW], iw[at.O_W0]
    found = slope(iw, rw, t, w, iw[at.O_K1])
    if found == at.DONE and iw[at.NZ]:
        found = indicators(iw, rw, 0, t, w, iw[at.O_Z0])
    iw[at.JACOBIAN_AGE] = 1
    return found


@engine_function
def arrive(iw: Vector, rw: Vector, cause: int, asked: bool) -> int:
    """What happens at the present time: an event, a new piece of the inputs."""
    clock = iw[at.O_CLOCK]
    t, starts, new, jump = rw[clock + at.NOW], reals_at(iw[at.STARTS]), False, False
    while iw[at.PIECE] + 1 < iw[at.N_STARTS] and starts[iw[at.PIECE] + 1] <= t:
        jump = enter_piece(iw, rw, iw[at.PIECE] + 1) or jump
        new = True
    timed = rw[iw[at.O_NEXT]] <= t
    if new and not jump:  # slopes only
        for k in range(iw[at.INSTANCES]):
            found = set_inputs(iw, rw, k, t)
            if found:
                return found
    if cause >= 0 or asked or timed or jump:
        # chosen: CROWDED events within 2e-7 of the record are no progress
        near = t - rw[clock + at.EVENT_BEFORE] <= 1e-9 * rw[iw[at.O_SETTING] + at.SPAN]
        iw[at.ZENO] = iw[at.ZENO] + 1 if near else 0
        rw[clock + at.EVENT_BEFORE] = t
        if iw[at.ZENO] > CROWDED:
            return at.ACCUMULATION
        found = handle_event(
            iw, rw, t, cause, timed, max(rw[clock + at.TAKEN], rw[clock + at.NEXT_STEP])
        )
        if found:
            return found
        rw[clock + at.LAST_ERROR] = CAUTIOUS
        new = True
    return restart(iw, rw) if new else at.DONE


@engine_function
def switch_to_stiff(iw: Vector, rw: Vector) -> None:
    """On to the stiff method."""
    iw[at.STIFF], iw[at.JACOBIAN_AGE], iw[at.HAS_LU], iw[at.FRESH] = 1, 1, 0, 0
    rw[iw[at.O_CLOCK] + at.LAST_ERROR] = CAUTIOUS


@engine_function
def swap(iw: Vector, one: int, other: int) -> None:
    """Exchanges two vectors by their places."""
    iw[one], iw[other] = iw[other], iw[one]


@engine_function
def look_for_stiffness(iw: Vector, rw: Vector, stop: float) -> bool:
    """Whether enough of the last steps were limited by stability, or half of the steps that are
    allowed between two samples have been taken."""
    clock = iw[at.O_CLOCK]
    if iw[at.STIFF] or iw[at.METHOD] != at.AUTOMATIC or rw[clock + at.ARRIVAL] == stop:
        return False
    if 2 * iw[at.SINCE] > iw[at.MAX_STEPS]:
        return True
    # 2.5 and ten steps: as in the engine's loop
    if explicit_stiffness(iw, rw, rw[clock + at.TAKEN]) > 2.5:
        iw[at.STIFF_COUNT] += 1
    else:
        iw[at.STIFF_COUNT] = max(0, iw[at.STIFF_COUNT] - 1)
    return iw[at.STIFF_COUNT] >= 10


@engine_function
def finish_step(iw: Vector, rw: Vector, cause: int) -> None:
    """Makes the end of the step the present point; its rates are in K1."""
    rw[iw[at.O_CLOCK] + at.NOW] = rw[iw[at.O_CLOCK] + at.ARRIVAL]
    swap(iw, at.O_W0, at.O_W1)
    swap(iw, at.O_K1, at.O_K6 if iw[at.STIFF] else at.O_K7)
    if cause < 0:
        for i in range(iw[at.NZ]):
            rw[iw[at.O_Z0] + i] = rw[iw[at.O_Z1] + i]


@engine_function
def run_on(iw: Vector, rw: Vector) -> int:
    """From the beginning to the last sample; how it ended comes back."""
    clock, setting = iw[at.O_CLOCK], iw[at.O_SETTING]
    rw[clock + at.NOW], rw[clock + at.TAKEN] = rw[setting + at.BEGIN], 0.0
    rw[clock + at.LAST_ERROR], rw[clock + at.EVENT_BEFORE] = CAUTIOUS, -1e300
    enter_piece(iw, rw, 0)
    found = start_instances(iw, rw)
    if found == at.DONE:
        found = restart(iw, rw)
    if found:
        return found
    rw[clock + at.NEXT_STEP] = first_step(iw, rw)
    blur, cause, asked = 1e-12 * rw[setting + at.SPAN], -1, 0
    while True:
        found = arrive(iw, rw, cause, asked > 0)
        if found == at.DONE:
            found = emit_here(iw, rw)
        if found or iw[at.SAMPLE] == iw[at.N_TIMES]:
            return found
        stop, cause, asked = next_stop(iw, rw), -1, 0
        found = take_step(iw, rw, stop)
        if found == at.STEP_TOO_SMALL and iw[at.METHOD] == at.AUTOMATIC and not iw[at.STIFF]:
            switch_to_stiff(iw, rw)
            # chosen: what the explicit method came down to says nothing about the stiff one
            rw[clock + at.NEXT_STEP] = 1e-6 * (stop - rw[clock + at.NOW])
            continue
        if found:
            return found
        stiff = look_for_stiffness(iw, rw, stop)
        interpolate(iw, rw, rw[clock + at.TAKEN])
        if iw[at.NZ]:
            cause = stop_at_event(iw, rw)
            if cause == -2:
                return at.FAILED
            if cause >= 0:
                interpolate(iw, rw, rw[clock + at.TAKEN])
        limit = rw[clock + at.ARRIVAL]
        if cause >= 0 or limit == stop:
            limit -= blur
        found = emit_until(iw, rw, limit)
        if found:
            return found
        finish_step(iw, rw, cause)
        asked = completed(iw, rw, rw[clock + at.NOW])
        if asked < 0:
            return -asked
        if stiff and cause < 0:
            switch_to_stiff(iw, rw)


@engine_function
def prepare(iw: Vector) -> None:
    """Counters as every run begins."""
    for k in range(at.PIECE, at.R_INSTANCE + 1):
        iw[k] = 0
    iw[at.STIFF] = 1 if iw[at.METHOD] == at.IMPLICIT else 0
    iw[at.JACOBIAN_AGE] = 1


def _drive(iw: Vector, rw: Vector, t: float, h: float, a: int, b: int) -> int:
    """A whole run; everything but how it ended is in the arrays."""
    prepare(iw)
    found = run_on(iw, rw)
    if found == at.TERMINATED:
        read_end(iw, rw)
    return found


drive_exchange = FmuUnit(_drive)


# ----------------------------------------------------------------
# Samples of an FMU: where its instances begin, and its outputs with their sensitivities.


@engine_function
def set_absolute_tolerances(iw: Vector, rw: Vector) -> None:
    """Absolute tolerances by the nominal values of the states, where the FMU tells them."""
    n, nominal = iw[at.N], iw[at.O_NOMINAL]
    if n == 0 or iw[at.GET_NOMINALS] == 0:
        return
    if call_instance(iw, at.GET_NOMINALS, 0, real(iw, nominal), n, 0, 0):
        for i in range(n):
            rw[nominal + i] = 1.0
    for i in range(n):
        if rw[nominal + i] > 0.0:
            rw[iw[at.O_ATOL] + i] *= rw[nominal + i]
        else:
            rw[nominal + i] = 1.0


@engine_function
def start_instances(iw: Vector, rw: Vector) -> int:
    """All instances initialised; W0 := the states and their sensitivities at the beginning."""
    n, w, x = iw[at.N], iw[at.O_W0], iw[at.O_X]
    for k in range(iw[at.INSTANCES]):
        found = initialise(iw, rw, k)
        if found == at.DONE:
            found = iterate(iw, rw, k)
        if found == at.DONE and n:
            found = call_instance(iw, at.GET_X, k, real(iw, x), n, 0, 0)
        if found:
            return found
        if k == 0:
            set_absolute_tolerances(iw, rw)
        for i in range(n):
            if iw[iw[at.I_LATE] + i]:
                rw[x + i] = rw[iw[at.O_LATE] + n * k + i]
        for i in range(n):
            if k == 0:
                rw[w + i] = rw[x + i]
            elif k % 2:
                rw[w + n * ((k + 1) // 2) + i] = rw[x + i]
            else:
                s = w + n * (k // 2) + i
                rw[s] = (rw[s] - rw[x + i]) * 0.5 / rw[iw[at.O_DELTA] + k // 2 - 1]
    return at.DONE


@engine_function
def emit(iw: Vector, rw: Vector, t: float, w: int, sample: int) -> int:
    """Writes the outputs and their sensitivities of one sample."""
    ny, m, high, low = iw[at.NY], iw[at.M], iw[at.O_YHIGH], iw[at.O_YLOW]
    y, ys = reals_at(iw[at.Y]), reals_at(iw[at.YS])
    found = set_point(iw, rw, 0, t, w)
    if found == at.DONE:
        found = get_group(iw, rw, 0, at.G_OUTPUTS, high)
    if found:
        return found
    for i in range(ny):
        y[sample * ny + i] = rw[high + i]
        if not np.isfinite(rw[high + i]):
            return at.NOT_FINITE_OUTPUT
    for j in range(m):
        half = 0.5 / rw[iw[at.O_DELTA] + j]
        if iw[iw[at.I_WAY] + j] == at.BY_DIRECTION:
            for i in range(ny):
                rw[high + i], rw[low + i] = 0.0, 0.0
            reals = iw[at.G_OUTPUTS + 1]
            if reals:
                found = direction(iw, rw, w, j, iw[at.G_OUTPUTS], reals, high)
            half = 1.0
        else:
            found = set_point(iw, rw, 1 + 2 * j, t, perturbed_states(iw, rw, w, j, 1.0))
            if found == at.DONE:
                found = get_group(iw, rw, 1 + 2 * j, at.G_OUTPUTS, high)
            if found == at.DONE:
                found = set_point(iw, rw, 2 + 2 * j, t, perturbed_states(iw, rw, w, j, -1.0))
            if found == at.DONE:
                found = get_group(iw, rw, 2 + 2 * j, at.G_OUTPUTS, low)
        if found:
            return found
        for i in range(ny):
            ys[(sample * ny + i) * m + j] = (rw[high + i] - rw[low + i]) * half
        for i in range(iw[at.G_OUTPUTS + 1], ny):  # whole numbers have no derivative
            ys[(sample * ny + i) * m + j] = 0.0
    return at.DONE


@engine_function
def emit_until(iw: Vector, rw: Vector, limit: float) -> int:
    """Writes the samples inside the step, before the limit."""
    clock = iw[at.O_CLOCK]
    t, h, times = rw[clock + at.NOW], rw[clock + at.TAKEN], reals_at(iw[at.TIMES])
    while iw[at.SAMPLE] < iw[at.N_TIMES] and times[iw[at.SAMPLE]] < limit:
        stamp = times[iw[at.SAMPLE]]
        w = interpolated(iw, rw, (stamp - t) / h, iw[at.NW])
        found = emit(iw, rw, stamp, w, iw[at.SAMPLE])
        if found:
            return found
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
    return at.DONE


@engine_function
def emit_here(iw: Vector, rw: Vector) -> int:
    """Writes the samples that fall on the present time."""
    t, times = rw[iw[at.O_CLOCK] + at.NOW], reals_at(iw[at.TIMES])
    while iw[at.SAMPLE] < iw[at.N_TIMES] and times[iw[at.SAMPLE]] <= t:
        found = emit(iw, rw, times[iw[at.SAMPLE]], iw[at.O_W0], iw[at.SAMPLE])
        if found:
            return found
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
    return at.DONE
