"""FmuResponse: an FMU at the samples of an experiment, with derivatives by its tuners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimica.simulate import fmu_layout as at
from estimica.simulate.fmu_experiment import FmuExperiment, FmuPoint, FmuRun
from estimica.simulate.fmu_process import FmuLostError, FmuProcess

Vector = npt.NDArray[np.float64]

_TEXT = "all samples computed"
STEP = 6e-6  # of central differences of smooth functions, in sizes of a tuner: eps^(1/3)
_ENDED = {
    at.TERMINATED: "the FMU asked to end the simulation",
    at.STEP_TOO_SMALL: "the step size collapsed: the solution is not smooth, or runs to infinity",
    at.TOO_MANY_STEPS: "too many steps between two samples; try method='implicit'",
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


@dataclass(frozen=True)
class FmuTuner:
    """A tuner: the place of a parameter in the values, or a state that is set after the start."""

    name: str
    place: int = -1
    state: int = -1
    reference: int = -1  # of the parameter, for directional derivatives


@dataclass(frozen=True, eq=False)
class Setup:
    """What an experiment is run with: values, tuners with their sizes, limits."""

    experiment: FmuExperiment
    values: Vector  # of the parameters, in the order of the group; NaN where there is none
    late: Vector  # start values of the states that are set after initialisation
    tuners: tuple[FmuTuner, ...]
    sizes: Vector
    max_seconds: float
    columns: tuple[int, ...]  # place of each wanted output in the group


class FmuResponse:
    """y(t; θ) of an FMU."""

    def __init__(self, setup: Setup, process: FmuProcess) -> None:
        self.setup, self.process = setup, process

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
        point = self.tuners if theta is None else np.asarray(theta, float)
        try:
            (run,) = self.run([self.point(point)])
        except FmuLostError as error:
            return self._failed(str(error), point)
        why = trouble(run)
        return self._failed(why, point) if why else self._told(run)

    def run(self, points: Sequence[FmuPoint]) -> list[FmuRun]:
        """Runs at several points in one request."""
        s = self.setup
        return self.process.ask(s.experiment, list(points), s.max_seconds)

    def point(
        self, theta: Vector, step: float = STEP, ways: Sequence[int] | None = None
    ) -> FmuPoint:
        """The values for the model and, above and below, for each tuner."""
        s, m = self.setup, len(self.setup.tuners)
        values = np.tile(s.values, (1 + 2 * m, 1))
        late = np.tile(s.late, (1 + 2 * m, 1))
        deltas = np.empty(m)
        for j, (tuner, value) in enumerate(zip(s.tuners, theta, strict=True)):
            table, place = (values, tuner.place) if tuner.place >= 0 else (late, tuner.state)
            table[:, place] = value
            wanted = step * _size(value, s.sizes[j])
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

    def _told(self, run: FmuRun) -> FmuEvaluation:
        columns = list(self.setup.columns)
        return FmuEvaluation(self.times, run.Y[:, columns], run.YS[:, columns])

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
    return max(abs(value), 0.01 * size) if value else size


def trouble(run: FmuRun) -> str:
    """What went wrong in a run, in words; "" where nothing did."""
    if run.status == at.DONE:
        return ""
    said = f"; it says: {'; '.join(run.said)}" if run.said else ""
    if run.status in (at.FAILED, at.DISCARDED):
        what = _STATUSES.get(run.fmi_status, f"returned status {run.fmi_status}")
        return f"at time {run.time:g} the FMU {what} in {run.function}{said}"
    return f"the simulation stopped at time {run.time:g}: {_ENDED[run.status]}{said}"
