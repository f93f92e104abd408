"""Criteria of simulated trajectories: one case, simulated once, on panels that resolve it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import DesignError, SimulationError
from estimica.base.signals import Hold, Signal
from estimica.compiled.model.interface import Evaluation, Model, ModelResponse
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.compiled_criterion import (
    CompiledCriterion,
    compiled_criterion,
    measured,
    window_of,
)
from estimica.optimise.criteria.courses import Courses, drawing_times
from estimica.optimise.criteria.dense_signal import DenseSignal, motion
from estimica.optimise.criteria.measures import Window
from estimica.optimise.criteria.panels import FIRST, TO_COEFFICIENTS, Panels
from estimica.optimise.criteria.run_end import RunEnd
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.optimise.criteria.signals import (
    TIME,
    Sampled,
    SignalFormula,
    numbers,
    sampled,
)
from estimica.simulate.engine.options import Options
from estimica.simulate.engine.result import Run
from estimica.simulate.termination import Termination, termination_of

RESOLVED = 1e-8  # of a signal's range, what its last coefficients may be: the error of a run
#: of a gradient's largest value: an event that moves with a tuner is a break where the gradient
#: jumps at it. Chosen: a thousand times coarser than signals, as far as a search can tell
RESOLVED_SLOPE = 1e-5
#: the loosest relative tolerance of a simulation with gradients: extrema and crossings are found by
#: roots of derivatives, which have fewer digits than the signals
TIGHT = 1e-8
#: Rounds of cutting panels, the first of which resolve what is smooth by halves; what is left then
#: is a kink, and the rest cut by eight: panels beside it are then some 1e-5 of the run wide.
ROUNDS = 6
SMOOTH = 2
MOST_PANELS = 4000  # chosen: 36 000 nodes, each with a gradient
TIMES = ("settling-time", "rise-time")  # kinds that a window may end too early for
#: simulations that find where the model ends its run: one sees it, the next has samples up to
#: there, and one more for what rounding does to the end
CUTS = 3
MOST_STATES = 50  # that tell how events move. Chosen: each is one more signal to be sampled


@dataclass(frozen=True, eq=False)
class Experiment:
    """What a case of a design simulates."""

    case: str
    begin: float
    end: float
    inputs: Mapping[str, Signal]
    parameters: Mapping[str, float]
    start: Mapping[str, float]

    @property
    def breaks(self) -> list[float]:
        """Times at which an input may jump or turn."""
        breaks = [self.begin, self.end]
        for signal in self.inputs.values():
            if signal.hold is not Hold.SPLINE and len(signal.time) > 1:
                turns = signal.time[1:-1] if signal.hold is Hold.LINEAR else signal.time[1:]
                breaks += [float(t) for t in turns if self.begin < t < self.end]
        return breaks


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """One simulation at the nodes of panels, with its events; `end` where the model ends it."""

    panels: Panels
    samples: Sampled
    events: list[float]
    end: RunEnd | None


#: what criteria look at, by `CompiledCriterion.window`
Windows = Mapping[tuple[object, ...], Window]


class TrajectoryScorer:
    """Criteria of one case that need its trajectory, with gradients through the sensitivities.

    `start` are values of the tuners at which the panels are chosen that every evaluation begins
    with; `panels` is how many there are before that. Without `tight` simulations are as exact
    as `options` say, otherwise to at least 1e-8, as gradients deserve.
    """

    def __init__(
        self,
        model: Model,
        experiment: Experiment,
        links: ParameterMap,
        places: Sequence[CriterionInCase],
        options: Options | None = None,
        code_for: Callable[[str], TrustedCode] | None = None,
        start: Vector | None = None,
        panels: int = FIRST,
        tight: bool = True,
    ) -> None:
        self.places = tuple(places)
        self.experiment = experiment
        self.links = links
        self._model = model
        self._loose = chosen = options or Options()
        if tight:
            chosen = replace(chosen, rtol=min(chosen.rtol, TIGHT), atol=_tight(chosen.atol))
        self._options = chosen
        known = {q.name: q for q in model.quantities()}
        self.fixed = numbers(known, {**experiment.parameters, **experiment.start})
        self.asked = [compiled_criterion(p.criterion, known, links, code_for) for p in places]
        formulas = [f for a in self.asked for f in (a.of, a.reference) if f is not None]
        functions = [a.function for a in self.asked if a.function is not None]
        wanted = [n for f in formulas for n in f.variables]
        wanted += [n for f in functions for n in f.variables(model)]
        states = [q.name for q in known.values() if q.role == "state"]
        self._states = tuple(states[:MOST_STATES])  # they tell how events move
        self._held = {q.name for q in known.values() if q.role in ("memory", "logical")}
        self._outputs = tuple(dict.fromkeys([*wanted, *self._states]))
        self.formulas = list({f.text: f for f in formulas}.values())
        windows = [t for p in places for t in (p.criterion.from_, p.criterion.to) if t is not None]
        self._check_windows()
        self.breaks = [*experiment.breaks, *windows]  # those that no tuner moves
        self._first = Panels.of(self.breaks, panels)
        if start is not None:
            self._settle(start)

    def _settle(self, start: Vector) -> None:
        """Begin every evaluation with the panels that resolve the run at the start.

        Where the model ends that run by itself, others may be longer.
        """
        run = self._resolved(start, False)
        if not isinstance(run, str) and run.end is None:
            self._first = run.panels.fixed(self._first.breaks)

    def loosened(self) -> TrajectoryScorer:
        """The same with the tolerances that the study gives, for values without slopes."""
        other = copy(self)
        other._options = self._loose
        return other

    def at(
        self, tuners: Vector, *, slopes: bool, courses: Courses | None = None
    ) -> list[Measure] | str:
        """The measures of one simulation, or why it failed; its signals go to `courses`."""
        run = self._resolved(tuners, slopes)
        if isinstance(run, str):
            return run
        if courses is not None:
            _, places = run.panels.sampling
            nodes = {f.text: np.array(f.value(run.samples))[places] for f in self.formulas}
            courses.read(run.panels, nodes)
        try:
            windows = self._windows(run, slopes)
            return [self._measure(a, run, windows, slopes) for a in self.asked]
        except DesignError as error:
            if run.end is None:
                raise
            return f"{error.message}; the run was {run.end.text}"

    def _measure(
        self, asked: CompiledCriterion, run: ScoredRun, windows: Windows, slopes: bool
    ) -> Measure:
        ended = run.end.text if run.end else ""
        if asked.function is not None:
            samples = run.end.completed(run.samples) if run.end else run.samples
            return Measure(asked.function.at(samples), ended=ended)
        return replace(measured(asked, windows[asked.window], slopes), ended=ended)

    def windows(self, tuners: Vector) -> Windows | None:
        """What the criteria look at in one simulation; None where it failed or was cut short."""
        run = self._resolved(tuners, False)
        return None if isinstance(run, str) or run.end else self._windows(run, False)

    def _windows(self, run: ScoredRun, slopes: bool) -> Windows:
        moves = self._motion(run) if slopes else {}
        signals = {f.text: self._dense(f, run, moves) for f in self.formulas}
        windows: dict[tuple[object, ...], Window] = {}
        for compiled in self.asked:
            if compiled.function is None and compiled.window not in windows:
                windows[compiled.window] = window_of(compiled, signals)
        return windows

    def _dense(
        self, formula: SignalFormula, run: ScoredRun, moves: Mapping[float, Vector]
    ) -> DenseSignal:
        _, places = run.panels.sampling
        values, slopes = formula.at(run.samples)
        signal = DenseSignal.of(run.panels, values[places], slopes[places], moves)
        if run.end is None:
            return signal
        steady = TIME not in formula.formula.names and self._held.issuperset(formula.variables)
        return run.end.closing(signal, formula, steady)

    # -- simulation ------------------------------------------------------------------------------

    def _resolved(self, tuners: Vector, slopes: bool) -> ScoredRun | str:
        """A run at the nodes of panels on which every signal is a polynomial."""
        panels = self._first
        for attempt in range(ROUNDS):
            run = self._run(panels, tuners, slopes)
            if isinstance(run, str):
                return run
            panels = run.panels
            coarse, jumping = self._coarse(panels, run.samples)
            # an event is a break where it makes a kink, or a jump of the gradient; others come and
            # go with rounding, as where a body sticks. What an event cuts is looked at again when
            # it is cut
            events = panels.inside(run.events, coarse | jumping)
            coarse &= ~panels.holding(events)
            parts = 2 if attempt < SMOOTH else 8  # what is left then is a kink
            finer = panels.cut(coarse, parts) if coarse.any() else panels
            finer = finer.broken(events)
            done = finer is panels or panels.size > MOST_PANELS
            if done or (attempt == ROUNDS - 1 and np.array_equal(finer.breaks, panels.breaks)):
                return run
            panels = finer
        return self._run(panels, tuners, slopes)

    def _run(self, panels: Panels, tuners: Vector, slopes: bool) -> ScoredRun | str:
        """A run at the nodes of panels; those end where the model ends the run."""
        text = ""
        for _ in range(CUTS):
            times, _ = panels.sampling
            try:
                run = self._simulated(times, tuners, slopes)
            except SimulationError as error:
                return error.message
            end = termination_of(run)
            if end is None:
                return self._scored(panels, times, run, None, tuners) if run.ok else run.text
            if panels.ended and end.time == panels.breaks[-1]:
                return self._scored(panels, times, run, end, tuners)
            text = end.text
            for c in (a.criterion for a in self.asked):
                if c.from_ is not None and c.from_ >= end.time:
                    return f"criterion '{c.name}' looks from {c.from_:g} on, and the run was {text}"
            shorter = panels.until(end.time)
            if shorter is None:
                return f"the run was {text}, before there was anything to look at"
            panels = shorter
        return f"the run was {text}, at an instant that depends on where it is sampled"

    def _simulated(self, times: Vector, tuners: Vector, slopes: bool) -> Evaluation:
        """A run as long as the case says, whatever samples are wanted: its steps stay the same."""
        end = self.experiment.end
        grid = times if times[-1] >= end else np.append(times, end)
        return self._response(grid, tuners, self._outputs, slopes, self._options).at()

    def _scored(
        self,
        panels: Panels,
        times: Vector,
        run: Evaluation,
        end: Termination | None,
        tuners: Vector,
    ) -> ScoredRun:
        n, none = len(times), np.zeros((1, len(self._outputs), 0))
        YS = run.YS[:n] if run.YS.size else np.zeros((n, len(self._outputs), 0))
        known = self.links, tuners, self.fixed
        samples = sampled(times, self._outputs, run.Y[:n], YS, *known)
        if end is None:
            return ScoredRun(panels, samples, _events(run), None)
        slope, motion = none, np.zeros(samples.count)
        if YS.shape[2]:
            slope, motion = end.slope[None], end.motion @ self.links.at(tuners)[1]
        after = sampled(np.array([end.time]), self._outputs, end.y[None], slope, *known)
        ended = RunEnd(end.time, end.text, after, motion)
        return ScoredRun(panels, samples, _events(run), ended)

    def response(self, times: Vector, tuners: Vector, outputs: Sequence[str]) -> ModelResponse:
        """The experiment as it is simulated for values without slopes."""
        return self._response(times, tuners, outputs, False, self._options)

    def drawing_times(self, count: int) -> Vector:
        """Times from begin to end, closer together where the run at the start bends."""
        return drawing_times(self._first, count)

    def _response(
        self,
        times: Vector,
        tuners: Vector,
        outputs: Sequence[str],
        slopes: bool,
        options: Options,
    ) -> ModelResponse:
        e = self.experiment
        parameters, _ = self.links.at(tuners)
        own = dict(zip(self.links.parameters, map(float, parameters), strict=True))
        return self._model.response(
            times,
            dict(e.inputs),
            {**e.parameters, **own},
            dict(e.start),
            outputs=list(outputs),
            wrt=list(self.links.parameters) if slopes else [],
            begin=e.begin,
            options=options,
        )

    def _motion(self, run: ScoredRun) -> dict[float, Vector]:
        """How the tuners move events; breaks of inputs and windows stay where they are."""
        panels, samples = run.panels, run.samples
        fixed = self._first.breaks
        end = {} if run.end is None else {run.end.time: run.end.motion}
        events = [float(t) for t in panels.breaks if t not in fixed and t not in end]
        if not events:
            return end
        _, places = panels.sampling
        states = []
        for name in self._states:
            value, slope = samples.values[name], samples.slopes.get(name)
            if isinstance(value, np.ndarray) and slope is not None:
                states.append(DenseSignal.of(panels, value[places], slope[places]))
        return motion(states, events) | end

    def _coarse(self, panels: Panels, samples: Sampled) -> tuple[Flags, Flags]:
        """Panels on which the last coefficients of a signal or of its gradient are too large."""
        _, places = panels.sampling
        coarse, jumping = np.zeros((2, panels.size), bool)
        for formula in self.formulas:
            values, slopes = formula.at(samples)
            tail = np.abs(values[places] @ TO_COEFFICIENTS)[:, -2:].max(axis=1)
            size = float(np.abs(values).max(initial=0.0))
            allowed = max(RESOLVED * float(np.ptp(values)), self._options.rtol * size)
            coarse |= tail > allowed
            for slope in slopes.T:
                tail = np.abs(slope[places] @ TO_COEFFICIENTS)[:, -2:].max(axis=1)
                jumping |= tail > RESOLVED_SLOPE * float(np.abs(slope).max(initial=0.0))
        width = panels.high - panels.low
        wide = width > 1e-6 * (panels.breaks[-1] - panels.breaks[0])
        return coarse & wide, jumping & wide

    def _check_windows(self) -> None:
        e = self.experiment
        for place in self.places:
            c = place.criterion
            for word, t in (("from", c.from_), ("to", c.to)):
                if t is not None and not e.begin <= t <= e.end:
                    raise DesignError(
                        "O034",
                        f"criterion '{c.name}': {word} {t:g} is outside of case '{e.case}', which "
                        f"runs from {e.begin:g} to {e.end:g}",
                    )
            begin = e.begin if c.from_ is None else c.from_
            length = (e.end if c.to is None else c.to) - begin
            limited = place.role in ("at-most", "equal") and c.kind in TIMES
            if limited and place.demand > length:
                raise DesignError(
                    "O095",
                    f"criterion '{c.name}': its limit {place.demand:g} is longer than its window "
                    f"of {length:g} s in case '{e.case}', which cannot show whether it holds; "
                    f"simulate until {begin + place.demand:g} s or longer, or lower the demand",
                )


def _events(run: Evaluation) -> list[float]:
    """Times at which a model of equations switched; other models tell none."""
    events = run.events if isinstance(run, Run) else ()
    return [event.time for event in events if event.kind in ("state", "time")]


def _tight(atol: float | tuple[float, ...]) -> float | tuple[float, ...]:
    if isinstance(atol, tuple):
        return tuple(min(a, 1e-10) for a in atol)
    return min(atol, 1e-10)
