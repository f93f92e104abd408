"""Families: the signals behind the criteria, of many samples over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.design import Design
from estimica.study.study import Study

#: times of a curve. Chosen: a screen shows some 150 bends and as many lie where the run bends, and
#: hundreds of curves stay a page
TIMES = 301

#: signals of one sample: by case, by their texts
SampleCourses = Mapping[str, Mapping[str, Sequence[float]]]


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
    typical: Flags  # (samples,) those that were chosen by chance; the others are extremes
    reference: Vector | None  # where it is the same in all samples

    def quantiles(self, levels: Sequence[float]) -> Vector:
        """Of the values at each time, (levels, times); NaN where all runs have ended.

        The smallest and the largest are of all runs, others of those that were chosen by chance.
        """
        quantiles = np.full((len(levels), len(self.time)), np.nan)
        known = np.isfinite(self.values[self.typical]).any(axis=0)
        for k, level in enumerate(levels):
            values = self.values if level in (0.0, 1.0) else self.values[self.typical]
            quantiles[k, known] = np.nanquantile(values[:, known], level, axis=0)
        return quantiles


def _by_chance(count: int) -> Indices:
    """All samples in an order of chance: the same for the same number of them."""
    return np.asarray(np.random.default_rng(count).permutation(count), np.int64)


def expected_rows(draws: int, samples: int, count: int) -> Flags:
    """Samples whose curves will be drawn if none fails, before anything is known of them."""
    order = _by_chance(samples)
    expected = np.zeros(samples, bool)
    expected[order[order < draws][:count]] = True
    return expected


def chosen_rows(good: Flags, least: Vector, count: int) -> tuple[Indices, Flags]:
    """Samples whose curves are drawn, `count` by chance and the extremes of every criterion.

    With them comes which were chosen by chance: the extremes would widen a band of quantiles.

    The same for the same samples, whoever simulates them and however often it was interrupted.
    """
    known = np.flatnonzero(good)
    if len(known) <= count:
        return known, np.ones(len(known), bool)
    extremes = {
        int(known[f(least[known, k])])
        for k in range(least.shape[1])
        for f in (np.argmin, np.argmax)
    }
    order = _by_chance(len(good))
    by_chance = order[good[order]][:count]
    rows = np.array(sorted({*extremes, *by_chance.tolist()}), np.int64)
    return rows, np.isin(rows, by_chance)


def empty_courses(design: Design) -> dict[str, Courses]:
    """Where the runs of a sample leave their signals, by case."""
    return {
        scorer.experiment.case: Courses(scorer.drawing_times(TIMES))
        for scorer in design.trajectories
    }


def families(
    design: Design,
    study: Study,
    chosen: tuple[Indices, Flags],
    courses: Mapping[int, SampleCourses],
) -> tuple[Family, ...]:
    """The signals behind the criteria in the samples that were chosen."""
    rows, typical = chosen
    found = [courses.get(int(k), {}) for k in rows]
    units = {q.name: q.unit for q in study.model.quantities()}
    made = []
    for scorer in design.trajectories:
        case = scorer.experiment.case
        for signal, places in _signals(design.places, case).items():
            kept = [k for k, one in enumerate(found) if signal in one.get(case, {})]
            if not typical[kept].any():
                continue
            values = np.array([found[k][case][signal] for k in kept])
            made.append(
                Family(
                    case,
                    signal,
                    units.get(signal, ""),
                    places,
                    scorer.drawing_times(TIMES),
                    rows[kept],
                    values,
                    typical[kept],
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
