"""FilteredModel: a Modelica model with noise in its states, which predicts measured values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.filter import FilterSystem, StateNoise, filter_system
from estimica.compiled.hybrid import HybridSystem
from estimica.compiled.kernel import build_kernel
from estimica.compiled.kinks import KinkedSystem, with_kinks
from estimica.compiled.linear_filter import linear_noise
from estimica.compiled.model.interface import Model
from estimica.compiled.tuning import Constant, require_tunable
from estimica.compiled.unscented import unscented_system
from estimica.simulate.engine.options import Options
from estimica.simulate.filter.differences.model import DifferenceFilter, black_box
from estimica.simulate.filter.linear import as_modelica
from estimica.simulate.filter.measured import Measured, Series, pieces_with
from estimica.simulate.filter.noise import DIFFUSION, SIGMA, SPREAD, FilterNoise
from estimica.simulate.filter.response import FilterConfiguration, FilterResponse
from estimica.simulate.filter.start import FilterStart
from estimica.simulate.inputs import pieces_of
from estimica.simulate.linear.model import LinearModel
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.response import numbers
from estimica.simulate.timed_model import experiment_times


class FilteredModel:
    """The model, what is known of its errors, and the filters compiled for it."""

    def __init__(self, model: ModelicaModel, noise: FilterNoise) -> None:
        known = [q.name for q in model.quantities()]
        self.model = model.observed(noise.observations(known))
        self.noise = noise
        self.states = self.model.system.states
        self._require_possible()
        self._found: dict[tuple[object, ...], FilterConfiguration] = {}

    def _require_possible(self) -> None:
        name = self.model.name
        for state, _ in (*self.noise.diffusion, *self.noise.spread):
            if state not in self.states:
                raise ModelError(
                    "M240",
                    f"process noise: '{state}' is not a state of '{name}'"
                    f"{did_you_mean(state, self.states)} (states: {', '.join(self.states[:8])})",
                )
        h = self.model.configurations.get(()).tuning.hybrid
        for there, what in (
            (h.nh, "delays"),
            (h.constraints.shape[0], "constraints between its states"),
        ):
            if there:
                raise ModelError(
                    "M241",
                    f"model '{name}' has {what}, and a filter needs states that hold all of the "
                    "past and move freely; use criterion 'ml' for it",
                )
        self._require_passable(h)

    def _require_passable(self, h: HybridSystem) -> None:
        """Events through which uncertainty can be followed."""
        n = h.nx - h.n_memory
        kept = h.event_x[n:] if h.n_memory else ca.SX(0, 1)
        states = ca.vertcat(h.x[:n], h.x_pre[:n], h.z)
        if ca.depends_on(kept, states):
            raise ModelError(
                "M242",
                f"model '{self.model.name}' has discrete variables that remember its states: how "
                "uncertainty passes such an event is not known to the filter; use smooth "
                "equations, or criterion 'ml'",
            )

    def respond(
        self,
        experiment: Experiment,
        series: Mapping[str, Series],
        with_states: bool = False,
    ) -> FilterResponse:
        """The filter over measured series by output; `times` and `outputs` of the
        experiment are theirs."""
        model, e = self.model, self.model.equations
        measured = Measured.of(self.noise.outputs, series)
        _, begin = experiment_times(
            Experiment(measured.times, begin=experiment.begin, outputs=self.noise.outputs)
        )
        tuners = [require_tunable(e, n) for n in experiment.wrt]
        given = numbers(e, experiment.parameters, experiment.start)
        configuration = self._configuration(tuners, sorted(given), with_states)
        values = model.independent_values(configuration.tuning, given, tuners)
        signals = model.signals(experiment.inputs)
        end = float(measured.times[-1])
        pieces = pieces_with(pieces_of(signals, begin, end), measured, end)
        options = experiment.options or Options()
        return FilterResponse(configuration, values, pieces, measured.times, options)

    def _configuration(
        self, wrt: Sequence[Constant], overridden: Sequence[str], with_states: bool
    ) -> FilterConfiguration:
        key = (tuple(wrt), frozenset(overridden), with_states)
        if key not in self._found:
            configurations = self.model.configurations
            tuning = configurations.tuning(wrt, overridden)
            initialiser = configurations.initialiser(wrt, overridden)
            kinks = self._kinks(tuning.hybrid)
            system = self._system(kinks.hybrid if kinks else tuning.hybrid)
            kernel = build_kernel(system.hybrid, _columns(system, with_states), bool(wrt))
            resting = self._resting(tuning.hybrid)
            start = FilterStart(initialiser, system, self.states, resting, kinks)
            self._found[key] = FilterConfiguration(
                tuning,
                start,
                system,
                kernel,
                self.noise.outputs,
                self.states,
                None if with_states else linear_noise(tuning.hybrid, self._state_noise()),
            )
        return self._found[key]

    def _kinks(self, hybrid: HybridSystem) -> KinkedSystem | None:
        """Where points stand in for slopes, laws may bend between them."""
        return None if self.noise.kind == "unscented" else with_kinks(hybrid)

    def _system(self, hybrid: HybridSystem) -> FilterSystem:
        noise = self._state_noise()
        if self.noise.kind == "unscented":
            return unscented_system(hybrid, noise, self._sizes())
        return filter_system(hybrid, noise)

    def _resting(self, hybrid: HybridSystem) -> FilterSystem | None:
        if not self.noise.stationary:
            return None
        return filter_system(hybrid, self._state_noise(), events=False)

    def _sizes(self) -> Vector:
        """Of each state, as its attributes say; like the engine's tolerances 1 where none does."""
        known = {q.name: q for q in self.model.quantities()}
        values = [(known[n].nominal, known[n].value) for n in self.states]
        sizes = [abs(a or (b if isinstance(b, (int, float)) else 0) or 1) for a, b in values]
        return np.array(sizes, float)

    def _state_noise(self) -> StateNoise:
        diffusion, spread = dict(self.noise.diffusion), dict(self.noise.spread)

        def column(word: str, names: Sequence[str], there: Mapping[str, str]) -> ca.SX:
            zero = ca.SX(0)
            parts = [self._value(word.format(n)) if n in there else zero for n in names]
            return ca.densify(ca.vertcat(*parts)) if parts else ca.SX(0, 1)

        outputs = self.noise.outputs
        return StateNoise(
            diffusion=column(DIFFUSION, self.states, diffusion),
            spread=column(SPREAD, self.states, spread),
            outputs=ca.densify(ca.vertcat(*(self._value(n) for n in outputs))),
            sigmas=column(SIGMA, outputs, dict(self.noise.sigmas)),
        )

    def _value(self, name: str) -> ca.SX:
        e = self.model.equations
        return ca.substitute(e.value(name), e.homotopy, ca.SX(1))


_kept: WeakKeyDictionary[Model, dict[FilterNoise, FilteredModel]] = WeakKeyDictionary()


def filtered(model: Model, noise: FilterNoise) -> FilteredModel | DifferenceFilter:
    """A model with this noise in its states, which predicts measured values; kept where it is
    compiled."""
    if black_box(model) is not None:
        return DifferenceFilter(model, noise)
    if isinstance(model, LinearModel):
        model = as_modelica(model)
    if not isinstance(model, ModelicaModel):
        raise ModelError(
            "M243",
            f"model '{model.name}' has no equations that a filter could follow: criterion "
            "'prediction' needs a Modelica or a linear model, an FMU or a function; use criterion "
            "'ml'",
        )
    own = _kept.setdefault(model, {})
    if noise not in own:
        own[noise] = FilteredModel(model, noise)
    return own[noise]


def _columns(s: FilterSystem, with_states: bool) -> ca.SX:
    parts = [s.innovations, s.variances, s.predictions, s.prediction_variances]
    if with_states:
        n = s.covariance.shape[0]
        lower = [s.covariance[i, j] for i in range(n) for j in range(i + 1)]
        parts += [s.mean, *lower, s.measuring]
    return ca.vertcat(*parts)
