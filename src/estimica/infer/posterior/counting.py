"""Counting: a density that counts what it is asked, and keeps what went wrong in the asking."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.infer.posterior.density import Density, Impossible


class CountedDensity:
    """The density for one chain."""

    def __init__(self, density: Density) -> None:
        self.density = density
        self.evaluations = 0
        self.impossible = 0
        self.reason = ""
        self.fault: BaseException | None = None  # one of ours, which ends the chain

    def at(self, u: Vector) -> tuple[float, Vector]:
        """The density at `u`; a point that cannot be simulated is counted."""
        self.evaluations += 1
        try:
            return self.density.at(np.asarray(u, float))
        except Impossible as error:
            self.impossible += 1
            self.reason = self.reason or str(error)
            raise
        except BaseException as error:
            self.fault = error
            raise

    def value(self, u: Vector) -> float:
        """The density alone; minus infinity where nothing can be simulated."""
        try:
            return self.at(u)[0]
        except Impossible:
            return -np.inf
