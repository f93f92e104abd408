"""Models that are known by their values only: derivatives by the inputs from differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.experiment.free_input.problem.nodes import nodes
from estimica.experiment.free_input.problem.plan import Plan


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
        found = self.plan.rows(self.plan.signals(u), self._values)
        if isinstance(found, str) or not np.isfinite(found).all():
            return None
        return found

    def pulled(self, u: Vector, bar: Vector) -> Vector:
        """Σ bar · ∂rows/∂u, for a weight of each of the rows."""
        found = np.zeros(self.plan.n)
        for j, step in enumerate(self._steps):
            ends = [self.rows(_moved(u, j, s)) for s in (step, -step)]
            if ends[0] is not None and ends[1] is not None:
                found[j] = float(np.sum(bar * (ends[0] - ends[1]))) / (2 * step)
        return found

    def limited(self, u: Vector) -> Vector:
        """(K, limited): variables with limits at the nodes."""
        if not self._limited:
            return np.zeros((0, 0))
        found = self.plan.courses(self.plan.signals(u), self._limited, self._times, self._values)
        if isinstance(found, str):
            return np.full((len(self._times), len(self._limited)), np.nan)
        return found

    def limited_slope(self, u: Vector) -> Vector:
        """(K, limited, n): their derivatives."""
        columns = [
            (self.limited(_moved(u, j, step)) - self.limited(_moved(u, j, -step))) / (2 * step)
            for j, step in enumerate(self._steps)
        ]
        return np.stack(columns, axis=-1)


def _moved(u: Vector, j: int, by: float) -> Vector:
    found = u.copy()
    found[j] += by
    return found
