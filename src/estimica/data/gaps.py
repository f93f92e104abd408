"""Gaps: cells of a column that hold something, but no number that could count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.magnitude import is_usable
from estimica.data.cells import short_cell

MOST_TOLD = 4  # different texts


@dataclass(frozen=True)
class UncountedCells:
    """How many cells, in which row the first of them stands (from 1), and what they hold."""

    first: int
    texts: Mapping[str, int] = field(default_factory=dict)  # as written, and how often
    infinite: int = 0  # infinite, or too large to compute with

    @property
    def count(self) -> int:
        """All of them."""
        return sum(self.texts.values()) + self.infinite

    @property
    def in_words(self) -> str:
        """Such as "3 cells hold no number: '-' twice, 'n/a' once; the first in row 7"."""
        told = [f"{short_cell(t)} {_times(n)}" for t, n in list(self.texts.items())[:MOST_TOLD]]
        if len(self.texts) > MOST_TOLD:
            told.append(f"{len(self.texts) - MOST_TOLD} other texts")
        if self.infinite:
            told.append(f"infinite or too large {_times(self.infinite)}")
        cells = "1 cell does" if self.count == 1 else f"{self.count} cells do"
        where = f"in row {self.first}" if self.count == 1 else f"the first in row {self.first}"
        return f"{cells} not hold a number ({', '.join(told)}), {where}"

    def with_infinite(self, values: Vector) -> UncountedCells | None:
        """The same with the infinite numbers of the column; None where there is nothing to tell."""
        endless = np.flatnonzero(~(is_usable(values) | np.isnan(values)))
        rows = [int(endless[0]) + 1] if len(endless) else []
        rows += [self.first] if self.texts else []
        return UncountedCells(min(rows), self.texts, len(endless)) if rows else None


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"
