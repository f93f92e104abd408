"""FormulaModel: formulas fitted to points; without time, states or events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.signals import Signal, as_signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.formulas import (
    FormulaInputResponse,
    FormulaProgram,
    FormulaResponse,
    formula_program,
)
from estimica.compiled.model.interface import Model
from estimica.source.formula import CONSTANTS, Formula, parse_formula

Numbers = Mapping[str, float]


def formula_model(
    formulas: Mapping[str, str],
    inputs: Sequence[str],
    *,
    name: str = "formula",
    tunable: bool = True,
) -> FormulaModel:
    """A model of outputs given by formulas; names that are no `inputs` are its parameters.

    What shall be `tunable` has at least one.
    """
    if not formulas:
        raise ModelError("M073", "a formula model needs a formula, as in {'y': 'a*x + b'}")
    parsed = {o: parse_formula(t, f"formula of output '{o}'") for o, t in formulas.items()}
    used = dict.fromkeys(n for f in parsed.values() for n in f.names)
    for n in inputs:
        if n not in used:
            raise ModelError("M074", f"input '{n}': {_unused(n, list(used))}")
    for o in parsed:
        if o in used:
            raise ModelError(
                "M075", f"'{o}' is an output and cannot stand in a formula; rename one of the two"
            )
    if tunable and not used.keys() - set(inputs):
        listed = ", ".join(f"'{t}'" for t in formulas.values())
        raise ModelError(
            "M076",
            f"{listed}: no parameter to be found, all names are inputs; write one into the "
            f"formula, or leave it out of the inputs ({', '.join(inputs) or 'none'})",
        )
    return FormulaModel(parsed, tuple(dict.fromkeys(inputs)), name)


def _unused(name: str, used: list[str]) -> str:
    if name in CONSTANTS:
        return f"in a formula {name} is the number {CONSTANTS[name]:g}; choose another name"
    hint = did_you_mean(name, used) or f" (names: {', '.join(used) or 'none'})"
    return f"no formula uses it{hint}"


class FormulaModel(Model):
    """Outputs as formulas of inputs and parameters; built by `formula_model`."""

    def __init__(self, formulas: Mapping[str, Formula], inputs: tuple[str, ...], name: str) -> None:
        self.name = name
        self.description = "; ".join(f"{o} = {f.text}" for o, f in formulas.items())
        self.formulas = dict(formulas)
        self.input_names = inputs
        used = dict.fromkeys(n for f in formulas.values() for n in f.names)
        self.parameter_names = tuple(n for n in used if n not in inputs)
        self._plans: dict[tuple[object, ...], FormulaProgram] = {}

    @property
    def has_time(self) -> bool:
        """False: each point stands alone."""
        return False

    def quantities(self) -> list[Quantity]:
        """Outputs, inputs and parameters; a formula gives none of them a value."""
        return [
            *(Quantity(n, description=f.text, role="algebraic") for n, f in self.formulas.items()),
            *(Quantity(n, role="input") for n in self.input_names),
            *(Quantity(n, role="parameter", tunable=True) for n in self.parameter_names),
        ]

    def output_names(self) -> tuple[str, ...]:
        """The names given to the formulas."""
        return tuple(self.formulas)

    def respond(self, experiment: Experiment) -> FormulaResponse:
        """The points `times` (their numbers), to be evaluated at many values of the tuners.

        `inputs` are numbers, arrays of one value for each point, or signals that have a sample at
        each point.
        """
        points = np.atleast_1d(np.asarray(experiment.times, np.float64))
        if not points.size:
            raise ModelError("M088", "no points; a formula needs at least one")
        if experiment.start:
            state = next(iter(experiment.start))
            raise ModelError("M077", f"a formula has no state '{state}'; leave start= out")
        names = self._known(experiment.outputs, self.output_names(), "output")
        names = names or self.output_names()
        tuners = self._known(experiment.wrt, self.parameter_names, "parameter")
        set_values = {n: _finite(n, v) for n, v in experiment.parameters.items()}
        self._known(list(set_values), self.parameter_names, "parameter")
        self._require_values(names, set_values, tuners)
        values = self._inputs(experiment.inputs, points)
        vector = tuple(n for n, v in values.items() if isinstance(v, np.ndarray))
        key = (names, tuners, vector)
        if key not in self._plans:
            self._plans[key] = formula_program({n: self.formulas[n] for n in names}, tuners, vector)
        known = values | {n: v for n, v in set_values.items() if n not in tuners}
        begun = np.array([set_values.get(n, np.nan) for n in tuners])
        return FormulaResponse(self._plans[key], points, known, begun)

    def response_to_inputs(
        self,
        points: Vector,
        inputs: Mapping[str, object],
        parameters: Numbers,
        *,
        outputs: Sequence[str],
        wrt: Sequence[str],
        wrt_inputs: Sequence[str],
        options: Any = None,
    ) -> FormulaInputResponse:
        """Points to be evaluated at many values of the tuners `wrt` and the inputs `wrt_inputs`."""
        values = self._inputs(inputs, points)
        vector = [n for n, v in values.items() if isinstance(v, np.ndarray) or n in wrt_inputs]
        formulas = {
            n: self.formulas[n] for n in self._known(outputs, self.output_names(), "output")
        }
        self._require_values(outputs, parameters, wrt)
        made = formula_program(formulas, (*wrt, *wrt_inputs), vector)
        known = values | {n: float(v) for n, v in parameters.items() if n not in wrt}
        return FormulaInputResponse(made, points, known, len(wrt))

    def _known(
        self, given: Sequence[str] | None, names: Sequence[str], what: str
    ) -> tuple[str, ...]:
        chosen = (given,) if isinstance(given, str) else tuple(given or ())
        for n in chosen:
            if n not in names:
                if n in self.input_names:
                    raise ModelError("M078", f"'{n}' is an input, no {what}")
                hint = did_you_mean(n, names) or f" ({what}s: {', '.join(names)})"
                raise ModelError("M079", f"the formula has no {what} '{n}'{hint}")
            if chosen.count(n) > 1:
                raise ModelError("M080", f"{what} '{n}' is named twice")
        return chosen

    def _require_values(
        self, outputs: Sequence[str], given: Numbers, tuners: Sequence[str]
    ) -> None:
        for o in outputs:
            for n in self.formulas[o].names:
                if n in self.parameter_names and n not in given and n not in tuners:
                    raise ModelError(
                        "M081", f"parameter '{n}' of output '{o}' has no value; tune it or set it"
                    )

    def _inputs(self, given: Mapping[str, object], points: Vector) -> dict[str, float | Vector]:
        self._known(list(given), self.input_names, "input")
        missing = [n for n in self.input_names if n not in given]
        if missing:
            raise ModelError("M082", f"input '{missing[0]}' is not given; a formula needs it")
        return {n: _at_points(n, given[n], points) for n in self.input_names}

    def __reduce__(self) -> tuple[object, ...]:
        return FormulaModel, (self.formulas, self.input_names, self.name)

    def __repr__(self) -> str:
        return f"<Formula model {self.name}: {self.description}>"


def _finite(name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ModelError("M083", f"'{name}': {value!r} is not a number") from None
    if not np.isfinite(number):
        raise ModelError("M084", f"'{name}': {number} is not finite")
    return number


def _at_points(name: str, given: object, points: Vector) -> float | Vector:
    """A number, or one value for each point."""
    if isinstance(given, np.ndarray) and given.ndim:
        values = np.ascontiguousarray(given, np.float64)
        if values.shape != points.shape:
            raise ModelError(
                "M085", f"input '{name}': {values.size} values for {points.size} points"
            )
    else:
        signal = as_signal(name, given)
        if len(signal.time) == 1:
            return float(signal.value[0])
        values = _sampled(name, signal, points)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        k = int(bad[0])
        raise ModelError(
            "M086", f"input '{name}' is {values[k]} at point {points[k]:g}; leave that point out"
        )
    return values


def _sampled(name: str, signal: Signal, points: Vector) -> Vector:
    """The samples at the points: between two points there is nothing to hold or interpolate."""
    k = np.searchsorted(signal.time, points, side="right") - 1
    missing = np.flatnonzero((k < 0) | (signal.time[k] != points))
    if missing.size:
        point = points[missing[0]]
        raise ModelError("M087", f"input '{name}' has no value at point {point:g}; leave it out")
    return signal.value[k]
