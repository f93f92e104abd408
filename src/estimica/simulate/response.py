"""Response: a model with inputs, output times and tuners chosen, to be evaluated at many points.

Everything that does not depend on the tuners' values is done once; one evaluation is then one call
of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.equations import Equations
from estimica.compiled.kernel import Kernel, build_kernel
from estimica.compiled.tuning import Constant, Tuning, find_constant, require_tunable, tune
from estimica.flat.system import Variable
from estimica.simulate.engine import run as engine
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import integrate
from estimica.simulate.initial import Initialiser


@dataclass(frozen=True, eq=False)
class Configuration:
    """A model compiled for some tuners and outputs; shared by all responses that want the same."""

    tuning: Tuning
    initialiser: Initialiser
    kernel: Kernel
    outputs: tuple[str, ...]


class Configurations:
    """Compiles configurations of one model and keeps them."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self._tunings: dict[tuple[object, ...], tuple[Tuning, Initialiser]] = {}
        self._found: dict[tuple[object, ...], Configuration] = {}

    def get(
        self, outputs: Sequence[str], wrt: Sequence[Constant] = (), overridden: Sequence[str] = ()
    ) -> Configuration:
        """The configuration for these outputs, tuners and constants set from outside."""
        full = (tuple(wrt), frozenset(overridden), tuple(outputs))
        if full not in self._found:
            tuning, initialiser = self._tuned(wrt, overridden)
            values = [self.equations.value(n) for n in outputs]
            y = ca.substitute(_column(values), self.equations.homotopy, ca.SX(1))
            kernel = build_kernel(tuning.hybrid, y, sensitivities=bool(wrt))
            self._found[full] = Configuration(tuning, initialiser, kernel, tuple(outputs))
        return self._found[full]

    def tuning(self, wrt: Sequence[Constant], overridden: Sequence[str]) -> Tuning:
        """The tuning alone: which constants are set, and how the others follow."""
        return self._tuned(wrt, overridden)[0]

    def initialiser(self, wrt: Sequence[Constant], overridden: Sequence[str]) -> Initialiser:
        """What finds the start of a run with that tuning."""
        return self._tuned(wrt, overridden)[1]

    def _tuned(
        self, wrt: Sequence[Constant], overridden: Sequence[str]
    ) -> tuple[Tuning, Initialiser]:
        key = (tuple(wrt), frozenset(overridden))
        if key not in self._tunings:
            tuning = tune(self.equations, wrt, overridden)
            self._tunings[key] = tuning, Initialiser(tuning)
        return self._tunings[key]


def _column(parts: list[ca.SX]) -> ca.SX:
    return ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)


class Response:
    """y(t; θ) of one experiment and, where there are tuners, its exact Jacobian."""

    makes_ensembles: ClassVar[bool] = True  # whether many members of it can be run together

    def __init__(
        self,
        configuration: Configuration,
        values: Vector,
        pieces: Pieces,
        times: Vector,
        begin: float,
        options: Options,
    ) -> None:
        self.configuration = configuration
        self.values = values
        self.pieces = pieces
        self.times = times
        self.begin = begin
        tuning = configuration.tuning
        self._index = np.array([tuning.index[c.name] for c in tuning.wrt], dtype=int)
        self._sign = np.array([c.sign for c in tuning.wrt])
        self.options = _scaled(options, tuning, values[self._index])

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up."""
        tuners: Vector = self.values[self._index] * self._sign
        return tuners

    def with_tuners(self, theta: Vector | None) -> Vector:
        """Values of the independent constants with the tuners at `theta`."""
        values = self.values
        if theta is not None and len(self._index):
            values = values.copy()
            values[self._index] = theta * self._sign
        return values

    def with_all_tuners(self, thetas: Vector) -> Vector:
        """The same for every row of `thetas`."""
        values = np.tile(self.values, (len(thetas), 1))
        if len(self._index):
            values[:, self._index] = thetas * self._sign
        return values

    def at(self, theta: Vector | None = None) -> Run:
        """Integrate at tuner values `theta`; a failed run is a value, with its status."""
        return self.at_values(self.with_tuners(theta), self.times)

    def at_values(self, values: Vector, times: Vector) -> Run:
        """Integrate at values of all independent constants, sampled at `times` up to the end."""
        c = self.configuration
        start = c.initialiser.start(values, self.begin, self.pieces.values[0])
        begun = engine.RunStart(start.x, start.S, start.z, start.d)
        run = integrate(c.kernel, start.P, begun, self.pieces, times, self.options)
        return replace(run, notes=start.notes) if start.notes else run

    def place(self, parameter: str) -> int:
        """Where a parameter that was set stands among the independent constants."""
        return self.configuration.tuning.index[parameter]


def _scaled(options: Options, tuning: Tuning, values: Vector) -> Options:
    """Absolute tolerances in the states' own units, tuner scales from the tuners' values."""
    system = tuning.equations.system
    nominal = [_nominal(system.flat.by_name.get(n)) for n in system.states + system.memories]
    atol = options.atol
    if not isinstance(atol, tuple) and any(n != 1.0 for n in nominal):
        atol = tuple(atol * n for n in nominal)
    scales = options.tuner_scales or tuple(float(v) if v else 1.0 for v in np.abs(values))
    return replace(options, atol=atol, tuner_scales=scales)


def _nominal(variable: Variable | None) -> float:
    """A positive number given as nominal value; 1 where there is none."""
    if variable is None or variable.nominal is None or variable.nominal.op != "const":
        return 1.0
    return abs(variable.nominal.value) or 1.0


def numbers(
    equations: Equations,
    parameters: Mapping[str, float] | None,
    start: Mapping[str, float] | None,
) -> dict[str, float]:
    """Run constants set by the user, checked: {entry of P: value}."""
    values: dict[str, float] = {}
    for name, value in (parameters or {}).items():
        constant = require_tunable(equations, name, "changed")
        if constant.name.startswith("start("):
            raise ModelError(
                "M040", f"'{name}' is a state, not a parameter; set its start value with start="
            )
        values[constant.name] = _finite(name, value)
    for name, value in (start or {}).items():
        constant = find_constant(equations, name)
        if not constant.name.startswith("start("):
            raise ModelError("M041", f"'{name}' is a parameter; set it with parameters=")
        values[constant.name] = constant.sign * _finite(name, value)
    return values


def _finite(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M042", f"'{name}': {value!r} is not a number") from None
    if not np.isfinite(number):
        raise ModelError("M043", f"'{name}': {number} is not finite")
    return number
