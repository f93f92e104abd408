"""Plain prediction: a case simulated without derivatives, which is quicker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.objective.predictor import CasePredictor, Prediction, Predictor, split
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.simulate.failure import failure_text
from estimica.simulate.response import Response, numbers
from estimica.study.study import Study


def without_derivatives(
    study: Study, objective: ResidualFunction, held: Mapping[str, float]
) -> ResidualFunction:
    """The same cases for `predict` alone; cases that know no other way keep theirs.

    `held` are the parameters that inactive tuners set.
    """
    start = objective.unknowns.values(objective.unknowns.start)
    predictors = []
    for one in objective.predictors:
        fixed = {**held, **study.fixed_of(one.record.case)}
        predictors.append(_plain(study.model_of(one.record.case), one, fixed, start))
    return ResidualFunction(objective.unknowns, predictors, objective.blocks, objective.wanted)


def _plain(model: Model, one: Predictor, fixed: Mapping[str, float], start: Vector) -> Predictor:
    if type(one) is not CasePredictor or not isinstance(one.response, Response):
        return one
    return PlainPredictor(model, one, fixed, start)


class PlainPredictor(Predictor):
    """A case over time whose tuners are set like any other parameter."""

    def __init__(
        self, model: Model, of: CasePredictor, fixed: Mapping[str, float], start: Vector
    ) -> None:
        super().__init__(of.record, of.links, of.places)
        self.times, self._of = of.times, of
        self.levels = of.levels
        tuned, _ = self.links.at(start[self._tuners])
        parameters, starts = split(model, fixed)
        followed, begun = split(
            model, dict(zip(self.links.parameters, map(float, tuned), strict=True))
        )
        parameters |= followed
        starts |= begun
        starts |= dict(zip(self.places.starts, map(float, start[self._starts]), strict=True))
        assert isinstance(of.response, Response)
        response = model.response(
            self.times,
            dict(self.record.inputs),
            parameters,
            starts,
            outputs=of.simulated,
            begin=self.record.begin,
            options=replace(of.response.options, tuner_scales=()),
        )
        assert isinstance(response, Response)
        self.response: Response = response
        entries = numbers(
            response.configuration.tuning.equations,
            dict.fromkeys(followed, 1.0),
            dict.fromkeys([*begun, *self.places.starts], 1.0),
        )
        self._entries = np.array([response.place(n) for n in entries], int)
        self._signs = np.array(list(entries.values()))

    def at(self, values: Vector) -> list[Prediction] | str:
        """Outputs of the case at values of all unknowns, or why there are none."""
        parameters, chain = self.links.at(values[self._tuners])
        constants = self.response.values.copy()
        own = np.concatenate([parameters, values[self._starts]])
        constants[self._entries] = own * self._signs
        try:
            run = self.response.at_values(constants, self.times)
        except SimulationError as error:
            return error.message
        if not run.ok:
            return failure_text(self.response, run)
        found = []
        for k, extra in enumerate(self.extras):
            value, slope = self.picked(run, k)
            found.append(Prediction(value if extra is None else value + values[extra], slope))
        return self.with_levels(found, values, run, chain[:0, :0])

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Values of output `k`, or of another variable, at its own stamps; there are no slopes."""
        value = run.Y[self._of.rows(k), self._of.simulated.index(name) if name else k]
        return value, np.empty((len(value), 0))
