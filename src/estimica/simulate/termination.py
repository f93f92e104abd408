"""Termination: the end of a run that the model sets itself."""

from __future__ import annotations

from dataclasses import dataclass

from estimica.base.arrays import Vector


@dataclass(frozen=True, eq=False)
class Termination:
    """The end that a model sets itself, as by `terminate(message)`: a run is good up to there.

    `y` are the outputs after what happens at that instant; slopes are at a time that stays, and
    `motion` is how the tuners move it (NaN where no event tells).
    """

    time: float
    message: str
    motion: Vector  # (m,)
    y: Vector  # (ny,)
    slope: Vector  # (ny, m)
    by: str = "terminate()"

    @property
    def text(self) -> str:
        """When and why, for people."""
        why = f": {self.message}" if self.message else ""
        return f"ended by {self.by} at t = {self.time:.6g}{why}"

    def missing(self, times: Vector, samples: int) -> str:
        """What cannot be known of a run with `times`, of which so many were reached."""
        first = times[samples]
        told = f"the sample at t = {first:.6g} comes"
        if len(times) - samples > 1:
            told = f"{len(times) - samples} samples from t = {first:.6g} to {times[-1]:.6g} come"
        return f"{self.text}; {told} after that, where the model says nothing"


def termination_of(run: object) -> Termination | None:
    """How a model has ended a run by itself; None where it has not, or is of a kind that cannot."""
    return getattr(run, "termination", None)
