"""First trajectories: where the states of a collocated fit begin.

A single simulation where it stays near the data; else one that is put back to what was measured
again and again, so that an unstable model cannot run away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from estimica.base.errors import SimulationError
from estimica.estimate.collocated import CollocatedCase
from estimica.estimate.objective import Objective
from estimica.estimate.segments import SegmentedCase

Vector = npt.NDArray[np.float64]
STEADY = 1e3  # growth of a disturbance over a whole case, up to which one simulation will do
GROWTH = 2.0  # within a piece, above which the pieces are halved
SEGMENTS = 16


def first_trajectories(
    objective: Objective, cases: Sequence[CollocatedCase], q: Vector
) -> Vector | str:
    """The own unknowns of all cases, with their sizes set; a text where no simulation works."""
    values = objective.unknowns.values(q)
    found = []
    first = len(q)
    for case in cases:
        one = _first(case, values)
        if isinstance(one, str):
            return f"case '{case.predictor.record.case.name}': {one}"
        case.first = first
        first += case.size
        found.append(one)
    return np.concatenate(found)


def _first(case: CollocatedCase, values: Vector) -> Vector | str:
    grid = case.grid
    times = np.unique(np.concatenate([grid.times.ravel(), grid.bounds]))
    try:
        way = _way(case, values, times)
    except SimulationError as error:
        return error.message
    if isinstance(way, str):
        return way
    nominal = case.nominal
    size = np.sqrt(np.mean(way**2, axis=0))
    scale = np.where(nominal > 0, nominal, size)
    scale[scale == 0] = 1.0
    case.built(scale[: case.nx], scale[case.nx :])
    at = way[np.searchsorted(times, grid.times)]
    return case.start(way[0], at, way[np.searchsorted(times, grid.stamps)][:, case.nx :])


def _way(case: CollocatedCase, values: Vector, times: Vector) -> Vector | str:
    """States and algebraic unknowns at the times."""
    pieces = SegmentedCase(case.model, case.predictor, 1)
    pieces.size_states(values)
    whole = pieces.fly(values, None)
    if not isinstance(whole, str) and whole.growth <= STEADY:
        return pieces.trajectories(values, whole.nodes[1:], times)
    pieces.recut(SEGMENTS)
    flown = pieces.fly(values, None)
    while isinstance(flown, str) or flown.growth > GROWTH:
        if not pieces.halve():
            break
        flown = pieces.fly(values, None)
    return flown if isinstance(flown, str) else pieces.trajectories(values, flown.nodes[1:], times)
