"""One step of a stiffly accurate Rosenbrock 5(4) method for states, algebraic unknowns and
sensitivities; one factorisation of M/(h gamma) - F_w serves them all.

F = [f; g] over w = [x; z], M = diag(1, 0). Stage s solves
    (M/(h gamma) - F_w) k_s
        = F(t + alpha_s h, w + sum a_sj k_j) + M sum c_sj k_j / h + gamma_s h F_t,
and its derivative with respect to the tuners, second derivatives of F included. The coefficients
are those of CasADi's `rosenbrock` integrator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_inputs, set_result, settle_unknowns
from estimica.simulate.engine.lanes.linear_algebra import add_lane_entries, add_lane_product
from estimica.simulate.engine.linear_algebra import (
    add,
    add_and_clean,
    copy,
    fill,
)
from estimica.simulate.engine.methods.step_matrix import factorise, solve_stage
from estimica.simulate.engine.units import Unit, engine_function, loop_function, part

Vector = Any

STAGES = 8
#: stages 6 and 7 add the stage before them to the argument of stage 5
A = np.array([
    [0, 0, 0, 0, 0],
    [3.0, 0, 0, 0, 0],
    [2.2625164943195855e00, 4.8957172492036455e-01, 0, 0, 0],
    [1.8207298690090707e00, 4.0238620105337081e-01, 2.2899906791553759e-01, 0, 0],
    [3.0949770951948423e00, 2.3318620904471848e-01, 2.2882530454677346e00,
     -3.0431549865184486e00, 0],
    [1.8075057891143271e00, 2.0382295206887675e00, 4.4375312323485314e00,
     -1.8088576582430580e01, -2.0138808247906564e01],
])  # fmt: skip
ALPHA = np.array([
    0.0, 9.9700213298391438e-01, 4.2650855425315992e-01, 2.8020900352869221e-01,
    7.1092441483116997e-01, 1.0, 1.0, 1.0,
])  # fmt: skip
GAMMA_SUM = np.array([
    3.3233404432797148e-01, -6.6466808865594296e-01, -2.5077940637444629e-01,
    -1.3512171865970571e-01, -2.0990929443423401e-02, 0.0, 0.0, 0.0,
])  # fmt: skip
C = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [-9.0270619312157532e00, 0, 0, 0, 0, 0, 0],
    [-8.8560840994530796e00, -1.7882276209139916e00, 0, 0, 0, 0, 0],
    [-9.0660549343524455e00, -1.7859491524370121e00, -1.6720322375886090e00, 0, 0, 0, 0],
    [4.3063482984545489e00, 2.1398710905230973e00, -6.6811409408378060e00,
     2.0333495199209175e01, 0, 0, 0],
    [5.6716132795043608e00, -6.0091983028643243e00, 5.7821308594141052e-01,
     3.9400706737727639e01, 6.7176510116084671e01, 0, 0],
    [3.0943231619834628e00, -1.0241950938386370e01, -2.0311448845569808e00,
     5.3557473269782115e01, 1.0044521201470502e02, -4.5946077266680447e00, 0],
    [1.1967285645452388e00, -1.3360299428961955e01, -3.9288791627929323e00,
     6.3946513156950708e01, 1.2493956307678002e02, -5.7673811200668839e00,
     -4.7365886307319425e00],
])  # fmt: skip
_DENSE = np.array([  # coefficients of theta, theta^2, theta^3, theta^4 for each stage
    [1.2398977620425454e01, 2.8462483055999557e00, -5.0160855308631840e00, 1.8248972440745515e01,
     9.9521028104763609e-01, -3.1948079372235377e-01, 1.3624786932362027e00,
     -9.9183775150413265e00],
    [-1.5770721017478769e01, -8.8495692925794245e00, 2.0181205420787922e01,
     -3.7604259349766608e01, 3.1489803637406165e01, -2.6608146133556937e-01,
     -1.0023463430505151e01, 4.8487101583714107e01],
    [3.2050574439459090e00, 4.6658773442357573e00, -1.1059080001619666e01, 9.6788385143261788e00,
     -2.7180399610975918e01, -8.6758480849444958e-03, 1.5617830041060826e01,
     -7.0589226163577749e01],
    [1.9741917422217332e00, 3.3756731634324804e00, 3.3149134404345970e-01,
     -8.4121281877356644e00, -2.5443422555384444e01, 1.5942381031428676e00,
     -5.9568453037918774e00, 3.3020502094904970e01],
])  # fmt: skip
#: the same polynomial in the form of dense_output: theta (r2 + (1-theta)(r3 + theta (r4 + ...)))
DENSE = np.stack([
    _DENSE.sum(axis=0), -_DENSE[1:].sum(axis=0), -_DENSE[2] - 2 * _DENSE[3], _DENSE[3],
])  # fmt: skip


@loop_function
def _first(n: int, x: Vector, x0: Vector, a: float, k: Vector, ks: Vector, c: float) -> None:
    """x := x0 + a k, ks := c k."""
    for i in range(n):
        x[i] = x0[i] + a * k[i]
        ks[i] = c * k[i]


@loop_function
def _more(n: int, x: Vector, a: float, k: Vector, ks: Vector, c: float) -> None:
    """x += a k, ks += c k."""
    for i in range(n):
        x[i] += a * k[i]
        ks[i] += c * k[i]


@loop_function
def _multiple(n: int, x: Vector, a: float, k: Vector) -> None:
    """x := a k."""
    for i in range(n):
        x[i] = a * k[i]


@engine_function
def combine(iw: Vector, rw: Vector, s: int, h: float, n: int) -> None:
    """The argument of stage s, and K_s := sum c_sj K_j / h on the rows of states."""
    nw, base = iw[at.NSTIFF] * (1 + iw[at.M]), iw[at.O_SK]
    x, x0, ks = part(rw, iw[at.O_SWT]), part(rw, iw[at.O_SW0]), part(rw, base + s * nw)
    if s == 0:
        copy(n, x, x0)
        fill(n, ks, 0.0)
        return
    whole = s <= 5  # later stages start from the argument of the one before
    if whole:
        _first(n, x, x0, A[s, 0], part(rw, base), ks, C[s, 0] / h)
    else:
        add(n, x, 1.0, part(rw, base + (s - 1) * nw))
        _multiple(n, ks, C[s, 0] / h, part(rw, base))
    for j in range(1, s):
        k = part(rw, base + j * nw)
        if whole:
            _more(n, x, A[s, j], k, ks, C[s, j] / h)
        else:
            add(n, ks, C[s, j] / h, k)


@engine_function
def clear_algebraic(iw: Vector, rw: Vector, k: int, sens: bool) -> None:
    """Rows of algebraic unknowns have no mass."""
    n, nx, m, width = iw[at.NSTIFF], iw[at.NX], iw[at.M], iw[at.LANES]
    order = part(iw, iw[at.I_ORDER])
    for p in range(iw[at.STIFF_SIZE]):
        if order[p] * width >= nx:
            fill(width, part(rw, k + p * width), 0.0)
            if sens:
                fill(m * width, part(rw, k + n + p * m * width), 0.0)


@engine_function
def gather(iw: Vector, rw: Vector, w0: int, w: int, sens: bool) -> None:
    """[x; z] and its sensitivities from rw[w0 ...] to rw[w ...], in the stiff method's order."""
    n, nx, m, width = iw[at.NSTIFF], iw[at.NX], iw[at.M], iw[at.LANES]
    order = part(iw, iw[at.I_ORDER])
    for p in range(iw[at.STIFF_SIZE]):
        q = order[p] * width
        copy(width, part(rw, w + p * width), part(rw, w0 + q if q < nx else iw[at.O_V] + q - nx))
        if sens:
            source = w0 + nx + q * m if q < nx else iw[at.O_VS] + (q - nx) * m
            copy(m * width, part(rw, w + n + p * m * width), part(rw, source))


@engine_function
def scatter(iw: Vector, rw: Vector, source: int, target: int, sens: bool) -> None:
    """The rows of states of a stiff vector back in their own order."""
    n, nx, m, width = iw[at.NSTIFF], iw[at.NX], iw[at.M], iw[at.LANES]
    order = part(iw, iw[at.I_ORDER])
    for p in range(iw[at.STIFF_SIZE]):
        q = order[p] * width
        if q < nx:
            copy(width, part(rw, target + q), part(rw, source + p * width))
            if sens:
                copy(m * width, part(rw, target + nx + q * m), part(rw, source + n + p * m * width))


@engine_function
def point(iw: Vector, rw: Vector, t: float, w: int) -> None:
    """Time, inputs and the stiff vector of the next call."""
    set_inputs(iw, rw, t)
    iw[at.W] = iw[at.BASE] + 8 * w
    iw[at.WS] = iw[at.W] + 8 * iw[at.NSTIFF]


@engine_function
def add_sparse(iw: Vector, rw: Vector, size: int, rows: int, values: int, b: int, out: int) -> None:
    """out += A b for sensitivities."""
    m, nnz = iw[at.M], iw[size]
    add_lane_product(iw[at.LANES], nnz, part(iw, iw[rows]), part(iw, iw[rows + 1]),
                     part(rw, iw[values]), part(rw, b), m, part(rw, out))  # fmt: skip


@engine_function
def add_explicit(iw: Vector, rw: Vector, size: int, rows: int, values: int, out: int) -> None:
    """out += A for sensitivities."""
    m, nnz = iw[at.M], iw[size]
    add_lane_entries(iw[at.LANES], nnz, part(iw, iw[rows]), part(iw, iw[rows + 1]),
                     part(rw, iw[values]), m, part(rw, out))  # fmt: skip


@engine_function
def add_slope(iw: Vector, rw: Vector, k: int, sens: bool) -> None:
    """K_s += F and its sensitivities at the stage's argument."""
    n, m, temporary = iw[at.NSTIFF], iw[at.M], iw[at.O_SC]
    set_result(iw, 0, temporary)
    if sens and iw[at.STIFF_DIRECT]:
        set_result(iw, 1, temporary + n)
        call(iw, at.STIFF_BOTH)
        add(n + n * m, part(rw, k), 1.0, part(rw, temporary))
        return
    set_result(iw, 1, iw[at.O_SJS])
    if not sens or iw[at.STIFF_DIRECT]:
        set_result(iw, 2, temporary + n)
        call(iw, at.STIFF_JACOBIAN)
        add(n, part(rw, k), 1.0, part(rw, temporary))
        return
    set_result(iw, 2, iw[at.O_SJSP])
    set_result(iw, 3, temporary + n)
    call(iw, at.STIFF_LINEAR)
    add(n, part(rw, k), 1.0, part(rw, temporary))
    add_sparse(iw, rw, at.NNZ_J, at.I_J_ROW, at.O_SJS, iw[at.O_SWT] + n, k + n)
    add_explicit(iw, rw, at.NNZ_JP, at.I_JP_ROW, at.O_SJSP, k + n)


@engine_function
def add_second(iw: Vector, rw: Vector, k: int) -> None:
    """K_s += the derivative of F_w k_s + gamma_s h F_t at the start of the step."""
    n, m, temporary = iw[at.NSTIFF], iw[at.M], iw[at.O_SC]
    iw[at.K] = iw[at.BASE] + 8 * k
    if iw[at.STIFF_DIRECT]:
        set_result(iw, 0, temporary)
        call(iw, at.STIFF_SECOND)
        add(n * m, part(rw, k + n), 1.0, part(rw, temporary))
        return
    set_result(iw, 0, iw[at.O_SJ2])
    set_result(iw, 1, iw[at.O_SJ2P])
    call(iw, at.STIFF_SECOND_LINEAR)
    add_sparse(iw, rw, at.NNZ_J2, at.I_J2_ROW, at.O_SJ2, iw[at.O_SW0] + n, k + n)
    add_explicit(iw, rw, at.NNZ_J2P, at.I_J2P_ROW, at.O_SJ2P, k + n)


@engine_function
def stages(iw: Vector, rw: Vector, t: float, h: float, sens: bool) -> None:
    """K_0 ... K_7."""
    n, m = iw[at.NSTIFF], iw[at.M]
    nw = n * (1 + m)
    size = nw if sens else n
    along = iw[at.O_SFT]
    for s in range(STAGES):
        k = iw[at.O_SK] + s * nw
        combine(iw, rw, s, h, size)
        if iw[at.NZ]:
            clear_algebraic(iw, rw, k, sens)
        point(iw, rw, t + ALPHA[s] * h, iw[at.O_SWT])
        add_slope(iw, rw, k, sens)
        move = GAMMA_SUM[s] * h
        if move != 0.0:
            for i in range(n):
                rw[k + i] += move * rw[along + i]
        solve_stage(iw, rw, k, 1)
        if sens:
            rw[iw[at.O_SSTEP]] = move
            point(iw, rw, t, iw[at.O_SW0])
            add_second(iw, rw, k)
            solve_stage(iw, rw, k + n, m)


@engine_function
def attempt(iw: Vector, rw: Vector, t: float, h: float, sens: bool) -> int:
    """One trial step from W0 to W1, its error to E; nonzero where the model cannot be evaluated."""
    n, nx, m = iw[at.NSTIFF], iw[at.NX], iw[at.M]
    iw[at.DENSE] = 0
    if iw[at.NZ]:
        failed = settle_unknowns(iw, rw, t, iw[at.O_W0], sens)
        if failed:
            return failed
    gather(iw, rw, iw[at.O_W0], iw[at.O_SW0], sens)
    point(iw, rw, t, iw[at.O_SW0])
    set_result(iw, 0, iw[at.O_SF])
    set_result(iw, 1, iw[at.O_SJ])
    set_result(iw, 2, iw[at.O_SFT])
    call(iw, at.STIFF_JACOBIAN)
    iw[at.EVALUATIONS] += STAGES
    if factorise(iw, rw, h):
        iw[at.LAST_FAIL], iw[at.INDEX] = 2, 0
        return 2
    stages(iw, rw, t, h, sens)
    last = iw[at.O_SK] + 7 * n * (1 + m)
    size = n * (1 + m) if sens else n
    scatter(iw, rw, last, iw[at.O_E], sens)
    add_and_clean(size, part(rw, iw[at.O_SWT]), part(rw, last))
    scatter(iw, rw, iw[at.O_SWT], iw[at.O_W1], sens)
    order, width = part(iw, iw[at.I_ORDER]), iw[at.LANES]
    for p in range(iw[at.STIFF_SIZE]):
        q = order[p] * width
        if q >= nx:
            copy(width, part(rw, iw[at.O_V] + q - nx), part(rw, iw[at.O_SWT] + p * width))
    return 0


@engine_function
def prepare_dense(iw: Vector, rw: Vector, n: int) -> None:
    """The coefficients R2 ... R5 of the interpolating polynomial for states, or for all."""
    ns, m = iw[at.NSTIFF], iw[at.M]
    sens = n > iw[at.NX]
    size = ns * (1 + m) if sens else ns
    total = part(rw, iw[at.O_SC])
    for power in range(4):
        fill(size, total, 0.0)
        for j in range(STAGES):
            add(size, total, DENSE[power, j], part(rw, iw[at.O_SK] + j * ns * (1 + m)))
        scatter(iw, rw, iw[at.O_SC], iw[at.O_R2 + power], sens)
    iw[at.DENSE] = n


@loop_function
def _subtract_rate(
    n: int, k: Vector, h: float, theta: float, r2: Vector, r3: Vector, r4: Vector, r5: Vector
) -> None:  # fmt: skip
    c3, c4 = 1.0 - 2.0 * theta, theta * (2.0 - 3.0 * theta)
    c5 = 2.0 * theta * (1.0 - theta) * (1.0 - 2.0 * theta)
    for i in range(n):
        k[i] -= (r2[i] + c3 * r3[i] + c4 * r4[i] + c5 * r5[i]) / h


@engine_function
def subtract_rate(iw: Vector, rw: Vector, h: float, theta: float, k: int, sens: bool) -> None:
    """K -= the time derivative of the interpolating polynomial, in the rows of states."""
    n, nx, m, width = iw[at.NSTIFF], iw[at.NX], iw[at.M], iw[at.LANES]
    order = part(iw, iw[at.I_ORDER])
    r2, r3, r4, r5 = iw[at.O_R2], iw[at.O_R3], iw[at.O_R4], iw[at.O_R5]
    for p in range(iw[at.STIFF_SIZE]):
        q = order[p] * width
        if q >= nx:
            continue
        _subtract_rate(width, part(rw, k + p * width), h, theta, part(rw, r2 + q),
                       part(rw, r3 + q), part(rw, r4 + q), part(rw, r5 + q))  # fmt: skip
        if sens:
            row = nx + q * m
            _subtract_rate(m * width, part(rw, k + n + p * m * width), h, theta,
                           part(rw, r2 + row), part(rw, r3 + row), part(rw, r4 + row),
                           part(rw, r5 + row))  # fmt: skip


@engine_function
def correct(iw: Vector, rw: Vector, t: float, h: float, w: int, sens: bool) -> int:
    """One simplified Newton step on the defect of the dense output at rw[w ...].

    The polynomial is inaccurate in components that follow a fast balance; there the defect
    F - w' is large, and the step's own matrix turns it into the missing part.
    """
    n, nx, m = iw[at.NSTIFF], iw[at.NX], iw[at.M]
    clock = iw[at.O_CLOCK]
    theta = (t - rw[clock + at.NOW]) / h
    if iw[at.NZ]:
        failed = settle_unknowns(iw, rw, t, w, sens)
        if failed:
            return failed
    k = iw[at.O_SK]  # the stages have become the polynomial and are free
    size = n * (1 + m) if sens else n
    gather(iw, rw, w, iw[at.O_SWT], sens)
    fill(size, part(rw, k), 0.0)
    point(iw, rw, t, iw[at.O_SWT])
    add_slope(iw, rw, k, sens)
    subtract_rate(iw, rw, h, theta, k, sens)
    if iw[at.NZ]:
        clear_algebraic(iw, rw, k, sens)
    solve_stage(iw, rw, k, 1)
    if sens:
        solve_stage(iw, rw, k + n, m)
    order, width = part(iw, iw[at.I_ORDER]), iw[at.LANES]
    for p in range(iw[at.STIFF_SIZE]):
        q = order[p] * width
        if q < nx:
            add(width, part(rw, w + q), 1.0, part(rw, k + p * width))
            if sens:
                add(m * width, part(rw, w + nx + q * m), 1.0, part(rw, k + n + p * m * width))
    return 0


@loop_function
def _add_sizes(n: int, total: Vector, values: Vector) -> None:
    for i in range(n):
        total[i] += abs(values[i])


@engine_function
def jacobian_norm(iw: Vector, rw: Vector) -> float:
    """The largest row sum of |F_w| at the start of the last step."""
    n, nnz, total, width = iw[at.NSTIFF], iw[at.NNZ_J], iw[at.O_SC], iw[at.LANES]
    for i in range(n):
        rw[total + i] = 0.0
    for q in range(nnz):
        _add_sizes(width, part(rw, total + iw[iw[at.I_J_ROW] + q] * width),
                   part(rw, iw[at.O_SJ] + q * width))  # fmt: skip
    largest = 0.0
    for i in range(n):
        largest = max(largest, rw[total + i])
    return largest


def _stiff(iw: Vector, rw: Vector, t: float, h: float, task: int, argument: int) -> int:
    """One of the tasks at.STIFF_...; the argument is whether S is wanted, or how much."""
    if task == at.STIFF_STEP:
        return attempt(iw, rw, t, h, argument != 0)
    if task == at.STIFF_CORRECT:
        return correct(iw, rw, t, h, argument, iw[at.M] > 0)
    if task == at.STIFF_DENSE:
        prepare_dense(iw, rw, argument)
    else:
        rw[iw[at.O_REPORT] + at.R_NORM] = jacobian_norm(iw, rw)
    return 0


stiff_unit = Unit(_stiff)
