"""Optimiser: from a study with criteria to its best design."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.base.errors import DesignError
from estimica.optimise.box import box_around
from estimica.optimise.design import Design, prepare_design
from estimica.optimise.methods import METHODS
from estimica.optimise.optimised import Iterate, Optimised, Outcome
from estimica.optimise.programme import Enough, Programme, Settled, Terms
from estimica.optimise.score import DesignPoint, FailedDesign
from estimica.optimise.stop import Ended, Stop
from estimica.study.optimise_table import OptimiseTable, optimise_table
from estimica.study.study import Study

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Progress:
    """How far the search is; `best` is the best design so far."""

    evaluations: int
    start: int
    starts: int
    cost: float
    best: DesignPoint


OnProgress = Callable[[Progress], None]


def optimise(study: Study, *, progress: OnProgress | None = None, **settings: object) -> Optimised:
    """Find the tuners that make the criteria of a study small.

    `settings` are those of the `[optimise]` table and stand before it. Ctrl-C ends the search with
    the best design so far.
    """
    table = study.tables.get("optimise", {})
    own: Mapping[str, Any] = table if isinstance(table, dict) else {}
    return search(study, prepare_design(study), optimise_table(own, settings), progress)


def search(
    study: Study, design: Design, table: OptimiseTable, progress: OnProgress | None = None
) -> Optimised:
    """The search itself, on criteria that are prepared."""
    begun = perf_counter()
    unknowns = design.unknowns
    if not len(unknowns):
        raise DesignError("O013", f"study '{study.name}' has no active tuner; add one to [tune]")
    start = design.at(unknowns.start, slopes=False)
    if isinstance(start, FailedDesign):
        where = f"case '{start.case}': " if start.case else ""
        raise DesignError(
            "O014", f"the design cannot be simulated at its start: {where}{start.message}"
        )
    facts = METHODS[table.method]
    smooth = table.method == "quasi-newton" and table.aggregate == "max"
    programme = Programme(
        design,
        "smooth-max" if smooth else table.aggregate,
        table.sharpness,
        table.max_evaluations,
        table.max_seconds,
        *_patience(design, table),
    )
    iterates: list[Iterate] = []
    number = 0

    def tell(count: int, terms: Terms, cost: float) -> None:
        best = programme.best
        assert best is not None
        if best is terms:
            iterates.append(Iterate(count, cost, terms.violation, terms.point))
        if progress is not None:
            progress(Progress(count, number, table.starts, programme.best_cost, best.point))

    programme.told = tell
    stop = Stop(_tolerance(programme, table), table.max_iterations, table.population, table.seed)
    outcome = Outcome("failed", "no design could be simulated")
    made = 0
    try:
        for q in _starts(design, table):
            number += 1
            if isinstance(design.at(q, slopes=False), FailedDesign):
                continue
            programme.begin()
            try:
                ended = facts.search(programme, q, stop)
            except Settled as rested:
                ended = Ended(rested.status, rested.message)
            made += ended.iterations
            outcome = Outcome(ended.status, ended.message)
    except Enough as enough:
        outcome = Outcome(enough.status, enough.message)
    except KeyboardInterrupt:
        outcome = Outcome("interrupted", "the best design so far")
    best = start if programme.best is None else programme.best.point
    return Optimised(
        study=study,
        settings=replace(table, aggregate=programme.aggregate),
        outcome=_judged(outcome, programme),
        unknowns=unknowns,
        start=start,
        best=best,
        iterates=tuple(iterates),
        iterations=made,
        evaluations=programme.evaluations,
        simulations=design.simulations,
        failures=tuple(programme.failures),
        differenced=tuple(sorted(design.differenced)),
        seconds=perf_counter() - begun,
    )


def _judged(outcome: Outcome, programme: Programme) -> Outcome:
    """A search that ends where a limit does not hold has not found a design."""
    best = programme.best
    if outcome.status == "converged" and best is not None and best.violation > LIMIT:
        worst = f"a limit is missed by {best.violation:.2g} of its demand"
        return Outcome("infeasible", f"{worst}; ease a demand, or start elsewhere")
    return outcome


LIMIT = 1e-4  # of a demand
GAIN = 1e-4  # relative, that simulated criteria must gain
FINE, COARSE = 1e-8, 1e-6  # tolerances of formulas, and of what is simulated
PATIENCE = 12  # designs within which they must


def _tolerance(programme: Programme, table: OptimiseTable) -> float:
    if table.tolerance is not None:
        return table.tolerance
    return FINE if programme.patience is None else COARSE


def _patience(design: Design, table: OptimiseTable) -> tuple[int | None, float]:
    """When nothing is gained any more: not for formulas, nor where a tolerance is asked for."""
    simulated = any(p.criterion.kind != "value" for p in design.places)
    if table.tolerance is not None or not simulated or table.method not in ("sqp", "quasi-newton"):
        return None, 0.0
    return PATIENCE, GAIN


def _starts(design: Design, table: OptimiseTable) -> list[Vector]:
    """The given start, then seeded ones within the bounds."""
    unknowns = design.unknowns
    first = unknowns.start
    box = box_around(unknowns, first)
    rng = np.random.default_rng(table.seed)
    drawn = [box.coordinates(rng.random(len(first))) for _ in range(table.starts - 1)]
    return [first, *drawn]
