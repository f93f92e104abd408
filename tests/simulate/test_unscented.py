"""The unscented filter against filters written apart, and where the extended one is too crude."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov
from tests.simulate.test_filter import (
    IMPLICIT,
    NONLINEAR,
    ROOM,
    TIGHT,
    VALUES,
    data,
    dense_log_likelihood,
    filter_noise,
    linear,
    log_likelihood,
)

import estimica as es
from estimica.base.arrays import Vector
from estimica.compiled.experiment import Experiment
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise


def unscented(noise: FilterNoise) -> FilterNoise:
    return replace(noise, kind="unscented")


@pytest.mark.parametrize("text", [ROOM, IMPLICIT], ids=["explicit", "algebraic unknowns"])
def test_linear_models_have_the_likelihood_of_all_values_at_once(text: str) -> None:
    """With a start value that is known exactly: the covariance is singular at first."""
    d, names = data(60), ("Ti", "Te")
    noise = replace(filter_noise(*names), spread=(("Te", "p"),), kind="unscented")
    found, gradient = log_likelihood(text, d, noise)

    def dense(p: dict[str, float]) -> float:
        return dense_log_likelihood(p, d, names, np.diag([0.0, p["p"] ** 2]))

    assert found == pytest.approx(dense(VALUES), rel=1e-9)
    for k, name in enumerate(VALUES):
        h = 1e-5 * VALUES[name]
        high, low = ({**VALUES, name: VALUES[name] + sign * h} for sign in (1, -1))
        assert gradient[k] == pytest.approx(
            (dense(high) - dense(low)) / (2 * h), rel=1e-6, abs=1e-6
        )


def test_it_begins_in_a_stationary_spread_too() -> None:
    d, names = data(40), ("Ti",)
    noise = FilterNoise((("Ti", "si"), ("Te", "se")), (), (("Ti", "sm"),), True, "unscented")
    values = {n: v for n, v in VALUES.items() if n != "p"}
    found, _ = log_likelihood(ROOM, d, noise, values=values, wrt=())
    Q = np.diag([values["si"] ** 2, values["se"] ** 2])
    C = solve_continuous_lyapunov(linear(values)[0], -Q)
    assert found == pytest.approx(dense_log_likelihood(values, d, names, C), rel=1e-9)


def plain_unscented(f, outputs, x, p, t, y, noise) -> float:  # type: ignore[no-untyped-def]
    """An unscented filter in NumPy: 2n + 1 points, all outputs at once, Runge-Kutta steps."""
    n = len(x)
    C, total, c2 = np.diag([0.04, 0.01]), 0.0, max(n, 3)
    Q, R = np.diag([0.2**2, 0.1**2]), np.diag(np.full(y.shape[1], noise**2))
    w = np.full(2 * n + 1, 1 / (2 * c2))
    w[0] = 1 - n / c2

    def points(x: Vector, C: Vector) -> Vector:
        L = np.sqrt(c2) * np.linalg.cholesky(C)
        return np.vstack([x, x + L.T, x - L.T])

    def rate(x: Vector, C: Vector) -> tuple[Vector, Vector]:
        X = points(x, C)
        F = np.array([f(one, p) for one in X])
        half = (X - x).T @ (w[:, None] * F)
        return w @ F, half + half.T + Q

    for k in range(len(t)):
        if k:
            steps = 200
            h = (t[k] - t[k - 1]) / steps
            for _ in range(steps):
                a, A = rate(x, C)
                b, B = rate(x + h / 2 * a, C + h / 2 * A)
                c, D = rate(x + h / 2 * b, C + h / 2 * B)
                d, E = rate(x + h * c, C + h * D)
                x, C = x + h / 6 * (a + 2 * b + 2 * c + d), C + h / 6 * (A + 2 * B + 2 * D + E)
        X = points(x, C)
        H = np.array([outputs(one) for one in X])
        mean = w @ H
        S = (H - mean).T @ (w[:, None] * (H - mean)) + R
        e, cross = y[k] - mean, (X - x).T @ (w[:, None] * (H - mean))
        total -= 0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(2 * np.pi * S)[1])
        K = np.linalg.solve(S, cross.T).T
        x, C = x + K @ e, C - K @ S @ K.T
    return float(total)


@pytest.mark.parametrize("name", NONLINEAR)
def test_nonlinear_models_and_outputs_are_filtered_as_a_plain_filter_does(name: str) -> None:
    text, f, _, x0, states = NONLINEAR[name]
    a, b = states
    outputs_text = f"  Real q; Real r;\nequation\n  q = 0.1*{a}^2; r = {a} + 0.05*{a}*{b};"
    text = text.replace("equation", outputs_text, 1)

    def outputs(x: Vector) -> Vector:
        return np.array([0.1 * x[0] ** 2, x[0] + 0.05 * x[0] * x[1]])

    rng = np.random.default_rng(4)
    t = np.cumsum(rng.uniform(0.1, 0.4, 15))
    p = {"a": {"predator and prey": 1.0, "radiator": 0.02, "pendulum": 9.81}[name]}
    y = outputs(x0) + rng.normal(size=(15, 2)) * 0.3
    levels = ((states[0], "0.2"), (states[1], "0.1"))
    noise = FilterNoise(levels, levels, (("q", "0.1"), ("r", "0.1")), kind="unscented")
    model = filtered(es.load_model(text), noise)
    experiment = Experiment(t, parameters=p, wrt=["a"], begin=float(t[0]), options=TIGHT)
    series = {"q": Series(t, y[:, 0]), "r": Series(t, y[:, 1])}
    run = model.respond(experiment, series).at()
    assert run.ok, run.text
    e, v = run.Y[:, :2], run.Y[:, 2:4]
    found = -0.5 * float(np.sum(e**2 / v + np.log(2 * np.pi * v)))
    assert found == pytest.approx(plain_unscented(f, outputs, x0, p, t, y, 0.1), rel=1e-7)
    slope = -np.sum((e / v) * run.YS[:, :2, 0] + 0.5 * (1 / v - e**2 / v**2) * run.YS[:, 2:4, 0])
    h = 1e-4 * p["a"]
    ends = [plain_unscented(f, outputs, x0, {"a": p["a"] + q}, t, y, 0.1) for q in (h, -h)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=2e-6)


def grid_log_likelihood(y: Vector, h: float) -> float:
    """Of dx = -x^3 dt + dw, measured with noise 0.3: the density itself on a fine grid."""
    grid = np.linspace(-4, 4, 801)
    dx, total, small = grid[1] - grid[0], 0.0, h / 128
    ahead = grid - small * grid**3
    step = np.exp(-0.5 * (grid[:, None] - ahead) ** 2 / small) * dx / np.sqrt(2 * np.pi * small)
    step = np.linalg.matrix_power(step, 128)
    density = np.exp(-0.5 * (grid / 0.5) ** 2) / (np.sqrt(2 * np.pi) * 0.5)
    for k in range(len(y)):
        density = step @ density if k else density
        density = density * np.exp(-0.5 * ((y[k] - grid) / 0.3) ** 2) / (np.sqrt(2 * np.pi) * 0.3)
        seen = density.sum() * dx
        total += np.log(seen)
        density /= seen
    return float(total)


def test_where_laws_bend_it_is_nearer_to_the_true_likelihood_than_the_extended_filter() -> None:
    """A restoring force that is zero at the mean: its slope there tells nothing of how it holds."""
    text = "model A Real x; equation der(x) = -x^3; end A;"
    rng = np.random.default_rng(3)
    h, fine, x, y = 1.0, 1000, 0.0, []
    t = h * np.arange(200)
    for _ in t:
        y.append(x + 0.3 * rng.normal())
        for _ in range(fine):
            x += -(x**3) * h / fine + np.sqrt(h / fine) * rng.normal()
    exact = grid_log_likelihood(np.array(y), h)
    found = {}
    for kind in ("extended", "unscented"):
        noise = FilterNoise((("x", "1"),), (("x", "0.5"),), (("x", "0.3"),), kind=kind)
        model = filtered(es.load_model(text), noise)
        run = model.respond(Experiment(t, begin=0.0), {"x": Series(t, np.array(y))}).at()
        e, v = run.Y[:, 0], run.Y[:, 1]
        found[kind] = -0.5 * float(np.sum(e**2 / v + np.log(2 * np.pi * v)))
    print(f"exact {exact:.2f}, {found}")
    assert abs(found["unscented"] - exact) < 0.25 * abs(found["extended"] - exact)
