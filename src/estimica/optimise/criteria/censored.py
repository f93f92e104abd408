"""Censored: values of a criterion some of which lie beyond the end of their windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.score import CriterionInCase, Score


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
