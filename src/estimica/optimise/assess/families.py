"""Families: the signals behind the criteria, of many samples over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import EstimicaError
from estimica.execute.outcome import error_text
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import Executor
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.design import Design
from estimica.study.study import Study

#: times of a curve. Chosen: a screen shows some 150 bends, and hundreds of curves stay a page
TIMES = 151


@dataclass(frozen=True, eq=False)
class Family:
    """One signal of one case in some of the samples; `values[k]` is that of sample `rows[k]`."""

    case: str
    signal: str  # as the criteria write it
    unit: str
    places: tuple[int, ...]  # of the criteria that look at it
    time: Vector
    rows: Indices
    values: Vector  # (samples, times)
    reference: Vector | None  # where it is the same in all samples

    def quantiles(self, levels: Sequence[float]) -> Vector:
        """Of the values at each time, (levels, times); NaN where all runs have ended."""
        quantiles = np.full((len(levels), len(self.time)), np.nan)
        known = np.isfinite(self.values).any(axis=0)
        quantiles[:, known] = np.nanquantile(self.values[:, known], list(levels), axis=0)
        return quantiles


def chosen_rows(good: Flags, least: Vector, count: int) -> Indices:
    """Samples whose curves are drawn: some from all over, and the extremes of every criterion.

    The same for the same samples, whoever simulates them and however often it was interrupted.
    """
    known = np.flatnonzero(good)
    if len(known) <= count:
        return known
    extremes = {int(known[f(least[known, k])]) for k in range(least.shape[1])
                for f in (np.argmin, np.argmax)}  # fmt: skip
    extremes = set(sorted(extremes)[:count])
    order = np.random.default_rng(len(good)).permutation(known)
    rest = [int(k) for k in order if int(k) not in extremes][: count - len(extremes)]
    return np.array(sorted([*extremes, *rest]), np.int64)


def families(
    design: Design, study: Study, samples: Vector, rows: Indices, hands: Executor,
    context: Context[Design],
) -> tuple[Family, ...]:  # fmt: skip
    """The signals behind the criteria in these samples, each simulated once more."""
    items = [samples[k].tolist() for k in rows]
    outcomes = hands.map(_courses, items, context=context)
    found = [o.result() if o.done else {} for o in outcomes]
    units = {q.name: q.unit for q in study.model.quantities()}
    made = []
    for scorer in design.trajectories:
        case = scorer.experiment.case
        for signal, places in _signals(design.places, case).items():
            kept = [k for k, one in enumerate(found) if signal in one.get(case, {})]
            if not kept:
                continue
            values = np.array([found[k][case][signal] for k in kept])
            made.append(
                Family(
                    case,
                    signal,
                    units.get(signal, ""),
                    places,
                    scorer.grid(TIMES),
                    rows[kept],
                    values,
                    _reference(design.places[places[0]], [found[k][case] for k in kept]),
                )
            )
    return tuple(made)


def _signals(places: Sequence[CriterionInCase], case: str) -> dict[str, tuple[int, ...]]:
    """The signals of a case and the criteria that look at each."""
    signals: dict[str, tuple[int, ...]] = {}
    for k, place in enumerate(places):
        own = place.criterion
        if place.case == case and own.kind != "value" and own.of and own.function is None:
            signals[own.of] = (*signals.get(own.of, ()), k)
    return signals


def _reference(
    place: CriterionInCase, courses: Sequence[Mapping[str, Sequence[float]]]
) -> Vector | None:
    text = place.criterion.reference
    if text is None or not all(str(text) in one for one in courses):
        return None
    values = np.array([one[str(text)] for one in courses])
    return values[0] if np.array_equal(values, np.tile(values[0], (len(values), 1))) else None


def _courses(design: Design, row: list[float]) -> dict[str, Any]:
    """Values of all signals by case; a case that cannot be simulated has none."""
    tuners = np.array(row, float)
    courses: dict[str, Any] = {}
    for scorer in design.trajectories:
        try:
            own = scorer.courses(tuners, TIMES)
        except EstimicaError:
            continue
        except Exception as error:  # of a user's function, which was told of with its sample
            error_text(error)
            continue
        if own is not None:
            courses[scorer.experiment.case] = {n: v.tolist() for n, v in own.items()}
    return courses
