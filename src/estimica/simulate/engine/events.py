"""Events: finding where a relation changes, and the iteration that finds the values after it.

Modes are frozen between events. At an event at time tau(theta) the total derivative of the state,
S + x' dtau, goes through the event map by the chain rule; S afterwards is what remains when the new
x' dtau is taken off. dtau = -(g_x S + g_v V + g_P seed) / (dg/dt) for a state relation.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.dormand_prince import dense
from estimica.simulate.engine.evaluation import (  # fmt: skip
    call,
    derivative,
    set_inputs,
    set_result,
    settle_unknowns,
)
from estimica.simulate.engine.status import ALGEBRAIC, CHATTERING, DONE, EVENT_ITERATION, SINGULAR
from estimica.simulate.engine.units import Unit, call_unit, engine_function

Vector = Any
#: zero functions are looked at so often within a step: the dense output is of degree four, so that
#: a zero function that is linear in the states can turn about three times
SAMPLES = 4
#: rounds of the event iteration, sweeps of the discrete equations in a round, and how often
#: relations may take another side at one instant. Chosen: chains of `when` clauses need one round
#: or sweep a link, and nobody writes chains of 60; relations that take turns a dozen times go on
OUTER_LIMIT, SWEEP_LIMIT, FLIP_LIMIT = 100, 60, 12
#: a root is bracketed to this part of the step: some roundings above what a double resolves, since
#: a Newton correction at the end of a step taken to it follows
BRACKET = 1e-13
#: after an event a relation whose zero function moves so much slower than before it rests on its
#: surface, as a body that sticks: what is left of its slope is rounding
AT_REST = 1e-10
#: ... and where the slope before was rounding itself, this much of it is meant: the slope after
#: must then be 1e3 (ROUNDING_SLOPE times AT_REST) times as large to count
ROUNDING_SLOPE = 1e13
FREE = -1.0  # a relation that is not held


# ---------------------------------------------------------------- location


@engine_function
def zeros_at(iw: Vector, rw: Vector, t: float, w: int) -> None:
    """The zero functions at a point, to O_ZERO."""
    if iw[at.ZERO_NEEDS_Z]:
        settle_unknowns(iw, rw, t, w, False)
    else:
        set_inputs(iw, rw, t)
        iw[at.X] = iw[at.BASE] + 8 * w
    set_result(iw, 0, iw[at.O_ZERO])
    call(iw, at.ZERO)


@engine_function
def side(iw: Vector, rw: Vector, i: int) -> float:
    """The zero function, positive where relation i keeps its mode."""
    g = rw[iw[at.O_ZERO] + i]
    return g if rw[iw[at.O_D] + i] > 0.5 else -g


@engine_function
def side_at(iw: Vector, rw: Vector, t: float, h: float, theta: float, i: int) -> float:
    """`side` of relation i at a fraction of the step."""
    zeros_at(iw, rw, t + theta * h, dense(iw, rw, h, theta, iw[at.NX]))
    return side(iw, rw, i)


@engine_function
def root(iw: Vector, rw: Vector, t: float, h: float, i: int, low: float, high: float) -> float:
    """The fraction of the step in [low, high] where relation i changes (Illinois method)."""
    g_high = side_at(iw, rw, t, h, high, i)
    g_low = side_at(iw, rw, t, h, low, i)
    if not g_low > 0.0:  # it starts on the surface: look for a point off it
        start, width = low, high - low
        for _ in range(50):  # 2^-50 is the last digit of a fraction of the step
            width *= 0.5
            g_low = side_at(iw, rw, t, h, start + width, i)
            if g_low > 0.0:
                low = start + width
                break
            high, g_high = start + width, g_low
        if not g_low > 0.0:
            return start
    last = 0
    for _ in range(80):  # more than bisection alone would need to BRACKET (44)
        middle = (low * g_high - high * g_low) / (g_high - g_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        g = side_at(iw, rw, t, h, middle, i)
        if g <= 0.0:
            high, g_high = middle, g
            if last == 1:
                g_low *= 0.5
            last = 1
        else:
            low, g_low = middle, g
            if last == -1:
                g_high *= 0.5
            last = -1
        if high - low < BRACKET or g == 0.0:
            break
    return high


@engine_function
def locate(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """The relation that changes first within the step, or -1; where, to the report."""
    ng, low, first, best = iw[at.NG], 0.0, -1, 2.0
    low_zero = iw[at.O_ZERO_LOW]
    for sample in range(1, SAMPLES + 1):
        high = sample / SAMPLES
        w = iw[at.O_W1] if sample == SAMPLES else dense(iw, rw, h, high, iw[at.NX])
        zeros_at(iw, rw, t + high * h, w)
        for i in range(ng):
            rw[low_zero + i] = side(iw, rw, i)
        for i in range(ng):
            if rw[low_zero + i] < -rw[iw[at.O_SLACK] + i]:
                theta = root(iw, rw, t, h, i, low, high)
                if theta < best:
                    first, best = i, theta
        if first >= 0:
            rw[iw[at.O_REPORT] + at.R_ROOT] = best
            return first
        low = high
    return -1


@engine_function
def rates(iw: Vector, rw: Vector, t: float, k: int) -> None:
    """With the point settled and x' at rw[k ...]: v', and the derivatives of the zero functions."""
    for i in range(iw[at.NX]):
        rw[iw[at.O_XDOT] + i] = rw[k + i]
    if iw[at.NZ]:
        call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, 0, at.ALGEBRAIC_RATE)
    if iw[at.NG]:
        set_result(iw, 0, iw[at.O_ZERO])
        call(iw, at.ZERO)
        set_result(iw, 0, iw[at.O_ZERO_RATE])
        set_result(iw, 1, iw[at.O_ZERO_S])
        call(iw, at.ZERO_RATE)


@engine_function
def polish(iw: Vector, rw: Vector, t: float, i: int) -> float:
    """The Newton correction of the event's time at the end of a step taken to it."""
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W1]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    if derivative(iw, rw, t, iw[at.O_W1], iw[at.O_K7], False):
        return 0.0
    rates(iw, rw, t, iw[at.O_K7])
    g, slope = rw[iw[at.O_ZERO] + i], rw[iw[at.O_ZERO_RATE] + i]
    return -g / slope if slope != 0.0 else 0.0


# ---------------------------------------------------------------- time relations


@engine_function
def next_instant(iw: Vector, rw: Vector, t: float, blur: float) -> None:
    """The next instant of a time relation after t, to the report."""
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W0]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    set_result(iw, 0, iw[at.O_INSTANT])
    set_result(iw, 1, iw[at.O_INSTANT_S])
    call(iw, at.INSTANTS)
    best = 1e300
    for i in range(iw[at.NT]):
        instant = rw[iw[at.O_INSTANT] + i]
        if t + blur < instant < best:
            best = instant
    rw[iw[at.O_REPORT] + at.R_INSTANT] = best


@engine_function
def due(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """The time relation whose instant has come, or -1."""
    ng = iw[at.NG]
    for i in range(iw[at.NT]):
        reached = rw[iw[at.O_INSTANT] + i] <= t + blur
        until = iw[iw[at.I_UNTIL] + i] != 0
        if (rw[iw[at.O_D] + ng + i] > 0.5) != (reached != until):
            return i
    return -1


# ---------------------------------------------------------------- before the event


@engine_function
def failure(code: int) -> int:
    """The status for a failed evaluation."""
    return DONE if code == 0 else ALGEBRAIC if code == 1 else SINGULAR


@engine_function
def before(iw: Vector, rw: Vector, t: float, blur: float, cause: int) -> int:
    """x', v' and dg/dt just before the event, dtau of its cause (a relation; -1: the time
    relation that is due; -2: dtau is given), and which relations change with it."""
    m, ng = iw[at.M], iw[at.NG]
    code = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], m > 0)
    if code:
        return failure(code)
    rates(iw, rw, t, iw[at.O_K1])
    if cause >= -1:
        for j in range(m):
            rw[iw[at.O_DT] + j] = 0.0
    bent = False  # the cause was found to leave its surface against its slope: that is rounding
    if cause >= 0:
        slope = rw[iw[at.O_ZERO_RATE] + cause]
        bent = slope != 0.0 and (slope > 0.0) == (rw[iw[at.O_D] + cause] > 0.5)
        for j in range(m):
            if slope != 0.0 and not bent:
                rw[iw[at.O_DT] + j] = -rw[iw[at.O_ZERO_S] + cause * m + j] / slope
    elif cause == -1 and iw[at.NT]:
        i = due(iw, rw, t, blur)
        for j in range(m):
            if i >= 0:
                rw[iw[at.O_DT] + j] = rw[iw[at.O_INSTANT_S] + i * m + j]
    for i in range(ng):
        g, slope = side(iw, rw, i), rw[iw[at.O_ZERO_RATE] + i]
        true = rw[iw[at.O_D] + i] > 0.5
        slack = abs(slope) * blur
        hold = FREE
        if i == cause:
            slack = max(slack, 4.0 * abs(g))  # what the location has left, and as much again
        if i == cause or (abs(g) <= slack and (slope < 0.0) == true and slope != 0.0):
            hold = 0.0 if true else 1.0
        rw[iw[at.O_SLACK] + i] = slack
        rw[iw[at.O_TRIGGERED] + i] = hold
        rw[iw[at.O_ZERO_LOW] + i] = (
            ROUNDING_SLOPE * abs(slope) if bent and i == cause else abs(slope)
        )
    return DONE


# ---------------------------------------------------------------- the event iteration


@engine_function
def remember(iw: Vector, rw: Vector) -> None:
    """x_pre, d_pre, S_pre := x, d, S."""
    nx, w0 = iw[at.NX], iw[at.O_W0]
    for i in range(nx):
        rw[iw[at.O_X_PRE] + i] = rw[w0 + i]
    for i in range(nx * iw[at.M]):
        rw[iw[at.O_S_PRE] + i] = rw[w0 + nx + i]
    for i in range(iw[at.ND]):
        rw[iw[at.O_D_PRE] + i] = rw[iw[at.O_D] + i]


@engine_function
def change(rw: Vector, place: int, value: float) -> bool:
    """Assigns; whether that changed anything."""
    changed = rw[place] != value
    rw[place] = value
    return changed


@engine_function
def settle_total(iw: Vector, rw: Vector, t: float) -> int:
    """The unknowns at the point, with their total derivatives along the moving event time."""
    nz, nh, m = iw[at.NZ], iw[at.NH], iw[at.M]
    code = settle_unknowns(iw, rw, t, iw[at.O_W0], False)
    if code or m == 0:
        return code
    for i in range(nh):
        for j in range(m):
            rate = rw[iw[at.O_VDOT] + nz + i]
            rw[iw[at.O_VS] + (nz + i) * m + j] += rate * rw[iw[at.O_DT] + j]
    if nz:
        return call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, at.ALGEBRAIC_TOTAL, 0)
    return 0


@engine_function
def update_modes(iw: Vector, rw: Vector, t: float, blur: float) -> bool:
    """The modes at the point; on its surface a relation keeps its mode, or is held at one."""
    ng, d, changed = iw[at.NG], iw[at.O_D], False
    if ng:
        set_result(iw, 0, iw[at.O_ZERO])
        call(iw, at.ZERO)
    for i in range(ng):
        g = rw[iw[at.O_ZERO] + i]
        if abs(g) <= rw[iw[at.O_SLACK] + i]:
            held = rw[iw[at.O_TRIGGERED] + i]
            value = rw[d + i] if held == FREE else held
        else:
            value = 1.0 if g > 0.0 else 0.0
        changed |= change(rw, d + i, value)
    for i in range(iw[at.NT]):
        reached = rw[iw[at.O_INSTANT] + i] <= t + blur
        until = iw[iw[at.I_UNTIL] + i] != 0
        changed |= change(rw, d + ng + i, 1.0 if reached != until else 0.0)
    return changed


@engine_function
def apply_equations(iw: Vector, rw: Vector) -> bool:
    """New logicals and memories from the event equations, and the sensitivities of memories."""
    nx, m, memories = iw[at.NX], iw[at.M], iw[at.NMEMORY]
    w0, changed = iw[at.O_W0], False
    set_result(iw, 0, iw[at.O_EVENT_X])
    set_result(iw, 1, iw[at.O_FIRED])
    set_result(iw, 2, iw[at.O_EVENT_L])
    call(iw, at.EVENT)
    place = iw[at.O_D] + iw[at.NG] + iw[at.NT]
    for i in range(iw[at.NL]):
        if change(rw, place + i, rw[iw[at.O_EVENT_L] + i]):
            changed = True
            iw[at.INDEX] = iw[at.NG] + iw[at.NT] + i
    if m:
        set_result(iw, 0, iw[at.O_EVENT_S])
        call(iw, at.EVENT_SENS)
    for i in range(nx - memories, nx):
        changed |= change(rw, w0 + i, rw[iw[at.O_EVENT_X] + i])
        for j in range(i * m, i * m + m):
            changed |= change(rw, w0 + nx + j, rw[iw[at.O_EVENT_S] + j])
    return changed


@engine_function
def reinitialise(iw: Vector, rw: Vector) -> None:
    """Assigns the reinit values that fire, with their sensitivities."""
    nx, m, w0 = iw[at.NX], iw[at.M], iw[at.O_W0]
    for i in range(nx - iw[at.NMEMORY]):
        if rw[iw[at.O_FIRED] + i] != 0.0:
            rw[w0 + i] = rw[iw[at.O_EVENT_X] + i]
            for j in range(i * m, i * m + m):
                rw[w0 + nx + j] = rw[iw[at.O_EVENT_S] + j]


@engine_function
def differs(iw: Vector, rw: Vector) -> bool:
    """Whether anything is not as it was at the start of this iteration."""
    for i in range(iw[at.NX]):
        if rw[iw[at.O_W0] + i] != rw[iw[at.O_X_PRE] + i]:
            return True
    for i in range(iw[at.ND]):  # noqa: SIM110 (Numba knows no any())
        if rw[iw[at.O_D] + i] != rw[iw[at.O_D_PRE] + i]:
            return True
    return False


@engine_function
def leave_surfaces(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """Relations on their surface take the side to which they move; -1: none changes, or which."""
    rates(iw, rw, t, iw[at.O_K1])
    changed = -1
    for i in range(iw[at.NG]):
        g, slope = rw[iw[at.O_ZERO] + i], rw[iw[at.O_ZERO_RATE] + i]
        slack = max(rw[iw[at.O_SLACK] + i], abs(slope) * blur)
        if abs(g) > slack:
            rw[iw[at.O_SLACK] + i] = 0.0
            continue
        rw[iw[at.O_SLACK] + i] = slack
        mode = rw[iw[at.O_D] + i]
        if abs(slope) > AT_REST * rw[iw[at.O_ZERO_LOW] + i]:
            wanted = 1.0 if slope > 0.0 else 0.0
        elif g == 0.0 and rw[iw[at.O_TRIGGERED] + i] == FREE:
            wanted = 0.0 if iw[iw[at.I_STRICT] + i] else 1.0
        else:
            wanted = mode
        if wanted != mode:
            rw[iw[at.O_TRIGGERED] + i] = wanted
            changed = i
    return changed


@engine_function
def iterate_events(iw: Vector, rw: Vector, t: float, blur: float) -> int:
    """The event iteration at t, from W0 and d before it to those after it; a status comes back."""
    w0, flips = iw[at.O_W0], 0
    shift(iw, rw, 1.0, iw[at.O_XDOT])
    if not iw[at.HAS_EVENTS]:
        code = derivative(iw, rw, t, w0, iw[at.O_K1], False)
        shift(iw, rw, -1.0, iw[at.O_K1])
        return failure(code)
    for _ in range(OUTER_LIMIT):
        remember(iw, rw)
        stable = False
        for _ in range(SWEEP_LIMIT):
            if iw[at.NT]:  # instants may depend on what the last sweep has changed
                next_instant(iw, rw, t, blur)
            code = settle_total(iw, rw, t)
            if code:
                return failure(code)
            changed = update_modes(iw, rw, t, blur)
            changed |= apply_equations(iw, rw)
            if not changed:
                stable = True
                break
        if not stable:
            return EVENT_ITERATION
        reinitialise(iw, rw)
        if rw[iw[at.O_FLAGS]] != 0.0:
            rw[iw[at.O_FLAGS]] = 0.0  # pre is the start value in the first iteration only
            continue
        if differs(iw, rw):
            continue
        code = derivative(iw, rw, t, w0, iw[at.O_K1], False)
        if code:
            return failure(code)
        flipped = leave_surfaces(iw, rw, t, blur)
        if flipped < 0:
            shift(iw, rw, -1.0, iw[at.O_K1])
            return DONE
        flips += 1
        if flips > FLIP_LIMIT:
            iw[at.INDEX] = flipped
            return CHATTERING
    return EVENT_ITERATION


@engine_function
def shift(iw: Vector, rw: Vector, sign: float, rate: int) -> None:
    """S += sign x' dtau."""
    nx, m, w0 = iw[at.NX], iw[at.M], iw[at.O_W0]
    for i in range(nx):
        for j in range(m):
            rw[w0 + nx + i * m + j] += sign * rw[rate + i] * rw[iw[at.O_DT] + j]


def _events(iw: Vector, rw: Vector, t: float, h: float, task: int, index: int) -> int:
    """One of the tasks at.EVENT_...; h is the step, or the blur of time."""
    if task == at.EVENT_LOCATE:
        return locate(iw, rw, t, h)
    if task == at.EVENT_POLISH:
        rw[iw[at.O_REPORT] + at.R_ROOT] = polish(iw, rw, t, index)
    elif task == at.EVENT_BEFORE:
        return before(iw, rw, t, h, index)
    elif task == at.EVENT_SETTLE:
        return iterate_events(iw, rw, t, h)
    elif task == at.EVENT_NEXT:
        next_instant(iw, rw, t, h)
    return 0


events_unit = Unit(_events)
