"""Delayed signals: the past of their expressions, and the instants at which its jumps come through.

Every accepted step leaves a segment: the delayed expressions and their sensitivities at five
points, between which a polynomial of degree four runs. A jump or kink at time t comes through
delay i at t + tau_i; the run stops there, and S jumps by the change of x' times the derivative of
that time.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result, settle_unknowns
from estimica.simulate.engine.methods.dormand_prince import dense
from estimica.simulate.engine.status import ALGEBRAIC, DELAY_NOT_POSITIVE, DONE, HISTORY_FULL
from estimica.simulate.engine.units import Unit, engine_function

Vector = Any
NODES = 5
GENERATIONS = 4  # a kink is smoothed once on each passage through an integrator


@engine_function
def segment(iw: Vector, number: int) -> int:
    """Where a segment stands in rw: its start, its length, then the values at the nodes."""
    width = 2 + NODES * iw[at.NH] * (1 + iw[at.M])
    return iw[at.O_HISTORY] + (number % iw[at.SEGMENTS]) * width


@engine_function
def find(iw: Vector, rw: Vector, i: int, s: float) -> int:
    """The segment of signal i that holds time s; the last one where s is ahead of them all."""
    cursor = iw[at.I_CURSOR] + i
    k = min(max(iw[cursor], iw[at.FIRST_SEGMENT]), iw[at.LAST_SEGMENT] - 1)
    while k + 1 < iw[at.LAST_SEGMENT] and rw[segment(iw, k + 1)] <= s:
        k += 1
    while k > iw[at.FIRST_SEGMENT] and rw[segment(iw, k)] > s:
        k -= 1
    iw[cursor] = k
    return k


@engine_function
def weights(rw: Vector, place: int, theta: float) -> None:
    """Lagrange's polynomials of the nodes 0, 1/4, ..., 1 at theta, and their derivatives."""
    for j in range(NODES):
        value, slope = 1.0, 0.0
        for k in range(NODES):
            if k != j:
                gap = 0.25 * (j - k)
                slope = (slope * (theta - 0.25 * k) + value) / gap
                value = value * (theta - 0.25 * k) / gap
        rw[place + j], rw[place + NODES + j] = value, slope


@engine_function
def look_up(iw: Vector, rw: Vector, t: float) -> None:
    """The delayed signals at t, with their sensitivities and time derivatives."""
    for i in range(iw[at.NH]):
        look_up_one(iw, rw, t, i)


@engine_function
def look_up_one(iw: Vector, rw: Vector, t: float, i: int) -> None:
    """Delayed signal i at t; on a break, the side is the one that LEFT and I_SIDE tell."""
    nz, nh, m = iw[at.NZ], iw[at.NH], iw[at.M]
    value, sens = iw[at.O_V] + nz + i, iw[at.O_VS] + (nz + i) * m
    left = iw[at.LEFT] != 0 or iw[iw[at.I_SIDE] + i] < 0
    s = t - rw[iw[at.O_TAU] + i]
    side = s + (-2.0 if left else 2.0) * rw[iw[at.O_CLOCK] + at.BLUR]
    if iw[at.LAST_SEGMENT] == 0 or side <= rw[iw[at.O_CLOCK] + at.BEGIN]:
        rw[value], rw[iw[at.O_VDOT] + nz + i] = rw[iw[at.O_Q] + i], 0.0
        for j in range(m):
            rw[sens + j] = rw[iw[at.O_QS] + i * m + j]
        return
    start = segment(iw, find(iw, rw, i, side))
    length = rw[start + 1]
    w = iw[at.O_WEIGHT]
    weights(rw, w, (s - rw[start]) / length)
    nodes, size = start + 2 + i, nh * (1 + m)
    # differences from the first node: what is constant, as a whole number is, comes out exactly
    total, slope = rw[nodes], 0.0
    for k in range(1, NODES):
        rise = rw[nodes + k * size] - rw[nodes]
        total += rw[w + k] * rise
        slope += rw[w + NODES + k] * rise
    slope /= length
    rw[value], rw[iw[at.O_VDOT] + nz + i] = total, slope
    nodes = start + 2 + nh + i * m
    for j in range(m):
        total = 0.0
        for k in range(NODES):
            total += rw[w + k] * rw[nodes + k * size + j]
        rw[sens + j] = total - slope * rw[iw[at.O_TAU_S] + i * m + j]


@engine_function
def record(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """Adds the segment of the step from t, just accepted."""
    nh, m, number = iw[at.NH], iw[at.M], iw[at.LAST_SEGMENT]
    if number - iw[at.FIRST_SEGMENT] == iw[at.SEGMENTS]:
        oldest = segment(iw, iw[at.FIRST_SEGMENT])
        if rw[oldest] + rw[oldest + 1] > t - rw[iw[at.O_CLOCK] + at.LONGEST]:
            return HISTORY_FULL
        iw[at.FIRST_SEGMENT] += 1
    start = segment(iw, number)
    rw[start], rw[start + 1] = t, h
    for k in range(NODES):
        theta = 0.25 * k
        w = iw[at.O_W0] if k == 0 else iw[at.O_W1]
        if 0 < k < NODES - 1:
            w = dense(iw, rw, h, theta, iw[at.N])
        iw[at.LEFT] = 0 if k == 0 else 1
        if settle_unknowns(iw, rw, t + theta * h, w, m > 0):
            return ALGEBRAIC
        place = start + 2 + k * nh * (1 + m)
        set_result(iw, 0, place)
        set_result(iw, 1, place + nh)
        call(iw, at.DELAYED)
    iw[at.LAST_SEGMENT] = number + 1
    return DONE


@engine_function
def begin_past(iw: Vector, rw: Vector, t: float) -> int:
    """The delays, and the values before the start: those at the start."""
    nh, m, clock = iw[at.NH], iw[at.M], iw[at.O_CLOCK]
    iw[at.X], iw[at.S] = iw[at.BASE] + 8 * iw[at.O_W0], iw[at.BASE] + 8 * (iw[at.O_W0] + iw[at.NX])
    set_result(iw, 0, iw[at.O_TAU])
    set_result(iw, 1, iw[at.O_TAU_S])
    call(iw, at.DELAYS)
    rw[clock + at.BEGIN], rw[clock + at.LONGEST] = t, 0.0
    iw[at.LEFT] = iw[at.BREAK_COUNT] = iw[at.FIRST_SEGMENT] = iw[at.LAST_SEGMENT] = 0
    for i in range(nh):
        delay = rw[iw[at.O_TAU] + i]
        if not delay > 0.0:
            iw[at.INDEX] = i
            return DELAY_NOT_POSITIVE
        rw[clock + at.LONGEST] = max(rw[clock + at.LONGEST], delay)
        longest = iw[at.O_SETTING] + at.MAX_STEP
        rw[longest] = min(rw[longest], delay)
        iw[iw[at.I_SIDE] + i], iw[iw[at.I_CURSOR] + i] = 1, 0
        rw[iw[at.O_Q_MAX] + i] = 0.0
    for i in range(nh * (1 + m)):
        rw[iw[at.O_W_BEFORE] + i] = 0.0
    for _ in range(nh + 2):  # a delayed signal may be delayed again
        for i in range(nh):
            rw[iw[at.O_Q] + i] = rw[iw[at.O_W_BEFORE] + i]
        for i in range(nh * m):
            rw[iw[at.O_QS] + i] = rw[iw[at.O_W_BEFORE] + nh + i]
        if settle_unknowns(iw, rw, t, iw[at.O_W0], m > 0):
            return ALGEBRAIC
        set_result(iw, 0, iw[at.O_W_BEFORE])
        set_result(iw, 1, iw[at.O_W_BEFORE] + nh)
        call(iw, at.DELAYED)
    return DONE


@engine_function
def break_place(iw: Vector, k: int) -> int:
    """Where break k stands in rw: time, signal, generation, the derivatives of its time."""
    return iw[at.O_BREAKS] + k * (3 + iw[at.M])


@engine_function
def add_break(iw: Vector, rw: Vector, time: float, i: int, generation: int) -> int:
    """Inserts a break of signal i in the order of time; O_DT holds the derivatives of its cause."""
    m, n, blur = iw[at.M], iw[at.BREAK_COUNT], rw[iw[at.O_CLOCK] + at.BLUR]
    k, width = n, 3 + m
    while k > 0 and rw[break_place(iw, k - 1)] > time + blur:
        k -= 1
    if generation > 0:  # one kink is like another
        j = k - 1
        while j >= 0 and rw[break_place(iw, j)] >= time - blur:
            other = break_place(iw, j)
            if rw[other + 1] == i and 0 < rw[other + 2] <= generation:
                return DONE
            j -= 1
    if n == iw[at.BREAKS]:
        return HISTORY_FULL
    for j in range((n - k) * width - 1, -1, -1):
        rw[break_place(iw, k + 1) + j] = rw[break_place(iw, k) + j]
    place = break_place(iw, k)
    rw[place], rw[place + 1], rw[place + 2] = time, i, generation
    for j in range(m):
        rw[place + 3 + j] = rw[iw[at.O_DT] + j] + rw[iw[at.O_TAU_S] + i * m + j]
    iw[at.BREAK_COUNT] = n + 1
    return DONE


@engine_function
def delayed_now(iw: Vector, rw: Vector, t: float, place: int) -> int:
    """The delayed expressions at the present point."""
    if settle_unknowns(iw, rw, t, iw[at.O_W0], iw[at.M] > 0):
        return ALGEBRAIC
    set_result(iw, 0, place)
    set_result(iw, 1, place + iw[at.NH])
    call(iw, at.DELAYED)
    return DONE


@engine_function
def add_breaks(iw: Vector, rw: Vector, t: float, generation: int) -> int:
    """What happens at t comes through every delay later: as a kink of the given generation, or,
    for generation 0, as a jump (generation 0) where the delayed expression has changed."""
    nh, before, after = iw[at.NH], iw[at.O_W_BEFORE], iw[at.O_W_AFTER]
    if generation > GENERATIONS:
        return DONE
    if generation == 0 and delayed_now(iw, rw, t, after):
        return ALGEBRAIC
    for i in range(nh):
        kind = generation
        if generation == 0:
            size = abs(rw[before + i]) + abs(rw[after + i])
            largest = iw[at.O_Q_MAX] + i
            rw[largest] = max(rw[largest], size)
            change = abs(rw[after + i] - rw[before + i])
            # a change below the digits that iterations leave (1e-10), or below rounding beside the
            # largest value there was (1e-13), is no jump: at most the slope has changed
            kind = 0 if change > 1e-10 * size + 1e-13 * rw[largest] else 1
        if add_break(iw, rw, t + rw[iw[at.O_TAU] + i], i, kind):
            return HISTORY_FULL
    return DONE


@engine_function
def take_break(iw: Vector, rw: Vector) -> int:
    """Removes the first break; its signal comes back, its derivatives go to O_DT."""
    m, n = iw[at.M], iw[at.BREAK_COUNT]
    place, width = break_place(iw, 0), 3 + m
    i = int(rw[place + 1])
    iw[at.GENERATION] = int(rw[place + 2])
    for j in range(m):
        rw[iw[at.O_DT] + j] = rw[place + 3 + j]
    for k in range((n - 1) * width):
        rw[place + k] = rw[place + width + k]
    iw[at.BREAK_COUNT] = n - 1
    return i


def _history(iw: Vector, rw: Vector, t: float, h: float, task: int, argument: int) -> int:
    """One of the tasks at.PAST_..."""
    if task == at.PAST_LOOK_UP:
        look_up(iw, rw, t)
        return DONE
    if task == at.PAST_RECORD:
        return record(iw, rw, t, h)
    if task == at.PAST_BEGIN:
        return begin_past(iw, rw, t)
    if task == at.PAST_BEFORE:
        return delayed_now(iw, rw, t, iw[at.O_W_BEFORE])
    if task == at.PAST_ADD:
        return add_breaks(iw, rw, t, argument)
    return take_break(iw, rw)


history_unit = Unit(_history)
