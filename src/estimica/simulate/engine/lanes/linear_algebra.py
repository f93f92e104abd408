"""Dense LU factorisations and sparse products of all lanes at once; number k of a matrix is a
vector, one element a member."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine.lanes.vectors import (
    add4,
    add8,
    divide4,
    divide8,
    larger4,
    larger8,
    subtract4,
    subtract8,
)
from estimica.simulate.engine.linear_algebra import add_entries, add_product
from estimica.simulate.engine.units import engine_function, part

Vector = Any


@engine_function
def subtract(lanes: int, n: int, target: Vector, factor: Vector, source: Vector) -> None:
    """target -= factor source for n numbers."""
    if lanes == 8:
        for j in range(n):
            subtract8(part(target, 8 * j), factor, part(source, 8 * j))
    else:
        for j in range(n):
            subtract4(part(target, 4 * j), factor, part(source, 4 * j))


@engine_function
def accumulate(lanes: int, n: int, target: Vector, factor: Vector, source: Vector) -> None:
    """target += factor source for n numbers."""
    if lanes == 8:
        for j in range(n):
            add8(part(target, 8 * j), factor, part(source, 8 * j))
    else:
        for j in range(n):
            add4(part(target, 4 * j), factor, part(source, 4 * j))


@engine_function
def divide(lanes: int, n: int, target: Vector, divisor: Vector) -> None:
    """target /= divisor for n numbers."""
    if lanes == 8:
        for j in range(n):
            divide8(part(target, 8 * j), divisor)
    else:
        for j in range(n):
            divide4(part(target, 4 * j), divisor)


@engine_function
def keep_larger(lanes: int, n: int, target: Vector, source: Vector) -> None:
    """target := the largest of it and of n numbers; what is no number wins."""
    if lanes == 8:
        for j in range(n):
            larger8(target, part(source, 8 * j))
    else:
        for j in range(n):
            larger4(target, part(source, 4 * j))


@engine_function
def _choose(lanes: int, a: Vector, n: int, k: int, pivot: Vector) -> bool:
    """The largest element of column k for every lane; whether one is not in row k."""
    moved = False
    for lane in range(lanes):
        best, big = k, abs(a[(k * n + k) * lanes + lane])
        for i in range(k + 1, n):
            size = abs(a[(i * n + k) * lanes + lane])
            if size > big:
                best, big = i, size
        pivot[k * lanes + lane] = best
        moved = moved or best != k
    return moved


@engine_function
def _exchange(lanes: int, n: int, b: Vector, k: int, pivot: Vector) -> None:
    """Swaps row k of n numbers with the pivot's row, lane by lane."""
    for lane in range(lanes):
        other = pivot[k * lanes + lane]
        if other != k:
            one, two = k * n * lanes + lane, other * n * lanes + lane
            for j in range(n):
                b[one + j * lanes], b[two + j * lanes] = b[two + j * lanes], b[one + j * lanes]


@engine_function
def factor_lanes(lanes: int, a: Vector, pivot: Vector, n: int) -> None:
    """LU of the (n, n) matrices in place, each with pivots of its own; a matrix that is singular
    has factors that are no numbers."""
    for k in range(n):
        if _choose(lanes, a, n, k, pivot):
            _exchange(lanes, n, a, k, pivot)
        diagonal = part(a, (k * n + k) * lanes)
        for i in range(k + 1, n):
            ratio = part(a, (i * n + k) * lanes)
            divide(lanes, 1, ratio, diagonal)
            subtract(lanes, n - k - 1, part(ratio, lanes), ratio, part(diagonal, lanes))


@engine_function
def solve_lanes(lanes: int, a: Vector, pivot: Vector, n: int, b: Vector, m: int) -> None:
    """b := a^-1 b for right-hand sides (n, m) of all lanes and factorised matrices."""
    row = m * lanes
    for k in range(n):
        _exchange(lanes, m, b, k, pivot)
    for i in range(1, n):
        for k in range(i):
            subtract(lanes, m, part(b, i * row), part(a, (i * n + k) * lanes), part(b, k * row))
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            subtract(lanes, m, part(b, i * row), part(a, (i * n + k) * lanes), part(b, k * row))
        divide(lanes, m, part(b, i * row), part(a, (i * n + i) * lanes))


@engine_function
def add_lane_product(
    lanes: int, nnz: int, rows: Vector, columns: Vector, values: Vector, b: Vector, m: int,
    out: Vector,
) -> None:  # fmt: skip
    """out += A b for the nonzeros of A and m columns."""
    if lanes == 1:
        add_product(nnz, rows, columns, values, b, m, out)
        return
    for q in range(nnz):
        accumulate(lanes, m, part(out, rows[q] * m * lanes), part(values, q * lanes),
                   part(b, columns[q] * m * lanes))  # fmt: skip


@engine_function
def add_lane_entries(
    lanes: int, nnz: int, rows: Vector, columns: Vector, values: Vector, m: int, out: Vector
) -> None:
    """out += A for the nonzeros of A with m columns."""
    if lanes == 1:
        add_entries(nnz, rows, columns, values, m, out)
        return
    for q in range(nnz):
        place = (rows[q] * m + columns[q]) * lanes
        for k in range(lanes):
            out[place + k] += values[q * lanes + k]
