"""Linear models under pieces of inputs: every sensitivity is an affine function of the pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.experiment.free_input.problem.nodes import nodes
from estimica.experiment.free_input.problem.plan import Plan

MOST_NUMBERS = 100_000_000


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
        found: Vector = self._rest + np.tensordot(u, self._unit, 1)
        return found

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        found: Vector = self._unit.reshape(len(self._unit), -1) @ bar.ravel()
        return found

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits at the nodes."""
        found: Vector = self._rest_seen + np.tensordot(u, self._unit_seen, 1)
        return found

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives."""
        return np.moveaxis(self._unit_seen, 0, -1)

    def _rows_at(self, u: Vector, values: Vector) -> Vector:
        found = self.plan.rows(self.plan.signals(u), values)
        if isinstance(found, str):
            raise ExperimentError("W202", f"'{self.plan.model.name}' cannot be simulated: {found}")
        return found

    def _seen(self, u: Vector, times: Vector, values: Vector) -> Vector:
        if not self._limited:
            return np.zeros((len(times), 0))
        found = self.plan.courses(self.plan.signals(u), self._limited, times, values)
        if isinstance(found, str):
            raise ExperimentError("W202", f"'{self.plan.model.name}' cannot be simulated: {found}")
        return found
