"""Where designs begin: at the values of a fit, of another design, or of a run in the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from estimica.base.errors import DesignError, StudyError
from estimica.base.result import Result
from estimica.estimate.fit.result import Fit
from estimica.execute.carry import DESIGNS, found_run
from estimica.execute.runs.writer import RunWriter
from estimica.infer.bootstrap.result import Bootstrap
from estimica.infer.posterior.result import Posterior
from estimica.optimise.assess.tuner_distribution import (
    SCATTERING,
    TunerDistribution,
    tuner_distribution,
)
from estimica.study.carry.apply import carried_study
from estimica.study.carry.use import require_values
from estimica.study.carry.values import FoundValue, RunValues, values_of_object
from estimica.study.study import Study

#: a result such as a fit or a design, or the name of its run
StartSource = Result | str


def with_values(
    study: Study,
    start: StartSource | None,
    *,
    workers: int | None = 1,
    run: RunWriter | None = None,
    store: Path | None = None,
    scatter: bool = True,
) -> tuple[Study, TunerDistribution | None]:
    """The study with the values of a result, and how these scatter, where that is asked for."""
    source: TunerDistribution | None = None
    if start is None:
        return study, None
    if isinstance(start, str) and start in SCATTERING:  # it is made first
        made = tuner_distribution(study, start, workers=workers, run=run)
        return study_at_values(study, _values(made, start, study.name)), made
    if isinstance(start, str):
        found = found_run(study, start, store, DESIGNS)
        values = found.values
        if scatter and found.run.summary.command in SCATTERING:
            source = tuner_distribution(study, found.run.id, store=found.store)
    else:
        values = values_of_object(start.to_dict())
        if scatter and isinstance(start, Fit | Bootstrap | Posterior):
            source = tuner_distribution(study, start, workers=workers, run=run)
    if study.origin is not None and values.run and study.origin.run == values.run:
        return study, source  # it has them already
    return study_at_values(study, values), source


def study_at_values(study: Study, values: RunValues) -> Study:
    """The study with these values: tuners start there, other parameters are held there."""
    try:
        return carried_study(study, require_values(values)).study
    except StudyError as error:
        if error.code == "Q192":  # no name of it is known here
            raise DesignError("O060", error.message) from None
        raise


def _values(source: TunerDistribution, command: str, study: str) -> RunValues:
    units = source.units or ("",) * len(source.names)
    pairs = zip(source.names, np.asarray(source.values, float), units, strict=True)
    tuners = {n: FoundValue(float(v), u) for n, v, u in pairs}
    return RunValues("", command, study, tuners)
