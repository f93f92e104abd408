"""Points of a map or a curve as members of one ensemble: their costs, or their fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.setup import Setup
from estimica.execute.batches import WorkedBy, threads_for
from estimica.execute.threads import one_thread
from estimica.infer.refit import FitContext, batch_fits

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

#: points whose costs are computed at once, and fits that advance together. Chosen: enough that what
#: Python does between simulations costs little, few enough that one sees how far it is
COSTS, FITS = 4096, 128


class Task(Protocol):
    """What every point needs."""

    @property
    def setup(self) -> Setup:
        """The study."""

    @property
    def objective(self) -> Objective:
        """Its cost."""

    @property
    def places(self) -> tuple[int, ...]:
        """The unknowns that are held at a point."""

    @property
    def refit(self) -> bool:
        """Whether the others are found anew."""


@dataclass(frozen=True, eq=False)
class GridPoint:
    """A cost and where it was found, or why there is none."""

    q: Vector
    cost: float = float("nan")
    failure: Failure | None = None


class JointPoints:
    """Costs at many points; those that do not come out together are looked at one by one."""

    def __init__(
        self, task: Task, fits: BatchFits, alone: Callable[[Vector], Point | Failure]
    ) -> None:
        self._task, self._fits, self._alone = task, fits, alone
        self.left = 0  # points that were looked at one by one
        n = len(task.objective.unknowns)
        self._free = task.refit and n > len(task.places)

    @property
    def at_once(self) -> int:
        """How many points are computed together."""
        return FITS if self._free else COSTS

    def at(self, q: Sequence[Vector]) -> list[GridPoint]:
        """The points at coordinates, which begin there where others are found anew."""
        start = np.array(q, float)
        with one_thread():
            if self._free:
                held = np.zeros(start.shape, bool)
                held[:, list(self._task.places)] = True
                fitted = self._fits.fit(start, held=held).finished().found
                good, cost, ends = fitted.proven, fitted.cost, fitted.q
            else:
                cost = self._fits.costs(start)
                good, ends = np.isfinite(cost), start
            return [
                GridPoint(ends[k], float(cost[k])) if good[k] else self._one(start[k])
                for k in range(len(start))
            ]

    def _one(self, q: Vector) -> GridPoint:
        self.left += 1
        point = self._alone(q)
        if isinstance(point, Failure):
            return GridPoint(q, failure=point)
        return GridPoint(point.q, point.cost)


def joint_points(
    task: Task,
    q: Vector,
    threshold: float,
    alone: Callable[[Vector], Point | Failure],
    executor: str,
    workers: int | None,
) -> tuple[JointPoints | None, WorkedBy]:
    """What computes many points together, and what to say of it; none where each goes alone."""
    context = FitContext(task.setup, task.objective, q, threshold)
    fits, reason = batch_fits(context, threads_for(executor, workers))
    if fits is None or fits.backend == "scalar" or executor not in ("local", "serial"):
        return None, WorkedBy("scalar", reason=reason)
    return JointPoints(task, fits, alone), WorkedBy(fits.backend, reason=reason)
