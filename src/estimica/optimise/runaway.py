"""Runaway: a tuner without a bound along which the criteria fall on and on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from estimica.optimise.programme import Programme

Vector = npt.NDArray[np.float64]
FAR = 1e6  # starts, or a factor on a logarithmic scale, from which on a tuner has run away


def runaway(programme: Programme) -> str | None:
    """Why there is no best design: which tuners have run away, and what to do."""
    best = programme.best
    assert best is not None
    unknowns, q = programme.unknowns, best.point.q
    away = _away(programme, q)
    if not away.any() or not _falls(programme, q, away):
        return None
    names = [u.label for u, some in zip(unknowns.items, away, strict=True) if some]
    values = [f"{n} = {unknowns.named(best.point.tuners)[n]:.3g}" for n in names]
    bounds = " and ".join(", ".join(names).rsplit(", ", 1))
    return (
        f"the criteria fall without end, until {', '.join(values)}; set bounds on {bounds}, or "
        "add a criterion that holds against it"
    )


def _away(programme: Programme, q: Vector) -> npt.NDArray[np.bool_]:
    unknowns = programme.unknowns
    logarithmic = np.array([u.log for u in unknowns.items], bool)
    moved = q - unknowns.start
    size = np.where(logarithmic, 1.0, np.maximum(np.abs(unknowns.start), 1.0))
    far = np.abs(moved) > np.where(logarithmic, np.log(FAR), FAR) * size
    open_ = np.where(moved > 0, np.isinf(unknowns.upper), np.isinf(unknowns.lower))
    return np.asarray(far & open_)


def _falls(programme: Programme, q: Vector, away: npt.NDArray[np.bool_]) -> bool:
    """Whether the cost is higher on the way, and no higher farther on where it has a value."""
    start, cost = programme.unknowns.start, programme.best_cost

    def at(share: float) -> float | None:
        moved = np.where(away, start + share * (q - start), q)
        clipped = np.clip(moved, programme.unknowns.lower, programme.unknowns.upper)
        with programme.patient():
            terms = programme.at(clipped)
        return None if terms is None else programme.cost(terms)

    nearer, farther = at(0.1), at(10.0)
    return (nearer is None or nearer > cost) and (farther is None or farther <= cost)
