"""states: filtered and smoothed states of a fit, and what their equations lack."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.probability.functions import ndtri
from estimica.estimate.fit.result import Fit
from estimica.infer.states.companions import companions_of
from estimica.infer.states.evidence import noise_evidence
from estimica.infer.states.filters import (
    CaseFilter,
    case_filters,
    require_level,
    require_prediction,
)
from estimica.infer.states.result import StateCourse, States
from estimica.infer.states.words import verdict
from estimica.simulate.filter.history import Estimate, StateHistory
from estimica.simulate.filter.smoother import smoothed_states


def states(fit: Fit, *, level: float = 0.95) -> States:
    """Filtered and smoothed states with bands, and what noise has added to each between samples.

    `level` is that of the bands, each stamp by itself. They hold for the estimates as they are.
    """
    require_prediction(fit, "filtered and smoothed states")
    require_level(level)
    filters = list(case_filters(fit))
    quantile = float(ndtri((1 + level) / 2))
    found: dict[tuple[str, str], list[StateCourse]] = {}
    for one in filters:
        for course in _courses(fit, one, quantile):
            found.setdefault((course.case, course.state), []).append(course)
    courses = tuple(_joined(parts) for parts in found.values())
    evidence = noise_evidence(fit, courses)
    judged = [e.state for e in evidence if not e.at_bound]
    companions = companions_of(fit, courses, judged)
    return States(fit, level, courses, evidence, companions, verdict(evidence, companions))


def _courses(fit: Fit, one: CaseFilter, quantile: float) -> list[StateCourse]:
    history = smoothed_states(one.response, one.theta)
    units = {q.name: q.unit for q in fit.study.model_of(one.record.case).quantities()}
    case = fit.study.partition.case_of(one.name)
    step = np.concatenate([[np.nan], np.diff(history.times)])
    return [
        StateCourse(
            case,
            one.role,
            name,
            units.get(name, ""),
            history.times,
            *_column(history.filtered, k),
            *_column(history.smoothed, k),
            *_later_column(history.added, k),
            _later(_roots(history, k)),
            step,
            quantile,
        )
        for k, name in enumerate(history.states)
    ]


def _column(estimate: Estimate, k: int) -> tuple[Vector, Vector]:
    return estimate.mean[:, k], estimate.deviation[:, k]


def _later_column(estimate: Estimate, k: int) -> tuple[Vector, Vector]:
    mean, deviation = _column(estimate, k)
    return _later(mean), _later(deviation)


def _roots(history: StateHistory, k: int) -> Vector:
    found: Vector = np.sqrt(np.maximum(history.expected[:, k], 0.0))
    return found


def _later(values: Vector) -> Vector:
    """Values of intervals at the stamps where they end."""
    return np.concatenate([[np.nan], values])


def _joined(parts: list[StateCourse]) -> StateCourse:
    """Stretches between gaps, one behind the other."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    arrays = {
        n: np.concatenate([getattr(p, n) for p in parts])
        for n, v in vars(first).items()
        if isinstance(v, np.ndarray)
    }
    return StateCourse(**{**vars(first), **arrays})
