"""Optimum: from a study with criteria to its best design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from estimica.base.errors import DesignError
from estimica.base.result import Outcome, Progress
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.executor import Executor, executor_for
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.batch import AnyDesign, BatchEvaluator, builder
from estimica.optimise.criteria.indicators import IndicatorCurves, Indicators
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.methods.box import starts_of
from estimica.optimise.methods.registry import METHODS
from estimica.optimise.methods.stop import SearchEnd, Stop, patience, tolerance
from estimica.optimise.methods.verification import Verification, criteria_kinds, run_search
from estimica.optimise.optimum.result import Iterate, Optimised, search_outcome
from estimica.optimise.optimum.start_point import StartSource, with_values
from estimica.optimise.problem import Evaluation, Many, OptimisationProblem, SearchStopped
from estimica.optimise.robust import prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable, optimise_table

LIMIT = 1e-4  # of a demand, by how much a limit may be missed: as much as a search gains at least


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
    start: StartSource | None = None,
    workers: int | None = 1,
    executor: str | Executor = "local",
    progress: OnProgress | None = None,
    run: RunWriter | None = None,
    store: Path | None = None,
    **settings: object,
) -> Optimised:
    """Find the tuners that make the criteria of a study small.

    `settings` are those of the `[optimise]` table and stand before it. A fit or another design as
    `start`, or the name of its run in the `store`, gives its values: tuners start there, other
    parameters are held there. `workers` evaluate the generations of the genetic method side by
    side. Ctrl-C ends the search with the best design so far.
    """
    table = settings_of(study, settings)
    study, source = with_values(study, start, workers=workers, run=run, store=store)
    design = prepare_any_design(study, table, source)
    with side_by_side(study, design, table, source, executor, workers, run) as many:
        return search(study, design, table, progress, many)


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


def search(
    study: Study,
    design: AnyDesign,
    table: OptimiseTable,
    progress: OnProgress | None = None,
    many: Many | None = None,
) -> Optimised:
    """The search itself, on criteria that are prepared."""
    begun = perf_counter()
    start = started(study, design)
    problem = _problem(design, table, many)
    searches = _Searches(study, design, table, problem, progress)
    problem.told = searches.tell
    try:
        ended = searches.run()
        outcome = search_outcome(ended.status, ended.message)
    except SearchStopped as enough:
        outcome = search_outcome(enough.status, enough.message)
    except KeyboardInterrupt:
        outcome = search_outcome("interrupted", "the best design so far")
    return Optimised(
        study=study,
        settings=replace(table, aggregate=problem.aggregate),
        outcome=_judged(outcome, problem),
        unknowns=design.unknowns,
        start=start,
        best=start if problem.best is None else problem.best.point,
        iterates=tuple(searches.iterates),
        iterations=searches.iterations,
        evaluations=problem.evaluations,
        simulations=design.simulations,
        failures=tuple(problem.failures),
        differenced=tuple(sorted(design.differenced)),
        seconds=perf_counter() - begun,
        scenarios=getattr(design, "scenarios", ()),
    )


def _problem(design: AnyDesign, table: OptimiseTable, many: Many | None) -> OptimisationProblem:
    """What a table asks to be minimised; quasi-Newton steps need a maximum without kinks."""
    smooth = table.method == "quasi-newton" and table.aggregate == "max"
    return OptimisationProblem(
        design,
        "smooth-max" if smooth else table.aggregate,
        table.sharpness,
        table.max_evaluations,
        table.max_seconds,
        *patience(design.places, table),
        many=many if table.method == "genetic" else None,
    )


@dataclass(eq=False)
class _Searches:
    """One search from each start, then the verification; what was better is noted on the way."""

    study: Study
    design: AnyDesign
    table: OptimiseTable
    problem: OptimisationProblem
    progress: OnProgress | None
    iterates: list[Iterate] = field(default_factory=list)
    iterations: int = 0
    _start: int = 0  # the number of the one that is searched from

    def __post_init__(self) -> None:
        self._indicators = Indicators(self.study)

    def run(self) -> SearchEnd:
        """How the search for the best design ended."""
        table, problem = self.table, self.problem
        facts = METHODS[table.method]
        stop = Stop(
            tolerance(problem.patience, table), table.max_iterations, table.population, table.seed
        )
        ended = SearchEnd("failed", "no design could be simulated")
        for q in starts_of(self.design.unknowns, table):
            self._start += 1
            if isinstance(self.design.at(q, slopes=False), FailedDesign):
                continue
            before = problem.best
            this = run_search(facts.search, problem, q, stop)
            self.iterations += this.iterations
            if problem.best is not before:  # the outcome is that of the best design
                ended = this
        verification = Verification(
            facts.search,
            problem,
            stop,
            criteria_kinds(self.design.places),
            facts.gradients,
            starts=self._start,
            iterations=self.iterations,
        )
        ended = verification.confirmed(ended)
        self.iterations = ended.iterations
        return ended

    def tell(self, count: int, terms: Evaluation, cost: float) -> None:
        """A design was simulated."""
        best = self.problem.best
        assert best is not None
        if best is terms:
            self.iterates.append(Iterate(count, cost, terms.violation, terms.point))
        if self.progress is None:
            return
        point, lowest = best.point, self.problem.best_cost
        self.progress(
            DesignProgress(
                count,
                self.table.max_evaluations or 0,
                text=_worth(point, lowest),
                start=self._start,
                starts=self.table.starts,
                cost=lowest,
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


def _judged(outcome: Outcome, problem: OptimisationProblem) -> Outcome:
    """A search that was cut short where a limit does not hold has not found a design."""
    best = problem.best
    if outcome.ok and best is not None and best.violation > LIMIT:
        worst = f"a limit is still missed by {best.violation:.2g} of its demand"
        return search_outcome("not met", f"{outcome.message}; {worst}")
    return outcome
