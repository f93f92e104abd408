"""Ensemble: one model and experiment at many values of its tuners, by whoever does that best.

Backends give the same: members agree with the scalar engine within ten times its tolerance.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.simulate.ensemble.groups import why_not_in_groups
from estimica.simulate.ensemble.members import (
    EnsembleRun,
    Measured,
    NormalEquations,
    joined_equations,
    normal_equations,
)
from estimica.simulate.ensemble.scalar import begin_values, run_scalar, values_of
from estimica.simulate.ensemble.vector import AT_ONCE, LANES, VectorEnsemble
from estimica.simulate.response import Response

BACKENDS = ("auto", "scalar", "vector", "cuda")
#: below so many members a group is emptier than full, and compiling it costs more than it saves
FEW = 4


class Ensemble:
    """A response that is evaluated at many members at once.

    `backend` is the one that was chosen, never "auto"; `reason` says why where it is not the one
    that was asked for. Where "auto" has chosen vectors, fewer than FEW members are run by the
    scalar engine.
    """

    def __init__(
        self, response: Response, backend: str = "auto", threads: int = 1, lanes: int = LANES
    ) -> None:
        if backend not in BACKENDS:
            hint = did_you_mean(backend, BACKENDS)
            raise ModelError("M067", f"backend '{backend}' is none of {', '.join(BACKENDS)}{hint}")
        self.response = response
        self.threads = threads
        self._least = FEW if backend == "auto" else 1
        self._vector = VectorEnsemble(response, threads, lanes)
        self.backend, self.reason = _chosen(response, backend)

    def at(self, thetas: Vector) -> EnsembleRun:
        """Outputs and derivatives of every member; thetas is (L, m)."""
        thetas = np.ascontiguousarray(thetas, np.float64)
        if self.backend == "cuda":
            from estimica.simulate.ensemble.cuda.backend import CudaEnsemble

            return CudaEnsemble(self.response).at(thetas)
        return self.at_values(values_of(self.response, thetas), self.response.times)

    def at_values(self, values: Vector, times: Vector) -> EnsembleRun:
        """The same at values of all independent constants, (L, their number), and other times up to
        the end; never on a GPU."""
        values, times = (np.ascontiguousarray(a, np.float64) for a in (values, times))
        if self._in_groups(len(values)):
            return self._vector.at_values(values, times)
        return run_scalar(self.response, begin_values(self.response, values), None, times)

    def normal(self, thetas: Vector, measured: Measured) -> NormalEquations:
        """Σ r², Jᵀr and JᵀJ of every member, output by output."""
        thetas = np.ascontiguousarray(thetas, np.float64)
        if self.backend == "cuda":
            from estimica.simulate.ensemble.cuda.backend import CudaEnsemble

            return CudaEnsemble(self.response).normal(thetas, measured)
        values = values_of(self.response, thetas)
        if self._in_groups(len(values)):
            return self._vector.normal(values, measured)
        parts = []
        for first in range(0, max(1, len(values)), AT_ONCE):
            which = np.arange(first, min(first + AT_ONCE, len(values)))
            run = run_scalar(self.response, begin_values(self.response, values[which]))
            parts.append(normal_equations(run, measured.of(which)))
        return joined_equations(parts)

    def _in_groups(self, members: int) -> bool:
        return self.backend != "scalar" and members >= self._least and _can_group(self.response)


def _can_group(response: Response) -> bool:
    return not why_not_in_groups(response)


def _chosen(response: Response, asked: str) -> tuple[str, str]:
    """The backend, and why it is not the one that was asked for."""
    if asked == "scalar":
        return "scalar", ""
    reason = ""
    if asked == "cuda":
        reason = _why_not_cuda(response)
        if not reason:
            return "cuda", ""
    obstacle = why_not_in_groups(response)
    if not obstacle:
        return "vector", reason
    return "scalar", "; ".join(r for r in (reason, obstacle) if r)


def _why_not_cuda(response: Response) -> str:
    # it needs much that others do not
    from estimica.simulate.ensemble.cuda.backend import why_not

    return why_not(response)
