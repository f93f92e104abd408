"""DifferenceFilter: an FMU or a Python function with noise in its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observed import ObservedModel
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.filter.differences.course import Course
from estimica.simulate.filter.differences.fmu import FmuMover, known_numbers
from estimica.simulate.filter.differences.function import FunctionMover
from estimica.simulate.filter.differences.levels import Surroundings, Variances
from estimica.simulate.filter.differences.mover import Mover, Tuned
from estimica.simulate.filter.differences.outputs import SeenOutputs
from estimica.simulate.filter.differences.response import DifferenceRecord, DifferenceResponse
from estimica.simulate.filter.measured import Measured, Series, pieces_with
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.fmu.model import FmuModel
from estimica.simulate.function.model import FunctionModel
from estimica.simulate.inputs import pieces_of, signals_of
from estimica.simulate.timed_model import experiment_times
from estimica.source.formula import Formula, parse_formula

BlackBox = FmuModel | FunctionModel


def black_box(model: Model) -> BlackBox | None:
    """The FMU or function of a model, or none."""
    inner = model.model if isinstance(model, ObservedModel) else model
    return inner if isinstance(inner, (FmuModel, FunctionModel)) else None


class DifferenceFilter:
    """The model and what is known of its errors."""

    def __init__(self, model: Model, noise: FilterNoise) -> None:
        found = black_box(model)
        assert found is not None
        self.model, self.noise = found, noise
        self._formulas: Mapping[str, Formula] = (
            model.formulas if isinstance(model, ObservedModel) else {}
        )
        self.states = self._states()
        self._require_possible()

    def _states(self) -> tuple[str, ...]:
        states = self.model.start_states
        if states:
            return states
        name = self.model.name
        if isinstance(self.model, FunctionModel):
            self._refuse(
                f"'{name}' is a function, and nobody knows what it remembers: name its states, "
                "function_model(…, states={'x': 'x0'}), or states = {…} in its file"
            )
        self._refuse(
            f"the states of the FMU '{name}' cannot all be set: use its Model Exchange interface "
            "if it has one, or the Modelica source"
        )

    def _refuse(self, why: str) -> NoReturn:
        raise ModelError("M243", f"criterion 'prediction' follows states, and {why}; or use 'ml'")

    def _require_possible(self) -> None:
        for state, _ in (*self.noise.diffusion, *self.noise.spread):
            if state not in self.states:
                raise ModelError(
                    "M240",
                    f"process noise: '{state}' is not a state of '{self.model.name}'"
                    f"{did_you_mean(state, self.states)} (states: {', '.join(self.states[:8])})",
                )
        for there, what, advice in (
            (self.noise.kind == "unscented", 'kind = "unscented"', 'write kind = "extended"'),
            (
                self.noise.stationary,
                'start_spread = "stationary"',
                f"give start_spread = {{ {self.states[0]} = … }}",
            ),
        ):
            if there:
                raise ModelError(
                    "M247",
                    f"{what} in [filter] needs equations, which '{self.model.name}' does not show; "
                    f"{advice}, or load the Modelica source",
                )

    def respond(
        self, experiment: Experiment, series: Mapping[str, Series], with_states: bool = False
    ) -> DifferenceResponse:
        """The filter over measured series by output."""
        measured = Measured.of(self.noise.outputs, series)
        _, begin = experiment_times(
            Experiment(measured.times, begin=experiment.begin, outputs=self.noise.outputs)
        )
        end = float(measured.times[-1])
        known = {q.name: q for q in self.model.quantities()}
        parameters = frozenset(
            n for n, q in known.items() if q.role not in ("state", "input", "algebraic")
        )
        own = {n: v for n, v in experiment.parameters.items() if n in parameters}
        wrt = tuple(experiment.wrt)
        tuned = Tuned(wrt, self.states, parameters & frozenset(wrt))
        inputs = self._input_names()
        plain = replace(
            experiment, times=measured.times, parameters=own, begin=begin, wrt=(), outputs=None,
            options=_without_scales(experiment.options),
        )  # fmt: skip
        self.model.respond(replace(plain, wrt=tuned.of_model))  # refuses what is not there
        held = {n: float(known[n].value or 0.0) for n in inputs}
        signals = signals_of(inputs, experiment.inputs, held)
        full = pieces_with(pieces_of(signals, begin, end), measured, end)
        nu = len(inputs)
        pieces = Pieces(
            full.starts,
            np.ascontiguousarray(full.values[:, :nu]),
            np.ascontiguousarray(full.slopes[:, :nu]),
        )
        numbers = {**self._numbers(own), **experiment.parameters}
        columns = {n: k for k, n in enumerate(wrt) if n not in self.states}
        around = Surroundings(
            {n: float(v) for n, v in numbers.items() if n not in wrt}, columns, inputs
        )
        outputs = SeenOutputs(self.noise.outputs, self._formulas, self.states, around)
        mover: Mover
        if isinstance(self.model, FunctionModel):
            begins = {self.model.begins[n]: float(v) for n, v in experiment.start.items()}
            mover = FunctionMover(
                self.model, signals, {**numbers, **begins}, tuned, outputs.variables
            )
        else:
            mover = FmuMover(self.model, plain, pieces, end, tuned, outputs.variables)
        course = Course(
            mover,
            outputs,
            self._variances(self.states, self.noise.diffusion, around, "noise in state"),
            self._variances(
                self.noise.outputs, self.noise.sigmas, around, "sigma of output",
                also=(*self.states, *self.noise.outputs),
            ),
            pieces,
            np.searchsorted(pieces.starts, measured.times),
            measured.relative,
        )  # fmt: skip
        tuners = np.array([self._tuner(n, numbers, experiment.start) for n in wrt])
        record = DifferenceRecord(
            course, measured, tuned,
            self._variances(self.states, self.noise.spread, around, "spread of state"),
            tuners, self._sizes(tuners, experiment.options), with_states,
        )  # fmt: skip

        def simulated(theta: Vector) -> Vector | None:
            values = dict(zip(wrt, map(float, theta), strict=True))
            run = self.model.respond(
                replace(
                    plain,
                    times=pieces.starts,
                    parameters={**own, **{n: v for n, v in values.items() if n in parameters}},
                    start={
                        **experiment.start,
                        **{n: v for n, v in values.items() if n in self.states},
                    },
                    outputs=self.states,
                )
            ).at()
            return run.Y if run.ok and np.isfinite(run.Y).all() else None

        return DifferenceResponse(record, simulated)

    def _input_names(self) -> tuple[str, ...]:
        if isinstance(self.model, FunctionModel):
            return self.model.input_names
        return self.model.read_group(self.model.fmu.inputs()).names

    def _numbers(self, given: Mapping[str, float]) -> dict[str, float]:
        if isinstance(self.model, FunctionModel):
            return {**self.model.values, **given}
        return known_numbers(self.model, given)

    def _tuner(self, name: str, numbers: Mapping[str, float], start: Mapping[str, float]) -> float:
        if name in self.states:
            own = next((q.value for q in self.model.quantities() if q.name == name), None)
            found = start.get(name, own if isinstance(own, (int, float)) else np.nan)
            return float(found)
        return float(numbers.get(name, np.nan))

    def _sizes(self, tuners: Vector, options: object) -> Vector:
        if isinstance(options, Options) and len(options.tuner_scales) == len(tuners):
            return np.array(options.tuner_scales, float)
        there = np.isfinite(tuners) & (tuners != 0)
        return np.where(there, np.abs(tuners), 1.0)

    def _variances(
        self,
        names: Sequence[str],
        texts: Sequence[tuple[str, str]],
        around: Surroundings,
        what: str,
        also: Sequence[str] = (),
    ) -> Variances:
        formulas = {n: parse_formula(t, f"{what} '{n}'") for n, t in texts}
        for name, formula in formulas.items():
            around.require(formula, f"{what} '{name}':", also)
        return Variances(tuple(names), formulas, around, what)


def _without_scales(options: object) -> Options:
    known = options if isinstance(options, Options) else Options()
    return replace(known, tuner_scales=())
