"""Prediction: the simulated outputs of one case at the measured stamps, with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.base.errors import SimulationError
from estimica.compiled.model import Model
from estimica.estimate.links import Links
from estimica.simulate.engine import Options
from estimica.study.record import Record

Vector = npt.NDArray[np.float64]
Rows = slice | npt.NDArray[np.int64]
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class Prediction:
    """What the model says of one output at its stamps, a disturbance included.

    `slope` holds the derivatives by the tuners and start values of the case, one column each.
    """

    value: Vector  # (N,)
    slope: Vector  # (N, m)


@dataclass(frozen=True)
class Failure:
    """A simulation that failed, with the values that it was tried at."""

    case: str
    message: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class Places:
    """Where the unknowns of one case stand among all unknowns of the fit."""

    tuners: tuple[int, ...]
    starts: Mapping[str, int]
    disturbances: Mapping[str, int]  # by output


class CasePredictor:
    """One case, set up once and evaluated at many points."""

    def __init__(
        self,
        model: Model,
        record: Record,
        links: Links,
        fixed: Mapping[str, float],
        places: Places,
        options: Options,
    ) -> None:
        self.record = record
        self.links = links
        self.places = places
        self.times, self._rows = _stamps(record)
        parameters, starts = split(model, fixed)
        self.response = model.response(
            self.times,
            dict(record.inputs),
            parameters,
            starts,
            outputs=[m.name for m in record.outputs],
            wrt=[*links.parameters, *places.starts],
            begin=record.begin,
            options=options,
        )
        self._tuners = np.array(places.tuners, int)
        self._starts = np.array(list(places.starts.values()), int)
        self.columns: tuple[int, ...] = (*places.tuners, *places.starts.values())
        self.extras = tuple(places.disturbances.get(m.name) for m in record.outputs)
        self._direct = links.is_one_to_one

    def at(self, values: Vector) -> list[Prediction] | str:
        """Outputs of the case at values of all unknowns, or why there are none."""
        parameters, chain = self.links.at(values[self._tuners])
        try:
            run = self.response.at(np.concatenate([parameters, values[self._starts]]))
        except SimulationError as error:
            return error.message
        if not run.ok:
            return run.text
        found = []
        for k, (rows, extra) in enumerate(zip(self._rows, self.extras, strict=True)):
            value, slope = run.Y[rows, k], run.YS[rows, k, :]
            if extra is not None:
                value = value + values[extra]
            found.append(Prediction(value, slope if self._direct else self._chained(slope, chain)))
        return found

    def _chained(self, slope: Vector, chain: Vector) -> Vector:
        p = len(self.links.parameters)
        return np.hstack([slope[:, :p] @ chain, slope[:, p:]])


def split(model: Model, fixed: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Fixed numbers as (parameters, start values of variables)."""
    varying = {q.name for q in model.quantities() if q.role not in ("parameter", "constant")}
    starts = {n: v for n, v in fixed.items() if n in varying}
    return {n: v for n, v in fixed.items() if n not in starts}, starts


def _stamps(record: Record) -> tuple[Vector, Sequence[Rows]]:
    """All stamps of a case, and which of them each output has."""
    own = [m.time for m in record.outputs]
    if all(t is own[0] or np.array_equal(t, own[0]) for t in own):
        return own[0], [EVERY] * len(own)
    union = np.unique(np.concatenate(own))
    return union, [np.searchsorted(union, t) for t in own]
