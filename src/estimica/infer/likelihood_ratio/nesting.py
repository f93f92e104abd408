"""Nesting: whether a model with more that is free can do all that another one does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.estimate.fit.result import Fit
from estimica.estimate.noise_starts import is_no_noise
from estimica.estimate.objective.cost import Objective, scored
from estimica.estimate.objective.predictor import Failure, split
from estimica.estimate.unknowns import Unknown
from estimica.infer.likelihood_ratio.partial_fit import noise_label, with_noise
from estimica.study.case import Sigma
from estimica.study.estimation import LIKELIHOODS
from estimica.study.noise.process import names_in_levels, output_sigma

#: of the null model's Σρ²: how far two simulations of the same model may lie apart. Chosen: ten
#: times the default rtol; with 1000 samples of `ml` it is 0.01, beside a threshold of 3.84
CLOSE = 1e-5


@dataclass(frozen=True, eq=False)
class Nested:
    """What is free in the larger model only, and where the null model lies within it."""

    released: tuple[str, ...]
    objective: Objective  # of the larger model
    null: Vector  # coordinates of the null model

    @property
    def frees_noise(self) -> bool:
        """Whether a noise level is among what is released."""
        labels = {u.label for u in self.objective.unknowns.items}
        return any(name not in labels for name in self.released)

    def bounded(self, floors: Mapping[str, float]) -> list[int]:
        """The released noise levels that the null model does not have."""
        unknowns = self.objective.unknowns
        none = is_no_noise(unknowns, unknowns.values(self.null), floors)
        return [k for k in self.places if none[k]]

    @property
    def places(self) -> list[int]:
        """The released ones among the unknowns of the larger model."""
        items = self.objective.unknowns.items
        return [k for k, u in enumerate(items) if u.label in self.released]


def require_nested(null: Fit, other: Fit) -> Nested:
    """What is free in `other` only; an error where `null` is not a special case of it.

    That is tried out: with the null model's values, `other` must cost what the null model costs.
    """
    _require_likelihood(null, other)
    ours, theirs = (scored(f.setup.calibration(), f.scales) for f in (null, other))
    _require_same_data(ours, theirs)
    found = _found_in(null, other)
    known = {u.label for u in other.unknowns.items}
    lost = [u.label for u in null.unknowns.items if u.label not in known]
    noise = {n for n, v in null.noise.items() if v.estimated}
    wider = {n for n, v in other.noise.items() if v.estimated}
    told = _level_tuners(other) if null.criterion != other.criterion else {}
    lost += [noise_label(n) for n in noise if n not in wider and told.get(n) not in known]
    if lost:
        raise InferError(
            "I003",
            f"the models are not nested: '{lost[0]}' is free in the null model only; swap the two, "
            "or free it in both",
        )
    released = [u.label for u in other.unknowns.items if u.label not in found]
    released += [noise_label(n) for n in other.noise if n in wider and n not in noise]
    if not released:
        raise InferError("I004", "the same is free in both fits; there is nothing to test")
    return Nested(tuple(released), theirs, _try_out(null, other, theirs))


def tolerance(fit: Fit) -> float:
    """By how much costs of one point may differ through the simulation's own error."""
    square = float(fit.n_samples) if fit.criterion in LIKELIHOODS else fit.cost
    return CLOSE * max(square, 1e-300)


def _found_in(null: Fit, other: Fit) -> dict[str, float]:
    """What is free in the null model, by the label that it has in the other.

    The noise levels that `ml` estimates beside its unknowns are tuners of `prediction`.
    """
    found = {u.label: float(v) for u, v in zip(null.unknowns.items, null.values, strict=True)}
    if null.criterion != other.criterion:
        for output, tuner in _level_tuners(other).items():
            level = null.noise.get(output)
            if level is not None and level.estimated:
                found[tuner] = math.sqrt(level.variance)
    return found


def _level_tuners(fit: Fit) -> dict[str, str]:
    """The noise levels of measuring that are tuners, by output."""
    names = {}
    for case in fit.study.active_cases:
        for output, column in case.columns_of_outputs.items():
            if column.sigma is None or isinstance(column.sigma, Sigma):
                level = output_sigma(output, column)
                if isinstance(level, str):
                    names[output] = level
    return names


def _require_likelihood(null: Fit, other: Fit) -> None:
    if null.criterion != other.criterion and (null.criterion, other.criterion) != LIKELIHOODS:
        raise InferError(
            "I001",
            f"the fits have different criteria, '{null.criterion}' and '{other.criterion}'; "
            "use one for both, or 'ml' for a null model without noise in its states and "
            "'prediction' for one with it",
        )
    for fit in (null, other):
        e = fit.study.estimation
        if e.criterion not in (*LIKELIHOODS, "oe") or e.loss != "squared":
            what = f"loss '{e.loss}'" if e.loss != "squared" else f"criterion '{e.criterion}'"
            raise InferError(
                "I001", f"{what} is not a likelihood; fit with criterion 'ml' or 'oe' and no loss"
            )
        if not np.isfinite(fit.cost):
            raise InferError("I002", f"a fit failed: {fit.outcome.message}")


def _require_same_data(ours: Objective, theirs: Objective) -> None:
    mine = {(b.case, b.name): b for b in ours.blocks}
    others = {(b.case, b.name): b for b in theirs.blocks}
    if mine.keys() != others.keys():
        case, output = sorted(mine.keys() ^ others.keys())[0]
        raise InferError(
            "I005",
            f"the fits have different data: output '{output}' of case '{case}' is in one only",
        )
    for (case, output), a in mine.items():
        b = others[case, output]
        same = (
            np.array_equal(a.measured.time, b.measured.time)
            and np.array_equal(a.measured.value, b.measured.value)
            and np.allclose(a.scaling, b.scaling, rtol=1e-12)
        )
        if not same:
            raise InferError(
                "I005",
                f"the fits have different data: the samples or weights of output '{output}' of "
                f"case '{case}' differ",
            )


def _try_out(null: Fit, other: Fit, objective: Objective) -> Vector:
    """The null model's coordinates among the unknowns of the other, where it costs the same."""
    found = _found_in(null, other)
    values = []
    for u in objective.unknowns.items:
        value = float(found[u.label]) if u.label in found else _held(null, other, u)
        near = 1e-9 * max(abs(value), u.scale)
        if not u.min - near <= value <= u.max + near:
            raise InferError(
                "I003",
                f"the models are not nested: '{u.label}' is {value:g} in the null model, outside "
                f"the bounds {u.min:g} … {u.max:g} of the other",
            )
        values.append(min(max(value, u.min), u.max))
    fixed = {n: v.variance for n, v in null.noise.items() if not v.estimated}
    q = objective.unknowns.coordinates(np.array(values, float))
    point = with_noise(objective, fixed).at(q)
    cost, square = (np.inf, 0.0) if isinstance(point, Failure) else (point.cost, point.square)
    # with known noise the squares of a poor null model are far more than its samples
    if not abs(cost - null.cost) <= max(tolerance(null), CLOSE * square):
        raise InferError(
            "I003",
            f"the models are not nested: at the null model's values the other costs {cost:.8g} "
            f"instead of {null.cost:.8g}; give what is fixed in both the same value",
        )
    return q


def _held(null: Fit, other: Fit, unknown: Unknown) -> float:
    """The value of an unknown of `other` in the null model, where it is not free."""
    if unknown.kind == "disturbance":
        return 0.0
    if unknown.kind == "start":
        return _start_value(null, unknown)
    name = unknown.name
    if (
        name in other.setup.noise_floors
        and (level := _held_noise(null, other, unknown)) is not None
    ):
        return level
    for tuner in null.study.tuners:
        if tuner.name == name and tuner.start is not None:
            return tuner.start
    if name in null.setup.held:
        return null.setup.held[name]
    for case in null.study.active_cases:
        if name in case.fixed:
            return case.fixed[name]
    for quantity in null.study.model.quantities():
        if quantity.name == name and isinstance(quantity.value, (int, float)):
            return float(quantity.value)
    raise InferError(
        "I003",
        f"it cannot be told whether the models are nested: the null model has no value for tuner "
        f"'{name}'; give it there with active = false",
    )


def _held_noise(null: Fit, other: Fit, unknown: Unknown) -> float | None:
    """The value of a noise level of `other` in a null model that has no such tuner."""
    name = unknown.name
    if any(t.name == name for t in null.study.tuners) and null.criterion == other.criterion:
        return None
    for levels, before in (
        (other.study.process_noise, null.study.process_noise),
        (other.study.filter.spreads, null.study.filter.spreads),
    ):
        for state, level in levels.items():
            if name not in names_in_levels([level]):
                continue
            held = before.get(state, 0.0) if null.criterion == other.criterion else 0.0
            if level == name and isinstance(held, float) and held > 0:
                return held
            none = unknown.min <= (1 + 1e-9) * other.setup.noise_floors[name]
            return unknown.min if none and not isinstance(held, str) else 0.0
    for case in null.study.active_cases:
        for output, column in case.columns_of_outputs.items():
            if _level_tuners(other).get(output) == name and isinstance(column.sigma, float):
                return column.sigma
    return None


def _start_value(null: Fit, unknown: Unknown) -> float:
    case = null.study_case(unknown.case)
    if unknown.name in case.fixed:
        return case.fixed[unknown.name]
    setup = null.setup
    one = next(r for r in setup.records if r.case.name == unknown.case)
    links = setup.links.of_case(case)
    tuned, _ = links.at(null.values[: len(setup.tuners)])
    values = dict(zip(links.parameters, map(float, tuned), strict=True))
    if unknown.name in values:
        return values[unknown.name]
    model = null.study.model_of(case)
    parameters, starts = split(model, {**values, **setup.held, **null.study.fixed_of(case)})
    response = model.response(
        [one.begin],
        dict(one.inputs),
        parameters,
        starts,
        outputs=[],
        wrt=[unknown.name],
        begin=one.begin,
    )
    return float(response.tuners[0])
