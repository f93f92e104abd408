"""Predictions over several samples, from every sample as an origin.

With a horizon of k samples the stretches from origins j, j + k, j + 2k, … cover the record without
overlap, so one run that starts again at each of them predicts from all of these, and k runs from
all origins: the cost is that of k simulations with their covariance, whatever the model.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter_variants import starting_again
from estimica.simulate.engine.options import Pieces
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.differences.variants import differenced_ahead
from estimica.simulate.filter.history import Ahead
from estimica.simulate.filter.response import FilterResponse
from estimica.simulate.filter.smoother import filtered_states
from estimica.simulate.filter.variant import run_variant


def predictions_ahead(
    response: FilterResponse | DifferenceResponse, horizon: int, theta: Vector | None = None
) -> Ahead:
    """All predictions up to `horizon` samples ahead."""
    if isinstance(response, DifferenceResponse):
        return differenced_ahead(response, horizon, theta)
    c = response.configuration
    n, ny = c.n, len(c.outputs)
    size = n * (n + 1) // 2
    stamps = response.times
    N = len(stamps)
    times, run = filtered_states(response, theta)
    late = len(times) - N  # the begin of the record comes before the stamps
    mean, spread = run.filtered.mean[late:], run.filtered.covariance[late:]
    i, j = np.tril_indices(n)
    brought = np.hstack([np.ones((N, 1)), mean, spread[:, i, j]])
    pieces = response.pieces
    rows = np.searchsorted(pieces.starts, stamps)
    found = np.full((3, N, horizon, ny), np.nan)
    place = np.arange(N)
    still = np.zeros((len(pieces.starts), 1 + n + size))
    slopes = np.ascontiguousarray(np.hstack([pieces.slopes, still]))
    for first in range(horizon):
        origins = place[first::horizon]
        own = still.copy()
        own[rows[origins]] = brought[origins]
        values = np.ascontiguousarray(np.hstack([pieces.values, own]))
        one = Pieces(pieces.starts, values, slopes)
        Y = run_variant(response, starting_again, theta, one, stamps)
        after = place > first
        back = (place[after] - first - 1) % horizon
        for k in range(3):
            own_columns = Y[:, k * ny : (k + 1) * ny]
            found[k, place[after], back] = own_columns[after]
            if first == horizon - 1:  # nothing was measured so many samples before the first ones
                for early in range(min(horizon, N)):
                    found[k, early, early:] = own_columns[early]
    return Ahead(stamps, *found)
