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
from estimica.base.suggest import did_you_mean
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observations import Observations
from estimica.compiled.tuning import Constant, Tuning, require_tunable
from estimica.simulate.engine.run import Options
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.points.conserved import Balance, find_conserved
from estimica.simulate.points.guess import guess_of, require_unknowns
from estimica.simulate.points.homotopy import homotopy_of
from estimica.simulate.points.inputs import array_of, inputs_of_points
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

    def observed(self, observations: Observations) -> PointModel:
        """The same of the class with further outputs."""
        return self.model.observed(observations).points(self.settings)

    def response(
        self,
        times: Sequence[float] | Vector,
        inputs: Mapping[str, object] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        outputs: Sequence[str] | None = None,
        wrt: Sequence[str] = (),
        begin: float | None = None,
        options: Any = None,
    ) -> PointResponse:
        """The points `times` (their numbers), to be evaluated at many values of the tuners `wrt`.

        `inputs` are numbers, arrays of one value for each point, or signals that have a sample at
        each point; `start` are start values where Newton's method or a simulation begins.
        """
        return self._response(times, inputs or {}, parameters, start, outputs, wrt, (), options)

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
        inner = self._response(points, inputs, parameters, {}, outputs, wrt, wrt_inputs, options)
        return PointInputResponse(inner)

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
        response = self.response(np.arange(float(size)), given, parameters, start, outputs=outputs)
        run = response.at()
        if not run.ok:
            raise SimulationError("R040", f"{self.name}: {run.text}; leave that point out")
        columns = {n: np.broadcast_to(a, (size,)) for n, a in arrays.items()}
        found = dict(zip(response.search.system.outputs, run.Y.T, strict=True))
        return pd.DataFrame({**columns, **found}, index=pd.Index(range(size), name="point"))

    # -- details ---------------------------------------------------------------------------------

    def _response(
        self,
        times: Sequence[float] | Vector,
        inputs: Mapping[str, object],
        parameters: Numbers | None,
        start: Numbers | None,
        outputs: Sequence[str] | None,
        wrt: Sequence[str],
        wrt_inputs: Sequence[str],
        options: Options | None,
    ) -> PointResponse:
        model = self.model
        points = np.atleast_1d(np.asarray(times, np.float64))
        if not points.size:
            raise ModelError("M165", "no points; give at least one")
        slopes = model.slopes
        u = inputs_of_points(model.system.inputs, inputs, slopes, points)
        moving = [model.system.inputs.index(n) for n in wrt_inputs]
        tuners = [require_tunable(model.equations, n) for n in wrt]
        given = numbers(model.equations, parameters, start)
        names = model.chosen_outputs(outputs)
        system, left_open = self._system(names, tuners, sorted(given), moving, u)
        values = model.independent_values(system.tuning, given, tuners)
        made_free = [*given, *(c.name for c in tuners)]
        plain = model.configurations.get((), (), sorted(set(made_free)))
        search = PointSearch(
            system,
            self.settings.mode,
            Settling(self.settings.tolerance, self.settings.max_time, _first_span(model)),
            options or Options(),
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
            "operating points do not have; give it a value",
        )
