"""The loop over groups of members: load, run, and put down what came of it."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import set_result
from estimica.simulate.engine.linear_algebra import copy, fill
from estimica.simulate.engine.status import DONE, NEEDS_STIFF
from estimica.simulate.engine.units import (
    Unit,
    address,
    call_model,
    call_unit,
    engine_function,
    part,
    reals_at,
    wholes_at,
)

Vector = Any


@engine_function
def _take(lanes: int, n: int, target: Vector, source: int, first: int, count: int) -> None:
    """n numbers of each of `count` members into lanes; the last one stands in for those that a
    whole group would have."""
    for k in range(lanes):
        row = reals_at(source + 8 * n * (first + min(k, count - 1)))
        for j in range(n):
            target[j * lanes + k] = row[j]


@engine_function
def _forget(iw: Vector, rw: Vector) -> None:
    """Zeros in the places of [x; S] that explicit steps do not write: the stiff method writes all,
    and what it has made of one group must not matter to the next."""
    if part(iw, iw[at.I_STRETCH])[1] < iw[at.N]:
        for v in range(at.O_K7 - at.O_W0 + 1):
            fill(iw[at.N], part(rw, iw[iw[at.I_VECTORS] + v]), 0.0)


@engine_function
def _load(iw: Vector, rw: Vector, first: int, count: int) -> None:
    """Run constants and starts of a group, as they are given or from its independent constants."""
    lanes, nx = iw[at.LANES], iw[at.NX]
    states = iw[iw[at.I_VECTORS]]  # where the loop will look for them
    _forget(iw, rw)
    _take(lanes, iw[at.NZ] // lanes, part(rw, iw[at.O_V]), iw[at.START_Z], first, count)
    _take(lanes, iw[at.ND], part(rw, iw[at.O_D]), iw[at.START_D], first, count)
    if iw[at.PREPARE]:
        given = reals_at(iw[at.GIVEN])
        _take(lanes, iw[at.N_CONSTANTS], given, iw[at.CONSTANTS], first, count)
        set_result(iw, 0, iw[at.O_P])
        set_result(iw, 1, states)
        set_result(iw, 2, states + nx)
        base = address(iw)
        call_model(iw[at.PREPARE], base + 8 * at.GIVEN, base + 8 * at.RESULT)
        return
    m, rows = iw[at.M], nx // lanes
    _take(lanes, iw[at.NP], part(rw, iw[at.O_P]), iw[at.START_P], first, count)
    _take(lanes, rows, part(rw, states), iw[at.START_X], first, count)
    _take(lanes, rows * m, part(rw, states + nx), iw[at.START_S], first, count)


@engine_function
def _begin(iw: Vector, rw: Vector, first: int, count: int) -> None:
    """Everybody is in the group; where their samples go."""
    lanes, n, ny, m = iw[at.LANES], iw[at.N_TIMES], iw[at.NY], iw[at.M]
    for k in range(lanes):
        rw[iw[at.O_LANE_ALIVE] + k] = 1.0 if k < count else 0.0
        rw[iw[at.O_LANE_LOST] + k] = rw[iw[at.O_LANE_ERROR] + k] = 0.0
        rw[iw[at.O_LANE_HELD] + k] = 0.0
    iw[at.ALIVE], iw[at.COUNT], iw[at.ABORT] = count, count, 0
    if iw[at.SINK] == at.TO_NORMAL:
        fill(iw[at.N_NORMAL] * lanes, part(rw, iw[at.O_NORMAL]), 0.0)
    iw[at.OUT] = iw[at.ALL_Y] + 8 * first * n * ny
    iw[at.OUT_S] = iw[at.ALL_YS] + 8 * first * n * ny * m


@engine_function
def _keep_log(iw: Vector, member: int, lane: int) -> None:
    """Adds what happened when in a member's run to what is remembered."""
    c = wholes_at(iw[iw[at.I_COMPANIONS] + 2 * lane])
    count = min(c[at.EVENTS], c[at.LOG_SIZE])
    copy(count * at.LOG_WIDTH, reals_at(iw[at.LOG_ROWS] + 8 * at.LOG_WIDTH * iw[at.LOGGED]),
         reals_at(c[at.LOG]))  # fmt: skip
    iw[at.LOGGED] += count
    reals_at(iw[at.LOG_COUNTS])[member] = count


@engine_function
def _end(iw: Vector, rw: Vector, first: int, count: int, status: int) -> None:
    """Whose run has come to its end, and its normal equations."""
    lanes, n = iw[at.LANES], iw[at.N_NORMAL]
    ended = reals_at(iw[at.ENDED])
    for k in range(count):
        ended[first + k] = 1.0 if status == DONE and rw[iw[at.O_LANE_ALIVE] + k] > 0.0 else 0.0
        if iw[at.SINK] == at.TO_NORMAL:
            out = reals_at(iw[at.ALL_NORMAL] + 8 * (first + k) * n)
            for j in range(n):
                out[j] = rw[iw[at.O_NORMAL] + j * lanes + k]
        elif iw[at.HAS_EVENTS] and ended[first + k] > 0.0:
            _keep_log(iw, first + k, k)


def _groups(iw: Vector, rw: Vector, t: float, h: float, first: int, last: int) -> int:
    """Members first ... last - 1, group by group; where it has stopped, since the stiff method is
    not there yet or what is remembered of events has to be taken away, or `last`."""
    lanes, measured, weight = iw[at.LANES], iw[at.MEASURED], iw[at.WEIGHT]
    while first < last:
        if iw[at.HAS_EVENTS] and iw[at.LOGGED] + lanes * iw[at.LOG_SIZE] > iw[at.LOG_ROOM]:
            break
        count = min(lanes, last - first)
        _load(iw, rw, first, count)
        _begin(iw, rw, first, count)
        iw[at.MEASURED] = measured + 8 * first * iw[at.MEASURED_STRIDE]
        iw[at.WEIGHT] = weight + 8 * first * iw[at.WEIGHT_STRIDE]
        status = call_unit(iw[at.UNIT_DRIVE], iw, rw, 0.0, 0.0, 0, 0)
        if status == NEEDS_STIFF:
            break
        _end(iw, rw, first, count, status)
        first += count
    iw[at.MEASURED], iw[at.WEIGHT] = measured, weight
    return first


groups_unit = Unit(_groups)
