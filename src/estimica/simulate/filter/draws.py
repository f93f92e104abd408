"""Draws: measured series and courses of the states as a model with its noise would give them."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter_variants import drawing, path
from estimica.simulate.engine.options import Pieces
from estimica.simulate.engine.run import RunStart
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.differences.variants import (
    differenced_path,
    differenced_series,
    standing,
)
from estimica.simulate.filter.history import Path
from estimica.simulate.filter.response import FilterResponse
from estimica.simulate.filter.variant import require_done, run_variant


def simulated_series(
    response: FilterResponse | DifferenceResponse,
    seed: int | np.random.Generator = 0,
    theta: Vector | None = None,
    innovations: Vector | None = None,
) -> Vector:
    """Measured values (N, ny) as the filter at `theta` expects them: prediction + √s ε at each
    stamp, which it takes in before the next; NaN where an output has no value.

    `innovations` are ε, standardised: drawn from a normal distribution where none are given. For
    linear models this is the distribution of the data. One run, whatever the number of samples.
    """
    if isinstance(response, DifferenceResponse):
        return differenced_series(response, seed, theta, innovations)
    pieces, ny = response.pieces, len(response.configuration.outputs)
    rows = np.searchsorted(pieces.starts, response.times)
    if innovations is None:
        innovations = np.random.default_rng(seed).standard_normal((len(rows), ny))
    values = pieces.values.copy()
    first = values.shape[1] - 3 * ny
    given = values[rows, first + ny : first + 2 * ny] > 0
    values[rows, first : first + ny] = np.where(given, innovations, 0.0)
    drawn = Pieces(pieces.starts, values, pieces.slopes)
    Y = run_variant(response, drawing, theta, drawn, response.times)
    return np.where(given, Y, np.nan)


def simulated_path(
    response: FilterResponse | DifferenceResponse,
    seed: int | np.random.Generator = 0,
    theta: Vector | None = None,
) -> Path:
    """A draw of the model with noise in its states and its start; nothing is taken in.

    The noise of each interval is drawn where it ends, from its covariance: exact for linear models,
    and to first order within an interval for others.
    """
    if isinstance(response, DifferenceResponse):
        return differenced_path(response, response.times, seed, theta, None)
    return _drawn_path(response, response.pieces, response.times, seed, theta, None)


def standing_at(
    response: FilterResponse | DifferenceResponse, time: float, theta: Vector | None = None
) -> RunStart:
    """Where the filter stands behind a stamp of its record, with unknowns, memories and modes."""
    if isinstance(response, DifferenceResponse):
        none = np.zeros(0)
        return RunStart(standing(response, time, theta), np.zeros((0, 0)), none, none)
    pieces = response.pieces
    count = int(np.searchsorted(pieces.starts, time, side="right"))
    past = Pieces(pieces.starts[:count], pieces.values[:count], pieces.slopes[:count])
    run = response.with_pieces(past, response.times[response.times <= time]).at(theta)
    require_done(run)
    return RunStart(run.x, np.zeros((len(run.x), 0)), run.z, run.d)


def continued_path(
    response: FilterResponse | DifferenceResponse,
    times: Vector,
    start_at: RunStart,
    seed: int | np.random.Generator = 0,
    theta: Vector | None = None,
) -> Path:
    """A draw of how it goes on through `times`, at the first of which the filter stands at
    `start_at`."""
    if isinstance(response, DifferenceResponse):
        return differenced_path(response, times, seed, theta, start_at.x)
    pieces = response.pieces
    first = max(int(np.searchsorted(pieces.starts, times[0], side="right")) - 1, 0)
    values = pieces.values[first:].copy()
    # the piece may have begun before
    values[0] += pieces.slopes[first] * (times[0] - pieces.starts[first])
    starts = pieces.starts[first:].copy()
    starts[0] = times[0]
    rest = Pieces(starts, values, pieces.slopes[first:])
    return _drawn_path(response, rest, times, seed, theta, start_at)


def _drawn_path(
    response: FilterResponse,
    pieces: Pieces,
    times: Vector,
    seed: int | np.random.Generator,
    theta: Vector | None,
    start_at: RunStart | None,
) -> Path:
    c = response.configuration
    n, ny = c.n, len(c.outputs)
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((len(pieces.starts), n))
    still = np.zeros_like(draws)
    one = Pieces(
        pieces.starts,
        np.ascontiguousarray(np.hstack([pieces.values, draws])),
        np.ascontiguousarray(np.hstack([pieces.slopes, still])),
    )
    Y = run_variant(response, path, theta, one, times, start_at=start_at)
    states, outputs, variance = np.split(Y, [n, n + ny], axis=1)
    noise = np.sqrt(variance) * rng.standard_normal(outputs.shape)
    return Path(times, states, outputs, outputs + noise)
