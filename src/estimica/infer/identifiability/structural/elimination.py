"""Elimination: the rank of rows that come one after another, in numbers of many digits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector

Row = npt.NDArray[Any]  # of Decimal


class Elimination:
    """Keeps rows that are independent; a row counts where more than `tolerance` of it is new."""

    def __init__(self, width: int, tolerance: Decimal) -> None:
        self.width = width
        self.tolerance = tolerance
        self.pivots: list[int] = []
        self.rows: list[Row] = []
        self.smallest = Decimal(1)  # share of a row that was taken as new
        self.largest = Decimal(0)  # share of a row that was not

    @property
    def rank(self) -> int:
        """Independent rows so far."""
        return len(self.rows)

    def add(self, row: Row) -> bool:
        """Whether the row says anything new."""
        size = max(abs(x) for x in row)
        if size == 0 or self.rank == self.width:
            return False
        row = row / size
        for pivot, known in zip(self.pivots, self.rows, strict=True):
            row = row - row[pivot] * known
        open_ = [k for k in range(self.width) if k not in self.pivots]
        pivot = max(open_, key=lambda k: abs(row[k]))
        share = abs(row[pivot])
        if share <= self.tolerance:
            self.largest = max(self.largest, share)
            return False
        self.smallest = min(self.smallest, share)
        row = row / row[pivot]
        self.rows = [known - known[pivot] * row for known in self.rows]
        self.rows.append(row)
        self.pivots.append(pivot)
        return True

    def null_space(self) -> Vector:
        """Directions that no row sees, one row each."""
        open_ = [k for k in range(self.width) if k not in self.pivots]
        found = np.zeros((len(open_), self.width))
        for i, k in enumerate(open_):
            found[i, k] = 1.0
            for pivot, row in zip(self.pivots, self.rows, strict=True):
                found[i, pivot] = -float(row[k])
        return found
