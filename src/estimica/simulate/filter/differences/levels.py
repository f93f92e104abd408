"""Levels: formulas of noise and of outputs, evaluated for many rows of tuners side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.model.observations import TIME
from estimica.simulate.filter.differences.mover import StoppedError
from estimica.source.formula import Formula

Values = Mapping[str, float | Vector]  # numbers, or (R,)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What formulas may speak of besides states and outputs."""

    numbers: Mapping[str, float]  # parameters that are not tuned
    columns: Mapping[str, int]  # of tuned ones, in θ
    inputs: tuple[str, ...]

    def at(self, theta: Vector, time: float, u: Vector) -> dict[str, float | Vector]:
        """All values at a time."""
        return {
            **self.numbers,
            **{n: theta[:, k] for n, k in self.columns.items()},
            **dict(zip(self.inputs, map(float, u), strict=True)),
            TIME: time,
        }

    def is_moving(self, name: str) -> bool:
        """Whether a name has another value at another time."""
        return name == TIME or name in self.inputs

    def require(self, formula: Formula, what: str, also: Sequence[str] = ()) -> None:
        """Refuse names without a value."""
        for name in formula.names:
            known = name in self.columns or name in self.numbers or self.is_moving(name)
            if not known and name not in also:
                raise ModelError(
                    "M244",
                    f"{what} '{formula.text}' speaks of '{name}', which is not known without "
                    "equations; write it in tuners, parameters and inputs",
                )


@dataclass(frozen=True, eq=False)
class Variances:
    """Squares of formulas, one for each of several names; zero where one has none."""

    names: tuple[str, ...]
    formulas: Mapping[str, Formula]
    around: Surroundings
    what: str  # in messages

    @property
    def are_still(self) -> bool:
        """Whether they are the same at all times."""
        return not any(self.around.is_moving(n) for f in self.formulas.values() for n in f.names)

    def at(self, theta: Vector, time: float, u: Vector, more: Values | None = None) -> Vector:
        """(R, n) at a time."""
        known = {**self.around.at(theta, time, u), **(more or {})}
        found = np.zeros((len(theta), len(self.names)))
        for k, name in enumerate(self.names):
            if name in self.formulas:
                found[:, k] = value_of(self.formulas[name], known)
        wrong = ~np.isfinite(found)
        if wrong.any():
            row, k = np.argwhere(wrong)[0]
            text = self.formulas[self.names[k]].text
            raise StoppedError(
                int(row), f"{self.what} '{self.names[k]}', '{text}', is not finite at {time:g} s"
            )
        return found**2

    def over_time(self, theta: Vector) -> Callable[[float, Vector], Vector]:
        """The same for many times, computed once where they are still."""
        if self.are_still:
            once = self.at(theta, 0.0, np.zeros(len(self.around.inputs)))
            return lambda time, u: once
        return lambda time, u: self.at(theta, time, u)


def value_of(formula: Formula, known: Values) -> float | Vector:
    """A number for all rows, or one for each."""
    with np.errstate(all="ignore"):
        return formula.at({n: known[n] for n in formula.names})
