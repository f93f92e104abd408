"""Comparison: measured and simulated outputs of every case at the estimate."""

from __future__ import annotations

from estimica.base.errors import EstimicaError
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.objective.cost import Objective, Point, scored_at
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.search.methods import LevenbergMarquardt
from estimica.estimate.search.minimise import minimise
from estimica.estimate.search.run import Limits
from estimica.estimate.setup import Setup
from estimica.study.record.samples import Record


def compare(setup: Setup, objective: Objective, point: Point) -> tuple[CaseFit, ...]:
    """Every case in the study's order; validating cases find their own start values first."""
    known = calibrated(objective, point)
    cases = []
    for one in setup.records:
        if one.case.role == "calibrate":
            cases.append(known[one.case.name])
        else:
            cases.append(_validated(setup, one, point))
    return tuple(cases)


def nothing_to_compare(setup: Setup) -> tuple[CaseFit, ...]:
    """Every case, where there is no estimate."""
    why = "no estimate to simulate with"
    return tuple(CaseFit(r.case.name, r.case.role, (), failure=why) for r in setup.records)


def calibrated(objective: ResidualFunction, point: Point) -> dict[str, CaseFit]:
    """The calibrating cases of an objective at one point, by name."""
    compared = _compared(objective, point)
    by_case = {}
    for predictor in objective.predictors:
        case = predictor.record.case
        count = len(predictor.record.outputs)
        if isinstance(compared, Failure):
            by_case[case.name] = CaseFit(case.name, case.role, (), failure=compared.message)
        else:
            by_case[case.name] = CaseFit(case.name, case.role, tuple(compared[:count]))
            compared = compared[count:]
    return by_case


def _validated(setup: Setup, one: Record, point: Point) -> CaseFit:
    """A validating case, scored as the fit was: with its loss, its weights and its scales."""
    name, role = one.case.name, one.case.role
    try:
        own = setup.validation(one, point.values[: len(setup.tuners)])
        objective = scored_at(own, own.unknowns.start, point.scales)
        if isinstance(objective, Failure):
            return CaseFit(name, role, (), failure=objective.message)
        searched = minimise(
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


def _compared(objective: ResidualFunction, point: Point) -> list[OutputComparison] | Failure:
    """By the transcription's own outputs where no single simulation gives them."""
    predictions = point.predictions or objective.predict(point.values)
    if isinstance(predictions, Failure):
        return predictions
    residuals = objective.residuals(predictions)
    outputs = []
    for block, prediction, residual in zip(objective.blocks, predictions, residuals, strict=True):
        m = block.measured
        reference = m.value if m.transform is None else m.transform.value(m.value)
        reference = block.filtered(reference)
        outputs.append(
            OutputComparison(
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
                "" if m.transform is None else m.transform.of(m.name),
                block.own_sigmas(None if prediction.level is None else prediction.level.value),
                m.beyond,
                m.distribution,
            )
        )
    return outputs
