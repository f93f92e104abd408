"""ModelicaModel: a Modelica class that simulates, with exact sensitivities.

What sorts, compiles and runs equations is imported when it is asked for: a class that was loaded
before is there without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.code.numeric import know_codes
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import ModelError, SimulationError
from estimica.base.files.write import write_text
from estimica.base.quantities import Quantity
from estimica.base.saving.packing import restores
from estimica.base.signals import Signal
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.observations import Observations
from estimica.flat.serialise import from_json, to_json
from estimica.flat.system import Experiment as SuggestedExperiment
from estimica.flat.system import FlatSystem
from estimica.simulate.modelica.linearised_model import LinearisedModel
from estimica.simulate.modelica.origin import ModelOrigin
from estimica.simulate.modelica.quantities import (
    Attributes,
    quantities_of,
    roles_of,
    with_observations,
)
from estimica.simulate.modelica.sorted_cache import cached_sort
from estimica.simulate.timed_model import experiment_times
from estimica.source.cache import content_key
from estimica.structure.causality.demand import Causality, Names, slope_name
from estimica.structure.sorted_system import SortedSystem

if TYPE_CHECKING:
    from estimica.compiled.equations import Equations
    from estimica.compiled.tuning import Constant, Tuning
    from estimica.simulate.engine.result import Run
    from estimica.simulate.modelica.linearisation import Linearisation
    from estimica.simulate.modelica.operating_points import PointModel, PointSettings
    from estimica.simulate.response import Configurations, Response
    from estimica.simulate.trajectory import Trajectory
    from estimica.structure.causality.choice import InputChoice
    from estimica.structure.sensitivity_system import SensitivitySystem

Numbers = Mapping[str, float]


_AS_DECLARED = Causality()
#: symbols of one assembly do not go with those of another: threads must not assemble one each
_ASSEMBLING = RLock()


class ModelicaModel(LinearisedModel):
    """A model given by equations."""

    def __init__(
        self,
        flat: FlatSystem,
        fixed: Mapping[str, float | bool | int | str] | None = None,
        causality: Causality = _AS_DECLARED,
        origin: ModelOrigin | None = None,
    ) -> None:
        know_codes(flat.codes)
        self.original = flat  # as the class declares its inputs
        self.causality = causality
        self.origin = origin  # what it was loaded by, where that is known
        self._equations: Equations | None = None
        self._configurations: Configurations | None = None
        self._variants: dict[frozenset[str], ModelicaModel] = {}
        self._points: dict[PointSettings, PointModel] = {}
        self._observed: dict[Observations, ModelicaModel] = {}
        self.fixed = dict(fixed or {})  # values that it was loaded with
        self.name = flat.name
        self.description = flat.description
        self.flat, self.system = cached_sort(flat, causality, self._assembled)

    @cached_property
    def equations(self) -> Equations:
        """The equations in symbols; written when they are first asked for."""
        return self._assembled(self.system)

    def _assembled(self, system: SortedSystem) -> Equations:
        from estimica.compiled.equations import assemble

        with _ASSEMBLING:
            if self._equations is None:
                self._equations = assemble(system)
        return self._equations

    @cached_property
    def configurations(self) -> Configurations:
        """What is compiled for outputs and tuners, each once."""
        from estimica.simulate.response import Configurations

        with _ASSEMBLING:
            if self._configurations is None:
                self._configurations = Configurations(self.equations)
        return self._configurations

    # -- what there is ---------------------------------------------------------------------------

    @property
    def of_function(self) -> bool:
        """Whether its class is a function."""
        return self.original.of_function

    def why_unknown(self, name: str) -> str:
        """What depends on an inflow that is not given."""
        if name in self.flat.by_name or name not in self.original.by_name:
            return ""
        from estimica.structure.causality.inflows import missing_inflows, one_of

        lacking = missing_inflows(self.original, self.flat)
        return (
            f"'{name}' depends on what flows in, which is not given: make "
            f"{one_of(lacking)} an input too; a number will do"
        )

    @property
    def experiment(self) -> SuggestedExperiment:
        """Start, stop and tolerance that the model's author suggests."""
        return self.flat.experiment

    @property
    def libraries(self) -> tuple[str, ...]:
        """The Modelica libraries that were read for it, in words: name, version and place."""
        return self.flat.libraries

    @property
    def notes(self) -> tuple[str, ...]:
        """What was rewritten, reduced or assumed on the way, in words."""
        from estimica.simulate.ranges import start_notes

        found = self.flat.notes + self.system.notes + start_notes(self.flat)
        return tuple(dict.fromkeys(found))

    def output_names(self) -> tuple[str, ...]:
        """Variables declared as outputs at the top level."""
        return tuple(v.name for v in self.flat.variables if v.causality == "output")

    @cached_property
    def _roles(self) -> dict[str, str]:
        return roles_of(self.flat, self.system)

    def quantities(self) -> list[Quantity]:
        """Every parameter and variable with its metadata."""
        return self._quantities

    @cached_property
    def _quantities(self) -> list[Quantity]:
        own = [v for v in self.flat.variables if v.name not in self.slopes]
        return quantities_of(own, self.system, self._roles, self._defaults, self._number)

    @cached_property
    def _defaults(self) -> dict[str, float]:
        """Parameter values as the model is loaded; NaN where only initialisation finds them."""
        tuning = self.configurations.get(()).tuning
        P = tuning.prepare(tuning.defaults)[0]
        values = dict(zip(self.equations.constants, map(float, P), strict=False))
        return values | dict.fromkeys(self.system.free_parameters, float("nan"))

    @cached_property
    def _number(self) -> Attributes:
        return Attributes(self.equations, self._defaults)

    # -- other causalities -----------------------------------------------------------------------

    def with_inputs(
        self, names: Names, *, unknowns: Names = (), leave_out: Names = ()
    ) -> ModelicaModel:
        """The same class with variables as inputs, taken alone as a component.

        Equations of open connectors' flows make room for `names`. `unknowns` are parameters that
        are computed, `leave_out` are equations that do not hold (their text, or a name that
        stands in one of them only); each asks for one input more.
        """
        causality = Causality.of(names, unknowns, leave_out)
        return ModelicaModel(self.original, self.fixed, causality, self.origin)

    def driven_by(self, names: Sequence[str]) -> ModelicaModel:
        """The model whose inputs a case names: itself, or a variant, which is kept."""
        known = self.flat.by_name
        wanted = [n for n in names if n in known]
        if all(n in self.system.inputs for n in wanted):
            return self
        key = frozenset(wanted)
        if key not in self._variants:
            c = self.causality
            self._variants[key] = self.with_inputs(
                wanted, unknowns=c.unknowns, leave_out=c.leave_out
            )
        return self._variants[key]

    @property
    def inflow_names(self) -> tuple[str, ...]:
        """inStream(…) of connectors within, which formulas may use like variables."""
        return tuple(name for name, _ in self.original.inflows)

    def observed(self, observations: Observations) -> ModelicaModel:
        """The class with one equation more for every output that is a formula; kept."""
        if observations not in self._observed:
            flat = with_observations(self.original, observations)
            self._observed[observations] = ModelicaModel(
                flat, self.fixed, self.causality, self.origin
            )
        return self._observed[observations]

    def at_points(
        self,
        mode: str = "static",
        *,
        tolerance: float = 1e-8,
        max_time: float = 1e7,
        guess: Mapping[str, float] | None = None,
    ) -> PointModel:
        """The model at operating points: `static`, `steady` or `simulate`; see `PointModel`.

        `tolerance` and `max_time` say when a simulated point counts as steady; `guess` are
        variables and the values near which solutions of implicit equations are looked for.
        """
        from estimica.simulate.modelica.operating_points import PointSettings

        chosen: Any = mode
        guesses = tuple((name, float(value)) for name, value in (guess or {}).items())
        return self.points(
            PointSettings(mode=chosen, tolerance=tolerance, max_time=max_time, guess=guesses)
        )

    def points(self, settings: PointSettings) -> PointModel:
        """The model at operating points with these settings; kept."""
        from estimica.simulate.modelica.operating_points import PointModel

        if settings not in self._points:
            self._points[settings] = PointModel(self, settings)
        return self._points[settings]

    def choose_inputs(self, prefer: Sequence[str] = ()) -> InputChoice:
        """How many inputs the class needs when it is taken alone, and which could be them."""
        from estimica.structure.sort import sortable_choice

        return sortable_choice(self.original, prefer)

    # -- running ---------------------------------------------------------------------------------

    def respond(self, experiment: Experiment) -> Response:
        """An experiment set up once, to be evaluated at many values of its tuners."""
        from estimica.compiled.tuning import require_tunable
        from estimica.simulate.engine.options import Options
        from estimica.simulate.inputs import pieces_of
        from estimica.simulate.response import Response, numbers

        grid, begin = experiment_times(experiment)
        names = self._outputs(experiment.outputs)
        tuners = [require_tunable(self.equations, n) for n in experiment.wrt]
        given = numbers(self.equations, experiment.parameters, experiment.start)
        configuration = self.configurations.get(names, tuners, sorted(given))
        values = self.independent_values(configuration.tuning, given, tuners)
        signals = self.signals(experiment.inputs)
        pieces = pieces_of(signals, begin, float(grid[-1]))
        return Response(configuration, values, pieces, grid, begin, experiment.options or Options())

    def linearise(
        self,
        inputs: Mapping[str, float] | None = None,
        parameters: Numbers | None = None,
        states: Numbers | None = None,
        *,
        outputs: Sequence[str] | None = None,
        time: float = 0.0,
        steady: bool = False,
    ) -> Linearisation:
        """A, B, C, D at an operating point: the given states, the start, or the steady state."""
        from estimica.simulate.modelica.linearisation import linearise

        names = self._outputs(outputs)
        response = self.respond(
            Experiment([time], inputs or {}, parameters or {}, states or {}, names)
        )
        return linearise(response, steady=steady)

    def steady_state(
        self,
        inputs: Mapping[str, float] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        outputs: Sequence[str] | None = None,
        time: float = 0.0,
    ) -> dict[str, float]:
        """States and outputs where all derivatives vanish, found from the start values."""
        from estimica.simulate.modelica.steady import steady_state

        names = self._outputs(outputs)
        response = self.respond(
            Experiment([time], inputs or {}, parameters or {}, start or {}, names)
        )
        return steady_state(response)

    def write_sensitivity_system(
        self, path: str | PathLike[str], wrt: Sequence[str]
    ) -> SensitivitySystem:
        """Write the model and its sensitivity equations as one Modelica class.

        What comes back says where each sensitivity stands: `.sensitivities["x", "R"]`.
        """
        system = self.sensitivity_system(wrt)
        write_text(path, system.text)
        return system

    def sensitivity_system(
        self,
        wrt: Sequence[str],
        name: str | None = None,
        *,
        values: Mapping[str, float] | None = None,
    ) -> SensitivitySystem:
        """The model and its sensitivity equations as the text of one Modelica class.

        Parameters have the given `values` in it, or their own. A model whose sensitivities jump at
        events is refused.
        """
        from estimica.structure.sensitivity_system import extended_system

        return extended_system(self.flat, wrt, name, values or {})

    # -- details ---------------------------------------------------------------------------------

    def require(self, run: Run, response: Response) -> None:
        """Raise for a run that ended early, with the time, the state and the likely equation."""
        if not run.ok:
            from estimica.simulate.failure import run_failure_text

            raise SimulationError(*run_failure_text(self.equations, run, response))

    def chosen_outputs(self, outputs: Sequence[str] | None) -> tuple[str, ...]:
        """Outputs that the user names, checked; else the declared ones and the states."""
        return self._outputs(outputs)

    def _outputs(self, outputs: Sequence[str] | None) -> tuple[str, ...]:
        if isinstance(outputs, str):
            outputs = [outputs]
        if outputs is not None:
            for n in outputs:
                if why := self.why_unknown(n):
                    raise ModelError("M001", f"model '{self.name}': {why}")
                self.equations.value(n)
            return tuple(outputs)
        return tuple(dict.fromkeys(self.output_names() + self.system.states)) or self._some()

    def _some(self) -> tuple[str, ...]:
        """What to show of a model without outputs and states."""
        kept = [
            v.name
            for v in self.flat.variables
            if self._roles[v.name] in ("algebraic", "memory", "logical")
        ]
        return tuple(kept[:20])

    @cached_property
    def _input_defaults(self) -> dict[str, float]:
        return {n: self._number(self.flat.by_name[n].start) or 0.0 for n in self.system.inputs}

    @cached_property
    def slopes(self) -> dict[str, str]:
        """Inputs that carry the derivative of another: {der(x): x}."""
        names = {slope_name(n): n for n in self.causality.inputs}
        return {s: n for s, n in names.items() if s in self.system.inputs}

    def signals(self, inputs: Mapping[str, object] | None) -> list[Signal]:
        """One signal for each input of the system, derivatives of inputs included."""
        from estimica.simulate.inputs import signals_of

        return signals_of(self.system.inputs, inputs, self._input_defaults, self.slopes)

    def independent_values(
        self, tuning: Tuning, given: Numbers, tuners: Sequence[Constant]
    ) -> Vector:
        """Values of the independent constants of a tuning, with those that the user gives."""
        values = tuning.defaults.copy()
        for name, value in given.items():
            values[tuning.index[name]] = value
        for c in tuners:
            if c.name not in given and np.isnan(values[tuning.index[c.name]]):
                values[tuning.index[c.name]] = self._default_of(c.name, given)
        tuned = {c.name for c in tuners}
        self._require_values([n for n in tuning.independent if n not in tuned], tuning, values)
        return values

    def _default_of(self, constant: str, given: Mapping[str, float]) -> float:
        """The value a dependent constant has before it is tuned on its own."""
        base = self.configurations.get((), (), sorted(given)).tuning
        values = base.defaults.copy()
        for name, value in given.items():
            values[base.index[name]] = value
        P = base.prepare(values)[0]
        return float(P[self.equations.constants.index(constant)])

    def _require_values(self, names: Sequence[str], tuning: Tuning, values: Vector) -> None:
        missing = [n for n in names if np.isnan(values[tuning.index[n]])]
        missing = [n for n in missing if n not in self.system.free_parameters]
        if missing:
            raise ModelError(
                "M038",
                f"parameter '{missing[0]}' of '{self.name}' has no value; tune it, fix it, or "
                f"give it with parameters={{'{missing[0]}': ...}}",
            )

    def _trajectory(
        self, response: Response, run: Run, names: Sequence[str] | None = None
    ) -> Trajectory:
        from estimica.simulate.failure import rest_notes
        from estimica.simulate.trajectory import Trajectory

        by_name = self.flat.by_name
        names = response.configuration.outputs
        return Trajectory(
            model=self.name,
            time=response.times,
            names=names,
            values=run.Y,
            units={n: by_name[n].unit for n in names if n in by_name},
            descriptions={n: by_name[n].description for n in names if n in by_name},
            statistics=asdict(run.statistics),
            events=tuple(e.time for e in run.events),
            notes=(*run.notes, *rest_notes(self.equations, run)),
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Compiled functions do not travel: another process compiles the same equations anew."""
        given = (to_json(self.original), self.fixed, self.causality, self.origin)
        codes = self.original.codes
        return _from_text, (*given, codes) if codes else given

    def longest_delay(self, values: Mapping[str, float]) -> float | None:
        """The longest of its delays at values of parameters; None where variables set it."""
        from estimica.flat.evaluate import evaluate

        known = {q.name: q.value for q in self.quantities() if q.role in ("parameter", "constant")}
        known |= values
        numbers = {n: float(v) for n, v in known.items() if isinstance(v, (int, float))}
        try:
            return max((evaluate(d.duration, numbers) for d in self.system.delays), default=0.0)
        except (KeyError, ArithmeticError):
            return None

    def placeless(self) -> tuple[object, ...]:
        """The same without the places of its file, its lines and libraries: to tell whether it is
        another model, not to be read again."""
        once_read = from_json(to_json(self.original))  # as it is when it comes from the cache
        content = {**json.loads(to_json(once_read)), "source": "", "origins": []}
        text = json.dumps({**content, "libraries": []})
        codes = tuple((c.function, c.sha256) for c in self.original.codes)
        return _from_text, (text, self.fixed, self.causality, None, codes)

    def __repr__(self) -> str:
        s = self.system
        return (
            f"<Modelica model {self.name}: {len(s.states)} states, {len(s.inputs)} inputs, "
            f"{len(self.output_names())} outputs, {len(s.parameters)} parameters>"
        )


@restores
def _from_text(
    text: str,
    fixed: Mapping[str, float | bool | int | str],
    causality: Causality = _AS_DECLARED,
    origin: ModelOrigin | None = None,
    codes: Sequence[TrustedCode] = (),
) -> ModelicaModel:
    flat = replace(from_json(text), codes=tuple(codes)).named(content_key(text))
    return ModelicaModel(flat, fixed, causality, origin)
