"""Termination: the end of a run that the model sets itself."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class Termination:
    """The end that a model sets itself by `terminate(message)`: a run is good up to there.

    `y` are the outputs after what happens at that instant; slopes are at a time that stays, and
    `motion` is how the tuners move it (NaN where no event tells).
    """

    time: float
    message: str
    motion: Vector  # (m,)
    y: Vector  # (ny,)
    slope: Vector  # (ny, m)

    @property
    def text(self) -> str:
        """When and why, for people."""
        return f"ended by terminate() at t = {self.time:.6g}: {self.message}"
