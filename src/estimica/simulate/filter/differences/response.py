"""DifferenceResponse: one record through a filter by differences, at many values of the tuners.

Derivatives by the tuners are central differences of the whole filter; all rows go side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.simulate.filter.differences.course import Course, Taken, take_in
from estimica.simulate.filter.differences.levels import Variances
from estimica.simulate.filter.differences.mover import (
    LADDER,
    LEAST,
    Moved,
    Mover,
    StoppedError,
    Tuned,
    best_steps,
)
from estimica.simulate.filter.differences.settling import Settled, settle
from estimica.simulate.filter.measured import Measured, Series

#: stamps over which steps of differences are chosen: enough for a filter to have come to its pace
FEW = 20
#: by what steps are shortened where one leaves the domain of the model
SHORTER = (1.0, 1 / 16, 1 / 256)
_TEXT = "reached the end"


@dataclass(frozen=True)
class DifferenceLayout:
    """What the columns of a run are of."""

    outputs: tuple[str, ...]
    states: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many states are uncertain."""
        return len(self.states)


@dataclass(frozen=True, eq=False)
class DifferenceRun:
    """Columns as those of FilterResponse; `text` says what went wrong where `ok` is False."""

    times: Vector
    Y: Vector
    YS: Vector
    ok: bool = True
    text: str = _TEXT
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class DifferenceRecord:
    """What a response is set up with."""

    course: Course
    measured: Measured
    tuned: Tuned
    spread: Variances  # of the start
    tuners: Vector  # at which it was set up
    sizes: Vector  # of the tuners
    with_states: bool


class DifferenceResponse:
    """Innovations and their variances at the stamps, and derivatives by differences."""

    def __init__(self, record: DifferenceRecord, simulated: object) -> None:
        self.record, self._simulated = record, simulated
        self._settled: Settled | None = None
        self._steps: Vector | None = None
        self._error = LEAST
        self._slopes = True

    @property
    def configuration(self) -> DifferenceLayout:
        """Names of outputs and states."""
        course = self.record.course
        return DifferenceLayout(course.outputs.outputs, course.mover.states)

    @property
    def times(self) -> Vector:
        """The stamps."""
        return self.record.measured.times

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""
        return self.record.tuners.copy()

    @property
    def precision(self) -> float:
        """Relative error of the derivatives, as measured."""
        return max(self._error, self.record.course.mover.error)

    @property
    def derivatives(self) -> str:
        """How the filter goes, in words."""
        if self._steps is None:
            return "filter by differences"
        by_states, by_tuners = self.record.course.mover.error, self._error
        return (
            f"filter by differences: slopes by the states off by about {by_states:.0e}, by the "
            f"tuners about {by_tuners:.0e}"
        )

    def without_derivatives(self) -> DifferenceResponse:
        """The same with slopes of zero, by one row."""
        other = copy(self)
        other._slopes = False
        return other

    def with_series(self, series: Mapping[str, Series]) -> DifferenceResponse:
        """The same for other values at the same stamps."""
        other = copy(self)
        measured = Measured.of(self.configuration.outputs, series)
        assert np.array_equal(measured.times, self.times), "they have the same stamps"
        course = replace(self.record.course, relative=measured.relative)
        other.record = replace(self.record, measured=measured, course=course)
        return other

    # -- the filter ------------------------------------------------------------------------------

    def at(self, theta: Vector | None = None) -> DifferenceRun:
        """The filter at tuner values `theta`; what cannot be computed is told."""
        values = self.tuners if theta is None else np.asarray(theta, np.float64)
        if not np.isfinite(values).all():  # a search on a logarithmic scale may go that far
            name = self.record.tuned.names[int(np.argmin(np.isfinite(values)))]
            return self._failed(f"tuner '{name}' is not finite", values)
        m = len(values) if self._slopes else 0
        try:
            self.course_at(values)
            if not m:
                (Y,) = self._filtered(values[None])
                return DifferenceRun(self.times, Y, np.zeros((*Y.shape, len(values))))
            if self._steps is None:
                self._choose_steps(values)
            return self._with_slopes(values)
        except StoppedError as stopped:
            return self._failed(stopped.text, values)

    def course_at(self, theta: Vector) -> Course:
        """The course, with all that is found out about it once."""
        if self._settled is None:
            self._settled = settle(self.record.course, self._simulated, theta)  # type: ignore[arg-type]
            found = self._settled
            course = replace(self.record.course, longest=found.longest, moves=found.moves)
            self.record = replace(self.record, course=course)
        return self.record.course

    def begun(self, theta: Vector) -> tuple[Vector, Vector]:
        """Mean and covariance where rows of tuners begin."""
        course = self.record.course
        x = course.mover.begun(theta)
        time, u = float(course.pieces.starts[0]), course.pieces.values[0]
        variances = self.record.spread.at(theta, time, u)
        C = np.zeros((len(x), x.shape[1], x.shape[1]))
        each = np.arange(x.shape[1])
        C[:, each, each] = variances
        return x, C

    def _filtered(self, theta: Vector, stamps: int | None = None) -> Vector:
        """Columns (R, N, k) of rows of tuners, at the first stamps or at all."""
        course, measured = self.record.course, self.record.measured
        count = len(self.times) if stamps is None else stamps
        given = np.isfinite(measured.values)
        found: list[Vector] = []

        def visit(
            i: int, seen: Moved, noise: Vector, x: Vector, C: Vector
        ) -> tuple[Vector, Vector]:
            taken = take_in(seen, noise, measured.values[i], given[i], x, C)
            found.append(self._columns(taken, noise))
            return taken.mean, taken.covariance

        course.follow(theta, *self.begun(theta), visit, last=int(course.rows[count - 1]))
        return np.stack(found, axis=1)

    def _columns(self, taken: Taken, noise: Vector) -> Vector:
        parts = [taken.innovations, taken.variances, taken.predicted, taken.expected]
        if self.record.with_states:
            i, j = np.tril_indices(taken.mean.shape[1])
            parts += [taken.mean, taken.covariance[:, i, j], noise]
        return np.hstack(parts)

    # -- derivatives -----------------------------------------------------------------------------

    def _with_slopes(self, theta: Vector) -> DifferenceRun:
        assert self._steps is not None
        for shorter in SHORTER:
            rows, width = self._around(theta, shorter * self._steps)
            try:
                Y = self._filtered(np.vstack([theta, rows]))
            except StoppedError as stopped:
                if stopped.row == 0 or shorter == SHORTER[-1]:
                    raise
                continue
            YS = (Y[1::2] - Y[2::2]) / width[:, None, None]
            return DifferenceRun(self.times, Y[0], np.moveaxis(YS, 0, 2))
        raise AssertionError("the last step raises")

    def _around(self, theta: Vector, steps: Vector) -> tuple[Vector, Vector]:
        """Rows above and below in each tuner, and how far apart they are."""
        m = len(theta)
        # chosen: a start that happens to be near zero does not make steps vanish
        size = np.maximum(np.abs(theta), 0.01 * self.record.sizes)
        rows = np.tile(theta, (2 * m, 1))
        each = np.arange(m)
        rows[2 * each, each] += steps * size
        rows[2 * each + 1, each] -= steps * size
        return rows, rows[2 * each, each] - rows[2 * each + 1, each]

    def _choose_steps(self, theta: Vector) -> None:
        """Steps whose neighbours agree best, over the first stamps."""
        few = min(FEW, len(self.times))
        (here,) = self._filtered(theta[None], few)
        ny = len(self.configuration.outputs)
        given = np.isfinite(self.record.measured.values[:few])
        scale = np.where(given, np.sqrt(np.abs(here[:, ny : 2 * ny])), np.inf)

        def slopes(step: float) -> Vector | None:
            rows, width = self._around(theta, np.full(len(theta), step))
            try:
                Y = self._filtered(rows, few)
            except StoppedError:
                return None
            moved = (Y[::2] - Y[1::2]) / width[:, None, None]
            # as the likelihood sees them: e/√s and s/s
            parts = [moved[:, :, :ny] / scale, moved[:, :, ny : 2 * ny] / scale**2]
            return np.moveaxis(np.concatenate(parts, axis=2), 0, 2)

        ladder = [slopes(h) for h in LADDER]
        self._steps, errors = best_steps(ladder, len(theta))
        self._error = float(np.max(errors, initial=LEAST))

    def _failed(self, why: str, theta: Vector) -> DifferenceRun:
        ny, n = len(self.configuration.outputs), self.configuration.n
        width = 4 * ny + (n + n * (n + 1) // 2 + ny if self.record.with_states else 0)
        Y = np.full((len(self.times), width), np.nan)
        return DifferenceRun(self.times, Y, np.full((*Y.shape, len(theta)), np.nan), False, why)

    @property
    def given(self) -> Flags:
        """Which values are there, (N, ny)."""
        found: Flags = np.isfinite(self.record.measured.values)
        return found

    @property
    def mover(self) -> Mover:
        """The model."""
        return self.record.course.mover
