"""Algebraic unknowns block by block, where Newton's method for all of them at once fails.

After an event the solution may be far from where it was: a valve that shuts, a port that falls dry.
Blocks that need only those before them are solved one after another. One unknown: the change of
sign that is nearest to where it was is looked for, first between min and max. Several: Newton's
method with damped steps that stay between min and max, and where that fails from a problem whose
solution is known: g(z) = (1 - share) g(start), for shares up to one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result
from estimica.simulate.engine.linear_algebra import factor, factor_fully, solve, solve_fully
from estimica.simulate.engine.units import engine_function, part

Vector = Any
#: the first point looked at beside the start, relative to its size, and how often the distance is
#: doubled: from a millionth to 1e12 times the size (chosen)
NEAR, DOUBLINGS = 1e-6, 60
#: bisections of a bracket: each gains a binary digit, of 53; brackets around zero need more
BISECTIONS = 200
#: damped rounds and halvings of a step (2^-20 is a millionth), and the part of the promised
#: decrease that a step must make (Armijo 1966); chosen as in roots/newton.py
ROUNDS, HALVINGS, ARMIJO = 60, 20, 1e-4
#: a step that leaves more than half of the residual (a quarter of its square) may have gone as far
#: beyond the root as it began before it: half of it is looked at too
POOR = 0.25
#: a step this small, relative to unknowns that count as at least SMALL, was the last one (both
#: chosen: Newton's method for all unknowns follows and finds the last digits)
LAST_STEP, SMALL = 1e-6, 1e-3
#: of a continuation: steps in all, the first one, what it grows by after a success and shrinks to
#: after a failure (all chosen, as in roots/newton.py)
WAYS, FIRST_SHARE, GROWTH, SHRINKAGE = 40, 0.1, 2.0, 0.25


@engine_function
def evaluate(iw: Vector, rw: Vector) -> None:
    """g and the nonzeros of g_z at the current point."""
    set_result(iw, 0, iw[at.O_G])
    set_result(iw, 1, iw[at.O_GZ])
    call(iw, at.ALGEBRAIC)


@engine_function
def search_blocks(iw: Vector, rw: Vector, inside: bool) -> bool:
    """z from where it is, block after block; whether all of them could be solved. With `inside`
    every unknown must keep to min and max."""
    first, nz = 0, iw[at.NZ]
    while first < nz:
        last = iw[iw[at.I_BLOCK_END] + first]
        if last - first == 1:
            found = search_one(iw, rw, first, inside)
        else:
            found = search_several(iw, rw, first, last, inside)
        if not found:
            return False
        first = last
    return True


# -- one unknown -----------------------------------------------------------------------------------


@engine_function
def value_at(iw: Vector, rw: Vector, k: int, z: float) -> float:
    """The residual of equation k with its unknown at z."""
    rw[iw[at.O_V] + k] = z
    evaluate(iw, rw)
    return float(rw[iw[at.O_G] + k])


@engine_function
def search_one(iw: Vector, rw: Vector, k: int, inside: bool) -> bool:
    """The root of one equation that is nearest to where its unknown is."""
    start = rw[iw[at.O_V] + k]
    low, high = rw[iw[at.O_Z_LOW] + k], rw[iw[at.O_Z_HIGH] + k]
    if low <= start <= high and look_around(iw, rw, k, start, low, high):
        return True
    if inside:
        return False
    return bool(look_around(iw, rw, k, start, -np.inf, np.inf))


@engine_function
def look_around(iw: Vector, rw: Vector, k: int, start: float, low: float, high: float) -> bool:
    """A root between low and high, at distances that double on both sides of the start."""
    here = value_at(iw, rw, k, start)
    if not np.isfinite(here):
        return False
    if here == 0.0:
        return True
    distance = NEAR * (abs(start) + 1.0)
    left, right, at_left, at_right = start, start, here, here
    for _ in range(DOUBLINGS):
        if right < high:
            z = min(start + distance, high)
            value = value_at(iw, rw, k, z)
            if at_right * value <= 0.0 and bisect(iw, rw, k, right, at_right, z):
                return True
            right, at_right = z, value
        if left > low:
            z = max(start - distance, low)
            value = value_at(iw, rw, k, z)
            if at_left * value <= 0.0 and bisect(iw, rw, k, left, at_left, z):
                return True
            left, at_left = z, value
        distance *= 2.0
    rw[iw[at.O_V] + k] = start
    return False


@engine_function
def bisect(iw: Vector, rw: Vector, k: int, a: float, at_a: float, b: float) -> bool:
    """The root between a and b, where the residual has different signs; False at a pole."""
    size = abs(at_a)
    value = at_a
    for _ in range(BISECTIONS):
        middle = 0.5 * (a + b)
        if not min(a, b) < middle < max(a, b):
            break
        value = value_at(iw, rw, k, middle)
        if value == 0.0:
            return True
        if (value > 0.0) == (at_a > 0.0):
            a = middle
        else:
            b = middle
    value = value_at(iw, rw, k, a)
    return bool(abs(value) <= size)


# -- several unknowns ------------------------------------------------------------------------------


@engine_function
def search_several(iw: Vector, rw: Vector, first: int, last: int, inside: bool) -> bool:
    """Unknowns first ... last-1 by damped steps; else by continuation from where they are."""
    begun, z, target = iw[at.O_Z_FIRST], iw[at.O_V], iw[at.O_TARGET]
    for k in range(first, last):
        rw[begun + k], rw[target + k] = rw[z + k], 0.0
    if block_newton(iw, rw, first, last, inside):
        return True
    for k in range(first, last):
        rw[z + k] = rw[begun + k]
    evaluate(iw, rw)
    off = iw[at.O_G_FIRST]
    for k in range(first, last):
        rw[off + k] = rw[iw[at.O_G] + k]
        if not np.isfinite(rw[off + k]):
            return False
    reached, step = 0.0, FIRST_SHARE
    for _ in range(WAYS):
        share = min(1.0, reached + step)
        for k in range(first, last):
            rw[target + k] = (1.0 - share) * rw[off + k]
        if block_newton(iw, rw, first, last, inside):
            if share == 1.0:
                return True
            reached, step = share, step * GROWTH
            for k in range(first, last):
                rw[begun + k] = rw[z + k]
        else:
            step *= SHRINKAGE
            for k in range(first, last):
                rw[z + k] = rw[begun + k]
    return False


@engine_function
def block_residual(iw: Vector, rw: Vector, first: int, last: int) -> float:
    """The square of the length of g less its target, each equation in its own scale."""
    total = 0.0
    for k in range(first, last):
        off = rw[iw[at.O_G] + k] - rw[iw[at.O_TARGET] + k]
        total += (off * rw[iw[at.O_SCALE] + k]) ** 2
    return total


@engine_function
def block_step(iw: Vector, rw: Vector, first: int, last: int) -> None:
    """Newton's step of a block, and the scales of its equations."""
    nz, n = iw[at.NZ], last - first
    matrix, step = part(rw, iw[at.O_LUZ]), part(rw, iw[at.O_DZ])
    places, values = part(iw, iw[at.I_GZ]), part(rw, iw[at.O_GZ])
    for attempt in range(2):
        for k in range(n * n):
            matrix[k] = 0.0
        for k in range(n):
            rw[iw[at.O_SCALE] + first + k] = 0.0
        for k in range(iw[at.NNZ_Z]):
            row, column = places[k] // nz, places[k] % nz
            if first <= row < last and first <= column < last:
                matrix[(row - first) * n + column - first] = values[k]
                size = iw[at.O_SCALE] + row
                rw[size] = max(rw[size], abs(values[k]))
        for k in range(n):
            size = iw[at.O_SCALE] + first + k
            rw[size] = 1.0 / rw[size] if rw[size] > 0.0 else 1.0
            step[k] = rw[iw[at.O_G] + first + k] - rw[iw[at.O_TARGET] + first + k]
        if attempt == 0:
            if factor(matrix, part(iw, iw[at.I_PIVOT]), n) == 0:
                solve(matrix, part(iw, iw[at.I_PIVOT]), n, step, 1)
                return
        else:
            rows, columns = part(iw, iw[at.I_ROWS]), part(iw, iw[at.I_COLUMNS])
            sizes, work = part(rw, iw[at.O_ROW_SIZE]), part(rw, iw[at.O_ROW_WORK])
            rank = factor_fully(matrix, rows, columns, sizes, n)
            solve_fully(matrix, rows, columns, sizes, n, rank, step, 1, work)


@engine_function
def move_block(
    iw: Vector, rw: Vector, first: int, last: int, damping: float, inside: bool
) -> float:
    """z := where it was less a part of the step, kept between min and max; the residual there."""
    for k in range(first, last):
        old = rw[iw[at.O_Z_OLD] + k]
        z = old - damping * rw[iw[at.O_DZ] + k - first]
        low, high = rw[iw[at.O_Z_LOW] + k], rw[iw[at.O_Z_HIGH] + k]
        if inside or low <= old <= high:
            z = min(max(z, low), high)
        rw[iw[at.O_V] + k] = z
    evaluate(iw, rw)
    return float(block_residual(iw, rw, first, last))


@engine_function
def block_newton(iw: Vector, rw: Vector, first: int, last: int, inside: bool) -> bool:
    """g of a block at its target, by steps that make the residual smaller."""
    z, old = iw[at.O_V], iw[at.O_Z_OLD]
    for _ in range(ROUNDS):
        iw[at.NEWTON] += 1
        evaluate(iw, rw)
        block_step(iw, rw, first, last)
        for k in range(first, last):
            rw[old + k] = rw[z + k]
        size = block_residual(iw, rw, first, last)
        if not np.isfinite(size):
            return False
        damping = 1.0
        left = move_block(iw, rw, first, last, damping, inside)
        halvings = 0
        while not left <= (1.0 - ARMIJO * damping) * size and halvings < HALVINGS:
            damping *= 0.5
            halvings += 1
            left = move_block(iw, rw, first, last, damping, inside)
        if left > POOR * size:
            if move_block(iw, rw, first, last, 0.5 * damping, inside) < left:
                damping *= 0.5
            left = move_block(iw, rw, first, last, damping, inside)
        length = 0.0
        for k in range(first, last):
            length = max(length, abs(rw[iw[at.O_DZ] + k - first]) / (abs(rw[z + k]) + SMALL))
        if length <= LAST_STEP or halvings == HALVINGS:
            return bool(length <= LAST_STEP)
    return False
