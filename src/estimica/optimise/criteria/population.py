"""Population: the criteria of many designs at once, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import EstimicaError
from estimica.execute.outcome import error_text
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.score import (
    CriterionInCase,
    DesignPoint,
    FailedDesign,
    Measure,
)

#: of a demand: members of an ensemble agree within ten times rtol (1e-6 unless asked otherwise) of
#: the signals, of which a criterion may be a hundredth. Nearer to its demand a design is run alone,
#: so that no verdict depends on who its neighbours were
CLOSE = 1e-3


@dataclass(frozen=True, eq=False)
class Population:
    """Some criteria of one case in many designs."""

    values: Vector  # (designs, criteria), NaN of those that are left
    least: Vector  # what a value is at least that was not reached, otherwise NaN
    left: Flags  # designs that must be scored one by one
    scalar: Flags  # designs that the scalar engine has run, as it runs one by one

    @staticmethod
    def empty(designs: int, criteria: int) -> Population:
        """All of them left."""
        values, least = np.full((2, designs, criteria), np.nan)
        return Population(values, least, np.ones(designs, bool), np.zeros(designs, bool))

    def take(self, which: Flags, part: Population) -> None:
        """Write what is known of some of them."""
        self.values[which], self.least[which] = part.values, part.least
        self.left[which], self.scalar[which] = part.left, part.scalar


class Scorer(Protocol):
    """Some criteria of one case."""

    @property
    def places(self) -> Sequence[CriterionInCase]:
        """What it measures."""

    def at(
        self, tuners: Vector, *, slopes: bool, courses: Courses | None = None
    ) -> list[Measure] | str:
        """Its measures, with gradients by the tuners where it has them, or why there are none.

        The signals that it looks at go to `courses`.
        """


@runtime_checkable
class PopulationScorer(Protocol):
    """A scorer that takes many designs at once."""

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The measures at values of the tuners, (designs, tuners)."""


@dataclass(frozen=True, eq=False)
class ScoredDesigns:
    """All criteria in all cases of many designs; rows of a design that failed are NaN."""

    q: Vector  # (designs, n)
    tuners: Vector  # (designs, n)
    places: tuple[CriterionInCase, ...]
    penalised: Vector  # (designs, K)
    least: Vector  # (designs, K) what is not reached is at least, otherwise NaN
    failures: Mapping[int, FailedDesign]
    ended: Mapping[int, Mapping[str, str]]  # cases that the model has ended, and how
    alone: int = 0  # designs that were scored one by one in some case

    def point(self, k: int) -> DesignPoint | FailedDesign:
        """One of them."""
        if k in self.failures:
            return self.failures[k]
        least = self.least[k]
        return DesignPoint(
            self.q[k].copy(),
            self.tuners[k],
            self.places,
            self.penalised[k],
            None if np.isnan(least).all() else least,
            None,
            ended=self.ended.get(k, {}),
        )


class PopulationScoring:
    """Scores many designs case by case: together where a scorer can, otherwise one by one.

    A design that has failed in one case is not tried in the next.
    """

    def __init__(
        self,
        tuners: Vector,
        named: Callable[[Vector], Mapping[str, float]],
        courses: Sequence[Mapping[str, Courses]] = (),
    ) -> None:
        self._tuners, self._named, self._courses = tuners, named, courses
        self.failures: dict[int, FailedDesign] = {}
        self.ended: dict[int, dict[str, str]] = {}
        self.alone: set[int] = set()  # designs that were scored one by one in some case
        self.simulations = 0

    def of_all(self, scorers: Sequence[Scorer], order: Indices) -> tuple[Vector, Vector]:
        """The same of all scorers, their criteria in another order; NaN where a design failed."""
        parts = [self.of(scorer) for scorer in scorers]
        values, least = (np.hstack(part)[:, order] for part in zip(*parts, strict=True))
        failed = list(self.failures)
        values[failed], least[failed] = np.nan, np.nan
        return values, least

    def of(self, scorer: Scorer) -> tuple[Vector, Vector]:
        """Values and what they are at least, (designs, criteria) of a scorer."""
        many, places = len(self._tuners), scorer.places
        values, least = np.full((2, many, len(places)), np.nan)
        case = places[0].case if places else ""
        open_ = np.array([k for k in range(many) if k not in self.failures], int)
        self.simulations += len(open_)
        left = open_
        if isinstance(scorer, PopulationScorer) and len(open_) > 1:
            own = [self._courses[k][case] for k in open_] if self._has_courses(case) else []
            together = scorer.at_all(self._tuners[open_], own)
            values[open_], least[open_] = together.values, together.least
            left = open_[together.left | (_close(together.values, places) & ~together.scalar)]
        self.alone |= set(left.tolist())
        for k in left.tolist():
            self._one(scorer, k, case, values, least)
        for k in np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist():
            self._refuse(k, case, places, values[k])
        return values, least

    def _has_courses(self, case: str) -> bool:
        return bool(self._courses) and case in self._courses[0]

    def _one(self, scorer: Scorer, k: int, case: str, values: Vector, least: Vector) -> None:
        courses = self._courses[k].get(case) if self._courses else None
        try:
            measures = scorer.at(self._tuners[k], slopes=False, courses=courses)
        except EstimicaError as error:
            self.failures[k] = FailedDesign("", error.message, self._named(self._tuners[k]))
            return
        except Exception as error:  # of a user's function: the other designs go on
            self.failures[k] = FailedDesign("", error_text(error), self._named(self._tuners[k]))
            return
        if isinstance(measures, str):
            self.failures[k] = FailedDesign(case, measures, self._named(self._tuners[k]))
            return
        values[k] = [m.value for m in measures]
        least[k] = [np.nan if m.at_least is None else m.at_least for m in measures]
        for measure in measures:
            if measure.ended:
                self.ended.setdefault(k, {})[case] = measure.ended

    def _refuse(self, k: int, case: str, places: Sequence[CriterionInCase], values: Vector) -> None:
        """Note what is not a number, unless the design has failed before."""
        if k not in self.failures:
            first = int(np.flatnonzero(~np.isfinite(values))[0])
            told = f"criterion '{places[first].criterion.name}' is {float(values[first])}"
            self.failures[k] = FailedDesign(case, told, self._named(self._tuners[k]))


def _close(values: Vector, places: Sequence[CriterionInCase]) -> Flags:
    """Designs with a value so near to its demand that little would turn the verdict."""
    demands = np.array([np.nan if p.role == "watch" else p.demand for p in places], float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((np.abs(values / demands - 1) <= CLOSE).any(axis=1))
