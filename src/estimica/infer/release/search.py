"""Search for a candidate: from the optimum of the null model, and from a few starts around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.estimate.conclusion.likelihood import information
from estimica.estimate.objective.cost import Objective, scored
from estimica.estimate.run.multistart import start_points
from estimica.estimate.run.one_start import limits_of
from estimica.estimate.search.methods import METHODS
from estimica.estimate.search.run import Status, search
from estimica.estimate.setup import Setup, prepare
from estimica.estimate.unknowns import Unknowns
from estimica.infer.likelihood_ratio.partial_fit import FreeState, with_noise
from estimica.infer.release.order import Group
from estimica.study.estimation import LIKELIHOODS
from estimica.study.study import Study

SearchContext = tuple[Setup, Objective]
#: costs that differ by less are of one optimum, seen through the simulation's own error; for `oe`
#: relative to the null model's cost. Chosen: 1e-3 of −2 log L moves a risk of 5 % by 3e-5
ALIKE_ML, ALIKE_OE = 1e-3, 1e-6


@dataclass(frozen=True, eq=False)
class Job:
    """One search: where it begins, what stays there, and noise variances that are given."""

    candidate: int
    start: int
    q: Vector
    held: Flags
    held_noise: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class SearchEnding:
    """Where one search ended; it travels between processes and into the store."""

    q: tuple[float, ...]  # empty where even the start failed
    cost: float
    aic: float
    aicc: float
    bic: float
    noise: Mapping[str, float]
    status: str
    message: str
    simulations: int = 0
    failed: int = 0

    @property
    def found(self) -> bool:
        """Whether the model could be simulated at the start at least."""
        return math.isfinite(self.cost)

    def stored(self) -> dict[str, object]:
        """As plain values."""
        return asdict(self)


def search_ending(stored: Mapping[str, Any]) -> SearchEnding:
    """The end of a search from what was stored."""
    # runs of earlier versions have no AICc
    return SearchEnding(**{"aicc": math.nan, **stored, "q": tuple(stored["q"])})


def search_context(study: Study) -> SearchContext:
    """What every search needs."""
    setup = prepare(study)
    return setup, scored(setup.calibration(), {})  # robust losses are refused


def jobs(
    objective: Objective,
    null: FreeState,
    groups: Sequence[Group],
    *,
    starts: int,
    seed: Sequence[int],
    silent: Flags | None = None,
) -> list[Job]:
    """The searches of all candidates of a step, the null model's optimum first for each.

    `silent` are noise levels that are none there: nothing leads away from none, and their searches
    begin at a level that is felt, too.
    """
    searches = []
    n = len(objective.unknowns)
    for c, group in enumerate(groups):
        held = null.held(n)
        held[list(group.unknowns)] = False
        noise = {o: v for o, v in null.held_noise.items() if o not in group.noise}
        drawn = int(np.random.SeedSequence([*seed, c]).generate_state(1)[0])
        begun = _starts(objective.unknowns, null.q, group, starts, drawn, silent)
        for s, q in enumerate(begun):
            searches.append(Job(c, s, q, held, noise))
    return searches


def _starts(
    unknowns: Unknowns, q: Vector, group: Group, count: int, seed: int, silent: Flags | None
) -> list[Vector]:
    chosen = list(group.unknowns)
    if not chosen:
        return [q]
    values = unknowns.values(q)
    items = unknowns.items
    none = [silent is not None and bool(silent[k]) for k in chosen]
    own = Unknowns(
        [
            items[k] if no else replace(items[k], start=float(values[k]))
            for k, no in zip(chosen, none, strict=True)
        ]
    )
    found = [q]
    for spread in start_points(own, count, seed)[0 if any(none) else 1 :]:
        other = q.copy()
        other[chosen] = spread
        found.append(other)
    return found


def run_search(place: SearchContext, job: Job) -> SearchEnding:
    """Search for one job."""
    setup, whole = place
    objective = with_noise(whole, job.held_noise)
    before = objective.evaluations.simulations, objective.evaluations.failed
    estimation = setup.study.estimation
    method = METHODS[estimation.method]()
    limits = limits_of(estimation)
    done = search(objective, method, job.q, limits, held=job.held, persistent=True)
    count = objective.evaluations.simulations - before[0]
    failed = objective.evaluations.failed - before[1]
    if done.point is None:
        nan = math.nan
        return SearchEnding(
            (), math.inf, nan, nan, nan, {}, str(done.status), done.message, count, failed
        )
    told = information(objective, done.point, int(job.held.sum()))
    return SearchEnding(
        tuple(map(float, done.point.q)),
        float(done.point.cost),
        told.aic,
        told.aicc,
        told.bic,
        {name: float(v.variance) for name, v in done.point.noise.items()},
        str(done.status),
        done.message,
        count,
        failed,
    )


def failure(message: str) -> SearchEnding:
    """A search that could not be done."""
    nan = math.nan
    return SearchEnding((), math.inf, nan, nan, nan, {}, str(Status.FAILED), message, 0, 1)


def best(ends: Sequence[SearchEnding], criterion: str, null_cost: float) -> int:
    """Which of several ends counts: the lowest, and among like ones the first.

    The first begins at the null model's optimum, so that nothing ends above the null model, and
    an unknown that gains nothing stays where it was.
    """
    lowest = min(e.cost for e in ends)
    if not math.isfinite(lowest):
        return 0
    near = alike(criterion, null_cost)
    return next(k for k, e in enumerate(ends) if e.cost <= lowest + near)


def alike(criterion: str, null_cost: float) -> float:
    """By how much the costs of one and the same optimum may differ."""
    return ALIKE_ML if criterion in LIKELIHOODS else ALIKE_OE * null_cost
