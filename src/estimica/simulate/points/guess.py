"""PointGuess: where the search for operating points begins, as the study says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean
from estimica.compiled.tuning import Tuning
from estimica.flat.system import FlatSystem, Kind
from estimica.simulate.roots import newton
from estimica.structure.parameters import is_parameter

#: unknowns of other sizes, where a guessed variable has no value at their start values; the nearest
#: to their scale first, each a search of Newton's method (chosen)
_SIZES = (1.0, 1e-2, 1e2, 1e-4, 1e4)


@dataclass(frozen=True, eq=False)
class PointGuess:
    """(Z, u, d, P) -> how far variables are from their guesses, and its Jacobian by Z."""

    function: ca.Function
    moved: tuple[int, ...]  # the unknowns that may move for it
    decided: tuple[int, ...]  # ... of which the guesses say something
    scales: Vector

    def applied(self, Z: Vector, u: Vector, d: Vector, P: Vector) -> Vector:
        """Unknowns near Z at which the variables have their guessed values; Z where none are."""
        columns = list(self.moved)

        def evaluate(part: Vector) -> tuple[Vector, Vector]:
            whole = Z.copy()
            whole[columns] = part
            R, J = (np.array(a) for a in self.function(whole, u, d, P))
            return R.ravel(), J[:, columns]

        zeros, sizes = Z[columns] == 0.0, self.scales[columns]
        for start in (Z[columns], *(np.where(zeros, f * sizes, Z[columns]) for f in _SIZES)):
            found = newton.solve(evaluate, start)
            if found is not None:
                moved = Z.copy()
                moved[columns] = found
                return moved
        return Z


def guess_of(
    tuning: Tuning, guess: Mapping[str, float], scales: Vector, *, states_move: bool
) -> PointGuess | None:
    """The guesses of a study; None where there are none that say something."""
    if not guess:
        return None
    h, e = tuning.hybrid, tuning.equations
    n = len(e.system.states)
    fixed = [name for name in guess if name in e.system.states and not states_move]
    if fixed:
        raise ModelError(
            "M175",
            f"guess '{fixed[0]}': it is a state, and a simulation begins at its start value; set "
            "that instead, or use mode 'steady'",
        )
    off = ca.vertcat(*(e.value(name) - value for name, value in guess.items()))
    off = ca.substitute(off, ca.vertcat(e.homotopy, e.t), ca.DM([1, 0]))
    if h.nh:
        off = ca.substitute(off, h.w, h.delayed)
    Z = ca.vertcat(h.x[:n], h.z)
    J = ca.jacobian(off, Z, {"allow_reverse": False})
    decided = sorted({int(i) for i in J.sparsity().get_triplet()[0]})
    if not decided:  # all of them are computed without a search
        return None
    found = [ca.densify(off[decided]), ca.densify(J[decided, :])]
    function = ca.Function("guess", [Z, h.u, h.d, h.P], found)
    moved = range(0 if states_move else n, int(Z.shape[0]))
    columns = sorted({int(j) for j in J.sparsity().get_triplet()[1]} & set(moved))
    return PointGuess(function, tuple(moved), tuple(columns), scales)


def require_unknowns(flat: FlatSystem, names: Sequence[str]) -> None:
    """Guesses are of variables; those that a case gives as inputs are not unknowns there, and left
    alone."""
    known = [v.name for v in flat.variables if v.kind is Kind.REAL and not is_parameter(v)]
    for name in names:
        variable = flat.by_name.get(name)
        if variable is None:
            raise ModelError(
                "M175", f"guess '{name}': there is no such variable{did_you_mean(name, known)}"
            )
        if is_parameter(variable):
            raise ModelError(
                "M175", f"guess '{name}': it is a parameter, not an unknown; leave the guess out"
            )


# ----------------------------------------------------------------
# Homotopy at operating points: from the simplified equations of homotopy(…) to the actual ones.


_SMALLEST_STEP = 1.0 / 256  # of the way, after six halvings of the first one (chosen)


@dataclass(frozen=True, eq=False)
class Homotopy:
    """(Z, u, d, P, share) -> equations and Jacobian, the actual ones with share 1."""

    function: ca.Function

    def solve(self, Z: Vector, u: Vector, d: Vector, P: Vector) -> Vector | None:
        """The root that the simplified equations lead to from Z; None where the way ends."""
        root = self._at(Z, u, d, P, 0.0)
        done, step = 0.0, 0.25
        while root is not None and done < 1.0:
            share = min(done + step, 1.0)
            trial = self._at(root, u, d, P, share)
            if trial is None:
                step *= 0.5
                if step < _SMALLEST_STEP:
                    return None
            else:
                root, done, step = trial, share, 2 * step
        return root

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
