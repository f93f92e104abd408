"""Events: finding where a relation changes, and what is known just before it does.

Modes are frozen between events. dtau = -(g_x S + g_v V + g_P seed) / (dg/dt) for a state relation.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import (  # fmt: skip
    call,
    derivative,
    push,
    set_inputs,
    set_result,
    settle_unknowns,
)
from estimica.simulate.engine.methods.dormand_prince import dense
from estimica.simulate.engine.status import ALGEBRAIC, DONE, SINGULAR
from estimica.simulate.engine.units import call_unit, engine_function, part

Vector = Any
#: zero functions are looked at so often within a step: the dense output is of degree four, so that
#: a zero function that is linear in the states can turn about three times
SAMPLES = 4
#: a root is bracketed to this part of the step: some roundings above what a double resolves, since
#: a Newton correction at the end of a step taken to it follows
BRACKET = 1e-13
#: where the slope of a relation before its event was rounding itself, this much of it is meant: the
#: slope after must then be 1e3 (ROUNDING_SLOPE times AT_REST) times as large to count
ROUNDING_SLOPE = 1e13
#: what a location leaves is this part of the depth at which the change was seen, at most; chosen:
#: what was looked at was below 1e-6
LEFT_OVER = 1e-2
#: a relation has left the surface on which it rested when it is so many times deeper inside its
#: mode than it was let go beyond (chosen: a trembling is as deep on both sides)
AWAY = 4.0
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
    low_zero, rest = iw[at.O_ZERO_LOW], iw[at.O_WINDOW] + at.REST * ng
    size, until = iw[at.O_WINDOW] + at.SIZE * ng, iw[at.O_WINDOW] + at.UNTIL * ng
    for i in range(ng):
        if rw[rest + i] > 0.0 and t >= rw[until + i]:
            rw[rest + i] = 0.0
    for sample in range(1, SAMPLES + 1):
        high = sample / SAMPLES
        w = iw[at.O_W1] if sample == SAMPLES else dense(iw, rw, h, high, iw[at.NX])
        zeros_at(iw, rw, t + high * h, w)
        for i in range(ng):
            rw[low_zero + i] = side(iw, rw, i)
            rw[size + i] = max(rw[size + i], abs(rw[low_zero + i]))
        for i in range(ng):
            if rw[low_zero + i] < -max(rw[iw[at.O_SLACK] + i], rw[rest + i]):
                theta = root(iw, rw, t, h, i, low, high)
                if theta < best:
                    first, best = i, theta
        if first >= 0:
            rw[iw[at.O_REPORT] + at.R_ROOT] = best
            return first
        low = high
    for i in range(ng):  # what has gone deep into its mode is not on its surface any more
        if rw[low_zero + i] > AWAY * rw[rest + i]:
            rw[rest + i] = 0.0
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
        call(iw, at.ZERO_RATE)


@engine_function
def differentiate_zeros(iw: Vector, rw: Vector) -> None:
    """The sensitivities of the zero functions at the point, at fixed time."""
    head = iw[at.I_TANGENT_ZERO]
    if iw[head + at.G_ROWS] == 0:
        set_result(iw, 0, iw[at.O_ZERO_S])
        call(iw, at.ZERO_SENS)
        return
    set_result(iw, 0, iw[at.O_TANGENT_ZERO])
    call(iw, at.ZERO_SENS)
    push(iw, rw, head, part(rw, iw[at.O_TANGENT_ZERO]), part(rw, iw[at.O_ZERO_S]))


@engine_function
def polish(iw: Vector, rw: Vector, t: float, i: int) -> float:
    """The Newton correction of the event's time at the end of a step taken to it; `side` of the
    relation there, to the report."""
    rw[iw[at.O_REPORT] + at.R_SIDE] = 0.0
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W1]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    if derivative(iw, rw, t, iw[at.O_W1], iw[at.O_K7], False):
        return 0.0
    rates(iw, rw, t, iw[at.O_K7])
    g, slope = rw[iw[at.O_ZERO] + i], rw[iw[at.O_ZERO_RATE] + i]
    rw[iw[at.O_REPORT] + at.R_SIDE] = side(iw, rw, i)
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
    moving = cause
    bent = False  # the cause was found to leave its surface against its slope: that is rounding
    if cause >= 0:
        slope = rw[iw[at.O_ZERO_RATE] + cause]
        bent = slope != 0.0 and (slope > 0.0) == (rw[iw[at.O_D] + cause] > 0.5)
        if m > 0 and slope != 0.0 and not bent:
            differentiate_zeros(iw, rw)
        for j in range(m):
            if slope != 0.0 and not bent:
                rw[iw[at.O_DT] + j] = -rw[iw[at.O_ZERO_S] + cause * m + j] / slope
        if slope == 0.0 or bent:
            moving = -1
    elif cause == -1 and iw[at.NT]:
        i = due(iw, rw, t, blur)
        for j in range(m):
            if i >= 0:
                rw[iw[at.O_DT] + j] = rw[iw[at.O_INSTANT_S] + i * m + j]
    rw[iw[at.O_FLAGS] + 2] = max(moving, -1)
    for i in range(ng):
        g, slope = side(iw, rw, i), rw[iw[at.O_ZERO_RATE] + i]
        true = rw[iw[at.O_D] + i] > 0.5
        slack = abs(slope) * blur
        hold = FREE
        # what the location has left, and as much again; a jump is no rest of a location
        if i == cause and abs(g) <= LEFT_OVER * abs(rw[iw[at.O_ZERO_LOW] + i]):
            slack = max(slack, 4.0 * abs(g))
        if i == cause or (abs(g) <= slack and (slope < 0.0) == true and slope != 0.0):
            hold = 0.0 if true else 1.0
        rw[iw[at.O_SLACK] + i] = slack
        rw[iw[at.O_TRIGGERED] + i] = hold
        rw[iw[at.O_ZERO_LOW] + i] = (
            ROUNDING_SLOPE * abs(slope) if bent and i == cause else abs(slope)
        )
    return DONE
