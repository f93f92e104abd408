"""The search from one start, with the method and the transcription of a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from estimica.base import result as base
from estimica.base.arrays import Vector
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.methods import METHODS
from estimica.estimate.search.minimise import led_by_gradients, minimise
from estimica.estimate.search.robust_scales import with_scales
from estimica.estimate.search.run import Iteration, Limits, SearchResult
from estimica.estimate.setup import Setup
from estimica.study.estimation import Estimation


@dataclass(frozen=True, eq=False)
class Progress(base.Progress):
    """The last iteration of a fit: of its only start, or of one of several that has ended."""

    iteration: Iteration = field(kw_only=True)
    names: tuple[str, ...] = field(kw_only=True)  # of the unknowns
    start: int = 0  # which of several starts

    @property
    def share(self) -> float | None:
        """Starts that have ended; None where there is one, whose iterations nobody can tell."""
        return self.done / self.count if self.count > 1 else None

    @property
    def words(self) -> str:
        """How far it is, in words."""
        if self.count > 1:
            return f"{self.done} of {self.count} starts, cost {self.iteration.cost:.6g}"
        return f"iteration {self.iteration.number}, cost {self.iteration.cost:.6g}"

    @property
    def starts(self) -> int:
        """How many starts there are."""
        return self.count


OnProgress = Callable[[Progress], None]


def find(
    setup: Setup, cases: ResidualFunction, start: Vector, progress: OnProgress | None = None
) -> SearchResult:
    """Search from one start with the study's method and transcription."""
    estimation = setup.study.estimation
    names = tuple(u.label for u in cases.unknowns.items)

    def tell(iteration: Iteration, point: Point) -> None:
        if progress:
            progress(Progress(0, 1, iteration=iteration, names=names))

    if estimation.transcription == "multiple-shooting":
        from estimica.estimate.shooting.run import multiple_shooting

        searched = multiple_shooting(setup, cases, start, limits_of(estimation), tell)
        return led_by_gradients(cases, searched, "multiple-shooting")
    if estimation.transcription == "collocation":
        from estimica.estimate.collocation.run import collocation

        searched = collocation(setup, cases, start, limits_of(estimation), tell)
        return led_by_gradients(cases, searched, "collocation")
    return shooting(cases, estimation, start, tell)


def shooting(
    cases: ResidualFunction,
    estimation: Estimation,
    start: Vector,
    tell: Callable[[Iteration, Point], None] | None = None,
) -> SearchResult:
    """Search by simulating each case as a whole."""

    def once(objective: Objective, q: Vector, limits: Limits) -> SearchResult:
        method = METHODS[estimation.method]()
        return minimise(objective, method, q, limits, tell, persistent=True)

    return with_scales(cases, start, limits_of(estimation), once)


def limits_of(estimation: Estimation) -> Limits:
    """When the search of a study ends."""
    return Limits(estimation.tolerance, estimation.max_iterations, estimation.max_seconds)
