"""How an event is left: the sensitivities after it, and whether anything has happened at all."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_result
from estimica.simulate.engine.units import engine_function

Vector = Any
#: of a memory: a change that is none. Unknowns are solved anew in each sweep, and their last digits
#: need not come to rest; a thousand roundings leave room for equations of some condition
SOLVED = 1e-13
#: of the run: how far off a surface branches are compared that may meet on it (chosen)
AHEAD = 1e-3


@engine_function
def keep_start(iw: Vector, rw: Vector) -> None:
    """What holds before the event, for `take_leave`."""
    for i in range(iw[at.NX] * (1 + iw[at.M])):
        rw[iw[at.O_W_START] + i] = rw[iw[at.O_W0] + i]
    for i in range(iw[at.ND]):
        rw[iw[at.O_D_START] + i] = rw[iw[at.O_D] + i]


@engine_function
def goes_on(iw: Vector, rw: Vector) -> bool:
    """Whether the event leaves all equations as they were: relations have changed whose branches
    are not taken, as in the law of a friction that sticks.

    They are compared bit by bit, at one point. That they come to the same solution would not do:
    where a body sticks, what is left of its acceleration is rounding. The point lies ahead, off
    the surface, where branches that meet on it differ.
    """
    nx, d, start = iw[at.NX], iw[at.O_D], iw[at.O_D_START]
    for i in range(nx):
        after, gone = rw[iw[at.O_W0] + i], rw[iw[at.O_W_START] + i]
        if not abs(after - gone) <= SOLVED * abs(gone):
            return False
    for i in range(iw[at.ND]):
        silent = i < iw[at.NG] and iw[iw[at.I_SILENT] + i] != 0
        if rw[d + i] != rw[start + i] and not silent:
            return False
    point = iw[at.O_E]
    for i in range(nx):
        onward = AHEAD * rw[iw[at.O_SETTING] + at.SPAN] * rw[iw[at.O_K1] + i]
        rw[point + i] = rw[iw[at.O_W0] + i] + onward
    iw[at.X] = iw[at.BASE] + 8 * point
    evaluate(iw, iw[at.O_FIRED], iw[at.O_G])
    exchange(iw, rw)
    evaluate(iw, iw[at.O_EVENT_X], iw[at.O_G_FIRST])
    exchange(iw, rw)
    iw[at.X] = iw[at.BASE] + 8 * iw[at.O_W0]
    return agree(rw, nx, iw[at.O_FIRED], iw[at.O_EVENT_X]) and agree(
        rw, iw[at.NZ], iw[at.O_G], iw[at.O_G_FIRST]
    )


@engine_function
def agree(rw: Vector, n: int, one: int, other: int) -> bool:
    """Whether two vectors are the same, bit by bit."""
    for i in range(n):  # noqa: SIM110 (Numba knows no all())
        if rw[one + i] != rw[other + i]:
            return False
    return True


@engine_function
def evaluate(iw: Vector, f: int, g: int) -> None:
    """f and g at the point as it stands."""
    set_result(iw, 0, f)
    call(iw, at.RHS)
    if iw[at.NZ]:
        set_result(iw, 0, g)
        set_result(iw, 1, iw[at.O_GZ])
        call(iw, at.ALGEBRAIC)


@engine_function
def exchange(iw: Vector, rw: Vector) -> None:
    """d as it is for d as it was, and back."""
    for i in range(iw[at.ND]):
        now, then = iw[at.O_D] + i, iw[at.O_D_START] + i
        rw[now], rw[then] = rw[then], rw[now]


@engine_function
def take_leave(iw: Vector, rw: Vector) -> None:
    """S after the event: what remains of its total derivative without the new x' dtau.

    Where all goes on as before, S does, too. The detour over the total derivative would not lead
    back to it: the speed of a body that sticks changes its sign by rounding, and dtau is
    arbitrary then, and large.
    """
    nx, m = iw[at.NX], iw[at.M]
    if iw[at.IDLE] and not goes_on(iw, rw):
        iw[at.IDLE] = 0
    if not iw[at.IDLE]:
        shift(iw, rw, -1.0, iw[at.O_K1])
        return
    for i in range(nx, nx * (1 + m)):
        rw[iw[at.O_W0] + i] = rw[iw[at.O_W_START] + i]
    for j in range(m):
        rw[iw[at.O_DT] + j] = 0.0


@engine_function
def shift(iw: Vector, rw: Vector, sign: float, rate: int) -> None:
    """S += sign x' dtau."""
    nx, m, w0 = iw[at.NX], iw[at.M], iw[at.O_W0]
    for i in range(nx):
        for j in range(m):
            rw[w0 + nx + i * m + j] += sign * rw[rate + i] * rw[iw[at.O_DT] + j]
