"""One step of implicit Euler for states, algebraic unknowns and sensitivities.

F = [f; g] over w = [x; z], M = diag(1, 0). The step solves M (w₁ − w₀)/h = F(t + h, w₁) by Newton's
method, and its derivative with respect to the tuners, (M/h − F_w) S₁ = M S₀/h + F_p, with the same
matrix. It is of order one and its step is the user's: its use is to show what it does to estimates.
Inputs are those just before the end of the step, so that a step to the next sample sees what was
held since the last one. Between the ends of a step the states run on straight lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result, settle_unknowns
from estimica.simulate.engine.linear_algebra import add, copy, fill
from estimica.simulate.engine.methods.rosenbrock import (
    add_slope,
    gather,
    point,
    scatter,
)
from estimica.simulate.engine.methods.step_matrix import GAMMA, factorise, solve_stage
from estimica.simulate.engine.units import Unit, engine_function, part

Vector = Any
#: Newton's method doubles the digits with each round: 50 (chosen) are more than any start needs
#: from which it converges at all
ROUNDS = 50
#: it ends when the last change was this part of the tolerance; what is left is its square (chosen)
SMALL = 1e-3


@engine_function
def residual(iw: Vector, rw: Vector, t: float, h: float) -> None:
    """K := F − M (w − w₀)/h at the present guess, and F_w."""
    n, nx = iw[at.NSTIFF], iw[at.NX]
    order, k = part(iw, iw[at.I_ORDER]), iw[at.O_SK]
    w, w0 = iw[at.O_SWT], iw[at.O_SW0]
    point(iw, rw, t + h, w)
    set_result(iw, 0, k)
    set_result(iw, 1, iw[at.O_SJ])
    set_result(iw, 2, iw[at.O_SFT])
    call(iw, at.STIFF_JACOBIAN)
    iw[at.EVALUATIONS] += 1
    for p in range(n):
        if order[p] < nx:
            rw[k + p] -= (rw[w + p] - rw[w0 + p]) / h


@engine_function
def change(iw: Vector, rw: Vector, algebraic: bool) -> float:
    """The largest change of a state, or of an algebraic unknown, in units of what is small."""
    n, nx, largest = iw[at.NSTIFF], iw[at.NX], 0.0
    order, k, w = part(iw, iw[at.I_ORDER]), iw[at.O_SK], iw[at.O_SWT]
    rtol = rw[iw[at.O_SETTING] + at.RTOL]
    for p in range(n):
        q = order[p]
        if (q >= nx) == algebraic:
            # 1e-300: an unknown that is zero and stays so has not changed
            least = rw[iw[at.O_ATOL] + q] if q < nx else 1e-300
            size = abs(rw[k + p]) / (SMALL * (rtol * abs(rw[w + p]) + least))
            largest = max(largest, size) if size == size else np.inf
    return largest


@engine_function
def solve_step(iw: Vector, rw: Vector, t: float, h: float) -> bool:
    """Newton's method from the last point; whether it has converged."""
    n = iw[at.NSTIFF]
    last = np.inf
    for r in range(ROUNDS):
        residual(iw, rw, t, h)
        # the matrix of that method is M/(h gamma) - F_w
        if factorise(iw, rw, h / GAMMA):
            return False
        solve_stage(iw, rw, iw[at.O_SK], 1)
        add(n, part(rw, iw[at.O_SWT]), 1.0, part(rw, iw[at.O_SK]))
        iw[at.NEWTON] += 1
        states, others = change(iw, rw, False), change(iw, rw, True)
        if not np.isfinite(states) or not np.isfinite(others):
            return False
        # algebraic unknowns near zero are as exact as rounding allows when they no longer settle
        if states <= 1.0 and (others <= 1.0 or (r > 1 and others >= 0.5 * last)):
            return True
        last = others
    return False


@engine_function
def differentiate(iw: Vector, rw: Vector, t: float, h: float) -> bool:
    """The sensitivities at the end of the step."""
    n, nx, m = iw[at.NSTIFF], iw[at.NX], iw[at.M]
    order, k = part(iw, iw[at.I_ORDER]), iw[at.O_SK]
    w, w0 = iw[at.O_SWT], iw[at.O_SW0]
    residual(iw, rw, t, h)
    if factorise(iw, rw, h / GAMMA):
        return False
    fill(n * m, part(rw, w + n), 0.0)  # so that the slope is F_p alone
    fill(n * (1 + m), part(rw, k), 0.0)
    point(iw, rw, t + h, w)
    add_slope(iw, rw, k, True)
    for p in range(n):
        if order[p] < nx:
            for j in range(m):
                rw[k + n + p * m + j] += rw[w0 + n + p * m + j] / h
    solve_stage(iw, rw, k + n, m)
    copy(n * m, part(rw, w + n), part(rw, k + n))
    return True


@engine_function
def attempt(iw: Vector, rw: Vector, t: float, h: float, sens: bool) -> int:
    """One step from W0 to W1; nonzero where its equations cannot be solved."""
    n, nx = iw[at.NSTIFF], iw[at.NX]
    iw[at.DENSE] = 0
    if iw[at.NZ]:
        failed = settle_unknowns(iw, rw, t, iw[at.O_W0], False)
        if failed:
            return failed
    gather(iw, rw, iw[at.O_W0], iw[at.O_SW0], sens)
    copy(n, part(rw, iw[at.O_SWT]), part(rw, iw[at.O_SW0]))
    if not solve_step(iw, rw, t, h) or (sens and not differentiate(iw, rw, t, h)):
        iw[at.LAST_FAIL], iw[at.INDEX] = 2, 0
        return 2
    scatter(iw, rw, iw[at.O_SWT], iw[at.O_W1], sens)
    order = part(iw, iw[at.I_ORDER])
    for p in range(n):
        if order[p] >= nx:
            rw[iw[at.O_V] + order[p] - nx] = rw[iw[at.O_SWT] + p]
    return 0


@engine_function
def prepare_line(iw: Vector, rw: Vector, n: int) -> None:
    """The straight line between the ends of the step, in the form of dense_output."""
    w0, w1, r2 = iw[at.O_W0], iw[at.O_W1], iw[at.O_R2]
    for k in range(n):
        rw[r2 + k] = rw[w1 + k] - rw[w0 + k]
    for higher in range(1, 4):
        fill(n, part(rw, iw[at.O_R2 + higher]), 0.0)
    iw[at.DENSE] = n


def _euler(iw: Vector, rw: Vector, t: float, h: float, task: int, argument: int) -> int:
    """One of the tasks at.STIFF_...: a step, or its line; nothing is corrected within a step."""
    if task == at.STIFF_STEP:
        return attempt(iw, rw, t, h, argument != 0)
    if task == at.STIFF_DENSE:
        prepare_line(iw, rw, argument)
    return 0


euler_unit = Unit(_euler)
