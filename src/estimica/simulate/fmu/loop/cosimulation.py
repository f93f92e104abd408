"""The run of an FMU for Co-Simulation: communication steps of a given grid, samples on it.

Over a step an input keeps the value that it has in the middle, which is exact for steps and of
second order for ramps; outputs are read with the inputs of their own time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.engine.units import engine_function, reals_at
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.calls import (
    call_fmi,
    call_fmi_step,
    checked_status,
    get_group,
    initialise,
    instance,
    load_byte,
    load_int,
    read_end,
    set_inputs,
    store_int,
)
from estimica.simulate.fmu.loop.unit import FmuUnit

Vector = Any
#: of a communication step that the FMU discards. Chosen: twenty halvings, a millionth; an FMU that
#: still refuses does not mind the length
SHORTEST = 2.0**-20
LAST_GOOD = 2  # fmi2LastSuccessfulTime
ENDED = 3  # fmi2Terminated


@engine_function
def step_once(iw: Vector, t: float, h: float) -> int:
    """Asks for one step; DISCARDED leaves it to be tried again."""
    memory = iw[at.MEMORY]
    status = call_fmi_step(
        iw[at.DO_STEP], instance(iw, 0), t, h, 1, memory, memory + 4, memory + 8, memory + 24
    )
    found = checked_status(iw, at.DO_STEP, 0, status)
    if found == at.DONE and iw[at.FMI] == 3 and load_byte(memory + 4):
        return at.TERMINATED
    if found == at.DISCARDED and asks_to_end(iw):
        return at.TERMINATED
    return found


@engine_function
def asks_to_end(iw: Vector) -> bool:
    """Whether an FMU of FMI 2 has discarded a step because it wants no further ones."""
    if iw[at.FMI] != 2 or iw[at.TRUTH_STATUS] == 0:
        return False
    memory = iw[at.MEMORY]
    store_int(memory, 0)
    status = call_fmi(iw[at.TRUTH_STATUS], instance(iw, 0), ENDED, memory, 0, 0, 0, 0, 0, 0)
    return status <= 1 and load_int(memory) != 0


@engine_function
def reached(iw: Vector, t: float) -> float:
    """How far a discarded step came."""
    memory = iw[at.MEMORY]
    if iw[at.FMI] == 2:
        if iw[at.REAL_STATUS] == 0:
            return t
        status = call_fmi(
            iw[at.REAL_STATUS], instance(iw, 0), LAST_GOOD, memory + 24, 0, 0, 0, 0, 0, 0
        )
        if status > 1:
            return t
    return reals_at(memory + 24)[0]


@engine_function
def advance(iw: Vector, rw: Vector, t: float, end: float) -> int:
    """From t to `end`, in shorter steps where the FMU discards long ones."""
    memory, whole = iw[at.MEMORY], end - t
    h = whole
    while t < end:
        last = t + h >= end - 1e-12 * whole  # rounding of halved steps must not leave a rest
        step = end - t if last else h
        reals_at(memory + 24)[0] = t
        found = step_once(iw, t, step)
        iw[at.STEPS] += 1
        if found == at.DISCARDED and iw[at.VARIABLE_STEP] and h > SHORTEST * whole:
            good = reached(iw, t)
            if t < good < t + step:
                t = good
            h = 0.5 * step
            iw[at.REJECTED] += 1
            continue
        if found == at.TERMINATED:
            rw[iw[at.O_CLOCK] + at.NOW] = min(max(reached(iw, t), t), t + step)
        if found:
            return found
        t = end if last else t + step
    return at.DONE


@engine_function
def find_piece(iw: Vector, t: float) -> None:
    """Makes the piece of the inputs at t the present one."""
    starts = reals_at(iw[at.STARTS])
    while iw[at.PIECE] + 1 < iw[at.N_STARTS] and starts[iw[at.PIECE] + 1] <= t:
        iw[at.PIECE] += 1


@engine_function
def sample_here(iw: Vector, rw: Vector, t: float) -> int:
    """Writes the samples at t."""
    times, y, ny, high = reals_at(iw[at.TIMES]), reals_at(iw[at.Y]), iw[at.NY], iw[at.O_YHIGH]
    while iw[at.SAMPLE] < iw[at.N_TIMES] and times[iw[at.SAMPLE]] <= t:
        found = set_inputs(iw, rw, 0, t)
        if found == at.DONE:
            found = get_group(iw, rw, 0, at.G_OUTPUTS, high)
        if found:
            return found
        for i in range(ny):
            y[iw[at.SAMPLE] * ny + i] = rw[high + i]
            if not np.isfinite(rw[high + i]):
                return at.NOT_FINITE_OUTPUT
        iw[at.SAMPLE] += 1
    return at.DONE


@engine_function
def run_on(iw: Vector, rw: Vector) -> int:
    """From the beginning to the last sample; how it ended comes back."""
    grid, clock = reals_at(iw[at.GRID]), iw[at.O_CLOCK]
    rw[clock + at.NOW] = grid[0]
    find_piece(iw, grid[0])
    found = initialise(iw, rw, 0)
    if found == at.DONE:
        found = sample_here(iw, rw, grid[0])
    for k in range(iw[at.N_GRID] - 1):
        if found == at.DONE:
            found = set_inputs(iw, rw, 0, 0.5 * (grid[k] + grid[k + 1]))
        if found == at.DONE:
            found = advance(iw, rw, grid[k], grid[k + 1])
        if found:
            return found
        rw[clock + at.NOW] = grid[k + 1]
        find_piece(iw, grid[k + 1])
        found = sample_here(iw, rw, grid[k + 1])
    return found


def _drive(iw: Vector, rw: Vector, t: float, h: float, a: int, b: int) -> int:
    """A whole run; everything but how it ended is in the arrays."""
    for k in range(at.PIECE, at.R_INSTANCE + 1):
        iw[k] = 0
    found = run_on(iw, rw)
    if found == at.TERMINATED:
        read_end(iw, rw)
    return found


drive_cosimulation = FmuUnit(_drive)
