"""Filters of a fit: the cases that it was found from and compared with, each at the estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import InferError
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.filter_predictor import FilterPredictor
from estimica.estimate.objective.predictor import Predictor
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.response import FilterResponse
from estimica.study.noise.process import PREDICTION
from estimica.study.record.samples import Record
from estimica.study.study import Study


@dataclass(frozen=True, eq=False)
class CaseFilter:
    """The filter of one case, or of one of its stretches between gaps, at the estimate."""

    name: str  # of the stretch
    role: str
    record: Record
    predictor: FilterPredictor
    values: Vector  # of the unknowns that the predictor knows

    @property
    def response(self) -> FilterResponse | DifferenceResponse:
        """The filter over the measured values."""
        return self.predictor.filter

    @property
    def theta(self) -> Vector:
        """What it is run at."""
        return self.predictor.parameters_at(self.values)[0]


def require_prediction(fit: Fit, what: str) -> None:
    """Refuse fits that know nothing of noise in the states."""
    require_criterion(fit.study, what)


def require_criterion(study: Study, what: str) -> None:
    """Refuse studies that know nothing of noise in the states."""
    criterion = study.estimation.criterion
    if criterion != PREDICTION:
        raise InferError(
            "I850",
            f"{what} need criterion 'prediction', which knows how uncertain states are, and this "
            f"study has '{criterion}'; write criterion = \"prediction\" in [estimate] and "
            "name the states with noise in [process_noise]",
        )


def case_filters(fit: Fit) -> Iterator[CaseFilter]:
    """The filters of all cases, in the order of the fit."""
    setup = fit.setup
    records = {r.case.name: r for r in setup.records}
    fitted = {p.record.case.name: p for p in setup.calibration().predictors}
    tuners = np.asarray(fit.values[: len(setup.tuners)], float)
    for case in fit.stretches:
        if case.failure:
            continue
        if case.name in fitted:
            yield _one(case.name, case.role, fitted[case.name], fit.values)
        else:
            (predictor,) = setup.validation(records[case.name], tuners).predictors
            yield _one(case.name, case.role, predictor, case.values)


def _one(name: str, role: str, predictor: Predictor, values: Vector) -> CaseFilter:
    assert isinstance(predictor, FilterPredictor)
    return CaseFilter(name, role, predictor.record, predictor, np.asarray(values, float))


def require_level(level: float) -> None:
    """A chance between 0 and 1."""
    if not 0 < level < 1:
        raise InferError("I851", f"level {level:g} is not a chance between 0 and 1; use 0.95")
