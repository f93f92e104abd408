"""Folds: what is left out in turn, the fit without it, and what that fit predicts of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import InferError
from estimica.data.calendar import Calendar
from estimica.estimate.criteria.block import Block
from estimica.estimate.objective.cost import (
    Objective,
    Point,
    accuracy_objective,
    scored,
    scored_at,
    with_curvature_of,
)
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.minimise import minimise
from estimica.estimate.search.run import Limits
from estimica.estimate.setup import Setup
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.infer.covariance.linearisation import pseudo_inverse
from estimica.infer.refit import FitContext, refit
from estimica.study.estimation import LIKELIHOODS
from estimica.study.noise.process import PREDICTION
from estimica.study.record.samples import MeasuredOutput, Record

Key = tuple[str, str]  # case and output
#: growth of a standard error from which on an unknown is kept where it was. Chosen: a hundredth of
#: the information on it is left
LOST = 10.0
#: of all information, so that what remains can be inverted: an error grows a hundredfold at most,
#: ten times LOST
FAINT = 1e-4
#: stretches of time, where nobody says how many: customary (Hastie, Tibshirani and Friedman 2009,
#: section 7.10: five or ten), and each costs a fit
BLOCKS = 5


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples that are left out together, by case and output, and what they are called."""

    name: str
    left_out: Mapping[Key, Flags]


def folds_of(setup: Setup, by: str, count: int | None) -> list[Fold]:
    """Groups of cases, or stretches of time of every case; each sample is left out once."""
    cases = cases_of(setup)
    if by == "case":
        return _by_case(cases, count)
    count = BLOCKS if count is None else count
    fewest = min((_samples(c, name) for c in cases for name in _outputs(c)), default=0)
    if fewest < 2 * count:
        raise InferError(
            "I341",
            f"{fewest} samples of an output are too few for {count} stretches of time; use fewer "
            "folds",
        )
    return _by_time(cases, count)


Parts = Sequence[Record]  # a calibrating case: its stretches between gaps, or itself


def cases_of(setup: Setup) -> list[Parts]:
    """The calibrating cases as the study has them, each with its stretches."""
    by_case: dict[str, list[Record]] = {}
    for record in setup.of_role("calibrate"):
        by_case.setdefault(setup.study.partition.case_of(record.case.name), []).append(record)
    return list(by_case.values())


def _outputs(parts: Parts) -> list[str]:
    return list(dict.fromkeys(m.name for r in parts for m in r.outputs))


def _samples(parts: Parts, name: str) -> int:
    return sum(len(m.time) for r in parts for m in r.outputs if m.name == name)


def _by_case(cases: Sequence[Parts], count: int | None) -> list[Fold]:
    if len(cases) < 2:
        raise InferError(
            "I340",
            "there is one case to calibrate with, so none can be left out; use by = 'time'",
        )
    count = len(cases) if count is None else count
    if count > len(cases):
        raise InferError("I342", f"{count} folds of {len(cases)} cases; use {len(cases)} or fewer")
    groups = [cases[k::count] for k in range(count)]
    return [
        Fold(
            ", ".join(parts[0].case.name for parts in group),
            {
                (r.case.name, m.name): np.full(len(m.time), parts in group)
                for parts in cases
                for r in parts
                for m in r.outputs
            },
        )
        for group in groups
    ]


def _by_time(cases: Sequence[Parts], count: int) -> list[Fold]:
    """Stretches with equally many stamps in each case."""
    masks_of_folds: list[dict[Key, Flags]] = [{} for _ in range(count)]
    names = [""] * count
    for parts in cases:
        stamps = np.unique(np.concatenate([m.time for r in parts for m in r.outputs]))
        told = Calendar.of(parts[0].origin).told if parts[0].origin else "{:.5g}".format
        for k, part in enumerate(np.array_split(stamps, count)):
            names[k] = " … ".join(told(t) for t in (part[0], part[-1]))
            for record in parts:
                for m in record.outputs:
                    inside = (m.time >= part[0]) & (m.time <= part[-1])
                    masks_of_folds[k][record.case.name, m.name] = inside
    if len(cases) > 1:
        names = [f"stretch {k} of {count}" for k in range(1, count + 1)]
    return [Fold(name, masks) for name, masks in zip(names, masks_of_folds, strict=True)]


def run_fold(place: FitContext, fold: Fold) -> dict[str, Any]:
    """The fit without a fold, and the outputs it predicts there, as values that can be stored."""
    setup = without(place, fold)
    cases = setup.calibration()
    unknowns = cases.unknowns
    start = carried(place.objective.unknowns, place.objective.unknowns.values(place.q), unknowns)
    kept = undetermined(place, scored(cases, place.objective.criterion.scales), start)
    searched = refit(setup, cases, start, kept if kept.any() else None)
    stored: dict[str, Any] = {
        "status": str(searched.status),
        "message": searched.message,
        "values": None,
        "kept": [u.label for u, k in zip(unknowns.items, kept, strict=True) if k],
        "predicted": [],
    }
    if searched.point is None:
        return stored
    values = searched.point.values
    stored["values"] = [float(v) for v in values[: len(place.setup.tuners)]]
    whole = [r for r in place.setup.of_role("calibrate") if _is_whole(r, fold)]
    alone = {r.case.name for r in whole}
    predicted: list[dict[str, Any]] = []
    for told in (
        _predict_cases(place, whole, searched.point),
        _predict_stretches(place, fold, unknowns, searched.point, alone),
    ):
        if isinstance(told, str):
            return stored | {"status": "failed", "message": told}
        predicted += told
    return stored | {"predicted": predicted}


def undetermined(place: FitContext, objective: Objective, start: Vector) -> Flags:
    """Unknowns that only the left-out samples determine: without them they are kept.

    A start value says little beyond the first stretch. Such unknowns are found one by one, as
    those whose standard error grows most without the fold.
    """
    kept = np.zeros(len(objective.unknowns), bool)
    less, whole = _seen(objective, start), _seen(place.objective, place.q)
    if less is None or whole is None:
        return kept
    places = {_key(u): k for k, u in enumerate(place.objective.unknowns.items)}
    own = [places[_key(u)] for u in objective.unknowns.items]
    # what all data say of these unknowns when the others follow
    everything = np.linalg.pinv(np.linalg.pinv(whole.R.T @ whole.R)[np.ix_(own, own)])
    remaining = less.R.T @ less.R + FAINT * everything
    while not kept.all():
        free = ~kept
        # 1e-7: its square is the rounding of squares
        before = np.diag(pseudo_inverse(everything, free, 1e-7))
        after = np.diag(pseudo_inverse(remaining, free, 1e-7))
        growth = np.divide(after, before, out=np.ones(len(free)), where=before > 0)
        worst = int(np.argmax(growth))
        if growth[worst] <= LOST**2:
            break
        kept[worst] = True
    return kept


def _seen(objective: Objective, q: Vector) -> Point | None:
    """The information at a point; none where derivatives have none."""
    point = objective.at(q)
    if isinstance(point, Failure):
        return None
    judge = accuracy_objective(objective, point)
    return None if isinstance(judge, str) else with_curvature_of(judge, point)


def _key(unknown: Unknown) -> tuple[str, str, str]:
    return unknown.kind, unknown.case, unknown.name


def without(place: FitContext, fold: Fold) -> Setup:
    """The setup in which the samples of a fold do not count; weights stay as they were."""
    weights = {(b.case, b.name): _weight(b, place.objective) for b in place.objective.blocks}
    records = []
    for record in place.setup.of_role("calibrate"):
        outputs = [
            _kept(m, ~fold.left_out[record.case.name, m.name], weights[record.case.name, m.name])
            for m in record.outputs
        ]
        outputs = [m for m in outputs if len(m.time)]
        if outputs:
            records.append(replace(record, outputs=tuple(outputs)))
    return replace(place.setup, records=tuple(records))


def _weight(block: Block, objective: Objective) -> float | None:
    """The weight that gives the block the same weight again."""
    if objective.criterion.name in LIKELIHOODS:
        return block.measured.weight
    return block.weight * (block.sigma if isinstance(block.sigma, float) else 1.0)


def _kept(m: MeasuredOutput, keep: Flags, weight: float | None) -> MeasuredOutput:
    return replace(m.kept(keep), weight=weight)


def carried(of: Unknowns, values: Vector, to: Unknowns) -> Vector:
    """Coordinates of the same unknowns among others."""
    known = {_key(u): v for u, v in zip(of.items, values, strict=True)}
    found = [known.get(_key(u), u.start) for u in to.items]
    return to.clipped(to.coordinates(np.array(found, float)))


def _is_whole(record: Record, fold: Fold) -> bool:
    return all(fold.left_out[record.case.name, m.name].all() for m in record.outputs)


def _predict_stretches(
    place: FitContext, fold: Fold, fitted: Unknowns, point: Point, others: Collection[str]
) -> list[dict[str, Any]] | str:
    """The simulation runs through what was left out, in all but some other cases."""
    keys = [(b.case, b.name) for b in place.objective.blocks if b.case not in others]
    if not any(fold.left_out[key].any() for key in keys):
        return []
    unknowns = place.objective.unknowns
    q = carried(fitted, point.values, unknowns)
    predicted = _values_without(place.objective, fold, unknowns.values(q))
    if isinstance(predicted, str):
        return predicted
    found = []
    for block, value in zip(place.objective.blocks, predicted, strict=True):
        inside = fold.left_out[block.case, block.name]
        if block.case not in others and inside.any():
            found.append(_told(block.case, block.name, value[inside]))
    return found


def _values_without(objective: Objective, fold: Fold, values: Vector) -> list[Vector] | str:
    """Simulated outputs, or those that a filter predicts which does not see the fold."""
    if objective.criterion.name == PREDICTION:
        from estimica.estimate.objective.filter_predictor import FilterPredictor

        every: list[Vector] = []
        for p in objective.predictors:
            assert isinstance(p, FilterPredictor), "the criterion predicts"
            masks = [fold.left_out[p.record.case.name, m.name] for m in p.record.outputs]
            own = p.foretold(values, masks)
            if isinstance(own, str):
                return own
            every += own
        return every
    predictions = objective.predict(values)
    if isinstance(predictions, Failure):
        return predictions.message
    return [p.value for p in predictions]


def _predict_cases(
    place: FitContext, records: Sequence[Record], point: Point
) -> list[dict[str, Any]] | str:
    """Cases as for validation: their own start values are found from their own data."""
    predicted = []
    for record in records:
        own = place.setup.validation(record, point.values[: len(place.setup.tuners)])
        start = carried(
            place.objective.unknowns, place.objective.unknowns.values(place.q), own.unknowns
        )
        objective = scored_at(own, start, point.scales)
        if isinstance(objective, Failure):
            return objective.message
        searched = minimise(objective, LevenbergMarquardt(), start, Limits(max_iterations=100))
        if searched.point is None:
            return searched.message
        predictions = objective.predict(searched.point.values)
        if isinstance(predictions, Failure):
            return predictions.message
        for block, prediction in zip(objective.blocks, predictions, strict=True):
            predicted.append(_told(record.case.name, block.name, prediction.value))
    return predicted


def _told(case: str, output: str, value: Vector) -> dict[str, Any]:
    return {"case": case, "output": output, "simulated": [float(v) for v in value]}
