"""The solution within an accepted step: one polynomial of degree four, whichever method made it."""

from __future__ import annotations

from typing import Any

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.dormand_prince import prepare_dense
from estimica.simulate.engine.units import call_unit, engine_function, loop_function, part

Vector = Any


@loop_function
def _interpolate(
    n: int, out: Vector, theta: float, w0: Vector, r2: Vector, r3: Vector, r4: Vector, r5: Vector
) -> None:
    rest = 1.0 - theta
    for i in range(n):
        out[i] = w0[i] + theta * (r2[i] + rest * (r3[i] + theta * (r4[i] + rest * r5[i])))


@engine_function
def dense(iw: Vector, rw: Vector, h: float, theta: float, n: int) -> int:
    """The first n components of [x; S] at a fraction of the step; where they stand comes back."""
    if iw[at.DENSE] < n:
        if iw[at.STIFF]:
            call_unit(iw[at.UNIT_STIFF], iw, rw, 0.0, h, at.STIFF_DENSE, n)
        else:
            prepare_dense(iw, rw, h, n)
    wd = iw[at.O_WD]
    _interpolate(
        n, part(rw, wd), theta, part(rw, iw[at.O_W0]), part(rw, iw[at.O_R2]),
        part(rw, iw[at.O_R3]), part(rw, iw[at.O_R4]), part(rw, iw[at.O_R5]),
    )  # fmt: skip
    return wd
