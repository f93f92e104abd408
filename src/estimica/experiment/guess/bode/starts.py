"""Bode starts: which parameters of a model *are* gain, time constant or delay of a Bode plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model, OperatingPoint
from estimica.experiment.guess.bode.run import BodeGuess
from estimica.experiment.guess.quantities import (
    FIRST_ORDER,
    MOST,
    Assignment,
    Shape,
    Start,
    first_orders,
    nominal_values,
    starts,
)

#: of the gain: how far the response may be from that of a first order. Chosen: a wrong meaning of a
#: parameter is off by far more
CLOSE = 0.02
FREQUENCIES = np.geomspace(0.05, 20, 25)  # over the corner; chosen: flat, bent and falling parts


@dataclass(frozen=True)
class BodeSetting:
    """Which transfer was measured, and at which operating point."""

    output: str
    input: str
    inputs: Mapping[str, float]
    operating_point: OperatingPoint = "steady"


def bode_starts(
    model: Model, guess: BodeGuess, setting: BodeSetting, candidates: Sequence[str]
) -> dict[str, Start]:
    """Start values for those of the `candidates` that the Bode plot gives; often none."""
    tried = list(candidates)[:MOST]
    shapes = first_orders(guess.gain, guess.tau)
    try:
        trial = _Trial(model, guess.corner * FREQUENCIES, setting, tried)
    except EstimicaError:
        return {}

    def explains(assignment: Assignment) -> bool:
        return all(trial.explains(assignment, shape) for shape in shapes)

    return starts(tried, FIRST_ORDER, explains, guess.parameters)


class _Trial:
    """The frequency response of the model around the corner."""

    def __init__(
        self, model: Model, omega: Vector, setting: BodeSetting, tried: Sequence[str]
    ) -> None:
        values, self.missing = nominal_values(model, tried)
        self.names = list(values)
        self.values: Vector = np.array(list(values.values()), np.float64)
        self.omega = omega
        self.respond = model.frequency_experiment(
            omega,
            dict(setting.inputs),
            {n: values[n] for n in self.missing},
            transfers=[(setting.output, setting.input)],
            wrt=self.names,
            operating_point=setting.operating_point,
        )

    def explains(self, assignment: Assignment, shape: Shape) -> bool:
        """Whether the model responds with that shape once its parameters are set to it."""
        if any(n not in assignment for n in self.missing):
            return False
        theta = self.values.copy()
        for name, quantity in assignment.items():
            theta[self.names.index(name)] = quantity.of(shape)
        run = self.respond.at(theta)
        if not run.ok:
            return False
        G = np.asarray(run.Y[:, 0] + 1j * run.Y[:, 1])
        settled = {q.says for q in assignment.values()}
        if "speed" not in settled:  # the gain alone: what it is at low frequencies
            return bool(abs(G[0] - shape["gain"]) < CLOSE * abs(shape["gain"]))
        s = 1j * self.omega
        late = shape["delay"] if "delay" in settled else 0.0
        expected = np.exp(-s * late) / (1 + s * shape["tau"])
        gain = (
            shape["gain"]
            if "gain" in settled
            else np.vdot(expected, G) / np.vdot(expected, expected)
        )
        return bool(np.abs(G - gain * expected).max() < CLOSE * abs(gain))
