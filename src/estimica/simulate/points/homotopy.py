"""Homotopy at operating points: from the simplified equations of homotopy(…) to the actual ones."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.tuning import Tuning
from estimica.simulate.roots import newton

_SMALLEST_STEP = 1.0 / 256


@dataclass(frozen=True, eq=False)
class Homotopy:
    """(Z, u, d, P, share) -> equations and Jacobian, the actual ones with share 1."""

    function: ca.Function

    def solve(self, Z: Vector, u: Vector, d: Vector, P: Vector) -> Vector | None:
        """The root that the simplified equations lead to from Z; None where the way ends."""
        found = self._at(Z, u, d, P, 0.0)
        done, step = 0.0, 0.25
        while found is not None and done < 1.0:
            share = min(done + step, 1.0)
            trial = self._at(found, u, d, P, share)
            if trial is None:
                step *= 0.5
                if step < _SMALLEST_STEP:
                    return None
            else:
                found, done, step = trial, share, 2 * step
        return found

    def _at(self, Z: Vector, u: Vector, d: Vector, P: Vector, share: float) -> Vector | None:
        def evaluate(U: Vector) -> tuple[Vector, Vector]:
            R, J = (np.array(a) for a in self.function(U, u, d, P, share))
            return R.ravel(), J

        return newton.solve(evaluate, Z)


def homotopy_of(tuning: Tuning) -> Homotopy | None:
    """The homotopy of a model at rest; None where it has none, or where it remembers."""
    h, e = tuning.hybrid, tuning.equations
    if h.nh or h.n_memory or not h.nx + h.nz:
        return None
    G = ca.vertcat(e.f, e.g)
    if not ca.depends_on(G, e.homotopy):
        return None
    Z = ca.vertcat(e.x, e.z)
    G = ca.densify(ca.substitute(G, e.t, ca.SX(0)))
    J = ca.densify(ca.jacobian(G, Z, {"allow_reverse": False}))
    return Homotopy(ca.Function("homotopy", [Z, e.u, e.d, h.P, e.homotopy], [G, J], {"cse": True}))
