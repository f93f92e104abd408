"""LinearModel: transfer functions and state-space systems, simulated exactly for their hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import OperatingPoint
from estimica.simulate.engine.options import require_adaptive
from estimica.simulate.frequency_run import checked_frequencies
from estimica.simulate.inputs import signals_of
from estimica.simulate.linear import frequency as linear_frequency
from estimica.simulate.linear.discrete import DiscreteSystem, discretise
from estimica.simulate.linear.frequency import LinearFrequencyResponse
from estimica.simulate.linear.response import LinearExperiment, LinearResponse
from estimica.simulate.linear.sampled import SampledResponse, checked_step
from estimica.simulate.linear.system import CoefficientProgram, Coefficients, LinearSystem
from estimica.simulate.timed_model import TimedModel, experiment_times, finite_number, known_names

Numbers = Mapping[str, float]
Initial = Literal["rest", "steady"]


class LinearModel(TimedModel):
    """x' = A x + B u(t - T), y = C x + D u(t - T); built by `transfer_function`, `state_space`.

    With a `sample_time` h it is a model in discrete time, x[k+1] = A x[k] + B u[k - T] and
    y[k] = C x[k] + D u[k - T] at the instants begin + k·h, T in samples.
    """

    def __init__(
        self,
        system: LinearSystem,
        *,
        names: Mapping[str, Sequence[str]],
        parameters: Numbers,
        initial: Initial,
        name: str,
        description: str = "",
        sample_time: float | None = None,
        text: str = "",
    ) -> None:
        if initial not in ("rest", "steady"):
            raise ModelError("M120", f"initial '{initial}' is none of rest, steady")
        self.system = system
        self.name, self.description = name, description
        self.text = text  # that it was written as, where it was
        self.initial = initial
        self.sample_time = None if sample_time is None else checked_step(sample_time)
        self.input_names = tuple(names["inputs"])
        self.state_names = tuple(names["states"])
        self.parameter_names = _ordered(names["parameters"], system.names)
        self._output_names = tuple(names["outputs"])
        self.values = _values(self.parameter_names, parameters)
        self._require_distinct()
        self._rules: dict[tuple[str, ...], CoefficientProgram] = {}

    def _require_distinct(self) -> None:
        n, nu, ny = self.system.sizes
        for what, names, count in (
            ("inputs", self.input_names, nu),
            ("outputs", self._output_names, ny),
            ("states", self.state_names, n),
        ):
            if len(names) != count:
                raise ModelError("M121", f"{len(names)} names for {count} {what}")
        every = [*self._output_names, *self.input_names, *self.state_names, *self.parameter_names]
        for one in every:
            if every.count(one) > 1:
                raise ModelError("M122", f"the name '{one}' is used twice; rename one of them")

    # -- what there is ---------------------------------------------------------------------------

    @property
    def precision(self) -> float:
        """Outputs and derivatives are exact to rounding."""
        return 1e-12

    def quantities(self) -> list[Quantity]:
        """Outputs, inputs, states and parameters."""
        return [
            *(Quantity(n, role="algebraic") for n in self._output_names),
            *(Quantity(n, 0.0, role="input") for n in self.input_names),
            *(Quantity(n, 0.0, role="state") for n in self.state_names),
            *(
                Quantity(n, self.values.get(n), role="parameter", tunable=True)
                for n in self.parameter_names
            ),
        ]

    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._output_names

    # -- in time ---------------------------------------------------------------------------------

    def respond(self, experiment: Experiment) -> LinearResponse | SampledResponse:
        """An experiment set up once; `options` of an engine are not needed.

        A state's name in `wrt` means its start value.
        """
        require_adaptive(experiment.options, self.name)
        grid, begun = experiment_times(experiment)
        every = (*self._output_names, *self.state_names)
        outputs = known_names(self, experiment.outputs, every, "output")
        outputs = self._output_names if experiment.outputs is None else outputs
        tunable = (*self.parameter_names, *self.state_names)
        tuners = known_names(self, experiment.wrt, tunable, "parameter")
        known = self._numbers(experiment.parameters, tuners)
        begins = {n: finite_number(n, v) for n, v in experiment.start.items()}
        known_names(self, list(begins), self.state_names, "state")
        rest = dict.fromkeys(self.input_names, 0.0)
        run = LinearExperiment(
            grid,
            begun,
            tuple(signals_of(self.input_names, experiment.inputs, rest)),
            {n: v for n, v in known.items() if n not in tuners},
            {self.state_names.index(n): v for n, v in begins.items() if n not in tuners},
            self.initial == "steady",
        )
        states = {n: k for k, n in enumerate(self.state_names)}
        begins = {**self._first_states(run, known, begins, tuners), **begins}
        at = np.array([begins.get(n, 0.0) if n in states else known.get(n, np.nan) for n in tuners])
        columns = {n: k for k, n in enumerate(self._output_names)}
        columns |= {n: -1 - k for n, k in states.items()}
        started = [states.get(n) for n in tuners]
        return self._response(tuners, run, at, started, [columns[n] for n in outputs])

    def _response(
        self,
        tuners: tuple[str, ...],
        run: LinearExperiment,
        at: Vector,
        started: Sequence[int | None],
        shown: Sequence[int],
    ) -> LinearResponse | SampledResponse:
        if self.sample_time is None:
            return LinearResponse(self._rule(tuners), run, at, started, shown)
        return SampledResponse(self._rule(tuners), run, self.sample_time, at, started, shown)

    def _first_states(
        self,
        experiment: LinearExperiment,
        known: Numbers,
        begins: Numbers,
        tuners: Sequence[str],
    ) -> dict[str, float]:
        """Steady start values of the states that are tuned, as far as they can be computed."""
        open_ = [n for n in self.state_names if n in tuners and n not in begins]
        if not (open_ and experiment.steady and all(n in known for n in self.parameter_names)):
            return {}
        fixed = replace(experiment, known=known, times=np.array([experiment.begin]))
        shown = [-1 - self.state_names.index(n) for n in open_]
        run = self._response((), fixed, np.zeros(0), (), shown).at()
        return dict(zip(open_, map(float, run.Y[0]), strict=True)) if run.ok else {}

    # -- in frequency ----------------------------------------------------------------------------

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
    ) -> LinearFrequencyResponse:
        """G(jω) at fixed frequencies, a delay included; the same at every operating point.

        Of a model in discrete time G(exp(jωh)), up to half the sampling frequency.
        """
        every = (*self.parameter_names, *self.state_names)
        tuners = known_names(self, wrt, every, "parameter")
        known_names(self, list(inputs or {}), self.input_names, "input")
        known_names(self, list(start or {}), self.state_names, "state")
        known = self._numbers(parameters, tuners)
        begins = {**dict.fromkeys(self.state_names, 0.0), **(start or {})}
        own = [k for k, n in enumerate(tuners) if n in self.parameter_names]
        for output, input_ in transfers:
            known_names(self, [output], self._output_names, "output")
            known_names(self, [input_], self.input_names, "input")
        return LinearFrequencyResponse(
            self._rule(tuple(tuners[k] for k in own)),
            self._within(checked_frequencies(omega)),
            {n: v for n, v in known.items() if n not in tuners},
            np.array([begins[n] if n in begins else known.get(n, np.nan) for n in tuners]),
            [self._output_names.index(output) for output, _ in transfers],
            [self.input_names.index(input_) for _, input_ in transfers],
            own,
            self.sample_time,
        )

    def _within(self, omega: Vector) -> Vector:
        """Frequencies that the samples of a model in discrete time can tell apart."""
        if self.sample_time is None:
            return omega
        most = np.pi / self.sample_time
        beyond = omega[omega > most * (1 + 1e-9)]  # but for rounding
        if len(beyond):
            raise ModelError(
                "M187",
                f"the frequency {beyond[0]:g} rad/s is above half the sampling frequency, "
                f"{most:g} rad/s: '{self.name}' is sampled every {self.sample_time:g} s and says "
                "nothing there; leave such frequencies out",
            )
        return omega

    def frequency_response(
        self, omega: Sequence[float] | Vector, parameters: Numbers | None = None
    ) -> Complex:
        """G(jω) at angular frequencies in rad/s: (N,), or (N, ny, nu) of several signals."""
        points = self._within(_row(omega))
        found, _ = linear_frequency.frequency_response(
            self.coefficients(parameters), points, self.sample_time
        )
        return found[:, 0, 0] if found.shape[1:] == (1, 1) else found

    def frequency_sensitivities(
        self,
        omega: Sequence[float] | Vector,
        parameters: Numbers | None = None,
        *,
        wrt: Sequence[str],
    ) -> tuple[Complex, Complex]:
        """(G(jω), dG/dθ), the derivatives by `wrt` along the last axis."""
        numbers = self.coefficients(parameters, wrt=wrt)
        points = self._within(_row(omega))
        found, moved = linear_frequency.frequency_response(numbers, points, self.sample_time)
        if found.shape[1:] == (1, 1):
            return found[:, 0, 0], moved[:, 0, 0]
        return found, moved

    def poles(self, parameters: Numbers | None = None) -> Complex:
        """The poles in rad/s; in discrete time those in z, without those of a delay."""
        return linear_frequency.poles(self.coefficients(parameters))

    def zeros(self, parameters: Numbers | None = None) -> Complex:
        """The zeros in rad/s, or in z, for as many inputs as outputs."""
        return linear_frequency.zeros(self.coefficients(parameters))

    def gain(self, parameters: Numbers | None = None) -> Vector:
        """The static gain from each input to each output, (ny, nu)."""
        sampled = self.sample_time is not None
        return linear_frequency.gain(self.coefficients(parameters), sampled=sampled)

    def discretise(
        self, step: float, method: str = "zoh", parameters: Numbers | None = None
    ) -> DiscreteSystem:
        """The system sampled every `step`: zoh, foh, tustin, euler, matched or impulse."""
        if self.sample_time is not None:
            raise ModelError(
                "M188", f"'{self.name}' is sampled already, every {self.sample_time:g} s"
            )
        return discretise(self.coefficients(parameters), float(step), method)

    def coefficients(
        self, parameters: Numbers | None = None, *, wrt: Sequence[str] = ()
    ) -> Coefficients:
        """A, B, C, D and the delays as numbers, with derivatives by `wrt`."""
        tuners = known_names(self, wrt, self.parameter_names, "parameter")
        known = self._numbers(parameters, ())
        found = self._rule(tuners).at(known)
        if found is None:
            listed = ", ".join(f"{n} = {v:g}" for n, v in known.items())
            raise ModelError("M123", f"'{self.name}': a coefficient is not finite, with {listed}")
        return found

    def longest_delay(self, values: Numbers) -> float | None:
        """The longest of its delays at values of parameters."""
        known = {n: v for n, v in values.items() if n in self.parameter_names}
        late = float(np.max(self.coefficients(known).T, initial=0.0))
        return late * (self.sample_time or 1.0)

    # -- details ---------------------------------------------------------------------------------

    def _numbers(self, parameters: Numbers | None, free: Sequence[str]) -> dict[str, float]:
        given = {n: finite_number(n, v) for n, v in (parameters or {}).items()}
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

    def _rule(self, tuners: tuple[str, ...]) -> CoefficientProgram:
        if tuners not in self._rules:
            self._rules[tuners] = self.system.rule(tuners)
        return self._rules[tuners]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rules": {}}  # compiled anew in another process

    def __repr__(self) -> str:
        n, nu, ny = self.system.sizes
        return (
            f"<Linear model {self.name}: {n} states, {nu} inputs, {ny} outputs, "
            f"parameters {', '.join(self.parameter_names) or 'none'}"
            + (f", every {self.sample_time:g} s>" if self.sample_time else ">")
        )


def _row(omega: Sequence[float] | Vector) -> Vector:
    return np.atleast_1d(np.asarray(omega, np.float64))


def _ordered(wanted: Sequence[str], used: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(n for n in wanted if n in used), *used]))


def _values(names: Sequence[str], given: Numbers) -> dict[str, float]:
    for n in given:
        if n not in names:
            hint = did_you_mean(n, names) or f" (parameters: {', '.join(names) or 'none'})"
            raise ModelError("M125", f"parameters: no coefficient uses '{n}'{hint}")
    return {n: finite_number(n, v) for n, v in given.items()}
