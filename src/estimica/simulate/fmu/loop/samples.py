"""Samples of an FMU: where its instances begin, and its outputs with their sensitivities."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.units import engine_function, reals_at
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import (
    call_instance,
    direction,
    get_group,
    initialise,
    perturbed_states,
    real,
    set_point,
)
from estimica.simulate.fmu.loop.events import iterate
from estimica.simulate.fmu.loop.explicit import interpolated

Vector = Any


@engine_function
def set_absolute_tolerances(iw: Vector, rw: Vector) -> None:
    """Absolute tolerances by the nominal values of the states, where the FMU tells them."""
    n, nominal = iw[at.N], iw[at.O_NOMINAL]
    if n == 0 or iw[at.GET_NOMINALS] == 0:
        return
    if call_instance(iw, at.GET_NOMINALS, 0, real(iw, nominal), n, 0, 0):
        for i in range(n):
            rw[nominal + i] = 1.0
    for i in range(n):
        if rw[nominal + i] > 0.0:
            rw[iw[at.O_ATOL] + i] *= rw[nominal + i]
        else:
            rw[nominal + i] = 1.0


@engine_function
def start_instances(iw: Vector, rw: Vector) -> int:
    """All instances initialised; W0 := the states and their sensitivities at the beginning."""
    n, w, x = iw[at.N], iw[at.O_W0], iw[at.O_X]
    for k in range(iw[at.INSTANCES]):
        found = initialise(iw, rw, k)
        if found == at.DONE:
            found = iterate(iw, rw, k)
        if found == at.DONE and n:
            found = call_instance(iw, at.GET_X, k, real(iw, x), n, 0, 0)
        if found:
            return found
        if k == 0:
            set_absolute_tolerances(iw, rw)
        for i in range(n):
            if iw[iw[at.I_LATE] + i]:
                rw[x + i] = rw[iw[at.O_LATE] + n * k + i]
        for i in range(n):
            if k == 0:
                rw[w + i] = rw[x + i]
            elif k % 2:
                rw[w + n * ((k + 1) // 2) + i] = rw[x + i]
            else:
                s = w + n * (k // 2) + i
                rw[s] = (rw[s] - rw[x + i]) * 0.5 / rw[iw[at.O_DELTA] + k // 2 - 1]
    return at.DONE


@engine_function
def emit(iw: Vector, rw: Vector, t: float, w: int, sample: int) -> int:
    """Writes the outputs and their sensitivities of one sample."""
    ny, m, high, low = iw[at.NY], iw[at.M], iw[at.O_YHIGH], iw[at.O_YLOW]
    y, ys = reals_at(iw[at.Y]), reals_at(iw[at.YS])
    found = set_point(iw, rw, 0, t, w)
    if found == at.DONE:
        found = get_group(iw, rw, 0, at.G_OUTPUTS, high)
    if found:
        return found
    for i in range(ny):
        y[sample * ny + i] = rw[high + i]
        if not np.isfinite(rw[high + i]):
            return at.NOT_FINITE_OUTPUT
    for j in range(m):
        half = 0.5 / rw[iw[at.O_DELTA] + j]
        if iw[iw[at.I_WAY] + j] == at.BY_DIRECTION:
            for i in range(ny):
                rw[high + i], rw[low + i] = 0.0, 0.0
            reals = iw[at.G_OUTPUTS + 1]
            if reals:
                found = direction(iw, rw, w, j, iw[at.G_OUTPUTS], reals, high)
            half = 1.0
        else:
            found = set_point(iw, rw, 1 + 2 * j, t, perturbed_states(iw, rw, w, j, 1.0))
            if found == at.DONE:
                found = get_group(iw, rw, 1 + 2 * j, at.G_OUTPUTS, high)
            if found == at.DONE:
                found = set_point(iw, rw, 2 + 2 * j, t, perturbed_states(iw, rw, w, j, -1.0))
            if found == at.DONE:
                found = get_group(iw, rw, 2 + 2 * j, at.G_OUTPUTS, low)
        if found:
            return found
        for i in range(ny):
            ys[(sample * ny + i) * m + j] = (rw[high + i] - rw[low + i]) * half
        for i in range(iw[at.G_OUTPUTS + 1], ny):  # whole numbers have no derivative
            ys[(sample * ny + i) * m + j] = 0.0
    return at.DONE


@engine_function
def emit_until(iw: Vector, rw: Vector, limit: float) -> int:
    """Writes the samples inside the step, before the limit."""
    clock = iw[at.O_CLOCK]
    t, h, times = rw[clock + at.NOW], rw[clock + at.TAKEN], reals_at(iw[at.TIMES])
    while iw[at.SAMPLE] < iw[at.N_TIMES] and times[iw[at.SAMPLE]] < limit:
        stamp = times[iw[at.SAMPLE]]
        w = interpolated(iw, rw, (stamp - t) / h, iw[at.NW])
        found = emit(iw, rw, stamp, w, iw[at.SAMPLE])
        if found:
            return found
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
    return at.DONE


@engine_function
def emit_here(iw: Vector, rw: Vector) -> int:
    """Writes the samples that fall on the present time."""
    t, times = rw[iw[at.O_CLOCK] + at.NOW], reals_at(iw[at.TIMES])
    while iw[at.SAMPLE] < iw[at.N_TIMES] and times[iw[at.SAMPLE]] <= t:
        found = emit(iw, rw, times[iw[at.SAMPLE]], iw[at.O_W0], iw[at.SAMPLE])
        if found:
            return found
        iw[at.SAMPLE] += 1
        iw[at.SINCE] = 0
    return at.DONE
