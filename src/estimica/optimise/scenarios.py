"""Scenarios of a robust design as members of one ensemble: a row is the tuners of a design and,
behind them, the number of its scenario."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.population import Population, PopulationScorer, Scorer
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.optimise.criteria.trajectory import TrajectoryScorer
from estimica.optimise.criteria.value_only.scores import ValueOnlyScorer, Variant


def in_scenarios(tuners: Vector, count: int) -> Vector:
    """Rows of all designs, (designs, n), in all scenarios: the scenarios of a design together."""
    rows = np.repeat(tuners, count, axis=0)
    return np.column_stack([rows, np.tile(np.arange(count), len(tuners))])


class SingleScenarios:
    """Some criteria of one case; each scenario has a scorer of its own."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self.scorers = tuple(scorers)

    @property
    def places(self) -> Sequence[CriterionInCase]:
        """What it measures."""
        return self.scorers[0].places

    def at(
        self, tuners: Vector, *, slopes: bool, courses: Courses | None = None
    ) -> list[Measure] | str:
        """The measures of one row."""
        return self.scorers[int(tuners[-1])].at(tuners[:-1], slopes=slopes, courses=courses)


class FormulaScenarios(SingleScenarios):
    """The same, where every scorer takes many designs at once: scenario by scenario."""

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The measures of many rows."""
        whole = Population.empty(len(tuners), len(self.places))
        for k, scorer in enumerate(self.scorers):
            some = tuners[:, -1] == k
            if some.any():
                assert isinstance(scorer, PopulationScorer)
                whole.take(some, scorer.at_all(tuners[some, :-1]))
        return whole


class JointScenarios(SingleScenarios):
    """Scenarios that differ in constants only: run together, sampled where the first one is."""

    def __init__(
        self, scorers: Sequence[Scorer], lead: ValueOnlyScorer, variants: Sequence[Variant]
    ) -> None:
        super().__init__(scorers)
        self._lead, self._variants = lead, tuple(variants)

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The measures of many rows."""
        numbers = tuners[:, -1].astype(int)
        members = [
            self._lead.members(tuners[numbers == k, :-1], variant)
            for k, variant in enumerate(self._variants)
        ]
        # members come scenario by scenario; rows in any order
        order = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
        constants = np.vstack([own for own, _ in members])[order]
        known: dict[str, float | Vector] = {
            name: np.concatenate([np.broadcast_to(k[name], len(own)) for own, k in members])[order]
            for name in members[0][1]
        }
        return self._lead.of_members(constants, known, courses)


def joined(
    scorers: Sequence[Sequence[Scorer]], leads: Sequence[Scorer], start: Vector
) -> tuple[SingleScenarios, ...]:
    """The scorers of every scenario, (scenarios, scorers), as scorers of all of them.

    `leads` are those of the first one that take many designs.
    """
    by_case = zip(*scorers, strict=True)
    return tuple(_joined(own, lead, start) for own, lead in zip(by_case, leads, strict=True))


def _joined(own: Sequence[Scorer], lead: Scorer, start: Vector) -> SingleScenarios:
    if isinstance(lead, ValueOnlyScorer):
        exact = [s for s in own if isinstance(s, TrajectoryScorer)]
        found = [lead.variant(s, start) for s in exact]
        variants = [v for v in found if v is not None]
        if len(variants) == len(own):
            return JointScenarios(own, lead, variants)
    if all(isinstance(s, PopulationScorer) for s in own):
        return FormulaScenarios(own)
    return SingleScenarios(own)
