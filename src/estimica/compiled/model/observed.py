"""ObservedModel: a model with further outputs, given by formulas of its variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.signals import as_signal
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.formulas import FormulaChain, FormulaRun
from estimica.compiled.model.interface import (
    Evaluation,
    InputResponse,
    Model,
    ModelResponse,
    OperatingPoint,
)
from estimica.compiled.model.observations import TIME, Observations
from estimica.source.formula import Formula

Numbers = Mapping[str, float]
FIXED = ("parameter", "constant")


class ObservedModel(Model):
    """Any model, its outputs and formulas of them; what it is otherwise, the model says."""

    def __init__(self, model: Model, observations: Observations) -> None:
        self.model = model
        self.observations = observations
        self.name = model.name
        self.description = model.description
        self.formulas = observations.formulas
        self._roles = {q.name: q.role for q in model.quantities()}

    def quantities(self) -> list[Quantity]:
        """Those of the model, the outputs and their parameters."""
        return [*self.model.quantities(), *self.observations.quantities()]

    def output_names(self) -> tuple[str, ...]:
        """The declared outputs and the formulas."""
        return (*self.model.output_names(), *self.formulas)

    def driven_by(self, names: Sequence[str]) -> Model:
        """The same of the model whose inputs a case names."""
        model = self.model.driven_by(names)
        return self if model is self.model else model.observed(self.observations)

    @property
    def has_time(self) -> bool:
        """As the model."""
        return self.model.has_time

    @property
    def precision(self) -> float | None:
        """As the model: a formula adds rounding only."""
        return self.model.precision

    @property
    def derivatives(self) -> str:
        """As the model."""
        return self.model.derivatives

    @property
    def communication(self) -> float | None:
        """As the model."""
        return self.model.communication

    def respond(self, experiment: Experiment) -> ModelResponse:
        """The model's own response, and the formulas over it."""
        e = experiment
        layout = self._layout(e.outputs, e.wrt, e.parameters)
        inner = self.model.respond(
            replace(
                e,
                parameters=layout.inner(e.parameters),
                outputs=layout.variables,
                wrt=layout.tuned,
                options=_inner_options(e.options, layout),
            )
        )
        known = {**layout.known, **_signals(layout.inputs, e.inputs, inner.times)}
        return ObservedResponse(inner, layout, known, self.has_time)

    def frequency_experiment(
        self,
        omega: Sequence[float] | Vector,
        inputs: Mapping[str, float] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        transfers: Sequence[tuple[str, str]],
        wrt: Sequence[str] = (),
        operating_point: OperatingPoint = "steady",
    ) -> ModelResponse:
        """That of the model, for its own outputs."""
        for output, _ in transfers:
            if output in self.formulas:
                raise ModelError(
                    "M230",
                    f"output '{output}' is a formula, and model '{self.name}' has frequency "
                    "responses of its own variables only; measure one of those, or write the model "
                    "in Modelica",
                )
        own = [n for n in wrt if n in self.observations.parameters]
        if own:
            raise ModelError(
                "M230",
                f"'{own[0]}' stands in a formula of an output, which no frequency response of "
                f"'{self.name}' has; tune it in a study of cases over time",
            )
        return self.model.frequency_experiment(
            omega,
            inputs,
            {n: v for n, v in (parameters or {}).items() if n not in self.observations.parameters},
            start,
            transfers=transfers,
            wrt=wrt,
            operating_point=operating_point,
        )

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
    ) -> InputResponse:
        """Points to be evaluated at many values of the tuners `wrt` and the inputs `wrt_inputs`."""
        layout = self._layout(outputs, wrt, parameters, moving_inputs=wrt_inputs)
        respond = self.model.response_to_inputs(
            points,
            inputs,
            layout.inner(parameters),
            outputs=layout.variables,
            wrt=layout.tuned,
            wrt_inputs=wrt_inputs,
            options=options,
        )
        still = [n for n in layout.inputs if n not in wrt_inputs]
        known = {**layout.known, **_signals(still, inputs, points)}
        return ObservedInputResponse(respond, layout, known, points, tuple(wrt_inputs))

    def _layout(
        self,
        outputs: Sequence[str] | None,
        wrt: Sequence[str],
        given: Numbers,
        moving_inputs: Sequence[str] = (),
    ) -> OutputSplit:
        if isinstance(outputs, str):
            outputs = [outputs]
        names = tuple(self.output_names() if outputs is None else outputs)
        used = [n for o in names if o in self.formulas for n in self.formulas[o].names]
        fixed = [n for n in dict.fromkeys(used) if self._is_parameter(n) and n not in wrt]
        return OutputSplit(
            outputs=names,
            formulas={n: self.formulas[n] for n in names if n in self.formulas},
            wrt=tuple(wrt),
            variables=tuple(
                dict.fromkeys(
                    [*(n for n in names if n not in self.formulas), *filter(self._varies, used)]
                )
            ),
            inputs=tuple(n for n in dict.fromkeys(used) if self._roles.get(n) == "input"),
            own=self.observations.parameters,
            known={n: self._value(n, given) for n in fixed},
            is_parameter=tuple(self._is_parameter(n) for n in wrt),
            moving_inputs=tuple(moving_inputs),
        )

    def _is_parameter(self, name: str) -> bool:
        return name in self.observations.parameters or self._roles.get(name) in FIXED

    def _varies(self, name: str) -> bool:
        return name != TIME and not self._is_parameter(name) and self._roles.get(name) != "input"

    def _value(self, name: str, given: Numbers) -> float:
        if name in given:
            return float(given[name])
        value = next((q.value for q in self.model.quantities() if q.name == name), None)
        if isinstance(value, (int, float)) and np.isfinite(value):
            return float(value)
        raise ModelError(
            "M231",
            f"'{name}' stands in a formula of an output and has no value; tune it, or fix it in "
            "the case",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return ObservedModel, (self.model, self.observations)

    def __repr__(self) -> str:
        return f"<{self.model!r} with {', '.join(self.formulas)}>"


@dataclass(frozen=True)
class OutputSplit:
    """Which outputs and tuners the model has, and which the formulas."""

    outputs: tuple[str, ...]
    formulas: Mapping[str, Formula]
    wrt: tuple[str, ...]
    variables: tuple[str, ...]  # of the model, that are simulated
    inputs: tuple[str, ...]  # in formulas
    own: tuple[str, ...]  # parameters of formulas, which the model does not have
    known: Mapping[str, float]  # parameters in formulas that are not tuned
    is_parameter: tuple[bool, ...]  # of `wrt`; others are start values
    moving_inputs: tuple[str, ...] = ()

    @cached_property
    def tuned(self) -> tuple[str, ...]:
        """Tuners that are of the model."""
        return tuple(n for n in self.wrt if n not in self.own)

    @cached_property
    def places(self) -> Indices:
        """Where the model's tuners, and the inputs that move, stand among all."""
        inner = [k for k, n in enumerate(self.wrt) if n not in self.own]
        return np.array([*inner, *range(len(self.wrt), self.width)], int)

    @property
    def width(self) -> int:
        """How many derivatives an output has."""
        return len(self.wrt) + len(self.moving_inputs)

    def inner(self, given: Numbers) -> dict[str, float]:
        """Values of parameters that are of the model."""
        return {n: v for n, v in given.items() if n not in self.own}

    def chain(
        self, known: Mapping[str, float | Vector], times: Vector, has_time: bool
    ) -> FormulaChain:
        """The formulas over samples of the variables."""
        names = dict.fromkeys(n for f in self.formulas.values() for n in f.names)
        tuned = [n for n, p in zip(self.wrt, self.is_parameter, strict=True) if p]
        moving = [n for n in names if n in self.variables or n in tuned or n in self.moving_inputs]
        arrays = [n for n in names if n in self.variables or n in self.inputs or n == TIME]
        stamps = {TIME: times} if TIME in names else {}
        scalars = {n: v for n, v in known.items() if np.ndim(v) == 0}
        return FormulaChain(
            self.formulas,
            moving,
            [n for n in arrays if n not in scalars],
            times,
            {**known, **stamps},
            stamp="time" if has_time else "point",
        )


class ObservedResponse:
    """An experiment of the model with the formulas of its outputs."""

    def __init__(
        self,
        inner: ModelResponse,
        layout: OutputSplit,
        known: Mapping[str, float | Vector],
        has_time: bool,
    ) -> None:
        self.inner = inner
        self.layout = layout
        self._chain = layout.chain(known, np.asarray(inner.times, np.float64), has_time)
        self._start = np.full(len(layout.wrt), np.nan)
        self._start[layout.places] = inner.tuners

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""
        return self._start.copy()

    @property
    def times(self) -> Vector:
        """As the model."""
        return self.inner.times

    def at(self, theta: Vector | None = None) -> Evaluation:
        """Outputs and exact derivatives at tuner values `theta`."""
        values = self._start if theta is None else np.asarray(theta, np.float64)
        run = self.inner.at(values[self.layout.places])
        return run if not run.ok else observed_run(self.layout, self._chain, run, values)


class ObservedInputResponse:
    """The same for points whose inputs move too."""

    def __init__(
        self,
        inner: InputResponse,
        layout: OutputSplit,
        known: Mapping[str, float | Vector],
        points: Vector,
        moving: tuple[str, ...],
    ) -> None:
        self._inner, self._layout, self._moving = inner, layout, moving
        self._chain = layout.chain(known, points, has_time=False)

    def at(self, theta: Vector, inputs: Vector) -> Evaluation:
        """Outputs and derivatives, those by the inputs of the same point last."""
        tuned = [k for k, n in enumerate(self._layout.wrt) if n not in self._layout.own]
        run = self._inner.at(theta[tuned], inputs)
        moved = dict(zip(self._moving, inputs, strict=True))
        return observed_run(self._layout, self._chain, run, theta, moved)


def observed_run(
    layout: OutputSplit,
    chain: FormulaChain,
    run: Evaluation,
    theta: Vector,
    moved: Mapping[str, Vector] | None = None,
) -> FormulaRun:
    """The outputs of a layout from the variables of a run."""
    N, width = len(run.Y), layout.width
    inner = np.zeros((N, len(layout.variables), width))
    inner[:, :, layout.places] = run.YS
    values: dict[str, float | Vector] = {n: run.Y[:, k] for k, n in enumerate(layout.variables)}
    slopes: dict[str, Vector] = {n: inner[:, k] for k, n in enumerate(layout.variables)}
    unit = np.eye(width)
    for k, name in enumerate(layout.wrt):
        if layout.is_parameter[k]:
            values[name], slopes[name] = float(theta[k]), unit[k]
    for k, (name, value) in enumerate((moved or {}).items(), start=len(layout.wrt)):
        values[name], slopes[name] = value, unit[k]
    formulas = chain.at(values, slopes)
    Y = np.empty((N, len(layout.outputs)))
    YS = np.empty((N, len(layout.outputs), width))
    place = {n: k for k, n in enumerate(layout.formulas)}
    for k, name in enumerate(layout.outputs):
        if name in place:
            Y[:, k], YS[:, k] = formulas.Y[:, place[name]], formulas.YS[:, place[name]]
        else:
            Y[:, k], YS[:, k] = values[name], slopes[name]
    return FormulaRun(formulas.times, Y, YS, formulas.status, formulas.text)


def _signals(
    names: Sequence[str], inputs: Mapping[str, object], times: Vector
) -> dict[str, float | Vector]:
    """Inputs that stand in formulas, at the samples."""
    samples: dict[str, float | Vector] = {}
    for name in names:
        given = inputs.get(name)
        if given is None:
            raise ModelError(
                "M232", f"input '{name}' stands in a formula of an output; give it in the case"
            )
        if isinstance(given, np.ndarray) and given.shape == times.shape:
            samples[name] = given
        else:
            signal = as_signal(name, given)
            samples[name] = signal.at(times) if len(signal.time) > 1 else float(signal.value[0])
    return samples


def _inner_options(options: Any, layout: OutputSplit) -> Any:
    """Options whose scales of tuners are those of the model's."""
    scales = getattr(options, "tuner_scales", ())
    if len(scales) != len(layout.wrt):
        return options
    return replace(options, tuner_scales=tuple(np.array(scales)[layout.places]))
