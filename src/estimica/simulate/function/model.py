"""FunctionModel: any Python function y = f(u, t, p) as a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.saving.packing import restores
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.simulate.engine.options import Options, require_adaptive
from estimica.simulate.function.call import (
    Function,
    FunctionCall,
    Signature,
    function_name,
    signature_of,
)
from estimica.simulate.function.file import code_of_source, read_function
from estimica.simulate.function.response import DerivativeKind, DerivativeMethod, FunctionResponse
from estimica.simulate.inputs import signals_of
from estimica.simulate.timed_model import TimedModel, experiment_times, finite_number, known_names

Numbers = Mapping[str, float]


def function_model(
    function: Function,
    parameters: Numbers | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    *,
    states: Mapping[str, str] | None = None,
    derivatives: DerivativeKind = "auto",
    name: str | None = None,
) -> FunctionModel:
    """A model from a Python function y = f(u, t, p).

    `u` holds one value for each of the times `t`, or a column for each of several inputs; `y` is
    returned in the same way. `p` gives parameters by number and by name, p[0] or p["K"]; they may
    also be arguments of their own, f(u, t, K, tau), whose defaults are then their values.
    `parameters` maps names to values, or only names them. `states={"x": "x0"}` says that output x
    is a state that begins at parameter x0, and that nothing else is remembered from time to time:
    the function may then be begun anywhere. `derivatives` are found by JAX, by CasADi or by
    differences, whichever goes, unless one is chosen.
    """
    if not callable(function):
        raise ModelError("M134", f"{function!r} is not a function")
    given = None if parameters is None else _named(parameters)
    signature = signature_of(function, None if given is None else list(given))
    values = given if given is not None else dict(signature.defaults)
    if not values:
        raise ModelError(
            "M135",
            f"'{function_name(function)}': which parameters are there? Give parameters={{'K': 1}}",
        )
    return FunctionModel(
        function,
        signature,
        values,
        (signature.first,) if inputs is None else _listed(inputs),
        ("y",) if outputs is None else _listed(outputs),
        derivatives,
        name or function_name(function),
        states,
    )


def function_model_of_file(
    source: str,
    folder: Path,
    fix: Mapping[str, object] | None = None,
    derivatives: DerivativeKind = "auto",
) -> FunctionModel:
    """The model of "file.py:function"; the file may declare parameters, inputs, outputs and
    states."""
    return function_model_of_code(code_of_source(source, folder), fix, derivatives)


@restores
def function_model_of_code(
    code: TrustedCode, fix: Mapping[str, object] | None = None, derivatives: DerivativeKind = "auto"
) -> FunctionModel:
    """The same of a code that was read already."""
    found = read_function(code)
    model = function_model(
        found.function,
        found.parameters,
        found.inputs,
        found.outputs,
        states=found.states,
        derivatives=derivatives,
    )
    fixed = {n: finite_number(n, v) for n, v in (fix or {}).items()}
    known_names(model, list(fixed), model.parameter_names, "parameter")
    model.values.update(fixed)
    model.origin = (code, fix, derivatives)
    return model


class FunctionModel(TimedModel):
    """A Python function; built by `function_model`."""

    def __init__(
        self,
        function: Function,
        signature: Signature,
        parameters: Mapping[str, float | None],
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
        way: DerivativeKind,
        name: str,
        states: Mapping[str, str] | None = None,
    ) -> None:
        if way not in get_args(DerivativeKind):
            raise ModelError(
                "M136", f"derivatives '{way}' is none of {', '.join(get_args(DerivativeKind))}"
            )
        self.function, self.signature = function, signature
        self.name = name
        self.description = (function.__doc__ or "").strip().split("\n")[0]
        self.parameter_names = tuple(parameters)
        self.input_names = inputs
        self.values = {n: finite_number(n, v) for n, v in parameters.items() if v is not None}
        self.origin: tuple[Any, ...] | None = None  # the code that it was made of
        self._output_names = outputs
        self._way: DerivativeKind = way
        self._found: DerivativeMethod | None = None
        every = [*outputs, *inputs, *parameters]
        for one in every:
            if every.count(one) > 1:
                raise ModelError("M122", f"the name '{one}' is used twice; rename one of them")
        self.begins = _checked_states(name, states or {}, outputs, self.parameter_names)

    @property
    def derivatives(self) -> str:
        """How the derivatives are computed; it is found at the first evaluation."""
        return "not yet needed" if self._found is None else self._found.text

    @property
    def precision(self) -> float | None:
        """Relative error of the derivatives, as measured."""
        return None if self._found is None else self._found.error

    @property
    def start_states(self) -> tuple[str, ...] | None:
        """The states that were named; what a function remembers otherwise nobody knows."""
        return tuple(self.begins) or None

    def quantities(self) -> list[Quantity]:
        """Outputs, inputs and parameters."""
        return [
            *(
                Quantity(n, self.values.get(self.begins[n]), role="state")
                if n in self.begins
                else Quantity(n, role="algebraic")
                for n in self._output_names
            ),
            *(Quantity(n, 0.0, role="input") for n in self.input_names),
            *(
                Quantity(n, self.values.get(n), role="parameter", tunable=True)
                for n in self.parameter_names
            ),
        ]

    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._output_names

    def respond(self, experiment: Experiment) -> FunctionResponse:
        """An experiment set up once.

        The function sees the beginning, every stamp of the inputs and every sample up to the last
        one, whatever of them is asked for.
        """
        grid, begun = experiment_times(experiment)
        if experiment.start and not self.begins:
            state = next(iter(experiment.start))
            raise ModelError(
                "M137",
                f"a function has no state '{state}'; leave start= out, or name the parameter where "
                f"it begins: states={{'{state}': '…'}}",
            )
        known_names(self, list(experiment.start), tuple(self.begins), "state")
        outputs = known_names(self, experiment.outputs, self._output_names, "output")
        outputs = self._output_names if experiment.outputs is None else outputs
        tuners = self._tuners(experiment.wrt)
        starts = {self.begins[n]: v for n, v in experiment.start.items()}
        known = self._numbers({**experiment.parameters, **starts}, tuners)
        rest = dict.fromkeys(self.input_names, 0.0)
        signals = signals_of(self.input_names, experiment.inputs, rest)
        stamps = [
            s.time[(s.time >= begun) & (s.time <= grid[-1])] for s in signals if len(s.time) > 1
        ]
        every = np.unique(np.concatenate([[begun], grid, *stamps]))
        u = (
            np.column_stack([s.at(every) for s in signals])
            if signals
            else np.empty((len(every), 0))
        )
        call = FunctionCall(
            self.function,
            self.signature.style,
            self.parameter_names,
            self._output_names,
            u,
            every,
            np.searchsorted(every, grid),
            tuple(self._output_names.index(n) for n in outputs),
        )
        options = experiment.options
        require_adaptive(options, self.name)
        sizes = options.tuner_scales if isinstance(options, Options) else ()
        return FunctionResponse(call, known, tuners, np.array(sizes, float), self._way, self._learn)

    def _tuners(self, wrt: Sequence[str]) -> tuple[str, ...]:
        """The parameters that are tuned; a state's name means the one where it begins."""
        known = (*self.parameter_names, *self.begins)
        named = known_names(self, wrt, known, "parameter")
        tuners = tuple(self.begins.get(n, n) for n in named)
        for state, start in self.begins.items():
            if tuners.count(start) > 1:
                raise ModelError(
                    "M138",
                    f"'{start}' is the start value of state '{state}' of '{self.name}': tune one "
                    "of them",
                )
        return tuners

    def _learn(self, method: DerivativeMethod) -> None:
        if self._found is None or method.error >= self._found.error:
            self._found = method

    def _numbers(self, parameters: Numbers, free: Sequence[str]) -> dict[str, float]:
        given = {n: finite_number(n, v) for n, v in parameters.items()}
        known_names(self, list(given), self.parameter_names, "parameter")
        known = {**self.values, **given}
        missing = [n for n in self.parameter_names if n not in known and n not in free]
        if missing:
            raise ModelError(
                "M124",
                f"parameter '{missing[0]}' of '{self.name}' has no value; give it with "
                f"parameters={{'{missing[0]}': ...}}",
            )
        return known

    def __reduce__(self) -> tuple[object, ...]:
        """The code of a file goes along to another process; others must be importable there."""
        if self.origin is not None:
            return function_model_of_code, self.origin
        parameters = {n: self.values.get(n) for n in self.parameter_names}
        return FunctionModel, (
            self.function, self.signature, parameters, self.input_names, self._output_names,
            self._way, self.name, self.begins,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<Function model {self.name}: {', '.join(self.input_names) or 'no inputs'} to "
            f"{', '.join(self._output_names)}, parameters {', '.join(self.parameter_names)}>"
        )


def _checked_states(
    name: str, states: Mapping[str, str], outputs: Sequence[str], parameters: Sequence[str]
) -> dict[str, str]:
    """States with the parameters where they begin."""
    if not isinstance(states, Mapping):
        raise ModelError(
            "M139",
            f"'{name}': states maps each state to the parameter where it begins, as in "
            f"{{'x': 'x0'}}; {states!r} does not",
        )
    found: dict[str, str] = {}
    for state, start in states.items():
        for one, known, what in ((state, outputs, "output"), (start, parameters, "parameter")):
            if one not in known:
                hint = did_you_mean(str(one), known) or f" ({what}s: {', '.join(known)})"
                raise ModelError(
                    "M139", f"'{name}': state '{state}' begins at '{start}', and there is no "
                    f"{what} '{one}'{hint}",
                )  # fmt: skip
        if start in found.values():
            raise ModelError("M139", f"'{name}': two states begin at parameter '{start}'")
        found[state] = start
    return found


def _named(parameters: Numbers | Sequence[str]) -> dict[str, float | None]:
    if isinstance(parameters, Mapping):
        return {n: finite_number(n, v) for n, v in parameters.items()}
    return dict.fromkeys(_listed(parameters))


def _listed(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
