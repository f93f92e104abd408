"""The scalar backend: one member after the other by the engine."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.simulate.engine.run import RunStart, integrate
from estimica.simulate.ensemble.members import NO_START, EnsembleRun, Members
from estimica.simulate.failure import failure_text
from estimica.simulate.response import Response
from estimica.simulate.starts.compiled import Begun


def begin(response: Response, thetas: Vector) -> Members:
    """The consistent start of every member."""
    return begin_values(response, values_of(response, thetas))


def values_of(response: Response, thetas: Vector) -> Vector:
    """The independent constants of every member."""
    return response.with_all_tuners(np.asarray(thetas, np.float64))


def begin_values(response: Response, values: Vector) -> Members:
    """The consistent start of every member, from its independent constants."""
    c = response.configuration
    h, m, many = c.kernel.hybrid, c.kernel.m, len(values)
    members = Members(
        np.full((many, h.nP), np.nan),
        np.full((many, h.nx), np.nan),
        np.full((many, h.nx, m), np.nan),
        np.full((many, h.nz), np.nan),
        np.full((many, h.nd), np.nan),
        unbegun := dict[int, str](),
    )
    u = response.pieces.values[0]
    for k in _left_by(c.initialiser.starts(values, response.begin, u), members):
        try:
            start = c.initialiser.start(values[k], response.begin, u)
        except SimulationError as error:
            unbegun[k] = error.message
            continue
        members.P[k], members.x[k], members.z[k], members.d[k] = start.P, start.x, start.z, start.d
        if m:
            members.S[k] = start.S
    return members


def _left_by(begun: Begun | None, members: Members) -> Iterable[int]:
    """Takes over the starts that were found all at once; which members are left."""
    if begun is None:
        return range(len(members))
    k = begun.found
    members.P[k], members.x[k], members.z[k] = begun.P[k], begun.x[k], begun.z[k]
    members.S[k], members.d[k] = begun.S[k], begun.d[k]
    return map(int, np.flatnonzero(~k))


def run_scalar(
    response: Response,
    members: Members,
    which: Iterable[int] | None = None,
    times: Vector | None = None,
) -> EnsembleRun:
    """All members, or some of them; those not asked for are left as NaN with status NO_START."""
    kernel, times = response.configuration.kernel, response.times if times is None else times
    many, n = len(members), len(times)
    Y = np.full((many, n, kernel.ny), np.nan)
    YS = np.full((many, n, kernel.ny, kernel.m), np.nan)
    status = np.full(many, NO_START, np.int64)
    failures, logs = dict(members.unbegun), dict[int, Vector]()
    for k in range(many) if which is None else which:
        if k in members.unbegun:
            continue
        start = RunStart(members.x[k], members.S[k], members.z[k], members.d[k])
        run = integrate(kernel, members.P[k], start, response.pieces, times, response.options)
        Y[k], YS[k], status[k] = run.Y, run.YS, 0 if run.ok else run.status
        if run.log.size:
            logs[k] = run.log
        if not run.ok:
            failures[k] = failure_text(response, run)
    return EnsembleRun(Y, YS, status, failures, np.ones(many, bool), logs)
