"""integrate: runs a compiled model over given inputs and hands back outputs and sensitivities."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.numeric import failed_call, forget_failure
from estimica.base.errors import ModelError
from estimica.compiled.kernel import Kernel
from estimica.simulate.engine import layout as at
from estimica.simulate.engine import status as outcome
from estimica.simulate.engine.loop import drive
from estimica.simulate.engine.options import DEFAULT, IMPLICIT_EULER, METHODS, Options, Pieces
from estimica.simulate.engine.result import LOG_SIZE, NO_LOG, Run
from estimica.simulate.engine.workspace import Workspace, address_of, pool_of
from estimica.simulate.termination import Termination


@dataclass(frozen=True, eq=False)
class RunStart:
    """Where a run begins: states and their sensitivities (nx, m), unknowns, modes."""

    x: Vector
    S: Vector
    z: Vector
    d: Vector


def integrate(
    kernel: Kernel,
    P: Vector,
    start: RunStart,
    pieces: Pieces,
    times: Vector,
    options: Options = DEFAULT,
) -> Run:
    """Simulates from the first piece's start to the last of the ascending times.

    A sample at a jump or an event sees the value after it.
    """
    forget_failure()
    times = np.ascontiguousarray(times, np.float64)
    n = len(times)
    Y, YS = np.empty((n, kernel.ny)), np.empty((n, kernel.ny, kernel.m))
    outputs = (address_of(Y), address_of(YS))
    pool = pool_of(kernel)
    if options.method == IMPLICIT_EULER and kernel.hybrid.nh:
        raise ModelError(
            "M066",
            "implicit Euler takes no models with delays, whose past it knows at its steps only; "
            'take method "auto"',
        )
    if METHODS[options.method] >= at.IMPLICIT and not pool.stiff and kernel.hybrid.nh == 0:
        pool.make_stiff()
    while True:
        workspace = pool.take(kernel)
        _load(workspace, P, start, pieces, options)
        workspace.set_grid(times, pieces)
        workspace.iw[at.OUT], workspace.iw[at.OUT_S] = outputs
        code = _run(workspace, options.max_seconds)
        if code not in (outcome.NEEDS_STIFF, outcome.HISTORY_FULL):
            break
        if code == outcome.NEEDS_STIFF:
            pool.make_stiff()
        else:
            pool.grow(2 * workspace.segments)
    run = _collect(workspace, times, Y, YS, code)
    pool.give(workspace)
    return run


def _run(workspace: Workspace, seconds: float) -> int:
    """Lets the compiled loop run; a timer tells it to stop where there is a limit."""
    workspace.iw[at.ABORT] = 0
    if seconds > threading.TIMEOUT_MAX:  # 292 years: no timer can be set, none is needed
        return drive.run(workspace.iw_at, workspace.rw_at, 0.0, 0.0, 0, 0)
    timer = threading.Timer(seconds, workspace.iw.__setitem__, (at.ABORT, 1))
    timer.start()
    try:
        return drive.run(workspace.iw_at, workspace.rw_at, 0.0, 0.0, 0, 0)
    finally:
        timer.cancel()
        timer.join()


def _load(
    workspace: Workspace, P: Vector, start: RunStart, pieces: Pieces, options: Options
) -> None:
    """Puts everything about this run into the workspace."""
    assert pieces.values.shape[1] == workspace.nu
    iw = workspace.iw
    for head in (iw[at.I_SPARSE_Z], iw[at.I_SPARSE_STIFF]):
        iw[head + at.H_KNOWN] = 0  # a run does not depend on the pivots of the one before
    if options is not workspace.options and options != workspace.options:
        workspace.set_options(options)
    workspace.P[:] = P
    workspace.z[:] = start.z
    workspace.d[:] = start.d
    workspace.start_x[:] = start.x
    if workspace.m:
        workspace.start_S[:] = start.S.ravel()


def _collect(workspace: Workspace, times: Vector, Y: Vector, YS: Vector, code: int) -> Run:
    """The Run, with what was not reached set to NaN."""
    events = int(workspace.counters[at.EVENTS - at.STEPS])
    log = workspace.log[: at.LOG_WIDTH * min(events, LOG_SIZE)].copy() if events else NO_LOG
    rests = workspace.rests() if workspace.relations else ()
    run = Run(times, Y, YS, code, workspace.summary.copy(), workspace.sizes, log, rests=rests)
    if code == outcome.DONE:
        return run
    if code == outcome.TERMINATED:
        run = replace(run, termination=_termination(workspace, run))
    else:
        run = replace(run, failed_call=failed_call())
    Y[run.samples :] = np.nan
    YS[run.samples :] = np.nan
    return run


def _termination(workspace: Workspace, run: Run) -> Termination:
    """How the model has ended the run; the last point stands where the next sample would be."""
    row = min(run.samples, len(run.times) - 1)
    motion = run.summary[len(run.summary) - workspace.m :].copy()
    message = workspace.messages[run.index]
    return Termination(run.time, message, motion, run.Y[row].copy(), run.YS[row].copy())
