"""Sums on a device: one case whose simulations, data and search stay where a GPU is.

It needs NumPy and a launcher only; unknowns are the tuners of the program, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

from estimica.estimate.batch.coordinates import Array
from estimica.estimate.batch.search import Sums
from estimica.simulate.engine.status import DONE
from estimica.simulate.ensemble.cuda.launcher import Launcher
from estimica.simulate.ensemble.cuda.program import Program
from estimica.simulate.ensemble.cuda.runner import run_normal


@dataclass(frozen=True, eq=False)
class DeviceSums:
    """What a batch search evaluates: a program, and the data of every member or one for all."""

    program: Program
    launcher: Launcher
    value: Array  # (1 or L, N, ny)
    weight: Array  # (N, ny) or (1 or L, N, ny)

    def __call__(self, values: Array, members: Array) -> Sums:
        """The sums at physical values of the members with these numbers."""
        alike = len(self.value) == 1 and (self.weight.ndim == 2 or len(self.weight) == 1)
        which = None if alike else members
        found = run_normal(
            self.program, values, self.value, self.weight, self.launcher, host=False, which=which
        )
        done = found.outcome.status == DONE
        return Sums(found.square, found.gradient, found.information, done)
