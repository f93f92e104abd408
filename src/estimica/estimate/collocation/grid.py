"""Trajectories: where the states of a collocated fit begin, and how fine its grid must be.

They begin with a simulation that is put back to what was measured again and again, so that an
unstable model cannot run away.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.collocation.case import CollocatedCase
from estimica.estimate.shooting.segments import SegmentedCase

GROWTH = 2.0  # within a piece, above which the pieces are halved
SEGMENTS = 100
MOST_PARTS = 16  # that an element is cut into at once


class Trajectories:
    """The states of one case before and between the searches."""

    def __init__(self, case: CollocatedCase) -> None:
        self.case = case
        stamps = len(case.predictor.times)
        count = max(1, min(stamps // 4, SEGMENTS))
        self._pieces = SegmentedCase(case.model, case.predictor, count)

    def first(self, values: Vector) -> Vector | str:
        """The case's own unknowns to begin with; a text where no simulation works."""
        pieces = self._pieces
        pieces.size_states(values)
        flown = pieces.fly(values, None)
        while isinstance(flown, str) or flown.growth > GROWTH:
            if not pieces.halve():
                break
            flown = pieces.fly(values, None)
        if isinstance(flown, str):
            return flown
        return self._along(values, flown.nodes[1:])

    def refined(self, values: Vector, w: Vector, tolerance: float) -> Vector | None:
        """The case's own unknowns on a finer grid; None where every element is accurate.

        Each element is simulated from the states at its beginning. Where the end differs by more
        than `tolerance`, in sizes of the states, it is cut into as many as the order asks for.
        """
        case = self.case
        states, bounds = case.states(w), case.grid.bounds
        self._pieces.cut_at(bounds[:-1])
        ways = self._pieces.trajectories(values, states[1:-1], bounds)
        if isinstance(ways, str):
            return None
        error = np.max(np.abs(ways.ends - states[1:]) / case.x_scale, axis=1, initial=0.0)
        if not (error > tolerance).any():
            return None
        order = 2 * case.degree
        parts = np.ceil((error / tolerance) ** (1 / order)).clip(1, MOST_PARTS).astype(int)
        case.refine(np.where(error > tolerance, np.maximum(parts, 2), 1))
        found = self._along(values, states[1:-1])
        return None if isinstance(found, str) else found

    def kept(self, w: Vector) -> Vector:
        """The case's own unknowns as they are."""
        return w[self.case.first : self.case.first + self.case.size]

    def _along(self, values: Vector, nodes: Vector) -> Vector | str:
        case, grid = self.case, self.case.grid
        times = np.unique(np.concatenate([grid.times.ravel(), grid.bounds]))
        ways = self._pieces.trajectories(values, nodes, times)
        if isinstance(ways, str):
            return ways
        size = np.sqrt(np.mean(ways.found**2, axis=0))
        scale = np.where(case.nominal > 0, case.nominal, size)
        scale[scale == 0] = 1.0
        case.built(scale[: case.nx], scale[case.nx :])
        points = ways.found[np.searchsorted(times, grid.times)]
        stamps = ways.found[np.searchsorted(times, grid.stamps)]
        return case.start(ways.found[0], points, stamps[:, case.nx :])
