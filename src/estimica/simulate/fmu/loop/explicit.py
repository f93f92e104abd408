"""Dormand-Prince 5(4) for the states of an FMU and their sensitivities, with dense output.

Coefficients as in `dormand_prince`; here every evaluation is a call of the FMU's own functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.methods.dormand_prince import (  # fmt: skip
    A21,
    A31,
    A32,
    A41,
    A42,
    A43,
    A51,
    A52,
    A53,
    A54,
    A61,
    A62,
    A63,
    A64,
    A65,
    B1,
    B3,
    B4,
    B5,
    B6,
    C2,
    C3,
    C4,
    C5,
    D1,
    D3,
    D4,
    D5,
    D6,
    D7,
    E1,
    E3,
    E4,
    E5,
    E6,
    E7,
)
from estimica.simulate.engine.units import engine_function
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import slope

Vector = Any
#: relative error of central differences with their usual steps: no sensitivity is known better
NOISE = 1e-9


@engine_function
def error_norm(iw: Vector, rw: Vector, w0: int, w1: int, error: int) -> float:
    """The largest root mean square over x and every column of S; 1 is the tolerance."""
    n, rtol, worst = iw[at.N], rw[iw[at.O_SETTING] + at.RTOL], 0.0
    for j in range(1 + iw[at.M]):
        total = 0.0
        scale = 1.0 if j == 0 else 1.0 / rw[iw[at.O_SCALE] + j - 1]
        for i in range(n):
            k = n * j + i
            size = max(abs(rw[w0 + k]), abs(rw[w1 + k]))
            weight = rw[iw[at.O_ATOL] + i] * scale + rtol * size
            if j:
                weight += NOISE * scale * abs(rw[w1 + i])
            total += (rw[error + k] / weight) ** 2
        if n:
            total = np.sqrt(total / n)
        if not total <= worst:  # also where it is not a number
            worst = total
    return worst


@engine_function
def explicit_trial(iw: Vector, rw: Vector, t: float, h: float) -> int:
    """One trial step from W0, K1 to W1, K7, its error in ERR."""
    n, w, s = iw[at.NW], iw[at.O_W0], iw[at.O_WS]
    k1, k2, k3, k4 = iw[at.O_K1], iw[at.O_K2], iw[at.O_K3], iw[at.O_K4]
    k5, k6, k7, w1 = iw[at.O_K5], iw[at.O_K6], iw[at.O_K7], iw[at.O_W1]
    for i in range(n):
        rw[s + i] = rw[w + i] + h * A21 * rw[k1 + i]
    found = slope(iw, rw, t + C2 * h, s, k2)
    if found:
        return found
    for i in range(n):
        rw[s + i] = rw[w + i] + h * (A31 * rw[k1 + i] + A32 * rw[k2 + i])
    found = slope(iw, rw, t + C3 * h, s, k3)
    if found:
        return found
    for i in range(n):
        rw[s + i] = rw[w + i] + h * (A41 * rw[k1 + i] + A42 * rw[k2 + i] + A43 * rw[k3 + i])
    found = slope(iw, rw, t + C4 * h, s, k4)
    if found:
        return found
    for i in range(n):
        rw[s + i] = rw[w + i] + h * (
            A51 * rw[k1 + i] + A52 * rw[k2 + i] + A53 * rw[k3 + i] + A54 * rw[k4 + i]
        )
    found = slope(iw, rw, t + C5 * h, s, k5)
    if found:
        return found
    for i in range(n):
        rw[s + i] = rw[w + i] + h * (
            A61 * rw[k1 + i] + A62 * rw[k2 + i] + A63 * rw[k3 + i] + A64 * rw[k4 + i]
            + A65 * rw[k5 + i]
        )  # fmt: skip
    found = slope(iw, rw, t + h, s, k6)
    if found:
        return found
    for i in range(n):
        rw[w1 + i] = rw[w + i] + h * (
            B1 * rw[k1 + i] + B3 * rw[k3 + i] + B4 * rw[k4 + i] + B5 * rw[k5 + i]
            + B6 * rw[k6 + i]
        )  # fmt: skip
    found = slope(iw, rw, t + h, w1, k7)
    for i in range(n):
        rw[iw[at.O_ERR] + i] = h * (
            E1 * rw[k1 + i] + E3 * rw[k3 + i] + E4 * rw[k4 + i] + E5 * rw[k5 + i]
            + E6 * rw[k6 + i] + E7 * rw[k7 + i]
        )  # fmt: skip
    return found


@engine_function
def explicit_dense(iw: Vector, rw: Vector, h: float) -> None:
    """The coefficients of the interpolating polynomial, to D1 ... D5."""
    w0, w1, k1, k7 = iw[at.O_W0], iw[at.O_W1], iw[at.O_K1], iw[at.O_K7]
    k3, k4, k5, k6 = iw[at.O_K3], iw[at.O_K4], iw[at.O_K5], iw[at.O_K6]
    d1, d2, d3, d4, d5 = iw[at.O_D1], iw[at.O_D2], iw[at.O_D3], iw[at.O_D4], iw[at.O_D5]
    for i in range(iw[at.NW]):
        rise = rw[w1 + i] - rw[w0 + i]
        bend = h * rw[k1 + i] - rise
        rw[d1 + i], rw[d2 + i], rw[d3 + i] = rw[w0 + i], rise, bend
        rw[d4 + i] = rise - h * rw[k7 + i] - bend
        rw[d5 + i] = h * (
            D1 * rw[k1 + i] + D3 * rw[k3 + i] + D4 * rw[k4 + i] + D5 * rw[k5 + i]
            + D6 * rw[k6 + i] + D7 * rw[k7 + i]
        )  # fmt: skip


@engine_function
def interpolated(iw: Vector, rw: Vector, theta: float, n: int) -> int:
    """The first n elements of W at a part theta of the step; the place where they are."""
    out, rest = iw[at.O_WS], 1.0 - theta
    d1, d2, d3, d4, d5 = iw[at.O_D1], iw[at.O_D2], iw[at.O_D3], iw[at.O_D4], iw[at.O_D5]
    for i in range(n):
        rw[out + i] = rw[d1 + i] + theta * (
            rw[d2 + i] + rest * (rw[d3 + i] + theta * (rw[d4 + i] + rest * rw[d5 + i]))
        )
    return out


@engine_function
def explicit_stiffness(iw: Vector, rw: Vector, h: float) -> float:
    """An estimate of h |lambda| from the last two stages, of the states."""
    top, bottom = 0.0, 0.0
    for i in range(iw[at.N]):
        scale = 1.0 / (rw[iw[at.O_ATOL] + i] + abs(rw[iw[at.O_W1] + i]))
        top += ((rw[iw[at.O_K7] + i] - rw[iw[at.O_K6] + i]) * scale) ** 2
        bottom += ((rw[iw[at.O_W1] + i] - rw[iw[at.O_WS] + i]) * scale) ** 2
    return h * np.sqrt(top / bottom) if bottom > 0.0 else 0.0
