"""What an event makes of states besides its equations, as it begins and after its last round.

A model has nothing of this. The covariance of a filter has: what an event makes of it depends on
the rates before it and on those after it, and all rounds of the iteration lie between them.
"""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import (
    add_moved,
    call,
    derivative,
    push,
    set_result,
    settle_unknowns,
)
from estimica.simulate.engine.events.departure import take_leave
from estimica.simulate.engine.events.location import failure
from estimica.simulate.engine.status import DONE
from estimica.simulate.engine.units import call_unit, engine_function, part
from estimica.simulate.engine.unknowns.algebraic import FAILED

Vector = Any


@engine_function
def settle_total(iw: Vector, rw: Vector, t: float) -> int:
    """The unknowns at the point, with their total derivatives along the moving event time."""
    nz, nh, m = iw[at.NZ], iw[at.NH], iw[at.M]
    code = settle_unknowns(iw, rw, t, iw[at.O_W0], False)
    if code == FAILED and nz:
        # what has switched may have moved the solution far away
        code = call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, 0, at.SEARCH)
    if code or m == 0:
        return code
    for i in range(nh):
        for j in range(m):
            rate = rw[iw[at.O_VDOT] + nz + i]
            rw[iw[at.O_VS] + (nz + i) * m + j] += rate * rw[iw[at.O_DT] + j]
    if nz:
        return call_unit(iw[at.UNIT_ALGEBRAIC], iw, rw, t, 0.0, at.ALGEBRAIC_TOTAL, 0)
    return 0


@engine_function
def pass_on(iw: Vector, rw: Vector, function: int, place: int, head: int) -> bool:
    """What the beginning or the end of an event makes of the states, with total derivatives;
    whether it changes any."""
    nx, m, w0, after = iw[at.NX], iw[at.M], iw[at.O_W0], iw[at.O_UPDATED]
    sparse = iw[head + at.G_ROWS] > 0
    set_result(iw, 0, after)
    set_result(iw, 1, place if sparse else after + nx)
    set_result(iw, 2, iw[at.O_MOVED_EVENT])
    call(iw, function)
    if sparse:
        sens = part(rw, after + nx)
        push(iw, rw, head, part(rw, place), sens)
        add_moved(iw, rw, nx, part(rw, iw[at.O_MOVED_EVENT]), sens)
    changed = False
    for i in range(nx):
        changed |= rw[w0 + i] != rw[after + i]
    for i in range(nx * (1 + m)):
        rw[w0 + i] = rw[after + i]
    return changed


@engine_function
def enter_event(iw: Vector, rw: Vector, t: float) -> None:
    """The states as the event begins, its cause known and all modes as they were.

    Inputs that change at the same instant may have left the unknowns without a solution there; that
    instant does not move.
    """
    cause = iw[at.O_FLAGS] + 2
    if rw[cause] >= 0.0 and settle_total(iw, rw, t):
        rw[cause] = -1.0
        for i in range(iw[at.NZ]):
            rw[iw[at.O_V] + i] = rw[iw[at.O_V_GOOD] + i]
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W0]
    iw[at.S] = iw[at.X] + 8 * iw[at.NX]
    pass_on(iw, rw, at.BEFORE_EVENT, iw[at.O_TANGENT_BEFORE], iw[at.I_TANGENT_BEFORE])
    for i in range(iw[at.NX]):  # from here on, so that an event without effect is seen as one
        rw[iw[at.O_W_START] + i] = rw[iw[at.O_W0] + i]


@engine_function
def leave_event(iw: Vector, rw: Vector, t: float) -> int:
    """The states and their sensitivities after the last round."""
    if iw[at.AFTER_EVENT]:
        code = settle_total(iw, rw, t)
        if code == 0 and pass_on(
            iw, rw, at.AFTER_EVENT, iw[at.O_TANGENT_AFTER], iw[at.I_TANGENT_AFTER]
        ):
            iw[at.JUMPED] = 1
            code = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], False)
        if code:
            return failure(code)
    take_leave(iw, rw)
    return DONE
