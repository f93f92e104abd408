"""Smoothed states: what all the data tell of the states and of the noise in them, not only those
up to a stamp.

The pass back is that of Bryson and Frazier: with λ = −C⁻⁻¹ (smoothed − predicted) and Λ its
counterpart of covariances,
    before values come in  λ = −hᵀ e/s + (I − K h)ᵀ λ',   Λ = hᵀ h/s + (I − K h)ᵀ Λ' (I − K h),
    back over an interval  λ' = Φᵀ λ,                      Λ' = Φᵀ Λ Φ.
It gives what the equations of Rauch, Tung and Striebel give and inverts no covariance, so that
states without noise and start values known exactly are no trouble.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.compiled.filter_variants import smoothing
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.differences.variants import forward_pass
from estimica.simulate.filter.history import Estimate, ForwardPass, StateHistory
from estimica.simulate.filter.response import FilterResponse
from estimica.simulate.filter.variant import run_variant


def filtered_states(
    response: FilterResponse | DifferenceResponse, theta: Vector | None = None
) -> tuple[Vector, ForwardPass]:
    """(times, the run forward): means and covariances before and after each stamp."""
    if isinstance(response, DifferenceResponse):
        return forward_pass(response, theta)
    c = response.configuration
    n, ny = c.n, len(c.outputs)
    begin = float(response.pieces.starts[0])
    times = response.times
    if begin < times[0]:
        times = np.concatenate([[begin], times])
    Y = run_variant(response, smoothing, theta, response.pieces, times, _tolerances(response))
    size = n * (n + 1) // 2
    sizes = [n, size, ny, ny, n, size, ny * n, ny, n * n, n * n, n]
    m, C, e, s, m0, C0, slopes, measuring, move, came, grown = np.split(
        Y, np.cumsum(sizes)[:-1], axis=1
    )
    rows = np.searchsorted(response.pieces.starts, times)
    given = response.pieces.values[rows, -2 * ny : -ny if ny else None] > 0

    def matrices(v: Vector, rows: int) -> Vector:  # stored column by column
        return np.swapaxes(v.reshape(len(times), n, rows), 1, 2)

    return times, ForwardPass(
        Estimate(m, symmetric(C, n)), Estimate(m0, symmetric(C0, n)), e, s, given,
        matrices(slopes, ny), measuring, matrices(move, n), matrices(came, n), grown,
    )  # fmt: skip


def smoothed_states(
    response: FilterResponse | DifferenceResponse, theta: Vector | None = None
) -> StateHistory:
    """What all values of a record tell of its states."""
    times, run = filtered_states(response, theta)
    if isinstance(response, FilterResponse):
        # Φ, R and V count from the last stamp with a value on: one without would count them twice
        late = len(times) - len(response.times)
        assert run.given[late:].any(axis=1).all(), "a stamp without values"
    behind, spread, before, spread_before = _passed_back(run)
    C = run.filtered.covariance
    smoothed = Estimate(run.filtered.mean - np.einsum("kij,kj->ki", C, behind), C - C @ spread @ C)
    R, V = run.came[1:], run.grown[1:]
    left = R @ spread_before[1:] @ np.swapaxes(R, 1, 2)
    own = -left
    own[:, range(V.shape[1]), range(V.shape[1])] += V
    added = Estimate(-np.einsum("kij,kj->ki", R, before[1:]), own)
    return StateHistory(
        times, response.configuration.states, run.predicted, run.filtered, smoothed, added, V
    )


def symmetric(c: Vector, n: int) -> Vector:
    """(M, n, n) from lower triangles, row by row."""
    C = np.zeros((len(c), n, n))
    i, j = np.tril_indices(n)
    C[:, i, j] = C[:, j, i] = c
    return C


def _passed_back(run: ForwardPass) -> tuple[Vector, Vector, Vector, Vector]:
    """(λ', Λ') behind the values of each time and (λ, Λ) before them."""
    first, second, kept = _values(run)
    M, n = run.filtered.mean.shape
    behind, before = np.zeros((M, n)), np.zeros((M, n))
    spread, spread_before = np.zeros((M, n, n)), np.zeros((M, n, n))
    kept_back, moved_back = (np.ascontiguousarray(np.swapaxes(a, 1, 2)) for a in (kept, run.move))
    one, two = np.zeros(n), np.zeros((n, n))
    for k in range(M - 1, -1, -1):
        behind[k], spread[k] = one, two
        one = first[k] + kept_back[k] @ one
        two = second[k] + kept_back[k] @ two @ kept[k]
        before[k], spread_before[k] = one, two
        one, two = moved_back[k] @ one, moved_back[k] @ two @ run.move[k]
    return behind, spread, before, spread_before


def _values(run: ForwardPass) -> tuple[Vector, Vector, Vector]:
    """Of the values at each time: Σ −hᵀ e/s, Σ hᵀ h/s and Π (I − K h), one after the other."""
    M, n = run.filtered.mean.shape
    first, second = np.zeros((M, n)), np.zeros((M, n, n))
    kept = np.broadcast_to(np.eye(n), (M, n, n)).copy()
    C = run.predicted.covariance
    for k in range(run.e.shape[1]):
        h, s, r = run.slopes[:, k], run.s[:, k], run.measuring[:, k]
        weight = run.given[:, k] / s
        seen = np.einsum("ki,kij->kj", h, kept)
        first -= (weight * run.e[:, k])[:, None] * seen
        second += weight[:, None, None] * seen[:, :, None] * seen[:, None, :]
        gain = weight[:, None] * np.einsum("kij,kj->ki", C, h)
        one = np.eye(n) - gain[:, :, None] * h[:, None, :]
        C = one @ C @ np.swapaxes(one, 1, 2) + (r[:, None, None] * gain[:, :, None]) * gain[:, None]
        kept = one @ kept
    return first, second, kept


def _tolerances(response: FilterResponse) -> Vector:
    """Of Φ in the sizes of the states, of R and V as of the covariance; what is kept is still."""
    c = response.configuration
    n, ny = c.n, len(c.outputs)
    size = n * (n + 1) // 2
    atol = np.asarray(response.options.atol, float)
    own, spread = atol[:n], symmetric(atol[None, n : n + size], n)[0]
    move = float(own.min(initial=np.inf)) * own[:, None] / own[None, :]
    still = np.ones(n + size + ny * n + ny + 2 * n * n + n)
    return np.concatenate([move.T.ravel(), spread.ravel(), np.diag(spread), still])
