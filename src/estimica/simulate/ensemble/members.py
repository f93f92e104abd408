"""Members: where every run of an ensemble begins, and what came of it. Arrays only, so that they
can be handed to a machine that has a GPU and nothing else of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector

#: a member whose start could not be found has this in place of a status of the engine
NO_START = -1


@dataclass(frozen=True, eq=False)
class Members:
    """The beginnings of L runs: run constants, states and their sensitivities, unknowns, modes.

    A member without a start has NaN in all of them; `unbegun` says why.
    """

    P: Vector  # (L, nP)
    x: Vector  # (L, nx)
    S: Vector  # (L, nx, m)
    z: Vector  # (L, nz)
    d: Vector  # (L, nd)
    unbegun: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.P)


@dataclass(frozen=True, eq=False)
class EnsembleRun:
    """Outputs of every member and their derivatives by the tuners; NaN behind a failure."""

    Y: Vector  # (L, N, ny)
    YS: Vector  # (L, N, ny, m)
    status: Indices  # (L,), of the engine; 0: the run has reached its end
    failures: Mapping[int, str]  # of members that failed, in words
    alone: Flags  # (L,), whether the scalar engine ran the member
    #: what happened when in members that had events, as the engine writes it
    logs: Mapping[int, Vector] = field(default_factory=dict)

    @property
    def ok(self) -> Flags:
        """Which members have all their samples."""
        good: Flags = self.status == 0
        return good


@dataclass(frozen=True, eq=False)
class Measured:
    """What outputs are compared with: one set of values for all members, or one each.

    A weight of zero leaves a sample out, whatever stands there. Weights are those of all members,
    or one set each, too.
    """

    value: Vector  # (1 or L, N, ny)
    weight: Vector  # (N, ny) or (1 or L, N, ny), multiplies the residual

    @property
    def weights(self) -> Vector:
        """The weights as (1 or L, N, ny)."""
        return self.weight if self.weight.ndim == 3 else self.weight[None]

    def of(self, members: Indices | slice) -> Measured:
        """The same for some of the members."""
        value, weight = (a if len(a) == 1 else a[members] for a in (self.value, self.weights))
        return Measured(value, weight)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """Of residuals r = w (y − measured) and J = w ∂y/∂θ, output by output: Σ r², Jᵀr and JᵀJ.

    A member that failed has NaN everywhere.
    """

    square: Vector  # (L, ny)
    gradient: Vector  # (L, ny, m)
    information: Vector  # (L, ny, m, m)
    status: Indices  # (L,)
    failures: Mapping[int, str]

    @property
    def ok(self) -> Flags:
        """Which members have all their samples."""
        good: Flags = self.status == 0
        return good


def normal_equations(run: EnsembleRun, measured: Measured) -> NormalEquations:
    """From outputs and derivatives."""
    w = measured.weights
    seen = w > 0
    r = np.where(seen, w * (run.Y - np.where(seen, measured.value, 0.0)), 0.0)
    J = np.where(seen[..., None], w[..., None] * run.YS, 0.0)
    bad = ~run.ok
    r[bad], J[bad] = np.nan, np.nan
    by_output = np.ascontiguousarray(np.swapaxes(J, 1, 2))  # (L, ny, N, m)
    r = np.ascontiguousarray(np.swapaxes(r, 1, 2))[..., None]  # (L, ny, N, 1)
    turned = np.swapaxes(by_output, 2, 3)
    return NormalEquations(
        (r[..., 0] ** 2).sum(axis=2),
        (turned @ r)[..., 0],
        turned @ by_output,
        run.status,
        run.failures,
    )


def joined_equations(parts: Sequence[NormalEquations]) -> NormalEquations:
    """Those of all members from parts of them, one after the other."""
    failures, first = dict[int, str](), 0
    for part in parts:
        failures |= {first + k: text for k, text in part.failures.items()}
        first += len(part.status)
    return NormalEquations(
        np.concatenate([p.square for p in parts]),
        np.concatenate([p.gradient for p in parts]),
        np.concatenate([p.information for p in parts]),
        np.concatenate([p.status for p in parts]),
        failures,
    )
