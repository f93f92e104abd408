"""predict: each measured value from those some samples before it."""

from __future__ import annotations

import numpy as np

from estimica.base.errors import InferError
from estimica.base.probability.functions import ndtri
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.infer.prediction.result import OutputPrediction, Predictions
from estimica.infer.states.filters import (
    CaseFilter,
    case_filters,
    require_level,
    require_prediction,
)
from estimica.simulate.filter.ahead import predictions_ahead
from estimica.simulate.filter.history import Ahead

Part = tuple[CaseFilter, Ahead]


def predict(fit: Fit, *, ahead: int = 1, level: float = 0.95) -> Predictions:
    """Each measured value predicted from those up to `ahead` samples before it, with intervals.

    Samples are the stamps of a case at which any output was measured. The cost is that of `ahead`
    simulations with the covariance of the states. Intervals hold for the estimates as they are.
    """
    require_prediction(fit, "predictions")
    require_level(level)
    if isinstance(ahead, bool) or not isinstance(ahead, (int, np.integer)) or ahead < 1:
        raise InferError("I854", f"ahead {ahead}: predict some whole number of samples ahead")
    parts: dict[str, list[Part]] = {}
    for one in case_filters(fit):
        case = fit.study.partition.case_of(one.name)
        parts.setdefault(case, []).append((one, predictions_ahead(one.response, ahead, one.theta)))
    quantile = float(ndtri((1 + level) / 2))
    outputs = [
        _output(fit, case, o, parts[case.name], quantile)
        for case in fit.cases
        if case.name in parts
        for o in case.outputs
    ]
    return Predictions(fit, ahead, level, tuple(outputs))


def _output(
    fit: Fit, case: CaseFit, output: OutputComparison, parts: list[Part], quantile: float
) -> OutputPrediction:
    time, measured, predicted, variance = [], [], [], []
    for one, ahead in parts:
        names = [m.name for m in one.record.outputs]
        if output.name not in names:
            continue
        k = names.index(output.name)
        own = one.record.outputs[k]
        rows = np.searchsorted(ahead.times, own.time)
        time.append(own.time)
        measured.append(own.value)
        predicted.append(ahead.outputs[rows, :, k])
        variance.append(ahead.variances[rows, :, k])
    values, found = np.concatenate(measured), np.concatenate(predicted)
    spread = np.concatenate(variance)
    missed = values[:, None] - found
    inside = np.abs(missed) <= quantile * np.sqrt(spread)
    return OutputPrediction(
        case.name,
        case.role,
        output.name,
        fit.unit_of(output),
        np.concatenate(time),
        values,
        found[:, -1].copy(),
        np.sqrt(spread[:, -1]),
        quantile,
        np.sqrt(np.mean(missed**2, axis=0)),
        np.sqrt(np.mean(spread, axis=0)),
        inside.mean(axis=0),
    )
