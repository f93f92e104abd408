"""MonitorSetup: a study or a fit made ready for data that arrive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.filter_predictor import FilterPredictor
from estimica.estimate.setup import prepare
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.infer.monitor.channels import Channels
from estimica.infer.monitor.step import FilterStep
from estimica.study.case import Case
from estimica.study.noise.process import PREDICTION, output_sigma
from estimica.study.record.samples import Record
from estimica.study.study import Study
from estimica.study.tuner import Tuner

LOG_SPREAD = 3.0  # times a factor of two: 2³ = 8


@dataclass(frozen=True)
class Frozen:
    """What was worked out from the data of the case as they were at first: a file that is followed
    may be the case's own, and grows."""

    starts: Mapping[str, tuple[float, float]]  # of tuners: start and lower bound
    tolerances: list[float]
    scales: list[float]
    interval: float  # seconds between samples
    origin: str
    held: list[float]  # inputs that no column gives
    widest: list[float]  # variances without any data
    is_known: bool  # whether a fit has found the unknowns
    known_until: float  # the last stamp that it has seen


@dataclass(frozen=True, eq=False)
class MonitorSetup:
    """The compiled filter of a case, its unknowns and where they begin."""

    study: Study
    record: Record
    unknowns: Unknowns
    predictor: FilterPredictor
    step: FilterStep
    channels: Channels
    q: Vector  # coordinates of the unknowns at first
    root: Vector  # of their covariance
    frozen: Frozen

    @property
    def interval(self) -> float:
        """Seconds between samples, as in the data of the case."""
        return self.frozen.interval

    def constants(self, values: Vector) -> tuple[Vector, Vector]:
        """Tuned constants of the filter, and their derivatives by the unknowns."""
        links, places = self.predictor.links, self.predictor.places
        tuned, chain = links.at(values[list(places.tuners)])
        starts = list(places.starts.values())
        if not starts:
            return tuned, chain
        full = np.zeros((len(tuned) + len(starts), len(values)))
        full[: len(tuned), list(places.tuners)] = chain
        full[len(tuned) + np.arange(len(starts)), starts] = 1.0
        return np.concatenate([tuned, values[starts]]), full


def monitor_setup(
    given: Study | Fit, case: str | None, fresh: bool, before: Frozen | None
) -> MonitorSetup:
    """What a monitor works with; the data of the case are read. `before` is what was worked out
    from them when the monitor began."""
    study, known = (given.study, given) if isinstance(given, Fit) else (given, None)
    chosen = _case(study, case)
    study = _predicted(study, chosen)
    if before is not None:
        study = study.with_(tuners=[_as_begun(t, before) for t in study.tuners])
    setup = prepare(study)
    residuals = setup.calibration()
    predictor = cast(FilterPredictor, residuals.predictors[0])
    record = setup.records[0]
    step = FilterStep(predictor, study.solver.options)
    system = step.response.configuration.tuning.equations.system
    _refuse_slopes(system.inputs, record, study)
    unknowns = residuals.unknowns
    values = np.array([_begun(u) for u in unknowns.items])
    q = unknowns.clipped(unknowns.coordinates(values))
    spread = _spreads(unknowns, q)
    root = np.diag(spread)
    if known is not None:
        q, root = _from_fit(known, study, record, unknowns, q, spread)
    frozen = before
    if frozen is None:
        until = float(step.response.times[-1]) if known is not None and not fresh else -math.inf
        widest = np.maximum(spread**2, (root**2).sum(axis=1))
        frozen = _frozen(setup.study, record, step, widest, known is not None, until)
    step.set_tolerances(frozen.tolerances, frozen.scales)
    record = replace(record, origin=frozen.origin)
    channels = Channels(record, system.inputs, np.array(frozen.held))
    return MonitorSetup(setup.study, record, unknowns, predictor, step, channels, q, root, frozen)


def _frozen(
    study: Study, record: Record, step: FilterStep, widest: Vector, is_known: bool, until: float
) -> Frozen:
    options = step.response.options
    return Frozen(
        {t.name: (t.start, t.min) for t in study.tuners if t.start is not None},
        [float(a) for a in np.atleast_1d(options.atol)],
        list(options.tuner_scales),
        _interval(record),
        record.origin,
        step.first_inputs.tolist(),
        widest.tolist(),
        is_known,
        until,
    )


def _as_begun(tuner: Tuner, before: Frozen) -> Tuner:
    if tuner.start is not None or tuner.name not in before.starts:
        return tuner
    start, low = before.starts[tuner.name]
    return replace(tuner, start=start, min=low)


def _case(study: Study, name: str | None) -> Case:
    cases = [c for c in study.active_cases if c.role == "calibrate"] or list(study.active_cases)
    if name is None:
        if not cases:
            raise InferError("I808", f"study '{study.name}' has no case; add one with data")
        return cases[0]
    for one in study.active_cases:
        if one.name == name:
            return one
    hint = did_you_mean(name, [c.name for c in study.active_cases])
    raise InferError("I808", f"study '{study.name}' has no case '{name}'{hint}")


def _predicted(study: Study, case: Case) -> Study:
    """The study of one case whose states a filter follows, without noise in them if need be."""
    noise = study.process_noise if study.estimation.criterion == PREDICTION else {}
    estimation = replace(
        study.estimation, criterion=PREDICTION, transcription="shooting", gaps="bridge",
        loss="squared",
    )  # fmt: skip
    only = replace(case, role="calibrate")
    return study.with_(cases=[only], estimation=estimation, process_noise=noise)


def _refuse_slopes(inputs: tuple[str, ...], record: Record, study: Study) -> None:
    known = {q.name for q in study.model.quantities()}
    for name in inputs:
        if name not in known and name not in record.inputs:
            raise InferError(
                "I803",
                f"model '{study.model.name}' needs derivatives of its inputs ('{name}'), which "
                "arriving data do not have; use a model without them",
            )


def _begun(unknown: Unknown) -> float:
    """Where an unknown begins: at the mean of its prior, or its start."""
    prior = unknown.prior
    if prior is None:
        return unknown.start
    exponent = {"value": None, "log": math.e, "log10": 10.0}[prior.on]
    mean = prior.mean if exponent is None else exponent**prior.mean
    return min(max(mean, unknown.min), unknown.max)


def _spreads(unknowns: Unknowns, q: Vector) -> Vector:
    """Standard deviations before any data: those of priors; else half of the value, or a factor of
    eight on a logarithmic scale, where guesses may be far off."""
    wide = np.array([LOG_SPREAD if u.log else 1.0 for u in unknowns.items])
    spread = wide * unknowns.near(q)
    slopes, values = unknowns.slopes(q), unknowns.values(q)
    for k, one in enumerate(unknowns.items):
        if one.prior is not None:
            distance = abs(one.prior.slope(float(values[k])) * slopes[k])
            spread[k] = 1 / distance if distance > 0 else spread[k]
    return spread


def _from_fit(
    fit: Fit, study: Study, record: Record, unknowns: Unknowns, q: Vector, spread: Vector
) -> tuple[Vector, Vector]:
    """Coordinates and root of their covariance as a fit has found them."""
    places = {u.label: k for k, u in enumerate(fit.unknowns.items)}
    values = unknowns.values(q)
    noise = _noise(fit, record)
    for k, one in enumerate(unknowns.items):
        if one.label in places:
            values[k] = fit.values[places[one.label]]
        elif one.name in noise:
            values[k] = noise[one.name]
    q = unknowns.clipped(unknowns.coordinates(values))
    slopes = unknowns.slopes(q)
    covariance = np.diag(spread**2)
    own = [k for k, u in enumerate(unknowns.items) if u.label in places]
    theirs = [places[unknowns.items[k].label] for k in own]
    found = fit.covariance[np.ix_(theirs, theirs)] / np.outer(slopes[own], slopes[own])
    sure = np.isfinite(np.diag(found)) & (np.diag(found) > 0)
    sure_own = np.array(own, int)[sure]
    covariance[np.ix_(sure_own, sure_own)] = found[np.ix_(sure, sure)]
    for k, one in enumerate(unknowns.items):
        if one.label not in places and one.name in noise:
            covariance[k, k] = 1 / (2 * max(fit.n_samples, 1))  # of the logarithm of a level
    return q, _root(covariance)


def _noise(fit: Fit, record: Record) -> dict[str, float]:
    """Noise levels of a fit that did not have them as tuners, by the names of their tuners."""
    levels: dict[str, float] = {}
    columns: Mapping[str, object] = record.case.columns_of_outputs
    for name in columns:
        sigma = output_sigma(name, record.case.columns_of_outputs[name])
        level = fit.noise.get(name)
        if isinstance(sigma, str) and level is not None and level.variance > 0:
            levels[sigma] = math.sqrt(level.variance)
    return levels


def _root(covariance: Vector) -> Vector:
    """L with L Lᵀ the covariance, which rounding may have made less than semidefinite."""
    scale = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    root: Vector = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def _interval(record: Record) -> float:
    """Seconds between samples: what is usual in the data of the case."""
    stamps = np.unique(np.concatenate([m.time for m in record.outputs]))
    return float(np.median(np.diff(stamps))) if len(stamps) > 1 else 1.0
