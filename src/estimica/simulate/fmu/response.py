"""FmuResponse: an FMU at the samples of an experiment, with derivatives by its tuners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.simulate.fmu.derivatives import (
    CLEAR,
    FINE,
    LADDER,
    MIDDLE,
    SHORT,
    STEPS,
    FmuDerivatives,
    choose_for_rates,
    choose_for_trajectories,
    choose_one_sided,
    with_fine_tolerance,
)
from estimica.simulate.fmu.experiment import FmuExperiment, FmuPoint, FmuRun, next_key
from estimica.simulate.fmu.library import FmuBinary
from estimica.simulate.fmu.loop import layout as at
from estimica.simulate.fmu.process import FmuLostError, process_of
from estimica.simulate.termination import Termination

_TEXT = "all samples computed"
#: what was found about the derivatives by each set of tuners
DerivativeMemory = dict[tuple[str, ...], FmuDerivatives]
_ENDED = {
    at.TERMINATED: "the FMU asked to end the simulation",
    at.STEP_TOO_SMALL: "the step size collapsed: the solution is not smooth, or runs to infinity",
    at.TOO_MANY_STEPS: "too many steps between two samples; try looser tolerances",
    at.NOT_FINITE: "a derivative is not a finite number",
    at.ACCUMULATION: "events accumulate: infinitely many in a finite time (Zeno)",
    at.EVENT_ITERATION: "the event iteration does not converge",
    at.NOT_FINITE_OUTPUT: "an output is not a finite number",
}
_STATUSES = {2: "discarded the call", 3: "returned an error", 4: "returned a fatal error"}


@dataclass(frozen=True, eq=False)
class FmuEvaluation:
    """Outputs and derivatives at all samples; `text` says what went wrong where `ok` is False."""

    times: Vector
    Y: Vector  # (N, ny)
    YS: Vector  # (N, ny, m)
    ok: bool = True
    text: str = _TEXT
    termination: Termination | None = None  # where the FMU has ended the run by itself

    @property
    def samples(self) -> int:
        """How many samples are valid."""
        if self.termination is None:
            return len(self.times) if self.ok else 0
        return int(np.sum(self.times <= self.termination.time))


@dataclass(frozen=True)
class FmuTuner:
    """A tuner: the place of a parameter in the values, or a state that is set after the start."""

    name: str
    place: int = -1
    state: int = -1
    reference: int = -1  # of the parameter, for directional derivatives


@dataclass(frozen=True, eq=False)
class FmuSetup:
    """What an experiment is run with: values, tuners with their sizes, limits."""

    experiment: FmuExperiment
    values: Vector  # of the parameters, in the order of the group; NaN where there is none
    late: Vector  # start values of the states that are set after initialisation
    tuners: tuple[FmuTuner, ...]
    sizes: Vector
    max_seconds: float
    columns: tuple[int, ...]  # place of each wanted output in the group
    lockstep: bool  # whether all instances run side by side, with sensitivities
    directional: bool  # whether the FMU declares directional derivatives
    slopes: bool = True  # whether derivatives are wanted


class FmuResponse:
    """y(t; θ) of an FMU. How to derive it is found at the first point that is asked for."""

    def __init__(self, setup: FmuSetup, binary: FmuBinary, memory: DerivativeMemory) -> None:
        self.setup, self.binary, self.memory = setup, binary, memory
        self._shortened: dict[tuple[int, bool], FmuResponse] = {}

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which the response was set up; NaN where they have none."""
        s = self.setup
        return np.array([s.values[t.place] if t.place >= 0 else s.late[t.state] for t in s.tuners])

    @property
    def times(self) -> Vector:
        """Times of the samples."""
        return self.setup.experiment.times

    def at(self, theta: Vector | None = None) -> FmuEvaluation:
        """Outputs and derivatives at tuner values `theta`; what cannot be computed is told."""
        values = self.tuners if theta is None else np.asarray(theta, float)
        try:
            found = self._evaluated(values)
        except FmuLostError as error:
            return self._failed(str(error), values)
        return self._failed(found, values) if isinstance(found, str) else found

    def without_derivatives(self) -> FmuResponse:
        """The same with slopes of zero, by one run each."""
        return FmuResponse(replace(self.setup, slopes=False), self.binary, self.memory)

    def _evaluated(self, theta: Vector) -> FmuEvaluation | str:
        if not (self.setup.tuners and self.setup.slopes):
            (run,) = self.run([self.plain(theta)])
            none = np.zeros((*run.Y.shape, len(theta)))
            if run.status == at.TERMINATED:
                return self._ended(run, run.Y, none)
            return failure_text(run) or self._told(run.Y, none)
        known = self.memory.get(self._key)
        if known is None:
            here = self.plain(theta)
            (run,) = self.run([here])
            if run.status == at.TERMINATED:
                return self._until_end(theta, run)
            if run.status != at.DONE:
                return failure_text(run)
            known = self._chosen(theta, run)
            if known is None:
                return "no derivatives can be computed"
            self.memory[self._key] = known
        if self.setup.lockstep:
            (run,) = self.run([self.point(theta, known.steps, known.ways)])
            if run.status == at.TERMINATED:
                (run,) = self.run([self.plain(theta)])
                return self._until_end(theta, run)
            return failure_text(run) or self._told(run.Y, run.YS)
        return self._by_trajectories(theta, known)

    @property
    def _key(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.setup.tuners)

    def run(self, points: Sequence[FmuPoint]) -> list[FmuRun]:
        """Runs at several points in one request."""
        s = self.setup
        return process_of(self.binary).ask(s.experiment, list(points), s.max_seconds)

    # -- derivatives -----------------------------------------------------------------------------

    def _chosen(self, theta: Vector, here: FmuRun) -> FmuDerivatives | None:
        if not self.setup.lockstep:
            return self._chosen_steps(theta, here)
        first, directed = self._fine(theta, STEPS[0]), self._directed(theta)
        if first is not None and all(run is not None for run in directed):
            found = choose_for_rates([first], directed, self.setup.directional)
            if at.BY_DIFFERENCES not in found.ways and found.error <= CLEAR:
                return found
        compared = [first, *(self._fine(theta, step) for step in STEPS[1:])]
        if all(run is None for run in compared):
            return None
        return choose_for_rates(compared, directed, self.setup.directional)

    def _chosen_steps(self, theta: Vector, here: FmuRun) -> FmuDerivatives:
        """How to differentiate whole trajectories."""
        m = len(self.setup.tuners)
        middle = self._central(theta, [MIDDLE] * m)
        found = choose_one_sided(middle, self._one_sided(theta, here, [SHORT] * m))
        if found is not None:
            return found
        rungs = [middle if h == MIDDLE else self._central(theta, [h] * m) for h in LADDER]
        return choose_for_trajectories(np.stack(rungs))

    def _fine(self, theta: Vector, step: float, ways: Sequence[int] | None = None) -> FmuRun | None:
        """A run that differentiates with little error of integration; none where it fails."""
        steps = [step] * len(self.setup.tuners)
        try:
            (run,) = self.run([with_fine_tolerance(self.point(theta, steps, ways))])
        except FmuLostError:
            return None
        return run if run.status == at.DONE else None

    def _directed(self, theta: Vector) -> list[FmuRun | None]:
        """For each tuner a run with the FMU's own derivatives, where it computes them."""
        m = len(self.setup.tuners)
        if not self.setup.directional:
            return [None] * m
        every = self._fine(theta, STEPS[0], [at.BY_DIRECTION] * m)
        if every is not None or m == 1:
            return [every] * m
        single = [
            [at.BY_DIRECTION if k == j else at.BY_DIFFERENCES for k in range(m)] for j in range(m)
        ]
        return [self._fine(theta, STEPS[0], ways) for ways in single]

    def _central(self, theta: Vector, steps: Sequence[float]) -> Vector:
        """Derivatives (N, ny, m) of whole trajectories; NaN where a run fails."""
        point = self.point(theta, steps)
        rows = range(1, 1 + 2 * len(theta))
        runs = self.run([self._row(point, k) for k in rows])
        found = [run.Y if run.status == at.DONE else np.full_like(run.Y, np.nan) for run in runs]
        columns = [
            (found[2 * j] - found[2 * j + 1]) / (2 * point.deltas[j]) for j in range(len(theta))
        ]
        return np.stack(columns, axis=-1)

    def _one_sided(self, theta: Vector, here: FmuRun, steps: Sequence[float]) -> Vector:
        """The same from one side; a negative step is the other side."""
        point = self.point(theta, steps)
        runs = self.run([self._row(point, 1 + 2 * j) for j in range(len(theta))])
        columns = [
            (run.Y - here.Y) / delta if run.status == at.DONE else np.full_like(run.Y, np.nan)
            for run, delta in zip(runs, point.deltas, strict=True)
        ]
        return np.stack(columns, axis=-1)

    def _by_trajectories(self, theta: Vector, known: FmuDerivatives) -> FmuEvaluation | str:
        (run,) = self.run([self.plain(theta)])
        if run.status == at.TERMINATED:
            return self._until_end(theta, run)
        if run.status != at.DONE:
            return failure_text(run)
        # a step may leave where the FMU can be computed
        for part in (1.0, -1.0) if known.one_sided else (1.0, 0.1):
            steps = [part * step for step in known.steps]
            slope = (
                self._one_sided(theta, run, steps)
                if known.one_sided
                else self._central(theta, steps)
            )
            if np.isfinite(slope).all():
                return self._told(run.Y, slope)
        return "the FMU fails close by, where its derivatives are taken"

    # -- runs that the FMU ends ------------------------------------------------------------------

    def _until_end(self, theta: Vector, run: FmuRun) -> FmuEvaluation | str:
        """The samples before the end of a run, with derivatives by runs that are shorter."""
        if run.status != at.TERMINATED:
            return failure_text(run) or "with a tuner changed a little, the FMU ends the run before"
        count = int(np.sum(self.times <= run.time))
        at_end = bool(count) and self.times[count - 1] == run.time
        if at_end and self.setup.experiment.interface == "cs":
            return "the last sample is where the FMU ends the run, and has no derivatives there"
        Y, YS = run.Y.copy(), np.full((*run.Y.shape, len(theta)), np.nan)
        if count:
            inner = self._shorter(count, at_end).at(theta)
            if not inner.ok:
                return inner.text
            columns = list(self.setup.columns)
            YS[:count, columns] = inner.YS
        return self._ended(run, Y, YS)

    def _shorter(self, count: int, at_end: bool) -> FmuResponse:
        """The response at the first samples; one at the end itself is taken just before it."""
        if (count, at_end) not in self._shortened:
            e = self.setup.experiment
            times = e.times[:count].copy()
            if at_end:  # of the record: far above rounding, and nothing changes by it
                times[-1] -= 1e-9 * (times[-1] - e.begin)
            grid = e.grid[e.grid <= times[-1]]
            setup = replace(
                self.setup, experiment=replace(e, key=next_key(), times=times, grid=grid)
            )
            self._shortened[count, at_end] = FmuResponse(setup, self.binary, self.memory)
        return self._shortened[count, at_end]

    def _ended(self, run: FmuRun, Y: Vector, YS: Vector) -> FmuEvaluation:
        columns, m = list(self.setup.columns), YS.shape[2]
        y = run.end[columns]
        said = "; ".join(run.said)
        unknown = np.full((len(columns), m), np.nan)
        end = Termination(run.time, said, np.full(m, np.nan), y, unknown, "the FMU itself")
        Y, YS = Y[:, columns].copy(), YS[:, columns].copy()
        Y[self.times == run.time] = y
        Y[self.times > run.time], YS[self.times > run.time] = np.nan, np.nan
        found = FmuEvaluation(self.times, Y, YS, termination=end)
        if found.samples == len(self.times):
            return replace(found, text=end.text)
        return replace(found, ok=False, text=end.missing(self.times, found.samples))

    # -- points ----------------------------------------------------------------------------------

    def plain(self, theta: Vector) -> FmuPoint:
        """The values without derivatives."""
        return self._row(self.point(theta, [STEPS[0]] * len(theta)), 0)

    def _row(self, point: FmuPoint, k: int) -> FmuPoint:
        tight = None if self.setup.lockstep or self.setup.experiment.interface == "cs" else FINE
        return FmuPoint(point.parameters[k : k + 1], point.late[k : k + 1], rtol=tight)

    def point(
        self, theta: Vector, steps: Sequence[float], ways: Sequence[int] | None = None
    ) -> FmuPoint:
        """The values for the model and, above and below, for each tuner."""
        s, m = self.setup, len(self.setup.tuners)
        values = np.tile(s.values, (1 + 2 * m, 1))
        late = np.tile(s.late, (1 + 2 * m, 1))
        deltas = np.empty(m)
        for j, (tuner, value) in enumerate(zip(s.tuners, theta, strict=True)):
            table, place = (values, tuner.place) if tuner.place >= 0 else (late, tuner.state)
            table[:, place] = value
            wanted = steps[j] * _size(value, s.sizes[j])
            table[1 + 2 * j, place] = value + wanted
            table[2 + 2 * j, place] = value - wanted
            deltas[j] = 0.5 * (table[1 + 2 * j, place] - table[2 + 2 * j, place])
        return FmuPoint(
            values,
            late,
            deltas,
            np.array([_size(v, z) for v, z in zip(theta, s.sizes, strict=True)]),
            np.array(ways if ways is not None else [at.BY_DIFFERENCES] * m, np.int64),
            tuple(t.reference for t in s.tuners),
        )

    def _told(self, Y: Vector, YS: Vector) -> FmuEvaluation:
        columns = list(self.setup.columns)
        return FmuEvaluation(self.times, Y[:, columns], YS[:, columns])

    def _failed(self, why: str, theta: Vector) -> FmuEvaluation:
        s = self.setup
        N, ny, m = len(self.times), len(s.columns), len(s.tuners)
        listed = ", ".join(f"{t.name} = {v:g}" for t, v in zip(s.tuners, theta, strict=True))
        return FmuEvaluation(
            self.times,
            np.full((N, ny), np.nan),
            np.full((N, ny, m), np.nan),
            False,
            f"{why}, with {listed}" if listed else why,
        )


def _size(value: float, size: float) -> float:
    # chosen: a start that happens to be near zero does not make steps of differences vanish
    return max(abs(value), 0.01 * size) if value else size


def failure_text(run: FmuRun) -> str:
    """What went wrong in a run, in words; "" where nothing did."""
    if run.status == at.DONE:
        return ""
    said = f"; it says: {'; '.join(run.said)}" if run.said else ""
    if run.status in (at.FAILED, at.DISCARDED):
        what = _STATUSES.get(run.fmi_status, f"returned status {run.fmi_status}")
        return f"at time {run.time:g} the FMU {what} in {run.function}{said}"
    return f"the simulation stopped at time {run.time:g}: {_ENDED[run.status]}{said}"
