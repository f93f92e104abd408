"""Terms of a walk: the threshold of one unknown's profile, and when two costs are equal."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: costs that differ by less, relative to the threshold, are equal: so much moves an end by a two
#: thousandth of the interval's half width
SAME = 1e-3


@dataclass(frozen=True)
class Terms:
    """What a walk needs to know: the costs it is measured by, and about how many stops to make."""

    optimum: float  # the lowest cost that is known
    rise: float  # of the cost, at the threshold
    points: int
    estimate: float  # the cost of the estimate
    stepped: bool = False  # whether the unknown acts in steps, so that the cost leaps by itself

    @property
    def limit(self) -> float:
        """The cost at which the interval ends."""
        return self.optimum + self.rise

    @property
    def same(self) -> float:
        """The difference up to which costs are equal."""
        return SAME * self.rise

    def root(self, cost: float) -> float:
        """√(cost − optimum), which is a straight line where the model is linear."""
        return math.sqrt(max(cost - self.optimum, 0.0))

    def share(self, cost: float) -> float:
        """By how many percent of the threshold a cost has risen."""
        return 100 * (cost - self.optimum) / self.rise
