"""Value-only scores: criteria of many runs of one case, where nobody asks for gradients.

An experiment is set up once; a run is then one simulation with the study's own tolerances, sampled
where criteria look, and one call of compiled code. Where anything is not as it was at the start
(other events, a reference that rests elsewhere, panels that do not resolve a signal even when they
are cut), the run is scored again in the way of the search, with the same tolerances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import EstimicaError, SimulationError
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.compiled_criterion import CompiledCriterion
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.measures import Window
from estimica.optimise.criteria.panels import FIRST
from estimica.optimise.criteria.population import Population
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.optimise.criteria.signals import TIME, SignalFormula, sampled
from estimica.optimise.criteria.trajectory import TrajectoryScorer
from estimica.optimise.criteria.value_only import measures as quick
from estimica.optimise.criteria.value_only.mesh import RunBreaks, ValueOnlyMesh
from estimica.simulate.engine.layout import LOG_WIDTH
from estimica.simulate.engine.result import LOG_SIZE, NO_LOG, Run
from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import EnsembleRun
from estimica.simulate.response import Response

MARGIN = 0.03  # of what is allowed: panels that are chosen at the start do elsewhere too
SETTLING = 12  # rounds that choose panels
NO_GPU = "designs are not scored on a graphics card"
ROUNDS = 4  # simulations of one run before it is scored in the way of the search


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

    def of_all(self, times: Vector, Y: Vector, numbers: Mapping[str, float | Vector]) -> Vector:
        """(members, samples, signals); `numbers` are those of each member, or the same of all."""
        if self.plain:
            return Y
        many, n, _ = Y.shape
        signals = np.empty((many, n, len(self.formulas)))
        for k, formula in enumerate(self.formulas):
            known: dict[str, float | Vector] = {}
            for name in formula.formula.names:
                if name in self.outputs:
                    known[name] = Y[:, :, self.outputs.index(name)].ravel()
                elif name == TIME:
                    known[name] = np.tile(times, many)
                else:
                    own = numbers[name]
                    known[name] = np.repeat(own, n) if isinstance(own, np.ndarray) else own
            with np.errstate(all="ignore"):
                values = np.asarray(formula.formula.at(known), float)
            signals[:, :, k] = np.broadcast_to(values, many * n).reshape(many, n)
        return signals

    def numbers(self, tuners: Vector, parameters: Vector) -> dict[str, float | Vector]:
        """What formulas may name: numbers that are fixed, and columns of the others."""
        if self.plain:
            return {}
        return {
            **self.fixed,
            **dict(zip(self.links.tuners, tuners.T, strict=True)),
            **dict(zip(self.links.parameters, parameters.T, strict=True)),
        }


@dataclass(frozen=True, eq=False)
class Variant:
    """The same experiment with other constants."""

    values: Vector  # of the independent constants, what tuners set included
    signals: Signals


class ValueOnlyScorer:
    """The criteria of one case by their values; `exact` scores what is not quick."""

    def __init__(
        self,
        exact: TrajectoryScorer,
        response: Response,
        parameters: Indices,
        signals: Signals,
        table: tuple[Indices, Vector],
        backend: str,
    ) -> None:
        self.places: Sequence[CriterionInCase] = exact.places
        self.again = 0  # runs that were scored in the way of the search
        self._exact = exact
        self._response = response
        self._parameters = parameters  # places of what the tuners set
        self._signals = signals
        self._whole, self._real = table
        self._rtol = response.options.rtol
        # criteria look between samples, and at other times for each case: not on a GPU
        self._ensemble = Ensemble(response, "vector" if backend == "cuda" else backend)
        self._refusal = NO_GPU if backend == "cuda" else ""
        self.work = 0  # what one run costs: steps of all its states
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
        self.work = run.statistics.steps * max(len(run.x), 1)
        return True

    @property
    def numbers(self) -> int:
        """How many numbers the signals of one run are."""
        return len(self._mesh.sampling[0]) * len(self._signals.outputs)

    @property
    def backend(self) -> str:
        """What runs many members at once."""
        return self._ensemble.backend

    @property
    def reason(self) -> str:
        """Why it is not the backend that was asked for, in words; empty where it is."""
        return "; ".join(filter(None, (self._refusal, self._ensemble.reason)))

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The measures of many runs; their signals go to `courses`, one for each where there are
        any.

        Left are those that fail, whose events are others or elsewhere than at the start, or that
        panels do not resolve: they are for `at`.
        """
        return self.of_members(*self.members(tuners), courses)

    def members(
        self, tuners: Vector, variant: Variant | None = None
    ) -> tuple[Vector, dict[str, float | Vector]]:
        """Constants of the model (designs, constants), and the numbers that formulas name."""
        own = variant or Variant(self._response.values, self._signals)
        parameters = own.signals.links.at_many(tuners)[0]
        constants = np.tile(own.values, (len(tuners), 1))
        constants[:, self._parameters] = parameters
        return constants, own.signals.numbers(tuners, parameters)

    def variant(self, other: TrajectoryScorer, start: Vector) -> Variant | None:
        """What another scorer of the same criteria has in place of these constants.

        None where members of both cannot be run together, since more differs than constants.
        """
        ends = np.array([other.experiment.begin, other.experiment.end])
        mine = self._response
        try:
            own = other.response(ends, start, self._signals.outputs)
        except EstimicaError:
            return None  # it tells what is wrong when it is asked
        same = (
            isinstance(own, Response)
            and own.configuration is mine.configuration
            and (own.begin, own.options) == (mine.begin, mine.options)
            and other.breaks == self._exact.breaks
            and [p.criterion for p in other.places] == [p.criterion for p in self.places]
            and all(
                np.array_equal(getattr(own.pieces, n), getattr(mine.pieces, n))
                for n in ("starts", "values", "slopes")
            )
        )
        if not same or not isinstance(own, Response):
            return None
        signals = replace(self._signals, links=other.links, fixed=other.fixed)
        return Variant(own.values, signals)

    def of_members(
        self,
        constants: Vector,
        numbers: Mapping[str, float | Vector],
        courses: Sequence[Courses] = (),
    ) -> Population:
        """The same for values of all constants of the model, and of all that formulas name.

        Those that need finer panels are run again together, on panels that do for all of them.
        """
        many, mesh = len(constants), self._mesh
        found = Population.empty(many, len(self._whole))
        open_ = np.arange(many)
        for _ in range(ROUNDS):
            times = mesh.sampling[0]
            some = numbers if len(open_) == many else _some(numbers, open_)
            wanted = np.union1d(times, courses[0].times) if courses else times
            run = self._ensemble.at_values(constants[open_], wanted)
            if courses:
                self._keep(run, wanted, some, [courses[k] for k in open_.tolist()])
                run = replace(run, Y=run.Y[:, np.searchsorted(wanted, times)])
            tried = run.ok & self._unmoved(run)
            status, values, least, coarse = self._measured_all(mesh, run, tried, some)
            taken = status == quick.TAKEN
            found.values[open_[taken]], found.least[open_[taken]] = values[taken], least[taken]
            found.left[open_[taken]] = False
            found.scalar[open_] = run.alone
            rest = status == quick.COARSE
            if not rest.any():
                break
            open_, mesh = open_[rest], mesh.cut(coarse[rest].any(axis=0))
        return found

    def _unmoved(self, run: EnsembleRun) -> Flags:
        """Members whose events are where those of the start are."""
        breaks = self._course.breaks
        if not run.logs:
            return np.full(len(run.Y), self._course.breaks_at(NO_LOG) is breaks)
        logs = (run.logs.get(k, NO_LOG) for k in range(len(run.Y)))
        return np.array([self._course.breaks_at(log) is breaks for log in logs], bool)

    def _measured_all(
        self,
        mesh: ValueOnlyMesh,
        run: EnsembleRun,
        tried: Flags,
        numbers: Mapping[str, float | Vector],
    ) -> tuple[Indices, Vector, Vector, Flags]:
        times, places = mesh.sampling
        z = np.ascontiguousarray(self._signals.of_all(times, run.Y, numbers))
        many, criteria = len(z), len(self._whole)
        status = np.full(many, quick.UNTRIED, np.int64)
        values, least = np.full((2, many, criteria), np.nan)
        coarse = np.zeros((many, len(mesh.low)), np.bool_)
        quick.measure_all(
            z, tried, places, mesh.low, mesh.high, mesh.broken, mesh.ranges, self._whole,
            self._real, self._rtol, coarse, values, least, status,
        )  # fmt: skip
        return status, values, least, coarse

    def _keep(
        self,
        run: EnsembleRun,
        times: Vector,
        numbers: Mapping[str, float | Vector],
        courses: Sequence[Courses],
    ) -> None:
        """Leave the signals of every member in its courses."""
        drawn = courses[0].times
        signals = self._signals.of_all(drawn, run.Y[:, np.searchsorted(times, drawn)], numbers)
        for own, one in zip(courses, signals, strict=True):
            for formula in self._signals.formulas:
                own.signals[formula.text] = one[:, self._signals.place(formula)].copy()

    def _quick(self, tuners: Vector, courses: Courses | None) -> list[Measure] | None:
        mesh = self._mesh
        for _ in range(ROUNDS):
            run = self._run(tuners, mesh.sampling[0], courses)
            if run is None:
                return None
            breaks = self._course.breaks_at(run.log)
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


def _some(numbers: Mapping[str, float | Vector], which: Indices) -> dict[str, float | Vector]:
    """The numbers of some members."""
    return {n: v[which] if isinstance(v, np.ndarray) else v for n, v in numbers.items()}


def value_only_scorer(
    exact: TrajectoryScorer, start: Vector, backend: str = "auto", *, tight: bool = False
) -> ValueOnlyScorer | TrajectoryScorer:
    """The quick way to score a case; the exact one where there is no other.

    Runs are as exact as the study's tolerances say, or with `tight` as those of a search.
    """
    exact = exact if tight else exact.loosened()
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
    scorer = ValueOnlyScorer(exact, response, parameters, signals, table, backend)
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
