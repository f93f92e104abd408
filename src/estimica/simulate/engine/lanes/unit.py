"""What the loop asks of a group, where one member alone would be asked something simpler."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.lanes import membership
from estimica.simulate.engine.lanes.delivery import emit
from estimica.simulate.engine.lanes.linear_algebra import add_lane_entries, add_lane_product
from estimica.simulate.engine.linear_algebra import fill
from estimica.simulate.engine.units import Unit, engine_function, part, reals_at

Vector = Any


@engine_function
def _products(iw: Vector, rw: Vector, k: int) -> None:
    """S' = f_x S + f_v V + f_P seed by products with the nonzeros."""
    nx, m, lanes = iw[at.NX], iw[at.M], iw[at.LANES]
    out = part(rw, k + nx)
    fill(nx * m, out, 0.0)
    add_lane_product(lanes, iw[at.NNZ_X], part(iw, iw[at.I_FX_ROW]), part(iw, iw[at.I_FX_COL]),
                     part(rw, iw[at.O_FX]), reals_at(iw[at.S]), m, out)  # fmt: skip
    add_lane_product(lanes, iw[at.NNZ_V], part(iw, iw[at.I_FV_ROW]), part(iw, iw[at.I_FV_COL]),
                     part(rw, iw[at.O_FV]), part(rw, iw[at.O_VS]), m, out)  # fmt: skip
    add_lane_entries(lanes, iw[at.NNZ_P], part(iw, iw[at.I_FP_ROW]), part(iw, iw[at.I_FP_COL]),
                     part(rw, iw[at.O_FP]), m, out)  # fmt: skip


def _lanes(iw: Vector, rw: Vector, t: float, h: float, task: int, argument: int) -> int:
    """One of the tasks at.LANE_..."""
    if task == at.LANE_REPORT:
        membership.report(iw, rw, argument)
    elif task == at.LANE_ERROR:
        membership.measure(iw, rw, argument)
    elif task == at.LANE_RATE:
        membership.rate(iw, rw, h)
    elif task == at.LANE_PRODUCTS:
        _products(iw, rw, argument)
    elif task == at.LANE_EMIT:
        return emit(iw, rw, argument)
    elif task == at.LANE_CHECK:
        return membership.check(iw, rw, argument)
    elif task == at.LANE_REJECT:
        return membership.reject(iw, rw)
    elif task == at.LANE_COLLAPSE:
        return membership.collapse(iw, rw)
    elif task == at.LANE_STIFF:
        return membership.spare_the_others(iw, rw)
    return 0


lanes_unit = Unit(_lanes)
