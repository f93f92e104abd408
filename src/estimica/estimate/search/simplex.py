"""Simplex: the search without gradients, for costs whose gradient does not tell of their changes.

Nelder and Mead's simplex (with the dimension-dependent coefficients of Gao and Han, 2012) within
the bounds, begun anew from where it ended until a poll of the neighbourhood finds nothing lower.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.optimality import beside
from estimica.estimate.search.run import (
    Iteration,
    Limits,
    OnIteration,
    SearchResult,
    Status,
    nothing_to_search,
)

Evaluate = Callable[[Vector], Point | Failure]
#: of the first simplex, over the size of each coordinate. Chosen: twice that of SciPy, since costs
#: that step need a change that shows
EDGE = 0.1
#: distances of the poll, likewise: two to a decade, and 1e-3, which is far below the error of an
#: estimate
POLLED = (0.3, 0.1, 0.03, 0.01, 1e-3)
#: a neighbour that fails so near may hide a lower cost; farther ones were polled before
BESIDE = 0.01
#: for each iteration of the limits and each unknown: a step of Gauss-Newton sees all directions at
#: once, a simplex one after the other, each several times. Chosen so that it ends by its size, and
#: the limit only stops what does not end at all
EVALUATIONS = 20
ENDED = "no neighbour between {:g} and {:g} % away is lower"


class _Over(Exception):
    """The limit is reached."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.ended = status, message


def without_gradients(
    objective: Objective,
    start: Vector,
    limits: Limits,
    on_iteration: OnIteration | None = None,
    held: Flags | None = None,
    edge: float = EDGE,
    evaluate: Evaluate | None = None,
) -> SearchResult:
    """Minimise the objective from `start`; unknowns in `held` stay there.

    `evaluate` gives the point for coordinates where that is more than to score them: those that
    are held may be fitted to the others.
    """
    run = _Search(objective, limits, on_iteration, held, edge, evaluate or objective.at)
    return run.run(objective.unknowns.clipped(start))


class _Search:
    def __init__(
        self,
        objective: Objective,
        limits: Limits,
        on_iteration: OnIteration | None,
        held: Flags | None,
        edge: float,
        evaluate: Evaluate,
    ) -> None:
        self.evaluate, self.limits, self.on_iteration, self.edge = (
            evaluate,
            limits,
            on_iteration,
            edge,
        )
        self.unknowns = objective.unknowns
        self.free = np.ones(len(self.unknowns), bool) if held is None else ~held
        self.begun = perf_counter()
        self.iterations: list[Iteration] = []
        self.best: Point | None = None
        self.failure: Failure | None = None  # the last one
        self.beside: Failure | None = None  # next to the best point, in the last poll
        self.left = EVALUATIONS * limits.max_iterations * max(int(self.free.sum()), 1)

    def run(self, start: Vector) -> SearchResult:
        try:
            first = self.evaluate(start)
            if isinstance(first, Failure):
                message = f"the simulation of case '{first.case}' fails at the start values: "
                return SearchResult(None, Status.FAILED, message + first.message, ())
            self._accept(first)
            if not self.free.any():
                return self._end(Status.CONVERGED, nothing_to_search(first))
            while True:
                self._descend()
                if not self._poll():
                    return self._judged()
        except _Over as over:
            return self._end(*over.ended)
        except KeyboardInterrupt:
            return self._end(Status.INTERRUPTED, "interrupted; these are the best values so far")

    def _judged(self) -> SearchResult:
        """The end, where the poll has found nothing lower."""
        if self.beside is not None:
            return self._end(Status.FAILING_REGION, beside(self.beside))
        message = ENDED.format(100 * min(POLLED), 100 * max(POLLED))
        return self._end(Status.CONVERGED, message)

    def _descend(self) -> None:
        """One simplex from the best point, until it is as small as the tolerance."""
        from scipy.optimize import minimize

        q = self._best.q[self.free]
        low, high = self.unknowns.lower[self.free], self.unknowns.upper[self.free]
        edges = self.edge * self._sizes()[self.free]
        # inwards where there is no room outwards
        steps = np.where(q + edges <= high, edges, -edges)
        corners = np.clip(np.vstack([q, q + np.diag(steps)]), low, high)
        minimize(
            self._cost,
            q,
            method="Nelder-Mead",
            bounds=list(zip(low, high, strict=True)),
            options={
                "initial_simplex": corners,
                "xatol": max(self.limits.tolerance, 1e-10),
                # a stepped cost is often the same in all corners: only the size ends a simplex
                "fatol": np.inf,
                "maxfev": self.left + 1,
                "adaptive": len(q) > 2,
            },
        )

    def _poll(self) -> bool:
        """Whether a point around the best one is lower; it becomes the best one."""
        before, self.beside = self._best, None
        for share in POLLED:
            for k in np.flatnonzero(self.free):
                for sign in (1.0, -1.0):
                    q = before.q.copy()
                    q[k] += sign * share * self._sizes()[k]
                    self.failure = None
                    self._cost(self.unknowns.clipped(q)[self.free])
                    if share <= BESIDE and self.failure is not None:
                        self.beside = self.failure
            if self._best is not before:
                return True
        return False

    def _cost(self, free: Vector) -> float:
        if perf_counter() - self.begun > self.limits.max_seconds:
            raise _Over(Status.TIME, "time is up; these are the best values so far")
        if self.left <= 0:
            raise _Over(
                Status.ITERATIONS,
                f"not ended after {self.limits.max_iterations} iterations without gradients; "
                "raise max_iterations",
            )
        self.left -= 1
        q = self._best.q.copy()
        q[self.free] = free
        point = self.evaluate(q)
        if isinstance(point, Failure):
            self.failure = point
            return float("inf")
        if point.cost < self._best.cost:
            self._accept(point)
        return point.cost

    @property
    def _best(self) -> Point:
        assert self.best is not None
        return self.best

    def _sizes(self) -> Vector:
        return np.maximum(np.abs(self._best.q), 1.0)

    def _accept(self, point: Point) -> None:
        size = 0.0
        if self.best is not None:
            size = float(np.max(np.abs(point.q - self.best.q) / self._sizes(), initial=0.0))
        self.best = point
        seconds = perf_counter() - self.begun
        number = len(self.iterations)
        self.iterations.append(Iteration(number, point.cost, point.values, size, 0, seconds))
        if self.on_iteration:
            self.on_iteration(self.iterations[-1], point)

    def _end(self, status: Status, message: str) -> SearchResult:
        return SearchResult(self.best, status, message, tuple(self.iterations))
