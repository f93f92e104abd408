"""Refits: the search begun at an estimate, for other data or with an unknown held."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.estimate.batch.suitability import why_alone
from estimica.estimate.conclusion.freedom import Freedom, freedom
from estimica.estimate.criteria.scoring import Scales
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.accuracy import free_covariance, remaining, undetermined
from estimica.estimate.identify.twins import beside_twins
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    with_curvature_of,
)
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.run.one_start import find, limits_of
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.minimise import minimise
from estimica.estimate.search.robust_scales import with_scales
from estimica.estimate.search.run import Iteration, Limits, OnIteration, SearchResult, Status
from estimica.estimate.setup import Setup, prepare
from estimica.study.case import InputColumn
from estimica.study.study import Study

if TYPE_CHECKING:
    from estimica.estimate.batch.fits import BatchFits

#: damping of a search that begins near its end, relative to the square of the Jacobian's largest
#: column: steps are Gauss-Newton's along all directions of more than a thousandth of its effect
NEAR = 1e-6
#: iterations that a refit may always take: one that ends early is a failure, not a saving. Chosen
ITERATIONS = 50
#: distance from the optimum that is too far: in standard errors, and as a relative change. Refits
#: of well-determined models end below 1e-6 standard errors, those stuck in valleys mostly above
#: 0.1 (measured on curves with K1*K2); the second keeps noise-free data out, whose standard errors
#: are nothing but rounding
SHORT = (0.1, 1e-3)

#: how the search of a member of a batch ended, as a search says it
SETTLED = "the unknowns do not change any more"


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a worker process has to know of a fit: values, robust scales, error of the Jacobian."""

    values: Vector
    scales: Scales
    threshold: float


def estimate_of(fit: Fit) -> Estimate:
    """The estimate of a fit."""
    return Estimate(fit.values, fit.scales, fit.accuracy.threshold)


@dataclass(frozen=True, eq=False)
class FitContext:
    """A study made ready, scored as its fit was, and the coordinates of its estimate."""

    setup: Setup
    objective: Objective
    q: Vector
    threshold: float  # relative error of the Jacobian: a singular value below it counts as zero
    #: searches a refit together with those of others: (start, held, near its end) in, its end out,
    #: or none where it has to be searched alone
    joint: Callable[[Vector, Flags, bool], SearchResult | None] | None = None

    def undetermined(self, point: Point) -> Flags:
        """The unknowns that the data of this point do not determine."""
        held = np.array(bounds_reached(self, point.q), bool)
        return undetermined(point.R, held, self.threshold)


def batch_fits(place: FitContext, threads: int = 1) -> tuple[BatchFits | None, str]:
    """(what fits many sets of data together, why not what was asked for); none where each fit has
    to be searched by itself, as `[execute]` may ask for too."""
    study = place.setup.study
    asked = study.execute.backend
    if asked == "scalar":
        return None, ""
    reason = why_alone(place.objective, study.estimation)
    if reason:
        return None, "" if asked == "auto" else reason
    from estimica.estimate.batch.fits import BatchFits  # knows the engine

    limits = limits_of(study.estimation)
    found = BatchFits(place.objective, limits, place.threshold, asked, threads)
    return found, "" if asked == "auto" else found.reason


def noise_freedom_at(place: FitContext, point: Point) -> Freedom:
    """How well the residuals at a point tell the noise, with all unknowns free that have errors."""
    objective = place.objective
    judge = accuracy_objective(objective, point)
    judge = objective if isinstance(judge, str) else judge
    seen = with_curvature_of(judge, point)
    at_bound = np.array(bounds_reached(place, point.q), bool)
    moves = free_covariance(seen.R, at_bound, np.zeros(len(at_bound), bool), place.threshold)
    parts, prior = judge.parts(seen), judge.prior_rows(seen.q)
    return freedom(judge, seen.noise, parts, prior, moves.inverse)


def fit_context(study: Study, estimate: Estimate) -> FitContext:
    """The workplace of a worker process, which compiles the model once."""
    return _placed(prepare(study), estimate)


def fit_context_of(fit: Fit) -> FitContext:
    """The workplace of the process that made the fit; nothing is compiled anew."""
    return _placed(fit.setup, estimate_of(fit))


def _placed(setup: Setup, estimate: Estimate) -> FitContext:
    objective = scored(setup.calibration(), estimate.scales)
    q = objective.unknowns.clipped(objective.unknowns.coordinates(estimate.values))
    return FitContext(setup, objective, q, estimate.threshold)


def require_estimate(fit: Fit, what: str, *, noise: bool = False) -> None:
    """Refuse a fit that found nothing, or in which nothing was free; `noise` levels may do."""
    if not fit.n_free and not (noise and any(n.estimated for n in fit.noise.values())):
        raise InferError("I400", f"{what}: nothing is free in study '{fit.study.name}'; add tuners")
    if not np.isfinite(fit.cost):
        raise InferError(
            "I401", f"{what}: the fit found no estimate ({fit.outcome.message}); fix that first"
        )
    if fit.outcome.status is Status.FAILING_REGION:
        raise InferError(
            "I410",
            f"{what}: there is no optimum to look around: {fit.outcome.message}",
        )


def unfinished(fit: Fit) -> str:
    """A word where the estimate that all refits begin at is not at an optimum itself."""
    if fit.outcome.ok:
        return ""
    return f"; the fit it begins at did not converge itself ({fit.outcome.status})"


def doubts(fit: Fit, *, coloured: bool = True) -> str:
    """What a fit says against everything that begins at it: no optimum, twins, coloured residuals.

    Not `coloured` is for what holds for coloured residuals too.
    """
    told = [said for said in fit.remarks if said not in fit.study.partition.notes]
    remarks = "".join(f"; {said}" for said in told) if coloured else ""
    return unfinished(fit) + beside_twins(fit) + remarks


def refit(
    setup: Setup, cases: ResidualFunction, start: Vector, held: Flags | None = None
) -> SearchResult:
    """Fit other data from coordinates `start`; robust scales are found anew.

    There is no limit on time, so that the outcome does not depend on the machine.
    """
    if held is None and setup.study.estimation.transcription != "shooting":
        return find(setup, cases, start)

    def once(objective: Objective, q: Vector, limits: Limits) -> SearchResult:
        return _careful(objective, q, limits, held)

    return with_scales(cases, start, _limits(setup), once)


def refit_held(
    place: FitContext, start: Vector, held: Flags, told: OnIteration | None = None
) -> SearchResult:
    """The same data with unknowns held where they start, and with the scales of the fit."""
    together = _together(place, start, held, True, told)
    if together is not None:
        return together
    return _careful(place.objective, start, _limits(place.setup), held, told)


def refit_apart(
    place: FitContext, start: Vector, held: Flags, told: OnIteration | None = None
) -> SearchResult:
    """The same from a start that need not be near its end."""
    together = _together(place, start, held, False, told)
    if together is not None:
        return together
    limits = Limits(place.setup.study.estimation.tolerance, ITERATIONS)
    return minimise(place.objective, LevenbergMarquardt(), start, limits, told, held)


def _together(
    place: FitContext, start: Vector, held: Flags, near: bool, told: OnIteration | None
) -> SearchResult | None:
    """The end of a refit that was searched with others; none where it was not."""
    searched = None if place.joint is None else place.joint(start, held, near)
    if searched is not None and searched.point is not None and told is not None:
        point = searched.point
        told(Iteration(0, point.cost, point.values, 0.0, 0, 0.0), point)
    return searched


def _limits(setup: Setup) -> Limits:
    estimation = setup.study.estimation
    return Limits(estimation.tolerance, max(estimation.max_iterations, ITERATIONS))


def _careful(
    objective: Objective,
    start: Vector,
    limits: Limits,
    held: Flags | None,
    told: OnIteration | None = None,
) -> SearchResult:
    """Search as from near the end; where that leads nowhere, once more and more carefully."""
    searched = minimise(objective, LevenbergMarquardt(NEAR), start, limits, told, held)
    if searched.status in (Status.CONVERGED, Status.INTERRUPTED):
        return searched
    again = minimise(objective, LevenbergMarquardt(), start, limits, told, held)
    return again if _better(again, searched) else searched


def _better(one: SearchResult, other: SearchResult) -> bool:
    if one.point is None or other.point is None:
        return one.point is not None
    if one.status is Status.CONVERGED:
        return True
    return one.point.cost < other.point.cost


def shortfall(place: FitContext, point: Point) -> str:
    """Why a refit that stopped at this point is not at its optimum, in words; empty where it is.

    In a long valley along which the cost hardly changes a search may find nothing to gain while
    the optimum is far away. Its replicates then stay where they began and seem to be certain.
    """
    objective = place.objective
    if not len(point.q):
        return ""  # noise levels follow from the residuals
    held = np.array(bounds_reached(place, point.q), bool)
    offset, step = remaining(point.R, point.b, held, place.threshold)
    if not objective.criterion.has_unit_variance:
        freedom = max(objective.n_independent - int((~held).sum()), 1.0)
        offset /= max(math.sqrt(point.square / freedom), 1e-300)
    change = np.abs(step) / np.maximum(np.abs(point.q), 1e-3)  # as the search has it
    far = int(np.argmax(change))
    if offset <= SHORT[0] or change[far] <= SHORT[1]:
        return ""
    return (
        "it stopped in a valley along which the cost hardly changes, "
        f"short of its optimum: the data hardly determine '{objective.unknowns.items[far].label}'"
    )


def bounds_reached(place: FitContext, q: Vector) -> list[bool]:
    """Which unknowns are at a bound."""
    unknowns = place.objective.unknowns
    # rounding of a value that went to its coordinate and back, with a wide margin
    near = 1e-9 * np.maximum(1.0, np.abs(q))
    reached = (q <= unknowns.lower + near) | (q >= unknowns.upper - near)
    return [bool(r) for r in reached]


# --- input errors --------------------------------------------------------------------------------
# Errors in the inputs: what cannot be asked of a fit that estimates them along.


def refuse_input_errors(study: Study, what: str, instead: str) -> None:
    """Refuse a study in which an input has a sigma; `instead` says what serves."""
    for case in study.active_cases:
        for name, given in case.columns_of_inputs.items():
            if isinstance(given, InputColumn) and given.sigma is not None:
                raise InferError(
                    "I350",
                    f"{what}: study '{study.name}' estimates errors of input '{name}', whose "
                    f"residuals belong to those of the outputs point by point; {instead}",
                )
