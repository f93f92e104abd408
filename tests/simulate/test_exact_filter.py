"""Filters of linear models by exact steps: against all values at once, and against the engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.simulate.test_filter import (
    ROOM,
    VALUES,
    Data,
    data,
    dense_log_likelihood,
    filter_noise,
)

import estimica as es
from estimica.compiled.experiment import Experiment
from estimica.simulate.engine.options import Options
from estimica.simulate.filter.exact.response import ExactResponse, ExactRun, quickest
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise
from estimica.simulate.filter.response import FilterResponse


def regular(n: int = 90) -> Data:
    """Stamps at steps of three lengths."""
    d = data(n)
    steps = np.random.default_rng(3).choice([300.0, 600.0, 1500.0], n)
    return replace(d, t=np.cumsum(steps))


def by_engine(response: FilterResponse) -> FilterResponse:
    """The same with tight tolerances."""
    return FilterResponse(
        response.configuration,
        response.values,
        response.pieces,
        response.times,
        Options(rtol=1e-11, atol=1e-13),
    )


@pytest.mark.parametrize("names", [("Ti",), ("Ti", "Te")], ids=["one output", "two outputs"])
def test_the_likelihood_is_that_of_all_values_at_once(names: tuple[str, ...]) -> None:
    d = regular()
    wrt = tuple(VALUES)
    model = filtered(es.load_model(ROOM), filter_noise(*names))
    begin = float(d.t[0])
    response = model.respond(
        Experiment(d.t, d.inputs, VALUES, wrt=wrt, begin=begin), d.series(*names)
    )
    run = quickest(response).at()
    assert isinstance(run, ExactRun)
    total, gradient = 0.0, np.zeros(len(wrt))
    for k, name in enumerate(names):
        rows = np.searchsorted(response.times, d.series(name)[name].time)
        e, s = run.Y[rows, k], run.Y[rows, len(names) + k]
        total -= 0.5 * float(np.sum(e**2 / s + np.log(2 * np.pi * s)))
        gradient -= (e / s) @ run.YS[rows, k]
        gradient -= 0.5 * (1 / s - e**2 / s**2) @ run.YS[rows, len(names) + k]
    assert total == pytest.approx(dense_log_likelihood(VALUES, d, names), rel=1e-11)
    for k, name in enumerate(wrt):
        h = 1e-5 * VALUES[name]
        high, low = ({**VALUES, name: VALUES[name] + sign * h} for sign in (1, -1))
        ends = [dense_log_likelihood(p, d, names) for p in (high, low)]
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("hold", ["previous", "linear"])
@pytest.mark.parametrize("wrt", [(), tuple(VALUES)], ids=["no tuners", "tuners"])
def test_every_column_is_that_of_the_engine(hold: str, wrt: tuple[str, ...]) -> None:
    """Inputs straight between their stamps, an early begin, missing values, sigmas by sample."""
    d = regular(60)
    rng = np.random.default_rng(5)
    series = {
        n: Series(s.time, s.value, rng.uniform(0.5, 2, len(s.time)))
        for n, s in d.series("Ti", "Te").items()
    }
    inputs = {
        "Ta": {"time": d.t, "value": d.Ta, "hold": hold},
        "Q": {"time": d.t[::3] - 150.0, "value": d.Q[::3], "hold": hold},
    }
    begin = float(d.t[0]) - 300.0
    model = filtered(es.load_model(ROOM), filter_noise("Ti", "Te"))
    response = model.respond(Experiment(d.t, inputs, VALUES, wrt=wrt, begin=begin), series)
    exact, engine = quickest(response).at(), by_engine(response).at()
    assert isinstance(exact, ExactRun)
    assert engine.ok
    np.testing.assert_allclose(exact.Y, engine.Y, rtol=1e-8, atol=1e-8)
    scale = np.array([VALUES[n] for n in wrt])
    np.testing.assert_allclose(exact.YS * scale, engine.YS * scale, rtol=1e-6, atol=1e-6)


def test_measurements_far_more_exact_than_the_states_and_stiff_models() -> None:
    text = """model Stiff
  parameter Real b = 1;
  Real x(start = 1); Real y(start = 0.5);
equation
  der(x) = -1e5*(x - y); der(y) = -b*y + 0.2*x;
end Stiff;"""
    noise = FilterNoise(
        (("x", "10"), ("y", "0.2")), (("y", "1.0"),), (("y", "1e-7"), ("x", "1e-6"))
    )
    t = np.arange(0.0, 3.0, 0.1)
    rng = np.random.default_rng(0)
    series = {n: Series(t, 0.5 + 0.1 * rng.normal(size=30)) for n in ("x", "y")}
    model = filtered(es.load_model(text), noise)
    response = model.respond(Experiment(t, wrt=["b"], begin=0.0), series)
    exact, engine = quickest(response).at(), by_engine(response).at()
    assert isinstance(exact, ExactRun)
    np.testing.assert_allclose(exact.Y[:, :4], engine.Y[:, :4], rtol=1e-5)
    assert (exact.Y[:, 2:4] > 0).all()


def test_models_that_are_not_linear_and_steps_of_all_lengths_are_integrated() -> None:
    bent = "model A parameter Real a = 1; Real x(start = 1); equation der(x) = -a*x^2; end A;"
    t = np.arange(0.0, 3.0, 0.1)
    noise = FilterNoise((("x", "0.1"),), (), (("x", "0.1"),))
    model = filtered(es.load_model(bent), noise)
    response = model.respond(Experiment(t, wrt=["a"], begin=0.0), {"x": Series(t, np.ones(30))})
    assert response.configuration.linear is None
    d = data(200)
    room = filtered(es.load_model(ROOM), filter_noise("Ti"))
    response = room.respond(Experiment(d.t, d.inputs, VALUES, begin=float(d.t[0])), d.series("Ti"))
    assert response.configuration.linear is not None
    assert quickest(response) is response


def test_other_measured_values_take_a_table_of_their_own() -> None:
    d = regular(60)
    model = filtered(es.load_model(ROOM), filter_noise("Ti"))
    response = model.respond(Experiment(d.t, d.inputs, VALUES, begin=float(d.t[0])), d.series("Ti"))
    assert isinstance(quickest(response), ExactResponse)
    first = quickest(response).at()
    values = response.pieces.values.copy()
    values[:, 2] += 1.0  # the measured values
    pieces = replace(response.pieces, values=values)
    pieces.__dict__.pop("addresses", None)
    moved = quickest(response.with_pieces(pieces, response.times)).at()
    assert not np.allclose(moved.Y[:, 0], first.Y[:, 0])
    np.testing.assert_allclose(moved.Y[:, 1], first.Y[:, 1])
