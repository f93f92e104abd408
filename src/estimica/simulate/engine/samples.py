"""What a run writes down: outputs at the times that were asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine import layout as at
from estimica.simulate.engine.evaluation import call, settle_unknowns
from estimica.simulate.engine.methods import group_steps
from estimica.simulate.engine.methods.dormand_prince import dense
from estimica.simulate.engine.status import (  # fmt: skip
    ALGEBRAIC,
    DONE,
    NOT_FINITE_OUTPUT,
    SINGULAR,
)
from estimica.simulate.engine.units import call_unit, engine_function, reals_at  # fmt: skip

Vector = Any
#: samples of a step up to which it is quicker to add up its stages for each of them: eight vectors
#: are read instead of five, but the polynomial's four are not made, which takes twelve
FEW = 4


@engine_function
def blame_state(iw: Vector, rw: Vector) -> None:
    """Remembers the component with the worst local error."""
    nx, m = iw[at.NX], iw[at.M]
    worst, place = -1.0, 0
    n = iw[at.N] if iw[at.ERROR_TEST] else nx
    for k in range(n):
        size = abs(rw[iw[at.O_E] + k])
        if not np.isfinite(size):
            place = k
            break
        if size > worst:
            worst, place = size, k
    iw[at.INDEX] = place if place < nx else (place - nx) // m
    iw[at.TUNER] = -1 if place < nx else (place - nx) % m


@engine_function
def emit(iw: Vector, rw: Vector, t: float, w: int, k: int) -> int:
    """Writes sample k from the point rw[w ...]."""
    ny, m = iw[at.NY], iw[at.M]
    failed = settle_unknowns(iw, rw, t, w, m > 0)
    if failed:
        return ALGEBRAIC if failed == 1 else SINGULAR
    if iw[at.LANES] > 1:
        return call_unit(iw[at.UNIT_LANES], iw, rw, t, 0.0, at.LANE_EMIT, k)
    place = iw[at.OUT] + 8 * k * ny
    iw[at.RESULT] = place
    iw[at.RESULT + 1] = iw[at.OUT_S] + 8 * k * ny * m
    call(iw, at.OUTPUT)
    iw[at.EMITTED] = k + 1
    row, total = reals_at(place), 0.0
    for j in range(ny):
        total += row[j] * 0.0
    if total == 0.0:
        return DONE
    for j in range(ny):
        if not np.isfinite(row[j]):
            iw[at.INDEX] = j
            break
    return NOT_FINITE_OUTPUT


@engine_function
def emit_within(iw: Vector, rw: Vector, limit: float) -> int:
    """Writes the samples inside the step, before the limit."""
    clock = iw[at.O_CLOCK]
    t, step = rw[clock + at.NOW], rw[clock + at.TAKEN]
    times, n = reals_at(iw[at.TIMES]), iw[at.N_TIMES]
    k = iw[at.SAMPLE]
    together = iw[at.LANES] > 1 and not iw[at.STIFF]
    # a group's polynomial does not pay for fewer points than it takes to set up
    few = k + FEW >= n or times[k + FEW] >= limit
    while k < n and times[k] < limit:
        if together:
            w = group_steps.dense(iw, rw, step, (times[k] - t) / step, few)
        else:
            w = dense(iw, rw, step, (times[k] - t) / step, iw[at.N])
        if iw[at.STIFF]:
            call_unit(iw[at.UNIT_STIFF], iw, rw, times[k], step, at.STIFF_CORRECT, w)
        if iw[at.NC]:
            call_unit(iw[at.UNIT_PROJECTION], iw, rw, times[k], 0.0, w, 0)
        status = emit(iw, rw, times[k], w, k)
        if status:
            iw[at.SAMPLE] = k
            if status == NOT_FINITE_OUTPUT:
                rw[clock + at.NOW] = times[k]
            return status
        k += 1
        iw[at.SINCE] = 0
    iw[at.SAMPLE] = k
    return DONE


@engine_function
def emit_here(iw: Vector, rw: Vector) -> int:
    """Writes the samples that fall on the present time."""
    t = rw[iw[at.O_CLOCK] + at.NOW]
    times, n = reals_at(iw[at.TIMES]), iw[at.N_TIMES]
    while iw[at.SAMPLE] < n and times[iw[at.SAMPLE]] <= t:
        status = emit(iw, rw, times[iw[at.SAMPLE]], iw[at.O_W0], iw[at.SAMPLE])
        if status:
            return status
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
    return DONE
