"""One step of the Dormand-Prince 5(4) pair for states and sensitivities, with dense output.

J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, J. Comp. Appl. Math. 6
(1980); dense output and stiffness test: E. Hairer, S. P. Norsett, G. Wanner, Solving ODEs I (1993).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, derivative
from estimica.simulate.engine.linear_algebra import NEGLIGIBLE, add, fill
from estimica.simulate.engine.units import call_unit, engine_function, loop_function, part

Vector = Any

C2, C3, C4, C5 = 0.2, 0.3, 0.8, 8 / 9
A21 = 0.2
A31, A32 = 3 / 40, 9 / 40
A41, A42, A43 = 44 / 45, -56 / 15, 32 / 9
A51, A52, A53, A54 = 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729
A61, A62, A63, A64, A65 = 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656
B1, B3, B4, B5, B6 = 35 / 384, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84
E1, E3, E4, E5, E6, E7 = 71 / 57600, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40
D1, D3, D4 = -12715105075 / 11282082432, 87487479700 / 32700410799, -10690763975 / 1880347072
D5, D6, D7 = 701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423


@loop_function
def sum1(n: int, y: Vector, w: Vector, a1: float, k1: Vector) -> None:
    """y := w + a1 k1."""
    for i in range(n):
        y[i] = w[i] + a1 * k1[i]


@loop_function
def sum2(n: int, y: Vector, w: Vector, a1: float, k1: Vector, a2: float, k2: Vector) -> None:
    """y := w + a1 k1 + a2 k2."""
    for i in range(n):
        y[i] = w[i] + (a1 * k1[i] + a2 * k2[i])


@loop_function
def sum3(
    n: int,
    y: Vector,
    w: Vector,
    a1: float,
    k1: Vector,
    a2: float,
    k2: Vector,
    a3: float,
    k3: Vector,
) -> None:
    """y := w + a1 k1 + a2 k2 + a3 k3."""
    for i in range(n):
        y[i] = w[i] + (a1 * k1[i] + a2 * k2[i] + a3 * k3[i])


@loop_function
def stage5(
    n: int, y: Vector, w: Vector, h: float, k1: Vector, k2: Vector, k3: Vector, k4: Vector
) -> None:
    """y := where the fifth stage is."""
    for i in range(n):
        y[i] = w[i] + h * (A51 * k1[i] + A52 * k2[i] + A53 * k3[i] + A54 * k4[i])


@loop_function
def stage6(
    n: int,
    y: Vector,
    w: Vector,
    h: float,
    k1: Vector,
    k2: Vector,
    k3: Vector,
    k4: Vector,
    k5: Vector,
) -> None:
    """y := where the sixth stage is."""
    for i in range(n):
        y[i] = w[i] + h * (A61 * k1[i] + A62 * k2[i] + A63 * k3[i] + A64 * k4[i] + A65 * k5[i])


@loop_function
def result(
    n: int,
    y: Vector,
    w: Vector,
    h: float,
    k1: Vector,
    k3: Vector,
    k4: Vector,
    k5: Vector,
    k6: Vector,
) -> None:
    """y := the end of the step."""
    for i in range(n):
        value = w[i] + h * (B1 * k1[i] + B3 * k3[i] + B4 * k4[i] + B5 * k5[i] + B6 * k6[i])
        y[i] = 0.0 if abs(value) < NEGLIGIBLE else value


@engine_function
def stage(iw: Vector, rw: Vector, t: float, w: int, k: int, sens: bool, plain: bool) -> bool:
    """One stage derivative; `plain`: nothing but time and pointers needs to be set."""
    if not plain:
        return derivative(iw, rw, t, w, k, sens) == 0
    rw[iw[at.O_TIME]] = t
    point, result = iw[at.BASE] + 8 * w, iw[at.BASE] + 8 * k
    iw[at.X], iw[at.RESULT] = point, result
    if not sens:
        call(iw, at.RHS)
        return True
    size = 8 * iw[at.NX]
    iw[at.S], iw[at.RESULT + 1] = point + size, result + size
    call(iw, at.BOTH)
    return True


@engine_function
def attempt(iw: Vector, rw: Vector, t: float, h: float, sens: bool) -> bool:
    """One trial step from W0, K1 to W1, K7; False where the model cannot be evaluated."""
    n = iw[at.N] if sens else iw[at.NX]
    wt, k2, k3, k4 = iw[at.O_WT], iw[at.O_K2], iw[at.O_K3], iw[at.O_K4]
    k5, k6, k7, w1 = iw[at.O_K5], iw[at.O_K6], iw[at.O_K7], iw[at.O_W1]
    W0, Wt, W1 = part(rw, iw[at.O_W0]), part(rw, wt), part(rw, w1)
    K1, K2, K3 = part(rw, iw[at.O_K1]), part(rw, k2), part(rw, k3)
    K4, K5, K6 = part(rw, k4), part(rw, k5), part(rw, k6)
    plain = iw[at.SLOPED] + iw[at.NV] == 0 and (iw[at.DIRECT] != 0 or not sens)
    iw[at.DENSE] = 0
    iw[at.EVALUATIONS] += 6
    sum1(n, Wt, W0, h * A21, K1)
    if not stage(iw, rw, t + C2 * h, wt, k2, sens, plain):
        return False
    sum2(n, Wt, W0, h * A31, K1, h * A32, K2)
    if not stage(iw, rw, t + C3 * h, wt, k3, sens, plain):
        return False
    sum3(n, Wt, W0, h * A41, K1, h * A42, K2, h * A43, K3)
    if not stage(iw, rw, t + C4 * h, wt, k4, sens, plain):
        return False
    stage5(n, Wt, W0, h, K1, K2, K3, K4)
    if not stage(iw, rw, t + C5 * h, wt, k5, sens, plain):
        return False
    stage6(n, Wt, W0, h, K1, K2, K3, K4, K5)
    if not stage(iw, rw, t + h, wt, k6, sens, plain):
        return False
    result(n, W1, W0, h, K1, K3, K4, K5, K6)
    return stage(iw, rw, t + h, w1, k7, sens, plain)


@loop_function
def _square(n: int, e: Vector, w0: Vector, w1: Vector, atol: Vector, rtol: float) -> None:
    """e := (e / tolerance)^2."""
    for i in range(n):
        q = e[i] / (atol[i] + rtol * max(abs(w0[i]), abs(w1[i])))
        e[i] = q * q


@engine_function
def square_given_error(iw: Vector, rw: Vector) -> None:
    """E := its elements in units of the tolerance, squared."""
    n = iw[at.N] if iw[at.ERROR_TEST] else iw[at.NX]
    _square(n, part(rw, iw[at.O_E]), part(rw, iw[at.O_W0]), part(rw, iw[at.O_W1]),
            part(rw, iw[at.O_ATOL]), rw[iw[at.O_SETTING] + at.RTOL])  # fmt: skip


@loop_function
def _error(
    n: int, e: Vector, h: float, k1: Vector, k3: Vector, k4: Vector, k5: Vector, k6: Vector,
    k7: Vector,
) -> None:  # fmt: skip
    """e := the difference of the two formulae of the pair."""
    for i in range(n):
        a = E1 * k1[i] + E3 * k3[i] + E4 * k4[i]
        b = E5 * k5[i] + E6 * k6[i] + E7 * k7[i]
        e[i] = h * (a + b)


@engine_function
def square_error(iw: Vector, rw: Vector, h: float) -> None:
    """E := the squared local error in units of the tolerance."""
    n = iw[at.N] if iw[at.ERROR_TEST] else iw[at.NX]
    _error(
        n, part(rw, iw[at.O_E]), h, part(rw, iw[at.O_K1]), part(rw, iw[at.O_K3]),
        part(rw, iw[at.O_K4]), part(rw, iw[at.O_K5]), part(rw, iw[at.O_K6]),
        part(rw, iw[at.O_K7]),
    )  # fmt: skip
    square_given_error(iw, rw)


@loop_function
def _worst_column(m: int, e: Vector, total: Vector, rows: int, worst: float) -> float:
    """The largest sum of a column of a matrix, or `worst`; NaN wins."""
    fill(m, total, 0.0)
    for i in range(rows):
        add(m, total, 1.0, part(e, i * m))
    for j in range(m):
        if not total[j] <= worst:
            worst = total[j]
    return worst


@engine_function
def error_norm(iw: Vector, rw: Vector) -> float:
    """The root of the mean of E over the states, of the states or of the worst tuner; NaN wins."""
    nx, m = iw[at.NX], iw[at.M]
    if iw[at.LANES] > 1:
        call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, 0.0, at.LANE_ERROR, iw[at.ERROR_TEST] * m)
        return rw[iw[at.O_REPORT] + at.R_LANES]
    rows = max(1, nx - iw[at.NMEMORY])
    e = iw[at.O_E]
    worst = 0.0
    for i in range(nx):
        worst += rw[e + i]
    if m > 0 and iw[at.ERROR_TEST]:
        worst = _worst_column(m, part(rw, e + nx), part(rw, iw[at.O_ACC]), nx, worst)
    return np.sqrt(worst / rows)


@loop_function
def _ratio(n: int, k6: Vector, k7: Vector, wt: Vector, w1: Vector) -> float:
    """|k7 - k6| / |w1 - wt|."""
    top, bottom = 0.0, 0.0
    for i in range(n):
        top += (k7[i] - k6[i]) ** 2
        bottom += (w1[i] - wt[i]) ** 2
    return np.sqrt(top / bottom) if bottom > 0.0 else 0.0


@engine_function
def stiffness(iw: Vector, rw: Vector, h: float) -> float:
    """|h lambda| of the dominant eigenvalue, from the last two stages, which share their time; the
    sensitivities have the same eigenvalues and may be the ones that are held back."""
    nx, n = iw[at.NX], iw[at.N]
    if iw[at.LANES] > 1:
        call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, h, at.LANE_RATE, 0)
        return rw[iw[at.O_REPORT] + at.R_LANES]
    k6, k7, wt, w1 = iw[at.O_K6], iw[at.O_K7], iw[at.O_WT], iw[at.O_W1]
    rate = _ratio(nx, part(rw, k6), part(rw, k7), part(rw, wt), part(rw, w1))
    if n > nx and iw[at.ERROR_TEST]:
        rest = n - nx
        other = _ratio(rest, part(rw, k6 + nx), part(rw, k7 + nx), part(rw, wt + nx),
                       part(rw, w1 + nx))  # fmt: skip
        rate = max(rate, other)
    return h * rate


#: a component whose rise over a step differs from the mean of its slopes at both ends by this part
#: of either is not followed by the step. Where it is, an oscillation of frequency w has 0.12 at
#: h w = 1.2 and 0.36 at 2, a decay 0.13 at 2
_TORN = 0.5


@loop_function
def _is_torn(
    n: int, h: float, rtol: float, w0: Vector, w1: Vector, k1: Vector, k7: Vector, atol: Vector
) -> bool:
    for i in range(n):
        rise, first, last = w1[i] - w0[i], h * k1[i], h * k7[i]
        size = max(abs(rise), max(abs(first), abs(last)))
        if abs(rise - 0.5 * (first + last)) > _TORN * size and size > atol[i] + rtol * abs(w1[i]):
            return True
    return False


@engine_function
def is_torn(iw: Vector, rw: Vector, h: float) -> bool:
    """Whether a state goes elsewhere than its derivatives at both ends of the step say, by more
    than the tolerance. At the boundary of stability a step of the explicit method may lead back to
    where it began, or to and fro between two points, although derivatives are large there: errors
    at the tolerance then stay for ever, and flows through small resistances are off by their size.
    """
    return _is_torn(
        iw[at.NX], h, rw[iw[at.O_SETTING] + at.RTOL], part(rw, iw[at.O_W0]), part(rw, iw[at.O_W1]),
        part(rw, iw[at.O_K1]), part(rw, iw[at.O_K7]), part(rw, iw[at.O_ATOL]),
    )  # fmt: skip


@loop_function
def _polynomial(
    n: int, h: float, w0: Vector, w1: Vector, k1: Vector, k3: Vector, k4: Vector, k5: Vector,
    k6: Vector, k7: Vector, r2: Vector, r3: Vector, r4: Vector, r5: Vector,
) -> None:  # fmt: skip
    for i in range(n):
        rise = w1[i] - w0[i]
        bend = h * k1[i] - rise
        r2[i] = rise
        r3[i] = bend
        r4[i] = rise - h * k7[i] - bend
        a = D1 * k1[i] + D3 * k3[i] + D4 * k4[i]
        r5[i] = h * (a + (D5 * k5[i] + D6 * k6[i] + D7 * k7[i]))


@engine_function
def prepare_from(iw: Vector, rw: Vector, h: float, first: int, n: int) -> None:
    """The coefficients R2 ... R5 of the interpolating polynomial for n components from `first`."""
    _polynomial(
        n, h, part(rw, iw[at.O_W0] + first), part(rw, iw[at.O_W1] + first),
        part(rw, iw[at.O_K1] + first), part(rw, iw[at.O_K3] + first),
        part(rw, iw[at.O_K4] + first), part(rw, iw[at.O_K5] + first),
        part(rw, iw[at.O_K6] + first), part(rw, iw[at.O_K7] + first),
        part(rw, iw[at.O_R2] + first), part(rw, iw[at.O_R3] + first),
        part(rw, iw[at.O_R4] + first), part(rw, iw[at.O_R5] + first),
    )  # fmt: skip


@engine_function
def prepare_dense(iw: Vector, rw: Vector, h: float, n: int) -> None:
    """The same for the first n components."""
    prepare_from(iw, rw, h, 0, n)
    iw[at.DENSE] = n


# ----------------------------------------------------------------
# The solution within an accepted step: one polynomial of degree four, whichever method made it.


@loop_function
def _interpolate(
    n: int, out: Vector, theta: float, w0: Vector, r2: Vector, r3: Vector, r4: Vector, r5: Vector
) -> None:
    rest = 1.0 - theta
    for i in range(n):
        out[i] = w0[i] + theta * (r2[i] + rest * (r3[i] + theta * (r4[i] + rest * r5[i])))


@engine_function
def interpolate_from(iw: Vector, rw: Vector, theta: float, first: int, n: int) -> None:
    """WD := the polynomial at a fraction of the step, for n components from `first`."""
    _interpolate(
        n, part(rw, iw[at.O_WD] + first), theta, part(rw, iw[at.O_W0] + first),
        part(rw, iw[at.O_R2] + first), part(rw, iw[at.O_R3] + first),
        part(rw, iw[at.O_R4] + first), part(rw, iw[at.O_R5] + first),
    )  # fmt: skip


@engine_function
def dense(iw: Vector, rw: Vector, h: float, theta: float, n: int) -> int:
    """The first n components of [x; S] at a fraction of the step; where they stand comes back."""
    if iw[at.DENSE] < n:
        if iw[at.STIFF]:
            call_unit(iw[at.UNIT_STIFF], iw, rw, 0.0, h, at.STIFF_DENSE, n)
        else:
            prepare_dense(iw, rw, h, n)
    interpolate_from(iw, rw, theta, 0, n)
    return iw[at.O_WD]


@loop_function
def interpolate_at_once(
    n: int, out: Vector, theta: float, h: float, w0: Vector, w1: Vector, k1: Vector, k3: Vector,
    k4: Vector, k5: Vector, k6: Vector, k7: Vector,
) -> None:  # fmt: skip
    """out := the solution at a fraction of the step, without its polynomial."""
    rest = 1.0 - theta
    both = (theta * rest) ** 2 * h
    rise, first, last = theta**2 * (3.0 - 2.0 * theta), h * theta * rest**2, -h * theta**2 * rest
    c1, c3, c4, c5, c6 = first + both * D1, both * D3, both * D4, both * D5, both * D6
    c7 = last + both * D7
    for i in range(n):
        a = c1 * k1[i] + c3 * k3[i] + c4 * k4[i]
        b = c5 * k5[i] + c6 * k6[i] + c7 * k7[i]
        out[i] = w0[i] + rise * (w1[i] - w0[i]) + (a + b)


#: where the polynomial is compared with the model. The ends of a step may be exact where the way
#: between them is not: both formulae solve the mixing in a tank that is filled, y' = (a - y)/t,
#: without any error. What is wrong in between is a bump, and at a quarter of the step its slope is
#: three times its height.
PROBE = 0.25
#: slopes of the polynomial's parts there
_SLOPE3, _SLOPE4, _SLOPE5 = (
    1.0 - 2.0 * PROBE,
    PROBE * (2.0 - 3.0 * PROBE),
    2.0 * PROBE * (1.0 - PROBE) * (1.0 - 2.0 * PROBE),
)
#: so many tolerances may the defect be: three for the slope, and three for the polynomial's error,
#: which is that much larger than the one at the ends where the step size follows that (chosen)
_MOST_DEFECT = 10.0


@loop_function
def _defect(
    n: int, e: Vector, h: float, k: Vector, r2: Vector, r3: Vector, r4: Vector, r5: Vector
) -> None:
    for i in range(n):
        e[i] = r2[i] + _SLOPE3 * r3[i] + _SLOPE4 * r4[i] + _SLOPE5 * r5[i] - h * k[i]


@engine_function
def error_between(iw: Vector, rw: Vector, t: float, h: float) -> float:
    """How far the states between the ends of a trial step are from the model, 1 being the most
    that is allowed."""
    nx, k2 = iw[at.NX], iw[at.O_K2]  # the second stage is not needed any more
    w = dense(iw, rw, h, PROBE, nx)
    plain = iw[at.SLOPED] + iw[at.NV] == 0
    iw[at.EVALUATIONS] += 1
    if not stage(iw, rw, t + PROBE * h, w, k2, False, plain):
        return np.inf
    E = part(rw, iw[at.O_E])
    _defect(
        nx, E, h, part(rw, k2), part(rw, iw[at.O_R2]), part(rw, iw[at.O_R3]),
        part(rw, iw[at.O_R4]), part(rw, iw[at.O_R5]),
    )  # fmt: skip
    _square(nx, E, part(rw, iw[at.O_W0]), part(rw, iw[at.O_W1]), part(rw, iw[at.O_ATOL]),
            rw[iw[at.O_SETTING] + at.RTOL])  # fmt: skip
    if iw[at.LANES] > 1:
        call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, 0.0, at.LANE_ERROR, 0)
        size = rw[iw[at.O_REPORT] + at.R_LANES]
    else:
        total = 0.0
        for i in range(nx):
            total += E[i]
        size = np.sqrt(total / max(1, nx - iw[at.NMEMORY]))
    if not plain:  # the unknowns are those of the end of the step again
        iw[at.EVALUATIONS] += 1
        if not stage(iw, rw, t + h, iw[at.O_W1], k2, False, plain):
            return np.inf
    return size / _MOST_DEFECT
