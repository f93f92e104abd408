"""FmuMover: an FMU moved over short stretches, all rows in one request to its process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.compiled.experiment import Experiment
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.filter.differences.mover import (
    LEAST,
    Moved,
    StoppedError,
    TrajectoryMover,
    Tuned,
)
from estimica.simulate.filter.differences.quadrature import Span, spans_on_grid
from estimica.simulate.fmu.derivatives import FINE
from estimica.simulate.fmu.experiment import FmuExperiment, FmuPoint, FmuRun, FmuStretch, next_key
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.model import FmuModel, communication_points
from estimica.simulate.fmu.process import FmuLostError, process_of
from estimica.simulate.fmu.response import FmuResponse, failure_text


class FmuMover(TrajectoryMover):
    """Model Exchange integrates slopes by the start values; Co-Simulation differs whole runs."""

    def __init__(
        self,
        model: FmuModel,
        experiment: Experiment,
        pieces: Pieces,
        end: float,
        tuned: Tuned,
        variables: tuple[str, ...],
    ) -> None:
        super().__init__()
        self.model, self._pieces = model, pieces
        self.states, self.variables = tuned.states, variables
        self._record = float(end - pieces.starts[0])
        own = [n for n in tuned.names if n in tuned.parameters]
        given = {**experiment.parameters, **dict.fromkeys(own, 1.0)}
        prototype = model.respond(
            replace(
                experiment, times=[float(pieces.starts[0])], begin=float(pieces.starts[0]),
                parameters=given, outputs=self.states, wrt=self.states,
                options=_plain(experiment.options),
            )
        )  # fmt: skip
        self._setup = prototype.setup
        names = self._setup.experiment.parameters.names
        self._columns, self._places = tuned.columns(own), [names.index(n) for n in own]
        self._move = self._experiment(prototype, self.states)
        self._look = self._experiment(prototype, variables) if variables else None
        self._start = self._beginning(model, experiment, tuned)
        self._start_columns = tuned.columns(tuned.of_model)
        self._lockstep = self._setup.lockstep
        self._sizes, self._rates = np.ones(len(self.states)), np.zeros(0)
        self._ways: Indices = np.zeros(0, np.int64)
        self._step = model.communication

    def _experiment(self, prototype: FmuResponse, outputs: tuple[str, ...]) -> FmuExperiment:
        """One sample and one piece of inputs; when and which, the points say."""
        found = self.model.read_group(outputs)
        e = prototype.setup.experiment
        return replace(
            e, key=next_key(), outputs=found, times=e.times[:1].copy(), starts=e.starts[:1].copy(),
            values=e.values[:1].copy(), slopes=e.slopes[:1].copy(),
        )  # fmt: skip

    def _beginning(self, model: FmuModel, experiment: Experiment, tuned: Tuned) -> FmuResponse:
        begin = float(self._pieces.starts[0])
        return model.respond(
            replace(
                experiment, times=[begin], begin=begin, outputs=self.states, wrt=tuned.of_model,
                options=_plain(experiment.options),
            )
        ).without_derivatives()  # fmt: skip

    def begun(self, theta: Vector) -> Vector:
        """The states as the FMU begins."""
        found = np.empty((len(theta), len(self.states)))
        for r, row in enumerate(theta):
            run = self._start.at(row[self._start_columns])
            if not run.ok:
                raise StoppedError(r, run.text)
            found[r] = run.Y[0]
        return found

    # -- slopes ----------------------------------------------------------------------------------

    def prepare(
        self, sizes: Vector, tried: Sequence[tuple[float, float]], x: Vector, theta: Vector
    ) -> None:
        """Whether the FMU's own derivatives are right, or with which steps it is differed."""
        self._sizes = sizes
        if not self._lockstep:
            super().prepare(sizes, tried, x, theta)
            return
        begin, end = tried[0]
        whole = self.model.respond(
            Experiment(
                [end], self._held(begin), self._given(theta[0]),
                dict(zip(self.states, map(float, x[0]), strict=True)), self.states, self.states,
                begin, _plain(None, tuple(map(float, sizes))),
            )
        )  # fmt: skip
        run = whole.at()
        if not run.ok:
            raise StoppedError(0, run.text)
        known = self.model.derivative_memory[self.states]
        self._rates, self._ways = np.array(known.steps), np.array(known.ways, np.int64)
        self.error = max(known.error, LEAST)

    def _held(self, time: float) -> dict[str, float]:
        value, _ = self._inputs(time)
        return dict(zip(self._move.inputs.names, map(float, value), strict=True))

    def _given(self, theta: Vector) -> dict[str, float]:
        values = self._values(theta[None])[0]
        early = {n for n in self._move.parameters.names if n in self.states}
        return {
            n: float(v)
            for n, v in zip(self._move.parameters.names, values, strict=True)
            if n not in early and np.isfinite(v)
        }

    def moved(self, begin: float, end: float, x: Vector, theta: Vector) -> Moved:
        """The states at `end`."""
        if not self._lockstep:
            return super().moved(begin, end, x, theta)
        return self._side_by_side(self._move, self._stretch(begin, end), x, theta)

    def seen(self, time: float, x: Vector, theta: Vector) -> Moved:
        """The variables at a time."""
        assert self._look is not None
        if not self._lockstep:
            return super().seen(time, x, theta)
        return self._side_by_side(self._look, self._stretch(time, time), x, theta)

    def ends(self, begin: float, end: float, x: Vector, theta: Vector) -> Vector:
        """The states at `end`, a run for each row."""
        return self._single(self._move, self._stretch(begin, end), x, theta)

    def sights(self, time: float, x: Vector, theta: Vector) -> Vector:
        """The variables at a time."""
        assert self._look is not None
        return self._single(self._look, self._stretch(time, time), x, theta)

    def _side_by_side(
        self, experiment: FmuExperiment, stretch: FmuStretch, x: Vector, theta: Vector
    ) -> Moved:
        """Instances above and below in each state run in step with the model."""
        n, steps = len(self.states), self._rates * self._sizes
        states = np.repeat(x[:, None, :], 1 + 2 * n, axis=1)
        each = np.arange(n)
        states[:, 1 + 2 * each, each] += steps
        states[:, 2 + 2 * each, each] -= steps
        deltas = 0.5 * (states[:, 1 + 2 * each, each] - states[:, 2 + 2 * each, each])
        points = [
            FmuPoint(
                *self._begun_with(states[r], np.repeat(values[None], 1 + 2 * n, axis=0)),
                deltas[r], self._sizes, self._ways, (-1,) * n, rtol=FINE, stretch=stretch,
            )
            for r, values in enumerate(self._values(theta))
        ]  # fmt: skip
        runs = self._asked(experiment, points)
        c = self._order(experiment)
        return Moved(np.stack([r.Y[0, c] for r in runs]), np.stack([r.YS[0, c] for r in runs]))

    def _single(
        self, experiment: FmuExperiment, stretch: FmuStretch, x: Vector, theta: Vector
    ) -> Vector:
        tight = None if experiment.interface == "cs" else FINE
        points = [
            FmuPoint(
                *self._begun_with(x[r : r + 1], values[None].copy()), rtol=tight, stretch=stretch
            )
            for r, values in enumerate(self._values(theta))
        ]
        c = self._order(experiment)
        return np.stack([r.Y[0, c] for r in self._asked(experiment, points)])

    def _order(self, experiment: FmuExperiment) -> list[int]:
        """Columns of the states or variables: in a group reals stand before whole numbers."""
        names = self.states if experiment is self._move else self.variables
        return [experiment.outputs.names.index(n) for n in names]

    def _begun_with(self, x: Vector, values: Vector) -> tuple[Vector, Vector]:
        """(values before, values after initialisation) with which instances begin at `x`."""
        late = np.tile(self._setup.late, (len(x), 1))
        for k, tuner in enumerate(self._setup.tuners):
            if tuner.place >= 0:
                values[:, tuner.place] = x[:, k]
            else:
                late[:, tuner.state] = x[:, k]
        return values, late

    def _values(self, theta: Vector) -> Vector:
        values = np.tile(self._setup.values, (len(theta), 1))
        values[:, self._places] = theta[:, self._columns]
        return values

    def _asked(self, experiment: FmuExperiment, points: list[FmuPoint]) -> list[FmuRun]:
        process = process_of(self.model.binary)
        try:
            runs = process.ask(experiment, points, self._setup.max_seconds)
        except FmuLostError as error:
            raise StoppedError(0, str(error)) from None
        for r, run in enumerate(runs):
            if run.status != at.DONE:
                names = experiment.parameters.names
                pairs = zip(names, points[r].parameters[0], strict=True)
                told = ", ".join(f"{n} = {v:g}" for n, v in pairs if np.isfinite(v))
                raise StoppedError(r, failure_text(run) + (f", with {told}" if told else ""))
        return runs

    # -- time ------------------------------------------------------------------------------------

    def _stretch(self, begin: float, end: float) -> FmuStretch:
        values, slopes = self._inputs(begin)
        return FmuStretch(begin, end, values, slopes, self._grid(begin, end), self._record)

    def _inputs(self, time: float) -> tuple[Vector, Vector]:
        p = self._pieces
        k = max(int(np.searchsorted(p.starts, time, side="right")) - 1, 0)
        return p.values[k] + p.slopes[k] * (time - p.starts[k]), p.slopes[k]

    def _grid(self, begin: float, end: float) -> Vector:
        if self.model.interface == "me" or begin == end:
            return np.array([begin])
        step, variable = self._longest, self._move.variable_step
        if not variable:
            count = max(int(np.rint((end - begin) / step)), 1)
            return np.linspace(begin, end, count + 1)
        return communication_points(self.model.name, np.array([begin, end]), step, True)[0]

    @property
    def _longest(self) -> float:
        return self._step or self._record

    def spans(self, begin: float, end: float, parts: int, moves: int) -> list[Span]:
        """As asked, but on communication points where these have one distance only."""
        if self.model.interface == "me" or self._move.variable_step:
            return super().spans(begin, end, parts, moves)
        steps = max(int(np.rint((end - begin) / self._longest)), 1)
        return spans_on_grid(begin, end, parts, steps)


def _plain(options: object, scales: tuple[float, ...] = ()) -> Options:
    """The tolerances without the sizes of tuners."""
    known = options if isinstance(options, Options) else Options()
    return replace(known, tuner_scales=scales)


def known_numbers(model: FmuModel, given: Mapping[str, float]) -> dict[str, float]:
    """Values of all parameters that are numbers."""
    own = {
        q.name: float(q.value)
        for q in model.quantities()
        if q.role in ("parameter", "constant") and isinstance(q.value, (int, float))
    }
    return {**own, **model.fixed_numbers, **given}
