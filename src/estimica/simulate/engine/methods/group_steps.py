"""One step of the Dormand-Prince pair for members that step together.

The formulae are those of one member. Only stretches of [x; S] are added up: sensitivities that are
zero whatever happens are not looked at, and what stands in their places does not matter.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.lanes.vectors import add_error
from estimica.simulate.engine.linear_algebra import fill
from estimica.simulate.engine.methods import dormand_prince as pair
from estimica.simulate.engine.methods.dormand_prince import (
    A21,
    A31,
    A32,
    A41,
    A42,
    A43,
    C2,
    C3,
    C4,
    C5,
    E1,
    E3,
    E4,
    E5,
    E6,
    E7,
)  # fmt: skip
from estimica.simulate.engine.units import call_unit, engine_function, part

Vector = Any


@engine_function
def attempt(iw: Vector, rw: Vector, t: float, h: float, sens: bool) -> bool:
    """One trial step from W0, K1 to W1, K7; False where the model cannot be evaluated."""
    stretches, count = part(iw, iw[at.I_STRETCH]), iw[at.N_STRETCH]
    w0, wt, w1, k1, k2 = iw[at.O_W0], iw[at.O_WT], iw[at.O_W1], iw[at.O_K1], iw[at.O_K2]
    k3, k4, k5, k6 = iw[at.O_K3], iw[at.O_K4], iw[at.O_K5], iw[at.O_K6]
    plain = iw[at.SLOPED] + iw[at.NV] == 0 and (iw[at.DIRECT] != 0 or not sens)
    iw[at.DENSE] = 0
    iw[at.EVALUATIONS] += 6
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.sum1(n, part(rw, wt + a), part(rw, w0 + a), h * A21, part(rw, k1 + a))
    if not pair.stage(iw, rw, t + C2 * h, wt, k2, sens, plain):
        return False
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.sum2(n, part(rw, wt + a), part(rw, w0 + a), h * A31, part(rw, k1 + a), h * A32,
                  part(rw, k2 + a))  # fmt: skip
    if not pair.stage(iw, rw, t + C3 * h, wt, k3, sens, plain):
        return False
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.sum3(n, part(rw, wt + a), part(rw, w0 + a), h * A41, part(rw, k1 + a), h * A42,
                  part(rw, k2 + a), h * A43, part(rw, k3 + a))  # fmt: skip
    if not pair.stage(iw, rw, t + C4 * h, wt, k4, sens, plain):
        return False
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.stage5(n, part(rw, wt + a), part(rw, w0 + a), h, part(rw, k1 + a), part(rw, k2 + a),
                    part(rw, k3 + a), part(rw, k4 + a))  # fmt: skip
    if not pair.stage(iw, rw, t + C5 * h, wt, k5, sens, plain):
        return False
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.stage6(n, part(rw, wt + a), part(rw, w0 + a), h, part(rw, k1 + a), part(rw, k2 + a),
                    part(rw, k3 + a), part(rw, k4 + a), part(rw, k5 + a))  # fmt: skip
    if not pair.stage(iw, rw, t + h, wt, k6, sens, plain):
        return False
    for s in range(count):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        pair.result(n, part(rw, w1 + a), part(rw, w0 + a), h, part(rw, k1 + a), part(rw, k3 + a),
                    part(rw, k4 + a), part(rw, k5 + a), part(rw, k6 + a))  # fmt: skip
    return pair.stage(iw, rw, t + h, w1, iw[at.O_K7], sens, plain)


_add_error4, _add_error8 = (add_error(lanes, (E1, E3, E4, E5, E6, E7)) for lanes in (4, 8))


@engine_function
def _add_errors(iw: Vector, rw: Vector, h: float, first: int, n: int, total: int, on: int) -> None:
    """Adds the squared local errors of n doubles of [x; S] from `first` on to those from `total`
    on, which goes on by `on` from number to number."""
    lanes, rtol = iw[at.LANES], rw[iw[at.O_SETTING] + at.RTOL]
    w0, w1, atol, k1 = iw[at.O_W0], iw[at.O_W1], iw[at.O_ATOL], iw[at.O_K1]
    k3, k4, k5, k6, k7 = iw[at.O_K3], iw[at.O_K4], iw[at.O_K5], iw[at.O_K6], iw[at.O_K7]
    if lanes == 8:
        for j in range(first, first + n, 8):
            _add_error8(
                part(rw, total), h, rtol, part(rw, w0 + j), part(rw, w1 + j), part(rw, atol + j),
                part(rw, k1 + j), part(rw, k3 + j), part(rw, k4 + j), part(rw, k5 + j),
                part(rw, k6 + j), part(rw, k7 + j),
            )  # fmt: skip
            total += on
    else:
        for j in range(first, first + n, 4):
            _add_error4(
                part(rw, total), h, rtol, part(rw, w0 + j), part(rw, w1 + j), part(rw, atol + j),
                part(rw, k1 + j), part(rw, k3 + j), part(rw, k4 + j), part(rw, k5 + j),
                part(rw, k6 + j), part(rw, k7 + j),
            )  # fmt: skip
            total += on


@engine_function
def error(iw: Vector, rw: Vector, h: float) -> float:
    """The local error of the worst member, of its states or of its worst tuner."""
    lanes, nx, m = iw[at.LANES], iw[at.NX], iw[at.M] * iw[at.ERROR_TEST]
    states, tuners = iw[at.O_LANE_ERROR], iw[at.O_LANE_WORK]
    fill(lanes, part(rw, states), 0.0)
    _add_errors(iw, rw, h, 0, nx, states, 0)
    if m > 0:
        fill(m * lanes, part(rw, tuners), 0.0)
        rows = part(iw, iw[at.I_ROW_STRETCH])
        for s in range(iw[at.N_ROW_STRETCH]):
            first, n, column = nx + rows[3 * s], rows[3 * s + 1], rows[3 * s + 2]
            _add_errors(iw, rw, h, first, n, tuners + column, lanes)
    call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, 0.0, at.LANE_REPORT, m)
    return rw[iw[at.O_REPORT] + at.R_LANES]


@engine_function
def dense(iw: Vector, rw: Vector, h: float, theta: float, few: bool) -> int:
    """[x; S] at a fraction of an explicit step; where they stand comes back. `few`: of few points
    of the step, for which its polynomial would be more work than it saves."""
    stretches, wd = part(iw, iw[at.I_STRETCH]), iw[at.O_WD]
    prepared = few or iw[at.DENSE] >= iw[at.N]
    for s in range(iw[at.N_STRETCH]):
        a, n = stretches[2 * s], stretches[2 * s + 1]
        if few:
            pair.interpolate_at_once(
                n, part(rw, wd + a), theta, h, part(rw, iw[at.O_W0] + a), part(rw, iw[at.O_W1] + a),
                part(rw, iw[at.O_K1] + a), part(rw, iw[at.O_K3] + a), part(rw, iw[at.O_K4] + a),
                part(rw, iw[at.O_K5] + a), part(rw, iw[at.O_K6] + a), part(rw, iw[at.O_K7] + a),
            )  # fmt: skip
            continue
        if not prepared:
            pair.prepare_from(iw, rw, h, a, n)
        pair.interpolate_from(iw, rw, theta, a, n)
    if not prepared:
        iw[at.DENSE] = iw[at.N]
    return wd
