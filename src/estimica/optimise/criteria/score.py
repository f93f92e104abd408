"""Scores: what a design is worth, criterion by criterion and case by case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.optimise.criteria.smooth_constraint import ConstraintSource
from estimica.study.criterion import Criterion, Role, not_reached_text

HELD = 1e-6  # of a demand: by how much it may be missed and still hold


@dataclass(frozen=True)
class CriterionInCase:
    """One criterion in one case."""

    criterion: Criterion
    case: str

    @property
    def demand(self) -> float:
        """The value that satisfies."""
        return self.criterion.demand_in(self.case)

    @property
    def weight(self) -> float:
        """What value/demand is multiplied by where it is made small."""
        return self.criterion.weight_in(self.case)

    @property
    def role(self) -> Role:
        """Whether it is made small, limited, or only watched."""
        return self.criterion.role

    @property
    def label(self) -> str:
        """How it is called where all scores stand together."""
        return f"{self.criterion.name} in {self.case}" if self.case else self.criterion.name

    @property
    def open_word(self) -> str:
        """What is said where its window ends before there is a value."""
        return not_reached_text(self.criterion.kind)


@dataclass(frozen=True)
class Measure:
    """The value of one criterion in one case; no gradient where only differences give one.

    Where the window ends before there is a value, `at_least` is what it shows of it, and `value`
    only a number that a search can follow.
    """

    value: float
    gradient: Vector | None = None  # by the tuners
    kept: ConstraintSource | None = None  # what a bound means where the value jumps or has kinks
    at_least: float | None = None
    ended: str = ""  # how the model has ended the run by itself, where it has


@dataclass(frozen=True)
class Score:
    """What is known of one criterion in one case: its value, or that it is at least so large."""

    place: CriterionInCase
    value: float | None
    at_least: float | None = None  # where there is no value

    @property
    def reached(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def weighted(self) -> float | None:
        """The value over its demand."""
        return None if self.value is None else self.value / self.place.demand

    @property
    def weighted_at_least(self) -> float | None:
        """What is known of it where there is no value."""
        return None if self.at_least is None else self.at_least / self.place.demand

    def holds(self, tolerance: float = HELD) -> bool:
        """Whether the value satisfies; what was not reached satisfies no demand."""
        if self.place.role == "watch":
            return True
        if self.weighted is None:
            return False
        if self.place.role == "equal":
            return abs(self.weighted - 1) <= tolerance
        return self.weighted <= 1 + tolerance

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "case": self.place.case,
            "criterion": self.place.criterion.name,
            "value": self.value,
            "at_least": self.at_least,
            "demand": self.place.demand,
            "holds": self.holds(),
            "role": self.place.role,
            "kind": self.place.criterion.kind,
            "unit": self.place.criterion.unit,
        }

    @property
    def cell(self) -> float | str:
        """How it stands in a table."""
        if self.value is not None:
            return self.value
        return f"{self.place.open_word}{beyond(self.at_least)}"

    @property
    def weighted_cell(self) -> float | str:
        """How its share of the demand stands in a table."""
        if self.weighted is not None:
            return self.weighted
        return beyond(self.weighted_at_least).strip(" ()")


def beyond(at_least: float | None) -> str:
    """What stands behind "not reached"; nothing where the window shows nothing of the value."""
    return f" (> {at_least:.4g})" if at_least else ""


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
    places: tuple[CriterionInCase, ...]
    penalised: Vector  # (K,) finite: a value, or what a search follows where none was reached
    at_least: Vector | None  # (K,) NaN where a value was reached; None where all were
    slopes: Vector | None  # (K, n)
    kept: Mapping[int, ConstraintSource] = field(default_factory=dict)  # by the number of the score
    factors: Vector | None = None  # derivatives of the tuners by the coordinates
    scenarios: tuple[DesignPoint, ...] = ()  # of a robust design
    worst: DesignPoint | None = None  # all scenarios' scores, where the worst of them counts
    ended: Mapping[str, str] = field(
        default_factory=dict
    )  # cases that the model has ended, and how

    @cached_property
    def reached(self) -> Flags:
        """Which scores are values, (K,)."""
        if self.at_least is None:
            return np.ones(len(self.places), bool)
        return np.isnan(self.at_least)

    @property
    def values(self) -> Vector:
        """The values that were measured, (K,); NaN where none was reached."""
        return np.where(self.reached, self.penalised, np.nan)

    @property
    def least(self) -> Vector:
        """The values, and what they are at least where they were not reached, (K,)."""
        if self.at_least is None:
            return self.penalised
        return np.where(self.reached, self.penalised, self.at_least)

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """What is known of every criterion: what tables, files and pictures tell."""
        return tuple(
            Score(p, float(self.penalised[k]))
            if self.reached[k]
            else Score(p, None, float(self.least[k]))
            for k, p in enumerate(self.places)
        )

    @property
    def weighted(self) -> Vector:
        """What a search makes small: `penalised` over the demands."""
        return self.penalised / self._demands

    @property
    def weighted_slopes(self) -> Vector:
        """Their derivatives by the coordinates."""
        assert self.slopes is not None
        return self.slopes / self._demands[:, None]

    @property
    def weighted_least(self) -> Vector:
        """The values over their demands, at least."""
        return self.least / self._demands

    @property
    def weights(self) -> Vector:
        """What the scores over their demands are multiplied by where they are made small, (K,)."""
        return np.array([p.weight for p in self.places], float)

    @property
    def _demands(self) -> Vector:
        return np.array([p.demand for p in self.places], float)

    def of_role(self, *roles: Role) -> list[int]:
        """Which scores play one of these roles."""
        return [k for k, p in enumerate(self.places) if p.role in roles]

    @property
    def largest(self) -> float:
        """α: the largest value/demand of those that are made small; NaN where one was not reached.

        `largest_at_least` says what is known then.
        """
        chosen = self.of_role("minimise")
        if not self.reached[chosen].all():
            return float("nan")
        return self.largest_at_least

    @property
    def largest_at_least(self) -> float:
        """What α is at least: α itself where all values were reached."""
        chosen = self.of_role("minimise")
        return float(self.weighted_least[chosen].max()) if chosen else 0.0

    def satisfied(self, tolerance: float = HELD) -> bool:
        """Whether all demands hold."""
        return all(score.holds(tolerance) for score in self.scores)


def known_least(bounds: Sequence[float | None]) -> Vector | None:
    """What values are at least that were not reached, None standing for one that was."""
    if all(b is None for b in bounds):
        return None
    return np.array([np.nan if b is None else b for b in bounds], float)


def criteria_in_cases(
    criteria: Sequence[Criterion], cases: Sequence[str]
) -> tuple[CriterionInCase, ...]:
    """Every active criterion in every case that it is taken in, cases first."""
    return tuple(
        CriterionInCase(criterion, case)
        for case in cases
        for criterion in criteria
        if criterion.active and (not criterion.cases or case in criterion.cases)
    )


@dataclass(frozen=True, eq=False)
class CensoredColumn:
    """One criterion in one case over many samples.

    A sample whose window ended before there was a value counts as larger than all that have one:
    "95 % settle within 1.2 s" is true whatever the others do later.
    """

    place: CriterionInCase
    values: Vector  # NaN where there is none
    at_least: Vector  # what is known there, otherwise NaN

    def __len__(self) -> int:
        return len(self.values)

    @property
    def reached(self) -> Vector:
        """The values that there are."""
        return self.values[~np.isnan(self.values)]

    @property
    def open(self) -> int:
        """How many were not reached."""
        return len(self.values) - len(self.reached)

    @property
    def least(self) -> Vector:
        """The values, and what they are at least where they were not reached."""
        return np.where(np.isnan(self.values), self.at_least, self.values)

    def quantile(self, level: float) -> Score:
        """The quantile, linear between values (as NumPy has it).

        Where it lies among those that were not reached, it is at least the same quantile of what
        they are at least.
        """
        ordered = np.sort(np.where(np.isnan(self.values), np.inf, self.values))
        rank = level * (len(ordered) - 1)
        low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
        if math.isfinite(high):
            return Score(self.place, float(low + (rank % 1) * (high - low)))
        return Score(self.place, None, float(np.quantile(self.least, level)))

    @property
    def mean(self) -> Score:
        """The mean, which is only known where all were reached."""
        least = float(self.least.mean())
        return Score(self.place, None, least) if self.open else Score(self.place, least)

    def note(self, what: str = "samples") -> str:
        """How many were not reached, in words; nothing where all were."""
        if not self.open:
            return ""
        return f"{self.place.label}: {self.place.open_word} in {self.open} of {len(self)} {what}"
