"""OneStart: the search from one start, verified by polls, and what it led to.

What it led to travels between processes, and into a run, as plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter, process_time, time
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.assess.tuner_distribution import TunerDistribution
from estimica.optimise.batch import AnyDesign, point_from_dict, point_to_dict
from estimica.optimise.criteria.score import DesignPoint, FailedDesign
from estimica.optimise.methods.box import drawn_start
from estimica.optimise.methods.registry import METHODS
from estimica.optimise.methods.stop import SearchEnd, Stop, patience, tolerance
from estimica.optimise.methods.verification import (
    LOOKS,
    Verification,
    criteria_kinds,
    missed_most,
    run_search,
)
from estimica.optimise.problem import (
    FEASIBLE,
    Evaluation,
    Many,
    OptimisationProblem,
    SearchStopped,
    rank,
)
from estimica.optimise.robust import prepare_any_design
from estimica.study.study import Study
from estimica.study.tables.optimisation import OptimiseTable

#: draws in place of a start that cannot be simulated: where nine places of ten fail, seven starts
#: of ten are found all the same (1 - 0.9¹¹), and a draw costs one simulation that fails
DRAWS = 10
GIVEN_UP, NO_DESIGN = "given up", "failed"
#: of a demand, by how much a limit may be missed: as much as a search gains at least
LIMIT = 1e-4
WAITING = 10.0  # times as long on the clock as computing here: it is not the search that is long
FAILURES = 1000  # of one start that are kept with their tuners; more make a run of the store large


@dataclass(frozen=True, eq=False)
class Iterate:
    """A design that was better than all before it."""

    evaluation: int  # which of the simulated designs
    cost: float
    violation: float
    point: DesignPoint

    @property
    def rank(self) -> tuple[float, float]:
        """What designs are compared by."""
        return rank(self.violation, self.cost)


@dataclass(frozen=True, eq=False)
class StartEnd:
    """What one start led to."""

    number: int  # from 1; the first is that of the study
    start: Vector  # coordinates
    status: str
    message: str
    point: DesignPoint | None = None  # none where nothing could be simulated, or it was given up
    cost: float = float("inf")
    violation: float = float("inf")
    start_cost: float = float("inf")
    missed: str = ""  # which limit, by how much
    iterations: int = 0
    evaluations: int = 0
    simulations: int = 0
    failed: int = 0  # designs that could not be simulated
    failures: tuple[FailedDesign, ...] = ()  # the first of them
    differenced: tuple[str, ...] = ()
    iterates: tuple[Iterate, ...] = ()
    searched: int = 1  # starts: this one, and those that the verification has looked for
    drawn_again: int = 0  # times, since it could not be simulated
    seconds: float = 0.0
    effort: float = 0.0  # s, see `search_effort`

    @property
    def rank(self) -> tuple[float, float]:
        """What designs are compared by."""
        return rank(self.violation, self.cost)


def search_effort(busy: float, seconds: float) -> float:
    """How long a search takes, in s, of which `busy` were spent computing here.

    A busy computer, or code that is compiled for the first time, makes no search long; waiting for
    a model that computes elsewhere does.
    """
    return max(busy, seconds / WAITING)


class StartInterrupted(KeyboardInterrupt):
    """Ctrl-C within a search of this process, with the best of that search so far."""

    def __init__(self, end: StartEnd) -> None:
        super().__init__()
        self.end = end


#: hears of every design: which it is of this start, the problem, whether it is the best of it
OnDesign = Callable[[int, OptimisationProblem, bool], None]


@dataclass(frozen=True)
class StartLimits:
    """What one start may take."""

    most: int | None = None  # designs
    seconds: float = float("inf")
    until: float = float("inf")  # on the clock on the wall, which all processes share
    budget: float = float("inf")  # s that starts of this process take before others are given up
    #: the rank of a design; iterates that are no better are not kept
    worth: tuple[float, float] = (float("inf"), float("inf"))


@dataclass(eq=False)
class StartSearch:
    """Searches from one start after the other, on one design."""

    design: AnyDesign
    table: OptimiseTable
    many: Many | None = None  # evaluates the generations of the genetic method
    told: OnDesign | None = None
    spent: float = 0.0  # s, on starts after the first
    _iterates: list[Iterate] = field(default_factory=list)

    def problem(self, most: int | None, seconds: float) -> OptimisationProblem:
        """What a table asks to be minimised; quasi-Newton steps need a maximum without kinks."""
        table = self.table
        smooth = table.method == "quasi-newton" and table.aggregate == "max"
        return OptimisationProblem(
            self.design,
            "smooth-max" if smooth else table.aggregate,
            table.sharpness,
            most,
            seconds,
            *patience(self.design.places, table),
            many=self.many if table.method == "genetic" else None,
        )

    def ended(self, number: int, q: Vector, limits: StartLimits) -> StartEnd:
        """What the start leads to; only the first looks for further starts by itself."""
        if self.spent > limits.budget:
            return StartEnd(number, q, GIVEN_UP, "the searches before it took long")
        begun, busy, simulations = perf_counter(), process_time(), self.design.simulations
        seconds = min(limits.seconds, limits.until - time())
        problem = self.problem(limits.most, seconds)
        self._iterates = []
        problem.told = partial(self._tell, problem)
        search = _Search(self, problem, number)
        interrupted = False
        try:
            ended = search.run(q)
        except SearchStopped as enough:
            ended = SearchEnd(enough.status, enough.message, search.iterations)
        except KeyboardInterrupt:
            interrupted = True
            message = "the best design so far"
            ended = SearchEnd("interrupted", message, search.iterations)
        taken = perf_counter() - begun
        effort = search_effort(process_time() - busy, taken)
        self.spent += effort if number > 1 else 0.0
        best = problem.best
        end = StartEnd(
            number,
            search.start,
            ended.status,
            ended.message,
            start_cost=search.start_cost,
            iterations=ended.iterations,
            evaluations=problem.evaluations,
            simulations=self.design.simulations - simulations,
            failed=len(problem.failures),
            failures=tuple(problem.failures[:FAILURES]),
            differenced=tuple(sorted(self.design.differenced)),
            iterates=tuple(i for i in self._iterates if i.rank < limits.worth),
            searched=search.starts,
            drawn_again=search.drawn,
            seconds=taken,
            effort=effort,
        )
        if best is not None:
            missed = missed_most(best) if best.violation > FEASIBLE else ""
            end = replace(
                end,
                point=best.point,
                cost=problem.best_cost,
                violation=best.violation,
                missed=missed,
            )
        if interrupted:
            raise StartInterrupted(end)
        return end

    def _tell(
        self, problem: OptimisationProblem, count: int, terms: Evaluation, cost: float
    ) -> None:
        is_best = problem.best is terms
        if is_best:
            self._iterates.append(Iterate(count, cost, terms.violation, terms.point))
        if self.told is not None:
            self.told(count, problem, is_best)


@dataclass(eq=False)
class _Search:
    """The method, then the verification."""

    of: StartSearch
    problem: OptimisationProblem
    number: int
    start: Vector = field(default_factory=lambda: np.zeros(0))
    start_cost: float = float("inf")
    starts: int = 1
    drawn: int = 0
    iterations: int = 0

    def run(self, q: Vector) -> SearchEnd:
        table, problem, design = self.of.table, self.problem, self.of.design
        facts = METHODS[table.method]
        stop = Stop(
            tolerance(problem.patience, table), table.max_iterations, table.population, table.seed
        )
        problem.begin()
        self.start = q
        terms = problem.at(q)
        while terms is None and self.number > 1 and self.drawn < DRAWS:
            self.drawn += 1
            self.start = drawn_start(design.unknowns, table.seed, self.number, self.drawn)
            terms = problem.at(self.start)
        if terms is None:
            why = problem.failures[-1].message if problem.failures else "it has no value"
            return SearchEnd(NO_DESIGN, f"the start cannot be simulated: {why}")
        self.start_cost = problem.cost(terms)
        ended = run_search(facts.search, problem, self.start, stop)
        self.iterations = ended.iterations
        first = self.number == 1
        verification = Verification(
            facts.search,
            problem,
            stop,
            criteria_kinds(design.places),
            facts.gradients,
            far=first,
            iterations=self.iterations,
            looks=LOOKS if first else 0,
        )
        try:
            return verification.confirmed(ended)
        finally:
            self.iterations, self.starts = verification.iterations, verification.starts


def build_search(
    study: Study, table: OptimiseTable, source: TunerDistribution | None
) -> StartSearch:
    """What searches in a worker process."""
    return StartSearch(prepare_any_design(study, table, source), table)


def search_start(search: StartSearch, item: Mapping[str, Any]) -> dict[str, Any]:
    """One start as a piece of a run: plain values in, plain values out."""
    limits = StartLimits(**{**item["limits"], "worth": tuple(item["limits"]["worth"])})
    return end_to_dict(search.ended(item["number"], np.array(item["q"], float), limits))


def end_to_dict(end: StartEnd) -> dict[str, Any]:
    """The end of a start as the store keeps it."""
    plain = {
        name: getattr(end, name)
        for name in (
            "number", "status", "message", "cost", "violation", "start_cost", "missed",
            "iterations", "evaluations", "simulations", "failed", "searched", "drawn_again",
            "seconds", "effort",
        )
    }  # fmt: skip
    return plain | {
        "start": end.start.tolist(),
        "point": None if end.point is None else _noted(end.point),
        "failures": [point_to_dict(f) for f in end.failures],
        "differenced": list(end.differenced),
        "iterates": [
            {
                "evaluation": i.evaluation,
                "cost": i.cost,
                "violation": i.violation,
                "point": _noted(i.point),
            }
            for i in end.iterates
        ],
    }


def end_from_dict(design: AnyDesign, note: Mapping[str, Any]) -> StartEnd:
    """The end that was noted; the same numbers."""
    iterates = tuple(
        Iterate(i["evaluation"], i["cost"], i["violation"], _point(design, i["point"]))
        for i in note["iterates"]
    )
    failures = tuple(FailedDesign(f["case"], f["failed"], f["tuners"]) for f in note["failures"])
    return StartEnd(
        **{
            **note,
            "start": np.array(note["start"], float),
            "point": None if note["point"] is None else _point(design, note["point"]),
            "failures": failures,
            "differenced": tuple(note["differenced"]),
            "iterates": iterates,
        }
    )


def _noted(point: DesignPoint) -> dict[str, Any]:
    return {"q": point.q.tolist(), "scores": point_to_dict(point)}


def _point(design: AnyDesign, note: Mapping[str, Any]) -> DesignPoint:
    point = point_from_dict(design, np.array(note["q"], float), note["scores"])
    assert isinstance(point, DesignPoint)
    return point
