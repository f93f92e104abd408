"""Optimiser: from a study with criteria to its best design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from estimica.base.errors import DesignError
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
from estimica.optimise.optimum.result import Iterate, Optimised, Outcome
from estimica.optimise.optimum.start_point import StartSource, with_values
from estimica.optimise.problem import Evaluation, Many, OptimisationProblem, SearchStopped
from estimica.optimise.robust import prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable, optimise_table

LIMIT = 1e-4  # of a demand: by how much a limit may be missed


def _no_curves() -> list[IndicatorCurves]:
    return []


@dataclass(frozen=True, eq=False)
class Progress:
    """How far the search is; `best` is the best design so far.

    `indicators()` simulates the indicator plots of that design: call it now and then.
    """

    evaluations: int
    start: int
    starts: int
    cost: float
    best: DesignPoint
    indicators: Callable[[], list[IndicatorCurves]] = field(default=_no_curves)

    @property
    def text(self) -> str:
        """What the best design so far is worth; the penalty of a search is no such number."""
        open_ = [s for s in self.best.scores if not s.reached and s.place.role == "minimise"]
        if not open_:
            return f"best {self.cost:.6g}"
        return f"best: {open_[0].place.label} {open_[0].place.open_word}"


OnProgress = Callable[[Progress], None]


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
    facts = METHODS[table.method]
    smooth = table.method == "quasi-newton" and table.aggregate == "max"
    programme = OptimisationProblem(
        design,
        "smooth-max" if smooth else table.aggregate,
        table.sharpness,
        table.max_evaluations,
        table.max_seconds,
        *patience(design.places, table),
        many=many if table.method == "genetic" else None,
    )
    iterates: list[Iterate] = []
    number = 0
    drawn = Indicators(study)

    def tell(count: int, terms: Evaluation, cost: float) -> None:
        best = programme.best
        assert best is not None
        if best is terms:
            iterates.append(Iterate(count, cost, terms.violation, terms.point))
        if progress is not None:
            point, lowest = best.point, programme.best_cost
            told = Progress(
                count, number, table.starts, lowest, point, lambda: drawn.at(point.tuners)
            )
            progress(told)

    programme.told = tell
    stop = Stop(
        tolerance(programme.patience, table), table.max_iterations, table.population, table.seed
    )
    outcome = Outcome("failed", "no design could be simulated")
    made = 0
    try:
        ended = SearchEnd("failed", "no design could be simulated")
        for q in starts_of(design.unknowns, table):
            number += 1
            if isinstance(design.at(q, slopes=False), FailedDesign):
                continue
            before = programme.best
            this = run_search(facts.search, programme, q, stop)
            made += this.iterations
            if programme.best is not before:  # the outcome is that of the best design
                ended = this
        verification = Verification(
            facts.search,
            programme,
            stop,
            criteria_kinds(design.places),
            facts.gradients,
            starts=number,
            iterations=made,
        )
        ended = verification.confirmed(ended)
        made = ended.iterations
        outcome = Outcome(ended.status, ended.message)
    except SearchStopped as enough:
        outcome = Outcome(enough.status, enough.message)
    except KeyboardInterrupt:
        outcome = Outcome("interrupted", "the best design so far")
    best = start if programme.best is None else programme.best.point
    return Optimised(
        study=study,
        settings=replace(table, aggregate=programme.aggregate),
        outcome=_judged(outcome, programme),
        unknowns=design.unknowns,
        start=start,
        best=best,
        iterates=tuple(iterates),
        iterations=made,
        evaluations=programme.evaluations,
        simulations=design.simulations,
        failures=tuple(programme.failures),
        differenced=tuple(sorted(design.differenced)),
        seconds=perf_counter() - begun,
        scenarios=getattr(design, "scenarios", ()),
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


def _judged(outcome: Outcome, programme: OptimisationProblem) -> Outcome:
    """A search that was cut short where a limit does not hold has not found a design."""
    best = programme.best
    if outcome.ok and best is not None and best.violation > LIMIT:
        worst = f"a limit is still missed by {best.violation:.2g} of its demand"
        return Outcome("not met", f"{outcome.message}; {worst}")
    return outcome
