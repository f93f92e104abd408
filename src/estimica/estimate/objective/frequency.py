"""FrequencyPredictor: the frequency responses of one case at the measured frequencies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.estimate.objective.predictor import Predictor, UnknownIndex, split
from estimica.study.record.samples import Record
from estimica.study.record.transfer import Transfer


class FrequencyPredictor(Predictor):
    """Responses z = c·G(jω; θ) as real and imaginary parts in turn."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: ParameterMap,
        fixed: Mapping[str, float],
        places: UnknownIndex,
    ) -> None:
        super().__init__(record, links, places)
        self.transfers = transfers_of(record)
        self.times = np.unique(np.concatenate([t.omega for t in self.transfers]))
        self._rows = [np.searchsorted(self.times, t.omega) for t in self.transfers]
        parameters, starts = split(model, fixed)
        self.response = model.frequency_experiment(
            self.times,
            {n: float(s.value[0]) for n, s in record.inputs.items()},
            parameters,
            starts,
            transfers=[(t.output, t.input) for t in self.transfers],
            wrt=[*links.parameters, *places.starts],
            operating_point=record.case.operating_point or "steady",
        )

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Re and Im of transfer `k` in turn, and their slopes."""
        rows, c = self._rows[k], self.transfers[k].amplitude
        parts = slice(2 * k, 2 * k + 2)
        value = run.Y[rows, parts] * c[:, None]
        slope = run.YS[rows, parts, :] * c[:, None, None]
        return value.ravel(), slope.reshape(value.size, slope.shape[2])


def transfers_of(record: Record) -> list[Transfer]:
    """The transfers of a frequency case."""
    return [m.transfer for m in record.outputs if m.transfer is not None]
