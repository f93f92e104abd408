"""Where the nonzeros stand that compiled functions write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from estimica.base.arrays import Indices

if TYPE_CHECKING:  # runs of models without it know these values, too
    import casadi as ca


@dataclass(frozen=True, eq=False)
class SparsityPattern:
    """Rows and columns of the nonzeros that a compiled function writes."""

    rows: Indices
    columns: Indices

    @staticmethod
    def of(matrix: ca.SX) -> SparsityPattern:
        """The places of a matrix's nonzeros, column by column."""
        rows, columns = matrix.sparsity().get_triplet()
        return SparsityPattern(np.array(rows, np.int64), np.array(columns, np.int64))


NO_PATTERN = SparsityPattern(np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True, eq=False)
class Tangent:
    """Places of the nonzeros that a function writes in place of a sensitivity, one part after the
    other: derivatives by x, by v, by x before an event, by the tuners. No rows: it writes the
    sensitivity itself."""

    rows: int
    parts: tuple[SparsityPattern, SparsityPattern, SparsityPattern, SparsityPattern]

    @property
    def size(self) -> int:
        """How many nonzeros there are."""
        return sum(len(p.rows) for p in self.parts)


NO_TANGENT = Tangent(0, (NO_PATTERN, NO_PATTERN, NO_PATTERN, NO_PATTERN))
