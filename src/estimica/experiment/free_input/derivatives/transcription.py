"""Which way of computing derivatives by the inputs a model allows, with the two short ways.

Of a linear model every sensitivity is an affine function of the pieces of input; a model that is
known by its values only is differenced.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.free_input.derivatives.equations import Equations, obstacle
from estimica.experiment.free_input.problem.limits import Limits
from estimica.experiment.free_input.problem.plan import Plan, nodes
from estimica.experiment.free_input.problem.search import Transcription
from estimica.simulate.function.model import FunctionModel
from estimica.simulate.linear.model import LinearModel
from estimica.simulate.modelica.model import ModelicaModel

#: of central differences, as a share of the range of an input: with sensitivities that are good to
#: 1e-6 to 1e-9, about the cube root of the error (Gill, Murray and Wright 1981, section 8.6)
STEP = 1e-3
MOST_NUMBERS = 100_000_000  # of the answers to every free value: 800 MB


def transcription_for(
    plan: Plan,
    limits: Limits,
    values: Vector,
    trial: Vector,
    like: Transcription | None = None,
) -> Transcription:
    """Exact derivatives where the model allows them, else differences.

    A function that symbols go through does not come here. `like` is the same at other values.
    """
    names: Sequence[str] = limits.names
    why = ""
    if isinstance(plan.model, LinearModel):
        return Affine(plan, values, names)
    if isinstance(plan.model, ModelicaModel):
        why = obstacle(plan.model)
        if not why:
            other = like if isinstance(like, Equations) else None
            return Equations(plan, values, names, trial=trial, like=other)
    elif isinstance(plan.model, FunctionModel):
        why = "symbols cannot go through the function"
    steps = np.repeat(STEP * limits.reach, len(plan.stamps))
    if isinstance(plan.model, ModelicaModel):
        steps = 10 * steps  # the engine's sensitivities have an error of their own
    return Differences(plan, values, names, steps=steps, why=why)


class Differences:
    """Central differences of the exact sensitivities, one pair of runs for each free number."""

    accuracy = 0.0

    def __init__(
        self,
        plan: Plan,
        values: Vector,
        limited: Sequence[str] = (),
        *,
        steps: Vector,
        why: str = "",
    ) -> None:
        self.plan = plan
        self.way = "by differences of exact sensitivities" + (f": {why}" if why else "")
        self._values = values
        self._limited = tuple(limited)
        self._steps = steps
        self._times = nodes(plan)

    def rows(self, u: Vector) -> Vector | None:
        """(N, ny, p): derivatives of the outputs by θ; None where there are none."""
        rows = self.plan.rows(self.plan.signals(u), self._values)
        if isinstance(rows, str) or not np.isfinite(rows).all():
            return None
        return rows

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        gradient = np.zeros(self.plan.n)
        for j, step in enumerate(self._steps):
            ends = [self.rows(_moved(u, j, s)) for s in (step, -step)]
            if ends[0] is not None and ends[1] is not None:
                gradient[j] = float(np.sum(bar * (ends[0] - ends[1]))) / (2 * step)
        return gradient

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits at the nodes."""
        if not self._limited:
            return np.zeros((0, 0))
        courses = self.plan.courses(self.plan.signals(u), self._limited, self._times, self._values)
        if isinstance(courses, str):
            return np.full((len(self._times), len(self._limited)), np.nan)
        return courses

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives."""
        columns = [
            (self.limited(_moved(u, j, step)) - self.limited(_moved(u, j, -step))) / (2 * step)
            for j, step in enumerate(self._steps)
        ]
        return np.stack(columns, axis=-1)


def _moved(u: Vector, j: int, by: float) -> Vector:
    moved = u.copy()
    moved[j] += by
    return moved


class Affine:
    """rows(u) = rows(0) + Σ u_j·(rows(e_j) − rows(0)), each exact from the model itself."""

    way = "exact, linear in the input"
    accuracy = 0.0

    def __init__(self, plan: Plan, values: Vector, limited: Sequence[str] = ()) -> None:
        self.plan = plan
        self._limited = tuple(limited)
        rest = self._rows_at(np.zeros(plan.n), values)
        if rest.size * plan.n > MOST_NUMBERS:
            raise ExperimentError(
                "W201",
                f"{plan.n} free values with {len(plan.times)} samples are too many for a linear "
                "model; give fewer pieces",
            )
        self._rest = rest
        self._unit = np.empty((plan.n, *rest.shape))
        times = nodes(plan)
        shape = (len(times), len(self._limited))
        self._rest_seen = self._seen(np.zeros(plan.n), times, values)
        self._unit_seen = np.empty((plan.n, *shape))
        for j in range(plan.n):
            pulse = np.zeros(plan.n)
            pulse[j] = 1.0
            self._unit[j] = self._rows_at(pulse, values) - rest
            if limited:
                self._unit_seen[j] = self._seen(pulse, times, values) - self._rest_seen

    def rows(self, u: Vector) -> Vector | None:
        """(N, ny, p): derivatives of the outputs by θ."""
        rows: Vector = self._rest + np.tensordot(u, self._unit, 1)
        return rows

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        gradient: Vector = self._unit.reshape(len(self._unit), -1) @ bar.ravel()
        return gradient

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits at the nodes."""
        courses: Vector = self._rest_seen + np.tensordot(u, self._unit_seen, 1)
        return courses

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives."""
        return np.moveaxis(self._unit_seen, 0, -1)

    def _rows_at(self, u: Vector, values: Vector) -> Vector:
        rows = self.plan.rows(self.plan.signals(u), values)
        if isinstance(rows, str):
            raise ExperimentError("W202", f"'{self.plan.model.name}' cannot be simulated: {rows}")
        return rows

    def _seen(self, u: Vector, times: Vector, values: Vector) -> Vector:
        if not self._limited:
            return np.zeros((len(times), 0))
        courses = self.plan.courses(self.plan.signals(u), self._limited, times, values)
        if isinstance(courses, str):
            raise ExperimentError(
                "W202", f"'{self.plan.model.name}' cannot be simulated: {courses}"
            )
        return courses
