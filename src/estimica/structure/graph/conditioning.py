"""Tearing that does not drown in rounding: long chains of solved unknowns may amplify errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from estimica.base.arrays import Vector
from estimica.structure.graph.tearing import Tearing, tear

Factors = Sequence[Mapping[int, float]]
#: chains shorter than this are left alone
SHORT = 12
#: the error that solving by guesses may make, relative to the solution
TOLERANCE = 1e-8


def stable_tearing(
    incidence: Sequence[frozenset[int]],
    solvable: Sequence[frozenset[int]],
    factors: Factors,
) -> Tearing:
    """`tear`, with more unknowns guessed where a trial with known solution comes out wrong.

    `factors[e][v]` are the derivatives of equation e, at some typical point. Unknowns that depend
    on the guesses with a large factor are guessed themselves.
    """
    plan = tear(incidence, solvable)
    if len(plan.inner) < SHORT:
        return plan
    for limit in (1e5, 1e4, 1e3, 1e2, 1e1):
        if _error(plan, factors) <= TOLERANCE:
            return plan
        guessed = sorted({*plan.torn, *_growing(plan, factors, limit)})
        plan = tear(incidence, solvable, guessed)
    return plan


def _growing(plan: Tearing, factors: Factors, limit: float) -> list[int]:
    """Unknowns that change by more than `limit` when the guesses change by about one."""
    n = len(plan.inner) + len(plan.torn)
    directions = np.cos(2.3 * np.arange(4 * n)).reshape(n, 4)
    change = np.zeros((n, 4))
    change[list(plan.torn)] = directions[list(plan.torn)]
    growing = []
    for e, v in plan.inner:
        others, weights = _others(factors[e], v)
        change[v] = -weights @ change[others]
        if np.abs(change[v]).max() > limit:
            growing.append(v)
            change[v] = directions[v]  # from here on it is a guess of its own
    return growing


def _error(plan: Tearing, factors: Factors) -> float:
    """The relative error of solving a linear problem with known solution by the plan."""
    n, n_torn = len(plan.inner) + len(plan.torn), len(plan.torn)
    solution = 1.0 + np.cos(3.7 * np.arange(n))
    # every unknown as an affine function of the guesses: n_torn slopes and a constant
    affine = np.zeros((n, n_torn + 1))
    affine[list(plan.torn), range(n_torn)] = 1.0
    for e, v in plan.inner:
        others, weights = _others(factors[e], v)
        affine[v] = -weights @ affine[others]
        affine[v, -1] += solution[v] + weights @ solution[others]
    reduced = np.zeros((n_torn, n_torn + 1))
    for row, e in enumerate(plan.residuals):
        columns = list(factors[e])
        weights = np.array([factors[e][w] for w in columns])
        reduced[row] = weights @ affine[columns]
        reduced[row, -1] -= weights @ solution[columns]
    try:
        guesses = np.linalg.solve(reduced[:, :-1], -reduced[:, -1])
    except np.linalg.LinAlgError:
        return 0.0  # singular at the trial point, whatever is guessed
    found = affine[:, :-1] @ guesses + affine[:, -1]
    return float(np.abs(found - solution).max() / np.abs(solution).max())


def _others(row: Mapping[int, float], v: int) -> tuple[list[int], Vector]:
    """The other unknowns of an equation, with their factors relative to that of v."""
    others = [w for w in row if w != v]
    return others, np.array([row[w] for w in others]) / row[v]
