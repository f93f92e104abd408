"""The vector backend: groups of neighbouring members in the lanes of the processor's vectors.

Members that leave their group (a failure, stiffness of a few) are run again alone, from their
start, by the scalar engine, which tells what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import SimulationError
from estimica.simulate.ensemble.groups import LaneModel, Task, lane_model, run_groups
from estimica.simulate.ensemble.members import (
    NO_START,
    EnsembleRun,
    Measured,
    Members,
    NormalEquations,
    normal_equations,
)
from estimica.simulate.ensemble.scalar import begin_values, run_scalar
from estimica.simulate.initial import Initialiser
from estimica.simulate.response import Response

#: doubles of a vector; eight fill one register of AVX-512 or two of AVX2, which hide each other's
#: waiting
LANES = 8
#: members that the scalar engine runs at a time where only their normal equations are kept
AT_ONCE = 64


class VectorEnsemble:
    """A response at many members, in groups; `threads` change nothing but the time it takes."""

    def __init__(self, response: Response, threads: int = 1, lanes: int = LANES) -> None:
        self.response, self.threads, self.lanes = response, threads, lanes

    @property
    def _model(self) -> LaneModel:
        return lane_model(self.response.configuration, self.lanes)

    def at_values(self, values: Vector, times: Vector) -> EnsembleRun:
        """Outputs and derivatives of every member, from its independent constants."""
        kernel = self.response.configuration.kernel
        Y = np.empty((len(values), len(times), kernel.ny))
        YS = np.empty((*Y.shape, kernel.m))
        begun = self._begin(values)
        task = Task(self.response, times, *begun, Y, YS)
        status, failures = _statuses(begun[1], len(values))
        alone = ~run_groups(self._model, task, self.threads)
        Y[alone], YS[alone] = np.nan, np.nan
        for which in _some(alone, begun[1]):
            run = self._alone(values[which], times)
            Y[which], YS[which], status[which] = run.Y, run.YS, run.status
            failures |= {int(which[k]): text for k, text in run.failures.items()}
            task.logs.update((int(which[k]), log) for k, log in run.logs.items())
        return EnsembleRun(Y, YS, status, failures, alone, task.logs)

    def normal(self, values: Vector, measured: Measured) -> NormalEquations:
        """Σ r², Jᵀr and JᵀJ of every member, added up as its samples come."""
        kernel, times = self.response.configuration.kernel, self.response.times
        m, ny, many = kernel.m, kernel.ny, len(values)
        sums = np.full((many, ny, 1 + m + m * m), np.nan)
        begun, none = self._begin(values), np.zeros(0)
        value, weight = (
            np.ascontiguousarray(a, np.float64) for a in (measured.value, measured.weights)
        )
        task = Task(self.response, times, *begun, none, none, sums, value, weight)
        status, failures = _statuses(begun[1], many)
        alone = ~run_groups(self._model, task, self.threads)
        sums[alone] = np.nan
        lower = sums[..., 1 + m :].reshape(many, ny, m, m)
        above = np.triu_indices(m, 1)
        lower[..., above[0], above[1]] = lower[..., above[1], above[0]]
        whole = sums[..., 0].copy(), sums[..., 1 : 1 + m].copy(), lower
        for which in _some(alone, begun[1]):
            part = normal_equations(self._alone(values[which], times), measured.of(which))
            parts = part.square, part.gradient, part.information
            for target, source in zip((*whole, status), (*parts, part.status), strict=True):
                target[which] = source
            failures |= {int(which[k]): text for k, text in part.failures.items()}
        return NormalEquations(*whole, status, failures)

    def _begin(self, values: Vector) -> tuple[Vector | None, Members | None, Vector, Vector]:
        """Independent constants where starts follow from them by a formula, else the starts; where
        algebraic unknowns are looked for, and modes before the initial event."""
        initialiser, many = self.response.configuration.initialiser, len(values)
        near = None if initialiser.implicit else self._unknowns
        if near is None:
            none = np.zeros((0, 0))
            return None, begin_values(self.response, values), none, none
        modes = _modes_before(initialiser, values)
        return np.ascontiguousarray(values, np.float64), None, np.tile(near, (many, 1)), modes

    @cached_property
    def _unknowns(self) -> Vector | None:
        """The algebraic unknowns at the start with the constants that the response was set up with:
        Newton's method finds those of its members from there. None where it has none, or where
        members may have several or other modes: then each begins at the root that the scalar engine
        takes."""
        r = self.response
        if not r.configuration.initialiser.n_unknowns:
            return np.zeros(0)
        if not r.configuration.kernel.linear_algebraic or r.configuration.initialiser.has_modes:
            return None
        try:
            return r.configuration.initialiser.start(r.values, r.begin, r.pieces.values[0]).z
        except SimulationError:
            return None

    def _alone(self, values: Vector, times: Vector) -> EnsembleRun:
        return run_scalar(self.response, begin_values(self.response, values), None, times)


def _modes_before(initialiser: Initialiser, values: Vector) -> Vector:
    """Modes and logicals as initial events find them, where there are no algebraic unknowns."""
    system = initialiser.equations.system
    modes = np.zeros((len(values), initialiser.n_modes))
    if system.logicals and len(values):
        some = values if initialiser.logicals_vary else values[:1]
        modes[:, len(system.relations) :] = [initialiser.guesses(v)[1] for v in some]
    return modes


def _statuses(members: Members | None, many: int) -> tuple[Indices, dict[int, str]]:
    """Zero for all but those that have no start, and the reasons of those."""
    status = np.zeros(many, np.int64)
    unbegun = dict(members.unbegun) if members is not None else {}
    status[list(unbegun)] = NO_START
    return status, unbegun


def _some(alone: Flags, members: Members | None) -> Iterator[Indices]:
    """The members to be run alone, some at a time; those without a start are not."""
    left = alone.copy()
    left[list(members.unbegun) if members is not None else []] = False
    which = np.flatnonzero(left)
    for first in range(0, len(which), AT_ONCE):
        yield which[first : first + AT_ONCE]
