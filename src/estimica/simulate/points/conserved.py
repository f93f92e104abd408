"""Conserved quantities: combinations of states whose derivatives cancel, as the total content of
connected tanks. A steady state is then fixed by where they begin, since no equation says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.tuning import Tuning
from estimica.simulate.initial import Initialiser

#: singular values below this part of the largest are rounding of a scaled matrix of some tens of
#: rows (1e-15 each), with room for the derivatives' own errors
_FLAT = 1e-11
#: random points until the rank is believed: a generic point has the full one, bad luck is rare
_TRIALS = 5


@dataclass(frozen=True, eq=False)
class Sample:
    """Some point: unknowns, inputs, modes."""

    Z: Vector
    u: Vector
    d: Vector

    def at(self, derivatives: ca.Function, P: Vector) -> tuple[Vector, Vector]:
        """Equations and their Jacobian."""
        G, J = (np.array(a) for a in derivatives(self.Z, self.u, self.d, P))
        return G.ravel(), J


@dataclass(frozen=True, eq=False)
class Conserved:
    """k rows of derivatives that say nothing new, and the states whose sums are kept instead.

    L x = L x(start), with L (k, n) in echelon form: 1 at its own pivot, 0 at the others'.
    """

    tuning: Tuning
    initialiser: Initialiser
    derivatives: ca.Function  # (Z, u, d, P) -> [f; g] and its Jacobian
    pivots: tuple[int, ...]
    n: int  # states
    sample: Sample  # where L is computed; it is the same everywhere

    @property
    def k(self) -> int:
        """How many quantities are conserved."""
        return len(self.pivots)

    def symbols(self) -> tuple[ca.SX, ca.SX]:
        """L and its value at the start, as further run constants."""
        return ca.SX.sym("L", self.k, self.n), ca.SX.sym("kept", self.k)

    def values(self, values: Vector, u: Vector) -> tuple[Vector, Vector, Vector, Vector]:
        """(L, L x(start), and their derivatives by the tuners) for independent constants."""
        L = self._combinations(values)
        start = self.initialiser.start(values, 0.0, u)
        x, S = start.x[: self.n], start.S[: self.n]
        m = len(self.tuning.wrt)
        rates = np.zeros((m, self.k, self.n))
        for j, c in enumerate(self.tuning.wrt):
            place = self.tuning.index[c.name]
            h = 6e-6 * (abs(values[place]) or 1.0)
            ends = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved[place] += sign * h
                ends.append(self._combinations(moved))
            rates[j] = c.sign * (ends[0] - ends[1]) / (2 * h)
        slopes = L @ S + np.einsum("mkn,n->km", rates, x)
        return L, L @ x, rates, slopes

    def words(self, values: Vector) -> list[str]:
        """Each conserved quantity as a sum of states."""
        names = self.tuning.equations.system.states
        found = []
        for row in self._combinations(values):
            terms = [(c, names[j]) for j, c in enumerate(row) if abs(c) > 1e-9]
            found.append(" + ".join(n if c == 1 else f"{c:.6g}*{n}" for c, n in terms))
        return found

    def _combinations(self, values: Vector) -> Vector:
        """L at given constants."""
        P = self.tuning.prepare(values)[0]
        _, J = self.sample.at(self.derivatives, P)
        left = _left_null(J, self.k)[:, : self.n]
        found = np.asarray(np.linalg.solve(left[:, list(self.pivots)], left), np.float64)
        found[np.abs(found) < 1e-12] = 0.0
        return found


@dataclass(frozen=True, eq=False)
class Balance:
    """What is conserved; or, in words, why the equations do not determine a point."""

    conserved: Conserved | None = None
    open: str = ""


def find_conserved(
    tuning: Tuning, initialiser: Initialiser, derivatives: ca.Function, n: int, u: Vector
) -> Balance:
    """What the states of a model conserve at points with inputs u (N, nu)."""
    values = np.where(np.isnan(tuning.defaults), 1.0, tuning.defaults)
    P, x, _ = tuning.prepare(values)
    points = []
    for sample in _samples(tuning, x[:n], u):
        G, J = sample.at(derivatives, P)
        if np.isfinite(J).all() and np.isfinite(G).all():
            points.append((sample, G, J))
    if not points:
        return Balance()
    ranks = [_rank(J) for _, _, J in points]
    sample, _, best = points[int(np.argmax(ranks))]
    deficit = len(best) - max(ranks)
    if not deficit:
        return Balance()
    left = _left_null(best, deficit)
    open_ = _undetermined(tuning, best)
    constant = all(_annihilates(left, J) for _, _, J in points)
    if not constant or np.linalg.matrix_rank(left[:, :n], 1e-9) < deficit:
        return Balance(open=f"the equations do not determine {open_}")
    if not all(_annihilates(left, G[:, None]) for _, G, _ in points):
        return Balance(open=f"nothing holds {open_} back")
    pivots = _pivots(left[:, :n])
    return Balance(Conserved(tuning, initialiser, derivatives, pivots, n, sample))


def _samples(tuning: Tuning, x: Vector, u: Vector) -> Iterator[Sample]:
    """Points around the start values with inputs that occur, the same ones every time."""
    h, rng = tuning.hybrid, np.random.default_rng(0)
    size = np.concatenate([np.where(x, np.abs(x), 1.0), np.ones(h.nz)])
    base = np.concatenate([x, np.zeros(h.nz)])
    rows = np.unique(np.linspace(0, len(u) - 1, _TRIALS).astype(int))
    for spread in (0.1, 0.3, 1.0, 0.01):
        for k in rows:
            Z = base + spread * size * rng.uniform(0.2, 1.0, size.size)
            yield Sample(Z, u[k], np.round(rng.uniform(0, 1, h.nd)))


def _scaled(J: Vector) -> Vector:
    rows = np.abs(J).max(axis=1, initial=0.0)
    scaled: Vector = J / np.where(rows, rows, 1.0)[:, None]
    columns = np.abs(scaled).max(axis=0, initial=0.0)
    return scaled / np.where(columns, columns, 1.0)


def _rank(J: Vector) -> int:
    s = np.linalg.svd(_scaled(J), compute_uv=False)
    return int((s > _FLAT * max(s[0], 1e-300)).sum())


def _left_null(J: Vector, k: int) -> Vector:
    """Rows that annihilate J, in the units of its own rows."""
    rows = np.abs(J).max(axis=1, initial=0.0)
    U = np.linalg.svd(_scaled(J))[0]
    found: Vector = U[:, len(J) - k :].T / np.where(rows, rows, 1.0)
    return found


def _annihilates(left: Vector, J: Vector) -> bool:
    size = np.abs(left) @ np.abs(J)
    return bool((np.abs(left @ J) <= 1e-8 * (size + 1e-300)).all())


def _pivots(left: Vector) -> tuple[int, ...]:
    """States that can be computed from the others, one for each row."""
    pivots, rest = [], left.copy()
    for i in range(len(rest)):
        j = int(np.argmax(np.abs(rest[i])))
        pivots.append(j)
        for other in range(len(rest)):
            if other != i:
                rest[other] -= rest[other, j] / rest[i, j] * rest[i]
    return tuple(pivots)


def _undetermined(tuning: Tuning, J: Vector) -> str:
    right = np.linalg.svd(_scaled(J))[2][_rank(J) :]
    system = tuning.equations.system
    names = (*system.states, *tuning.equations.torn)
    open_ = [names[j] for j in range(len(names)) if np.abs(right[:, j]).max(initial=0.0) > 1e-6]
    return ", ".join(f"'{n}'" for n in open_[:6]) + (" …" if len(open_) > 6 else "")
