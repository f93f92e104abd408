"""Algebraic unknowns of all members of a group at once, by Newton's method, and their derivatives.

What the scalar engine does where plain Newton fails (damping, a search within min and max, other
branches) is not done here: a member that needs it goes on alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result
from estimica.simulate.engine.lanes.linear_algebra import factor_lanes, solve_lanes
from estimica.simulate.engine.linear_algebra import copy, fill
from estimica.simulate.engine.units import Unit, engine_function, part
from estimica.simulate.engine.unknowns.algebraic import (
    BEYOND,
    ENOUGH,
    FAILED,
    FORESEEN,
    NEWTON_LIMIT,
    QUADRATIC,
    ROUNDED,
)

Vector = Any


@engine_function
def _factor(iw: Vector, rw: Vector) -> None:
    """g and the factorised g_z of all members at the current point."""
    lanes, nz = iw[at.LANES], iw[at.NZ] // iw[at.LANES]
    set_result(iw, 0, iw[at.O_G])
    set_result(iw, 1, iw[at.O_GZ])
    call(iw, at.ALGEBRAIC)
    matrix, values, places = part(rw, iw[at.O_LUZ]), part(rw, iw[at.O_GZ]), part(iw, iw[at.I_GZ])
    fill(nz * nz * lanes, matrix, 0.0)
    for q in range(iw[at.NNZ_Z]):
        copy(lanes, part(matrix, places[q] * lanes), part(values, q * lanes))
    factor_lanes(lanes, matrix, part(iw, iw[at.I_PIVOT]), nz)


@engine_function
def _solve(iw: Vector, rw: Vector, b: Vector, m: int) -> None:
    lanes, pivot = iw[at.LANES], part(iw, iw[at.I_PIVOT])
    solve_lanes(lanes, part(rw, iw[at.O_LUZ]), pivot, iw[at.NZ] // lanes, b, m)


@engine_function
def _has_ended(iw: Vector, rw: Vector, lane: int, iteration: int) -> bool:
    """Whether Newton's last step of a member was its last one; its size is kept for the next."""
    lanes, z, step = iw[at.LANES], part(rw, iw[at.O_V]), part(rw, iw[at.O_DZ])
    size, largest, longest = 0.0, 0.0, 0.0
    for i in range(iw[at.NZ] // lanes):
        value, move = abs(z[i * lanes + lane]), abs(step[i * lanes + lane])
        size = max(size, move / (value + ENOUGH))
        largest, longest = max(largest, value), max(longest, move)
        if not np.isfinite(move):
            return False
    before = rw[iw[at.O_LANE_WORK] + lane]
    rw[iw[at.O_LANE_WORK] + lane] = size
    if iw[at.LINEAR_Z] or size <= ENOUGH or longest <= ROUNDED * largest:
        return True
    return iteration > 0 and size < QUADRATIC and size * size <= FORESEEN * before


@engine_function
def _has_escaped(iw: Vector, rw: Vector, lane: int) -> bool:
    """Whether an unknown is beyond its min or max: the scalar engine looks for another root."""
    lanes = iw[at.LANES]
    for i in range(iw[at.NZ] // lanes):
        z = rw[iw[at.O_V] + i * lanes + lane]
        low, high = rw[iw[at.O_Z_LOW] + i], rw[iw[at.O_Z_HIGH] + i]
        if low - z > BEYOND * (1.0 + abs(low)) or z - high > BEYOND * (1.0 + abs(high)):
            return True
    return False


@engine_function
def _newton(iw: Vector, rw: Vector) -> int:
    """z of all members from where it is; members without a root have an error that is no number."""
    lanes, nz = iw[at.LANES], iw[at.NZ] // iw[at.LANES]
    z, step, error = part(rw, iw[at.O_V]), part(rw, iw[at.O_DZ]), part(rw, iw[at.O_LANE_ERROR])
    for iteration in range(NEWTON_LIMIT):
        iw[at.NEWTON] += 1
        _factor(iw, rw)
        copy(nz * lanes, step, part(rw, iw[at.O_G]))
        _solve(iw, rw, step, 1)
        for k in range(nz * lanes):
            z[k] -= step[k]
        going = 0
        for k in range(lanes):
            alive = rw[iw[at.O_LANE_ALIVE] + k] > 0.0
            bad = alive and not _has_ended(iw, rw, k, iteration)
            error[k] = np.nan if bad else 0.0
            going += 1 if bad else 0
        if going == 0:
            break
    failed = 0
    for k in range(lanes):
        if rw[iw[at.O_LANE_ALIVE] + k] > 0.0:
            if not iw[at.LINEAR_Z] and _has_escaped(iw, rw, k):
                error[k] = np.nan
            if error[k] != 0.0:
                failed = FAILED
    return failed


@engine_function
def _differentiate(iw: Vector, rw: Vector, function: int) -> None:
    """Z = -g_z^-1 (g_x S + ...) by the implicit function theorem, at a solved point."""
    n, m = iw[at.NZ], iw[at.M]
    if not iw[at.LINEAR_Z]:
        _factor(iw, rw)
    sens = part(rw, iw[at.O_VS])
    set_result(iw, 0, iw[at.O_VS])
    call(iw, function)
    for k in range(n * m):
        sens[k] = -sens[k]
    _solve(iw, rw, sens, m)


def _lane_newton(iw: Vector, rw: Vector, t: float, h: float, function: int, task: int) -> int:
    """z at the current point, and Z where a function for its right-hand side is given."""
    if task:
        return FAILED
    failed = _newton(iw, rw)
    if failed:
        iw[at.LAST_FAIL], iw[at.INDEX] = FAILED, 0
    elif function:
        _differentiate(iw, rw, function)
    return failed


lane_newton_unit = Unit(_lane_newton)
