"""Sums on a device: one case whose simulations, data and search stay where a GPU is.

It needs NumPy and a launcher only; unknowns are the tuners of the program, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from estimica.estimate.batch.coordinates import Array
from estimica.estimate.batch.search import BatchProblem, BatchResult, Sums
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


def half_widths(
    problem: BatchProblem, found: BatchResult, sums: Sums, quantile: Any
) -> tuple[Array, Array]:
    """(standard errors, half widths of 95 % intervals) in coordinates, (L, n), of an `ml` fit.

    As of a single fit: the variance of every noise level is N/(N − p) times that of its residuals,
    p its share of the unknowns, and the quantile is the mean of the t quantiles of the levels,
    weighed by their parts of the variance. `quantile` gives them for degrees of freedom. Every
    block has a noise level of its own, and no unknown is at a bound.
    """
    xp, count = problem.coordinates.xp, problem.scoring.count
    slopes = problem.coordinates.slopes(found.values)
    scaled = sums.information * slopes[:, None, :, None] * slopes[:, None, None, :]
    own = scaled / found.variance[:, :, None, None]  # (L, B, n, n)
    inverse = xp.linalg.inv(found.information)
    share = (own * inverse[:, None]).sum(axis=(2, 3))
    left = count - share
    parts = xp.diagonal(inverse[:, None] @ own @ inverse[:, None], axis1=2, axis2=3)
    parts = parts * (count / left)[:, :, None]
    error = xp.sqrt(parts.sum(axis=1))
    factor = (parts * quantile(left)[:, :, None]).sum(axis=1) / parts.sum(axis=1)
    return error, factor * error
