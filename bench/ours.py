"""Our engine, through its front door: Modelica text in, outputs and Jacobian out."""

from __future__ import annotations

import time

from engines import Engine
from problems import RTOL, Problem, Vector

import estimica as es


class Ours(Engine):
    """load_model(...).response(...).at(θ)."""

    name = "estimica"
    sees = "after"

    def __init__(self, problem: Problem) -> None:
        begun = time.perf_counter()
        model = es.load_model(problem.file)
        states = len(model.system.states)
        # one tolerance for every state, whatever its nominal value: the others know none
        options = es.Options(rtol=RTOL, atol=(problem.atol,) * states)
        self.response = model.response(
            problem.times,
            {n: (problem.grid[:-1], values) for n, values in problem.inputs.items()},
            outputs=problem.outputs,
            wrt=list(problem.tuners),
            begin=float(problem.grid[0]),
            options=options,
        )
        self.theta = problem.theta
        self.evaluate()
        self.prepare_s = time.perf_counter() - begun

    def evaluate(self) -> None:
        """One run."""
        self.run = self.response.at(self.theta)
        assert self.run.ok, f"{self.run.text} at {self.run.time:g}"

    def result(self) -> tuple[Vector, Vector]:
        """Samples and Jacobian of the last run."""
        return self.run.Y, self.run.YS

    @property
    def note(self) -> str:
        """The cost of the last run."""
        s = self.run.statistics
        stiff = f", {s.stiff_steps} of them stiff" if s.stiff_steps else ""
        return f"{s.steps}+{s.rejected} steps{stiff}"
