"""The loop over pieces: values are taken in, then a step of the table is made; with derivatives.

Derivatives are stored behind the value, one tuner after the other, as in the tables. They are
those of the plain update C - v vᵀ/s, which is Joseph's in exact arithmetic; only the value has to
stay positive semidefinite.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from estimica.simulate.engine.units import (
    Unit,
    engine_function,
    engine_stamp,
    part,
    reals_at,
    stamp_of,
)

Vector = Any

#: places in iw: sizes, then addresses
(N, NU, NY, M, PIECES, BLOCK, CONSTANTS, WIDTH, KINDS, ROWS, VALUES, SLOPES, TABLE, CONSTANT, STATE,
 WORK, OUT, OUT_S) = range(18)  # fmt: skip
HEADER = 18


@engine_function
def dot(n: int, a: Vector, b: Vector) -> float:
    """The product of two vectors."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@engine_function
def times_vector(n: int, C: Vector, h: Vector, out: Vector) -> None:
    """out := C h."""
    for i in range(n):
        out[i] = dot(n, part(C, i * n), h)


@engine_function
def predict(iw: Vector, q: int, k: int, j: int, mean: Vector, moved: Vector) -> float:
    """Output k at a mean; its derivative by tuner j - 1 where j > 0, whose mean is `moved`."""
    n, nu, ny = iw[N], iw[NU], iw[NY]
    u = reals_at(iw[VALUES] + 8 * q * iw[WIDTH])
    own = reals_at(iw[CONSTANT] + 8 * j * iw[CONSTANTS])
    found = own[ny * (n + nu) + k]
    found += dot(n, part(own, k * n), mean) + dot(nu, part(own, ny * n + k * nu), u)
    if j:
        found += dot(n, part(reals_at(iw[CONSTANT]), k * n), moved)
    return found


@engine_function
def spread(iw: Vector, q: int, k: int, j: int, v: Vector, dv: Vector) -> float:
    """h·v + r of output k, or its derivative: v = C h, dv its derivative."""
    n, nu, ny = iw[N], iw[NU], iw[NY]
    own = reals_at(iw[CONSTANT] + 8 * j * iw[CONSTANTS])
    relative = reals_at(iw[VALUES] + 8 * q * iw[WIDTH])[nu + 2 * ny + k]
    found = own[ny * (n + nu) + ny + k] * relative * relative + dot(n, part(own, k * n), v)
    if j:
        found += dot(n, part(reals_at(iw[CONSTANT]), k * n), dv)
    return found


@engine_function
def slope_of_product(iw: Vector, k: int, j: int, C: Vector, dC: Vector, out: Vector) -> None:
    """out := d(C h) by tuner j - 1."""
    n = iw[N]
    times_vector(n, dC, part(reals_at(iw[CONSTANT]), k * n), out)
    own = reals_at(iw[CONSTANT] + 8 * j * iw[CONSTANTS])
    for i in range(n):
        out[i] += dot(n, part(C, i * n), part(own, k * n))


@engine_function
def look(iw: Vector, q: int, row: int) -> None:
    """Predictions and their variances before the values of a piece are taken in."""
    n, ny, m = iw[N], iw[NY], iw[M]
    size = n + n * n
    state, v, dv = reals_at(iw[STATE]), reals_at(iw[WORK]), part(reals_at(iw[WORK]), n)
    out = reals_at(iw[OUT] + 8 * row * 4 * ny)
    out_s = reals_at(iw[OUT_S] + 8 * row * 4 * ny * m)
    for k in range(ny):
        times_vector(n, part(state, n), part(reals_at(iw[CONSTANT]), k * n), v)
        out[2 * ny + k] = predict(iw, q, k, 0, state, state)
        out[3 * ny + k] = spread(iw, q, k, 0, v, v)
        for j in range(m):
            own = part(state, (j + 1) * size)
            slope_of_product(iw, k, j + 1, part(state, n), part(own, n), dv)
            out_s[(2 * ny + k) * m + j] = predict(iw, q, k, j + 1, state, own)
            out_s[(3 * ny + k) * m + j] = spread(iw, q, k, j + 1, v, dv)


@engine_function
def take_value(iw: Vector, q: int, k: int, row: int) -> None:
    """Output k of a piece: its innovation, and what that makes of mean and covariance."""
    n, nu, ny, m = iw[N], iw[NU], iw[NY], iw[M]
    size = n + n * n
    state, v, dv = reals_at(iw[STATE]), reals_at(iw[WORK]), part(reals_at(iw[WORK]), n)
    th = part(reals_at(iw[WORK]), 2 * n)
    C = part(state, n)
    h = part(reals_at(iw[CONSTANT]), k * n)
    values = reals_at(iw[VALUES] + 8 * q * iw[WIDTH])
    given = values[nu + ny + k]
    times_vector(n, C, h, v)
    s = spread(iw, q, k, 0, v, v)
    e = values[nu + k] - predict(iw, q, k, 0, state, state)
    if row >= 0:
        out = reals_at(iw[OUT] + 8 * row * 4 * ny)
        out[k], out[ny + k] = given * e, s
    for j in range(m):
        own = part(state, (j + 1) * size)
        dC = part(own, n)
        slope_of_product(iw, k, j + 1, C, dC, dv)
        ds = spread(iw, q, k, j + 1, v, dv)
        de = -predict(iw, q, k, j + 1, state, own)
        if row >= 0:
            out_s = reals_at(iw[OUT_S] + 8 * row * 4 * ny * m)
            out_s[k * m + j], out_s[(ny + k) * m + j] = given * de, ds
        if given == 0.0:
            continue
        for i in range(n):
            own[i] += (dv[i] * e + v[i] * de - v[i] * e * ds / s) / s
            for a in range(n):
                dC[i * n + a] -= (dv[i] * v[a] + v[i] * dv[a] - v[i] * v[a] * ds / s) / s
    if given == 0.0:
        return
    relative = values[nu + 2 * ny + k]
    r = reals_at(iw[CONSTANT])[ny * (n + nu) + ny + k] * relative * relative
    for i in range(n):
        state[i] += v[i] * e / s
    # Joseph's form: T = C - K vᵀ, then T (I - K h)ᵀ + r K Kᵀ with K = v / s
    for i in range(n):
        for a in range(n):
            C[i * n + a] -= v[i] * v[a] / s
    times_vector(n, C, h, th)
    for i in range(n):
        for a in range(i + 1):
            C[i * n + a] += (r * v[i] / s - th[i]) * v[a] / s
            C[a * n + i] = C[i * n + a]


@engine_function
def advance(iw: Vector, q: int) -> None:
    """One step of the table, of mean and covariance and of their derivatives."""
    n, nu, m = iw[N], iw[NU], iw[M]
    size, block = n + n * n, iw[BLOCK]
    table = reals_at(iw[TABLE] + 8 * part(iw, iw[KINDS])[q] * (1 + m) * block)
    u = reals_at(iw[VALUES] + 8 * q * iw[WIDTH])
    du = reals_at(iw[SLOPES] + 8 * q * iw[WIDTH])
    state, work = reals_at(iw[STATE]), reals_at(iw[WORK])
    x, C, T, dT, y = state, part(state, n), work, part(work, n * n), part(work, 2 * n * n)
    in_u, in_du, in_1, in_q = n * n, n * n + n * nu, n * n + 2 * n * nu, n * n + 2 * n * nu + n
    for i in range(n):
        for a in range(n):
            T[i * n + a] = dot(n, part(table, i * n), part(C, a * n))
    for j in range(m):
        own, d = part(state, (j + 1) * size), part(table, (j + 1) * block)
        dC = part(own, n)
        for i in range(n):
            y[i] = d[in_1 + i] + dot(n, part(d, i * n), x) + dot(n, part(table, i * n), own)
            y[i] += dot(nu, part(d, in_u + i * nu), u) + dot(nu, part(d, in_du + i * nu), du)
            for a in range(n):
                dT[i * n + a] = dot(n, part(d, i * n), part(C, a * n))
                dT[i * n + a] += dot(n, part(table, i * n), part(dC, a * n))
        for i in range(n):
            own[i] = y[i]
            for a in range(i + 1):
                total = d[in_q + i * n + a] + dot(n, part(dT, i * n), part(table, a * n))
                dC[i * n + a] = total + dot(n, part(T, i * n), part(d, a * n))
        for i in range(n):
            for a in range(i):
                dC[a * n + i] = dC[i * n + a]
    for i in range(n):
        y[i] = table[in_1 + i] + dot(n, part(table, i * n), x)
        y[i] += dot(nu, part(table, in_u + i * nu), u) + dot(nu, part(table, in_du + i * nu), du)
    for i in range(n):
        x[i] = y[i]
        for a in range(i + 1):
            C[i * n + a] = table[in_q + i * n + a] + dot(n, part(T, i * n), part(table, a * n))
            C[a * n + i] = C[i * n + a]


def _exact_filter(iw: Vector, rw: Vector, t: float, h: float, a: int, b: int) -> int:
    """All pieces; everything is in the arrays."""
    rows = part(iw, iw[ROWS])
    for q in range(iw[PIECES]):
        row = rows[q]
        if row >= 0:
            look(iw, q, row)
        for k in range(iw[NY]):
            take_value(iw, q, k, row)
        if q + 1 < iw[PIECES]:
            advance(iw, q)
    return 0


@cache
def _stamp() -> str:
    return stamp_of(engine_stamp(), Path(__file__))


class _ExactUnit(Unit):
    """The unit, whose disk cache follows this file too."""

    @property
    def stamp(self) -> str:
        """What it was made from."""
        return _stamp()


exact_filter = _ExactUnit(_exact_filter)
