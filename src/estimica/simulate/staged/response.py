"""StagedResponse: runs that begin at rest or are changed at given times, with exact derivatives.

Between two changes the model is integrated with sensitivities by its parameters and by the states
at the beginning of the stage; the chain rule carries them over from stage to stage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError, SimulationError
from estimica.base.signals import Signal, as_signal
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.formulas import FormulaRun
from estimica.compiled.tuning import Constant, require_tunable
from estimica.simulate.engine import run as engine
from estimica.simulate.engine import status
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import integrate
from estimica.simulate.failure import run_failure_text
from estimica.simulate.inputs import pieces_of
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.points.response import PointResponse
from estimica.simulate.response import Response, _scaled, numbers
from estimica.simulate.staged.plan import StagePlan, SteadyStart, Value
from estimica.simulate.trajectory import check_times

FIXED = ("parameter", "constant")
#: what a quantity is worth and how it moves with the tuners, (m,)
Moving = tuple[float, Vector]


@dataclass(frozen=True, eq=False)
class _State:
    """Where a run is: states with derivatives by the tuners, algebraic unknowns, modes."""

    x: Vector
    X: Vector  # (nx, m)
    z: Vector
    d: Vector
    P: Vector  # all constants at the beginning


class StagedResponse:
    """y(t; θ) of an experiment in stages."""

    def __init__(
        self,
        model: ModelicaModel,
        staging: StagePlan,
        experiment: Experiment,
    ) -> None:
        outputs, begin = model.chosen_outputs(experiment.outputs), experiment.begin
        parameters, start = dict(experiment.parameters), dict(experiment.start)
        wrt = tuple(experiment.wrt)
        self.model, self.staging, self.wrt = model, staging, wrt
        self.times = check_times(experiment.times)
        self.begin = float(self.times[0]) if begin is None else float(begin)
        own = set(staging.own(q.name for q in model.quantities()))
        self._own = {n: parameters.pop(n) for n in list(parameters) if n in own}
        roles = {q.name: q.role for q in model.quantities()}
        self._is_start = [n not in own and roles.get(n) not in FIXED for n in wrt]
        switched = [n for n in _switched(staging) if roles.get(n) in FIXED]
        tuned = [n for n, s in zip(wrt, self._is_start, strict=True) if n not in own and not s]
        self.moving = tuple(dict.fromkeys([*tuned, *switched]))
        for name in switched:
            if name not in parameters and name not in tuned:
                parameters[name] = self._default(name)
        self._starts = tuple(n for n, s in zip(wrt, self._is_start, strict=True) if s)
        self._parameters, self._start = parameters, start
        base = [require_tunable(model.equations, n) for n in (*self.moving, *self._starts)]
        given = numbers(model.equations, parameters, start)
        self._given = sorted(given)
        self._base = base
        tuning = model.configurations.tuning(base, self._given)
        self._initialiser = model.configurations.initialiser(base, self._given)
        self._index = [tuning.index[c.name] for c in base]
        self._signs = np.array([c.sign for c in base])
        self._values = model.independent_values(tuning, given, base)
        self._names = model.system.states + model.system.memories
        states = [Constant(f"start({n})") for n in self._names]
        self.configuration = model.configurations.get(
            outputs, [*base[: len(self.moving)], *states], self._given
        )
        self._signals = {n: as_signal(n, s) for n, s in experiment.inputs.items()}
        self._options = self._scaled(experiment.options or Options())
        self._legs = self._cut()

    # -- set up ----------------------------------------------------------------------------------

    def _default(self, name: str) -> float:
        """The number that a switched parameter has before it is."""
        given = self.model.equations.defaults.get(name)
        if given is None or not given.is_constant():
            raise ModelError(
                "M236",
                f"case '{self.staging.name}': '{name}' follows from other parameters of "
                f"'{self.model.name}', so that it cannot be switched alone; switch those, or give "
                "it a value in fix",
            )
        return float(given)

    def _scaled(self, options: Options) -> Options:
        tuning = self.configuration.tuning
        sizes = dict(zip(self.wrt, options.tuner_scales, strict=False))
        scales = []
        for k, c in enumerate(self._base[: len(self.moving)]):
            value = abs(float(self._values[self._index[k]]))
            usual = value if value > 0 and math.isfinite(value) else 1.0
            scales.append(sizes.get(self.moving[k], usual) if c else usual)
        own = replace(options, tuner_scales=())
        scaled = _scaled(own, tuning, np.ones(len(tuning.wrt)))
        return replace(scaled, tuner_scales=(*scales, *([1.0] * len(self._names))))

    def _cut(self) -> list[_StageRun]:
        """What is simulated from one change to the next; a sample at a change sees it done."""
        cuts = [s.time for s in self.staging.stages]
        for time in cuts:
            if time < self.begin:
                raise ModelError(
                    "M237",
                    f"case '{self.staging.name}': the change at {time:g} is before the simulation "
                    f"begins, at {self.begin:g}",
                )
        last = float(self.times[-1])
        borders = np.unique([self.begin, *(c for c in cuts if c <= last)])
        legs, signals = [], dict(self._signals)
        for k, begin in enumerate(borders):
            changed = [s for s in self.staging.stages if s.time == begin]
            inputs = {n: v for s in changed for n, v in s.set if n in self.model.system.inputs}
            signals |= {n: _after(n, v, self.staging.name) for n, v in inputs.items()}
            end = float(borders[k + 1]) if k + 1 < len(borders) else last
            final = k + 1 == len(borders)
            first = int(np.searchsorted(self.times, begin))
            until = len(self.times) if final else int(np.searchsorted(self.times, end))
            grid = self.times[first:until]
            grid = grid if final else np.append(grid, end)
            pieces = pieces_of(self.model.signals(dict(signals)), float(begin), end)
            legs.append(_StageRun(float(begin), grid, slice(first, until), pieces))
        if len(legs) > 1:
            self._require_no_whens()
        return legs

    def _require_no_whens(self) -> None:
        """A new start of the solver is not an event: what fires at one would be lost silently."""
        whens = self.model.flat.whens
        if whens:
            raise ModelError(
                "M239",
                f"case '{self.staging.name}': '{self.model.name}' has when-clauses "
                f"({whens[0].origin}), which a change from outside cannot set off; write the "
                "change as a when-clause of the model",
            )

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""
        known = dict(zip((*self.moving, *self._starts), self._values[self._index], strict=True))
        signs = dict(zip((*self.moving, *self._starts), self._signs, strict=True))
        found = [
            float(known[n] * signs[n]) if n in known else self._own.get(n, math.nan)
            for n in self.wrt
        ]
        return np.array(found, float)

    @cached_property
    def _rest(self) -> PointResponse | None:
        rest = self.staging.rest
        if rest is None:
            return None
        held = {n: float(s.at(np.array([self.begin]))[0]) for n, s in self._signals.items()}
        return self.model.at_points("steady").respond(
            Experiment(
                [0.0],
                {**held, **dict(rest.inputs)},
                self._parameters,
                self._start,
                outputs=list(self._names),
                wrt=[*self.moving, *self._starts],
            )
        )

    # -- evaluation ------------------------------------------------------------------------------

    def at(self, theta: Vector | None = None) -> FormulaRun:
        """Outputs and exact derivatives at tuner values `theta`; a failed run is told."""
        values = self.tuners if theta is None else np.asarray(theta, np.float64)
        m, ny = len(self.wrt), len(self.configuration.outputs)
        Y, YS = np.full((len(self.times), ny), np.nan), np.zeros((len(self.times), ny, m))
        try:
            known = self._known(values)
            state = self._begun(known)
            for leg in self._legs:
                self._change(leg, known, state)
                state = self._changed(leg, known, state)
                run = self._run(leg, known, state)
                Y[leg.rows] = run.Y[: leg.count]
                by_parameters, by_states = np.split(run.YS[: leg.count], [len(self.moving)], axis=2)
                slopes = np.array([known[n][1] for n in self.moving]).reshape(-1, m)
                YS[leg.rows] = by_parameters @ slopes + by_states @ state.X
                S = run.S
                X = S[:, : len(self.moving)] @ slopes + S[:, len(self.moving) :] @ state.X
                state = _State(run.x.copy(), X, run.z.copy(), run.d.copy(), state.P)
        except SimulationError as error:
            return FormulaRun(self.times, Y, YS, status.NOT_FINITE_OUTPUT, error.message)
        return FormulaRun(self.times, Y, YS)

    def _known(self, values: Vector) -> dict[str, Moving]:
        """Parameters at the beginning, those that are not tuned included."""
        still, unit = np.zeros(len(self.wrt)), np.eye(len(self.wrt))
        known: dict[str, Moving] = {n: (v, still) for n, v in self._own.items()}
        known |= {n: (float(v), still) for n, v in self._parameters.items()}
        for k, name in enumerate(self.wrt):
            if not self._is_start[k]:
                known[name] = float(values[k]), unit[k]
            else:
                known[f"start({name})"] = float(values[k]), unit[k]
        return known

    def _theta(self, known: Mapping[str, Moving]) -> tuple[Vector, Vector]:
        """Values of the base tuners and their derivatives by the tuners, (nb, m)."""
        names = [*self.moving, *(f"start({n})" for n in self._starts)]
        values = np.array([known[n][0] for n in names], float)
        return values, np.array([known[n][1] for n in names]).reshape(len(names), len(self.wrt))

    def _begun(self, known: Mapping[str, Moving]) -> _State:
        theta, chain = self._theta(known)
        full = self._values.copy()
        full[self._index] = theta * self._signs
        u = self._legs[0].pieces.values[0]
        start = self._initialiser.start(full, self.begin, u)
        state = _State(start.x, start.S @ chain, start.z, start.d, start.P)
        return state if self.staging.rest is None else self._at_rest(known, state, u)

    def _at_rest(self, known: Mapping[str, Moving], state: _State, u: Vector) -> _State:
        """The steady state, with modes and algebraic unknowns as they are there."""
        assert self._rest is not None
        rest = self.staging.rest
        assert rest is not None
        there = dict(known)
        for name, value in rest.parameters:
            there[name] = self._moved(value, known, state)
        theta, chain = self._theta(there)
        run = self._rest.at(theta)
        if not run.ok:
            raise SimulationError(
                "R050", f"case '{self.staging.name}': there is no steady state to begin from: "
                f"{run.text.removeprefix('point 0: ').removeprefix('point 0')}",
            )  # fmt: skip
        x, X = run.Y[0].copy(), run.YS[0] @ chain
        c = self.configuration
        values = self._independent(known, state)
        for name, value in zip(self._names, x, strict=True):
            values[c.tuning.index[f"start({name})"]] = value
        again = c.initialiser.start(values, self.begin, u)
        return _State(x, X, again.z, again.d, state.P)

    def _independent(self, known: Mapping[str, Moving], state: _State) -> Vector:
        """Independent constants of a stage."""
        c = self.configuration.tuning
        places = [self.model.equations.constants.index(n) for n in c.independent]
        values = np.asarray(state.P)[places].copy()
        for k, name in enumerate(self.moving):
            constant = self._base[k]
            values[c.index[constant.name]] = known[name][0] * constant.sign
        return values

    def _change(self, leg: _StageRun, known: dict[str, Moving], state: _State) -> None:
        """Switch parameters."""
        for stage in self.staging.stages:
            if stage.time == leg.begin:
                values = {n: self._moved(v, known, state) for n, v in stage.set if n in self.moving}
                known |= values

    def _changed(self, leg: _StageRun, known: Mapping[str, Moving], state: _State) -> _State:
        """States after what is set and added; what is set comes first."""
        x, X = state.x.copy(), state.X.copy()
        place = {n: k for k, n in enumerate(self._names)}
        for stage in self.staging.stages:
            if stage.time != leg.begin:
                continue
            for name, value in stage.set:
                if name in place:
                    x[place[name]], X[place[name]] = self._moved(value, known, state)
            for name, value in stage.added:
                more, slope = self._moved(value, known, state)
                x[place[name]] += more
                X[place[name]] += slope
        return replace(state, x=x, X=X)

    def _moved(self, value: Value, known: Mapping[str, Moving], state: _State) -> Moving:
        """A number or expression with its derivatives by the tuners."""
        if not isinstance(value, str):
            return float(value), np.zeros(len(self.wrt))
        formula = self.staging.formulas[value]
        here = {n: self._named(n, known, state) for n in formula.names}
        numbers_ = {n: v for n, (v, _) in here.items()}
        slope = np.zeros(len(self.wrt))
        for name, (_, own) in here.items():
            if own.any():
                slope = slope + float(formula.partial(name).at(numbers_)) * own
        found = float(formula.at(numbers_))
        if not math.isfinite(found):
            told = ", ".join(f"{n} = {v:g}" for n, v in numbers_.items())
            raise SimulationError(
                "R051",
                f"case '{self.staging.name}': '{value}' is not a finite number with {told}",
            )
        return found, slope

    def _named(self, name: str, known: Mapping[str, Moving], state: _State) -> Moving:
        if name in known:
            return known[name]
        if name in self._names:
            k = self._names.index(name)
            return float(state.x[k]), state.X[k]
        constants = self.model.equations.constants
        if name in constants and name in self.model.system.parameters:
            default = self.model.equations.defaults.get(name)
            if default is None or default.is_constant():
                return float(state.P[constants.index(name)]), np.zeros(len(self.wrt))
        raise SimulationError(
            "R052",
            f"case '{self.staging.name}': '{name}' has no value of its own in expressions of "
            "changes; write them in tuners, states and parameters that do not follow from others",
        )

    def _run(self, leg: _StageRun, known: Mapping[str, Moving], state: _State) -> Run:
        c, nx = self.configuration, len(self._names)
        P, _, _ = c.tuning.prepare(self._independent(known, state))
        seed = np.hstack([np.zeros((nx, len(self.moving))), np.eye(nx)])
        begun = engine.RunStart(state.x, seed, state.z, state.d)
        run = integrate(c.kernel, P, begun, leg.pieces, leg.grid, self._options)
        if not run.ok:
            told = Response(
                c, self._independent(known, state), leg.pieces, leg.grid, leg.begin, Options()
            )
            raise SimulationError(*run_failure_text(self.model.equations, run, told, c.tuning.wrt))
        return run


@dataclass(frozen=True, eq=False)
class _StageRun:
    """One stage: its samples, the rows where they stand, its inputs."""

    begin: float
    grid: Vector
    rows: slice
    pieces: Pieces

    @property
    def count(self) -> int:
        """How many of the samples are wanted."""
        return self.rows.stop - self.rows.start


def _switched(staging: StagePlan) -> list[str]:
    rest = SteadyStart() if staging.rest is None else staging.rest
    return [*(n for n, _ in rest.parameters), *(n for s in staging.stages for n, _ in s.set)]


def _after(name: str, value: Value, case: str) -> Signal:
    if isinstance(value, str):
        raise ModelError(
            "M238",
            f"case '{case}': input '{name}' can be set to a number only, not to '{value}'; let a "
            "parameter of the model carry it",
        )
    return Signal.constant(float(value))
