"""Events of an FMU: found within steps, told to every instance, and what they do to sensitivities.

The model with a slightly different tuner has its event a little earlier or later. Each instance
is led to its own event along its own straight line, and back to the common time behind it; the
differences of what comes out are the sensitivities after the event.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine.units import engine_function, reals_at
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import (
    call_fmi,
    call_instance,
    checked_status,
    instance,
    load_byte,
    load_int,
    perturbed_states,
    rates,
    real,
    set_inputs,
    set_point,
)
from estimica.simulate.fmu.loop.explicit import interpolated

Vector = Any
EPS = 2.220446049250313e-16  # of a double: 2⁻⁵²
NEVER = 1e300  # a time behind every stop; infinity would not survive differences
ITERATIONS = 100  # of one event: as the engine's event iteration
CROWDED = 200  # events without progress are an accumulation (chosen: some FMUs tick many at once)


@engine_function
def indicators(iw: Vector, rw: Vector, k: int, t: float, x: int, z: int) -> int:
    """rw[z ...] := the indicators of instance k at (t, rw[x ...])."""
    found = set_point(iw, rw, k, t, x)
    if found == at.DONE:
        found = call_instance(iw, at.GET_Z, k, real(iw, z), iw[at.NZ], 0, 0)
    return found


@engine_function
def changed(iw: Vector, rw: Vector, z0: int, z1: int) -> int:
    """The indicator that has changed its sign most clearly; -1 for none."""
    best, size = -1, -1.0
    for i in range(iw[at.NZ]):
        if (rw[z0 + i] > 0.0) != (rw[z1 + i] > 0.0) and abs(rw[z1 + i]) > size:
            best, size = i, abs(rw[z1 + i])
    return best


@engine_function
def iterate(iw: Vector, rw: Vector, k: int) -> int:
    """New discrete states until nothing changes, and on to continuous time; in event mode."""
    memory, needed, turn = iw[at.MEMORY], 1, 0
    rw[iw[at.O_NEXT] + k] = NEVER
    while needed:
        if iw[at.FMI] == 2:
            status = call_fmi(iw[at.NEW_STATES], instance(iw, k), memory, 0, 0, 0, 0, 0, 0, 0)
        else:
            status = call_fmi(iw[at.NEW_STATES], instance(iw, k), memory, memory + 4, memory + 8,
                            memory + 12, memory + 16, memory + 24, 0, 0)  # fmt: skip
        found = checked_status(iw, at.NEW_STATES, k, status)
        if found:
            return found
        if iw[at.FMI] == 2:
            needed, ends, defined = load_int(memory), load_int(memory + 4), load_int(memory + 16)
        else:
            needed, ends, defined = load_byte(memory), load_byte(memory + 4), load_byte(memory + 16)
        if ends:
            return at.TERMINATED
        rw[iw[at.O_NEXT] + k] = reals_at(memory + 24)[0] if defined else NEVER
        turn += 1
        if turn > ITERATIONS:
            return at.EVENT_ITERATION
    return call_instance(iw, at.ENTER_TIME, k, 0, 0, 0, 0)


@engine_function
def event_delay(
    iw: Vector, rw: Vector, k: int, t: float, w: int, j: int, cause: int, step: float
) -> float:
    """How much later than the model an instance has its event; 0 where it cannot be found."""
    sign = 1.0 if k % 2 else -1.0
    after = rw[iw[at.O_Z0] + cause] <= 0.0  # the sign that the indicator has behind the event
    z, late, last, before, known = iw[at.O_Z2] + cause, 0.0, 0.0, 0.0, False
    # chosen: a secant has 1.6 times as many digits after each turn, so that twelve are plenty
    for turn in range(12):
        x = extrapolated_states(iw, rw, w, j, sign, late)
        if indicators(iw, rw, k, t + late, x, iw[at.O_Z2]):
            return 0.0
        value = rw[z]
        if value == 0.0 and turn:
            break
        if not known:
            known, last, before = True, late, value
            late = 1e-5 * step  # for the first secant: short, but far above rounding
            continue
        rise = (value - before) / (late - last) if late != last else 0.0
        if rise == 0.0:
            break
        last, before = late, value
        move = -value / rise
        late += move
        if not abs(late) < step:
            return 0.0
        if abs(move) <= 2.0 * EPS * max(abs(t), step):
            break
    nudge = 2.0 * EPS * max(abs(t), step)
    for _ in range(30):  # the FMU must see it crossed; doubled so often, a nudge comes to 5e-7
        x = extrapolated_states(iw, rw, w, j, sign, late)
        if indicators(iw, rw, k, t + late, x, iw[at.O_Z2]):
            return 0.0
        if (rw[z] > 0.0) == after:
            return late
        late += nudge
        nudge *= 2.0
    return 0.0


@engine_function
def extrapolated_states(iw: Vector, rw: Vector, w: int, j: int, sign: float, late: float) -> int:
    """States of a moved model, `late` after the present point, whose rates are in K1."""
    x, n = perturbed_states(iw, rw, w, j, sign), iw[at.N]
    k = iw[at.O_K1]
    amount = sign * rw[iw[at.O_DELTA] + j]
    for i in range(n):
        rw[x + i] += late * (rw[k + i] + amount * rw[k + n * (1 + j) + i])
    return x


@engine_function
def handle_event(iw: Vector, rw: Vector, t: float, cause: int, timed: bool, step: float) -> int:
    """An event at (t, W0), with rates in K1: all instances through event mode, W0 as it is then.

    `cause` is an indicator or -1; `timed`: the FMU has announced it. Inputs are those of the piece.
    """
    n, w = iw[at.N], iw[at.O_W0]
    iw[at.EVENTS] += 1
    announced = rw[iw[at.O_NEXT]]
    for j in range(iw[at.M]):
        half = 0.5 / rw[iw[at.O_DELTA] + j]
        for side in range(2):
            k = 1 + 2 * j + side
            sign = 1.0 if side == 0 else -1.0
            late = 0.0
            if cause >= 0:
                late = event_delay(iw, rw, k, t, w, j, cause, step)
            elif timed:
                late = rw[iw[at.O_NEXT] + k] - announced
                if not abs(late) < 0.1 * step:  # chosen: not the same event, moved a little
                    late = 0.0
            found = pass_event(iw, rw, k, t + late, extrapolated_states(iw, rw, w, j, sign, late))
            if found:
                return found
            if late != 0.0 and n:
                found = rates(iw, rw, k, t + late, iw[at.O_X], iw[at.O_HIGH])
                if found:
                    return found
                for i in range(n):
                    rw[iw[at.O_X] + i] -= late * rw[iw[at.O_HIGH] + i]
            for i in range(n):
                if side == 0:
                    rw[iw[at.O_WS] + n * (1 + j) + i] = rw[iw[at.O_X] + i] * half
                else:
                    rw[iw[at.O_WS] + n * (1 + j) + i] -= rw[iw[at.O_X] + i] * half
    for i in range(n):
        rw[iw[at.O_X] + i] = rw[w + i]
    found = pass_event(iw, rw, 0, t, iw[at.O_X])
    for i in range(n):
        rw[w + i] = rw[iw[at.O_X] + i]
    for i in range(n, iw[at.NW]):
        rw[w + i] = rw[iw[at.O_WS] + i]
    return found


@engine_function
def pass_event(iw: Vector, rw: Vector, k: int, t: float, x: int) -> int:
    """Instance k through an event at (t, rw[x ...]); its states behind it are in X."""
    found = set_point(iw, rw, k, t, x)
    if found == at.DONE:
        found = call_instance(iw, at.ENTER_EVENT, k, 0, 0, 0, 0)
    if found == at.DONE:
        found = set_inputs(iw, rw, k, t)
    if found == at.DONE:
        found = iterate(iw, rw, k)
    if found == at.DONE and iw[at.N]:
        found = call_instance(iw, at.GET_X, k, real(iw, iw[at.O_X]), iw[at.N], 0, 0)
    return found


@engine_function
def search(iw: Vector, rw: Vector, t: float, h: float) -> float:
    """The part of the step after which an indicator has changed; 2 where none does."""
    z0, z1, z2, n = iw[at.O_Z0], iw[at.O_Z1], iw[at.O_Z2], iw[at.N]
    low, high = 0.0, 1.0
    middle = indicators(iw, rw, 0, t + 0.5 * h, interpolated(iw, rw, 0.5, n), z2)
    if middle == at.DONE and changed(iw, rw, z0, z2) >= 0:
        high = 0.5
        for i in range(iw[at.NZ]):
            rw[z1 + i] = rw[z2 + i]
    elif changed(iw, rw, z0, z1) < 0:
        return 2.0
    width = 4.0 * EPS * max(abs(t), h) / h
    for turn in range(100):  # every third halves: 33 halvings, 1e-10, and secants are quicker
        if high - low <= width:
            break
        theta = 0.5 * (low + high)
        cause = changed(iw, rw, z0, z1)
        if turn % 3 and rw[z1 + cause] != rw[z0 + cause] and low == 0.0:
            part = rw[z0 + cause] / (rw[z0 + cause] - rw[z1 + cause]) * high
            # a secant, kept off the ends: each turn takes a fiftieth of the bracket at least
            theta = min(max(part, low + 0.02 * (high - low)), high - 0.02 * (high - low))
        if indicators(iw, rw, 0, t + theta * h, interpolated(iw, rw, theta, n), z2):
            low = theta
            continue
        if changed(iw, rw, z0, z2) >= 0:
            high = theta
            for i in range(iw[at.NZ]):
                rw[z1 + i] = rw[z2 + i]
        else:
            low = theta
    return high
