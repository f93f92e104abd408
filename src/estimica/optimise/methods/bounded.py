"""Bounded: a design's criteria as smooth functions that must not be positive, or must be zero.

    w_i(q) - α ≤ 0  of what is made small,   w_i(q) - 1 ≤ 0  or  = 0  of what is limited

and for a settling time, which jumps, that its signal stays within the band after α·demand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.optimise.criteria.score import DesignPoint
from estimica.optimise.problem import Evaluation


@dataclass(frozen=True, eq=False)
class ConstraintValues:
    """Values and derivatives by (q, α), or by q alone."""

    at_most: Vector
    at_most_slopes: Vector
    limited: Vector  # 1 where it is a limit, 0 where it is bounded by α
    equal: Vector
    equal_slopes: Vector


def constraint_values(terms: Evaluation, alpha: float | None) -> ConstraintValues:
    """All that is bounded at `alpha`; without one only what is limited."""
    point = terms.counted
    rows: list[tuple[Vector, Vector]] = []
    if alpha is not None:
        rows += [_at_most(point, k, alpha, 1.0) for k in point.of_role("minimise")]
    free = sum(len(r[0]) for r in rows)
    by_alpha = None if alpha is None else 0.0
    rows += [_at_most(point, k, 1.0, by_alpha) for k in point.of_role("at-most")]
    width = len(point.q) + (alpha is not None)
    values = np.concatenate([r[0] for r in rows]) if rows else np.zeros(0)
    slopes = np.vstack([r[1] for r in rows]) if rows else np.zeros((0, width))
    equal = terms.equality_slopes
    assert equal is not None
    if alpha is not None:
        equal = np.hstack([equal, np.zeros((len(equal), 1))])
    limited = np.append(np.zeros(free), np.ones(len(values) - free))
    return ConstraintValues(values, slopes, limited, terms.equalities, equal)


def _at_most(
    point: DesignPoint, k: int, level: float, by_level: float | None
) -> tuple[Vector, Vector]:
    """What must not be positive for score `k` to be at most `level` demands."""
    assert point.slopes is not None
    kept = point.kept.get(k)
    if kept is None:
        values = point.weighted[k : k + 1] - level
        slopes, rates = point.weighted_slopes[k : k + 1], np.full(1, -1.0)
    else:
        demand = point.places[k].demand
        found = kept.below(level * demand, demand)
        assert point.factors is not None
        values, slopes = found.values, found.slopes * point.factors
        rates = found.rates * demand
    if by_level is None:
        return values, slopes
    return values, np.hstack([slopes, by_level * rates[:, None]])


def eased(found: ConstraintValues, by: float) -> ConstraintValues:
    """The same with limits that may be exceeded by so many demands, which is one more variable."""
    column = -found.limited[:, None]
    return replace(
        found,
        at_most=found.at_most - by * found.limited,
        at_most_slopes=np.hstack([found.at_most_slopes, column]),
        equal_slopes=np.hstack([found.equal_slopes, np.zeros((len(found.equal), 1))]),
    )
