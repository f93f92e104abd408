"""PointModel: a Modelica class at operating points, each of which stands alone, without time.

`static`: a model without states, its equations evaluated. `steady`: all derivatives are zero, by
Newton's method. `simulate`: each point is simulated until it is at rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SimulationError
from estimica.base.quantities import Quantity
from estimica.base.signals import as_signal
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observations import Observations
from estimica.compiled.tuning import Constant, Tuning, require_tunable
from estimica.simulate.engine.options import Options
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.points.conserved import Balance, find_conserved
from estimica.simulate.points.guess import guess_of, homotopy_of, require_unknowns
from estimica.simulate.points.response import PointInputResponse, PointResponse
from estimica.simulate.points.search import PointSearch
from estimica.simulate.points.settling import Settling
from estimica.simulate.points.system import PointSystem, build_system, steady_equations
from estimica.simulate.response import numbers

if TYPE_CHECKING:
    import pandas as pd

Numbers = Mapping[str, float]
Mode = Literal["static", "steady", "simulate"]
MODES = ("static", "steady", "simulate")


@dataclass(frozen=True, kw_only=True)
class PointSettings:
    """How a point is computed. A simulated point is at rest when no state moves by more than
    `tolerance` of its size any more; it may take `max_time`, in seconds of the model. `guess`:
    variables and the values near which their solutions are looked for."""

    mode: Mode = "static"
    tolerance: float = 1e-8
    max_time: float = 1e7
    guess: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            hint = did_you_mean(str(self.mode), MODES)
            raise ModelError("M174", f"mode '{self.mode}' is none of {', '.join(MODES)}{hint}")
        for name in ("tolerance", "max_time"):
            if not getattr(self, name) > 0:
                raise ModelError("M174", f"{name} {getattr(self, name):g} is not positive")
        for name, value in self.guess:
            if not np.isfinite(value):
                raise ModelError("M174", f"guess '{name}' is {value:g}; give a finite number")


class PointModel(Model):
    """A Modelica model at operating points; made by `ModelicaModel.at_points`."""

    def __init__(self, model: ModelicaModel, settings: PointSettings) -> None:
        self.model = model
        self.settings = settings
        self.name = model.name
        self.description = model.description
        self._systems: dict[tuple[object, ...], PointSystem] = {}
        self._equations: dict[Tuning, ca.Function] = {}
        _require_mode(model, settings.mode)
        require_unknowns(model.flat, [name for name, _ in settings.guess])

    @property
    def has_time(self) -> bool:
        """False: each point stands alone."""
        return False

    @property
    def libraries(self) -> tuple[str, ...]:
        """The Modelica libraries that were read for it, in words: name, version and place."""
        return self.model.libraries

    @property
    def notes(self) -> tuple[str, ...]:
        """What was rewritten, reduced or assumed on the way, in words."""
        if not self.model.system.states:
            return self.model.notes
        tuning = self.model.configurations.tuning((), ())
        balance = self._balance(tuning, (), (), np.ones((1, tuning.hybrid.nu)))
        if balance.conserved is None:
            return self.model.notes
        kept = balance.conserved.words(tuning.defaults)
        told = (f"at rest only the start says how much there is of {text}" for text in kept)
        return (*self.model.notes, *told)

    def why_unknown(self, name: str) -> str:
        """What depends on an inflow that is not given."""
        return self.model.why_unknown(name)

    def quantities(self) -> list[Quantity]:
        """Every parameter and variable with its metadata."""
        return self.model.quantities()

    def output_names(self) -> tuple[str, ...]:
        """Variables declared as outputs at the top level."""
        return self.model.output_names()

    def driven_by(self, names: Sequence[str]) -> PointModel:
        """The model whose inputs a case names: itself, or a variant."""
        model = self.model.driven_by(names)
        return self if model is self.model else model.points(self.settings)

    @property
    def inflow_names(self) -> tuple[str, ...]:
        """Those of the class."""
        return self.model.inflow_names

    def observed(self, observations: Observations) -> PointModel:
        """The same of the class with further outputs."""
        return self.model.observed(observations).points(self.settings)

    def respond(self, experiment: Experiment) -> PointResponse:
        """The points `times` (their numbers), to be evaluated at many values of the tuners.

        `inputs` are numbers, arrays of one value for each point, or signals that have a sample at
        each point; `start` are start values where Newton's method or a simulation begins.
        """
        return self._response(experiment, ())

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
    ) -> PointInputResponse:
        """Points to be evaluated at many values of the tuners `wrt` and the inputs `wrt_inputs`."""
        experiment = Experiment(points, inputs, parameters, {}, outputs, wrt, None, options)
        return PointInputResponse(self._response(experiment, wrt_inputs))

    def evaluate(
        self,
        inputs: Mapping[str, object],
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        outputs: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """The outputs (or any variables) at points given by arrays and numbers, as a table."""
        import pandas as pd

        arrays = {n: array_of(n, v) for n, v in inputs.items()}
        size = max((a.size for a in arrays.values() if a.ndim), default=1)
        given = {n: a if a.ndim else float(a) for n, a in arrays.items()}
        points = np.arange(float(size))
        response = self.respond(
            Experiment(points, given, parameters or {}, start or {}, outputs=outputs)
        )
        run = response.at()
        if not run.ok:
            raise SimulationError("R040", f"{self.name}: {run.text}; leave that point out")
        columns = {n: np.broadcast_to(a, (size,)) for n, a in arrays.items()}
        found = dict(zip(response.search.system.outputs, run.Y.T, strict=True))
        return pd.DataFrame({**columns, **found}, index=pd.Index(range(size), name="point"))

    # -- details ---------------------------------------------------------------------------------

    def _response(self, experiment: Experiment, wrt_inputs: Sequence[str]) -> PointResponse:
        model = self.model
        points = np.atleast_1d(np.asarray(experiment.times, np.float64))
        if not points.size:
            raise ModelError("M165", "no points; give at least one")
        slopes = model.slopes
        u = inputs_of_points(model.system.inputs, experiment.inputs, slopes, points)
        moving = [model.system.inputs.index(n) for n in wrt_inputs]
        tuners = [require_tunable(model.equations, n) for n in experiment.wrt]
        given = numbers(model.equations, experiment.parameters, experiment.start)
        names = model.chosen_outputs(experiment.outputs)
        system, left_open = self._system(names, tuners, sorted(given), moving, u)
        values = model.independent_values(system.tuning, given, tuners)
        made_free = [*given, *(c.name for c in tuners)]
        plain = model.configurations.get((), (), sorted(set(made_free)))
        search = PointSearch(
            system,
            self.settings.mode,
            Settling(self.settings.tolerance, self.settings.max_time, _first_span(model)),
            experiment.options or Options(),
            plain,
            None if moving else lambda: model.configurations.get(names, tuners, sorted(given)),
            homotopy_of(system.tuning) if self.settings.mode != "simulate" else None,
            left_open,
            guess_of(
                system.tuning,
                dict(self.settings.guess),
                system.scales,
                states_move=self.settings.mode != "simulate",
            ),
        )
        told = [n for n in model.system.inputs if n not in slopes]
        return PointResponse(search, points, u, values, told)

    def _system(
        self,
        outputs: Sequence[str],
        wrt: Sequence[Constant],
        overridden: Sequence[str],
        moving: Sequence[int],
        u: Vector,
    ) -> tuple[PointSystem, str]:
        """The compiled equations, and what they leave open, in words."""
        tuning = self.model.configurations.tuning(wrt, overridden)
        balance = self._balance(tuning, wrt, overridden, u)
        conserved = balance.conserved
        pivots = () if conserved is None else conserved.pivots
        key = (tuple(outputs), tuple(wrt), tuple(overridden), tuple(moving), pivots)
        if key not in self._systems:
            self._systems[key] = build_system(tuning, outputs, moving, conserved)
        return self._systems[key], balance.open

    def _balance(
        self, tuning: Tuning, wrt: Sequence[Constant], overridden: Sequence[str], u: Vector
    ) -> Balance:
        n = len(self.model.system.states)
        if not n:
            return Balance()
        tied = self.model.system.constraints
        if tied:
            return Balance(open=f"states are tied by {tied[0].origin}; use mode 'simulate'")
        if tuning not in self._equations:
            self._equations[tuning] = steady_equations(tuning)
        initialiser = self.model.configurations.initialiser(wrt, overridden)
        return find_conserved(tuning, initialiser, self._equations[tuning], n, u)

    def __reduce__(self) -> tuple[object, ...]:
        return PointModel, (self.model, self.settings)

    def __repr__(self) -> str:
        return f"<{self.model!r} at operating points, {self.settings.mode}>".replace("<<", "<")


def _first_span(model: ModelicaModel) -> float:
    stop = model.experiment.stop
    return stop - model.experiment.start if stop and stop > model.experiment.start else 1.0


def _require_mode(model: ModelicaModel, mode: str) -> None:
    states = model.system.states
    if mode == "static" and states:
        listed = ", ".join(states[:6]) + (" …" if len(states) > 6 else "")
        raise ModelError(
            "M167",
            f"'{model.name}' has states ({listed}), so that mode 'static' does not suit it; use "
            "mode 'steady', which sets their derivatives to zero",
        )
    memories = [n for n in model.system.memories if not n.startswith("$")]
    if mode != "simulate" and memories:
        raise ModelError(
            "M169",
            f"'{memories[0]}' of '{model.name}' changes at events only, so that its value at rest "
            "depends on what was before; use mode 'simulate'",
        )
    free = model.system.free_parameters
    if free:
        raise ModelError(
            "M168",
            f"parameter '{free[0]}' of '{model.name}' is found by initial equations, which "
            "operating points do not have; choose the variant of the class that takes it as "
            "given, as in Valve(CvData = Modelica.Fluid.Types.CvTypes.Av, Av = 1e-4)",
        )


# ----------------------------------------------------------------
# Inputs of operating points: a number for all of them, or one value for each.


def array_of(name: str, given: object) -> Vector:
    """A number, or a row of them."""
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            "M172", f"input '{name}': give a number, or one for each point, not {given!r:.40}"
        ) from None
    if array.ndim > 1:
        raise ModelError(
            "M172", f"input '{name}': give one row of numbers, not an array of shape {array.shape}"
        )
    return array


def inputs_of_points(
    names: Sequence[str],
    given: Mapping[str, object],
    slopes: Mapping[str, str],
    points: Vector,
) -> Vector:
    """The inputs as rows of (N, nu); derivatives of inputs are zero, since nothing moves."""
    own = [n for n in names if n not in slopes]
    for name in given:
        if name not in own:
            hint = did_you_mean(name, own) or f" (inputs: {', '.join(own) or 'none'})"
            raise ModelError("M020", f"the model has no input '{name}'{hint}")
    missing = [n for n in own if n not in given]
    if missing:
        raise ModelError(
            "M171", f"input '{missing[0]}' is not given; an operating point needs all inputs"
        )
    found = np.zeros((len(points), len(names)))
    for k, name in enumerate(names):
        if name in given:
            found[:, k] = _at(name, given[name], points)
    return found


def _at(name: str, given: object, points: Vector) -> float | Vector:
    if isinstance(given, np.ndarray) and given.ndim:
        values = np.asarray(given, np.float64)
        if values.shape != points.shape:
            raise ModelError(
                "M172", f"input '{name}': {values.size} values for {points.size} points"
            )
    else:
        signal = as_signal(name, given)
        if len(signal.time) == 1:
            return float(signal.value[0])
        k = np.searchsorted(signal.time, points, side="right") - 1
        missing = np.flatnonzero((k < 0) | (signal.time[k] != points))
        if missing.size:
            raise ModelError(
                "M173",
                f"input '{name}' has no value at point {points[missing[0]]:g}; leave it out",
            )
        values = signal.value[k]
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        k0 = int(bad[0])
        raise ModelError(
            "M173", f"input '{name}' is {values[k0]} at point {points[k0]:g}; leave that point out"
        )
    return values
