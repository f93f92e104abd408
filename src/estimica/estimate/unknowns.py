"""Unknowns: everything that a fit searches, in coordinates of like size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from estimica.base import magnitude
from estimica.base.arrays import Flags, Vector
from estimica.base.errors import TunerError
from estimica.base.saving.packing import restores
from estimica.study.tuner import Prior

Kind = Literal["tuner", "start", "disturbance"]
DECADE = math.log(10.0)
TWO_DECADES = 2 * DECADE
LOG_TWO = math.log(2.0)
#: of a coordinate whose order of magnitude means nothing, it may be zero: a tenth of its typical
#: size
SMALL = 0.1
ROUNDING = 1e-14  # relative, of coordinates: that of a logarithm and its inverse, and some to spare
#: of a tuner on a logarithmic scale whose lower bound is zero: above the least double, 2e-308, so
#: that products with it keep their digits
SMALLEST = 1e-300


@dataclass(frozen=True)
class Unknown:
    """One quantity to be found: a tuner, or a start value or disturbance of one case."""

    name: str
    kind: Kind
    start: float
    min: float = -math.inf
    max: float = math.inf
    scale: float = 1.0  # its typical size
    log: bool = False
    case: str = ""
    prior: Prior | None = None
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not abs(self.start) <= magnitude.LARGEST:
            raise TunerError(
                "T017", f"'{self.label}': its start {self.start:g} is too large to compute with"
            )
        trouble = magnitude.magnitude_problem(self.scale)
        if trouble:
            raise TunerError("T017", f"'{self.label}': its typical size {self.scale:g} {trouble}")

    @property
    def label(self) -> str:
        """How it is called where all unknowns stand together."""
        if self.kind == "tuner":
            return self.name
        what = "start of" if self.kind == "start" else "disturbance of"
        return f"{what} {self.name} in {self.case}"


def typical_size(start: float, low: float, high: float, nominal: float | None = None) -> float:
    """The nominal value, the start, or the range: the first that is not zero or infinite."""
    if nominal and math.isfinite(nominal):
        return abs(nominal)
    if start != 0:
        return abs(start)
    if math.isfinite(high - low):
        return high - low
    finite = [abs(b) for b in (low, high) if math.isfinite(b) and b != 0]
    return max(finite, default=1.0)


@restores
class Unknowns:
    """The unknowns of a fit; coordinates are value / scale, or log(value) on such a scale."""

    def __init__(self, items: Sequence[Unknown]) -> None:
        self.items = tuple(items)
        self._scale = np.array([u.scale for u in items], float)
        self._log = np.array([u.log for u in items], bool)
        self._any_log = bool(self._log.any())
        self.lower = self._bound([u.min for u in items], -np.inf)
        self.upper = self._bound([u.max for u in items], np.inf)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def start(self) -> Vector:
        """Coordinates at which the search begins."""
        return self.coordinates(np.array([u.start for u in self.items], float))

    def values(self, q: Vector) -> Vector:
        """Physical values at coordinates `q`."""
        if not self._any_log:
            values: Vector = q * self._scale
        else:
            with np.errstate(over="ignore"):
                values = np.where(self._log, np.exp(np.where(self._log, q, 0.0)), q * self._scale)
        return values

    def value(self, k: int, q: float) -> float:
        """The physical value of one unknown at its coordinate."""
        return math.exp(q) if self._log[k] else float(q * self._scale[k])

    def slopes(self, q: Vector) -> Vector:
        """d(value)/d(coordinate)."""
        return np.where(self._log, self.values(q), self._scale) if self._any_log else self._scale

    def coordinates(self, values: Vector) -> Vector:
        """Coordinates of physical values."""
        safe = np.where(self._log, np.maximum(values, SMALLEST), 1.0)
        return np.where(self._log, np.log(safe), values / self._scale)

    def clipped(self, q: Vector) -> Vector:
        """The nearest coordinates within the bounds; what rounding leaves beside one is on it."""
        near = ROUNDING * np.maximum(np.abs(q), 1.0)
        found = np.where(q <= self.lower + near, self.lower, q)
        return np.where(q >= self.upper - near, self.upper, found)

    def reach(self, q: Vector) -> Vector:
        """How far one step may go: tenfold, or two decades on a logarithmic scale."""
        return np.where(self._log, TWO_DECADES, 10 * np.maximum(np.abs(q), 1.0))

    def near(self, q: Vector) -> Vector:
        """Steps that keep an unknown's sign and order of magnitude: half of it, or a factor two."""
        return np.where(self._log, LOG_TWO, 0.5 * np.maximum(np.abs(q), SMALL))

    def mirrored(self, start: Vector, end: Vector) -> Vector:
        """The start with what has moved by a decade or more moved a decade the other way."""
        tiny = np.finfo(float).tiny
        ratio = np.maximum(np.abs(end), tiny) / np.maximum(np.abs(start), tiny)
        up = np.where(self._log, start - end >= DECADE, ratio <= 0.1)
        down = np.where(self._log, end - start >= DECADE, (ratio >= 10) & (start != 0))
        decades = up * 1.0 - down * 1.0
        return self.clipped(np.where(self._log, start + DECADE * decades, start * 10.0**decades))

    def is_beyond(self, q: Vector, size: float) -> Flags:
        """Which unknowns are larger than `size` times their typical one; decades are not far."""
        beyond: Flags = ~self._log & (np.abs(q) > size)
        return beyond

    def is_below(self, q: Vector, size: float) -> Flags:
        """Which unknowns are smaller than `size` times their typical one, but not zero."""
        below: Flags = ~self._log & (np.abs(q) < size) & (q != 0)
        return below

    def named(self, values: Vector) -> dict[str, float]:
        """Values by label."""
        return {u.label: float(v) for u, v in zip(self.items, values, strict=True)}

    def _bound(self, bounds: list[float], none: float) -> Vector:
        coordinates = np.array(bounds, float)
        inside = np.isfinite(coordinates)
        coordinates[inside] = self.coordinates(np.where(inside, coordinates, 1.0))[inside]
        coordinates[~inside] = none
        return coordinates
