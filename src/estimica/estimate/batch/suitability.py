"""Suitability: whether the fits of an objective can be searched together.

It knows nothing of the engine, which other kinds of models do without.
"""

from __future__ import annotations

import math

import numpy as np

from estimica.estimate.criteria.scoring import MaximumLikelihood, OutputError
from estimica.estimate.objective.cost import Objective
from estimica.estimate.objective.predictor import CasePredictor, Predictor
from estimica.study.estimation import Estimation

#: unknowns above which normal equations are no way: they are solved by steps of Python for each
MOST = 60
SQUARES = "only sums of squares and likelihoods of normal noise are searched together"


def why_alone(objective: Objective, estimation: Estimation) -> str:
    """Why fits of an objective have to be searched one by one, in words; empty where not."""
    if estimation.transcription != "shooting":
        return f"transcription '{estimation.transcription}' is searched one by one"
    if estimation.method != "levenberg-marquardt":
        return f"method '{estimation.method}' is searched one by one"
    if math.isfinite(estimation.max_seconds):
        return "a time limit holds for each search"
    squares = type(objective.criterion) is MaximumLikelihood or (
        type(objective.criterion) is OutputError and not objective.criterion.losses
    )
    if not squares:
        return SQUARES
    if not 0 < len(objective.unknowns) <= MOST:
        return f"{len(objective.unknowns)} unknowns"
    for block in objective.blocks:
        m = block.measured
        if block.filter is not None or m.is_input or m.is_modelled or m.transfer is not None:
            return f"output '{block.name}' of case '{block.case}' is compared sample by sample"
        if len(np.unique(m.time)) < len(m.time):
            return f"output '{block.name}' of case '{block.case}' has several samples at one time"
    for predictor in objective.predictors:
        if not is_by_engine(predictor):
            return not_by_engine(predictor)
    return ""


def is_by_engine(predictor: Predictor) -> bool:
    """Whether the engine simulates a case as it is, without errors of inputs or filters."""
    plain = type(predictor) is CasePredictor  # others need not have a response
    return plain and bool(getattr(predictor.response, "makes_ensembles", False))


def not_by_engine(predictor: Predictor) -> str:
    """What is said of a case that other code than the engine simulates."""
    return f"case '{predictor.record.case.name}' is not simulated by the engine"
