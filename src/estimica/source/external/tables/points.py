"""Tables of one variable: their points, and what holds between and beyond them.

Smoothness and extrapolation have the meaning (and numbers) of the Modelica Standard Library.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from estimica.flat.expression import Expression


class Smoothness(IntEnum):
    """How values between the points are found."""

    LINEAR = 1
    AKIMA = 2
    CONSTANT = 3
    FRITSCH_BUTLAND = 4
    STEFFEN = 5
    MODIFIED_AKIMA = 6


class Extrapolation(IntEnum):
    """What holds outside the points."""

    HOLD = 1
    LAST_TWO_POINTS = 2
    PERIODIC = 3
    NONE = 4


class Events(IntEnum):
    """At which points of a curve an event is due."""

    ALWAYS = 1
    JUMPS = 2
    NONE = 3


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) in the order of x, which are parameters or numbers.

    `slopes` are given for splines whose slopes are known already. The last point of a `closed`
    curve belongs to the curve, that of others to what lies beyond: their second derivatives differ.
    """

    xs: tuple[Expression, ...]
    ys: tuple[Expression, ...]
    smoothness: Smoothness
    extrapolation: Extrapolation
    events: Events = Events.JUMPS
    slopes: tuple[Expression, ...] | None = None
    closed: bool = True

    @property
    def is_spline(self) -> bool:
        """Whether it has a continuous derivative."""
        return self.slopes is not None or (
            len(self.xs) > 2 and self.smoothness not in (Smoothness.LINEAR, Smoothness.CONSTANT)
        )
