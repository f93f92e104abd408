"""Walls: numbers that stand in where a design cannot be simulated, so that a method steps back."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.problem import Evaluation, OptimisationProblem

HEIGHT = 1e3  # of a wall, in units of what stands before it


class FailurePenalty:
    """Remembers the last design that could be simulated."""

    def __init__(self, programme: OptimisationProblem) -> None:
        self.programme = programme
        self._good: Evaluation | None = None

    def terms(self, q: Vector, *, slopes: bool = False) -> Evaluation | None:
        """The design at `q`, or None."""
        found = self.programme.at(q, slopes=slopes)
        if found is not None:
            self._good = found
        return found

    @property
    def last(self) -> Evaluation:
        """The last design that could be simulated; the start always can."""
        assert self._good is not None
        return self._good

    def height(self, values: Vector) -> Vector:
        """Values that are far worse than the given ones."""
        return values + HEIGHT * (1 + np.abs(values))
