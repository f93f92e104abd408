"""Who is in the group: errors of every member, and members that leave because of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.lanes.linear_algebra import keep_larger
from estimica.simulate.engine.linear_algebra import fill
from estimica.simulate.engine.units import engine_function, loop_function, part

Vector = Any
#: trials in a row without a number, each a tenth as long as the one before, after which a member
#: leaves (chosen: a step too long for the domain of a function has found its length by then)
LOST = 4
#: a group changes to the stiff method where more than this part of its members needs it; fewer go
#: on alone (chosen: a stiff step costs some five explicit ones)
MINORITY = 0.25
#: a member holds the others up where its error is at least this part of the tolerance and theirs
#: are so small that their steps could be ten times as long (the error is of order five); after so
#: many trials in a row it leaves (chosen: the group has spent more on it than it would alone)
HOLDING, HELD_UP, PATIENCE = 0.1, 1e-6, 200


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
    """The error of every member, from E, of the states and of m tuners."""
    lanes, nx = iw[at.LANES], iw[at.NX]
    _add_rows(lanes, nx // lanes, part(rw, iw[at.O_LANE_ERROR]), part(rw, iw[at.O_E]))
    if m > 0:
        _add_rows(m * lanes, nx // lanes, part(rw, iw[at.O_LANE_WORK]), part(rw, iw[at.O_E] + nx))
    report(iw, rw, m)


@engine_function
def report(iw: Vector, rw: Vector, m: int) -> None:
    """From sums of squares the root of the mean over the states, of the states or of the worst of m
    tuners; the worst of the group is reported, and what is no number wins."""
    lanes, error, total = iw[at.LANES], part(rw, iw[at.O_LANE_ERROR]), iw[at.O_LANE_WORK]
    keep_larger(lanes, m, error, part(rw, total))
    worst, rows = 0.0, max(1, iw[at.NX] // lanes - iw[at.NMEMORY])
    slowest, second = 0, 0.0
    for k in range(lanes):
        error[k] = np.sqrt(error[k] / rows) if rw[iw[at.O_LANE_ALIVE] + k] > 0.0 else 0.0
        if error[k] <= worst:
            second = max(second, error[k])
        else:
            slowest, second, worst = k, worst, error[k]
    rw[iw[at.O_REPORT] + at.R_LANES] = worst
    if iw[at.ALIVE] > 1:
        spare_from(iw, rw, slowest, worst > HOLDING and second < HELD_UP)


@engine_function
def spare_from(iw: Vector, rw: Vector, slowest: int, held_up: bool) -> None:
    """A member that alone has made the steps short for long leaves."""
    held = iw[at.O_LANE_HELD]
    for k in range(iw[at.LANES]):
        if k != slowest or not held_up:
            rw[held + k] = 0.0
    if held_up:
        rw[held + slowest] += 1.0
        if rw[held + slowest] >= PATIENCE:
            leave(iw, rw, slowest)


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


@loop_function
def _add_differences(n: int, rows: int, total: Vector, a: Vector, b: Vector) -> None:
    """total += the sums of columns of (a - b)²."""
    for i in range(rows):
        for j in range(i * n, i * n + n):
            total[j - i * n] += (a[j] - b[j]) ** 2


@engine_function
def _add_changes(iw: Vector, rw: Vector, first: int, n: int) -> None:
    """Adds (k7 - k6)² and (w1 - wt)² of n doubles from `first` on to two sums at LANE_WORK."""
    lanes = iw[at.LANES]
    top, bottom = iw[at.O_LANE_WORK], iw[at.O_LANE_WORK] + lanes
    _add_differences(lanes, n // lanes, part(rw, top), part(rw, iw[at.O_K7] + first),
                     part(rw, iw[at.O_K6] + first))  # fmt: skip
    _add_differences(lanes, n // lanes, part(rw, bottom), part(rw, iw[at.O_W1] + first),
                     part(rw, iw[at.O_WT] + first))  # fmt: skip


@engine_function
def _keep_rates(iw: Vector, rw: Vector) -> None:
    """LANE_RATE := |k7 - k6| / |w1 - wt| from their sums where that is larger; the sums are zero
    again."""
    lanes, rate = iw[at.LANES], iw[at.O_LANE_RATE]
    top, bottom = iw[at.O_LANE_WORK], iw[at.O_LANE_WORK] + lanes
    for k in range(lanes):
        if rw[bottom + k] > 0.0:
            rw[rate + k] = max(rw[rate + k], np.sqrt(rw[top + k] / rw[bottom + k]))
    fill(2 * lanes, part(rw, top), 0.0)


@engine_function
def rate(iw: Vector, rw: Vector, h: float) -> None:
    """|h lambda| of every member, as `dormand_prince.stiffness`; the largest is reported."""
    lanes, nx, rates = iw[at.LANES], iw[at.NX], iw[at.O_LANE_RATE]
    fill(lanes, part(rw, rates), 0.0)
    fill(2 * lanes, part(rw, iw[at.O_LANE_WORK]), 0.0)
    _add_changes(iw, rw, 0, nx)
    _keep_rates(iw, rw)
    if iw[at.ERROR_TEST] and iw[at.M]:
        rows = part(iw, iw[at.I_ROW_STRETCH])
        for s in range(iw[at.N_ROW_STRETCH]):
            _add_changes(iw, rw, nx + rows[3 * s], rows[3 * s + 1])
        _keep_rates(iw, rw)
    worst = 0.0
    for k in range(lanes):
        rw[rates + k] *= h if rw[iw[at.O_LANE_ALIVE] + k] > 0.0 else 0.0
        worst = max(worst, rw[rates + k])
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
