"""Free-form inputs: the course of one or several inputs that tells most about named tuners.

R. K. Mehra, Optimal input signals for parameter estimation in dynamic systems, IEEE Trans. Autom.
Control 19 (1974); V. V. Fedorov, Theory of optimal experiments (1972). The input is piecewise
constant within limits of amplitude, rate, energy and outputs; the information of the experiment at
given noise is raised by IPOPT with exact gradients, from several starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.result import Progress
from estimica.base.signals import Signal
from estimica.base.suggest import did_you_mean
from estimica.experiment.design.problem import DesignProblem, design_problem
from estimica.experiment.free_input.derivatives.function import (
    TracedFunctionModel,
    trace_function_model,
)
from estimica.experiment.free_input.derivatives.transcription import transcription_for
from estimica.experiment.free_input.problem.criterion import ExperimentCriterion, Name, covariance
from estimica.experiment.free_input.problem.limits import KEPT, Limits, limits_of
from estimica.experiment.free_input.problem.plan import Information, Plan, nodes
from estimica.experiment.free_input.problem.search import Scenario, Search, SearchResult
from estimica.experiment.free_input.result import Attempt, Expected, FreeInput
from estimica.experiment.free_input.starts import (
    Reference,
    best_of_class,
    best_wave,
    candidates,
    energies,
    pieced,
    polished,
    reference_of,
    within,
)
from estimica.simulate.function.model import FunctionModel
from estimica.study.study import Study
from estimica.study.tables.input_design import InputDesignTable, values_of

__all__ = ["FreeInput", "SearchProgress", "free_input"]
MOST_SCENARIOS = 64  # chosen: all corners of six uncertain tuners; each costs as much as one design
#: Times that limits of outputs are drawn in, where they are passed between nodes, by 1.2 times as
#: much as they were passed. Chosen: each is one more search.
TIGHTENED = 4
WIDEST = 0.4  # of a range, by which its limits can be drawn in: at 0.5 nothing would be left


def free_input(
    study: Study,
    table: InputDesignTable,
    *,
    values: Mapping[str, float] | None = None,
    sigma: Mapping[str, float] | None = None,
    reference: Mapping[str, Vector] | None = None,
    iterations: int = 200,
    seconds: float = math.inf,
    progress: Callable[[SearchProgress], None] | None = None,
) -> FreeInput:
    """The input that tells most about the tuners of a study, within the limits of `table`.

    `values` and `sigma` stand in for the tuners' values and the noise of the study; `reference` are
    samples of the designed inputs to compare with, by default the best of the class of signals in
    `table`, or the best square wave over frequency and amplitude. Ctrl-C ends the
    search, and the best input so far is handed back.
    """
    begun = perf_counter()
    work = FreeInputDesign.of(study, table, values, sigma)
    held = work.reference(reference, table)
    if table.energy == "class":
        work = work.with_energy(held)
    terms = SearchBudget(table.starts, table.seed, iterations, begun + seconds)
    summary = work.searched(held, terms, progress or _quiet)
    return work.concluded(held, summary, perf_counter() - begun)


def _quiet(progress: SearchProgress) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True)
class SearchProgress(Progress):
    """Which start is searched from, its iteration, its criterion and the best so far."""

    iteration: int
    criterion: float
    best: float

    @property
    def share(self) -> float | None:
        """Starts that have ended; None where there is one."""
        return (self.done - 1) / self.count if self.count > 1 else None

    @property
    def words(self) -> str:
        """How far it is, in words."""
        start = f"start {self.done} of {self.count}, " if self.count > 1 else ""
        return f"{start}{self.text}"

    @property
    def start(self) -> int:
        """Which start is searched: what is done, by its former name."""
        return self.done


@dataclass(frozen=True, eq=False)
class Best:
    """Free numbers that keep all limits, and their criterion by the engine."""

    u: Vector
    value: float


@dataclass(frozen=True, eq=False)
class FreeInputDesign:
    """A plan with its criterion, limits and scenarios."""

    plan: Plan
    measure: ExperimentCriterion
    limits: Limits
    scenarios: tuple[Vector, ...]  # values of all unknowns
    criterion: str
    worst: bool
    followed: tuple[
        TracedFunctionModel | None, ...
    ] = ()  # functions, where symbols go through them

    @classmethod
    def of(
        cls,
        study: Study,
        table: InputDesignTable,
        values: Mapping[str, float] | None,
        sigma: Mapping[str, float] | None,
    ) -> FreeInputDesign:
        """What a table asks for."""
        problem = design_problem(study, table, values, sigma)
        if problem.sigma is None:
            raise ExperimentError(
                "W208",
                "a free-form input is designed for a known noise; give sigma = … or "
                "sigma = { output = … } in [input_design]",
            )
        plan = Plan(problem, _stamps(problem, table.pieces), problem.sigma)
        name: Name = "E" if table.criterion == "S_min" else table.criterion
        measure = ExperimentCriterion(name, np.array(problem.counted, int), 1 / problem.weights)
        limits, scenarios = limits_of(table, plan), _scenarios(problem, table)
        followed = tuple(_followed(plan, limits, v) for v in scenarios)
        return cls(plan, measure, limits, scenarios, table.criterion, table.worst, followed)

    # -- what the engine says --------------------------------------------------------------------

    def score(self, signals: Mapping[str, Signal]) -> float:
        """The criterion over all scenarios; infinite where there is none."""
        criteria = []
        for values, followed in zip(self.scenarios, self.followed, strict=True):
            rows = followed.rows_of(signals) if followed else self.plan.rows(signals, values)
            if isinstance(rows, str) or not np.isfinite(rows).all():
                return math.inf
            criteria.append(self.measure.value(Information(self.plan, values).of(rows)))
        return float(np.max(criteria) if self.worst else np.mean(criteria))

    def passed(self, signals: Mapping[str, Signal]) -> float:
        """By how much a limit is passed in any scenario, relative."""
        own = self.limits.passed(self.plan, signals)
        if own > KEPT or not self.limits.names:
            return own
        outputs = [self.limits.output_passed(self.plan, signals, v) for v in self.scenarios]
        return max(own, *outputs)

    def kept(self, signals: Mapping[str, Signal]) -> bool:
        """Whether all limits are kept."""
        return self.passed(signals) <= KEPT

    # -- what it is compared with ----------------------------------------------------------------

    def reference(self, given: Mapping[str, Vector] | None, table: InputDesignTable) -> Reference:
        """The given signal, the best of the class that the table has, or the best square wave."""
        if given is None and table.vary:
            return best_of_class(self.plan, table, self.score, self.kept)
        if given is None:
            return best_wave(self.plan, self.limits, self.score, self.kept)
        for name in self.plan.designed:
            if name not in given or np.shape(given[name]) != self.plan.times.shape:
                raise ExperimentError(
                    "W209",
                    f"reference: give {len(self.plan.times)} samples of input '{name}'",
                )
        own = {n: np.asarray(given[n], np.float64) for n in self.plan.designed}
        return reference_of(self.plan, "the given input", own, self.score)

    def with_energy(self, reference: Reference) -> FreeInputDesign:
        """The same with the energy of the reference as its limit."""
        spent = energies(self.plan, reference.signals, self.limits)
        return replace(self, limits=self.limits.with_energy(spent))

    # -- the search ------------------------------------------------------------------------------

    def searched(
        self,
        reference: Reference,
        terms: SearchBudget,
        progress: Callable[[SearchProgress], None],
    ) -> SearchSummary:
        """Search from several starts, the best kept."""
        trial = within(self.plan, self.limits, pieced(self.plan, reference.signals))
        scenarios: list[Scenario] = []
        for v, followed in zip(self.scenarios, self.followed, strict=True):
            like = scenarios[0].transcription if scenarios else None
            how = followed or transcription_for(self.plan, self.limits, v, trial, like)
            scenarios.append(Scenario(v, how, Information(self.plan, v)))
        search = Search(self.plan, self.measure, scenarios, self.limits, self.worst)
        best = self._first(trial)
        starts = self._starts(search, reference, terms)
        attempts: list[Attempt] = []
        interrupted = False
        for number, (name, start) in enumerate(starts, start=1):

            def told(
                iteration: int, value: float, number: int = number, least: float = best.value
            ) -> None:
                progress(
                    SearchProgress(
                        number,
                        len(starts),
                        text=f"iteration {iteration}",
                        iteration=iteration,
                        criterion=value,
                        best=min(value, least),
                    )
                )

            try:
                searched, one = self._one(search, start, best, terms, told)
            except KeyboardInterrupt:
                interrupted = True
                break
            attempts.append(Attempt(name, one.value, searched.iterations, searched.ended))
            best = min(best, one, key=lambda b: b.value)
            if searched.interrupted:
                interrupted = True
                break
            if perf_counter() > terms.until:
                break
        return SearchSummary(best, tuple(attempts), interrupted, search)

    def _first(self, trial: Vector) -> Best:
        """The reference as pieces, or rest, where nothing better is known."""
        if self.kept(self.plan.signals(trial)):
            return Best(trial, self.score(self.plan.signals(trial)))
        rest = np.repeat(self.limits.middle, len(self.plan.stamps))
        return Best(within(self.plan, self.limits, rest), math.inf)

    def _starts(
        self, search: Search, reference: Reference, terms: SearchBudget
    ) -> list[tuple[str, Vector]]:
        """The best candidates, at first one of each kind."""
        kinds: dict[str, list[tuple[float, str, Vector]]] = {}
        for name, u in candidates(self.plan, self.limits, reference, terms.seed):
            value = search.value(u)
            if math.isfinite(value):
                kinds.setdefault(name.split()[0], []).append((value, name, u))
        every = [sorted(k, key=lambda c: c[0]) for k in kinds.values()]
        firsts = sorted((k[0] for k in every), key=lambda c: c[0])
        rest = sorted((c for k in every for c in k[1:]), key=lambda c: c[0])
        if not firsts:
            raise ExperimentError(
                "W210",
                f"no input that was tried tells the tuners of '{self.plan.bench.name}' apart; "
                "fix one of them, or measure more outputs",
            )
        return [(name, u) for _, name, u in (firsts + rest)[: terms.starts]]

    def _one(
        self,
        search: Search,
        start: Vector,
        best: Best,
        terms: SearchBudget,
        on_iteration: Callable[[int, float], None],
    ) -> tuple[SearchResult, Best]:
        """One search, its limits kept at the engine's outputs too."""
        searched, margin, begun = None, 0.0, start
        for _ in range(1 + TIGHTENED):
            left = terms.until - perf_counter()
            searched = search.solve(
                begun,
                margin=margin,
                iterations=terms.iterations,
                seconds=left,
                on_iteration=on_iteration,
            )
            u = within(self.plan, self.limits, searched.u)
            over = self.passed(self.plan.signals(u))
            margin, begun = margin + 1.2 * over, u
            if over <= KEPT or searched.interrupted or left <= 0 or margin > WIDEST:
                break
        assert searched is not None
        if over <= KEPT and not searched.interrupted:
            u = polished(search, u, lambda v: self.kept(self.plan.signals(v)), terms.until)
        if over > KEPT:
            u = self._drawn(best.u, u)
        signals = self.plan.signals(u)
        return searched, Best(u, self.score(signals) if self.kept(signals) else math.inf)

    def _drawn(self, kept: Vector, u: Vector) -> Vector:
        """As far from a signal that keeps the limits to `u` as they allow."""
        low, high = 0.0, 1.0
        for _ in range(12):  # halvings: 1/4096 of the way is given away at most
            share = (low + high) / 2
            if self.kept(self.plan.signals(kept + share * (u - kept))):
                low = share
            else:
                high = share
        return kept + low * (u - kept)

    # -- the conclusion --------------------------------------------------------------------------

    def concluded(self, reference: Reference, summary: SearchSummary, seconds: float) -> FreeInput:
        """The result, every number of it from the engine."""
        b = self.plan.bench
        if not math.isfinite(summary.best.value):
            raise ExperimentError(
                "W211",
                "no input was found that keeps all limits and tells the tuners apart; "
                "widen the limits, or count fewer tuners",
            )
        signals = self.plan.signals(summary.best.u)
        variables = tuple(dict.fromkeys([*b.outputs, *self.limits.names]))
        seen = nodes(self.plan, 1)
        scenarios = tuple(
            {u.label: float(v) for u, v in zip(b.unknowns, values, strict=True)}
            for values in self.scenarios
        )
        return FreeInput(
            study=b.name,
            designed=b.designed,
            units=b.units | {u.label: u.unit for u in b.unknowns},
            times=b.times,
            stamps=self.plan.stamps,
            names=tuple(u.label for u in b.unknowns),
            values=b.values,
            counted=b.counted,
            criterion=self.criterion,
            worst=self.worst,
            scenarios=scenarios,
            limits=self.limits,
            shown=variables,
            seen=seen,
            design=self._expected("free-form", signals, variables, seen),
            reference=self._expected(reference.text, reference.signals, variables, seen),
            attempts=summary.attempts,
            way=summary.search.scenarios[0].transcription.way,
            difference=self._difference(summary),
            passed=max(self.passed(signals), 0.0),
            interrupted=summary.interrupted,
            seconds=seconds,
        )

    def _expected(
        self, text: str, signals: Mapping[str, Signal], variables: Sequence[str], seen: Vector
    ) -> Expected:
        values = self.plan.bench.values
        courses = self.plan.courses(signals, variables, seen, values)
        if isinstance(courses, str):
            courses = np.full((len(seen), len(variables)), np.nan)
        return Expected(
            text,
            signals,
            self.score(signals),
            self._stderr(self.plan.rows(signals, values), values),
            energies(self.plan, signals, self.limits),
            courses,
        )

    def _stderr(self, rows: Vector | str | None, values: Vector) -> Vector:
        if rows is None or isinstance(rows, str):
            return np.full(len(values), math.inf)
        C = covariance(Information(self.plan, values).of(rows))
        if C is None:
            return np.full(len(values), math.inf)
        stderr: Vector = np.sqrt(np.diag(C)) * self.plan.sizes
        return stderr

    def _difference(self, summary: SearchSummary) -> float:
        """Largest relative difference of standard errors between the search and the engine."""
        off = [0.0]
        for s in summary.search.scenarios:
            own = self._stderr(s.transcription.rows(summary.best.u), s.values)
            true = self._stderr(
                self.plan.rows(self.plan.signals(summary.best.u), s.values), s.values
            )
            off.append(float(np.max(np.abs(own / true - 1))))
        return max(off)


@dataclass(frozen=True)
class SearchBudget:
    """How long and from where a search goes."""

    starts: int
    seed: int
    iterations: int
    until: float  # on the clock of perf_counter


@dataclass(frozen=True, eq=False)
class SearchSummary:
    """What all searches together found."""

    best: Best
    attempts: tuple[Attempt, ...]
    interrupted: bool
    search: Search


def _followed(plan: Plan, limits: Limits, values: Vector) -> TracedFunctionModel | None:
    """A function followed by symbols, tried with a random input."""
    if not isinstance(plan.model, FunctionModel):
        return None
    random = np.random.default_rng(1).uniform(-1, 1, (len(plan.designed), len(plan.stamps)))
    trial = limits.middle[:, None] + limits.reach[:, None] * random
    return trace_function_model(plan, values, limits.names, trial=trial.ravel())


def _stamps(problem: DesignProblem, pieces: int | None) -> Vector:
    """Where pieces begin: at samples, as evenly as these allow."""
    N = len(problem.times)
    count = N if pieces is None else pieces
    if count > N:
        raise ExperimentError(
            "W212", f"{count} pieces for {N} samples; an input changes at samples, give fewer"
        )
    places = np.round(np.linspace(0, N, count + 1)[:-1]).astype(int)
    return np.asarray(problem.times[places], np.float64)


def _scenarios(problem: DesignProblem, table: InputDesignTable) -> tuple[Vector, ...]:
    """Every combination of the values of robust tuners; the nominal values where there are none."""
    tuners = problem.links.tuners
    for name in table.robust:
        if name not in tuners:
            hint = did_you_mean(name, tuners) or f" (tuners: {', '.join(tuners)})"
            raise ExperimentError("W213", f"robust: there is no active tuner '{name}'{hint}")
    grids = {n: values_of(g) for n, g in table.robust.items()}
    count = math.prod(len(g) for g in grids.values())
    if count > MOST_SCENARIOS:
        raise ExperimentError(
            "W214",
            f"robust: {count} combinations of values are more than {MOST_SCENARIOS}; "
            "give fewer values, or fewer tuners",
        )
    scenarios = []
    for combination in product(*grids.values()):
        values = problem.values.copy()
        for name, value in zip(grids, combination, strict=True):
            values[tuners.index(name)] = value
        scenarios.append(values)
    return tuple(scenarios)
