"""Smoothed states, predictions over several samples and draws, against dense Gaussians."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.linalg import expm
from tests.simulate.test_filter import (
    IMPLICIT,
    NONLINEAR,
    ROOM,
    TIGHT,
    VALUES,
    Data,
    data,
    filter_noise,
    linear,
)

import estimica as es
from estimica.base.arrays import Vector
from estimica.compiled.experiment import Experiment
from estimica.simulate.filter.ahead import predictions_ahead
from estimica.simulate.filter.draws import simulated_path, simulated_series
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.filter.response import FilterResponse
from estimica.simulate.filter.smoother import smoothed_states

STILL = {**VALUES, "se": 0.0, "p": 0.0}  # Te has no noise and a start that is known


def response(
    text: str,
    d: Data,
    names: tuple[str, ...] = ("Ti", "Te"),
    values: dict[str, float] = VALUES,
    begin: float | None = None,
) -> FilterResponse:
    model = filtered(es.load_model(text), filter_noise(*names))
    at = float(d.t[0]) if begin is None else begin
    experiment = Experiment(d.t, d.inputs, values, wrt=["Ri", "si"], begin=at, options=TIGHT)
    return model.respond(experiment, d.series(*names))


@dataclass(frozen=True)
class Dense:
    """Mean and covariance of [Ti, Te, what noise has added to each since the time before] at all
    times, and the measured values as rows of it."""

    mean: Vector
    K: Vector
    rows: list[tuple[int, int, float]]
    noise: float

    def given(self, until: int) -> tuple[Vector, Vector]:
        """The same given all values of the first times."""
        rows = [4 * k + i for k, i, _ in self.rows if k < until]
        off = np.array([v - self.mean[4 * k + i] for k, i, v in self.rows if k < until])
        if not rows:
            return self.mean, self.K
        S = self.K[np.ix_(rows, rows)] + np.eye(len(rows)) * self.noise**2
        G = np.linalg.solve(S, self.K[rows]).T
        return self.mean + G @ off, self.K - G @ self.K[rows]


def dense(p: dict[str, float], d: Data, times: Vector, names: tuple[str, ...]) -> Dense:
    A, B = linear(p)
    A4 = np.zeros((4, 4))
    A4[:2, :2] = A
    B4 = np.vstack([B, np.zeros((2, 2))])
    L = np.vstack([np.diag([p["si"], p["se"]])] * 2)
    mean = np.array([20.0, 15.0, 0, 0])
    C = np.diag([0.25, p["p"] ** 2, 0, 0])
    means, spreads, moves = [mean], [C], []
    grid = np.union1d(times, d.t[(d.t >= times[0]) & (d.t <= times[-1])])  # inputs change there
    for h, at in zip(np.diff(grid), grid[:-1], strict=True):
        forget = np.diag([1.0, 1.0, 0, 0]) if at in times else np.eye(4)
        k = max(int(np.searchsorted(d.t, at, side="right")) - 1, 0)  # held before the first, too
        exact = expm(np.block([[A4, B4], [np.zeros((2, 6))]]) * h)
        loan = expm(np.block([[-A4, L @ L.T], [np.zeros((4, 4)), A4.T]]) * h)
        F, G = exact[:4, :4] @ forget, exact[:4, 4:]
        mean = F @ mean + G @ np.array([d.Ta[k], d.Q[k]])
        C = F @ C @ F.T + loan[4:, 4:].T @ loan[:4, 4:]
        means.append(mean)
        spreads.append(C)
        moves.append(F)
    n = len(grid)
    K = np.zeros((n, n, 4, 4))
    for k in range(n):
        K[k, k] = spreads[k]
        for j in range(k + 1, n):
            K[j, k] = moves[j - 1] @ K[j - 1, k]
            K[k, j] = K[j, k].T
    place = {"Ti": 0, "Te": 1}
    rows = []
    for k, t in enumerate(times):
        for name in names:
            own = np.flatnonzero(d.t == t)
            if len(own) and np.isfinite(getattr(d, name)[own[0]]):
                rows.append((k, place[name], float(getattr(d, name)[own[0]])))
    at = np.searchsorted(grid, times)
    n = len(times)
    whole = K[np.ix_(at, at)].transpose(0, 2, 1, 3).reshape(4 * n, 4 * n)
    return Dense(np.array(means)[at].ravel(), whole, rows, p["sm"])


@pytest.mark.parametrize("values", [VALUES, STILL], ids=["noise in both", "a state without noise"])
@pytest.mark.parametrize("early", [0.0, 900.0], ids=["begin at a stamp", "begin before it"])
@pytest.mark.parametrize("text", [ROOM, IMPLICIT], ids=["explicit", "algebraic unknowns"])
def test_smoothed_states_and_noise_are_those_given_all_values(
    text: str, early: float, values: dict[str, float]
) -> None:
    d = data(60)
    begin = float(d.t[0]) - early
    found = smoothed_states(response(text, d, values=values, begin=begin))
    want = dense(values, d, found.times, ("Ti", "Te"))
    n = len(found.times)
    assert found.times[0] == (begin if early else d.t[np.isfinite(d.Ti) | np.isfinite(d.Te)][0])
    mean, K = want.given(n)
    K = K.reshape(n, 4, n, 4)
    own = np.array([K[k, :, k] for k in range(n)])
    mean = mean.reshape(n, 4)
    np.testing.assert_allclose(found.smoothed.mean, mean[:, :2], rtol=1e-8)
    np.testing.assert_allclose(found.smoothed.covariance, own[:, :2, :2], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.added.mean, mean[1:, 2:], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.added.covariance, own[1:, 2:, 2:], rtol=1e-6, atol=1e-9)
    for k in (0, 7, n - 1):
        m, C = want.given(k + 1)
        np.testing.assert_allclose(found.filtered.mean[k], m[4 * k : 4 * k + 2], rtol=1e-8)
        np.testing.assert_allclose(
            found.filtered.covariance[k], C[4 * k : 4 * k + 2, 4 * k : 4 * k + 2], atol=1e-9
        )


def test_predictions_over_several_samples_are_those_given_the_values_before() -> None:
    d = data(40)
    own = response(ROOM, d)
    found = predictions_ahead(own, 7)
    times = own.times
    want = dense(VALUES, d, times, ("Ti", "Te"))
    for i in (0, 3, 6, 7, 20, len(times) - 1):
        for back in (1, 2, 7):
            m, C = want.given(i - back + 1)
            np.testing.assert_allclose(found.outputs[i, back - 1], m[4 * i : 4 * i + 2], rtol=1e-8)
            spread = np.diag(C)[4 * i : 4 * i + 2]
            np.testing.assert_allclose(found.sure[i, back - 1], spread, rtol=1e-7)
            np.testing.assert_allclose(found.variances[i, back - 1], spread + 0.01, rtol=1e-7)


def test_one_sample_ahead_is_what_the_filter_predicts() -> None:
    d = data(40)
    own = response(ROOM, d, ("Ti",))
    found, run = predictions_ahead(own, 1), own.at()
    np.testing.assert_allclose(found.outputs[:, 0, 0], run.Y[:, 2], rtol=1e-9)
    np.testing.assert_allclose(found.variances[:, 0, 0], run.Y[:, 3], rtol=1e-8)


@pytest.mark.parametrize("draw", ["series", "path"])
def test_draws_have_the_mean_and_covariance_of_the_model(draw: str) -> None:
    """2000 draws of 5 times: every element of a covariance to 5 of its standard errors."""
    d = data(8)
    own = response(ROOM, d)
    rng = np.random.default_rng(3)
    drawn = np.array(
        [
            simulated_series(own, rng) if draw == "series" else simulated_path(own, rng).measured
            for _ in range(2000)
        ]
    )
    want = dense(VALUES, d, own.times, ("Ti", "Te"))
    n = len(own.times)
    rows = [4 * k + i for k in range(n) for i in range(2)]
    K = want.K[np.ix_(rows, rows)] + 0.01 * np.eye(2 * n)
    flat = drawn.reshape(2000, -1)
    seen = np.isfinite(flat).all(axis=0)
    if draw == "series":
        assert set(np.flatnonzero(seen)) == {2 * k + i for k, i, _ in want.rows}
    mean, K = want.mean[rows][seen], K[np.ix_(seen, seen)]
    flat = flat[:, seen]
    error = np.sqrt(np.diag(K) / 2000)
    assert (np.abs(flat.mean(axis=0) - mean) < 5 * error).all()
    sure = np.sqrt((np.outer(np.diag(K), np.diag(K)) + K**2) / 2000)
    assert (np.abs(np.cov(flat.T) - K) < 5 * sure).all()


def test_draws_repeat_with_their_seed_and_take_given_innovations() -> None:
    own = response(ROOM, data(20), ("Ti",))
    first, again, other = (simulated_series(own, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    # what the filter then takes for its innovations are those that were given
    eps = np.random.default_rng(1).standard_normal((len(own.times), 1))
    values = simulated_series(own, innovations=eps)
    np.testing.assert_array_equal(values, first)
    pieces = own.pieces.values.copy()
    pieces[np.searchsorted(own.pieces.starts, own.times), -3] = values[:, 0]
    run = own.with_pieces(type(own.pieces)(own.pieces.starts, pieces, own.pieces.slopes), own.times)
    Y = run.at().Y
    np.testing.assert_allclose(Y[:, 0] / np.sqrt(Y[:, 1]), eps[:, 0], rtol=1e-7)


@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear_states_are_smoothed_as_by_plain_equations_at_fine_steps(name: str) -> None:
    """Against the equations of Rauch, Tung and Striebel in NumPy."""
    text, f, jacobian, x0, states = NONLINEAR[name]
    rng = np.random.default_rng(4)
    t = np.cumsum(rng.uniform(0.1, 0.4, 30))
    p = {"a": {"predator and prey": 1.0, "radiator": 0.02, "pendulum": 9.81}[name]}
    y = x0[0] + rng.normal(size=30) * 0.3
    noise = FilterNoise(
        ((states[0], "0.2"), (states[1], "0.1")),
        ((states[0], "0.2"), (states[1], "0.1")),
        ((states[0], "0.1"),),
    )
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, parameters=p, begin=float(t[0]), options=TIGHT)
    found = smoothed_states(model.respond(experiment, {states[0]: Series(t, y)}))
    x, C = x0, np.diag([0.04, 0.01])
    Q, before, after, moves = np.diag([0.04, 0.01]), [], [], []

    def rate(x: Vector, C: Vector, F: Vector) -> tuple[Vector, Vector, Vector]:
        A = jacobian(x, p)
        return f(x, p), A @ C + C @ A.T + Q, A @ F

    for k in range(30):
        F = np.eye(2)
        if k:
            h = (t[k] - t[k - 1]) / 400
            for _ in range(400):
                now = (x, C, F)
                a = rate(*now)
                b = rate(*(u + h / 2 * v for u, v in zip(now, a, strict=True)))
                c = rate(*(u + h / 2 * v for u, v in zip(now, b, strict=True)))
                d = rate(*(u + h * v for u, v in zip(now, c, strict=True)))
                x, C, F = (
                    u + h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
                    for u, v1, v2, v3, v4 in zip(now, a, b, c, d, strict=True)
                )
        before.append((x, C))
        moves.append(F)
        e, v = y[k] - x[0], C[0, 0] + 0.01
        K = C[:, 0] / v
        x, C = x + K * e, C - np.outer(K, C[0])
        after.append((x, C))
    xs, Cs = after[-1]
    for k in range(28, -1, -1):
        x, C = after[k]
        G = C @ moves[k + 1].T @ np.linalg.inv(before[k + 1][1])
        xs, Cs = x + G @ (xs - before[k + 1][0]), C + G @ (Cs - before[k + 1][1]) @ G.T
        np.testing.assert_allclose(found.smoothed.mean[k], xs, rtol=1e-6)
        np.testing.assert_allclose(found.smoothed.covariance[k], Cs, rtol=1e-5, atol=1e-9)
