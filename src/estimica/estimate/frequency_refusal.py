"""Transcriptions follow a model through time: what they say of frequency responses."""

from __future__ import annotations

from estimica.base.errors import FitError
from estimica.estimate.disagreement import Disagreement
from estimica.estimate.prediction import CasePredictor


def over_time(cases: Disagreement, what: str) -> list[CasePredictor]:
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
