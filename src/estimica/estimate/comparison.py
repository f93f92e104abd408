"""Comparison: measured and simulated outputs of every case at the estimate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from estimica.base.errors import EstimicaError
from estimica.estimate.fit import CaseFit, Compared
from estimica.estimate.methods import LevenbergMarquardt
from estimica.estimate.objective import Objective, Point
from estimica.estimate.prediction import Failure
from estimica.estimate.search import Limits, search
from estimica.estimate.setup import Setup
from estimica.study.record import Record

Vector = npt.NDArray[np.float64]


def compare(setup: Setup, objective: Objective, point: Point | None) -> tuple[CaseFit, ...]:
    """Every case in the study's order; validating cases find their own start values first."""
    known = {} if point is None else calibrated(objective, point)
    found = []
    for one in setup.records:
        name, role = one.case.name, one.case.role
        if point is None:
            found.append(CaseFit(name, role, (), failure="no estimate to simulate with"))
        elif role == "calibrate":
            found.append(known[name])
        else:
            found.append(_validated(setup, one, point.values[: len(setup.tuners)]))
    return tuple(found)


def calibrated(objective: Objective, point: Point) -> dict[str, CaseFit]:
    """The calibrating cases of an objective at one point, by name."""
    compared = _compared(objective, point)
    found = {}
    for predictor in objective.predictors:
        case = predictor.record.case
        count = len(predictor.record.outputs)
        if isinstance(compared, Failure):
            found[case.name] = CaseFit(case.name, case.role, (), failure=compared.message)
        else:
            found[case.name] = CaseFit(case.name, case.role, tuple(compared[:count]))
            compared = compared[count:]
    return found


def _validated(setup: Setup, one: Record, tuners: Vector) -> CaseFit:
    name, role = one.case.name, one.case.role
    try:
        objective = setup.validation(one, tuners)
        searched = search(
            objective, LevenbergMarquardt(), objective.unknowns.start, Limits(max_iterations=100)
        )
    except EstimicaError as error:
        return CaseFit(name, role, (), failure=error.message)
    if searched.point is None:
        return CaseFit(name, role, (), failure=searched.message)
    compared = _compared(objective, searched.point)
    if isinstance(compared, Failure):
        return CaseFit(name, role, (), failure=compared.message)
    return CaseFit(name, role, tuple(compared), objective.unknowns.items, searched.point.values)


def _compared(objective: Objective, point: Point) -> list[Compared] | Failure:
    """By the transcription's own outputs where no single simulation gives them."""
    predictions = point.predictions or objective.predict(point.values)
    if isinstance(predictions, Failure):
        return predictions
    residuals = objective.residuals(predictions)
    found = []
    for block, prediction, residual in zip(objective.blocks, predictions, residuals, strict=True):
        m = block.measured
        reference = m.value if m.transform is None else m.transform.value(m.value)
        reference = block.filtered(reference)
        found.append(
            Compared(
                m.name,
                m.column,
                m.unit,
                m.time,
                m.value,
                prediction.value,
                block.weight,
                residual,
                reference,
                m.is_input,
                m.transfer,
                "" if block.filter is None else block.filter.text,
                block.count / max(len(m.value), 1),
            )
        )
    return found
