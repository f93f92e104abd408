"""Search: goes from one point of the objective to a better one until nothing is gained.

The methods differ in the step they propose; the loop around them is one: it keeps to the bounds,
takes a failed simulation as a rejected step, and always holds the best point so far.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

import numpy as np
import numpy.typing as npt

from estimica.estimate.objective import Objective, Point
from estimica.estimate.prediction import Failure

Vector = npt.NDArray[np.float64]
REJECTIONS = 60  # in a row, after which no shorter step will help
FAR = 1e30  # coordinates are of size one: beyond this the cost falls without end
NOISE = 1e-6  # relative gain below which a rejected step shows the limit of the simulation


class Status(StrEnum):
    """How a search ended."""

    CONVERGED = "converged"
    ITERATIONS = "iteration limit"
    TIME = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    FAILED = "failed"


@dataclass(frozen=True)
class Limits:
    """When a search ends."""

    tolerance: float = 1e-8
    max_iterations: int = 200
    max_seconds: float = float("inf")


@dataclass(frozen=True, eq=False)
class Iteration:
    """A point that the search has accepted."""

    number: int
    cost: float
    values: Vector
    step: float  # largest relative change of a coordinate
    rejected: int  # points tried in vain before this one
    seconds: float


@dataclass(frozen=True, eq=False)
class Searched:
    """Where a search ended, and the way there; there is no point where even the start fails."""

    point: Point | None
    status: Status
    message: str
    iterations: tuple[Iteration, ...]


class Method(ABC):
    """Proposes steps from a point and learns from what became of them."""

    @abstractmethod
    def propose(
        self, point: Point, free: npt.NDArray[np.bool_], low: Vector, high: Vector
    ) -> Vector:
        """A step in the coordinates that are free, between low and high; the others stay."""

    @abstractmethod
    def accepted(self, gain: float) -> None:
        """The step was good: `gain` is the actual over the predicted reduction."""

    @abstractmethod
    def rejected(self, failed: bool) -> None:
        """The step was bad, or its simulation failed: be more careful."""


OnIteration = Callable[[Iteration, Point], None]


def search(
    objective: Objective,
    method: Method,
    start: Vector,
    limits: Limits,
    on_iteration: OnIteration | None = None,
    held: npt.NDArray[np.bool_] | None = None,
) -> Searched:
    """Minimise the objective from coordinates `start`; unknowns marked in `held` stay there."""
    return _Search(objective, method, limits, on_iteration, held).run(start)


class _Search:
    def __init__(
        self,
        objective: Objective,
        method: Method,
        limits: Limits,
        told: OnIteration | None,
        held: npt.NDArray[np.bool_] | None,
    ) -> None:
        self.objective = objective
        self.unknowns = objective.unknowns
        self.method = method
        self.limits = limits
        self.told = told
        self.held = np.zeros(len(self.unknowns), bool) if held is None else held
        self.begun = perf_counter()
        self.iterations: list[Iteration] = []
        self.point: Point | None = None

    def run(self, start: Vector) -> Searched:
        try:
            first = self.objective.at(self.unknowns.clipped(start))
            if isinstance(first, Failure):
                return self._end(
                    Status.FAILED,
                    f"the simulation of case '{first.case}' fails at the start values: "
                    f"{first.message}",
                )
            self._accept(first, 0.0, 0)
            if self.held.all():
                return self._end(Status.CONVERGED, "nothing is free; the cost was evaluated")
            while len(self.iterations) <= self.limits.max_iterations:
                ended = self._iterate()
                if ended:
                    return self._end(*ended)
        except KeyboardInterrupt:
            return self._end(Status.INTERRUPTED, "interrupted; these are the best values so far")
        return self._end(
            Status.ITERATIONS,
            f"not converged after {self.limits.max_iterations} iterations; raise max_iterations, "
            "or look whether the data determine all tuners",
        )

    def _iterate(self) -> tuple[Status, str] | None:
        """Find a better point; a status where there is none to be found."""
        point = self.point
        assert point is not None
        free = self._free(point)
        if not point.R[:, ~self.held].any():
            return Status.STALLED, "no unknown has any effect on the outputs; check the study"
        if np.max(np.abs(point.q)) > FAR:
            return Status.STALLED, "the cost falls without end; check the criterion, or set bounds"
        if not free.any():
            return Status.CONVERGED, "every unknown is at a bound"
        if _is_flat(point, free):
            return Status.CONVERGED, "the gradient vanishes"
        failures = 0
        for tries in range(REJECTIONS):
            if perf_counter() - self.begun > self.limits.max_seconds:
                return Status.TIME, "time is up; these are the best values so far"
            low, high = self.unknowns.lower - point.q, self.unknowns.upper - point.q
            step = self._within_reach(self.method.propose(point, free, low, high), point.q)
            q = self.unknowns.clipped(point.q + step)
            step = q - point.q
            size = _relative(step, point.q)
            predicted = -float(2 * point.gradient @ step + np.sum((point.R @ step) ** 2))
            if size <= 1e-3 * self.limits.tolerance:
                return self._no_shorter(failures, tries)
            trial = self.objective.at(q) if predicted > 0 else None
            if isinstance(trial, Point) and trial.cost < point.cost:
                gained = point.cost - trial.cost
                self.method.accepted(gained / predicted)
                self._accept(trial, size, tries)
                if size <= self.limits.tolerance or gained <= 1e-15 * point.square:
                    return Status.CONVERGED, "the unknowns do not change any more"
                return None
            failures += isinstance(trial, Failure)
            if isinstance(trial, Point) and predicted <= NOISE * point.square:
                return Status.CONVERGED, "nothing more is gained within the simulation's accuracy"
            self.method.rejected(isinstance(trial, Failure))
        return self._no_shorter(failures, REJECTIONS)

    def _no_shorter(self, failures: int, tries: int) -> tuple[Status, str]:
        if failures > tries // 2:
            return (
                Status.STALLED,
                "every further step leads to a failed simulation; set bounds that keep the tuners "
                "where the model works, or try transcription = 'multiple-shooting'",
            )
        if self._settled():
            return Status.CONVERGED, "nothing more is gained within the simulation's accuracy"
        return (
            Status.STALLED,
            "no shorter step lowers the cost; tighten [solver] rtol, start elsewhere "
            "(starts = 20), or try transcription = 'multiple-shooting'",
        )

    def _settled(self) -> bool:
        """Whether the cost is all but stationary in units of its own noise."""
        point = self.point
        assert point is not None
        free = self._free(point)
        R = np.linalg.qr(point.R[:, free], mode="r")
        gradient = point.gradient[free]
        scale = np.linalg.norm(R, axis=0)
        scale[scale == 0] = 1.0
        # the cosines between ρ and the columns of J
        return bool(np.max(np.abs(gradient) / scale) <= 1e-3 * np.sqrt(point.square))

    def _within_reach(self, step: Vector, q: Vector) -> Vector:
        """A step that is not believed beyond the reach of a linear model."""
        excess = float(np.max(np.abs(step) / self.unknowns.reach(q)))
        return step / excess if excess > 1 else step

    def _free(self, point: Point) -> npt.NDArray[np.bool_]:
        g, q = point.gradient, point.q
        held = ((q <= self.unknowns.lower) & (g > 0)) | ((q >= self.unknowns.upper) & (g < 0))
        # a column of zeros can only be scaled by chance: such an unknown stays
        free: npt.NDArray[np.bool_] = ~(held | self.held) & (np.abs(point.R).sum(axis=0) > 0)
        return free

    def _accept(self, point: Point, size: float, rejected: int) -> None:
        self.point = point
        iteration = Iteration(
            len(self.iterations),
            point.cost,
            point.values,
            size,
            rejected,
            perf_counter() - self.begun,
        )
        self.iterations.append(iteration)
        if self.told:
            self.told(iteration, point)

    def _end(self, status: Status, message: str) -> Searched:
        return Searched(self.point, status, message, tuple(self.iterations))


def _relative(step: Vector, q: Vector) -> float:
    return float(np.max(np.abs(step) / np.maximum(np.abs(q), 1e-3)))


def _is_flat(point: Point, free: npt.NDArray[np.bool_]) -> bool:
    scale = np.linalg.norm(point.R[:, free], axis=0)
    return bool(np.all(np.abs(point.gradient[free]) <= 1e-12 * scale * np.sqrt(point.square)))
