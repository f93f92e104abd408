"""Refits: the search begun at an estimate, for other data or with an unknown held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.errors import InferError
from estimica.estimate.criterion import Scales
from estimica.estimate.disagreement import Disagreement
from estimica.estimate.estimator import find
from estimica.estimate.fit import Fit
from estimica.estimate.methods import LevenbergMarquardt
from estimica.estimate.objective import Objective, scored
from estimica.estimate.scales import with_scales
from estimica.estimate.search import Limits, Searched, Status, search
from estimica.estimate.setup import Setup, prepare
from estimica.study.study import Study

Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: damping of a search that begins near its end, relative to the Jacobian's largest column
NEAR = 1e-6
#: iterations that a refit may always take: one that ends early is a failure, not a saving
ITERATIONS = 50


@dataclass(frozen=True, eq=False)
class Workplace:
    """A study made ready, scored as its fit was, and the coordinates of its estimate."""

    setup: Setup
    objective: Objective
    q: Vector


def workplace(study: Study, values: Vector, scales: Scales) -> Workplace:
    """The workplace of a worker process, which compiles the model once."""
    return _placed(prepare(study), values, scales)


def workplace_of(fit: Fit) -> Workplace:
    """The workplace of the process that made the fit; nothing is compiled anew."""
    return _placed(fit.setup, fit.values, fit.scales)


def _placed(setup: Setup, values: Vector, scales: Scales) -> Workplace:
    objective = scored(setup.calibration(), scales)
    q = objective.unknowns.clipped(objective.unknowns.coordinates(values))
    return Workplace(setup, objective, q)


def require_estimate(fit: Fit, what: str) -> None:
    """Refuse a fit that found nothing, or in which nothing was free."""
    if not fit.n_free:
        raise InferError("I400", f"{what}: nothing is free in study '{fit.study.name}'; add tuners")
    if not np.isfinite(fit.cost):
        raise InferError(
            "I401", f"{what}: the fit found no estimate ({fit.outcome.message}); mend that first"
        )
    if fit.outcome.status is Status.FAILING_REGION:
        raise InferError(
            "I410",
            f"{what}: there is no optimum to look around: {fit.outcome.message}",
        )


def refit(setup: Setup, cases: Disagreement, start: Vector, held: Flags | None = None) -> Searched:
    """Fit other data from coordinates `start`; robust scales are found anew.

    There is no limit on time, so that the outcome does not depend on the machine.
    """
    if held is None and setup.study.estimation.transcription != "shooting":
        return find(setup, cases, start)

    def once(objective: Objective, q: Vector, limits: Limits) -> Searched:
        return _careful(objective, q, limits, held)

    return with_scales(cases, start, _limits(setup), once)


def refit_held(place: Workplace, start: Vector, held: Flags) -> Searched:
    """The same data with unknowns held where they start, and with the scales of the fit."""
    return _careful(place.objective, start, _limits(place.setup), held)


def _limits(setup: Setup) -> Limits:
    estimation = setup.study.estimation
    return Limits(estimation.tolerance, max(estimation.max_iterations, ITERATIONS))


def _careful(objective: Objective, start: Vector, limits: Limits, held: Flags | None) -> Searched:
    """Search as from near the end; where that leads nowhere, once more and more carefully."""
    searched = search(objective, LevenbergMarquardt(NEAR), start, limits, held=held)
    if searched.status in (Status.CONVERGED, Status.INTERRUPTED):
        return searched
    again = search(objective, LevenbergMarquardt(), start, limits, held=held)
    return again if _better(again, searched) else searched


def _better(one: Searched, other: Searched) -> bool:
    if one.point is None or other.point is None:
        return one.point is not None
    if one.status is Status.CONVERGED:
        return True
    return one.point.cost < other.point.cost


def bounds_reached(place: Workplace, q: Vector) -> list[bool]:
    """Which unknowns are at a bound."""
    unknowns = place.objective.unknowns
    near = 1e-9 * np.maximum(1.0, np.abs(q))
    reached = (q <= unknowns.lower + near) | (q >= unknowns.upper - near)
    return [bool(r) for r in reached]
