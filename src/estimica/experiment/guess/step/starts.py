"""Step starts: which parameters of a model *are* gain, time constant or delay of a step response.

Nobody trusts a name: a parameter is a time constant if the model's answer to the step is the
exponential of that time constant, whatever the parameter is set to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.compiled.model.interface import Model, ModelResponse
from estimica.experiment.guess.quantities import (
    FIRST_ORDER,
    MOST,
    SECOND_ORDER,
    Assignment,
    Shape,
    Start,
    Units,
    first_orders,
    nominal_values,
    starts,
)
from estimica.experiment.guess.step.run import FirstGuess

#: of the rise: how far the answer may be from the exponential. Chosen: a wrong meaning of a
#: parameter is off by far more
CLOSE = 0.02
SAMPLES = 600  # 22 for each time constant
#: time constants before and after the step: e⁻¹² of the start, and 3e-7 of the answer, are left
REST, ANSWER = 12.0, 15.0


@dataclass(frozen=True)
class StepSetting:
    """Which input steps and which output answers, and where all inputs rest before the step."""

    input: str
    output: str
    inputs: Mapping[str, float]


def step_starts(
    model: Model, guess: FirstGuess, setting: StepSetting, candidates: Sequence[str]
) -> dict[str, Start]:
    """Start values for those of the `candidates` that the step response gives; often none.

    `guess` is in the units of the model. What parameters mean is tried at several values each.
    """
    if guess.second_order is not None and not guess.second_order.damping:
        return {}  # it overshoots by all of its rise, as a motor's current does: no second order
    if guess.second_order is None and not guess.tau > 0:
        return {}  # it answers at once, as the current of a resistor does: no first order
    shapes = _shapes(guess)
    quantities = FIRST_ORDER if guess.second_order is None else SECOND_ORDER
    units = Units(model, setting.input, setting.output)
    tried = list(candidates)[:MOST]
    try:
        trial = _Trial(model, guess, setting, tried)
    except EstimicaError:
        return {}

    def explains(assignment: Assignment) -> bool:
        return all(trial.explains(assignment, shape) for shape in shapes)

    return starts(tried, quantities, explains, guess.parameters, units)


def _shapes(guess: FirstGuess) -> list[Shape]:
    two = guess.second_order
    if two is None:
        return first_orders(guess.gain, guess.tau)
    w = two.natural_frequency
    return [
        {"gain": a * guess.gain, "natural_frequency": b * w, "damping": c, "delay": 2 * c / w}
        for a, b, c in ((0.8, 1.1, 0.35), (1.3, 0.8, 0.7), (1.1, 0.95, 0.5))
    ]


class _Trial:
    """The model under a step like the measured one, after a long rest."""

    def __init__(
        self, model: Model, guess: FirstGuess, setting: StepSetting, tried: Sequence[str]
    ) -> None:
        two = guess.second_order
        unit = guess.tau if two is None else 1 / (two.damping * two.natural_frequency)
        self.size = guess.record.size
        self.times: Vector = np.linspace(0.0, (REST + ANSWER) * unit, SAMPLES)
        self.first = int(np.argmax(self.times >= REST * unit))  # sample of the step
        low = setting.inputs[setting.input]
        stepping = np.full(SAMPLES, low)
        stepping[self.first :] += self.size
        inputs: dict[str, object] = {**setting.inputs, setting.input: (self.times, stepping)}
        values, self.missing = nominal_values(model, tried)
        self.names = list(values)
        self.values: Vector = np.array(list(values.values()), np.float64)
        self.respond: ModelResponse = model.response(
            self.times,
            inputs,
            {n: values[n] for n in self.missing},
            outputs=[setting.output],
            wrt=self.names,
        )

    def explains(self, assignment: Assignment, shape: Shape) -> bool:
        """Whether the model answers with that shape once its parameters are set to it."""
        if any(n not in assignment for n in self.missing):
            return False
        theta = self.values.copy()
        for name, quantity in assignment.items():
            theta[self.names.index(name)] = quantity.of(shape)
        try:
            run = self.respond.at(theta)
        except EstimicaError:
            return False
        if not run.ok or not np.isfinite(run.Y).all():
            return False
        return self._alike(np.asarray(run.Y[:, 0]), {q.says for q in assignment.values()}, shape)

    def _alike(self, y: Vector, settled: set[str], shape: Shape) -> bool:
        since = slice(self.first, None)
        initial = float(y[self.first - 1])
        rise = float(y[-1]) - initial
        wanted = shape["gain"] * self.size
        if "gain" in settled and abs(rise - wanted) > CLOSE * abs(wanted):
            return False
        if "speed" not in settled:
            return True
        if "damping" in shape and "damping" not in settled:
            return False
        if rise == 0:
            return False
        late = shape["delay"] if "delay" in settled else 0.0
        elapsed = self.times[since] - self.times[self.first]
        far = (y[since] - initial) / rise - _answer(np.maximum(elapsed - late, 0), shape)
        return float(np.sqrt(np.mean(far**2))) < CLOSE


def _answer(elapsed: Vector, shape: Shape) -> Vector:
    """From 0 to 1, as a first or a second order."""
    if "tau" in shape:
        return np.asarray(-np.expm1(-elapsed / shape["tau"]), np.float64)
    w, z = shape["natural_frequency"], shape["damping"]
    wd = w * np.sqrt(1 - z**2)
    ringing = np.cos(wd * elapsed) + z * w / wd * np.sin(wd * elapsed)
    return np.asarray(1 - np.exp(-z * w * elapsed) * ringing, np.float64)
