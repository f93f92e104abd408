"""Filters of transfer functions and state-space models, and noise that inputs drive."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulate.test_filter import (
    ROOM,
    TIGHT,
    VALUES,
    data,
    dense_log_likelihood,
    likelihood,
)

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise


def room() -> Model:
    return es.state_space(
        [["-1/(Ri*Ci)", "1/(Ri*Ci)"], ["1/(Ri*Ce)", "-(1/Ri + 1/Re)/Ce"]],
        [["0", "1/Ci"], ["1/(Re*Ce)", "0"]],
        [[1, 0]],
        [[0, 0]],
        inputs=["Ta", "Q"],
        outputs=["y"],
        states=["Ti", "Te"],
    )


def test_a_state_space_model_has_the_likelihood_of_its_equations_in_modelica() -> None:
    d = data(60)
    noise = FilterNoise((("Ti", "si"), ("Te", "se")), (("Ti", "0.5"), ("Te", "p")), (("y", "sm"),))
    experiment = Experiment(
        d.t, d.inputs, VALUES, {"Ti": 20.0, "Te": 15.0}, wrt=tuple(VALUES), begin=float(d.t[0]),
        options=TIGHT,
    )  # fmt: skip
    series = {"y": d.series("Ti")["Ti"]}
    run = filtered(room(), noise).respond(experiment, series).at()
    assert run.ok, run.text
    e, s = run.Y[:, 0], run.Y[:, 1]
    found = -0.5 * float(np.sum(e**2 / s + np.log(2 * np.pi * s)))
    assert found == pytest.approx(dense_log_likelihood(VALUES, d, ("Ti",)), rel=1e-9)
    slope = -(e / s) @ run.YS[:, 0] - 0.5 * (1 / s - e**2 / s**2) @ run.YS[:, 1]
    assert slope == pytest.approx(likelihood(ROOM, d, ("Ti",))[1], rel=1e-7, abs=1e-7)


def test_a_transfer_function_is_followed_too() -> None:
    """K/(T s + 1), an Ornstein-Uhlenbeck process around its answer: all values at once."""
    model = es.transfer_function("K/(T*s + 1)", parameters={"K": 2.0, "T": 5.0})
    t = np.arange(0.0, 30.0)
    rng = np.random.default_rng(1)
    y = 2 * (1 - np.exp(-t / 5)) + rng.normal(size=30) * 0.3
    noise = FilterNoise((("x1", "0.2"),), (("x1", "0.1"),), (("y", "0.3"),))
    inputs = {"u": (t, np.ones(30))}
    run = filtered(model, noise).respond(
        Experiment(t, inputs, begin=0.0, options=TIGHT), {"y": Series(t, y)}
    ).at()  # fmt: skip
    # observer form: y = x1 scaled by what stands in C
    c = model.coefficients({}).C[0, 0]  # type: ignore[attr-defined]
    grown = 0.04 * 2.5 * (np.exp(-np.abs(t[:, None] - t) / 5) - np.exp(-(t[:, None] + t) / 5))
    K = c**2 * (0.01 * np.exp(-(t[:, None] + t) / 5) + grown) + 0.09 * np.eye(30)
    off = y - 2 * (1 - np.exp(-t / 5))
    exact = -0.5 * (off @ np.linalg.solve(K, off) + np.linalg.slogdet(2 * np.pi * K)[1])
    e, s = run.Y[:, 0], run.Y[:, 1]
    assert -0.5 * np.sum(e**2 / s + np.log(2 * np.pi * s)) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (es.transfer_function("exp(-2*s)/(s + 1)"), "delay"),
        (es.transfer_function("1/(z - 0.5)", sample_time=1.0), "discrete time"),
        (es.transfer_function("1/(s + 1)", initial="steady"), "steady"),
    ],
    ids=["delay", "discrete", "steady"],
)
def test_linear_models_that_a_filter_does_not_follow_are_refused(model: Model, what: str) -> None:
    with pytest.raises(ModelError) as error:
        filtered(model, FilterNoise((("x1", "1"),), (), (("y", "1"),)))
    assert error.value.code == "M243"
    assert what in error.value.message


def test_noise_that_inputs_and_parameters_drive_is_that_of_all_values_at_once() -> None:
    """dx = -k x dt + (a + b u) dw, u constant between samples: Q changes with it."""
    text = "model A parameter Real k = 0.3; input Real u; Real x(start = 1, fixed = true); " \
        "equation der(x) = -k*x; end A;"  # fmt: skip
    rng = np.random.default_rng(5)
    t = np.cumsum(rng.uniform(0.2, 2.0, 40))
    u, y = rng.uniform(0, 3, 40), rng.normal(size=40)
    values = {"k": 0.3, "a": 0.2, "b": 0.4}

    def exact(p: dict[str, float]) -> float:
        mean, C = np.array([1.0] + [0.0] * 39), np.zeros((40, 40))
        for k in range(1, 40):
            F = np.exp(-p["k"] * (t[k] - t[k - 1]))
            Q = (p["a"] + p["b"] * u[k - 1]) ** 2 * (1 - F**2) / (2 * p["k"])
            mean[k] = F * mean[k - 1]
            C[k, :k] = C[:k, k] = F * C[k - 1, :k]
            C[k, k] = F**2 * C[k - 1, k - 1] + Q
        K, off = C + 0.04 * np.eye(40), y - mean
        return float(-0.5 * (off @ np.linalg.solve(K, off) + np.linalg.slogdet(2 * np.pi * K)[1]))

    noise = FilterNoise((("x", "a + b*u"),), (), (("x", "0.2"),))
    experiment = Experiment(
        t, {"u": (t, u)}, values, wrt=tuple(values), begin=float(t[0]), options=TIGHT
    )
    run = filtered(es.load_model(text), noise).respond(experiment, {"x": Series(t, y)}).at()
    e, s = run.Y[:, 0], run.Y[:, 1]
    assert -0.5 * np.sum(e**2 / s + np.log(2 * np.pi * s)) == pytest.approx(exact(values), rel=1e-9)
    slope: Vector = -(e / s) @ run.YS[:, 0] - 0.5 * (1 / s - e**2 / s**2) @ run.YS[:, 1]
    for k, name in enumerate(values):
        h = 1e-5 * values[name]
        ends = [exact({**values, name: values[name] + q}) for q in (h, -h)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
