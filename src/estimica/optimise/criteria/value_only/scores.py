"""Value-only scores: criteria of many runs of one case, where nobody asks for gradients.

An experiment is set up once; a run is then one simulation with the study's own tolerances, sampled
where criteria look, and one call of compiled code. Where anything is not as it was at the start
(other events, a reference that rests elsewhere, panels that do not resolve a signal even when they
are cut), the run is scored again in the way of the search, with the same tolerances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import EstimicaError, SimulationError
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.compiled_criterion import CompiledCriterion
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.measures import Window
from estimica.optimise.criteria.panels import FIRST, Panels
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.optimise.criteria.signals import SignalFormula, sampled
from estimica.optimise.criteria.trajectory import TrajectoryScorer
from estimica.optimise.criteria.value_only import measures as quick
from estimica.simulate.engine.layout import LOG_WIDTH
from estimica.simulate.engine.result import LOG_SIZE, Run
from estimica.simulate.response import Response

MARGIN = 0.03  # of what is allowed: panels that are chosen at the start do elsewhere too
SETTLING = 12  # rounds that choose panels
ROUNDS = 4  # simulations of one run before it is scored in the way of the search
NEAR = 1e-9  # of the run: breaks that are closer are one


@dataclass(frozen=True, eq=False)
class Signals:
    """What criteria look at: columns of a run, and expressions."""

    formulas: tuple[SignalFormula, ...]
    outputs: tuple[str, ...]
    links: ParameterMap
    fixed: dict[str, float]

    @cached_property
    def plain(self) -> bool:
        """Whether all are outputs of the model."""
        return all(f.text in self.outputs for f in self.formulas)

    def place(self, formula: SignalFormula) -> int:
        """The column of a formula."""
        names = self.outputs if self.plain else tuple(f.text for f in self.formulas)
        return names.index(formula.text)

    def of(self, times: Vector, Y: Vector, tuners: Vector) -> Vector:
        """(samples, signals)."""
        if self.plain:
            return Y
        none = np.zeros((*Y.shape, 0))
        run = sampled(times, self.outputs, Y, none, self.links, tuners, self.fixed)
        return np.ascontiguousarray(np.stack([f.value(run) for f in self.formulas], axis=1))


class ValueOnlyScorer:
    """The criteria of one case by their values; `exact` scores what is not quick."""

    def __init__(
        self,
        exact: TrajectoryScorer,
        response: Response,
        parameters: Indices,
        signals: Signals,
        table: tuple[Indices, Vector],
    ) -> None:
        self.places: Sequence[CriterionInCase] = exact.places
        self.again = 0  # runs that were scored in the way of the search
        self._exact = exact
        self._response = response
        self._parameters = parameters  # places of what the tuners set
        self._signals = signals
        self._whole, self._real = table
        self._rtol = response.options.rtol
        self._course: RunBreaks
        self._mesh: ValueOnlyMesh

    def at(
        self, tuners: Vector, *, slopes: bool, courses: Courses | None = None
    ) -> list[Measure] | str:
        """The measures of one run, or why it failed; its signals go to `courses`."""
        measures = None if slopes else self._quick(tuners, courses)
        if measures is None:
            self.again += 1
            return self._exact.at(tuners, slopes=slopes, courses=courses)
        return measures

    def settle(self, tuners: Vector, fixed: Sequence[float], windows: Sequence[Window]) -> bool:
        """Choose the panels at a first run; False where they cannot be chosen."""
        ends = [t for w in windows for t in (w.y.begin, w.y.end)]
        run = self._run(tuners, np.array([min(fixed), max(fixed)]))
        if run is None:
            return False
        self._course = RunBreaks.of(fixed, run)
        breaks = self._course.breaks
        near = np.abs(breaks[None, :] - np.array(ends)[:, None])
        if (near.min(axis=1) > 1e-9 * (breaks[-1] - breaks[0])).any():
            return False  # a reference that comes to rest by and by
        views = near.argmin(axis=1).reshape(-1, 2)
        self._mesh = ValueOnlyMesh.of(breaks, views, FIRST)
        for _ in range(SETTLING):
            run = self._run(tuners, self._mesh.sampling[0])
            if run is None:
                return False
            status, _, _, coarse = self._measured(self._mesh, run, tuners, MARGIN * self._rtol)
            if status == quick.OTHERWISE:
                return False
            if status == quick.TAKEN:
                break
            self._mesh = self._mesh.cut(coarse)
        return True

    def _quick(self, tuners: Vector, courses: Courses | None) -> list[Measure] | None:
        mesh = self._mesh
        for _ in range(ROUNDS):
            run = self._run(tuners, mesh.sampling[0], courses)
            if run is None:
                return None
            breaks = self._course.breaks_at(run)
            if breaks is None:
                return None
            if breaks is not self._course.breaks and not np.array_equal(breaks, mesh.breaks):
                mesh = mesh.moved(breaks)
                continue
            status, values, least, coarse = self._measured(mesh, run, tuners, self._rtol)
            if status == quick.TAKEN:
                return [
                    Measure(float(v), at_least=None if np.isnan(low) else float(low))
                    for v, low in zip(values, least, strict=True)
                ]
            if status == quick.OTHERWISE:
                return None
            mesh = mesh.cut(coarse)
        return None

    def _measured(
        self, mesh: ValueOnlyMesh, run: Run, tuners: Vector, rtol: float
    ) -> tuple[int, Vector, Vector, Flags]:
        times, places = mesh.sampling
        z = self._signals.of(times, run.Y, tuners)
        coarse, values = np.zeros(len(mesh.low), np.bool_), np.empty(len(self._whole))
        least = np.full(len(self._whole), np.nan)
        status = quick.measure(
            z, places, mesh.low, mesh.high, mesh.broken, mesh.ranges, self._whole, self._real,
            rtol, coarse, values, least,
        )  # fmt: skip
        return status, values, least, coarse

    def _run(self, tuners: Vector, times: Vector, courses: Courses | None = None) -> Run | None:
        """A run at some times; with `courses` it is sampled at theirs too."""
        values = self._response.values.copy()
        values[self._parameters] = self._signals.links.at(tuners)[0]
        wanted = times if courses is None else np.union1d(times, courses.times)
        try:
            run = self._response.at_values(values, wanted)
        except SimulationError:
            return None
        if not run.ok or run.log.size >= LOG_SIZE * LOG_WIDTH:
            return None
        if courses is None:
            return run
        seen = run.Y[np.searchsorted(wanted, courses.times)]
        signals = self._signals.of(courses.times, seen, tuners)
        for formula in self._signals.formulas:
            courses.signals[formula.text] = signals[:, self._signals.place(formula)].copy()
        Y = np.ascontiguousarray(run.Y[np.searchsorted(wanted, times)])
        return replace(run, times=times, Y=Y)


def value_only_scorer(exact: TrajectoryScorer, start: Vector) -> ValueOnlyScorer | TrajectoryScorer:
    """The quick way to score a case; the exact one where there is no other."""
    exact = exact.loosened()
    criteria = exact.asked
    if any(a.function is not None or a.criterion.kind not in quick.KINDS for a in criteria):
        return exact
    outputs = tuple(dict.fromkeys(n for f in exact.formulas for n in f.variables))
    ends = np.array([exact.experiment.begin, exact.experiment.end])
    try:
        exact_windows = exact.windows(start)
        response = exact.response(ends, start, outputs)
    except EstimicaError:
        return exact  # it tells what is wrong when it is asked
    if exact_windows is None or not isinstance(response, Response):
        return exact
    signals = Signals(tuple(exact.formulas), outputs, exact.links, exact.fixed)
    parameters = np.array([response.place(n) for n in exact.links.parameters], int)
    windows = [exact_windows[a.window] for a in criteria]
    table = _table(criteria, windows, signals, exact.experiment.begin)
    scorer = ValueOnlyScorer(exact, response, parameters, signals, table)
    return scorer if scorer.settle(start, exact.breaks, windows) else exact


def _table(
    criteria: Sequence[CompiledCriterion], windows: Sequence[Window], signals: Signals, begin: float
) -> tuple[Indices, Vector]:
    """The criteria in numbers."""
    whole = np.zeros((len(criteria), quick.N_WHOLE), np.int64)
    real = np.full((len(criteria), quick.N_REAL), np.nan)
    for k, (a, window) in enumerate(zip(criteria, windows, strict=True)):
        c = a.criterion
        assert a.of is not None
        whole[k, quick.KIND] = quick.KINDS.index(c.kind)
        whole[k, quick.OF] = signals.place(a.of)
        whole[k, quick.REFERENCE] = _reference(a, signals)
        whole[k, quick.AT_REST] = c.at_rest
        whole[k, quick.MOVED] = c.at_rest and window.y.begin not in (c.from_, begin)
        real[k] = (
            np.nan if c.band is None else c.band,
            c.tolerance,
            *c.levels,
            c.reference if isinstance(c.reference, (int, float)) else np.nan,
        )
    return whole, real


def _reference(compiled: CompiledCriterion, signals: Signals) -> int:
    if compiled.reference is None:
        return quick.NONE
    if not isinstance(compiled.criterion.reference, str):
        return quick.A_NUMBER
    return signals.place(compiled.reference)


@dataclass(frozen=True, eq=False)
class ValueOnlyMesh:
    """Panels, the stretch between two breaks that each lies in, and those that are looked at.

    `views` are windows of criteria as numbers of breaks: from, to.
    """

    low: Vector
    high: Vector
    stretch: Indices  # of each panel
    breaks: Vector
    views: Indices  # (criteria, 2)

    @staticmethod
    def of(breaks: Vector, views: Indices, count: int) -> ValueOnlyMesh:
        """About `count` panels."""
        panels = Panels.of(breaks, count)
        stretch = np.searchsorted(breaks, panels.low, "right") - 1
        return ValueOnlyMesh(panels.low, panels.high, stretch, breaks, views)

    def cut(self, which: Flags) -> ValueOnlyMesh:
        """The same with some panels halved."""
        middle = (self.low + self.high)[which] / 2
        low = np.sort(np.concatenate([self.low, middle]))
        high = np.sort(np.concatenate([self.high, middle]))
        stretch = np.sort(np.concatenate([self.stretch, self.stretch[which]]))
        return ValueOnlyMesh(low, high, stretch, self.breaks, self.views)

    def moved(self, breaks: Vector) -> ValueOnlyMesh:
        """The same with its breaks elsewhere; panels keep their shares of the stretches."""
        old, k = self.breaks, self.stretch
        ratio = (np.diff(breaks) / np.diff(old))[k]
        low = breaks[k] + (self.low - old[k]) * ratio
        high = np.append(low[1:], breaks[-1])
        return ValueOnlyMesh(low, high, k, breaks, self.views)

    @cached_property
    def ranges(self) -> Indices:
        """The panels of each window: first, and one after the last."""
        return np.asarray(np.searchsorted(self.stretch, self.views), np.int64)

    @cached_property
    def broken(self) -> Flags:
        """Whether a panel ends at a break."""
        return np.append(np.diff(self.stretch) > 0, True)

    @cached_property
    def sampling(self) -> tuple[Vector, Indices]:
        """(times that rise, the place of each node among them).

        A panel that no criterion looks at is seen at its begin only.
        """
        seen = np.zeros(len(self.low), bool)
        for first, last in self.ranges:
            seen[max(first - 1, 0) : last] = True  # the one before tells whether it was at rest
        times, places = Panels(self.low, self.high, self.breaks).sampling
        places = np.where(seen[:, None], places, places[:, :1])
        wanted = np.zeros(len(times), bool)
        wanted[places] = True
        wanted[-1] = True
        number = np.cumsum(wanted) - 1
        return np.ascontiguousarray(times[wanted]), np.ascontiguousarray(number[places])


@dataclass(frozen=True, eq=False)
class RunBreaks:
    """Breaks of a run as it was at the start: those that stay, and events that may move."""

    breaks: Vector
    log: Vector  # as the engine wrote it
    events: Vector  # (events, 3): time, kind and number of the relation
    homes: Indices  # the break that each event is
    stays: Flags  # breaks that are also ends of windows or turns of inputs

    @staticmethod
    def of(fixed: Sequence[float], run: Run) -> RunBreaks:
        """From breaks that stay and the events of a run."""
        log = _events(run.log)
        times = np.sort(np.concatenate([np.asarray(fixed, float), log[:, 0]]))
        near = NEAR * (times[-1] - times[0])
        kept = times[np.append(True, np.diff(times) > near)]
        homes = np.abs(kept[None, :] - log[:, :1]).argmin(axis=1)
        stays = (np.abs(kept[:, None] - np.asarray(fixed, float)) <= near).any(axis=1)
        return RunBreaks(kept, run.log, log, homes, stays)

    def breaks_at(self, run: Run) -> Vector | None:
        """The breaks of another run: the same where nothing moved, None where events differ."""
        if run.log.size == self.log.size and (run.log == self.log).all():
            return self.breaks
        log = _events(run.log)
        if len(log) != len(self.events) or (log[:, 1:] != self.events[:, 1:]).any():
            return None
        if not len(log):
            return self.breaks
        span = float(self.breaks[-1] - self.breaks[0])
        shift = np.abs(log[:, 0] - self.breaks[self.homes])
        if shift.max() <= 1e-12 * span:
            return self.breaks
        if (shift[self.stays[self.homes]] > 1e-12 * span).any():
            return None
        breaks = self.breaks.copy()
        breaks[self.homes] = log[:, 0]
        together = np.abs(breaks[self.homes] - log[:, 0]).max() <= 1e-12 * span
        return breaks if together and (np.diff(breaks) > NEAR * span).all() else None


def _events(log: Vector) -> Vector:
    """(time, kind, number) of events of states and of time, not those of inputs and delays."""
    rows = log.reshape(-1, LOG_WIDTH)
    return rows[rows[:, 1] < 2]
