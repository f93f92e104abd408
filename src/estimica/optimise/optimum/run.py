"""Optimum: from a study with criteria to its best design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from estimica.base.errors import DesignError
from estimica.base.public.calls import told, without_none
from estimica.base.result import Outcome, Progress
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.executor import Executor, executor_for
from estimica.optimise.assess.start_point import StartSource, with_values
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.batch import AnyDesign, BatchEvaluator, builder
from estimica.optimise.criteria.indicators import IndicatorCurves, Indicators
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.methods.verification import not_met
from estimica.optimise.optimum.contradiction import contradiction
from estimica.optimise.optimum.one_start import LIMIT, Iterate, StartEnd, StartSearch
from estimica.optimise.optimum.result import Optimised, search_outcome
from estimica.optimise.optimum.starts import SearchedStarts, Starts, asked_starts
from estimica.optimise.problem import FEASIBLE, Many, OptimisationProblem, rank
from estimica.optimise.robust import prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import (
    Aggregate,
    DesignMethod,
    OptimiseTable,
    ParetoTable,
    RobustTable,
    optimise_table,
)


def _no_curves() -> list[IndicatorCurves]:
    return []


@dataclass(frozen=True, eq=False, kw_only=True)
class DesignProgress(Progress):
    """How far the search is: `done` designs of at most `count`, 0 where there is no such limit.

    `best` is the best design so far. `indicators()` simulates the indicator plots of that design:
    call it now and then.
    """

    start: int
    starts: int
    cost: float
    best: DesignPoint
    indicators: Callable[[], list[IndicatorCurves]] = field(default=_no_curves)

    @property
    def words(self) -> str:
        """How far it is, in words."""
        return f"{self.done} designs, {self.text}"

    @property
    def share(self) -> float | None:
        """The share of the starts that have ended; None before the first has.

        How many designs a search needs is not known before: a limit of them says nothing of it.
        """
        ended = self.start - 1
        return ended / self.starts if ended else None

    @property
    def evaluations(self) -> int:
        """Designs that were simulated."""
        return self.done


def _worth(best: DesignPoint, cost: float) -> str:
    """What the best design so far is worth; the penalty of a search is no such number."""
    open_ = [s for s in best.scores if not s.reached and s.place.role == "minimise"]
    if not open_:
        return f"best {cost:.6g}"
    return f"best: {open_[0].place.label} {open_[0].place.open_word}"


OnProgress = Callable[[DesignProgress], None]


def optimise(
    study: Study,
    *,
    aggregate: Aggregate | None = None,
    method: DesignMethod | None = None,
    sharpness: float | None = None,
    max_iterations: int | None = None,
    max_evaluations: int | None = None,
    tolerance: float | None = None,
    max_seconds: float | None = None,
    starts: int | None = None,
    population: int | None = None,
    seed: int | None = None,
    robust: RobustTable | Mapping[str, object] | None = None,
    pareto: ParetoTable | Mapping[str, object] | None = None,
    start: StartSource | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | bool | None = None,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> Optimised:
    """Find the tuners that make the criteria of a study small.

    Settings that are given stand before those of the `[optimise]` table. A fit or another design as
    `start`, or the name of its run in the `store`, gives its values: tuners start there, other
    parameters are held there. By default there are several `starts`, unless a search takes long;
    the result's `agreement` says how many have ended at the same optimum. `workers` share them,
    and the generations of the genetic method. Ctrl-C ends the search with the best design so far.
    """
    given = without_none(
        aggregate=aggregate,
        method=method,
        sharpness=sharpness,
        max_iterations=max_iterations,
        max_evaluations=max_evaluations,
        tolerance=tolerance,
        max_seconds=max_seconds,
        starts=starts,
        population=population,
        seed=seed,
        robust=robust,
        pareto=pareto,
    )
    table = settings_of(study, given)
    scatter = table.robust is not None
    study, source = with_values(
        study, start, workers=workers, run=run, store=store, scatter=scatter
    )
    design = prepare_any_design(study, table, source)
    writer = run or NoRunWriter()
    with executor_for(executor, workers) as hands:
        many = BatchEvaluator(design, builder(study, table, source), hands, writer)
        searching = StartSearch(design, table, many)
        return _searched(Starts(searching, hands, writer, study, source), told(progress))


def settings_of(study: Study, settings: Mapping[str, object]) -> OptimiseTable:
    """What the `[optimise]` table says, and what stands before it."""
    table = study.tables.get("optimise", {})
    own: Mapping[str, Any] = table if isinstance(table, dict) else {}
    return optimise_table(own, settings)


@contextmanager
def side_by_side(
    study: Study,
    design: AnyDesign,
    table: OptimiseTable,
    source: TunerDistribution | None,
    executor: str | Executor,
    workers: int | None,
    run: RunWriter | None,
) -> Iterator[Many]:
    """What evaluates generations, through an executor and with checkpoints."""
    with executor_for(executor, workers) as hands:
        yield BatchEvaluator(design, builder(study, table, source), hands, run or NoRunWriter())


def _searched(starts: Starts, progress: OnProgress | None) -> Optimised:
    """The search itself, on criteria that are prepared."""
    begun = perf_counter()
    study, design, table = starts.study, starts.search.design, starts.search.table
    start = started(study, design)
    simulations = design.simulations
    telling = _Telling(study, table, progress)
    starts.search.told, starts.on_end = telling.tell, telling.note
    searched = starts.searched()
    best, made = searched.best, searched.made
    aggregate = starts.search.problem(None, 0.0).aggregate
    return Optimised(
        study=study,
        settings=replace(table, aggregate=aggregate),
        outcome=_outcome(searched, design),
        unknowns=design.unknowns,
        start=start,
        best=start if best.point is None else best.point,
        iterates=_iterates(made),
        iterations=sum(end.iterations for end in made),
        evaluations=sum(end.evaluations for end in made),
        simulations=simulations + sum(end.simulations for end in made),
        failures=tuple(f for end in made for f in end.failures),
        failed=sum(end.failed for end in made),
        searched=searched,
        differenced=tuple(sorted({name for end in made for name in end.differenced})),
        seconds=perf_counter() - begun,
        scenarios=getattr(design, "scenarios", ()),
        worked_by=design.worked_by(),
    )


def _outcome(searched: SearchedStarts, design: AnyDesign) -> Outcome:
    """That of the best design; limits that are missed cannot be met only where that is proven."""
    best = searched.best
    count = sum(end.searched for end in searched.made)
    if best.violation > FEASIBLE and best.point is not None:
        reason = contradiction(design)
        if reason is not None:
            return search_outcome("infeasible", f"the limits cannot be met: {reason}")
    if searched.interrupted:
        message = "the best design so far"
        if searched.asked > 1 and len(searched.made) > 1:
            message += f", from {len(searched.made)} of {searched.asked} starts"
        return search_outcome("interrupted", message)
    if best.status == "not met":
        return search_outcome("not met", not_met(best.missed, count))
    message = best.message
    if best.status == "evaluation limit":
        message = f"{sum(end.evaluations for end in searched.made)} designs were simulated"
    outcome = search_outcome(best.status, message)
    if outcome.ok and best.violation > LIMIT:  # cut short
        return search_outcome("not met", f"{best.message}; {not_met(best.missed, count)}")
    return outcome


def _iterates(ends: tuple[StartEnd, ...]) -> tuple[Iterate, ...]:
    """The designs that were better than all before them, as if the starts came one by one."""
    iterates: list[Iterate] = []
    before = 0
    for end in ends:
        for one in end.iterates:
            if not iterates or one.rank < iterates[-1].rank:
                iterates.append(replace(one, evaluation=before + one.evaluation))
        before += end.evaluations
    return tuple(iterates)


@dataclass(eq=False)
class _Telling:
    """Tells of every design that is simulated here, and of every start that has come to its end."""

    study: Study
    table: OptimiseTable
    progress: OnProgress | None
    _ended: list[StartEnd] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._indicators = Indicators(self.study)

    def tell(self, count: int, problem: OptimisationProblem, is_best: bool) -> None:
        """A design was simulated."""
        own = problem.best
        if self.progress is None or own is None:
            return
        point, cost, best = own.point, problem.best_cost, self._best
        if best is not None and best.point and best.rank <= rank(own.violation, cost):
            point, cost = best.point, best.cost
        self._told(sum(end.evaluations for end in self._ended) + count, point, cost)

    def note(self, end: StartEnd) -> None:
        """A start has come to its end, here or elsewhere."""
        self._ended.append(end)
        best = self._best
        if self.progress is not None and end.number > 1 and best is not None and best.point:
            self._told(sum(e.evaluations for e in self._ended), best.point, best.cost)

    @property
    def _best(self) -> StartEnd | None:
        return min(self._ended, key=lambda end: end.rank, default=None)

    def _told(self, count: int, point: DesignPoint, cost: float) -> None:
        assert self.progress is not None
        starts = asked_starts(self.table)
        self.progress(
            DesignProgress(
                count,
                self.table.max_evaluations or 0,
                text=_worth(point, cost),
                start=min(len(self._ended) + 1, starts),
                starts=starts,
                cost=cost,
                best=point,
                indicators=lambda: self._indicators.at(point.tuners),
            )
        )


def started(study: Study, design: AnyDesign) -> DesignPoint:
    """The design that a search begins with; one that cannot be simulated is an error."""
    if not len(design.unknowns):
        raise DesignError("O013", f"study '{study.name}' has no active tuner; add one to [tune]")
    start = design.at(design.unknowns.start, slopes=False)
    if isinstance(start, FailedDesign):
        where = f"case '{start.case}': " if start.case else ""
        raise DesignError(
            "O014", f"the design cannot be simulated at its start: {where}{start.message}"
        )
    return start
