"""Region: where two unknowns lie together: the ellipse and the true contour of the likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Vector
from estimica.base.result import Outcome, Result
from estimica.base.view import ViewElement
from estimica.estimate.fit.result import Fit

OTHERS = {
    "profile": "all other unknowns follow",
    "conditional": "all other unknowns stay at their estimates",
}


@dataclass(frozen=True, eq=False, repr=False)
class Region(Result):
    """The joint region of two unknowns, once to first order and once by the cost itself.

    Both are closed curves of as many points, one in each direction from the estimate.
    """

    presenter = "estimica.infer.region.present"

    fit: Fit  # the fit that it is about
    names: tuple[str, str]  # of the two unknowns
    level: float  # the confidence level
    others: str  # what the other unknowns do: "profile" or "conditional"
    centre: Vector  # their estimates
    ellipse: Vector  # (points, 2)
    contour: Vector  # (points, 2); NaN where the cost stays below its threshold
    threshold: float  # by how much the cost may rise
    failed: int  # directions in which a simulation failed
    open: int  # directions without an end: a bound, or a flat valley

    @property
    def closed(self) -> bool:
        """Whether the contour ends in every direction."""
        return not (self.failed or self.open)

    @property
    def text(self) -> str:
        """What it is a region of: of both together, not of each."""
        told = f"joint {show.percent_text(self.level)} confidence region of "
        told += " and ".join(self.names)
        known = len(self.fit.unknowns) > 2 and self.others == "conditional"
        return f"{told} if all other unknowns were known" if known else told

    @property
    def mismatch(self) -> float:
        """The largest distance of contour and ellipse, relative to the ellipse."""
        far = np.linalg.norm((self.contour - self.ellipse) / self._size, axis=1)
        return float(np.nanmax(far)) if np.isfinite(far).any() else math.nan

    @property
    def _size(self) -> Vector:
        return np.asarray(np.abs(self.ellipse - self.centre).max(axis=0))

    def curves(self) -> ViewElement:
        """What `plot` draws: the contour and the ellipse."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended: with no contour at all where every direction failed."""
        if self.failed == len(self.contour):
            return Outcome("failed", "simulations failed in all directions", ok=False)
        return Outcome("done", self.text)
