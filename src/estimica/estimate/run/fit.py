"""fit: finds the tuners of a study, and says how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.public.calls import told
from estimica.estimate.conclusion.run import conclude
from estimica.estimate.fit.result import Fit
from estimica.estimate.identify.twins import Twin, allowed, is_apart, symmetry, twins
from estimica.estimate.objective.cost import Objective, Point, scored
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.run.one_start import OnProgress, find
from estimica.estimate.search.run import Status
from estimica.estimate.setup import prepare
from estimica.execute.runs.writer import RunWriter
from estimica.execute.threads import one_thread
from estimica.study.study import Study

SHARE = 4  # of what the search took, one part is spent: a look costs a quarter of a fit at most
FEWEST = 12  # evaluations that any fit can afford: all exchanges of three unknowns, adapted
MOST = 60  # more are not worth it: several starts look farther
EQUAL = 1e-3  # of what noise allows: nothing more is to be gained
REFITTED = 8  # steps in which the others adapt: a factor of two each is 256 in all
#: of what is lost is left after a step that leads somewhere: eight such steps leave a tenth
GAINED = 0.75


@one_thread()
def fit(
    study: Study,
    *,
    starts: int | Mapping[str, float] | None = None,
    seed: int | None = None,
    progress: OnProgress | bool | None = None,
    workers: int | None = 1,
    run: RunWriter | None = None,
) -> Fit:
    """Find the tuners of a study from its calibrating cases.

    `starts` is the number of starts, or the values that tuners start from, `{"R": 2}`; it stands
    before what the study says, as `seed` does, from which further starts are drawn. A function as
    `progress` is called after every iteration; by default there is a bar. Several starts are shared
    among `workers` processes, noted in `run` as they end, and found there when it is taken up
    again. Ctrl-C ends the search and returns the best values so far.
    """
    begun, tell = perf_counter(), told(progress)
    setup = prepare(_started(study, starts, seed))
    cases = setup.calibration()
    if setup.study.estimation.starts > 1:
        from estimica.estimate.run.multistart import multistart

        searched, ends, worked = multistart(setup, cases, tell, workers, run)
        concluded = conclude(setup, cases, searched, ends, perf_counter() - begun)
        concluded = replace(concluded, worked_by=worked)
    else:
        searched = find(setup, cases, cases.unknowns.start, tell)
        concluded = conclude(setup, cases, searched, (), perf_counter() - begun)
    return with_twins(concluded, cases)


def _started(study: Study, starts: int | Mapping[str, float] | None, seed: int | None) -> Study:
    """The study with another number of starts, or with tuners that start elsewhere."""
    if isinstance(starts, Mapping):
        study = study.with_(starts=starts)
    given = {"starts": starts if isinstance(starts, int) else None, "seed": seed}
    chosen: dict[str, Any] = {n: v for n, v in given.items() if v is not None}
    if not chosen:
        return study
    return study.with_(estimation=replace(study.estimation, **chosen))


# --- Exchanges: a cheap look for twins of an estimate, by exchanging unknowns and changing signs.


def twins_by_exchange(fit: Fit, cases: ResidualFunction) -> tuple[Twin, ...]:
    """Twins of a fit by exchanging two unknowns or changing signs, the others adapting."""
    estimation = fit.study.estimation
    if fit.outcome.status is not Status.CONVERGED or estimation.transcription != "shooting":
        return ()
    if fit.rough.reason or not np.isfinite(fit.cost):
        return ()
    objective = scored(cases.counted_anew(), fit.scales)
    spent = fit.evaluations.sensitivities // max(len(cases.predictors), 1)
    most = min(max(spent // SHARE, FEWEST), MOST)
    twins_found: list[Twin] = []
    for values, held in _mapped(fit):
        left = most - objective.evaluations.sensitivities // max(len(cases.predictors), 1)
        if left <= 0:
            break
        point = _settled(fit, objective, values, held, left)
        if point is not None and all(_is_new(fit, point, t) for t in twins_found):
            words = symmetry(fit, point.values)
            twins_found.append(Twin(fit.unknowns.named(point.values), point.cost, 0, words))
    return tuple(twins_found)


def _mapped(fit: Fit) -> Iterator[tuple[Vector, tuple[int, ...]]]:
    """(values, what was exchanged) that the bounds allow and that are another place."""
    items = fit.unknowns.items
    tuners = [k for k, u in enumerate(items) if u.kind == "tuner" and fit.accuracy.identifiable[k]]
    tuners = [k for k in tuners if not fit.at_bound[k]]
    changes: list[tuple[tuple[int, ...], dict[int, float]]] = [
        ((i, j), {i: fit.values[j], j: fit.values[i]})
        for i, j in combinations(tuners, 2)
        if items[i].unit == items[j].unit and items[i].log == items[j].log
    ]
    for count in (1, 2):
        changes += [(c, {k: -fit.values[k] for k in c}) for c in combinations(tuners, count)]
    for held, change in changes:
        if all(items[k].min < v < items[k].max and (v > 0 or not items[k].log)
               for k, v in change.items()):  # fmt: skip
            values = fit.values.copy()
            values[list(change)] = list(change.values())
            if is_apart(fit, fit.values, values):
                yield values, held


def _settled(
    fit: Fit, objective: Objective, values: Vector, held: tuple[int, ...], most: int
) -> Point | None:
    """The point as good as the estimate to which the others adapt; none where there is none."""
    unknowns, enough = objective.unknowns, allowed(fit)
    others = [k for k in range(len(values)) if k not in held]
    q, best = unknowns.coordinates(values), None
    lost = np.inf
    for _ in range(min(REFITTED, most)):
        with np.errstate(all="ignore"):  # far from the data anything may overflow
            point = objective.at(unknowns.clipped(q))
        if not isinstance(point, Point) or point.cost - fit.cost > GAINED * lost:
            break
        lost = point.cost - fit.cost
        best = point
        if not others or lost <= EQUAL * enough:
            break
        q = q.copy()
        step = -np.linalg.lstsq(point.R[:, others], point.b, rcond=1e-10)[0]
        near = unknowns.near(q)[others]
        q[others] += np.clip(step, -near, near)
    is_twin = best is not None and lost <= enough and is_apart(fit, fit.values, best.values)
    return best if is_twin else None


def with_twins(fit: Fit, cases: ResidualFunction) -> Fit:
    """The fit with its twins: where several starts have led, and what exchanges lead to."""
    all_twins = list(twins(fit))
    for one in twins_by_exchange(fit, cases):
        values = np.array([one.values[u.label] for u in fit.unknowns.items])
        known = [np.array([t.values[u.label] for u in fit.unknowns.items]) for t in all_twins]
        if all(is_apart(fit, k, values) for k in known):
            all_twins.append(one)
    return replace(fit, twins=tuple(all_twins)) if all_twins else fit


def _is_new(fit: Fit, point: Point, twin: Twin) -> bool:
    known = np.array([twin.values[u.label] for u in fit.unknowns.items])
    return is_apart(fit, known, point.values)
