"""Scores: what a design is worth, criterion by criterion and case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from estimica.optimise.kept import Keeper
from estimica.study.design_criterion import Criterion, Role

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """One criterion in one case."""

    criterion: Criterion
    case: str

    @property
    def demand(self) -> float:
        """The value that satisfies."""
        return self.criterion.demand_in(self.case)

    @property
    def role(self) -> Role:
        """Whether it is made small, limited, or only watched."""
        return self.criterion.role

    @property
    def label(self) -> str:
        """How it is called where all scores stand together."""
        return f"{self.criterion.name} in {self.case}" if self.case else self.criterion.name


@dataclass(frozen=True)
class Measure:
    """The value of one criterion in one case; no gradient where only differences give one."""

    value: float
    gradient: Vector | None = None  # by the tuners
    kept: Keeper | None = None  # what a bound means where the value jumps or has kinks


@dataclass(frozen=True)
class FailedDesign:
    """A design that could not be simulated, with its tuners."""

    case: str
    message: str
    values: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class DesignPoint:
    """A design in coordinates `q`, with all its scores; `slopes` are by the coordinates."""

    q: Vector
    tuners: Vector
    places: tuple[Place, ...]
    values: Vector  # (K,)
    slopes: Vector | None  # (K, n)
    kept: Mapping[int, Keeper] = field(default_factory=dict)  # by the number of the score
    factors: Vector | None = None  # derivatives of the tuners by the coordinates
    scenarios: tuple[DesignPoint, ...] = ()  # of a robust design
    worst: DesignPoint | None = None  # all scenarios' scores, where the worst of them counts

    @property
    def weighted(self) -> Vector:
        """Every value over its demand: satisfied where it is at most 1."""
        return self.values / self._demands

    @property
    def weighted_slopes(self) -> Vector:
        """Their derivatives by the coordinates."""
        assert self.slopes is not None
        return self.slopes / self._demands[:, None]

    @property
    def _demands(self) -> Vector:
        return np.array([p.demand for p in self.places], float)

    def of_role(self, *roles: Role) -> list[int]:
        """Which scores play one of these roles."""
        return [k for k, p in enumerate(self.places) if p.role in roles]

    @property
    def largest(self) -> float:
        """α: the largest weighted criterion of those that are made small."""
        chosen = self.of_role("minimise")
        return float(self.weighted[chosen].max()) if chosen else 0.0

    def satisfied(self, tolerance: float = 1e-6) -> bool:
        """Whether all demands hold."""
        weighted = self.weighted
        for k, place in enumerate(self.places):
            if place.role == "equal" and abs(weighted[k] - 1) > tolerance:
                return False
            if place.role in ("minimise", "at-most") and weighted[k] > 1 + tolerance:
                return False
        return True


def places_of(criteria: Sequence[Criterion], cases: Sequence[str]) -> tuple[Place, ...]:
    """Every active criterion in every case that it is taken in, cases first."""
    return tuple(
        Place(criterion, case)
        for case in cases
        for criterion in criteria
        if criterion.active and (not criterion.cases or case in criterion.cases)
    )
