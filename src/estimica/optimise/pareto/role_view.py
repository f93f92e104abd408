"""RoleView: a design seen by a front: some criteria made small, some limited, the rest watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.unknowns import Unknowns
from estimica.optimise.batch import AnyDesign
from estimica.optimise.criteria.score import CriterionInCase, DesignPoint, FailedDesign
from estimica.optimise.problem import Many


class RoleView:
    """The same design with other roles; limits are in units of the criteria's own demands."""

    def __init__(
        self,
        design: AnyDesign,
        small: Sequence[str],
        limits: Mapping[str, float] | None = None,
        traded: Sequence[str] = (),
    ) -> None:
        self._design = design
        self._small, self._limits = tuple(small), dict(limits or {})
        self._traded = tuple(traded)  # criteria of the front: the study's own limits do not count
        self._places: dict[tuple[str, str], CriterionInCase] = {}

    @property
    def unknowns(self) -> Unknowns:
        """The tuners and their bounds."""
        return self._design.unknowns

    def at(self, q: Vector, *, slopes: bool = True) -> DesignPoint | FailedDesign:
        """The scores in their new roles."""
        return self._recast(self._design.at(q, slopes=slopes))

    def glance(self, q: Vector) -> DesignPoint | FailedDesign:
        """The same, as exactly as the study's own tolerances say."""
        return self._recast(self._design.glance(q))

    def many(self, evaluate: Many) -> Many:
        """The same for designs that are evaluated side by side."""
        return lambda generation: [self._recast(p) for p in evaluate(generation)]

    def _recast(self, point: DesignPoint | FailedDesign) -> DesignPoint | FailedDesign:
        if isinstance(point, FailedDesign):
            return point
        worst = point.worst
        if worst is not None:
            worst = replace(worst, places=tuple(map(self._place, worst.places)))
        return replace(point, places=tuple(map(self._place, point.places)), worst=worst)

    def _place(self, place: CriterionInCase) -> CriterionInCase:
        key = place.criterion.name, place.case
        if key not in self._places:
            self._places[key] = self._new(place)
        return self._places[key]

    def _new(self, place: CriterionInCase) -> CriterionInCase:
        c, name = place.criterion, place.criterion.name
        if name in self._limits:
            demand = self._limits[name] * place.demand
            return CriterionInCase(replace(c, role="at-most", demand=demand), place.case)
        if name in self._small:
            small = replace(c, role="minimise", demand=place.demand, weight=1.0)
            return CriterionInCase(small, place.case)
        free = c.role == "minimise" or name in self._traded
        return CriterionInCase(replace(c, role="watch"), place.case) if free else place


def largest_by_criterion(point: DesignPoint, names: Sequence[str]) -> Vector:
    """The largest value over its demand of each criterion, over all cases."""
    counted = point.worst or point
    weighted = counted.weighted
    return np.array(
        [
            max(float(weighted[k]) for k, p in enumerate(counted.places) if p.criterion.name == n)
            for n in names
        ]
    )


def known_by_criterion(point: DesignPoint, names: Sequence[str]) -> Vector:
    """The same, NaN where a case has not reached a value: what a search follows is not a size."""
    known = [reaches(point, [n]) for n in names]
    return np.where(known, largest_by_criterion(point, names), np.nan)


def reaches(point: DesignPoint, names: Sequence[str]) -> bool:
    """Whether these criteria have values in all cases; what they weigh is not known otherwise."""
    return all(s.reached for s in point.scores if s.place.criterion.name in names)
