"""The vector that a thread integrates: sensitivities that are zero whatever happens are neither
stored nor integrated. Of the drum boiler's 14 sensitivities 6 live.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.compiled.living import living, places


@dataclass(frozen=True)
class Entries:
    """The vector that is integrated: all states, then the living sensitivities tuner by tuner."""

    nx: int
    m: int
    living: tuple[tuple[int, int], ...]  # (state, tuner)

    @property
    def size(self) -> int:
        """Of the whole vector."""
        return self.nx + len(self.living)

    @property
    def columns(self) -> tuple[tuple[int, int, int], ...]:
        """(tuner, begin, end) of the stretches of the vector that belong to one tuner."""
        found = []
        for j in sorted({j for _, j in self.living}):
            places = [self.nx + k for k, (_, tuner) in enumerate(self.living) if tuner == j]
            found.append((j, places[0], places[-1] + 1))
        return tuple(found)

    def groups(self, most: int) -> tuple[tuple[int, int], ...]:
        """Stretches (begin, end) of the vector that hold whole tuners, of `most` entries each where
        a single tuner has no more."""
        found: list[tuple[int, int]] = []
        for _, begin, end in self.columns:
            if found and end - found[-1][0] <= most:
                found[-1] = (found[-1][0], end)
            else:
                found.append((begin, end))
        return tuple(found)

    def matrix(self, symbols: ca.SX) -> ca.SX:
        """S (nx, m) from the symbols of the living entries; the others are zero."""
        S = ca.SX(self.nx, self.m)
        for k, (i, j) in enumerate(self.living):
            S[i, j] = symbols[k]
        return ca.densify(S)

    def picked(self, matrix: ca.SX) -> ca.SX:
        """The living entries of a matrix (nx, m), one after the other."""
        chosen = [matrix[i, j] for i, j in self.living]
        return ca.densify(ca.vertcat(*chosen)) if chosen else ca.SX(0, 1)


def living_entries(f: ca.SX, x0: ca.SX, x: ca.SX, theta: ca.SX, full: bool) -> Entries:
    """The living entries of x' = f(x, θ), x(0) = x0(θ); `full`: all states of a tuner that has one,
    which methods that solve linear equations need."""
    nx, m = x.shape[0], theta.shape[0]
    alive = living(
        places(ca.jacobian(f, x)), places(ca.jacobian(f, theta)), places(ca.jacobian(x0, theta))
    )
    if full:
        alive = np.broadcast_to(alive.any(axis=0), (nx, m))
    return Entries(nx, m, tuple((int(i), int(j)) for j, i in np.argwhere(alive.T)))
