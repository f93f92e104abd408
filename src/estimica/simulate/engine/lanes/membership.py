"""Who is in the group: errors of every member, and members that leave because of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.units import engine_function, loop_function, part

Vector = Any
#: trials in a row without a number, each a tenth as long as the one before, after which a member
#: leaves (chosen: a step too long for the domain of a function has found its length by then)
LOST = 4
#: a group changes to the stiff method where more than this part of its members needs it; fewer go
#: on alone (chosen: a stiff step costs some five explicit ones)
MINORITY = 0.25


@engine_function
def leave(iw: Vector, rw: Vector, lane: int) -> None:
    """Takes a member out of the group; where it was the last one, the run is over."""
    if rw[iw[at.O_LANE_ALIVE] + lane] > 0.0:
        rw[iw[at.O_LANE_ALIVE] + lane] = 0.0
        iw[at.ALIVE] -= 1
        if iw[at.ALIVE] == 0:
            iw[at.ABORT] = 1


@loop_function
def _add_rows(n: int, rows: int, total: Vector, values: Vector) -> None:
    """total := the sums of columns."""
    for j in range(n):
        total[j] = values[j]
    for i in range(1, rows):
        for j in range(n):
            total[j] += values[i * n + j]


@engine_function
def measure(iw: Vector, rw: Vector, m: int) -> None:
    """The error of every member, from E: the root of the mean over the states, of the states or of
    the worst of m tuners; the worst of the group is reported, and what is no number wins."""
    width, total = iw[at.LANES], part(rw, iw[at.O_LANE_WORK])
    nx, error = iw[at.NX], part(rw, iw[at.O_LANE_ERROR])
    states = nx // width
    _add_rows(width, states, error, part(rw, iw[at.O_E]))
    if m > 0:
        _add_rows(m * width, states, total, part(rw, iw[at.O_E] + nx))
        for j in range(m):
            for k in range(width):
                if not total[j * width + k] <= error[k]:
                    error[k] = total[j * width + k]
    worst, rows = 0.0, max(1, states - iw[at.NMEMORY])
    for k in range(width):
        error[k] = np.sqrt(error[k] / rows) if rw[iw[at.O_LANE_ALIVE] + k] > 0.0 else 0.0
        if not error[k] <= worst:
            worst = error[k]
    rw[iw[at.O_REPORT] + at.R_LANES] = worst


@engine_function
def reject(iw: Vector, rw: Vector) -> int:
    """Counts trials without a number; whether nobody is left."""
    for k in range(iw[at.LANES]):
        lost = iw[at.O_LANE_LOST] + k
        bad = not np.isfinite(rw[iw[at.O_LANE_ERROR] + k])
        rw[lost] = rw[lost] + 1.0 if bad else 0.0
        if rw[lost] >= LOST:
            leave(iw, rw, k)
            rw[lost] = 0.0
    return 1 if iw[at.ALIVE] == 0 else 0


@engine_function
def collapse(iw: Vector, rw: Vector) -> int:
    """Steps have become too small: who rejected the last one leaves; whether the group has ended,
    since nobody is left or nobody is to blame."""
    before = iw[at.ALIVE]
    for k in range(iw[at.LANES]):
        if not rw[iw[at.O_LANE_ERROR] + k] <= 1.0:
            leave(iw, rw, k)
    return 0 if 0 < iw[at.ALIVE] < before else 1


@engine_function
def rate(iw: Vector, rw: Vector, h: float) -> None:
    """|h lambda| of every member, as `dormand_prince.stiffness`; the largest is reported."""
    width, nx = iw[at.LANES], iw[at.NX]
    k6, k7, wt, w1 = iw[at.O_K6], iw[at.O_K7], iw[at.O_WT], iw[at.O_W1]
    worst = 0.0
    n = iw[at.N] if iw[at.ERROR_TEST] else nx
    for lane in range(width):
        largest = 0.0
        for first, last in ((0, nx), (nx, n)):
            top, bottom = 0.0, 0.0
            for i in range(first + lane, last, width):
                top += (rw[k7 + i] - rw[k6 + i]) ** 2
                bottom += (rw[w1 + i] - rw[wt + i]) ** 2
            if bottom > 0.0:
                largest = max(largest, np.sqrt(top / bottom))
        alive = rw[iw[at.O_LANE_ALIVE] + lane] > 0.0
        rw[iw[at.O_LANE_RATE] + lane] = h * largest if alive else 0.0
        worst = max(worst, rw[iw[at.O_LANE_RATE] + lane])
    rw[iw[at.O_REPORT] + at.R_LANES] = worst


@engine_function
def spare_the_others(iw: Vector, rw: Vector) -> int:
    """Where a minority only is stiff, it leaves; whether that is so."""
    stiff, width = 0, iw[at.LANES]
    for k in range(width):
        if rw[iw[at.O_LANE_RATE] + k] > 1.0:
            stiff += 1
    if stiff == 0 or stiff > MINORITY * iw[at.ALIVE]:
        return 0
    for k in range(width):
        if rw[iw[at.O_LANE_RATE] + k] > 1.0:
            leave(iw, rw, k)
    return 1


@engine_function
def check(iw: Vector, rw: Vector, first: int) -> int:
    """Members for which something does not hold leave: the scalar engine tells what it is, or ends
    their run where it ends."""
    width, slack = iw[at.LANES], rw[iw[at.O_SETTING] + at.ATOL_CHECK]
    last = iw[at.NE] if first == 0 and iw[at.NE] else iw[at.NK]
    for i in range(first, last):
        for k in range(width):
            if not rw[iw[at.O_CHECK] + i * width + k] >= -slack:
                leave(iw, rw, k)
    return -1
