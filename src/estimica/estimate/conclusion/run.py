"""Conclusion: everything that is said of an estimate once the search has ended."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.conclusion.advice import advice
from estimica.estimate.conclusion.coarseness import too_coarse
from estimica.estimate.conclusion.comparison import compare, nothing_to_compare
from estimica.estimate.conclusion.discretisation import discretisation
from estimica.estimate.conclusion.freedom import freedom
from estimica.estimate.conclusion.identifiability import explain
from estimica.estimate.conclusion.likelihood import information
from estimica.estimate.conclusion.noise_floor import held_noise
from estimica.estimate.conclusion.settling import unsettled
from estimica.estimate.criteria.roughness import SMOOTH, Rough
from estimica.estimate.fit.result import Fit, Identifiability, Outcome, StartResult
from estimica.estimate.identify.accuracy import Accuracy, accuracy, free_covariance
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    with_curvature_of,
)
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import SearchResult, Status
from estimica.estimate.setup import Setup
from estimica.estimate.unknowns import Unknowns

MANY = 200_000  # samples from which on the simulation's error is not measured but assumed


def conclude(
    setup: Setup,
    calibrating: ResidualFunction,
    searched: SearchResult,
    starts: tuple[StartResult, ...],
    seconds: float,
) -> Fit:
    """The fit that a search has led to; everything is judged with the scales of its point."""
    if searched.point is None:
        return _without_estimate(setup, calibrating, searched, starts, seconds)
    point = searched.point
    objective = scored(calibrating, point.scales)
    unknowns, values = objective.unknowns, point.values
    bounds = _bounds(unknowns, point.q)
    judge, rough = _judged_by(objective, point, searched.rough)
    seen = with_curvature_of(judge, point)
    acting = np.zeros(len(values), bool)
    acting[list(rough.unknowns)] = True
    held = np.array([bool(b) for b in bounds], bool) | acting
    finer = _finer(setup, judge, point)
    fine = finer.at(point.q) if finer else None
    fine = fine if isinstance(fine, Point) else None
    threshold = _error(setup, judge, seen, fine)
    finest = (judge, seen) if finer is None or fine is None else (finer, fine)
    known = _accuracy(*finest, held & ~acting, acting, threshold).without(rough.unknowns)
    if searched.status is Status.FAILING_REGION:
        known = known.without_errors()
    told = information(objective, point)
    cases = compare(setup, objective, point)
    message = _message(searched, objective) + advice(setup, searched, cases)
    message += _no_errors(rough, unknowns) + held_noise(objective, point)
    # the optimum of a criterion with kinks is not that of the smooth one it is judged by
    judged = judge is objective and searched.status is Status.CONVERGED
    if finer is not None and fine is not None and judged:
        message += too_coarse(finer, point, fine, known, held)
    message += unsettled(setup, point, objective.n_samples)
    halved = discretisation(setup, judge, seen, known, held)
    if halved is not None and searched.status is Status.CONVERGED:
        message += halved.warning
    return Fit(
        study=setup.study,
        outcome=Outcome(searched.status, message),
        criterion=objective.criterion.name,
        cost=point.cost,
        unknowns=unknowns,
        values=values,
        at_bound=bounds,
        accuracy=known,
        noise=dict(point.noise),
        n_samples=objective.n_samples,
        aic=told.aic,
        bic=told.bic,
        aicc=told.aicc,
        log_likelihood=told.log_likelihood,
        identifiability=_identifiability(judge, finer, seen, fine, known, held),
        cases=cases,
        iterations=searched.iterations,
        evaluations=objective.evaluations,
        starts=starts,
        seconds=seconds,
        setup=setup,
        n_independent=objective.n_independent,
        derivatives=setup.study.model.derivatives,
        discretisation=halved,
        scales=point.scales,
        rough=rough,
    )


def _judged_by(objective: Objective, point: Point, known: Rough | None) -> tuple[Objective, Rough]:
    """The objective whose curvature tells of the accuracy, and what has none."""
    if known is not None:
        return objective, known
    judge = accuracy_objective(objective, point)
    if isinstance(judge, Objective):
        return judge, SMOOTH
    return objective, Rough(judge, tuple(range(len(point.q))))


def _no_errors(rough: Rough, unknowns: Unknowns) -> str:
    """A word on what has no standard error, and why."""
    if not rough.reason:
        return ""
    if len(rough.unknowns) == len(unknowns):
        return f"; {rough.reason}: there are no standard errors; take a bootstrap"
    names = " and ".join(f"'{unknowns.items[k].label}'" for k in rough.unknowns)
    return (
        f"; {rough.reason}; {names} {'has' if len(rough.unknowns) == 1 else 'have'} no standard "
        "error, and those of the others hold for it staying where it is; take a profile"
    )


def _without_estimate(
    setup: Setup,
    cases: ResidualFunction,
    searched: SearchResult,
    starts: tuple[StartResult, ...],
    seconds: float,
) -> Fit:
    """What is said where not even the start could be evaluated."""
    unknowns = cases.unknowns
    q = unknowns.clipped(unknowns.start)
    known = Accuracy.none(len(q))
    compared = nothing_to_compare(setup)
    return Fit(
        study=setup.study,
        outcome=Outcome(searched.status, searched.message + advice(setup, searched, compared)),
        criterion=cases.wanted.name,
        cost=math.inf,
        unknowns=unknowns,
        values=unknowns.values(q),
        at_bound=_bounds(unknowns, q),
        accuracy=known,
        noise={},
        n_samples=cases.n_samples,
        aic=math.nan,
        bic=math.nan,
        identifiability=Identifiability(0, len(q), np.zeros(0), 0.0, (), ()),
        cases=compared,
        iterations=searched.iterations,
        evaluations=cases.evaluations,
        starts=starts,
        seconds=seconds,
        setup=setup,
        n_independent=cases.n_independent,
        derivatives=setup.study.model.derivatives,
    )


def _bounds(unknowns: Unknowns, q: Vector) -> tuple[str, ...]:
    """Which bound each unknown is at."""
    return tuple(_at_bound(unknowns.lower[k], unknowns.upper[k], x) for k, x in enumerate(q))


def _at_bound(low: float, high: float, q: float) -> str:
    near = 1e-9 * max(1.0, abs(q))
    return "min" if q <= low + near else "max" if q >= high - near else ""


def _message(searched: SearchResult, objective: Objective) -> str:
    failed = objective.evaluations.failed
    if not failed:
        return searched.message
    return f"{searched.message}; {failed} simulations failed on the way and were passed over"


def _finer(setup: Setup, objective: Objective, point: Point) -> Objective | None:
    """The same objective with much tighter tolerances, where that means something."""
    solver = setup.study.solver
    if point.predictions is not None or not setup.study.model.has_time:
        return None
    if objective.n_samples > MANY or setup.study.model.precision is not None:
        return None
    # states far below the absolute tolerance are simulated without control: this one sees them
    tight = replace(solver, rtol=max(solver.rtol / 100, 1e-13), atol=1e-6 * solver.atol)
    return Objective(setup.calibration(tight), objective.criterion)


def _accuracy(
    objective: Objective, point: Point, at_bound: Flags, rough: Flags, threshold: float
) -> Accuracy:
    """The accuracy at a point, as the objective there has it."""
    moves = free_covariance(point.R, at_bound, rough, threshold)
    parts, prior = objective.parts(point), objective.prior_rows(point.q)
    known = freedom(objective, point.noise, parts, prior, moves.inverse)
    return accuracy(
        point.R,
        objective.unknowns,
        point.q,
        at_bound | rough,
        moves,
        covariance=known.covariance,
        freedom=known.of(),
        threshold=threshold,
    )


def _error(setup: Setup, objective: Objective, point: Point, fine: Point | None) -> float:
    """The relative error of the Jacobian, measured where it can be: what counts as rank zero."""
    most = 10 * setup.study.solver.rtol
    if point.predictions is not None:
        return 1e-14
    if not setup.study.model.has_time:
        return 1e-13 * math.sqrt(max(objective.n_samples, 1))
    known = setup.study.model.precision
    if known is not None:
        return known
    if fine is None:
        return most
    scale = np.linalg.norm(fine.R, axis=0)
    scale[scale == 0] = 1.0
    # R is unique up to the signs of its rows
    signs = np.sign(np.diag(fine.R)) * np.sign(np.diag(point.R))
    difference = (fine.R - signs[:, None] * point.R) / scale
    error = float(np.linalg.norm(difference, 2)) if difference.size else 0.0
    return min(max(error, 1e-11), most)


def _identifiability(
    objective: Objective,
    finer: Objective | None,
    point: Point,
    fine: Point | None,
    known: Accuracy,
    held: Flags,
) -> Identifiability:
    if finer is not None and fine is not None and len(known.null_directions):
        return explain(finer, fine, known, held)
    return explain(objective, point, known, held)
