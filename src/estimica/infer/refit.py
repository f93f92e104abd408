"""Refits: the search begun at an estimate, for other data or with an unknown held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.errors import InferError
from estimica.estimate.estimator import adapt, find
from estimica.estimate.fit import Fit
from estimica.estimate.methods import LevenbergMarquardt
from estimica.estimate.objective import Objective
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
    """A study made ready, and the coordinates of its estimate."""

    setup: Setup
    objective: Objective
    q: Vector


def workplace(study: Study, values: Vector) -> Workplace:
    """The workplace of a worker process, which compiles the model once."""
    return _placed(prepare(study), values)


def workplace_of(fit: Fit) -> Workplace:
    """The workplace of the process that made the fit; nothing is compiled anew."""
    return _placed(fit.setup, fit.values)


def _placed(setup: Setup, values: Vector) -> Workplace:
    objective = setup.calibration()
    q = objective.unknowns.clipped(objective.unknowns.coordinates(values))
    adapt(objective, q)  # robust scales, where the criterion has some
    return Workplace(setup, objective, q)


def require_estimate(fit: Fit, what: str) -> None:
    """Refuse a fit that found nothing, or in which nothing was free."""
    if not fit.n_free:
        raise InferError("I400", f"{what}: nothing is free in study '{fit.study.name}'; add tuners")
    if not np.isfinite(fit.cost):
        raise InferError(
            "I401", f"{what}: the fit found no estimate ({fit.outcome.message}); mend that first"
        )


def refit(
    place: Workplace, objective: Objective, start: Vector, held: Flags | None = None
) -> Searched:
    """Search from coordinates `start`; where that leads nowhere, once more and more carefully.

    There is no limit on time, so that the outcome does not depend on the machine.
    """
    estimation = place.setup.study.estimation
    whole = estimation.transcription == "shooting" and not objective.criterion.scales()
    if held is None and not whole:
        return find(place.setup, objective, start)
    limits = Limits(estimation.tolerance, max(estimation.max_iterations, ITERATIONS))
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
