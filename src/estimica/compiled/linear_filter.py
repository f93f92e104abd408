"""LinearNoise: a model whose states, inputs and outputs are linear, with its noise, as matrices.

x' = A x + B u + c, y = H x + D u + b, all of them constants of a run; noise that does not depend on
states or inputs. Its filter needs no integration: steps of one length have one matrix exponential.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter import StateNoise
from estimica.compiled.hybrid import HybridSystem


@dataclass(frozen=True, eq=False)
class Matrices:
    """The matrices at some values of the constants, each with its derivatives by the tuners in
    front: index 0 is the matrix itself, index j + 1 its derivative by tuner j."""

    A: Vector  # (1 + m, n, n)
    B: Vector  # (1 + m, n, nu)
    c: Vector  # (1 + m, n)
    H: Vector  # (1 + m, ny, n)
    D: Vector  # (1 + m, ny, nu)
    b: Vector  # (1 + m, ny)
    r: Vector  # (1 + m, ny), variances of measuring
    q: Vector  # (1 + m, n), what noise adds to variances in a second


class LinearNoise:
    """Gives the matrices at values of the run constants."""

    def __init__(self, h: HybridSystem, parts: list[ca.SX]) -> None:
        self.m = h.ntheta
        self._shapes = [p.shape for p in parts]
        flat = ca.vertcat(*(ca.vec(ca.densify(p)) for p in parts))
        rates = ca.jacobian(flat, h.P) @ h.seed if self.m else ca.SX(flat.shape[0], 0)
        self._function = ca.Function(
            "matrices", [h.P], [ca.densify(flat), ca.densify(rates)], {"cse": True}
        )

    def at(self, P: Vector) -> Matrices:
        """The matrices, and how they move with the tuners."""
        flat, rates = self._function(P)
        every = np.hstack([np.array(flat), np.array(rates)]).T  # (1 + m, size)
        found, begin = [], 0
        for rows, columns in self._shapes:
            size = rows * columns
            part = (
                every[:, begin : begin + size].reshape(len(every), columns, rows).transpose(0, 2, 1)
            )
            found.append(np.ascontiguousarray(part))
            begin += size
        A, B, c, H, D, b, r, q = found
        return Matrices(A, B, c[:, :, 0], H, D, b[:, :, 0], r[:, :, 0], q[:, :, 0])


def linear_noise(h: HybridSystem, noise: StateNoise) -> LinearNoise | None:
    """The model as matrices, or None where it is not linear in states and inputs."""
    if h.nz or h.nd or h.nh or h.n_memory or h.constraints.shape[0] or not h.nx:
        return None
    if h.checks.shape[0] or h.endings.shape[0]:
        return None  # looked at along the way
    moving = ca.vertcat(h.x, h.u)
    nothing = ca.SX.zeros(moving.shape[0])
    f, y = h.f, noise.outputs
    rest = [ca.substitute(e, moving, nothing) for e in (f, y)]
    A, B, H, D = (ca.jacobian(e, s) for e in (f, y) for s in (h.x, h.u))
    parts = [A, B, rest[0], H, D, rest[1], noise.sigmas**2, noise.diffusion**2]
    every = ca.vertcat(*(ca.vec(ca.densify(p)) for p in parts))
    if ca.depends_on(every, ca.vertcat(moving, h.t)):
        return None
    return LinearNoise(h, parts)
