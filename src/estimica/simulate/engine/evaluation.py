"""One evaluation of the model at a point: inputs, algebraic unknowns, derivatives, outputs."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.linear_algebra import add_entries, add_product, fill
from estimica.simulate.engine.units import (
    address,
    call_model,
    call_unit,
    engine_function,
    part,
    reals_at,
)

Vector = Any


@engine_function
def call(iw: Vector, function: int) -> None:
    """Calls a model function with the current tables."""
    base = address(iw)
    call_model(iw[function], base, base + 8 * at.RESULT)


@engine_function
def set_result(iw: Vector, place: int, offset: int) -> None:
    """Result number `place` of the next call goes to rw[offset ...]."""
    iw[at.RESULT + place] = iw[at.BASE] + 8 * offset


@engine_function
def set_inputs(iw: Vector, rw: Vector, t: float) -> None:
    """The inputs at a time of the current piece."""
    rw[iw[at.O_TIME]] = t
    if iw[at.SLOPED]:
        u, value, slope = iw[at.O_INPUT], iw[at.O_VALUE], iw[at.O_UDOT]
        since = t - rw[iw[at.O_BEGIN]]
        for k in range(iw[at.NU]):
            rw[u + k] = rw[value + k] + rw[slope + k] * since


@engine_function
def settle_unknowns(iw: Vector, rw: Vector, t: float, w: int, sens: bool) -> int:
    """Brings inputs, delayed signals and algebraic unknowns to (t, rw[w ...])."""
    set_inputs(iw, rw, t)
    iw[at.X] = iw[at.BASE] + 8 * w
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    if iw[at.NH]:
        call_unit(iw[at.UNIT_HISTORY], iw, rw, t, 0.0, 0, 0)
    if iw[at.NZ]:
        function = at.ALGEBRAIC_SENS if sens else 0
        return call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, function, 0)
    return 0


@engine_function
def derivative(iw: Vector, rw: Vector, t: float, w: int, k: int, sens: bool) -> int:
    """rw[k ...] := the derivative of [x; S] at rw[w ...]; 0, or what failed."""
    failed = settle_unknowns(iw, rw, t, w, sens)
    if failed:
        return failed
    set_result(iw, 0, k)
    if not sens:
        call(iw, at.RHS)
    elif iw[at.DIRECT]:
        set_result(iw, 1, k + iw[at.NX])
        call(iw, at.BOTH)
    else:
        sparse_derivative(iw, rw, w, k)
    return 0


@engine_function
def sparse_derivative(iw: Vector, rw: Vector, w: int, k: int) -> None:
    """f and S' = f_x S + f_v V + f_P seed by products with the nonzeros."""
    nx, m = iw[at.NX], iw[at.M]
    set_result(iw, 1, iw[at.O_FX])
    set_result(iw, 2, iw[at.O_FV])
    set_result(iw, 3, iw[at.O_FP])
    call(iw, at.LINEAR)
    if iw[at.LANES] > 1:
        call_unit(iw[at.UNIT_LANES], iw, rw, 0.0, 0.0, at.LANE_PRODUCTS, k)
        return
    out = part(rw, k + nx)
    fill(nx * m, out, 0.0)
    add_product(iw[at.NNZ_X], part(iw, iw[at.I_FX_ROW]), part(iw, iw[at.I_FX_COL]),
                part(rw, iw[at.O_FX]), part(rw, w + nx), m, out)  # fmt: skip
    add_product(iw[at.NNZ_V], part(iw, iw[at.I_FV_ROW]), part(iw, iw[at.I_FV_COL]),
                part(rw, iw[at.O_FV]), part(rw, iw[at.O_VS]), m, out)  # fmt: skip
    add_entries(iw[at.NNZ_P], part(iw, iw[at.I_FP_ROW]), part(iw, iw[at.I_FP_COL]),
                part(rw, iw[at.O_FP]), m, out)  # fmt: skip


@engine_function
def push(iw: Vector, rw: Vector, head: int, values: Vector, out: Vector) -> None:
    """out := E_x S + E_v V + E_pre S_pre + E_P seed from the nonzeros of a tangent."""
    m, count = iw[at.M], part(iw, head)
    total = count[at.G_X] + count[at.G_V] + count[at.G_PRE] + count[at.G_TUNERS]
    rows = part(count, at.G_FIRST)
    columns = part(rows, total)
    fill(count[at.G_ROWS] * m, out, 0.0)
    k = 0
    add_product(count[at.G_X], rows, columns, values, reals_at(iw[at.S]), m, out)
    k += count[at.G_X]
    add_product(count[at.G_V], part(rows, k), part(columns, k), part(values, k),
                part(rw, iw[at.O_VS]), m, out)  # fmt: skip
    k += count[at.G_V]
    add_product(count[at.G_PRE], part(rows, k), part(columns, k), part(values, k),
                part(rw, iw[at.O_S_PRE]), m, out)  # fmt: skip
    k += count[at.G_PRE]
    add_entries(count[at.G_TUNERS], part(rows, k), part(columns, k), part(values, k), m, out)


@engine_function
def add_moved(iw: Vector, rw: Vector, n: int, rate: Vector, out: Vector) -> None:
    """out += rate dt, where the event moves with the tuners."""
    m, dt = iw[at.M], iw[at.O_DT]
    for i in range(n):
        if rate[i] != 0.0:
            for j in range(m):
                out[i * m + j] += rate[i] * rw[dt + j]
