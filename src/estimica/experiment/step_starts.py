"""Step starts: which parameters of a model *are* gain, time constant or delay of a step response.

Nobody trusts a name: a parameter is a time constant if the model's answer to the step is the
exponential of that time constant, whatever the parameter is set to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.base.signals import Vector
from estimica.compiled.model import Model, Respond
from estimica.experiment.first_guess import FirstGuess

MOST = 5  # parameters that are tried
CLOSE = 0.02  # of the rise: how far the answer may be from the exponential
SAMPLES = 600
REST, ANSWER = 12.0, 15.0  # time constants before and after the step

Shape = Mapping[str, float]


@dataclass(frozen=True)
class StepStart:
    """A start value of a parameter, and what of the step response it is."""

    value: float
    meaning: str  # as "gain", "time constant"


@dataclass(frozen=True, eq=False)
class _Quantity:
    """Something that a parameter may be, as a function of the shape of the step response."""

    meaning: str
    of: Callable[[Shape], float]
    says: str  # what of the shape it settles


_FIRST = (
    _Quantity("gain", lambda s: s["gain"], "gain"),
    _Quantity("time constant", lambda s: s["tau"], "speed"),
    _Quantity("delay", lambda s: s["delay"], "delay"),
    _Quantity("1/time constant", lambda s: 1 / s["tau"], "speed"),
    _Quantity("gain/time constant", lambda s: s["gain"] / s["tau"], "gain"),
)
_SECOND = (
    _Quantity("gain", lambda s: s["gain"], "gain"),
    _Quantity("natural frequency", lambda s: s["natural_frequency"], "speed"),
    _Quantity("damping", lambda s: s["damping"], "damping"),
    _Quantity("delay", lambda s: s["delay"], "delay"),
    _Quantity("gain·natural frequency²", lambda s: s["gain"] * s["natural_frequency"] ** 2, "gain"),
)


@dataclass(frozen=True)
class StepSetting:
    """Which input steps and which output answers, and where all inputs rest before the step."""

    input: str
    output: str
    inputs: Mapping[str, float]


def step_starts(
    model: Model, guess: FirstGuess, setting: StepSetting, candidates: Sequence[str]
) -> dict[str, StepStart]:
    """Start values for those of the `candidates` that the step response gives; often none.

    `guess` is in the units of the model. Parameters are tried in threes, in pairs and alone, with
    several values each; the largest set counts that explains the model's answer. Where two do, only
    that counts which they agree on.
    """
    shapes = _shapes(guess)
    quantities = _FIRST if guess.second_order is None else _SECOND
    tried = list(candidates)[:MOST]
    try:
        trial = _Trial(model, guess, setting, tried)
    except EstimicaError:
        return {}
    for assignments in _by_size(tried, quantities):
        found = [a for a in assignments if all(trial.explains(a, s) for s in shapes)]
        if found:
            sure = {n: q for n, q in found[0].items() if all(a.get(n) is q for a in found)}
            real = guess.parameters
            return {n: StepStart(_short(q.of(real)), q.meaning) for n, q in sure.items()}
    return {}


def _by_size(
    names: Sequence[str], quantities: Sequence[_Quantity]
) -> Iterator[list[dict[str, _Quantity]]]:
    """Ways to give parameters a meaning, those that settle most first."""
    most = len({q.says for q in quantities})
    for size in range(min(most, len(names)), 0, -1):
        yield [
            dict(zip(chosen, meant, strict=True))
            for chosen in combinations(names, size)
            for meant in permutations(quantities, size)
            if _settles({q.says for q in meant}, size)
        ]


def _settles(said: set[str], size: int) -> bool:
    """One quantity of each kind, and none of shape where the speed is not known."""
    return len(said) == size and ("speed" in said or said == {"gain"})


def _shapes(guess: FirstGuess) -> list[Shape]:
    """Answers like the guessed one, but different from it and from each other."""
    factors = [(0.8, 1.1, 0.35), (1.3, 0.8, 0.7), (1.1, 0.95, 0.5)]
    two = guess.second_order
    if two is None:
        return [
            {"gain": a * guess.gain, "tau": b * guess.tau, "delay": c * guess.tau}
            for a, b, c in factors
        ]
    w = two.natural_frequency
    return [
        {"gain": a * guess.gain, "natural_frequency": b * w, "damping": c, "delay": 2 * c / w}
        for a, b, c in factors
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
        values = {
            q.name: q.value if isinstance(q.value, (int, float)) else 1.0
            for q in model.quantities()
            if q.role == "parameter" and q.tunable
        }
        self.names = [n for n in values if n in tried]
        self.missing = [q.name for q in model.quantities() if q.name in tried and q.value is None]
        self.values: Vector = np.array([values[n] for n in self.names], np.float64)
        self.respond: Respond = model.response(
            self.times,
            inputs,
            {n: values[n] for n in self.missing},
            outputs=[setting.output],
            wrt=self.names,
        )

    def explains(self, assignment: Mapping[str, _Quantity], shape: Shape) -> bool:
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


def _short(value: float) -> float:
    return float(f"{value:.3g}")
