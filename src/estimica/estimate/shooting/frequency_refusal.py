"""Transcriptions follow a model through time: what they say of frequency responses."""

from __future__ import annotations

from estimica.base.errors import FitError
from estimica.estimate.objective.predictor import CasePredictor, Predictor
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup
from estimica.simulate.modelica.model import ModelicaModel


def equations_of(setup: Setup, predictor: Predictor) -> ModelicaModel:
    """The model of a case, whose equations are known to be there."""
    case = predictor.record.case
    if case.staging:
        raise FitError(
            "F107",
            f"case '{case.name}' begins in the steady state or has changes, which only a "
            "simulation from beginning to end goes through; use transcription = 'shooting'",
        )
    model = setup.study.model_of(case)
    assert isinstance(model, ModelicaModel), "asked before"
    return model


def require_time_cases(cases: ResidualFunction, what: str) -> list[CasePredictor]:
    """The cases of a study, all of which must be simulated over time."""
    found = []
    for predictor in cases.predictors:
        if not isinstance(predictor, CasePredictor):
            raise FitError(
                "F106",
                f"case '{predictor.record.case.name}' is a frequency response, and {what} follows "
                "a model through time; use transcription = 'shooting'",
            )
        found.append(predictor)
    return found
