"""Second model: does what a fit leaves open matter for another model or another experiment?

Along an undetermined direction the outputs of the first study stay as they are. The second model is
evaluated along it too: where it stays as it is as well, any value will do; where it changes, the
direction must be determined by other data first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError, InferError
from estimica.compiled.model.interface import Model
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective, Point, scored
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import prepare
from estimica.infer.second_model.result import Direction, Effect, SecondModel
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner

#: value of a tuner, relative to its scale, that is about zero. Chosen: shares of it mean nothing
ZERO = 1e-6
#: effect of a tuner, relative to the largest, that is rounding. Chosen: far above it, and far below
#: any effect that data could show
NOTHING = 1e-9
#: times what the first model changes, from which on a change is the second's own. Chosen: along a
#: direction that is null to first order the first changes a little too, by its curvature
CLEAR = 3.0


def second_model(
    fit: Fit,
    other: Study | Model,
    *,
    cases: Sequence[Case] = (),
    change: float = 0.1,
    threshold: float = 1e-3,
) -> SecondModel:
    """Which undetermined directions of a fit change the outputs of another study, and how much.

    `other` is a study, or a model with `cases` that say its inputs, outputs and stamps; measured
    values are not compared. Tuners go by their names. Along each direction the tuners move by
    `change` of their values, up and down; an output that changes by more than `threshold` of its
    RMS matters. Tuners of the fit that are held (`active = false`) may move too.
    """
    if not np.isfinite(fit.cost):
        raise InferError(
            "I360", f"second model: the fit found no estimate ({fit.outcome.message}); fix that"
        )
    if not 0 < change < 1:
        raise InferError("I361", f"second model: change {change:g} is not between 0 and 1")
    first = _first(fit)
    second, missing = _second(fit, first.names, other, cases)
    rows = _ranked(first, second)
    directions = tuple(_judged(first, second, row, change, threshold) for row in rows)
    return SecondModel(fit, other.name, change, threshold, directions, tuple(missing))


@dataclass(frozen=True, eq=False)
class _Side:
    """One study as a function of the tuners: labels of its outputs, values and slopes."""

    names: tuple[str, ...]
    values: Vector
    labels: tuple[tuple[str, str], ...]
    at: Callable[[Vector], tuple[list[Vector], list[Vector]] | str] = field(repr=False)
    size: Vector  # what changes of the tuners are relative to
    null: Vector = field(default_factory=lambda: np.zeros((0, 0)))  # in relative changes


def _sized(objective: ResidualFunction, values: Vector) -> Vector:
    """What changes are relative to: the value, or the scale of a tuner that is about zero."""
    scale = np.array([u.scale for u in objective.unknowns.items])
    return np.where(np.abs(values) > ZERO * scale, np.abs(values), scale)


def _first(fit: Fit) -> _Side:
    """The fit's own study, with its held tuners let free, and its null directions."""
    tuners = [_freed(fit, t) if t.active or t.start is not None else t for t in fit.study.tuners]
    try:
        setup = prepare(fit.study.with_(tuners=tuners))
        objective = scored(setup.calibration(), fit.scales)
    except EstimicaError as error:
        raise InferError("I362", f"second model: {error.message}") from None
    values = _all_values(fit, objective)
    point = objective.at(objective.unknowns.coordinates(values))
    if isinstance(point, Failure):
        raise InferError("I362", f"second model: the first one fails: {point.message}")
    names = tuple(u.label for u in objective.unknowns.items)
    null = _null(objective, point, max(fit.accuracy.threshold, 1e-11))
    return _side(objective, names, values, null)


def _freed(fit: Fit, tuner: Tuner) -> Tuner:
    """A tuner at its estimate, or where it was held, without bounds."""
    start = fit.estimates.get(tuner.name, tuner.start)
    sizes = [u.scale for u in fit.unknowns.items if u.kind == "tuner" and u.name == tuner.name]
    return Tuner(
        tuner.name,
        start=start,
        drives=tuner.drives,
        scale=sizes[0] if sizes else "auto",
    )


def _all_values(fit: Fit, objective: ResidualFunction) -> Vector:
    """Estimates, and the starts of what was held."""
    found = {u.label: float(v) for u, v in zip(fit.unknowns.items, fit.values, strict=True)}
    return np.array([found.get(u.label, u.start) for u in objective.unknowns.items])


def _null(objective: Objective, point: Point, threshold: float) -> Vector:
    """Null directions as relative changes, orthonormal."""
    if not len(point.values):
        return np.zeros((0, 0))
    relative = point.R / objective.unknowns.slopes(point.q) * _sized(objective, point.values)
    norms = np.linalg.norm(relative, axis=0)
    seen = norms > NOTHING * norms.max()
    relative = np.where(seen, relative, 0.0)
    scale = np.where(seen, norms, 1.0)
    _, s, Vt = np.linalg.svd(relative / scale)
    lost = s <= threshold * (s[0] if s[0] > 0 else 1.0)
    null = Vt[lost] / scale
    if not len(null):
        return np.zeros((0, len(scale)))
    return np.asarray(np.linalg.qr(null.T)[0].T)


def _side(
    objective: ResidualFunction, names: tuple[str, ...], values: Vector, null: Vector
) -> _Side:
    blocks = [b for b in objective.blocks if not b.measured.is_input]
    kept = [not b.measured.is_input for b in objective.blocks]
    columns = [p.columns for p in objective.predictors for _ in p.record.outputs]

    def at(moved: Vector) -> tuple[list[Vector], list[Vector]] | str:
        found = objective.predict(moved)
        if isinstance(found, Failure):
            return f"case '{found.case}': {found.message}"
        slopes = []
        for one, own in zip(found, columns, strict=True):
            whole = np.zeros((len(one.value), len(values)))
            whole[:, list(own)] = one.slope
            slopes.append(whole)
        chosen = [k for k, keep in enumerate(kept) if keep]
        return [found[k].value for k in chosen], [slopes[k] for k in chosen]

    labels = tuple((b.case, b.name) for b in blocks)
    return _Side(names, values, labels, at, _sized(objective, values), null)


def _second(
    fit: Fit, names: Sequence[str], other: Study | Model, cases: Sequence[Case]
) -> tuple[_Side, list[str]]:
    """The other study as a function of the fit's tuners, and tuners that it does not have."""
    if isinstance(other, Model):
        if not cases:
            raise InferError(
                "I363", "second model: a model needs cases that say its inputs and outputs"
            )
        study = Study(other, [], cases)
    elif isinstance(other, Study):
        study = other
    else:
        raise InferError(
            "I363", f"second model: give a study, or a model with cases, not {other!r:.60}"
        )
    known = {q.name for q in study.model.quantities()}
    own = {t.name: t for t in fit.study.tuners}
    shared = [t for n, t in own.items() if n in names and set(study.driven(t)) <= known]
    missing = [n for n, t in own.items() if n in names and t not in shared]
    if not shared:
        raise InferError(
            "I364",
            f"second model '{study.name}' has none of the tuners {', '.join(own)} as a parameter; "
            "the names must be the same",
        )
    moved = [_freed(fit, t) for t in shared]
    rest = [replace(t, active=False) for t in study.tuners if t.name not in own]
    all_cases = [replace(c, role="calibrate") for c in study.active_cases]
    objective = prepare(study.with_(tuners=[*moved, *rest], cases=all_cases)).calibration()
    start = objective.unknowns.values(objective.unknowns.start)
    place = {u.name: k for k, u in enumerate(objective.unknowns.items) if u.kind == "tuner"}
    inner = _side(objective, tuple(u.label for u in objective.unknowns.items), start, start[None])
    pairs = [(k, place[n]) for k, n in enumerate(names) if n in place]

    def at(values: Vector) -> tuple[list[Vector], list[Vector]] | str:
        there = start.copy()
        for here, own_place in pairs:
            there[own_place] = values[here]
        found = inner.at(there)
        if isinstance(found, str):
            return found
        slopes = []
        for slope in found[1]:
            whole = np.zeros((len(slope), len(names)))
            for here, own_place in pairs:
                whole[:, here] = slope[:, own_place]
            slopes.append(whole)
        return found[0], slopes

    return _Side(tuple(names), np.zeros(0), inner.labels, at, np.zeros(0)), missing


def _ranked(first: _Side, second: _Side) -> Vector:
    """The null directions turned so that the one which changes the second model most is first."""
    if not len(first.null):
        return first.null
    at_estimate = second.at(first.values)
    if isinstance(at_estimate, str):
        raise InferError(
            "I365", f"second model: it cannot be evaluated at the estimate: {at_estimate}"
        )
    stacked = np.vstack(
        [
            slope * first.size / (_rms(value) * np.sqrt(len(value)))
            for value, slope in zip(*at_estimate, strict=True)
        ]
    )
    _, _, Vt = np.linalg.svd(stacked @ first.null.T, full_matrices=True)
    return np.asarray(Vt @ first.null)


def _judged(first: _Side, second: _Side, row: Vector, change: float, threshold: float) -> Direction:
    relative = row / np.max(np.abs(row))
    # as SHARE of null directions: a thousandth of the largest does not move
    relative[np.abs(relative) < 1e-3] = 0.0
    relative *= np.sign(relative[np.argmax(np.abs(relative))])
    steps = [_moved(first, sign * np.log1p(change) * relative) for sign in (1.0, -1.0)]
    here, _ = _changed(first, first.values, steps)
    there, failure = _changed(second, first.values, steps)
    own = max(here, default=0.0)
    effects = tuple(
        Effect(case, output, float(value))
        for (case, output), value in zip(second.labels, there, strict=True)
    )
    largest = max(there, default=0.0)
    matters = bool(failure) or largest > max(threshold, CLEAR * own)
    changes = {n: float(c) for n, c in zip(first.names, relative, strict=True) if c}
    return Direction(changes, own, effects, matters, failure)


def _moved(side: _Side, step: Vector) -> Vector:
    """Values a relative step away; those about zero move by the step times their scale."""
    values, size = side.values, side.size
    return np.where(np.abs(values) == size, values * np.exp(step), values + step * size)


def _changed(side: _Side, values: Vector, steps: Sequence[Vector]) -> tuple[list[float], str]:
    """Relative RMS change of every output, the larger of up and down; or why there is none."""
    base = side.at(values)
    if isinstance(base, str):
        raise InferError("I365", f"second model: it cannot be evaluated at the estimate: {base}")
    most = [0.0] * len(base[0])
    for moved in steps:
        found = side.at(moved)
        if isinstance(found, str):
            return most, found
        for k, (value, other) in enumerate(zip(base[0], found[0], strict=True)):
            most[k] = max(most[k], _rms(other - value, 0.0) / _rms(value))
    return most, ""


def _rms(values: Vector, none: float = 1.0) -> float:
    return float(np.sqrt(np.mean(values**2))) or none
