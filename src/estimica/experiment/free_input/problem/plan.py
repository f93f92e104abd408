"""Plan: an experiment before it is made, whose inputs are pieces of free values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.base.signals import Hold, Signal
from estimica.compiled.model.interface import Evaluation, Model
from estimica.experiment.design.problem import DesignProblem
from estimica.simulate.function.model import FunctionModel

#: of the distance of two nodes: before a jump of the input, far above rounding of times. Chosen
JUST_BEFORE = 1e-7


@dataclass(frozen=True, eq=False)
class Plan:
    """What stays while the inputs are chosen, and where each of them may change.

    Free numbers u are the values of all pieces, input by input. θ is what the model's outputs are
    derived by: parameters, then start values that are found along.
    """

    bench: DesignProblem
    stamps: Vector  # where pieces begin, the first is the beginning
    sigma: Vector  # noise of each output

    @property
    def model(self) -> Model:
        """The model."""
        return self.bench.model

    @property
    def times(self) -> Vector:
        """Of the samples."""
        return self.bench.times

    @property
    def designed(self) -> tuple[str, ...]:
        """The inputs that are chosen."""
        return self.bench.designed

    @property
    def outputs(self) -> tuple[str, ...]:
        """What is measured."""
        return self.bench.outputs

    @property
    def n(self) -> int:
        """How many numbers are free."""
        return len(self.stamps) * len(self.designed)

    @property
    def end(self) -> float:
        """Where the last piece ends: one step behind the last sample."""
        return float(self.times[0]) + self.bench.duration

    @property
    def lengths(self) -> Vector:
        """Seconds of each piece."""
        return np.diff(np.append(self.stamps, self.end))

    @property
    def starts(self) -> tuple[str, ...]:
        """Start values that are found along."""
        return tuple(u.name for u in self.bench.unknowns if u.kind == "start")

    @property
    def wrt(self) -> tuple[str, ...]:
        """The names of θ."""
        return (*self.bench.links.parameters, *self.starts)

    @property
    def sizes(self) -> Vector:
        """What errors of the unknowns are relative to."""
        return np.abs(self.bench.sizes)

    # -- inputs ----------------------------------------------------------------------------------

    def shaped(self, u: Vector) -> Vector:
        """(inputs, pieces) of all free numbers."""
        return np.asarray(u, np.float64).reshape(len(self.designed), len(self.stamps))

    def signals(self, u: Vector) -> dict[str, Signal]:
        """The designed inputs."""
        rows = self.shaped(u)
        return {
            n: Signal(self.stamps, row, Hold.PREVIOUS)
            for n, row in zip(self.designed, rows, strict=True)
        }

    # -- what the engine says --------------------------------------------------------------------

    def theta(self, values: Vector) -> tuple[Vector, Vector]:
        """(θ, ∂θ/∂(tuners and start values)) at values of all unknowns."""
        m = len(self.bench.links.tuners)
        parameters, chain = self.bench.links.at(values[:m])
        begun = values[m : m + len(self.starts)]
        slopes = np.zeros((len(parameters) + len(begun), m + len(begun)))
        slopes[: len(parameters), :m] = chain
        slopes[len(parameters) :, m:] = np.eye(len(begun))
        return np.concatenate([parameters, begun]), slopes

    def response(self, inputs: Mapping[str, Signal]) -> Any:
        """The model with these signals at the designed inputs, to be derived by θ."""
        b = self.bench
        return b.model.response(
            b.times,
            {**b.others, **inputs},
            b.parameters,
            b.start,
            outputs=b.outputs,
            wrt=self.wrt,
            begin=float(self.stamps[0]),
            options=b.options,
        )

    def rows(self, inputs: Mapping[str, Signal], values: Vector) -> Vector | str:
        """(N, ny, p): exact derivatives of the outputs by θ, or why there are none."""
        theta, _ = self.theta(values)
        try:
            run: Evaluation = self.response(inputs).at(theta)
        except SimulationError as error:
            return error.message
        if not run.ok:
            return run.text
        return np.asarray(run.YS, np.float64)

    def courses(
        self, inputs: Mapping[str, Signal], names: Sequence[str], times: Vector, values: Vector
    ) -> Vector | str:
        """(times, names): any variables at any times, or why there are none."""
        b = self.bench
        theta, _ = self.theta(values)
        numbers = dict(zip(self.wrt, map(float, theta), strict=True))
        begun = {n: numbers.pop(n) for n in self.starts}
        try:
            run = b.model.response(
                times,
                {**b.others, **inputs},
                {**b.parameters, **numbers},
                {**b.start, **begun},
                outputs=tuple(names),
                begin=float(self.stamps[0]),
                options=replace(b.options, tuner_scales=()),
            ).at()
        except SimulationError as error:
            return error.message
        return np.asarray(run.Y, np.float64) if run.ok else run.text


class Information:
    """M = Σ ψψᵀ/σ², ψ by relative changes of all unknowns, as a function of derivatives by θ."""

    def __init__(self, plan: Plan, values: Vector) -> None:
        self._sigma = plan.sigma
        self._slopes = plan.theta(values)[1]
        self._sizes = plan.sizes
        unknowns = plan.bench.unknowns
        names = [u.name for u in unknowns if u.kind == "disturbance"]
        added = [[float(n == output) for n in names] for output in plan.outputs]
        self._added = np.array(added, float).reshape(len(plan.outputs), len(names))
        known = np.array(
            [
                0.0 if u.prior is None else u.prior.slope(float(v))
                for u, v in zip(unknowns, values, strict=True)
            ]
        )
        self._before = np.diag((known * self._sizes) ** 2)  # priors are information too

    def of(self, rows: Vector) -> Vector:
        """M of rows (N, ny, p)."""
        psi = self._scaled(rows).reshape(-1, len(self._sizes))
        M: Vector = psi.T @ psi + self._before
        return M

    def pulled(self, rows: Vector, by_M: Vector) -> Vector:
        """Σ by_M · ∂M/∂rows, by_M symmetric."""
        q = self._slopes.shape[1]
        moved = 2 * self._scaled(rows) @ by_M
        pulled: Vector = (moved[:, :, :q] * self._sizes[:q]) @ self._slopes.T
        return pulled / self._sigma[:, None]

    def _scaled(self, rows: Vector) -> Vector:
        added = np.broadcast_to(self._added, (len(rows), *self._added.shape))
        every = np.concatenate([rows @ self._slopes, added], axis=2)
        scaled: Vector = every * self._sizes / self._sigma[:, None]
        return scaled


def nodes(plan: Plan, parts: int = 2) -> Vector:
    """Samples and beginnings of pieces, times between them, and just before each of them.

    A function is known at its samples only.
    """
    if isinstance(plan.model, FunctionModel):
        return plan.times
    marks = np.unique(np.concatenate([plan.times, plan.stamps, [plan.end]]))
    width = np.diff(marks)
    between = marks[:-1, None] + width[:, None] * np.arange(parts) / parts
    before = marks[1:] - JUST_BEFORE * width
    return np.unique(np.concatenate([between.ravel(), before]))
