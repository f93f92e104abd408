"""PointSolution: all points at one set of run constants, as the compiled loop fills it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.compiled.llvm.machine_code import SETUP
from estimica.simulate.points import layout as at
from estimica.simulate.points.loop import points_unit
from estimica.simulate.points.system import PointSystem

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, eq=False)
class PointSolution:
    """Unknowns Z (N, nz), modes d (N, nd), outputs and derivatives, and how each point ended."""

    system: PointSystem
    P: Vector
    u: Vector  # (N, nu)
    Z: Vector
    d: Vector
    Y: Vector
    YS: Vector  # (N, ny, m)
    W: Vector  # (N, nz, m): dZ/dtheta
    status: Indices
    sign: Indices  # of the determinant of the Jacobian, where solved: a branch keeps it

    @staticmethod
    def of(system: PointSystem, P: Vector, u: Vector, Z: Vector, d: Vector) -> PointSolution:
        """Points that begin at Z, d, nothing solved yet."""
        n, m, ny = len(u), system.m, len(system.outputs)
        return PointSolution(
            system,
            np.ascontiguousarray(P),
            np.ascontiguousarray(u),
            np.ascontiguousarray(Z),
            np.ascontiguousarray(d),
            np.empty((n, ny)),
            np.empty((n, ny, m)),
            np.zeros((n, system.nz, m)),
            np.full(n, at.NOT_SOLVED, np.int64),
            np.zeros(n, np.int64),
        )

    def only_at(self, points: Indices) -> PointSolution:
        """Some of the points, as they stand, nothing solved yet."""
        u, Z, d = self.u[points], self.Z[points], self.d[points]
        return PointSolution.of(self.system, self.P, u, Z, d)

    def solve(self, order: Indices | None = None, parent: Indices | None = None) -> int:
        """Solve the points of `order` in place, each from its parent's solution; how many failed.

        Modes are those of `d`; see `implied_modes`.
        """
        return self._run(at.SOLVE, order, parent, self.d)

    def evaluate(self, order: Indices) -> int:
        """Outputs and derivatives with the unknowns as they stand; how many failed."""
        return self._run(at.EVALUATE, order, None, self.d)

    def implied_modes(self, order: Indices) -> Vector:
        """Modes and logicals that the values of the points imply."""
        found = self.d.copy()
        self._run(at.ASK_MODES, order, None, found)
        return found

    def checks(self) -> Vector:
        """What must not be negative at each point."""
        found = np.zeros((len(self.u), self.system.n_checks))
        if found.size:
            self._run(at.ASK_CHECKS, None, None, found)
        return found

    def outside(self) -> Flags:
        """Which of the solved points violate a min or max of the model."""
        slack = np.zeros((len(self.u), self.system.n_limits))
        solved = self.status == at.SOLVED
        if slack.size:
            self._run(at.ASK_LIMITS, as_order(np.flatnonzero(solved)), None, slack)
        found: Flags = (slack < 0).any(axis=1) & solved
        return found

    def _run(
        self, what: int, order: Indices | None, parent: Indices | None, results: Vector
    ) -> int:
        s, n = self.system, len(self.u)
        order = np.arange(n, dtype=np.int64) if order is None else order
        header, nnz = at.HEADER, len(s.nonzeros[0])
        sizes = [len(order), n, n, n, nnz, s.nz]
        offsets = header + np.concatenate([[0], np.cumsum(sizes)])
        iw = np.zeros(int(offsets[-1]), np.int64)
        kinds = [at.I_ORDER, at.I_PARENT, at.I_STATUS, at.I_SIGN, at.I_PLACE, at.I_PIVOT]
        iw[kinds] = offsets[:-1]
        iw[at.N_ORDER] = len(order)
        iw[offsets[0] : offsets[1]] = order
        iw[offsets[1] : offsets[2]] = -1 if parent is None else parent
        iw[offsets[2] : offsets[3]] = self.status
        iw[offsets[3] : offsets[4]] = self.sign
        iw[offsets[4] : offsets[5]] = s.nonzeros[0] * s.nz + s.nonzeros[1]
        iw[[at.N, at.NZ, at.NU, at.ND, at.NY, at.M]] = n, s.nz, s.nu, s.nd, len(s.outputs), s.m
        iw[[at.NNZ, at.LINEAR, at.SENS]] = nnz, s.linear, s.m > 0
        iw[[at.N_CHECKS, at.N_LIMITS]] = s.n_checks, s.n_limits
        code = s.code.addresses
        names = ("residual", "rates", "output", "modes", "checks", "true", "limits")
        iw[at.RESIDUAL : at.RESIDUAL + len(names)] = [code[name] for name in names]
        saved = np.zeros(max(s.code.n_constants, 1))
        work = np.empty(9 * s.nz + nnz + s.nz * s.nz + 1)
        scales = np.ascontiguousarray(s.scales)
        for place, array in (
            (at.ALL_Z, self.Z), (at.ALL_U, self.u), (at.ALL_D, self.d), (at.NEW_D, results),
            (at.ALL_C, results), (at.ALL_Y, self.Y), (at.ALL_YS, self.YS), (at.ALL_W, self.W),
            (at.SCALE, scales), (at.WORK, work), (at.P, self.P), (at.SAVED, saved),
        ):  # fmt: skip
            iw[place] = array.ctypes.data
        if s.code.n_constants:
            result = np.array([saved.ctypes.data], np.int64)
            _PROTOTYPE(code[SETUP])(iw.ctypes.data, result.ctypes.data)
        failed = int(points_unit.run(iw.ctypes.data, work.ctypes.data, 0.0, 0.0, what, 0))
        self.status[:] = iw[offsets[2] : offsets[3]]
        self.sign[:] = iw[offsets[3] : offsets[4]]
        return failed


def nearest_order(u: Vector, start: int = 0) -> tuple[Indices, Indices]:
    """(order, parent): from point to nearest point, so that solutions can be carried on."""
    n = len(u)
    parent = np.full(n, -1, np.int64)
    spread = np.ptp(u, axis=0) if n and u.shape[1] else np.zeros(0)
    moving = spread > 0
    scaled = u[:, moving] / spread[moving]
    if n > _MANY or not moving.any():
        order = np.lexsort(scaled.T[::-1]).astype(np.int64) if moving.any() else np.arange(n)
        order = np.ascontiguousarray(order, np.int64)
        parent[order[1:]] = order[:-1]
        return order, parent
    distance = np.full(n, np.inf)
    left = np.ones(n, bool)
    found, k = [], start
    for _ in range(n):
        found.append(k)
        left[k] = False
        away = ((scaled - scaled[k]) ** 2).sum(axis=1)
        nearer = left & (away < distance)
        distance[nearer] = away[nearer]
        parent[nearer] = k
        k = int(np.argmin(np.where(left, distance, np.inf)))
    return np.array(found, np.int64), parent


_MANY = 3000


def single_order(k: int) -> Indices:
    """One point as an order."""
    return np.array([k], np.int64)


def as_order(points: Sequence[int] | Indices) -> Indices:
    """Points as an order."""
    return np.ascontiguousarray(points, np.int64)


# ----------------------------------------------------------------
# Branches: solutions of neighbouring points that belong together, where there are several.
#
# Newton's method may step over a pole or a fold to another solution. Where a solution is far from
# the one that it came from, the way between them is gone again in small steps.


_FAR = 0.5  # of the larger of two values: from here on a step is looked at
_FIRST_STEP = 0.125  # of the way, where it is gone again
_HALVINGS = 30  # of steps on one way: tuners may fall by as many powers of two
_ROUNDS = 20  # corrections that make further ones necessary


@dataclass(frozen=True, eq=False)
class Origins:
    """Solved points (P, u, Z, sign) from which others came, one for each of them."""

    P: Vector
    u: Vector
    Z: Vector
    sign: Indices

    @staticmethod
    def of(solution: PointSolution, points: Indices) -> Origins:
        """Points of a solution, in this order."""
        s = solution
        return Origins(s.P, s.u[points], s.Z[points], s.sign[points])


def keep_branches(solution: PointSolution, order: Indices, parent: Indices) -> None:
    """Points that left the branch of their parent are brought back, with those that follow them."""
    if solution.system.linear:
        return
    child = order[parent[order] >= 0]
    accepted = np.zeros(len(solution.u), bool)
    for _ in range(_ROUNDS):
        above = parent[child]
        both = (solution.status[child] == at.SOLVED) & (solution.status[above] == at.SOLVED)
        points = child[both & ~accepted[child]]
        scales = solution.system.scales
        points = points[is_far(solution.Z[points], solution.Z[parent[points]], scales)]
        ok, Z = follow_branches(solution, points, Origins.of(solution, parent[points]))
        left = ok & _differ(solution, points, Z)
        accepted[points[~left]] = True
        if not left.any():
            return
        moved = np.zeros(len(solution.u), bool)
        moved[points[left]] = True
        again = _descendants(order, parent, moved)
        first = np.array([k for k in points[left] if not again[k]], np.int64)
        rows = {int(k): i for i, k in enumerate(points)}
        solution.Z[first] = Z[[rows[int(k)] for k in first]]
        solution.solve(as_order(first))
        accepted[again] = False
        solution.solve(as_order(order[again[order]]), parent)


def is_far(here: Vector, there: Vector, scales: Vector) -> Flags:
    """Which rows of unknowns are far from those that they came from."""
    allowed = np.maximum(np.abs(here), np.abs(there))
    allowed *= _FAR
    allowed += 1e-9 * scales
    return np.asarray((np.abs(here - there) > allowed).any(axis=1))


def follow_branches(
    solution: PointSolution, points: Indices, origins: Origins
) -> tuple[Flags, Vector]:
    """The unknowns of points on the branches of their origins, and which of them got there.

    All go together, in steps that are near and keep the sign for each; where steps are as small as
    they may be, those that pass through zero may go on, and those without solution stay behind.
    """
    o, P, u, d = origins, solution.P, solution.u[points], solution.d[points]
    Z, ok = o.Z.copy(), np.ones(len(points), bool)
    done, step, halvings = 0.0, _FIRST_STEP, 0
    while done < 1.0 and ok.any():
        share = min(done + step, 1.0)
        on = np.flatnonzero(ok)
        trial = PointSolution.of(
            solution.system,
            o.P + share * (P - o.P),
            o.u[on] + share * (u[on] - o.u[on]),
            Z[on],
            d[on],
        )
        trial.solve()
        good = (trial.status == at.SOLVED) & (trial.sign == o.sign[on])
        if halvings < _HALVINGS and (~good | is_far(trial.Z, Z[on], solution.system.scales)).any():
            step, halvings = 0.5 * step, halvings + 1
            continue
        ok[on[~good]] = False
        Z[on[good]] = trial.Z[good]
        done, step = share, 2 * step
    return ok, Z


def _differ(solution: PointSolution, points: Indices, Z: Vector) -> Flags:
    here = solution.Z[points]
    size = np.maximum(np.abs(here), np.abs(Z)) + solution.system.scales
    return np.asarray((np.abs(here - Z) > 1e-6 * size).any(axis=1))


def _descendants(order: Indices, parent: Indices, moved: Flags) -> Flags:
    """Points some ancestor of which has moved."""
    below = np.zeros(len(moved), bool)
    for k in order:
        p = parent[k]
        if p >= 0:
            below[k] = below[p] or moved[p]
    return below
