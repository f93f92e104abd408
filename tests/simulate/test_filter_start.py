"""Filters that begin with the stationary spread of their states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov
from tests.simulate.test_filter import (
    IMPLICIT,
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
from estimica.base.errors import SimulationError
from estimica.compiled.experiment import Experiment
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise


def stationary(p: dict[str, float]) -> Vector:
    """By SciPy."""
    return solve_continuous_lyapunov(linear(p)[0], -np.diag([p["si"] ** 2, p["se"] ** 2]))


@pytest.mark.parametrize("text", [ROOM, IMPLICIT], ids=["explicit", "algebraic unknowns"])
def test_the_likelihood_is_that_of_all_values_at_once(text: str) -> None:
    d, names = data(), ("Ti", "Te")
    noise = replace(filter_noise(*names), spread=(), stationary=True)
    values = {n: v for n, v in VALUES.items() if n != "p"}
    found, gradient = log_likelihood(text, d, noise, values=values, wrt=tuple(values))

    def dense(p: dict[str, float]) -> float:
        return dense_log_likelihood(p, d, names, stationary(p))

    assert found == pytest.approx(dense(values), rel=1e-9)
    for k, name in enumerate(values):
        h = 1e-5 * values[name]
        high, low = ({**values, name: values[name] + sign * h} for sign in (1, -1))
        assert gradient[k] == pytest.approx(
            (dense(high) - dense(low)) / (2 * h), rel=1e-6, abs=1e-6
        )


def test_it_moves_with_the_start_and_the_unknowns_there() -> None:
    """dx = -z dt + s dw with z + z^3 = k x^3: dz/dx at the start in closed form."""
    text = """model Cubic
  parameter Real k = 2; parameter Real begin = 1.5;
  Real x(start = begin, fixed = true); Real z(start = 1);
equation
  der(x) = -z;
  z + z^3 = k*x^3;
end Cubic;"""
    noise = FilterNoise((("x", "s"),), (), (("x", "0.1"),), stationary=True)
    values = {"k": 2.0, "begin": 1.5, "s": 0.3}
    t = np.array([0.0, 0.5])

    def variance(p: dict[str, float]) -> float:
        roots = np.roots([1, 0, 1, -p["k"] * p["begin"] ** 3])
        z = float(roots[np.abs(roots.imag) < 1e-12].real[0])
        slope = 3 * p["k"] * p["begin"] ** 2 / (1 + 3 * z**2)
        return p["s"] ** 2 / (2 * slope) + 0.01

    experiment = Experiment(t, parameters=values, wrt=list(values), begin=0.0, options=TIGHT)
    run = filtered(es.load_model(text), noise).respond(experiment, {"x": Series(t, t)}).at()
    assert run.ok
    assert run.Y[0, 1] == pytest.approx(variance(values), rel=1e-12)
    for k, name in enumerate(values):
        h = 1e-5 * values[name]
        ends = [variance({**values, name: values[name] + q}) for q in (h, -h)]
        assert run.YS[0, 1, k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)


@pytest.mark.parametrize(
    ("equations", "state", "value"),
    [
        ("der(x) = -x; der(y) = x;", "y", "0 1/s"),
        ("der(x) = 0.2*x; der(y) = -y;", "x", "0.2 1/s"),
        ("der(x) = y; der(y) = -4*x;", "x", "2i 1/s"),
    ],
    ids=["an integrator", "growth", "an oscillation"],
)
def test_what_does_not_come_to_rest_is_refused_by_name(
    equations: str, state: str, value: str
) -> None:
    text = f"model A Real x(start = 1); Real y; equation {equations} end A;"
    noise = FilterNoise((("x", "1"),), (), (("x", "0.1"),), stationary=True)
    t = np.array([0.0, 1.0])
    with pytest.raises(SimulationError) as error:
        filtered(es.load_model(text), noise).respond(Experiment(t), {"x": Series(t, t)})
    assert error.value.code == "R060"
    assert f"state '{state}'" in error.value.message
    assert value in error.value.message
