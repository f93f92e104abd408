"""A stiff method for FMUs: ESDIRK of order 4(3) with a Jacobian by columns, and dense output.

C. A. Kennedy, M. H. Carpenter, Additive Runge-Kutta schemes for convection-diffusion-reaction
equations, Appl. Numer. Math. 44 (2003): the implicit part of ARK4(3)6L[2]SA. The states are solved
for first; sensitivities are linear in each stage and use the same factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.units import engine_function
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import rates, slope_of_column
from estimica.simulate.fmu.loop.explicit import NOISE

Vector = Any

# the tableau, its error estimate (weights less embedded weights) and nodes, as printed there
G = 0.25
A31, A32 = 8611 / 62500, -1743 / 31250
A41, A42, A43 = 5012029 / 34652500, -654441 / 2922500, 174375 / 388108
A51, A52 = 15267082809 / 155376265600, -71443401 / 120774400
A53, A54 = 730878875 / 902184768, 2285395 / 8070912
B1, B3, B4, B5 = 82889 / 524892, 15625 / 83664, 69875 / 102672, -2260 / 8211
E1 = B1 - 4586570599 / 29645900160
E3 = B3 - 178811875 / 945068544
E4 = B4 - 814220225 / 1159782912
E5 = B5 + 3700637 / 11593932
E6 = G - 61727 / 225920
C3, C4, C5 = 83 / 250, 31 / 50, 17 / 20
# the interpolant w0 + h (theta p1 + theta^2 p2 + theta^3 p3), p_q = sum of D_iq k_i
D11, D12, D13 = (
    6943876665148 / 7220017795957,
    -54480133 / 30881146,
    6818779379841 / 7100303317025,
)
D31, D32, D33 = (
    7640104374378 / 9702883013639,
    -11436875 / 14766696,
    2173542590792 / 12501825683035,
)
D41, D42, D43 = (
    -20649996744609 / 7521556579894,
    174696575 / 18121608,
    -31592104683404 / 5083833661969,
)
D51, D52, D53 = (
    8854892464581 / 2390941311638,
    -12120380 / 966161,
    61146701046299 / 7138195549469,
)
D61, D62, D63 = (
    -11397109935349 / 6675773540249,
    3843 / 706,
    -17219254887155 / 4939391667607,
)
#: rounds of the simplified Newton iteration of a stage: beyond them a shorter step is cheaper
ROUNDS = 8
#: rounds are wasted where corrections shrink by less than this factor
SLOW = 0.9
#: what an iteration may leave, in tolerances: CONVERGED of it beside a local error of one; a first
#: correction below NOTHING needs no second one to know how it converges. Chosen: below the 0.01 to
#: 0.1 of Hairer, Wanner, Solving ODEs II (1996), IV.8, since sensitivities use the same stages
CONVERGED, NOTHING = 0.003, 1e-4
#: step of the differences for the Jacobian: sqrt(eps), the best of a one-sided difference; states
#: below a thousandth of their nominal value are moved as if they had that
DIFFERENCE, LEAST_SIZE = 1.5e-8, 1e-3


@engine_function
def jacobian(iw: Vector, rw: Vector, t: float) -> int:
    """J, row by row, at W0 by differences of the rates; those in K1 are not exact enough."""
    n, x, j = iw[at.N], iw[at.O_X], iw[at.O_J]
    iw[at.JACOBIANS] += 1
    found = rates(iw, rw, 0, t, iw[at.O_W0], iw[at.O_LOW])
    if found:
        return found
    for k in range(n):
        size = max(abs(rw[iw[at.O_W0] + k]), LEAST_SIZE * rw[iw[at.O_NOMINAL] + k])
        for i in range(n):
            rw[x + i] = rw[iw[at.O_W0] + i]
        rw[x + k] += DIFFERENCE * size
        step = rw[x + k] - rw[iw[at.O_W0] + k]
        found = rates(iw, rw, 0, t, x, iw[at.O_HIGH])
        if found:
            return found
        for i in range(n):
            rw[j + n * i + k] = (rw[iw[at.O_HIGH] + i] - rw[iw[at.O_LOW] + i]) / step
    return at.DONE


@engine_function
def factorise(iw: Vector, rw: Vector, h: float) -> bool:
    """LU of I - h G J with row exchanges; False where it is singular."""
    n, a, p = iw[at.N], iw[at.O_LU], iw[at.I_PIVOT]
    for i in range(n * n):
        rw[a + i] = -h * G * rw[iw[at.O_J] + i]
    for i in range(n):
        rw[a + n * i + i] += 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(rw[a + n * i + k]) > abs(rw[a + n * best + k]):
                best = i
        iw[p + k] = best
        pivot = rw[a + n * best + k]
        if not abs(pivot) > 0.0:
            return False
        if best != k:
            for i in range(n):
                rw[a + n * k + i], rw[a + n * best + i] = rw[a + n * best + i], rw[a + n * k + i]
        for i in range(k + 1, n):
            q = rw[a + n * i + k] / pivot
            rw[a + n * i + k] = q
            if q != 0.0:
                for c in range(k + 1, n):
                    rw[a + n * i + c] -= q * rw[a + n * k + c]
    return True


@engine_function
def solve(iw: Vector, rw: Vector, b: int) -> None:
    """rw[b ...] := (I - h G J)⁻¹ rw[b ...]."""
    n, a, p = iw[at.N], iw[at.O_LU], iw[at.I_PIVOT]
    for k in range(n):
        best = iw[p + k]
        if best != k:
            rw[b + k], rw[b + best] = rw[b + best], rw[b + k]
    for i in range(n):
        for k in range(i):
            rw[b + i] -= rw[a + n * i + k] * rw[b + k]
    for q in range(n):
        i = n - 1 - q
        for k in range(i + 1, n):
            rw[b + i] -= rw[a + n * i + k] * rw[b + k]
        rw[b + i] /= rw[a + n * i + i]


@engine_function
def size_of(iw: Vector, rw: Vector, vector: int, column: int) -> float:
    """The size of a correction of a column of W in tolerances."""
    n, total = iw[at.N], 0.0
    rtol = rw[iw[at.O_SETTING] + at.RTOL]
    scale = 1.0 if column == 0 else 1.0 / rw[iw[at.O_SCALE] + column - 1]
    for i in range(n):
        value = abs(rw[iw[at.O_W0] + n * column + i])
        weight = rw[iw[at.O_ATOL] + i] * scale + rtol * value
        if column:
            weight += NOISE * scale * abs(rw[iw[at.O_W0] + i])
        total += (rw[vector + i] / weight) ** 2
    return np.sqrt(total / n) if n else 0.0


@engine_function
def solve_column(
    iw: Vector, rw: Vector, t: float, h: float, column: int, known: int, k: int
) -> int:
    """One column of a stage: W = known + h G f(W), W to WS, its rate to rw[k ...].

    rw[k ...] holds the guess. DISCARDED where the iteration does not converge.
    """
    n, s, d = iw[at.N], iw[at.O_WS], iw[at.O_RHS]
    first = n * column
    for i in range(n):
        rw[s + first + i] = rw[known + first + i] + h * G * rw[k + first + i]
    before, rate = 0.0, 1.0
    for turn in range(ROUNDS):
        iw[at.NEWTON] += 1
        if column == 0:
            found = rates(iw, rw, 0, t, s, k)
        else:
            found = slope_of_column(iw, rw, t, s, column - 1, k + first)
        if found:
            return found
        for i in range(n):
            e = first + i
            rw[d + i] = rw[known + e] + h * G * rw[k + e] - rw[s + e]
        solve(iw, rw, d)
        size = size_of(iw, rw, d, column)
        if not size < 1e100:  # not a number, or on its way there
            return at.DISCARDED
        for i in range(n):
            rw[s + first + i] += rw[d + i]
        if turn:
            rate = size / before if before > 0.0 else 0.0
            # chosen: below a hundredth of the tolerance it may be noise, which does not shrink
            if rate > SLOW and size > 0.01:
                return at.DISCARDED
        left = size * rate / (1.0 - rate) if rate < SLOW else size
        if left < CONVERGED or size < NOTHING:
            rw[iw[at.O_CLOCK] + at.WORST] = max(
                rw[iw[at.O_CLOCK] + at.WORST], rate if turn else 0.0
            )
            for i in range(n):  # the rate that belongs to W, without the noise of a stiff f
                e = first + i
                rw[k + e] = (rw[s + e] - rw[known + e]) / (h * G)
            return at.DONE
        before = size
    return at.DISCARDED


@engine_function
def solve_stage(iw: Vector, rw: Vector, t: float, h: float, known: int, k: int) -> int:
    """States, then sensitivities of a stage."""
    found = solve_column(iw, rw, t, h, 0, known, k)
    if found or iw[at.M] == 0:
        return found
    found = rates(iw, rw, 0, t, iw[at.O_WS], iw[at.O_HIGH])  # directions are asked for there
    for j in range(iw[at.M]):
        if found == at.DONE:
            found = solve_column(iw, rw, t, h, 1 + j, known, k)
    return found


@engine_function
def stiff_trial(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """One trial step from W0, K1 to W1, K6, its error in ERR; needs K1 = f(W0)."""
    n, w, clock, b = iw[at.NW], iw[at.O_W0], iw[at.O_CLOCK], iw[at.O_ERR]
    k1, k2, k3, k4 = iw[at.O_K1], iw[at.O_K2], iw[at.O_K3], iw[at.O_K4]
    k5, k6, w1, s = iw[at.O_K5], iw[at.O_K6], iw[at.O_W1], iw[at.O_WS]
    if iw[at.JACOBIAN_AGE] != 0:
        found = jacobian(iw, rw, t)
        if found:
            return found
        iw[at.JACOBIAN_AGE], iw[at.HAS_LU], iw[at.FRESH] = 0, 0, 1
    if not iw[at.HAS_LU] or rw[clock + at.LU_STEP] != h:
        if not factorise(iw, rw, h):
            return at.DISCARDED
        iw[at.HAS_LU], rw[clock + at.LU_STEP] = 1, h
    rw[clock + at.WORST] = 0.0
    for i in range(n):
        rw[b + i], rw[k2 + i] = rw[w + i] + h * G * rw[k1 + i], rw[k1 + i]
    found = solve_stage(iw, rw, t + 0.5 * h, h, b, k2)
    if found:
        return found
    for i in range(n):
        rw[b + i] = rw[w + i] + h * (A31 * rw[k1 + i] + A32 * rw[k2 + i])
        rw[k3 + i] = rw[k2 + i]
    found = solve_stage(iw, rw, t + C3 * h, h, b, k3)
    if found:
        return found
    for i in range(n):
        rw[b + i] = rw[w + i] + h * (A41 * rw[k1 + i] + A42 * rw[k2 + i] + A43 * rw[k3 + i])
        rw[k4 + i] = rw[k2 + i]
    found = solve_stage(iw, rw, t + C4 * h, h, b, k4)
    if found:
        return found
    for i in range(n):
        rw[b + i] = rw[w + i] + h * (
            A51 * rw[k1 + i] + A52 * rw[k2 + i] + A53 * rw[k3 + i] + A54 * rw[k4 + i]
        )
        rw[k5 + i] = rw[k4 + i]
    found = solve_stage(iw, rw, t + C5 * h, h, b, k5)
    if found:
        return found
    for i in range(n):
        rw[b + i] = rw[w + i] + h * (
            B1 * rw[k1 + i] + B3 * rw[k3 + i] + B4 * rw[k4 + i] + B5 * rw[k5 + i]
        )
        rw[k6 + i] = rw[k5 + i]
    found = solve_stage(iw, rw, t + h, h, b, k6)
    if found:
        return found
    for i in range(n):
        rw[w1 + i] = rw[s + i]
        rw[b + i] = h * (
            E1 * rw[k1 + i] + E3 * rw[k3 + i] + E4 * rw[k4 + i] + E5 * rw[k5 + i] + E6 * rw[k6 + i]
        )
    return at.DONE


@engine_function
def stiff_dense(iw: Vector, rw: Vector, h: float) -> None:
    """The interpolating polynomial in the form of the explicit method, to D1 ... D5."""
    k1, k3, k4, k5, k6 = iw[at.O_K1], iw[at.O_K3], iw[at.O_K4], iw[at.O_K5], iw[at.O_K6]
    d1, d2, d3, d4, d5 = iw[at.O_D1], iw[at.O_D2], iw[at.O_D3], iw[at.O_D4], iw[at.O_D5]
    for i in range(iw[at.NW]):
        one = D11 * rw[k1 + i] + D31 * rw[k3 + i] + D41 * rw[k4 + i]
        one += D51 * rw[k5 + i] + D61 * rw[k6 + i]
        two = D12 * rw[k1 + i] + D32 * rw[k3 + i] + D42 * rw[k4 + i]
        two += D52 * rw[k5 + i] + D62 * rw[k6 + i]
        rise = rw[iw[at.O_W1] + i] - rw[iw[at.O_W0] + i]
        three = rise - h * (one + two)
        # theta p1 + theta^2 p2 + theta^3 p3 = theta (rise + (1 - theta) (d3 + theta d4))
        rw[d1 + i], rw[d2 + i] = rw[iw[at.O_W0] + i], rise
        rw[d3 + i], rw[d4 + i], rw[d5 + i] = h * one - rise, -three, 0.0
