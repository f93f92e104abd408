"""Start quantities: what a parameter of a model may be of a step or frequency response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.model.interface import Model
from estimica.study.units import UnknownUnit, normalised_spelling, parse_unit

#: parameters that are tried. Chosen: every assignment of meanings to them is simulated
MOST = 5

Shape = Mapping[str, float]


@dataclass(frozen=True)
class Start:
    """A start value of a parameter, and what of the response it is."""

    value: float
    meaning: str  # as "gain", "time constant"


@dataclass(frozen=True, eq=False)
class Quantity:
    """Something that a parameter may be, as a function of the shape of the response."""

    meaning: str
    of: Callable[[Shape], float]
    says: str  # what of the shape it settles
    gain: int  # its unit is that of the gain to this power,
    seconds: int  # times the second to this one


FIRST_ORDER = (
    Quantity("gain", lambda s: s["gain"], "gain", 1, 0),
    Quantity("time constant", lambda s: s["tau"], "speed", 0, 1),
    Quantity("delay", lambda s: s["delay"], "delay", 0, 1),
    Quantity("1/time constant", lambda s: 1 / s["tau"], "speed", 0, -1),
    Quantity("gain/time constant", lambda s: s["gain"] / s["tau"], "gain", 1, -1),
)
SECOND_ORDER = (
    Quantity("gain", lambda s: s["gain"], "gain", 1, 0),
    Quantity("natural frequency", lambda s: s["natural_frequency"], "speed", 0, -1),
    Quantity("damping", lambda s: s["damping"], "damping", 0, 0),
    Quantity("delay", lambda s: s["delay"], "delay", 0, 1),
    Quantity(
        "gain·natural frequency²", lambda s: s["gain"] * s["natural_frequency"] ** 2, "gain", 1, -2
    ),
)

Assignment = Mapping[str, Quantity]


class Units:
    """Units of a model's parameters, and of the gain from one of its inputs to an output."""

    def __init__(self, model: Model, input_: str, output: str) -> None:
        self._of = {q.name: _dimension(q.unit) for q in model.quantities()}
        into, out = self._of.get(input_), self._of.get(output)
        self._gain = None if into is None or out is None else out - into

    def allow(self, name: str, quantity: Quantity) -> bool:
        """Whether a parameter may be this; where a unit is not known, yes."""
        own = self._of.get(name)
        if own is None or (quantity.gain and self._gain is None):
            return True
        wanted = quantity.seconds * _SECOND
        if quantity.gain and self._gain is not None:
            wanted = wanted + quantity.gain * self._gain
        return bool(np.array_equal(own, wanted))


def _dimension(unit: str) -> Vector | None:
    """Exponents of the base units; angles count nothing, as everybody leaves them out somewhere."""
    try:
        return np.array(parse_unit(normalised_spelling(unit)).dimension[:7]) if unit else None
    except UnknownUnit:
        return None


_SECOND = np.array(parse_unit("s").dimension[:7])


def starts(
    names: Sequence[str],
    quantities: Sequence[Quantity],
    explains: Callable[[Assignment], bool],
    guess: Shape,
    units: Units | None = None,
) -> dict[str, Start]:
    """Start values for parameters whose meaning explains the model's answer; often none.

    They are tried in threes, in pairs and alone; the largest set counts. Where two explain it,
    only that counts which they agree on. A resistance is no time constant: what contradicts the
    `units` is not tried.
    """
    names = [n for n in names if units is None or any(units.allow(n, q) for q in quantities)]
    for assignments in _by_size(names, quantities):
        allowed = [
            a for a in assignments if units is None or all(units.allow(n, q) for n, q in a.items())
        ]
        explaining = [a for a in allowed if explains(a)]
        if explaining:
            sure = {
                n: q for n, q in explaining[0].items() if all(a.get(n) is q for a in explaining)
            }
            return {n: Start(float(f"{q.of(guess):.3g}"), q.meaning) for n, q in sure.items()}
    return {}


def first_orders(gain: float, tau: float) -> list[Shape]:
    """Answers like a guessed one, but different from it and from each other."""
    return [
        {"gain": a * gain, "tau": b * tau, "delay": c * tau}
        # any three that are no simple multiples of each other: a wrong meaning fits by chance only
        for a, b, c in ((0.8, 1.1, 0.35), (1.3, 0.8, 0.7), (1.1, 0.95, 0.5))
    ]


def nominal_values(model: Model, tried: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """Values of the tried parameters, 1 where the model has none, and the names of those."""
    own = [q for q in model.quantities() if q.name in tried and q.role == "parameter"]
    values = {
        q.name: float(q.value) if isinstance(q.value, (int, float)) else 1.0
        for q in own
        if q.tunable
    }
    return values, [q.name for q in own if q.value is None]


def _by_size(
    names: Sequence[str], quantities: Sequence[Quantity]
) -> Iterator[list[dict[str, Quantity]]]:
    """Ways to give parameters a meaning, those that settle most first."""
    most = len({q.says for q in quantities})
    for size in range(min(most, len(names)), 0, -1):
        yield [
            dict(zip(chosen, meant, strict=True))
            for chosen in combinations(names, size)
            for meant in permutations(quantities, size)
            if _settles({q.says for q in meant}, size)
        ]


def _settles(names: set[str], size: int) -> bool:
    """One quantity of each kind, and none of shape where the speed is not known."""
    return len(names) == size and ("speed" in names or names == {"gain"})
