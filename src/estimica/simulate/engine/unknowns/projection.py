"""The projection of states on the constraints between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, set_inputs, set_result, settle_unknowns
from estimica.simulate.engine.linear_algebra import factor, solve
from estimica.simulate.engine.units import Unit, engine_function, part

Vector = Any
#: rounds of a projection (the point is off by a local error, so that two would do) and the relative
#: move at which it ends, which is rounding; moves of states near zero are compared with
#: PROJECTED_SIZE
PROJECTIONS, PROJECTED, PROJECTED_SIZE = 4, 1e-14, 1e-6


@engine_function
def project(iw: Vector, rw: Vector, t: float, w: int) -> None:
    """Moves x by the least amount onto the constraints, and S onto their linearisation."""
    nx, m = iw[at.NX], iw[at.M]
    if iw[at.CONSTRAINT_NEEDS_Z]:
        settle_unknowns(iw, rw, t, w, False)
    set_inputs(iw, rw, t)
    iw[at.X] = iw[at.BASE] + 8 * w
    iw[at.S] = iw[at.X] + 8 * nx
    x, c = part(rw, w), part(rw, iw[at.O_C])
    for _ in range(PROJECTIONS):
        set_result(iw, 0, iw[at.O_C])
        set_result(iw, 1, iw[at.O_CX])
        call(iw, at.CONSTRAINT)
        if least_move(iw, rw, c, 1, x) <= PROJECTED:
            break
    if m:
        sens = part(rw, iw[at.O_CS])
        set_result(iw, 0, iw[at.O_CS])
        call(iw, at.CONSTRAINT_SENS)
        least_move(iw, rw, sens, m, part(rw, w + nx))


@engine_function
def least_move(iw: Vector, rw: Vector, c: Vector, m: int, x: Vector) -> float:
    """x -= C^T (C C^T)^-1 c for all columns; comes back with the largest relative move."""
    nx, nc = iw[at.NX], iw[at.NC]
    jacobian, gram = part(rw, iw[at.O_CX]), part(rw, iw[at.O_CC])
    pivot = part(iw, iw[at.I_PIVOT])
    for i in range(nc):
        for j in range(nc):
            total = 0.0
            for k in range(nx):
                total += jacobian[i * nx + k] * jacobian[j * nx + k]
            gram[i * nc + j] = total
    # a diagonal larger by rounding keeps repeated constraints solvable, and empty ones
    for i in range(nc):
        gram[i * nc + i] = gram[i * nc + i] * (1.0 + 1e-13) + 1e-300
    if factor(gram, pivot, nc):
        return 0.0
    solve(gram, pivot, nc, c, m)
    size = 0.0
    for k in range(nx):
        for j in range(m):
            move = 0.0
            for i in range(nc):
                move += jacobian[i * nx + k] * c[i * m + j]
            if np.isfinite(move):
                x[k * m + j] -= move
                size = max(size, abs(move) / (abs(x[k * m + j]) + PROJECTED_SIZE))
    return size


def _projection(iw: Vector, rw: Vector, t: float, h: float, w: int, unused: int) -> int:
    project(iw, rw, t, w)
    return 0


projection_unit = Unit(_projection)
