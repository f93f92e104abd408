"""The damped Newton method of `roots/newton.py` in compiled code: its first attempt, for systems
and blocks of them whose matrices are certainly regular. All else is left to that file."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.linear_algebra import copy, factor, fill, solve
from estimica.simulate.engine.units import address, call_model, engine_function, part, reals_at
from estimica.simulate.roots.newton import (
    ARMIJO,
    EXACT,
    HALVINGS,
    LAST_STEP,
    NOTHING,
    POOR,
    SMALL,
    SOLVED,
    STEPS,
    WORST_CONDITION,
)
from estimica.simulate.starts import layout as at

Vector = Any


@engine_function
def evaluate(iw: Vector, point: int, residual: int, slopes: int) -> None:
    """R and the nonzeros of its Jacobian at a point; all are addresses."""
    iw[at.U], iw[at.RESULT], iw[at.RESULT + 1] = point, residual, slopes
    base = address(iw)
    call_model(iw[at.RESIDUAL], base, base + 8 * at.RESULT)


@engine_function
def true_residuals(iw: Vector, point: int) -> None:
    """E and the sizes of its terms, to W_E and W_SIZE."""
    iw[at.U], iw[at.RESULT], iw[at.RESULT + 1] = point, iw[at.W_E], iw[at.W_SIZE]
    base = address(iw)
    call_model(iw[at.TRUE], base, base + 8 * at.RESULT)


@engine_function
def choose_block(iw: Vector, n: int, rows: int, columns: int) -> None:
    """From now on only these rows and columns count (offsets inside iw)."""
    iw[at.B_N], iw[at.B_ROWS], iw[at.B_COLUMNS] = n, rows, columns
    row_at, column_at = part(iw, iw[at.I_ROW_AT]), part(iw, iw[at.I_COLUMN_AT])
    for k in range(iw[at.N]):
        row_at[k] = column_at[k] = -1
    for k in range(n):
        row_at[iw[rows + k]] = column_at[iw[columns + k]] = k


@engine_function
def is_near_zero(E: float, size: float) -> bool:
    """Whether a true residual is small beside its terms."""
    return bool(abs(E) <= SOLVED * size or (abs(E) <= NOTHING and size >= 0.0))


@engine_function
def holds(iw: Vector, point: int) -> bool:
    """Whether the equations of the block hold as the model states them."""
    true_residuals(iw, point)
    rows, E, size = part(iw, iw[at.B_ROWS]), reals_at(iw[at.W_E]), reals_at(iw[at.W_SIZE])
    off = 0
    for k in range(iw[at.B_N]):
        off += 0 if is_near_zero(E[rows[k]], size[rows[k]]) else 1
    return off == 0


@engine_function
def is_finite(iw: Vector, residual: int) -> bool:
    """Whether the residuals of the block are."""
    rows, R = part(iw, iw[at.B_ROWS]), reals_at(residual)
    total = 0.0
    for k in range(iw[at.B_N]):
        total += R[rows[k]] * 0.0  # zero, or no number
    return total == 0.0


@engine_function
def is_small(iw: Vector, residual: int, bound: float) -> bool:
    """Whether the residuals of the block are, beside their scales."""
    rows, R, scale = part(iw, iw[at.B_ROWS]), reals_at(residual), reals_at(iw[at.W_SCALE])
    large = 0
    for k in range(iw[at.B_N]):
        large += 0 if abs(R[rows[k]]) <= bound * scale[k] else 1
    return large == 0


@engine_function
def size_of(iw: Vector, residual: int) -> float:
    """The norm of the residuals of the block beside their scales."""
    rows, R, scale = part(iw, iw[at.B_ROWS]), reals_at(residual), reals_at(iw[at.W_SCALE])
    total = 0.0
    for k in range(iw[at.B_N]):
        total += (R[rows[k]] / scale[k]) ** 2
    return float(np.sqrt(total))


@engine_function
def update_scales(iw: Vector) -> bool:
    """What residuals are compared with grows with their terms; whether all slopes are finite."""
    n, typical, scale = iw[at.B_N], reals_at(iw[at.W_TYPICAL]), reals_at(iw[at.W_SCALE])
    columns, sums = part(iw, iw[at.B_COLUMNS]), reals_at(iw[at.W_ROWS])
    row, column = part(iw, iw[at.I_ROW]), part(iw, iw[at.I_COLUMN])
    row_at, column_at = part(iw, iw[at.I_ROW_AT]), part(iw, iw[at.I_COLUMN_AT])
    point, J = reals_at(iw[at.W_NOW]), reals_at(iw[at.W_J])
    fill(n, sums, 0.0)
    for k in range(n):
        typical[k] = max(typical[k], abs(point[columns[k]]))
    for q in range(iw[at.NNZ]):
        i, j = row_at[row[q]], column_at[column[q]]
        if i >= 0 and j >= 0:
            if not np.isfinite(J[q]):
                return False
            sums[i] += abs(J[q]) * abs(point[column[q]])
            scale[i] = max(scale[i], SMALL * abs(J[q]))
    for k in range(n):
        scale[k] = max(scale[k], sums[k])
    return True


@engine_function
def factorise(iw: Vector, slopes: int) -> bool:
    """LU of the block with unknowns and equations in their own sizes; whether its condition is
    certainly good enough: the bound is the product of the Frobenius norms of matrix and inverse."""
    n, A, J = iw[at.B_N], reals_at(iw[at.W_MATRIX]), reals_at(slopes)
    typical, rows = reals_at(iw[at.W_TYPICAL]), reals_at(iw[at.W_ROWS])
    row, column = part(iw, iw[at.I_ROW]), part(iw, iw[at.I_COLUMN])
    row_at, column_at = part(iw, iw[at.I_ROW_AT]), part(iw, iw[at.I_COLUMN_AT])
    fill(n * n, A, 0.0)
    fill(n, rows, 0.0)
    for q in range(iw[at.NNZ]):
        i, j = row_at[row[q]], column_at[column[q]]
        if i >= 0 and j >= 0:
            rows[i] += abs(J[q]) * typical[j]
            A[i * n + j] = J[q] * typical[j]
    norm = 0.0
    for i in range(n):
        if not rows[i] > 0.0:
            return False
        for j in range(n):
            A[i * n + j] /= rows[i]
            norm += A[i * n + j] ** 2
    if not np.isfinite(norm) or factor(A, part(iw, iw[at.I_PIVOT]), n):
        return False
    inverse, other = reals_at(iw[at.W_INVERSE]), 0.0
    fill(n * n, inverse, 0.0)
    for i in range(n):
        inverse[i * n + i] = 1.0
    solve(A, part(iw, iw[at.I_PIVOT]), n, inverse, n)
    for k in range(n * n):
        other += inverse[k] ** 2
    return bool(np.sqrt(norm) * np.sqrt(other) < WORST_CONDITION)


@engine_function
def relative_step(iw: Vector, residual: int, out: int) -> float:
    """The step in the unknowns' own sizes, to `out`; its length."""
    n, rows, R, step = iw[at.B_N], part(iw, iw[at.B_ROWS]), reals_at(residual), reals_at(out)
    sizes, total = reals_at(iw[at.W_ROWS]), 0.0
    for k in range(n):
        step[k] = -(R[rows[k]] / sizes[k])
    solve(reals_at(iw[at.W_MATRIX]), part(iw, iw[at.I_PIVOT]), n, step, 1)
    for k in range(n):
        total += step[k] ** 2
    return float(np.sqrt(total))


@engine_function
def set_trial(iw: Vector, damping: float) -> None:
    """W_TRIAL := the point a part of the step away."""
    now, trial, step = (
        reals_at(iw[at.W_NOW]),
        reals_at(iw[at.W_TRIAL]),
        reals_at(iw[at.W_STEP]),
    )
    columns = part(iw, iw[at.B_COLUMNS])
    copy(iw[at.N], trial, now)
    for k in range(iw[at.B_N]):
        trial[columns[k]] = now[columns[k]] + damping * step[k]


@engine_function
def take_step(iw: Vector) -> float:
    """Halves the step until the residual falls, or the step that is left to go, and moves there;
    how far relative to the unknowns, or -1 where neither ever falls."""
    n, step, typical = iw[at.B_N], reals_at(iw[at.W_STEP]), reals_at(iw[at.W_TYPICAL])
    way = relative_step(iw, iw[at.W_R], iw[at.W_STEP])
    for k in range(n):
        step[k] *= typical[k]
    size, damping, left, fallen = size_of(iw, iw[at.W_R]), 1.0, 0.0, False
    for _ in range(HALVINGS):
        set_trial(iw, damping)
        evaluate(iw, iw[at.W_TRIAL], iw[at.W_R_TRIAL], iw[at.W_J_TRIAL])
        left = size_of(iw, iw[at.W_R_TRIAL])
        if left <= (1.0 - ARMIJO * damping) * size:
            fallen = True
        elif is_finite(iw, iw[at.W_R_TRIAL]):
            to_go = relative_step(iw, iw[at.W_R_TRIAL], iw[at.W_WAY])
            fallen = to_go <= (1.0 - damping / 4.0) * way
        if fallen:
            break
        damping *= 0.5
    if not fallen:
        return -1.0
    if left > POOR * size:
        set_trial(iw, 0.5 * damping)
        evaluate(iw, iw[at.W_TRIAL], iw[at.W_R_HALF], iw[at.W_J_HALF])
        if size_of(iw, iw[at.W_R_HALF]) < left:
            damping *= 0.5
            copy(iw[at.N], reals_at(iw[at.W_R_TRIAL]), reals_at(iw[at.W_R_HALF]))
            copy(iw[at.NNZ], reals_at(iw[at.W_J_TRIAL]), reals_at(iw[at.W_J_HALF]))
    set_trial(iw, damping)
    return move(iw, damping)


@engine_function
def move(iw: Vector, damping: float) -> float:
    """What was tried is where we are; how far that was, relative to the unknowns."""
    now, trial, step = (
        reals_at(iw[at.W_NOW]),
        reals_at(iw[at.W_TRIAL]),
        reals_at(iw[at.W_STEP]),
    )
    columns, length = part(iw, iw[at.B_COLUMNS]), 0.0
    for k in range(iw[at.B_N]):
        j = columns[k]
        length = max(length, abs(damping * step[k]) / (1e-300 + abs(trial[j]) + abs(now[j])))
        now[j] = trial[j]
    copy(iw[at.N], reals_at(iw[at.W_R]), reals_at(iw[at.W_R_TRIAL]))
    copy(iw[at.NNZ], reals_at(iw[at.W_J]), reals_at(iw[at.W_J_TRIAL]))
    return length


@engine_function
def has_ended(iw: Vector, checked: bool) -> bool:
    """Whether W_NOW counts as a solution of the block."""
    return bool(is_small(iw, iw[at.W_R], SOLVED) and (not checked or holds(iw, iw[at.W_NOW])))


@engine_function
def newton(iw: Vector, checked: bool) -> bool:
    """The root of the block near W_NOW, put there; whether it was found without a doubt. Where that
    is not `checked`, the equations may hold only as they are written here."""
    now, columns = reals_at(iw[at.W_NOW]), part(iw, iw[at.B_COLUMNS])
    typical, scale = reals_at(iw[at.W_TYPICAL]), reals_at(iw[at.W_SCALE])
    evaluate(iw, iw[at.W_NOW], iw[at.W_R], iw[at.W_J])
    if not is_finite(iw, iw[at.W_R]):
        return False
    for k in range(iw[at.B_N]):
        value = abs(now[columns[k]])
        typical[k], scale[k] = 1.0 if value == 0.0 else value, 1e-12
    for _ in range(STEPS):
        if not update_scales(iw):
            return False
        if is_small(iw, iw[at.W_R], EXACT) and (not checked or holds(iw, iw[at.W_NOW])):
            return True
        if not factorise(iw, iw[at.W_J]):
            return False
        length = take_step(iw)
        if length < 0.0 or (length <= LAST_STEP and has_ended(iw, checked)):
            break
    return has_ended(iw, checked)
