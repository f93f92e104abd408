"""Algebraic unknowns by Newton's method, and the implicit function theorem."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import (
    add_moved,
    call,
    push,
    set_inputs,
    set_result,
)
from estimica.simulate.engine.linear_algebra import (
    factor,
    factor_fully,
    factor_sparse,
    solve,
    solve_fully,
    solve_sparse,
)
from estimica.simulate.engine.units import Unit, engine_function, part
from estimica.simulate.engine.unknowns.block_search import search_blocks

Vector = Any
#: from the point before, few rounds lead to the next one; thirty (chosen) leave room for ten
#: halvings, to a thousandth of a step, where the full one leaves the domain
NEWTON_LIMIT, HALVING_LIMIT = 30, 10
#: a relative step this small was the last one: Newton's method squares the error. The absolute part
#: keeps unknowns that are zero from being asked for digits
ENOUGH = 1e-9
#: beside the largest unknown a step this small is rounding
ROUNDED = 1e-14
#: the step that would follow is about size^2/before where convergence is quadratic; only below
#: QUADRATIC is it believed to be, and only a hundredth of ENOUGH lets it be left out
QUADRATIC, FORESEEN = 1e-3, 1e-11
#: what equations that are left over may be off by, beside the largest unknown: they say the same as
#: others and differ by rounding
CONTRADICTION = 1e-8
#: unknowns that have grown so much beside the last good point are no measure of what equations may
#: be off by: they may have run away from a root, to where equations have no slope (chosen)
RUNAWAY = 1e6
#: rounds in which Newton's step does not get smaller, by which it is known as rounding
STILL = 3
#: damped rounds, halvings of a step (2^-20 is a millionth) and the part of the decrease that a step
#: promises which it must make (Armijo 1966); all chosen as in roots/newton.py, for small systems
DAMPED_LIMIT, DAMPINGS, ARMIJO = 30, 20, 1e-4
#: a step that leaves more than half of the residual (a quarter of its square) may have gone as far
#: beyond the root as it began before it, as with sqrt(abs(x))*sign(x): half of it is looked at too
POOR = 0.25
#: another branch is looked for from this part of the unknowns' size on, at distances that double:
#: 40 times to 1e8 times the size (chosen)
FIRST_LEAP, LEAPS = 1e-4, 40
FAILED, SINGULAR = 1, 2
#: what unknowns may be beyond min or max by rounding, relative to it
BEYOND = 1e-9


@engine_function
def fill_algebraic(iw: Vector, rw: Vector) -> None:
    """The matrix g_z from its nonzeros."""
    nz = iw[at.NZ]
    matrix, values = part(rw, iw[at.O_LUZ]), part(rw, iw[at.O_GZ])
    places = part(iw, iw[at.I_GZ])
    for k in range(nz * nz):
        matrix[k] = 0.0
    for k in range(iw[at.NNZ_Z]):
        matrix[places[k]] = values[k]


@engine_function
def factor_algebraic(iw: Vector, rw: Vector) -> None:
    """g and the factorised g_z at the current point; RANK is less than NZ where it is singular."""
    nz = iw[at.NZ]
    set_result(iw, 0, iw[at.O_G])
    set_result(iw, 1, iw[at.O_GZ])
    call(iw, at.ALGEBRAIC)
    iw[at.RANK], iw[at.FULL] = nz, 0
    sparse = part(iw, iw[at.I_SPARSE_Z])
    sparse[at.H_USED] = 0
    if sparse[at.H_N]:
        reals, values = part(rw, iw[at.O_SPARSE_Z]), part(rw, iw[at.O_GZ])
        sparse[at.H_USED] = 1 - factor_sparse(sparse, reals, values)
    if sparse[at.H_USED]:
        return
    fill_algebraic(iw, rw)
    matrix = part(rw, iw[at.O_LUZ])
    if factor(matrix, part(iw, iw[at.I_PIVOT]), nz):
        fill_algebraic(iw, rw)
        iw[at.RANK] = factor_fully(matrix, part(iw, iw[at.I_ROWS]), part(iw, iw[at.I_COLUMNS]),
                                   part(rw, iw[at.O_ROW_SIZE]), nz)  # fmt: skip
        iw[at.FULL] = 1


@engine_function
def solve_linear(iw: Vector, rw: Vector, b: Vector, m: int) -> float:
    """b := g_z^-1 b; where g_z is singular, unknowns that nothing determines get zero, and what
    comes back is by how much the equations contradict one another."""
    matrix, nz = part(rw, iw[at.O_LUZ]), iw[at.NZ]
    sparse = part(iw, iw[at.I_SPARSE_Z])
    if sparse[at.H_USED]:
        solve_sparse(sparse, part(rw, iw[at.O_SPARSE_Z]), b, m)
        return 0.0
    if iw[at.FULL]:
        return solve_fully(matrix, part(iw, iw[at.I_ROWS]), part(iw, iw[at.I_COLUMNS]),
                           part(rw, iw[at.O_ROW_SIZE]), nz, iw[at.RANK], b, m,
                           part(rw, iw[at.O_ROW_WORK]))  # fmt: skip
    solve(matrix, part(iw, iw[at.I_PIVOT]), nz, b, m)
    return 0.0


@engine_function
def blame_residual(iw: Vector, rw: Vector, code: int) -> int:
    """Remembers the worst algebraic equation."""
    worst, index = -1.0, 0
    for k in range(iw[at.NZ]):
        size = abs(rw[iw[at.O_G] + k])
        if not np.isfinite(size):
            index = k
            break
        if size > worst:
            worst, index = size, k
    iw[at.LAST_FAIL], iw[at.INDEX] = code, index
    return code


@engine_function
def sum_of(n: int, a: Vector) -> float:
    """The sum, which is not finite where one of them is not."""
    total = 0.0
    for k in range(n):
        total += a[k]
    return total


@engine_function
def newton(iw: Vector, rw: Vector) -> int:
    """Newton's method for z from where it is; 0, or what failed."""
    nz = iw[at.NZ]
    z, step = part(rw, iw[at.O_V]), part(rw, iw[at.O_DZ])
    residual = part(rw, iw[at.O_G])
    before, halvings, still, good = 0.0, 0, 0, 1.0
    for k in range(nz):
        good = max(good, abs(rw[iw[at.O_V_GOOD] + k]))
    for iteration in range(NEWTON_LIMIT):
        iw[at.NEWTON] += 1
        factor_algebraic(iw, rw)
        finite = np.isfinite(sum_of(nz, residual))
        if not finite and iteration > 0 and halvings < HALVING_LIMIT:
            halvings += 1
            for k in range(nz):
                step[k] *= 0.5
                z[k] += step[k]
            continue
        if not finite:
            return blame_residual(iw, rw, FAILED)
        halvings = 0
        for k in range(nz):
            step[k] = residual[k]
        off = solve_linear(iw, rw, step, 1)
        size, largest, longest = 0.0, 0.0, 0.0
        for k in range(nz):
            z[k] -= step[k]
            size = max(size, abs(step[k]) / (abs(z[k]) + ENOUGH))
            largest, longest = max(largest, abs(z[k])), max(longest, abs(step[k]))
        # what no longer shrinks is rounding of the residual: an unknown that is zero beside terms
        # that are large, as a flow beside pressures
        still = still + 1 if 2.0 * size > before and iteration > 0 else 0
        rounded = still >= STILL and longest <= ENOUGH * (largest + 1.0)
        if iw[at.LINEAR_Z] or size <= ENOUGH or longest <= ROUNDED * largest or rounded:
            if off > CONTRADICTION * (largest + 1.0):
                return blame_residual(iw, rw, SINGULAR)
            if off > CONTRADICTION * RUNAWAY * good and not iw[at.LINEAR_Z]:
                return blame_residual(iw, rw, FAILED)
            return 0
        if iteration > 0 and size < QUADRATIC and size * size <= FORESEEN * before:
            return 0
        before = size
    return blame_residual(iw, rw, FAILED)


@engine_function
def merit(iw: Vector, rw: Vector) -> float:
    """The residual's length at the current point, each equation in units of its unknowns."""
    set_result(iw, 0, iw[at.O_G])
    set_result(iw, 1, iw[at.O_GZ])
    call(iw, at.ALGEBRAIC)
    total = 0.0
    for k in range(iw[at.NZ]):
        total += (rw[iw[at.O_G] + k] * rw[iw[at.O_SCALE] + k]) ** 2
    return total


@engine_function
def scale_rows(iw: Vector, rw: Vector) -> None:
    """One over the largest entry of every row of g_z."""
    nz = iw[at.NZ]
    places, values = part(iw, iw[at.I_GZ]), part(rw, iw[at.O_GZ])
    for k in range(nz):
        rw[iw[at.O_SCALE] + k] = 0.0
    for k in range(iw[at.NNZ_Z]):
        row = iw[at.O_SCALE] + places[k] // nz
        rw[row] = max(rw[row], abs(values[k]))
    for k in range(nz):
        size = rw[iw[at.O_SCALE] + k]
        rw[iw[at.O_SCALE] + k] = 1.0 / size if size > 0.0 else 1.0


@engine_function
def damped_newton(iw: Vector, rw: Vector) -> int:
    """Newton's method with steps that make the residual smaller; the last rounds are plain."""
    nz = iw[at.NZ]
    z, step, old = part(rw, iw[at.O_V]), part(rw, iw[at.O_DZ]), part(rw, iw[at.O_Z_OLD])
    for _ in range(DAMPED_LIMIT):
        iw[at.NEWTON] += 1
        factor_algebraic(iw, rw)
        if not np.isfinite(sum_of(nz, part(rw, iw[at.O_G]))):
            return blame_residual(iw, rw, FAILED)
        scale_rows(iw, rw)
        size = 0.0
        for k in range(nz):
            step[k], old[k] = rw[iw[at.O_G] + k], z[k]
            size += (step[k] * rw[iw[at.O_SCALE] + k]) ** 2
        solve_linear(iw, rw, step, 1)
        damping = 1.0
        for _ in range(DAMPINGS):
            for k in range(nz):
                z[k] = old[k] - damping * step[k]
            left = merit(iw, rw)
            if left <= (1.0 - ARMIJO * damping) * size:
                break
            damping *= 0.5
        else:
            return blame_residual(iw, rw, FAILED)
        if left > POOR * size:
            for k in range(nz):
                z[k] = old[k] - 0.5 * damping * step[k]
            if merit(iw, rw) < left:
                damping *= 0.5
            for k in range(nz):
                z[k] = old[k] - damping * step[k]
        if damping == 1.0:
            failed = newton(iw, rw)
            if failed == 0:
                return 0
            for k in range(nz):
                z[k] = old[k] - step[k]
    return blame_residual(iw, rw, FAILED)


@engine_function
def solve_algebraic(iw: Vector, rw: Vector) -> int:
    """z from where it is: by Newton's method, and with damped steps where that fails."""
    nz = iw[at.NZ]
    begun = iw[at.O_Z_BEGIN]
    for k in range(nz):
        rw[begun + k] = rw[iw[at.O_V] + k]
    failed = newton(iw, rw)
    if failed == 0 and not iw[at.LINEAR_Z] and has_escaped(iw, rw):
        return stay_inside(iw, rw)
    if failed != FAILED or iw[at.LINEAR_Z]:
        return failed
    for k in range(nz):
        rw[iw[at.O_V] + k] = rw[begun + k]
    return damped_newton(iw, rw)


@engine_function
def has_escaped(iw: Vector, rw: Vector) -> bool:
    """Whether an unknown that was between its min and max is not there any more."""
    for k in range(iw[at.NZ]):
        z, begun = rw[iw[at.O_V] + k], rw[iw[at.O_Z_BEGIN] + k]
        low, high = rw[iw[at.O_Z_LOW] + k], rw[iw[at.O_Z_HIGH] + k]
        if z < low <= begun and low - z > BEYOND * (1.0 + abs(low)):
            return True
        if begun <= high < z and z - high > BEYOND * (1.0 + abs(high)):
            return True
    return False


@engine_function
def way_from_begin(iw: Vector, rw: Vector) -> float:
    """How far z is from where it began, in the sizes of the unknowns there."""
    way = 0.0
    for k in range(iw[at.NZ]):
        z, begun = rw[iw[at.O_V] + k], rw[iw[at.O_Z_BEGIN] + k]
        way = max(way, abs(z - begun) / (abs(begun) + 1.0))
    return way


@engine_function
def stay_inside(iw: Vector, rw: Vector) -> int:
    """A root between min and max that is no farther off than the one found, which is not; or
    that one, since bounds are what a modeller has expected, not equations."""
    z, begun, found = iw[at.O_V], iw[at.O_Z_BEGIN], iw[at.O_Z_FOUND]
    for k in range(iw[at.NZ]):
        rw[found + k], rw[z + k] = rw[z + k], rw[begun + k]
    inside = search_blocks(iw, rw, True) and newton(iw, rw) == 0 and not has_escaped(iw, rw)
    nearer = way_from_begin(iw, rw)
    for k in range(iw[at.NZ]):
        rw[z + k], rw[found + k] = rw[found + k], rw[z + k]
    if inside and nearer <= way_from_begin(iw, rw):
        for k in range(iw[at.NZ]):
            rw[z + k] = rw[found + k]
    return 0


@engine_function
def search(iw: Vector, rw: Vector) -> int:
    """z block by block from where the last try began; Newton's method confirms what is found."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V] + k] = rw[iw[at.O_Z_BEGIN] + k]
    search_blocks(iw, rw, False)
    return newton(iw, rw)


@engine_function
def differentiate_algebraic(iw: Vector, rw: Vector, function: int) -> int:
    """Z = -g_z^-1 (g_x S + ...) by the implicit function theorem, at a solved point."""
    nz, m = iw[at.NZ], iw[at.M]
    if not iw[at.LINEAR_Z]:
        factor_algebraic(iw, rw)
    sens, head = part(rw, iw[at.O_VS]), iw[at.I_TANGENT_Z]
    if iw[head + at.G_ROWS] == 0:
        set_result(iw, 0, iw[at.O_VS])
        call(iw, function)
    else:
        set_result(iw, 0, iw[at.O_TANGENT_Z])
        set_result(iw, 1, iw[at.O_MOVED_Z])
        call(iw, function)
        push(iw, rw, head, part(rw, iw[at.O_TANGENT_Z]), sens)
        if function == at.ALGEBRAIC_TOTAL:
            add_moved(iw, rw, nz, part(rw, iw[at.O_MOVED_Z]), sens)
    for k in range(nz * m):
        sens[k] = -sens[k]
    solve_linear(iw, rw, sens, m)
    return 0


@engine_function
def algebraic_rate(iw: Vector, rw: Vector) -> int:
    """z' = -g_z^-1 (g_t + g_x x' + ...) at a solved point."""
    nz = iw[at.NZ]
    factor_algebraic(iw, rw)
    set_result(iw, 0, iw[at.O_DZ])
    call(iw, at.ALGEBRAIC_RATE)
    rate = part(rw, iw[at.O_DZ])
    solve_linear(iw, rw, rate, 1)
    for k in range(nz):
        rw[iw[at.O_VDOT] + k] = -rate[k]
    return 0


@engine_function
def leap(iw: Vector, rw: Vector, t: float, onward: int) -> int:
    """z on another branch, where the one that it was on has ended, as that of a Schmitt trigger.

    Behind a fold no root is near, and Newton's step points along the way by which two of them have
    vanished. Roots are looked for in this direction, further and further off, and then in the
    opposite one: beyond a kink Newton's step points back. Where it is nil, since a root is still
    there, the way is that in which z moves (`onward`).
    """
    nz, good = iw[at.NZ], iw[at.O_V_GOOD]
    z, way = part(rw, iw[at.O_V]), part(rw, iw[at.O_Z_BEGIN])
    set_inputs(iw, rw, t)
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W0]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    for k in range(nz):
        z[k] = rw[good + k]
    factor_algebraic(iw, rw)
    length = 0.0
    for k in range(nz):
        way[k] = -rw[iw[at.O_VDOT] + k] if onward else rw[iw[at.O_G] + k]
    if not onward:
        solve_linear(iw, rw, way, 1)
    for k in range(nz):
        length = max(length, abs(way[k]) / (abs(z[k]) + 1.0))
    if not 0.0 < length < np.inf:
        return FAILED
    distance = FIRST_LEAP
    for trial in range(2 * LEAPS):
        if trial == LEAPS:
            distance = -FIRST_LEAP
        for k in range(nz):
            z[k] = rw[good + k] - distance / length * way[k]
        if newton(iw, rw) == 0:
            for k in range(nz):
                if abs(z[k] - rw[good + k]) > FIRST_LEAP * (abs(z[k]) + 1.0):
                    return 0
        distance *= 2.0
    for k in range(nz):
        z[k] = rw[good + k]
    return FAILED


def _algebraic(iw: Vector, rw: Vector, t: float, h: float, function: int, task: int) -> int:
    """z at the current point, and Z where a function for its right-hand side is given; or z'; or z
    on another branch, `function` saying in which direction; or z where Newton's method failed."""
    if task == at.LEAP:
        return leap(iw, rw, t, function)
    if task == at.SEARCH:
        return search(iw, rw)
    if task:
        return algebraic_rate(iw, rw)
    failed = solve_algebraic(iw, rw)
    if failed == 0 and function:
        failed = differentiate_algebraic(iw, rw, function)
    return failed


algebraic_unit = Unit(_algebraic)
