"""Predictions: what a fit without a fold says of the samples that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from estimica.base.arrays import Vector
from estimica.estimate.criteria.scoring import Scales
from estimica.estimate.objective.cost import Objective, scored_at
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.minimise import minimise
from estimica.estimate.search.run import Limits
from estimica.estimate.unknowns import Unknowns
from estimica.infer.crossvalidation.folds import Fold, carried
from estimica.infer.refit import FitContext
from estimica.study.noise.process import PREDICTION
from estimica.study.record.samples import Record

Told = list[dict[str, Any]]


def predicted(
    place: FitContext,
    fold: Fold,
    fitted: Unknowns,
    values: Vector,
    scales: Scales,
    simulated: Sequence[Vector] | None = None,
) -> Told | str:
    """The left-out samples as `values` of the `fitted` unknowns predict them, or why not.

    `simulated` are the outputs of all blocks at these values, where they are known already.
    """
    whole = [r for r in place.setup.of_role("calibrate") if _is_whole(r, fold)]
    cases = _predict_cases(place, whole, values[: len(place.setup.tuners)], scales)
    if isinstance(cases, str):
        return cases
    stretches: Told | str = []
    if has_stretches(place, fold):
        known = simulated or _values_without(
            place.objective, fold, values_of_all(place, fitted, values)
        )
        stretches = known if isinstance(known, str) else _stretches(place, fold, known)
    return stretches if isinstance(stretches, str) else cases + stretches


def has_stretches(place: FitContext, fold: Fold) -> bool:
    """Whether samples are left out of a case that others are kept of."""
    return any(
        not _is_whole(r, fold) and any(fold.left_out[r.case.name, m.name].any() for m in r.outputs)
        for r in place.setup.of_role("calibrate")
    )


def values_of_all(place: FitContext, fitted: Unknowns, values: Vector) -> Vector:
    """Values of all unknowns; those that were not fitted are where they start."""
    every = place.objective.unknowns
    return every.values(carried(fitted, values, every))


def _is_whole(record: Record, fold: Fold) -> bool:
    return all(fold.left_out[record.case.name, m.name].all() for m in record.outputs)


def _stretches(place: FitContext, fold: Fold, simulated: Sequence[Vector]) -> Told:
    """What the simulation, which runs through what was left out, says there."""
    others = {r.case.name for r in place.setup.of_role("calibrate") if _is_whole(r, fold)}
    found = []
    for block, value in zip(place.objective.blocks, simulated, strict=True):
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
    place: FitContext, records: Sequence[Record], tuners: Vector, scales: Scales
) -> Told | str:
    """Cases as for validation: their own start values are found from their own data."""
    predicted = []
    for record in records:
        own = place.setup.validation(record, tuners)
        start = carried(
            place.objective.unknowns, place.objective.unknowns.values(place.q), own.unknowns
        )
        objective = scored_at(own, start, scales)
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
