"""The cuda backend of ensembles: a response as a program, and its runs on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import SimulationError
from estimica.simulate.engine.status import TEXTS
from estimica.simulate.ensemble.cuda.build import program_of, refusal
from estimica.simulate.ensemble.cuda.launcher import Launcher, available, this_device
from estimica.simulate.ensemble.cuda.program import Program
from estimica.simulate.ensemble.cuda.runner import Outcome, run_normal, run_samples
from estimica.simulate.ensemble.members import EnsembleRun, Measured, NormalEquations
from estimica.simulate.failure import failure_text
from estimica.simulate.response import Response

__all__ = ["CudaEnsemble", "available", "why_not"]


def why_not(response: object) -> str:
    """Why a response cannot be run on a GPU here; empty where it can."""
    reason = refusal(response) or available()
    if reason or not isinstance(response, Response):
        return reason
    program = program_of(response)
    return program if isinstance(program, str) else ""


class CudaEnsemble:
    """Members of a response, one a thread; ask `why_not` before."""

    def __init__(self, response: Response, launcher: Launcher | None = None) -> None:
        program = program_of(response)
        assert isinstance(program, Program), program
        self.response, self.program = response, program
        self.launcher = launcher or this_device()

    def at(self, thetas: Vector) -> EnsembleRun:
        """Outputs and derivatives of every member; thetas is (L, m)."""
        run = run_samples(self.program, thetas, self.launcher)
        status = run.outcome.status.astype(np.int64)
        alone = np.zeros(len(status), bool)
        failures = FailureTexts(self.response, thetas, run.outcome)
        return EnsembleRun(run.Y, run.YS, status, failures, alone)

    def normal(self, thetas: Vector, measured: Measured) -> NormalEquations:
        """Σ r², Jᵀr and JᵀJ of every member, output by output."""
        sums = run_normal(self.program, thetas, measured.value, measured.weight, self.launcher)
        status = sums.outcome.status.astype(np.int64)
        failures = FailureTexts(self.response, thetas, sums.outcome)
        return NormalEquations(sums.square, sums.gradient, sums.information, status, failures)


class FailureTexts(Mapping[int, str]):
    """Why members failed, in the words of the scalar engine, which runs a member again when it is
    asked for: there may be many."""

    def __init__(self, response: Response, thetas: Vector, outcome: Outcome) -> None:
        self._response, self._thetas, self._outcome = response, thetas, outcome
        self._failed: Indices = np.flatnonzero(outcome.status)

    def __getitem__(self, member: int) -> str:
        code = int(self._outcome.status[member])
        if not code:
            raise KeyError(member)
        try:
            run = self._response.at(self._thetas[member])
        except SimulationError as error:
            return error.message
        if run.ok:  # a failure at the edge: rounding may decide
            time = self._outcome.stopped[member]
            return f"the simulation stopped at time {time:g}: {TEXTS[code]}"
        return failure_text(self._response, run)

    def __iter__(self) -> Iterator[int]:
        return iter(self._failed.tolist())

    def __len__(self) -> int:
        return len(self._failed)
