"""The run: steps, events and samples, over all pieces of the inputs. One compiled loop for every
model, which calls the model's functions by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate import dormand_prince as explicit
from estimica.simulate import layout as at
from estimica.simulate.calls import Unit, call_unit, engine_function, reals_at, view, wholes_at
from estimica.simulate.evaluation import (
    call, derivative, set_result, settle_unknowns,
)  # fmt: skip
from estimica.simulate.status import (
    ALGEBRAIC, DONE, NOT_FINITE_OUTPUT, NOT_FINITE_START, STEP_TOO_SMALL, TOO_MANY_STEPS,
    CHECK_VIOLATED, SINGULAR, NEEDS_STIFF,
)  # fmt: skip

Vector = Any
EPS = 2.220446049250313e-16


@engine_function
def fail(iw: Vector, rw: Vector, status: int, t: float, h: float) -> int:
    """Notes when and with which step a run ended early."""
    rw[iw[at.O_REPORT] + at.R_TIME], rw[iw[at.O_REPORT] + at.R_STEP] = t, h
    return status


@engine_function
def load_piece(iw: Vector, rw: Vector, start: float, values: Vector, slopes: Vector) -> None:
    """Makes one piece of the inputs the current one."""
    nu = iw[at.NU]
    rw[iw[at.O_BEGIN]] = start
    sloped = 0
    for k in range(nu):
        rw[iw[at.O_VALUE] + k] = values[k]
        rw[iw[at.O_INPUT] + k] = values[k]
        rw[iw[at.O_UDOT] + k] = slopes[k]
        if slopes[k] != 0.0:
            sloped = 1
    iw[at.SLOPED] = sloped


@engine_function
def keep_unknowns(iw: Vector, rw: Vector) -> None:
    """The algebraic unknowns of the last good point, from which Newton starts again."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V_GOOD] + k] = rw[iw[at.O_V] + k]


@engine_function
def restore_unknowns(iw: Vector, rw: Vector) -> None:
    """Back to the last good point after a failed trial."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V] + k] = rw[iw[at.O_V_GOOD] + k]


@engine_function
def begin(iw: Vector, rw: Vector, t: float) -> int:
    """The derivative at a point from which a new stretch starts."""
    failed = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], iw[at.M] > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    keep_unknowns(iw, rw)
    k1 = iw[at.O_K1]
    for k in range(iw[at.N]):
        if not np.isfinite(rw[k1 + k]):
            iw[at.INDEX] = k if k < iw[at.NX] else (k - iw[at.NX]) // iw[at.M]
            iw[at.TUNER] = -1 if k < iw[at.NX] else (k - iw[at.NX]) % iw[at.M]
            return NOT_FINITE_START
    return DONE


@engine_function
def first_step(iw: Vector, rw: Vector, t: float, limit: float) -> float:
    """Hairer's guess of the first step, from the sizes of x, x' and x''."""
    nx = iw[at.NX]
    if nx == 0:
        return limit
    w0, k1, wt, k2 = iw[at.O_W0], iw[at.O_K1], iw[at.O_WT], iw[at.O_K2]
    rtol = rw[iw[at.O_SETTING] + at.RTOL]
    a, b = 0.0, 0.0
    for k in range(nx):
        scale = rw[iw[at.O_ATOL] + k] + rtol * abs(rw[w0 + k])
        a += (rw[w0 + k] / scale) ** 2
        b += (rw[k1 + k] / scale) ** 2
    a, b = np.sqrt(a / nx), np.sqrt(b / nx)
    h = 1e-6 if a < 1e-5 or b < 1e-5 else 0.01 * a / b
    h = min(h, limit)
    for k in range(nx):
        rw[wt + k] = rw[w0 + k] + h * rw[k1 + k]
    if derivative(iw, rw, t + h, wt, k2, False):
        restore_unknowns(iw, rw)
        return h * 1e-3
    c = 0.0
    for k in range(nx):
        scale = rw[iw[at.O_ATOL] + k] + rtol * abs(rw[w0 + k])
        c += ((rw[k2 + k] - rw[k1 + k]) / scale) ** 2
    c = np.sqrt(c / nx) / h
    restore_unknowns(iw, rw)
    if not np.isfinite(c):
        return h * 1e-3
    steep = max(b, c)
    ideal = max(1e-6, h * 1e-3) if steep <= 1e-15 else (0.01 / steep) ** 0.2
    return min(100.0 * h, ideal, limit)


@engine_function
def dense(iw: Vector, rw: Vector, t: float, h: float, time: float, n: int) -> int:
    """The first n components of [x; S] within the accepted step; where they stand comes back."""
    if iw[at.DENSE] < n:
        explicit.prepare_dense(iw, rw, h, n)
    wd = iw[at.O_WD]
    explicit.interpolate(
        view(rw, wd, n), (time - t) / h, view(rw, iw[at.O_W0], n), view(rw, iw[at.O_R2], n),
        view(rw, iw[at.O_R3], n), view(rw, iw[at.O_R4], n), view(rw, iw[at.O_R5], n),
    )  # fmt: skip
    return wd


@engine_function
def emit(iw: Vector, rw: Vector, t: float, w: int, k: int) -> int:
    """Writes sample k from the point rw[w ...]."""
    ny, m = iw[at.NY], iw[at.M]
    failed = settle_unknowns(iw, rw, t, w, m > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    place = iw[at.OUT] + 8 * k * ny
    iw[at.RESULT] = place
    iw[at.RESULT + 1] = iw[at.OUT_S] + 8 * k * ny * m
    call(iw, at.OUTPUT)
    iw[at.EMITTED] = k + 1
    row, total = reals_at(place, ny), 0.0
    for j in range(ny):
        total += row[j] * 0.0
    if total == 0.0:
        return DONE
    for j in range(ny):
        if not np.isfinite(row[j]):
            iw[at.INDEX] = j
            break
    return NOT_FINITE_OUTPUT


@engine_function
def check(iw: Vector, rw: Vector, t: float, w: int) -> int:
    """The first check that fails at the point, or -1."""
    if settle_unknowns(iw, rw, t, w, False):
        return -1
    set_result(iw, 0, iw[at.O_CHECK])
    call(iw, at.CHECK)
    slack = rw[iw[at.O_SETTING] + at.ATOL_CHECK]
    for k in range(iw[at.NK]):
        if not rw[iw[at.O_CHECK] + k] >= -slack:
            return k
    return -1


@engine_function
def blame_state(iw: Vector, rw: Vector) -> None:
    """Remembers the component with the worst local error."""
    nx, m = iw[at.NX], iw[at.M]
    worst, place = -1.0, 0
    n = iw[at.N] if iw[at.ERROR_TEST] else nx
    for k in range(n):
        size = abs(rw[iw[at.O_E] + k])
        if not np.isfinite(size):
            place = k
            break
        if size > worst:
            worst, place = size, k
    iw[at.INDEX] = place if place < nx else (place - nx) // m
    iw[at.TUNER] = -1 if place < nx else (place - nx) % m


@engine_function
def swap(iw: Vector, a: int, b: int) -> None:
    """Exchanges two vectors by their offsets."""
    iw[a], iw[b] = iw[b], iw[a]


def _drive(iw_at: int, rw_at: int, unused_t: float, unused_h: float, a: int, b: int) -> int:
    """A whole run; comes back with a status, everything else is in the arrays."""
    iw, rw = wholes_at(iw_at, 0), reals_at(rw_at, 0)
    times, starts = reals_at(iw[at.TIMES], iw[at.N_TIMES]), reals_at(iw[at.STARTS], iw[at.N_STARTS])
    values, slopes = reals_at(iw[at.VALUES], 0), reals_at(iw[at.SLOPES], 0)
    setting = iw[at.O_SETTING]
    nu, n_times, n_pieces = iw[at.NU], times.size, starts.size
    end, span = rw[setting + at.END], rw[setting + at.SPAN]
    max_step, max_steps = rw[setting + at.MAX_STEP], rw[setting + at.MAX_STEPS]
    sens = iw[at.M] > 0
    t, piece, k = starts[0], 0, 0
    load_piece(iw, rw, t, view(values, 0, nu), view(slopes, 0, nu))
    status = begin(iw, rw, t)
    if status:
        return fail(iw, rw, status, t, 0.0)
    h = rw[setting + at.FIRST_STEP]
    if h <= 0.0:
        h = first_step(iw, rw, t, min(max_step, end - t))
    before, since, stiff_count, calm_count = 1e-4, 0, 0, 0
    while True:
        blur = max(8.0 * EPS * abs(t), 1e-12 * span)
        jumped = False
        while piece + 1 < n_pieces and starts[piece + 1] <= t + blur:
            piece += 1
            jumped = True
        if jumped:
            load_piece(iw, rw, starts[piece], view(values, piece * nu, nu),
                       view(slopes, piece * nu, nu))  # fmt: skip
            status = begin(iw, rw, t)
            if status:
                return fail(iw, rw, status, t, 0.0)
            before, since = 1e-4, 0
        while k < n_times and times[k] <= t:
            status = emit(iw, rw, times[k], iw[at.O_W0], k)
            k += 1
            since = 0
            if status:
                return fail(iw, rw, status, t, h)
        if k == n_times:
            break
        stop = end
        if piece + 1 < n_pieces and starts[piece + 1] < stop:
            stop = starts[piece + 1]
        while True:
            step, last = min(h, max_step), False
            if t + 1.01 * step >= stop:
                step, last = stop - t, True
            ok = explicit.attempt(iw, rw, t, step, sens)
            error = np.inf
            if ok:
                explicit.local_error(iw, rw, step)
                error = explicit.error_norm(iw, rw)
            since += 1
            if error <= 1.0:
                break
            restore_unknowns(iw, rw)
            iw[at.REJECTED] += 1
            if ok:
                iw[at.LAST_FAIL] = 0
            h = step / min(5.0, max(1.1, error**0.2 / 0.9)) if np.isfinite(error) else step * 0.1
            if h < max(4.0 * EPS * abs(t), 1e-30 * span):
                if not ok:
                    return fail(iw, rw, ALGEBRAIC if iw[at.LAST_FAIL] == 1 else SINGULAR, t, h)
                blame_state(iw, rw)
                return fail(iw, rw, STEP_TOO_SMALL, t, h)
            if since > max_steps:
                blame_state(iw, rw)
                return fail(iw, rw, TOO_MANY_STEPS, t, h)
        iw[at.STEPS] += 1
        if since > max_steps:
            blame_state(iw, rw)
            return fail(iw, rw, TOO_MANY_STEPS, t, h)
        factor = max(error, 1e-10) ** 0.17 / before**0.04 / 0.9
        factor = max(0.1, min(5.0, factor))
        before = max(error, 1e-4)
        arrival = stop if last else t + step
        while k < n_times and times[k] < arrival - (blur if last else 0.0):
            w = dense(iw, rw, t, step, times[k], iw[at.N])
            if iw[at.NC]:
                call_unit(iw[at.UNIT_PROJECTION], iw_at, rw_at, times[k], 0.0, w, 0)
            status = emit(iw, rw, times[k], w, k)
            k += 1
            since = 0
            if status:
                return fail(iw, rw, status, times[k - 1], step)
        keep_unknowns(iw, rw)
        swap(iw, at.O_W0, at.O_W1)
        swap(iw, at.O_K1, at.O_K7)
        t, h = arrival, step / factor
        if iw[at.NC]:
            call_unit(iw[at.UNIT_PROJECTION], iw_at, rw_at, t, 0.0, iw[at.O_W0], 0)
            status = begin(iw, rw, t)
            if status:
                return fail(iw, rw, status, t, h)
        if iw[at.NK]:
            broken = check(iw, rw, t, iw[at.O_W0])
            if broken >= 0:
                iw[at.INDEX] = broken
                return fail(iw, rw, CHECK_VIOLATED, t, step)
    rw[iw[at.O_REPORT] + at.R_TIME] = t
    return DONE


drive = Unit(_drive)
