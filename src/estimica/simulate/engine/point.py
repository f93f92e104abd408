"""The present point of a run: its derivative, its unknowns, the piece of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import (
    call,
    derivative,
    push,
    set_result,
    settle_unknowns,
)
from estimica.simulate.engine.status import (  # fmt: skip
    ALGEBRAIC,
    CHECK_VIOLATED,
    DONE,
    SINGULAR,
)
from estimica.simulate.engine.units import call_unit, engine_function, part, reals_at  # fmt: skip

Vector = Any


@engine_function
def load_piece(iw: Vector, rw: Vector, start: float, values: Vector, slopes: Vector) -> None:
    """Makes one piece of the inputs the current one."""
    nu = iw[at.NU]
    rw[iw[at.O_BEGIN]] = start
    sloped = 0
    for k in range(nu):
        rw[iw[at.O_VALUE] + k] = values[k]
        rw[iw[at.O_INPUT] + k] = values[k]
        rw[iw[at.O_UDOT] + k] = slopes[k]
        if slopes[k] != 0.0:
            sloped = 1
    iw[at.SLOPED] = sloped


@engine_function
def keep_unknowns(iw: Vector, rw: Vector) -> None:
    """The algebraic unknowns of the last good point, from which Newton starts again."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V_GOOD] + k] = rw[iw[at.O_V] + k]


@engine_function
def restore_unknowns(iw: Vector, rw: Vector) -> None:
    """Back to the last good point after a failed trial."""
    for k in range(iw[at.NZ]):
        rw[iw[at.O_V] + k] = rw[iw[at.O_V_GOOD] + k]


@engine_function
def begin(iw: Vector, rw: Vector, t: float) -> int:
    """The derivative at a point from which a new stretch starts."""
    failed = derivative(iw, rw, t, iw[at.O_W0], iw[at.O_K1], iw[at.M] > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    keep_unknowns(iw, rw)
    return DONE


@engine_function
def blame_derivative(iw: Vector, rw: Vector, t: float) -> bool:
    """Whether a derivative at the present point is not finite; remembers which."""
    k1 = iw[at.O_K1]
    if iw[at.STIFF] and begin(iw, rw, t):
        return False
    for k in range(iw[at.N]):
        if not np.isfinite(rw[k1 + k]):
            iw[at.INDEX] = k if k < iw[at.NX] else (k - iw[at.NX]) // iw[at.M]
            iw[at.TUNER] = -1 if k < iw[at.NX] else (k - iw[at.NX]) % iw[at.M]
            return True
    return False


@engine_function
def swap(iw: Vector, a: int, b: int) -> None:
    """Exchanges two vectors by their offsets."""
    iw[a], iw[b] = iw[b], iw[a]


@engine_function
def enter_piece(iw: Vector, rw: Vector) -> None:
    """Loads the current piece."""
    nu, piece = iw[at.NU], iw[at.PIECE]
    starts = reals_at(iw[at.STARTS])
    values = reals_at(iw[at.VALUES] + 8 * piece * nu)
    load_piece(iw, rw, starts[piece], values, reals_at(iw[at.SLOPES] + 8 * piece * nu))


@engine_function
def take_in(iw: Vector, rw: Vector, t: float) -> int:
    """What the piece of the inputs that has just begun makes of the states, where it does."""
    nx, m, after = iw[at.NX], iw[at.M], iw[at.O_UPDATED]
    failed = settle_unknowns(iw, rw, t, iw[at.O_W0], m > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    head = iw[at.I_TANGENT_UPDATE]
    sparse = iw[head + at.G_ROWS] > 0
    set_result(iw, 0, after)
    set_result(iw, 1, iw[at.O_TANGENT_UPDATE] if sparse else after + nx)
    call(iw, at.UPDATE)
    if sparse:
        push(iw, rw, head, part(rw, iw[at.O_TANGENT_UPDATE]), part(rw, after + nx))
    for k in range(iw[at.N]):
        rw[iw[at.O_W0] + k] = rw[after + k]
    return begin(iw, rw, t)


@engine_function
def check(iw: Vector, rw: Vector, t: float, first: int, last: int) -> int:
    """The first of some checks that fails at the present point, or -1."""
    if settle_unknowns(iw, rw, t, iw[at.O_W0], False):
        return -1
    set_result(iw, 0, iw[at.O_CHECK])
    call(iw, at.CHECK)
    if iw[at.LANES] > 1:
        return call_unit(iw[at.UNIT_LANES], iw, rw, t, 0.0, at.LANE_CHECK, first)
    slack = rw[iw[at.O_SETTING] + at.ATOL_CHECK]
    for k in range(first, last):
        if not rw[iw[at.O_CHECK] + k] >= -slack:
            return k
    return -1


@engine_function
def fulfilled(iw: Vector, rw: Vector) -> int:
    """Whether all that must hold does so at the present point."""
    if iw[at.NE]:
        broken = check(iw, rw, rw[iw[at.O_CLOCK] + at.NOW], 0, iw[at.NE])
        if broken >= 0:
            iw[at.INDEX] = broken
            return CHECK_VIOLATED
    return DONE
