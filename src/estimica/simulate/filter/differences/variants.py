"""Variants of a filter by differences: what smoothing needs, predictions ahead, draws.

They do what compiled/filter_variants.py does, with other things done at stamps.
"""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.simulate.filter.differences.course import Interval, take_in
from estimica.simulate.filter.differences.mover import Moved, StoppedError
from estimica.simulate.filter.differences.response import DifferenceResponse
from estimica.simulate.filter.history import Ahead, Estimate, ForwardPass, Path


def forward_pass(
    response: DifferenceResponse, theta: Vector | None = None
) -> tuple[Vector, ForwardPass]:
    """(times, the run forward): means and covariances before and after each stamp, and what
    happened between them."""
    values, record = _values(response, theta), response.record
    try:
        course = response.course_at(values)
        x, C = response.begun(values[None])
        keeper = _Keeper(response, x, C)
        course.follow(values[None], x, C, keeper.visit, passed=keeper.passed)
    except StoppedError as stopped:
        raise _stopped(stopped) from None
    begin = float(course.pieces.starts[0])
    times = record.measured.times
    if begin < times[0]:
        times = np.concatenate([[begin], times])
    return times, keeper.found()


class _Keeper:
    """Writes down what the run forward leaves behind, of one row."""

    def __init__(self, response: DifferenceResponse, x: Vector, C: Vector) -> None:
        self._measured, self._given = response.record.measured, response.given
        self.n, self.ny = x.shape[1], self._given.shape[1]
        self._rows: list[tuple[Vector, ...]] = []
        self._renew()
        if response.record.course.rows[0] > 0:  # the begin of the record comes before the stamps
            unseen = (np.zeros(self.ny), np.ones(self.ny), np.zeros(self.ny, bool))
            none = (np.zeros((self.ny, self.n)), np.ones(self.ny))
            self._rows.append((x[0], C[0], x[0], C[0], *unseen, *none, *self._since))

    def _renew(self) -> None:
        n = self.n
        self._since = (np.eye(n), np.zeros((n, n)), np.zeros(n))

    def passed(self, knot: int, interval: Interval) -> None:
        """Φ and the noise since the last time."""
        move, came, grown = self._since
        F = interval.move[0]
        self._since = (
            F @ move, came @ F.T + interval.came[0], grown + interval.grown[0]
        )  # fmt: skip

    def visit(
        self, i: int, seen: Moved, noise: Vector, x: Vector, C: Vector
    ) -> tuple[Vector, Vector]:
        """Values taken in."""
        given = self._given[i]
        taken = take_in(seen, noise, self._measured.values[i], given, x, C)
        self._rows.append(
            (
                taken.mean[0], taken.covariance[0], x[0], C[0], taken.innovations[0],
                taken.variances[0], given, seen.slope[0], noise[0], *self._since,
            )
        )  # fmt: skip
        self._renew()
        return taken.mean, taken.covariance

    def found(self) -> ForwardPass:
        """All of it."""
        m, C, m0, C0, e, s, given, slopes, measuring, move, came, grown = (
            np.stack(column) for column in zip(*self._rows, strict=True)
        )
        return ForwardPass(
            Estimate(m, C), Estimate(m0, C0), e, s, given.astype(bool), slopes, measuring, move,
            came, grown,
        )  # fmt: skip


def differenced_ahead(
    response: DifferenceResponse, horizon: int, theta: Vector | None = None
) -> Ahead:
    """All predictions up to `horizon` samples ahead: as many rows, of which row j begins again at
    stamps j, j + horizon, …"""
    times, run = forward_pass(response, theta)
    N, ny = len(response.times), len(response.configuration.outputs)
    late = len(times) - N
    mean, spread = run.filtered.mean[late:], run.filtered.covariance[late:]
    rows = np.repeat(_values(response, theta)[None], horizon, axis=0)
    seen_at = np.full((3, N, horizon, ny), np.nan)

    def visit(i: int, seen: Moved, noise: Vector, x: Vector, C: Vector) -> tuple[Vector, Vector]:
        sure = np.einsum("rki,rij,rkj->rk", seen.slope, C, seen.slope)
        own = np.stack([seen.value, sure + noise, sure])  # (3, horizon, ny)
        for j in range(min(i, horizon)):  # rows that have begun again before
            seen_at[:, i, (i - j - 1) % horizon] = own[:, j]
        # where nothing was measured so many samples before, it is from the start of the record
        if i < horizon:
            seen_at[:, i, i:] = own[:, horizon - 1][:, None]
        again = i % horizon
        x, C = x.copy(), C.copy()
        x[again], C[again] = mean[i], spread[i]
        return x, C

    try:
        course = response.course_at(rows[0])
        course.follow(rows, *response.begun(rows), visit)
    except StoppedError as stopped:
        raise _stopped(stopped) from None
    return Ahead(response.times, *seen_at)


def differenced_series(
    response: DifferenceResponse,
    seed: int | np.random.Generator,
    theta: Vector | None,
    innovations: Vector | None,
) -> Vector:
    """Measured values (N, ny) as the filter expects them, each taken in before the next."""
    given = response.given
    if innovations is None:
        innovations = np.random.default_rng(seed).standard_normal(given.shape)
    drawn = np.full(given.shape, np.nan)

    def visit(i: int, seen: Moved, noise: Vector, x: Vector, C: Vector) -> tuple[Vector, Vector]:
        for k in np.flatnonzero(given[i]):
            # what is predicted of the value given those before it at this stamp
            here = np.zeros(given.shape[1], bool)
            here[:k] = given[i, :k]
            before = take_in(seen, noise, np.nan_to_num(drawn[i]), here, x, C)
            moved = float(seen.slope[0, k] @ (before.mean - x)[0])
            root = np.sqrt(before.variances[0, k])
            drawn[i, k] = seen.value[0, k] + moved + root * innovations[i, k]
        taken = take_in(seen, noise, np.nan_to_num(drawn[i]), given[i], x, C)
        return taken.mean, taken.covariance

    row = _values(response, theta)[None]
    try:
        course = response.course_at(row[0])
        course.follow(row, *response.begun(row), visit)
    except StoppedError as stopped:
        raise _stopped(stopped) from None
    return drawn


def differenced_path(
    response: DifferenceResponse,
    times: Vector,
    seed: int | np.random.Generator,
    theta: Vector | None,
    start_at: Vector | None,
) -> Path:
    """One course of the states through the stamps `times`, with the noise of each interval drawn
    where it ends; it begins with the record, or at the mean and lower triangle of the covariance
    in `start_at`."""
    row, rng = _values(response, theta)[None], np.random.default_rng(seed)
    n = response.configuration.n
    states: list[Vector] = []
    outputs: list[Vector] = []
    variances: list[Vector] = []

    def visit(i: int, seen: Moved, noise: Vector, x: Vector, C: Vector) -> tuple[Vector, Vector]:
        # what is told is what the course has come to; the noise since the last stamp is drawn now
        x = x + rng.standard_normal(n) @ _root(C[0]).T
        here, own = course.look(i, x, row)
        states.append(x[0])
        outputs.append(here.value[0])
        variances.append(own[0])
        return x, np.zeros_like(C)

    try:
        course = response.course_at(row[0])
        first = 0
        x, C = response.begun(row)
        if start_at is not None:
            first = int(course.rows[np.searchsorted(response.times, times[0])])
            x = start_at[None, :n]
            i, j = np.tril_indices(n)
            C = np.zeros((1, n, n))
            C[0, i, j] = C[0, j, i] = start_at[n:]
        course.follow(row, x, C, visit, first=first)
    except StoppedError as stopped:
        raise _stopped(stopped) from None
    found = np.array(outputs)
    noise = np.sqrt(np.array(variances)) * rng.standard_normal(found.shape)
    return Path(times, np.array(states), found, found + noise)


def standing(response: DifferenceResponse, time: float, theta: Vector | None) -> Vector:
    """Mean and lower triangle of the covariance behind a stamp."""
    times, run = forward_pass(response, theta)
    row = int(np.searchsorted(times, time))
    i, j = np.tril_indices(response.configuration.n)
    return np.concatenate([run.filtered.mean[row], run.filtered.covariance[row][i, j]])


def _root(C: Vector) -> Vector:
    """L with L Lᵀ = C, which may be singular."""
    size, turned = np.linalg.eigh(C)
    return np.asarray(turned * np.sqrt(np.maximum(size, 0.0)))


def _values(response: DifferenceResponse, theta: Vector | None) -> Vector:
    return response.tuners if theta is None else np.asarray(theta, np.float64)


def _stopped(stopped: StoppedError) -> SimulationError:
    return SimulationError(
        "R061", f"the filter does not reach the end of the data: {stopped.text}; look at the fit"
    )
