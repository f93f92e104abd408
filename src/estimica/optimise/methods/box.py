"""Box: the region in which a method without gradients looks, mapped to the unit cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.unknowns import Unknowns
from estimica.optimise.methods.explore import Ranges, latin_hypercube

#: of the box: nearer, a tuner stands at its edge. Chosen: too near to be told from it in a picture
EDGE = 1e-3
#: how far to look where there is no bound, in coordinates of size one. Chosen: a decade, as in
#: `explore`: farther, a population is spread too thin; nearer, a poor start is not left
REACH = 10.0


@dataclass(frozen=True, eq=False)
class Box:
    """Lower and upper corner in coordinates."""

    low: Vector
    high: Vector

    def unit(self, q: Vector) -> Vector:
        """Coordinates as shares of the box."""
        shares: Vector = (q - self.low) / self._width
        return shares

    def coordinates(self, unit: Vector) -> Vector:
        """Coordinates of shares; the corners exactly."""
        q = self.low + unit * self._width
        return np.clip(q, self.low, self.high)

    @property
    def _width(self) -> Vector:
        width = self.high - self.low
        return np.where(width > 0, width, 1.0)


def box_around(unknowns: Unknowns, start: Vector) -> Box:
    """The bounds, and where there is none as far from the start as a search should look."""
    reach = REACH * np.maximum(np.abs(start), 1.0)
    low = np.where(np.isfinite(unknowns.lower), unknowns.lower, start - reach)
    high = np.where(np.isfinite(unknowns.upper), unknowns.upper, start + reach)
    return Box(low, high)


def beside_edge(unknowns: Unknowns, box: Box, q: Vector) -> list[str]:
    """Tuners without a bound that stand where a search has stopped looking."""
    unit = box.unit(q)
    low = np.isinf(unknowns.lower) & (unit < EDGE)
    high = np.isinf(unknowns.upper) & (unit > 1 - EDGE)
    return [u.label for u, some in zip(unknowns.items, low | high, strict=True) if some]


def start_points(unknowns: Unknowns, count: int, seed: int) -> list[Vector]:
    """The given start, then a Latin hypercube within the bounds, by decades where they span some;
    a tuner without a bound is spread over a decade around its start."""
    first = unknowns.start
    ranges = Ranges(unknowns, first)
    sample = latin_hypercube(count - 1, len(first), seed)
    return [first, *map(ranges.coordinates, sample)]


def drawn_start(unknowns: Unknowns, seed: int, number: int, draw: int) -> Vector:
    """In place of a start that cannot be simulated; the same whoever does the work."""
    unit = np.random.default_rng([seed, number, draw]).random(len(unknowns))
    return Ranges(unknowns, unknowns.start).coordinates(unit)
