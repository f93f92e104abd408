"""FmuWorkspace: the arrays of one experiment in the host process, and its runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimica.simulate.fmu.description import Interface
from estimica.simulate.fmu.experiment import (
    FmuExperiment,
    FmuPoint,
    FmuRun,
    FmuStretch,
    VariableGroup,
)
from estimica.simulate.fmu.library import FmuLibrary
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.loop.unit import FmuUnit

_COUNTERS = {
    "steps": at.STEPS, "rejected": at.REJECTED, "evaluations": at.RATES, "events": at.EVENTS,
    "stiff steps": at.STIFF_STEPS, "Jacobians": at.JACOBIANS,
}  # fmt: skip


def loop_of(interface: Interface) -> FmuUnit:
    """The compiled loop of an interface."""
    if interface == "me":
        from estimica.simulate.fmu.loop.exchange import drive_exchange

        return drive_exchange
    from estimica.simulate.fmu.loop.cosimulation import drive_cosimulation

    return drive_cosimulation


class FmuWorkspace:
    """Arrays for so many tuners; the FMU's functions write into them."""

    def __init__(self, experiment: FmuExperiment, library: FmuLibrary, m: int) -> None:
        self.experiment, self.library, self.m = experiment, library, m
        self._alive: list[Any] = []  # arrays whose addresses are handed out
        e = experiment
        n, ny, K = e.n_states, len(e.outputs.names), 1 + 2 * m
        nw, np_, nu = n * (1 + m), len(e.parameters.names), len(e.inputs.names)
        self.iw = np.zeros(at.HEAD + 2 * K + 3 * m + 2 * n + 8, np.int64)
        reals = (
            (at.O_CLOCK, at.N_CLOCK), (at.O_SETTING, at.N_SETTING), (at.O_ATOL, n),
            (at.O_SCALE, m), (at.O_DELTA, m), (at.O_PARAMETER, K * np_), (at.O_LATE, K * n),
            (at.O_NEXT, K), (at.O_U, nu),
            *((o, nw) for o in range(at.O_W0, at.O_ERR + 1)),
            (at.O_X, n), (at.O_HIGH, n), (at.O_LOW, n), (at.O_SEED, n + 1), (at.O_YHIGH, ny),
            (at.O_YLOW, ny), (at.O_Z0, e.n_indicators), (at.O_Z1, e.n_indicators),
            (at.O_Z2, e.n_indicators), (at.O_J, n * n), (at.O_LU, n * n), (at.O_RHS, n),
            (at.O_NOMINAL, n),
        )  # fmt: skip
        offset = 0
        for place, size in reals:
            self.iw[place] = offset
            offset += size
        self.rw = np.zeros(offset + 1)
        self.memory = np.zeros(4096 + 8 * (np_ + nu + ny + 8), np.uint8)
        self.Y = np.empty((len(e.times), ny))
        self.YS = np.empty((len(e.times), ny, m))
        self._fill(n, m, K)

    def _fill(self, n: int, m: int, K: int) -> None:
        e, iw = self.experiment, self.iw
        iw[: len(at.FUNCTIONS)] = self.library.addresses
        iw[[at.FMI, at.N, at.M, at.NW, at.NZ]] = e.fmi, n, m, n * (1 + m), e.n_indicators
        iw[[at.NU, at.NY, at.NP]] = (
            len(e.inputs.names), len(e.outputs.names), len(e.parameters.names)
        )  # fmt: skip
        iw[at.INSTANCES], iw[at.WANTS_STEPS] = K, int(e.wants_steps)
        iw[at.BASE], iw[at.MEMORY] = self.rw.ctypes.data, self.memory.ctypes.data
        groups = (
            (at.G_PARAMETERS, e.parameters),
            (at.G_INPUTS, e.inputs),
            (at.G_OUTPUTS, e.outputs),
        )
        for place, group in groups:
            self._group(place, group)
        iw[at.STATE_REFERENCES] = self._references(e.state_references)
        iw[at.RATE_REFERENCES] = self._references(e.rate_references)
        # copies: points may have times and inputs of their own
        self._timed = tuple(np.array(a, order="C") for a in (e.times, e.starts, e.values, e.slopes))
        for place, array in zip(
            (at.TIMES, at.STARTS, at.VALUES, at.SLOPES, at.Y, at.YS, at.GRID),
            (*self._timed, self.Y, self.YS, np.ascontiguousarray(e.grid)),
            strict=True,
        ):
            iw[place] = self._kept(array)
        iw[at.N_TIMES], iw[at.N_STARTS], iw[at.N_GRID] = len(e.times), len(e.starts), len(e.grid)
        iw[at.METHOD], iw[at.MAX_STEPS] = e.method, e.max_steps
        iw[at.VARIABLE_STEP] = int(e.variable_step)
        begin = at.HEAD
        for place, size in (
            (at.I_INSTANCE, K), (at.I_USED, K), (at.I_WAY, m), (at.I_KNOWN, m),
            (at.I_N_KNOWN, m), (at.I_LATE, n), (at.I_PIVOT, n),
        ):  # fmt: skip
            iw[place] = begin
            begin += size
        iw[iw[at.I_LATE] : iw[at.I_LATE] + n] = e.late

    def _kept(self, array: Any) -> int:
        self._alive.append(array)
        return int(array.ctypes.data)

    def _references(self, references: tuple[int, ...]) -> int:
        return self._kept(np.array([*references, 0], np.uint32))

    def _group(self, place: int, group: VariableGroup) -> None:
        for k, references in enumerate(group.references):
            self.iw[place + 2 * k] = self._references(references)
            self.iw[place + 2 * k + 1] = len(references)

    def run(self, point: FmuPoint) -> FmuRun:
        """One run at a point."""
        pointers, used = self.library.instances(1 + 2 * self.m)
        iw = self.iw
        for place, found in ((at.I_INSTANCE, pointers), (at.I_USED, used)):
            iw[iw[place] : iw[place] + len(found)] = found
        self._set(point)
        self.Y.fill(np.nan)
        self.YS.fill(np.nan)
        self.library.log.clear()
        status = loop_of(self.experiment.interface).run(
            iw.ctypes.data, self.rw.ctypes.data, 0.0, 0.0, 0, 0
        )
        if status == at.FAILED and iw[at.R_FUNCTION] == at.RESET and iw[at.R_STATUS] < 4:
            self.library.renew()
            return self.run(point) if any(used) else self._told(status)
        return self._told(status)

    def _set(self, point: FmuPoint) -> None:
        e, iw, rw, n, m = self.experiment, self.iw, self.rw, self.experiment.n_states, self.m

        def put(place: int, values: Any) -> None:
            flat = np.ravel(np.asarray(values, np.float64))
            rw[iw[place] : iw[place] + len(flat)] = flat

        put(at.O_PARAMETER, point.parameters)
        put(at.O_LATE, point.late)
        put(at.O_DELTA, point.deltas)
        put(at.O_SCALE, point.scales)
        rtol = e.rtol if point.rtol is None else min(point.rtol, e.rtol)
        put(at.O_ATOL, np.broadcast_to(np.asarray(e.atol, float) * rtol / e.rtol, (n,)))
        put(at.O_NOMINAL, np.ones(n))
        begin, end = e.begin, float(e.times[-1])
        span = end - begin
        if point.stretch is not None:
            begin, end, span = point.stretch.begin, point.stretch.end, point.stretch.span
            self._move_to(point.stretch)
        span = max(span, 1e-300)
        limit = min(e.max_step, span / 100) if e.n_indicators else e.max_step
        setting = iw[at.O_SETTING]
        rw[setting : setting + at.N_SETTING] = rtol, limit, begin, end, span, rtol
        for j in range(m):
            reference = point.known[j]
            known = (*e.state_references, *((reference,) if reference >= 0 else ()))
            iw[iw[at.I_WAY] + j] = point.ways[j]
            if point.ways[j] == at.BY_DIRECTION:
                iw[iw[at.I_KNOWN] + j] = self._known(known)
                iw[iw[at.I_N_KNOWN] + j] = len(known)

    def _move_to(self, stretch: FmuStretch) -> None:
        """Times and inputs of a stretch in place of the experiment's."""
        times, starts, values, slopes = self._timed
        times[0], starts[0] = stretch.end, stretch.begin
        values[0], slopes[0] = stretch.values, stretch.slopes
        self._grid = np.ascontiguousarray(stretch.grid, np.float64)  # kept while it is in use
        self.iw[at.GRID], self.iw[at.N_GRID] = self._grid.ctypes.data, len(self._grid)

    def _known(self, references: tuple[int, ...]) -> int:
        cache: dict[tuple[int, ...], int] = self.__dict__.setdefault("_cache", {})
        if references not in cache:
            cache[references] = self._references(references)
        return cache[references]

    def _told(self, status: int) -> FmuRun:
        iw = self.iw
        named = at.FUNCTIONS[iw[at.R_FUNCTION]][0 if self.experiment.fmi == 2 else 1]
        failed = status in (at.FAILED, at.DISCARDED)
        return FmuRun(
            self.Y.copy(),
            self.YS.copy(),
            int(status),
            float(self.rw[iw[at.O_CLOCK] + at.NOW]),
            named if failed else "",
            int(iw[at.R_STATUS]) if failed else 0,
            tuple(self.library.log),
            {name: int(iw[place]) for name, place in _COUNTERS.items()},
            self.rw[iw[at.O_YHIGH] : iw[at.O_YHIGH] + self.Y.shape[1]].copy(),
        )
