"""Joint starts: searches from several starts that advance together.

Each that comes to an optimum is ended by the single search from there, so that its end is judged,
worded and kept as that of any other; each that does not is searched alone from its start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.estimate.batch.fits import BatchFits, MemberFits
from estimica.estimate.batch.suitability import SQUARES, why_alone
from estimica.estimate.criteria.scoring import Criterion
from estimica.estimate.objective.cost import Objective, Point
from estimica.estimate.objective.residuals import Evaluations, ResidualFunction
from estimica.estimate.run.one_start import find, limits_of
from estimica.estimate.search.run import Iteration, SearchResult, Status
from estimica.estimate.setup import Setup

#: starts from which on they are searched together without being asked for. Compiling the boiler of
#: the examples for vectors takes half a second, as long as 40 of its searches one by one
WORTH = 32


@dataclass(frozen=True, eq=False)
class JointStarts:
    """The cases of a study, and what searches many starts of them."""

    setup: Setup
    cases: ResidualFunction
    fits: BatchFits


@dataclass(frozen=True, eq=False)
class JointEnd:
    """Where a start of a batch ended; none where it has to be searched alone."""

    searched: SearchResult | None
    evaluations: Evaluations


def joint_starts(
    setup: Setup, cases: ResidualFunction, threads: int
) -> tuple[JointStarts | None, str]:
    """(what searches the starts of a study together, why it is not what was asked for); none where
    they are searched one by one."""
    study = setup.study
    asked = study.execute.backend
    if asked == "scalar" or (asked == "auto" and study.estimation.starts < WORTH):
        return None, ""
    if not isinstance(cases.wanted, Criterion):
        return None, "" if asked == "auto" else SQUARES
    objective = Objective(cases.counted_anew(), cases.wanted)
    reason = why_alone(objective, study.estimation)
    if reason:
        return None, "" if asked == "auto" else reason
    fits = BatchFits(objective, limits_of(study.estimation), 0.0, asked, threads)
    reason = "" if asked == "auto" else fits.reason
    return (None if fits.backend == "scalar" else JointStarts(setup, cases, fits)), reason


def searched_together(joint: JointStarts, starts: Sequence[Vector]) -> list[JointEnd]:
    """The ends of all starts, in their order; after Ctrl-C only the best one, as interrupted."""
    begun = perf_counter()
    ways: list[list[Iteration]] = [[] for _ in starts]

    def note(who: Indices, costs: Vector, values: Vector, sizes: Vector) -> None:
        for k, cost, value, size in zip(who, costs, values, sizes, strict=True):
            row = (len(ways[k]), float(cost), value.copy(), float(size), 0, perf_counter() - begun)
            ways[k].append(Iteration(*row))

    found = joint.fits.fit(np.array(starts), on_point=note)
    if found.found.interrupted:
        return _interrupted(joint, found, ways)
    return [_ended(joint, found, k, ways[k]) for k in range(len(starts))]


def _ended(joint: JointStarts, found: MemberFits, k: int, way: list[Iteration]) -> JointEnd:
    """The single search from where a start ended, behind the way there."""
    cases = len(joint.cases.predictors)
    count = int(found.found.evaluations[k]) * cases
    spent = Evaluations(count, count)
    if not found.proven[k]:
        return JointEnd(None, spent)
    own = joint.cases.counted_anew()
    searched = find(joint.setup, own, found.found.q[k])
    rows = (*way, *searched.iterations[1:])
    numbered = tuple(replace(one, number=n) for n, one in enumerate(rows))
    return JointEnd(replace(searched, iterations=numbered), spent + own.evaluations)


def _interrupted(
    joint: JointStarts, found: MemberFits, ways: list[list[Iteration]]
) -> list[JointEnd]:
    costs = np.where(np.isfinite(found.found.cost), found.found.cost, np.inf)
    best = int(np.argmin(costs))
    ends = [JointEnd(None, Evaluations()) for _ in ways]
    point = joint.fits.objective.at(found.found.q[best]) if np.isfinite(costs[best]) else None
    if isinstance(point, Point):
        searched = SearchResult(
            point,
            Status.INTERRUPTED,
            "interrupted; these are the best values so far",
            tuple(ways[best]),
        )
        ends[best] = JointEnd(searched, joint.fits.objective.evaluations)
    return ends
