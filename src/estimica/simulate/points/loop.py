"""The loop over operating points: Newton's method at each, and derivatives by the implicit function
theorem. Points come in a given order; each begins from the solution of its parent, or its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.linear_algebra import factor, solve
from estimica.simulate.engine.units import (
    Unit,
    address,
    call_model,
    engine_function,
    part,
    reals_at,
)
from estimica.simulate.points import layout as at

Vector = Any
LIMIT = 60
EXACT = 1e-15  # of each residual's scale: nothing left to gain
ENOUGH = 1e-9  # what counts as a solution: of the size of an equation's terms
ROUNDED = 1e-13  # ... and what rounding errors of some hundred terms leave of it
NOTHING = 1e-200  # a residual this small has no terms left to compare it with: k·x = 0 at x = 0
LAST = 1e-7  # a relative step after which one more is exact
POLISHED = 3  # more steps for unknowns far below their scale; those that are zero stay so
FLAT = 1e-13  # pivots of the scaled matrix below this make it singular


@engine_function
def call_at(iw: Vector, function: int) -> None:
    """Calls a model function with the current tables."""
    base = address(iw)
    call_model(iw[function], base, base + 8 * at.RESULT)


@engine_function
def evaluate(iw: Vector, z: int, r: int, values: int) -> bool:
    """R to r, the nonzeros of its Jacobian to values (addresses); whether R is finite."""
    iw[at.Z] = z
    iw[at.RESULT], iw[at.RESULT + 1] = r, values
    call_at(iw, at.RESIDUAL)
    total = 0.0
    residual = reals_at(r)
    for k in range(iw[at.NZ]):
        total += residual[k]
    return bool(np.isfinite(total))


@engine_function
def factorise(iw: Vector, z: int, values: int, matrix: int, rows: int, columns: int) -> bool:
    """LU of the Jacobian with rows and columns scaled; whether it is regular."""
    n = iw[at.NZ]
    a, v, r, c = reals_at(matrix), reals_at(values), reals_at(rows), reals_at(columns)
    unknown, size = reals_at(z), reals_at(iw[at.SCALE])
    place = part(iw, iw[at.I_PLACE])
    for k in range(n * n):
        a[k] = 0.0
    for k in range(n):
        c[k] = max(abs(unknown[k]), size[k])
    total = 0.0
    for k in range(iw[at.NNZ]):
        a[place[k]] = v[k]
        total += v[k]
    if not np.isfinite(total):
        return False
    for i in range(n):
        largest = 0.0
        for j in range(n):
            a[i * n + j] *= c[j]
            largest = max(largest, abs(a[i * n + j]))
        if not largest > 0.0:
            return False
        r[i] = largest
        for j in range(n):
            a[i * n + j] /= largest
    if factor(a, part(iw, iw[at.I_PIVOT]), n):
        return False
    smallest = 1.0
    for i in range(n):
        smallest = min(smallest, abs(a[i * n + i]))
    return bool(smallest >= FLAT)


@engine_function
def holds(iw: Vector, z: int, work: int, tolerance: float) -> bool:
    """Whether the equations hold at z as the model states them, each beside its own terms."""
    n = iw[at.NZ]
    residual = work + 56 * n + 8 * (iw[at.NNZ] + n * n)
    iw[at.Z] = z
    iw[at.RESULT], iw[at.RESULT + 1] = residual, residual + 8 * n
    call_at(iw, at.TRUE)
    E, size = reals_at(residual), reals_at(residual + 8 * n)
    for k in range(n):
        if not (abs(E[k]) <= tolerance * size[k] or (abs(E[k]) <= NOTHING and size[k] >= 0.0)):
            return False
    return True


@engine_function
def last_step(iw: Vector, z: int, work: int) -> None:
    """One more full step where rounding decides, and residual and Jacobian there."""
    n = iw[at.NZ]
    r, trial, step, values = work, work + 16 * n, work + 24 * n, work + 56 * n
    x, y, d = reals_at(z), reals_at(trial), reals_at(step)
    for k in range(n):
        y[k] = x[k] + d[k]
    if evaluate(iw, trial, r, values):
        for k in range(n):
            x[k] = y[k]
    else:
        evaluate(iw, z, r, values)


@engine_function
def concluded(iw: Vector, z: int, work: int) -> int:
    """How the search ended at z, where residual and Jacobian were evaluated last."""
    n = iw[at.NZ]
    if not holds(iw, z, work, ENOUGH):
        return at.NOT_SOLVED
    values = work + 56 * n
    matrix = values + 8 * iw[at.NNZ]
    regular = factorise(iw, z, values, matrix, work + 40 * n, work + 48 * n)
    return at.SOLVED if regular else at.SINGULAR


@engine_function
def newton(iw: Vector, z: int, work: int) -> int:
    """The root near z, with the factorised Jacobian left in the work space; how it ended."""
    n, nnz = iw[at.NZ], iw[at.NNZ]
    r, r2 = work, work + 8 * n
    trial, step, scale = work + 16 * n, work + 24 * n, work + 32 * n
    rows, columns = work + 40 * n, work + 48 * n
    values = work + 56 * n
    matrix = values + 8 * nnz
    R, R2, S = reals_at(r), reals_at(r2), reals_at(scale)
    x, y, d = reals_at(z), reals_at(trial), reals_at(step)
    row, column = reals_at(rows), reals_at(columns)
    polished = 0
    for k in range(n):
        S[k] = 1e-300
    if not evaluate(iw, z, r, values):
        return at.NOT_FINITE
    for _ in range(LIMIT):
        if not factorise(iw, z, values, matrix, rows, columns):
            return at.SINGULAR if holds(iw, z, work, ENOUGH) else at.NOT_SOLVED
        worst = 0.0
        for k in range(n):
            S[k] = max(S[k], row[k])
            worst = max(worst, abs(R[k]) / S[k])
            d[k] = -R[k] / row[k]
        if worst <= EXACT and holds(iw, z, work, ROUNDED):
            return at.SOLVED
        solve(reals_at(matrix), part(iw, iw[at.I_PIVOT]), n, d, 1)
        size, length, own = 0.0, 0.0, 0.0
        for k in range(n):
            length = max(length, abs(d[k]))
            d[k] *= column[k]
            own = max(own, abs(d[k]) / (abs(x[k]) + 1e-300))
            size += (R[k] / S[k]) ** 2
        if (length <= LAST or iw[at.LINEAR]) and worst <= ENOUGH:
            last_step(iw, z, work)
            ended = concluded(iw, z, work)
            if ended == at.NOT_SOLVED:
                continue  # near beside the scales, not beside the terms: on, from here
            if own <= LAST or polished == POLISHED:
                return ended
            polished += 1  # ... not beside the unknowns themselves
            continue
        damping, accepted = 1.0, False
        for _ in range(30):
            for k in range(n):
                y[k] = x[k] + damping * d[k]
            if evaluate(iw, trial, r2, values):
                now = 0.0
                for k in range(n):
                    now += (R2[k] / S[k]) ** 2
                if now <= (1.0 - 1e-4 * damping) ** 2 * size:
                    accepted = True
                    break
            damping *= 0.5
        if not accepted:
            evaluate(iw, z, r, values)
            return concluded(iw, z, work)
        for k in range(n):
            x[k], R[k] = y[k], R2[k]
    return at.NOT_SOLVED


@engine_function
def differentiate(iw: Vector, z: int, w: int, work: int) -> None:
    """W = -G_z^-1 G_theta with the factors that Newton's method has left."""
    n, m = iw[at.NZ], iw[at.M]
    rows, columns = reals_at(work + 40 * n), reals_at(work + 48 * n)
    matrix = work + 56 * n + 8 * iw[at.NNZ]
    iw[at.Z], iw[at.RESULT] = z, w
    call_at(iw, at.RATES)
    rates = reals_at(w)
    for i in range(n):
        for j in range(m):
            rates[i * m + j] /= -rows[i]
    solve(reals_at(matrix), part(iw, iw[at.I_PIVOT]), n, rates, m)
    for i in range(n):
        for j in range(m):
            rates[i * m + j] *= columns[i]


@engine_function
def set_point(iw: Vector, k: int) -> None:
    """The tables point at point k."""
    iw[at.U] = iw[at.ALL_U] + 8 * iw[at.NU] * k
    iw[at.D] = iw[at.ALL_D] + 8 * iw[at.ND] * k
    iw[at.Z] = iw[at.ALL_Z] + 8 * iw[at.NZ] * k
    iw[at.W] = iw[at.ALL_W] + 8 * iw[at.NZ] * iw[at.M] * k


@engine_function
def orientation(iw: Vector, work: int) -> int:
    """The sign of the determinant of the Jacobian, from its factors; it changes at a fold, so that
    solutions of the same sign may lie on one branch, those of different signs do not."""
    n = iw[at.NZ]
    matrix = reals_at(work + 56 * n + 8 * iw[at.NNZ])
    pivot = part(iw, iw[at.I_PIVOT])
    sign = 1
    for k in range(n):
        if (pivot[k] != k) != (matrix[k * n + k] < 0.0):
            sign = -sign
    return sign


@engine_function
def begin(iw: Vector, k: int, z: int) -> int:
    """Point k begins where its nearest ancestor that is solved ended; that ancestor, or -1."""
    n = iw[at.NZ]
    parents, status = part(iw, iw[at.I_PARENT]), part(iw, iw[at.I_STATUS])
    parent = parents[k]
    while parent >= 0 and status[parent] != at.SOLVED:
        parent = parents[parent]
    if parent >= 0 and n > 0:
        source, target = reals_at(iw[at.ALL_Z] + 8 * n * parent), reals_at(z)
        for j in range(n):
            target[j] = source[j]
    return parent


@engine_function
def evaluated(iw: Vector, z: int, work: int) -> int:
    """The Jacobian at z as it is, factorised."""
    n = iw[at.NZ]
    values = work + 56 * n
    if not evaluate(iw, z, work, values):
        return at.NOT_FINITE
    matrix = values + 8 * iw[at.NNZ]
    regular = factorise(iw, z, values, matrix, work + 40 * n, work + 48 * n)
    return at.SOLVED if regular else at.SINGULAR


@engine_function
def solve_point(iw: Vector, k: int, search: bool) -> int:
    """Unknowns, outputs and derivatives of one point."""
    n = iw[at.NZ]
    set_point(iw, k)
    z, w = iw[at.Z], iw[at.W]
    parent = begin(iw, k, z)
    if n > 0:
        ended = newton(iw, z, iw[at.WORK]) if search else evaluated(iw, z, iw[at.WORK])
        if ended != at.SOLVED:
            return ended
        signs = part(iw, iw[at.I_SIGN])
        signs[k] = orientation(iw, iw[at.WORK])
        if parent >= 0 and signs[parent] != signs[k]:
            return at.JUMPED
        if iw[at.SENS]:
            differentiate(iw, z, w, iw[at.WORK])
    iw[at.Z] = z
    iw[at.RESULT] = iw[at.ALL_Y] + 8 * iw[at.NY] * k
    iw[at.RESULT + 1] = iw[at.ALL_YS] + 8 * iw[at.NY] * iw[at.M] * k
    call_at(iw, at.OUTPUT)
    return at.SOLVED


def _points(iw: Vector, rw: Vector, t: float, h: float, what: int, unused: int) -> int:
    """Goes through the points in their order; how many failed."""
    order, status = part(iw, iw[at.I_ORDER]), part(iw, iw[at.I_STATUS])
    failed = 0
    for place in range(iw[at.N_ORDER]):
        k = order[place]
        if what == at.SOLVE or what == at.EVALUATE:
            status[k] = solve_point(iw, k, what == at.SOLVE)
            failed += status[k] != at.SOLVED
        else:
            set_point(iw, k)
            if what == at.ASK_MODES:
                iw[at.RESULT] = iw[at.NEW_D] + 8 * iw[at.ND] * k
                call_at(iw, at.MODES)
            elif what == at.ASK_CHECKS:
                iw[at.RESULT] = iw[at.ALL_C] + 8 * iw[at.N_CHECKS] * k
                call_at(iw, at.CHECKS)
            else:
                iw[at.RESULT] = iw[at.ALL_C] + 8 * iw[at.N_LIMITS] * k
                call_at(iw, at.LIMITS)
    return failed


points_unit = Unit(_points)
