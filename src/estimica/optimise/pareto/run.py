"""Pareto fronts: the designs in which no criterion can be had better without another worse.

Each criterion counts by its largest value over its demand in all cases. `epsilon` minimises one of
them while the others are limited, from step to step of the limits, with gradients; `nsga2` breeds
a population towards the whole front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError
from estimica.base.public.calls import told, without_none
from estimica.base.result import Outcome
from estimica.base.suggest import did_you_mean
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.execute.workers.executor import Executor
from estimica.optimise.assess.start_point import StartSource, with_values
from estimica.optimise.batch import AnyDesign
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.methods.box import box_around
from estimica.optimise.methods.genetic import first_generation
from estimica.optimise.methods.pymoo import library, several_objectives
from estimica.optimise.methods.stop import Stop
from estimica.optimise.optimum.contradiction import contradiction
from estimica.optimise.optimum.result import search_outcome
from estimica.optimise.optimum.run import settings_of, side_by_side, started
from estimica.optimise.pareto.epsilon_constraints import EpsilonSearch
from estimica.optimise.pareto.result import Front, FrontDesign, not_dominated, well_spread
from estimica.optimise.pareto.role_view import RoleView, largest_by_criterion, reaches
from estimica.optimise.problem import FEASIBLE, Evaluation, Many, OptimisationProblem, SearchStopped
from estimica.optimise.robust import prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import (
    Aggregate,
    OptimiseTable,
    ParetoTable,
    RobustTable,
)

#: candidates before the dominated ones are dropped: each design is compared with all others, which
#: takes 0.2 s for so many
KEPT = 2000


@dataclass(frozen=True)
class FrontProgress:
    """How far a front is: designs that were simulated, and those on the front so far."""

    evaluations: int
    found: int
    share: float

    @property
    def words(self) -> str:
        """How far it is, in words."""
        return f"{self.evaluations} designs, {self.found} on the front"


OnFront = Callable[[FrontProgress], None]


def pareto(
    study: Study,
    criteria: Sequence[str] = (),
    *,
    method: Literal["nsga2", "epsilon"] | None = None,
    points: int | None = None,
    aggregate: Aggregate | None = None,
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
    progress: OnFront | bool | None = None,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> Front:
    """The front of two or three criteria, by default of all that are made small.

    `method` is 'epsilon' or 'nsga2'. The others are settings of the `[optimise]` table and stand
    before it; its `pareto` holds criteria, method and points. Ctrl-C ends the search with the front
    so far.
    """
    settings = without_none(
        aggregate=aggregate,
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
    table = settings_of(study, settings)
    own = asdict(table.pareto or ParetoTable())
    given_here = {"criteria": tuple(criteria) or None, "method": method, "points": points}
    given = own | {n: v for n, v in given_here.items() if v is not None}
    table = settings_of(study, {**settings, "pareto": given})
    assert table.pareto is not None
    names = front_criteria(study, table.pareto.criteria)
    scatter = table.robust is not None
    study, source = with_values(
        study, start, workers=workers, run=run, store=store, scatter=scatter
    )
    design = prepare_any_design(study, table, source)
    started(study, design)
    with side_by_side(study, design, table, source, executor, workers, run) as many:
        return _searched(study, design, table, names, told(progress), many, run or NoRunWriter())


def _searched(
    study: Study,
    design: AnyDesign,
    table: OptimiseTable,
    names: tuple[str, ...],
    progress: OnFront | None,
    many: Many,
    run: RunWriter,
) -> Front:
    begun = perf_counter()
    assert table.pareto is not None
    search: EpsilonSearch | _GeneticFront
    if table.pareto.method == "epsilon":
        search = EpsilonSearch(design, names, table, run)
    else:
        search = _GeneticFront(design, names, table, many)
    outcome = search_outcome("done", "the whole front was searched")
    try:
        search.go(lambda share: _tell(progress, search, share))
    except SearchStopped as enough:
        outcome = search_outcome(enough.status, enough.message)
    except KeyboardInterrupt:
        outcome = search_outcome("interrupted", "the front so far")
    reached = [p for p in search.points if reaches(p, names)]
    left_out = len(search.points) - len(reached)
    designs = _front_designs(reached, names, table.pareto.points)
    if not designs and outcome.ok:
        outcome = _nothing_found(design, search, left_out)
    elif outcome.ok and search.starts > 1:
        message = f"{outcome.message}, its ends from {search.starts} starts"
        outcome = search_outcome(outcome.status, message)
    return Front(
        study=study,
        settings=table,
        criteria=names,
        outcome=outcome,
        unknowns=design.unknowns,
        designs=designs,
        evaluations=search.evaluations,
        simulations=design.simulations,
        failures=tuple(search.failures),
        seconds=perf_counter() - begun,
        left_out=left_out,
        worked_by=design.worked_by(),
    )


def _tell(progress: OnFront | None, search: EpsilonSearch | _GeneticFront, share: float) -> None:
    if progress:
        progress(FrontProgress(search.evaluations, len(search.points), share))


def _front_designs(
    points: Sequence[DesignPoint], names: Sequence[str], most: int
) -> tuple[FrontDesign, ...]:
    """Those that no other is better than, at most so many, by their first criterion."""
    weighted = np.array([largest_by_criterion(p, names) for p in points])
    kept = not_dominated(weighted.reshape(len(points), len(names)))
    if kept:
        kept = [kept[k] for k in well_spread(weighted[kept], most)]
    designs = [FrontDesign(points[k], weighted[k]) for k in kept]
    return tuple(sorted(designs, key=lambda d: tuple(d.weighted)))


def _nothing_found(
    design: AnyDesign, search: EpsilonSearch | _GeneticFront, left_out: int
) -> Outcome:
    """Why a front is empty; limits cannot be met only where that is proven."""
    if left_out:
        message = f"in none of {left_out} designs are all criteria of the front reached"
        return search_outcome("failed", f"{message}; simulate longer, or start elsewhere")
    reason = contradiction(design)
    if reason is not None:
        return search_outcome("infeasible", f"the limits cannot be met: {reason}")
    tried = f"in any of {search.evaluations} designs"
    if search.starts:
        tried = "from 1 start" if search.starts == 1 else f"from {search.starts} starts"
    return search_outcome(
        "not met",
        f"the limits were not met {tried}; ease a demand, widen the bounds of the tuners, or start "
        "elsewhere",
    )


class _GeneticFront:
    """NSGA-II of pymoo (K. Deb and others, IEEE Trans. Evolutionary Computation 6, 2002).

    Every design that keeps to the limits is a candidate.
    """

    def __init__(
        self, design: AnyDesign, names: tuple[str, ...], table: OptimiseTable, many: Many
    ) -> None:
        self.points: list[DesignPoint] = []
        self.starts = 0  # a population has none of its own
        self._names, self._table = names, table
        traded = RoleView(design, names)
        self._problem = OptimisationProblem(
            traded,
            max_evaluations=table.max_evaluations,
            max_seconds=table.max_seconds,
            many=traded.many(many),
        )

    @property
    def evaluations(self) -> int:
        """Designs that were simulated."""
        return self._problem.evaluations

    @property
    def failures(self) -> list[FailedDesign]:
        """Designs that could not be."""
        return self._problem.failures

    def go(self, tell: Callable[[float], None]) -> None:
        """All generations; `tell` hears of every design which share of them is done."""
        library()
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.optimize import minimize

        table, start = self._table, self._problem.unknowns.start
        most = table.population * table.max_iterations

        def told(count: int, terms: Evaluation, cost: float) -> None:
            self._note(terms)
            tell(min(count / most, 1.0))

        self._problem.told = told
        self._problem.at(start)
        box = box_around(self._problem.unknowns, start)
        stop = Stop(population=table.population, seed=table.seed)
        minimize(
            several_objectives(self._problem, box, len(self._names), self._objectives),
            NSGA2(pop_size=table.population, sampling=first_generation(box, start, stop)),
            ("n_gen", table.max_iterations),
            seed=table.seed,
            verbose=False,
        )

    def _objectives(self, terms: Evaluation) -> Vector:
        return largest_by_criterion(terms.point, self._names)

    def _note(self, terms: Evaluation) -> None:
        if terms.violation <= FEASIBLE:
            self.points.append(terms.point)
        if len(self.points) > KEPT:
            values = np.array([largest_by_criterion(p, self._names) for p in self.points])
            self.points = [self.points[k] for k in not_dominated(values)]


def front_criteria(study: Study, wanted: Sequence[str]) -> tuple[str, ...]:
    """The criteria of a front; each is known and is not a limit."""
    small = [c.name for c in study.active_criteria if c.role == "minimise"]
    for name in wanted:
        if name not in [c.name for c in study.active_criteria]:
            known = [c.name for c in study.active_criteria]
            raise DesignError(
                "O088", f"pareto: there is no criterion '{name}'{did_you_mean(name, known)}"
            )
    names = tuple(dict.fromkeys(wanted)) or tuple(small)
    if len(names) not in (2, 3):
        raise DesignError(
            "O089",
            f"pareto: a front has two or three criteria, not {len(names)}; name them with "
            f"criteria = {list(small[:2]) if len(small) > 1 else ['a', 'b']}",
        )
    return names
