"""Branches: solutions of neighbouring points that belong together, where there are several.

Newton's method may step over a pole or a fold to another solution. Where a solution is far from the
one that it came from, the way between them is gone again in small steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.simulate.points import layout as at
from estimica.simulate.points.solution import PointSolution, as_order

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
