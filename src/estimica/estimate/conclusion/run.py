"""Conclusion: everything that is said of an estimate once the search has ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.conclusion.comparison import compare, nothing_to_compare
from estimica.estimate.conclusion.freedom import freedom
from estimica.estimate.conclusion.identifiability import explain
from estimica.estimate.conclusion.likelihood import information
from estimica.estimate.conclusion.simulation_error import discretisation, too_coarse
from estimica.estimate.criteria.block import Block
from estimica.estimate.criteria.roughness import SMOOTH, Rough
from estimica.estimate.fit.outputs import CaseFit, OutputComparison, joined_stretches
from estimica.estimate.fit.result import Fit, Identifiability, StartResult, fit_outcome
from estimica.estimate.identify.accuracy import Accuracy, accuracy, free_covariance
from estimica.estimate.noise_starts import is_no_noise
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    with_curvature_of,
)
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.run import SearchResult, Status
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknowns
from estimica.simulate.engine import status
from estimica.study.case import Sigma
from estimica.study.record.samples import Record
from estimica.study.stages import SETTLING

#: samples from which on the simulation's error is not measured but assumed: a simulation with a
#: hundredth of the tolerance has some 2.5 times the steps (order five), and a plain one is long
MANY = 200_000
#: per cent of a signal's variation, below which a fit explains too little. Chosen: half of the
#: variance (fit 30 % is 1 − 0.7²) is left to something that the model does not have
POOR = 30.0
OTHERS = "'multiple-shooting' or 'collocation'"
#: change of the cost, in that of one standard error, that is worth a word: 0.2 standard errors,
#: as of the simulation's tolerances
WORTH = 0.2**2


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
    # what is not there does not move from one record to the next
    absent = is_no_noise(unknowns, values, setup.noise_floors)
    finer = _finer(setup, judge, point)
    fine = finer.at(point.q) if finer else None
    fine = fine if isinstance(fine, Point) else None
    threshold = _error(setup, judge, seen, fine)
    finest = (judge, seen) if finer is None or fine is None else (finer, fine)
    still = acting | absent
    known = _accuracy(*finest, held & ~still, still, threshold).without(rough.unknowns)
    if searched.status is Status.FAILING_REGION:
        known = known.without_errors()
    likelihood = information(objective, point)
    stretches = compare(setup, objective, point)
    cases = joined_stretches(stretches, setup.study.partition)
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
        outcome=fit_outcome(searched.status, message),
        criterion=objective.criterion.name,
        cost=point.cost,
        unknowns=unknowns,
        values=values,
        at_bound=bounds,
        accuracy=known,
        noise=dict(point.noise),
        n_samples=objective.n_samples,
        aic=likelihood.aic,
        bic=likelihood.bic,
        aicc=likelihood.aicc,
        log_likelihood=likelihood.log_likelihood,
        identifiability=_identifiability(judge, finer, seen, fine, known, held),
        cases=cases,
        stretches=stretches,
        iterations=searched.iterations,
        evaluations=objective.evaluations,
        starts=starts,
        seconds=seconds,
        setup=setup,
        n_independent=objective.n_independent,
        derivatives=_derivatives(setup, objective),
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
    compared = joined_stretches(nothing_to_compare(setup), setup.study.partition)
    return Fit(
        study=setup.study,
        outcome=fit_outcome(searched.status, searched.message + advice(setup, searched, compared)),
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
        derivatives=_derivatives(setup, cases),
    )


def _derivatives(setup: Setup, cases: ResidualFunction) -> str:
    """How derivatives were found, in words."""
    own = [p for p in cases.predictors if p.derivatives]
    if not own:
        return setup.study.model.derivatives
    return max(own, key=lambda p: p.precision or 0.0).derivatives


def _precision(setup: Setup, cases: ResidualFunction) -> float | None:
    """Their relative error, where no tolerance decides."""
    own = [p.precision for p in cases.predictors if p.precision is not None]
    return max(own) if own else setup.study.model.precision


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
    if objective.n_samples > MANY or _precision(setup, objective) is not None:
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
    known = _precision(setup, objective)
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


# --- Advice: what to try where a search has ended in a poor place.


def advice(setup: Setup, searched: SearchResult, cases: Sequence[CaseFit]) -> str:
    """A sentence to append to the outcome; empty where all is well."""
    if searched.status is Status.FAILING_REGION:
        return _at_failures(setup)
    study = setup.study
    if not study.model.has_time or study.estimation.transcription != "shooting":
        return ""
    if status.TEXTS[status.CHATTERING] in searched.message:
        return ""  # its own advice is the way out: the model chatters wherever one starts
    if searched.status is Status.FAILED:
        return (
            "; start nearer to the truth, or, if the model is unstable, use "
            f"transcription = {OTHERS}"
        )
    point = searched.point
    if searched.status is Status.STALLED and point is not None and point.R.any():
        return f"; or use transcription = {OTHERS}"
    if searched.status is Status.INTERRUPTED or point is None or not point.R.any():
        return ""
    for case in cases:
        for output in case.outputs:
            if case.role == "calibrate" and _is_poor(output):
                return (
                    f"; little of '{output.name}' in '{case.name}' is explained: if that is not "
                    "noise, start elsewhere (starts = 20), or, if the model is unstable or "
                    f"chaotic, use transcription = {OTHERS}"
                )
    return ""


def _is_poor(output: OutputComparison) -> bool:
    """Whether the model leaves most of the variation; one sample, or a constant, has none."""
    explained = output.explained_percent
    return math.isfinite(explained) and explained < POOR


def _at_failures(setup: Setup) -> str:
    """A way without simulations, where there is one; and why there are no standard errors."""
    left_out = "; there are no standard errors: they hold at an optimum only"
    study = setup.study
    if not study.model.has_time or study.estimation.transcription != "shooting":
        return left_out
    return f"; transcription = 'collocation' simulates nothing on the way{left_out}"


# --- Noise floor: what is said where `ml` does not find a noise level but holds it at a bound.


def held_noise(objective: Objective, point: Point) -> str:
    """A sentence to append to the outcome; empty where every noise level was found or known."""
    held = [n for n, noise in point.noise.items() if noise.estimated and noise.at_bound]
    return "".join(_told(objective, point, name) for name in held)


def _told(objective: Objective, point: Point, name: str) -> str:
    level, spread = math.sqrt(point.noise[name].variance), _spread(objective, point, name)
    if spread > level:
        where = f"upper bound {level:.3g}, although residuals of {spread:.3g} are left"
    elif any(b.name == name and _has_least(b, level) for b in objective.blocks):
        where = f"lower bound {level:.3g}, although only residuals of {spread:.3g} are left"
    else:
        where = (
            f"floor {level:.3g}, a millionth of what the signal varies: residuals of {spread:.3g} "
            "are left, as of data without noise"
        )
    return (
        f"; the noise of '{name}' is held at its {where}; standard errors, intervals, AIC and BIC "
        "are those of noise of that level"
    )


def _spread(objective: Objective, point: Point, name: str) -> float:
    """Root mean square of an output's weighted residuals."""
    predictions = point.predictions or objective.predict(point.values)
    assert isinstance(predictions, (list, tuple)), "the point was simulated before"
    own = [
        (block.scaling * residual, block.count)
        for block, residual in zip(objective.blocks, objective.residuals(predictions), strict=True)
        if block.name == name and not isinstance(block.sigma, float)
    ]
    count = sum(n for _, n in own)
    return math.sqrt(sum(float(np.sum(r**2)) for r, _ in own) / max(count, 1))


def _has_least(block: Block, level: float) -> bool:
    """Whether the study sets this lower bound."""
    return isinstance(block.sigma, Sigma) and math.isclose(block.sigma.min, level)


# --- Settling: whether cases that begin long before their data have come to rest by then.


def unsettled(setup: Setup, point: Point, n_samples: int) -> str:
    """A word where cases that were left alone before their data would be elsewhere after longer.

    They are begun once more as early again; what that does to the cost is what counts, since a
    quantity that drifts and that nothing depends on does no harm.
    """
    early = {r.case.name for r in setup.records if _is_left_alone(r)}
    if not early or point.predictions is not None:
        return ""
    study = setup.study
    begins = {r.case.name: r.begin - SETTLING for r in setup.records}
    cases = [replace(c, begin=begins[c.name]) if c.name in early else c for c in study.active_cases]
    again = scored(prepare(study.with_(cases=cases)).calibration(), point.scales).at(point.q)
    change = abs(again.cost - point.cost) if isinstance(again, Point) else math.inf
    if change <= WORTH * point.square / n_samples:
        return ""
    names = ", ".join(f"'{n}'" for n in sorted(early)[:3]) + (", …" if len(early) > 3 else "")
    told = f"the cost changes by {change:.3g}" if change < math.inf else "they cannot be simulated"
    return (
        f"; not every model state is steady before the data of {names}: begun {SETTLING:g} units "
        f"of time earlier {told}; give these cases an earlier begin in "
        "the study that 'estimica new' writes"
    )


def _is_left_alone(record: Record) -> bool:
    """Whether a case begins so early that it is meant to be steady when its data begin."""
    times = [float(m.time.min()) for m in record.outputs if len(m.time)]
    calibrates = record.case.role == "calibrate" and record.case.begin_time is not None
    return calibrates and bool(times) and min(times) - record.begin >= SETTLING
