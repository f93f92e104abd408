"""The probe for a study: by power series as far as they tell, by simulation for the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup
from estimica.infer.identifiability.structural.probe import (
    Probe,
    ProbeResult,
    SeriesProbe,
    SimulationProbe,
)
from estimica.infer.identifiability.structural.taylor import NoSeriesError
from estimica.simulate.modelica.model import ModelicaModel


class JointProbe(Probe):
    """By power series; only directions that these leave open are left to simulations.

    What a series tells is exact, and what is not determined by a series of the whole solution is
    not determined at all. A series that ends with the first event, or that does not exist at some
    start, leaves the question to the simulation.
    """

    def __init__(self, series: SeriesProbe) -> None:
        super().__init__(series.setup, series.objective, series.more)
        self._series = series
        self._simulation = SimulationProbe(series.setup, series.objective, series.more)

    def with_outputs(self, more: tuple[str, ...]) -> JointProbe:
        """The same with further variables taken as measured."""
        return JointProbe(self._series.with_outputs(more))

    def at(self, values: Vector, random: np.random.Generator) -> ProbeResult | None:
        """The rank at values of all unknowns; none where the model cannot be evaluated."""
        exact = self._series.at(values, random)
        if exact is None:
            found = self._simulation.at(values, random)
            return found and replace(found, because="it has no power series at its start")
        if exact.rank == self.n or not self._series.ends_early:
            return exact
        found = self._simulation.at(values, random, exact.null)
        return found and replace(found, because=self._series.ends_early)


def probe_of(setup: Setup, objective: ResidualFunction) -> tuple[Probe, str]:
    """The probe for a study, and why it is not the exact one where it is not."""
    model = setup.study.model
    if not model.has_time:
        return SimulationProbe(setup, objective), ""
    if not isinstance(model, ModelicaModel):
        return SimulationProbe(setup, objective), "the model has no equations to look at"
    if any(p.record.is_frequency for p in objective.predictors):
        return SimulationProbe(setup, objective), "frequency responses have no power series"
    if any(p.record.case.staging for p in objective.predictors):
        return SimulationProbe(setup, objective), "a case begins at rest or has changes"
    if any(setup.study.model_of(p.record.case) is not model for p in objective.predictors):
        return SimulationProbe(setup, objective), "the cases have different inputs"
    try:
        return JointProbe(SeriesProbe(setup, objective, model)), ""
    except NoSeriesError as error:
        return SimulationProbe(setup, objective), str(error)
