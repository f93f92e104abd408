"""Scenarios of a robust design as members of one ensemble: a row is the tuners of a design and,
behind them, the number of its scenario."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.courses import Courses
from estimica.optimise.criteria.population import Population, PopulationScorer, Scorer
from estimica.optimise.criteria.score import CriterionInCase, Measure
from estimica.optimise.criteria.value_only.scores import ValueOnlyScorer


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


class JointScenarios(SingleScenarios):
    """The same, where every scorer takes many designs at once."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        super().__init__(scorers)
        runs = [s for s in scorers if isinstance(s, ValueOnlyScorer)]
        alike = len(runs) == len(scorers) and all(s.is_like(runs[0]) for s in runs)
        self._runs = tuple(runs) if alike else ()

    def at_all(self, tuners: Vector, courses: Sequence[Courses] = ()) -> Population:
        """The measures of many rows.

        Scenarios that differ in constants only are run together, sampled where the first one is;
        others one after the other.
        """
        numbers = tuners[:, -1].astype(int)
        if self._runs:
            members = [s.members(tuners[numbers == k, :-1]) for k, s in enumerate(self._runs)]
            order = np.argsort(np.argsort(numbers, kind="stable"), kind="stable")
            constants = np.vstack([m[0] for m in members])[order]
            known = {
                name: np.concatenate([np.broadcast_to(m[1][name], len(m[0])) for m in members])[
                    order
                ]
                for name in members[0][1]
            }
            return self._runs[0].of_members(constants, known, courses)
        whole = Population.empty(len(tuners), len(self.places))
        for k, scorer in enumerate(self.scorers):
            some = numbers == k
            if some.any():
                assert isinstance(scorer, PopulationScorer)
                whole.take(some, scorer.at_all(tuners[some, :-1]))
        return whole


def joined(scorers: Sequence[Sequence[Scorer]]) -> tuple[SingleScenarios, ...]:
    """The scorers of every scenario, (scenarios, scorers), as scorers of all of them."""
    return tuple(
        JointScenarios(own)
        if all(isinstance(s, PopulationScorer) for s in own)
        else SingleScenarios(own)
        for own in zip(*scorers, strict=True)
    )
