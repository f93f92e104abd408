"""Central differences of a function, with steps found from the function itself.

For each parameter a ladder of steps is climbed down once; where two neighbours, both extrapolated
after Richardson, agree best, truncation and the function's own noise are in balance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Vector

#: numbers, or why there are none
Called = Callable[[Vector], Vector | str]

RATIO = 4.0  # between the two steps of an extrapolation
FIRST, RUNGS = 0.1, 11  # the largest step in sizes of a parameter, and how many follow
LEAST = 1e-12  # the relative error that is believed at best


@dataclass(frozen=True, eq=False)
class CentralDifferences:
    """Derivatives by some of the values of a function."""

    call: Called
    places: tuple[int, ...]  # which of the values move
    sizes: Vector  # of those values
    steps: Vector  # in sizes
    error: float  # relative, as found where the steps were chosen

    @classmethod
    def at_start(
        cls, call: Called, places: tuple[int, ...], sizes: Vector, values: Vector
    ) -> CentralDifferences | str:
        """Steps chosen at `values`, or why there are none."""
        steps, errors = [], [LEAST]
        for place, size in zip(places, sizes, strict=True):
            found = _climb(call, place, _size(values[place], size), values)
            if isinstance(found, str):
                return found
            steps.append(found[0])
            errors.append(found[1])
        return cls(call, places, sizes, np.array(steps), max(errors))

    def at(self, values: Vector) -> Vector | str:
        """Derivatives (..., m) at `values`; 4 calls for each."""
        columns = []
        for place, size, step in zip(self.places, self.sizes, self.steps, strict=True):
            found: Vector | str = ""
            for shorter in (1.0, RATIO**-2, RATIO**-4):  # a step may leave the function's domain
                found = _extrapolated(
                    self.call, place, shorter * step * _size(values[place], size), values
                )
                if not isinstance(found, str):
                    break
            if isinstance(found, str):
                return found
            columns.append(found)
        return np.stack(columns, axis=-1)


def _size(value: float, size: float) -> float:
    return max(abs(value), 0.01 * size) if value else size


def _central(call: Called, place: int, step: float, values: Vector) -> Vector | str:
    above, below = values.copy(), values.copy()
    above[place] += step
    below[place] -= step
    high = call(above)
    if isinstance(high, str):
        return high
    low = call(below)
    if isinstance(low, str):
        return low
    return (high - low) / (above[place] - below[place])


def _extrapolated(call: Called, place: int, step: float, values: Vector) -> Vector | str:
    wide = _central(call, place, step, values)
    if isinstance(wide, str):
        return wide
    narrow = _central(call, place, step / RATIO, values)
    if isinstance(narrow, str):
        return narrow
    return narrow + (narrow - wide) / (RATIO**2 - 1)


def _climb(call: Called, place: int, size: float, values: Vector) -> tuple[float, float] | str:
    """(step in sizes, relative error) for one value."""
    slopes = [_central(call, place, FIRST * RATIO**-k * size, values) for k in range(RUNGS)]
    better: list[Vector | None] = []
    for wide, narrow in pairwise(slopes):
        if isinstance(wide, str) or isinstance(narrow, str):
            better.append(None)
        else:
            better.append(narrow + (narrow - wide) / (RATIO**2 - 1))
    found: list[tuple[float, int]] = []
    for k, (one, other) in enumerate(pairwise(better)):
        if one is not None and other is not None:
            scale = float(np.linalg.norm(other)) or 1.0
            found.append((float(np.linalg.norm(one - other)) / scale, k))
    if not found:
        return next((s for s in slopes if isinstance(s, str)), "no step is short enough")
    error, rung = min(found)
    return FIRST * RATIO**-rung, error
