"""Runaway: a tuner without a bound along which the criteria fall on and on."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.optimise.criteria.score import FailedDesign
from estimica.optimise.problem import OptimisationProblem, away, split

FARTHER = (10.0, 100.0, 1e4, 1e8)  # times as far: a minimum beyond would show


def runaway(programme: OptimisationProblem) -> str | None:
    """Why there is no best design: which tuners have run away, and what to do."""
    best = programme.best
    assert best is not None
    unknowns, q = programme.unknowns, best.point.q
    gone = away(unknowns, q)
    if not gone.any():
        return None
    programme.leashed = False
    if not _falls(programme, q, gone):
        return None
    names = [u.label for u, some in zip(unknowns.items, gone, strict=True) if some]
    values = [f"{n} = {unknowns.named(best.point.tuners)[n]:.3g}" for n in names]
    bounds = " and ".join(", ".join(names).rsplit(", ", 1))
    return (
        f"the criteria still fall at {', '.join(values)} and beyond; set bounds on {bounds}, or "
        "add a criterion that stands against it"
    )


def _falls(programme: OptimisationProblem, q: Vector, gone: Flags) -> bool:
    """Whether the cost is higher on the way, and falls on where it has a value."""
    start, cost = programme.unknowns.start, programme.best_cost

    def at(share: float) -> float | None:
        moved = np.where(gone, start + share * (q - start), q)
        clipped = np.clip(moved, programme.unknowns.lower, programme.unknowns.upper)
        programme.evaluations += 1
        point = programme.designs.at(clipped, slopes=False)  # not to be remembered as the best
        return None if isinstance(point, FailedDesign) else programme.cost(split(point))

    on_the_way = [cost, *(c for c in map(at, FARTHER) if c is not None)]
    nearer = at(0.1)
    return bool((nearer is None or nearer > cost) and (np.diff(on_the_way) <= 0).all())
