"""What the automatic choice of a method does before it gives up, and what is said if it must."""

from __future__ import annotations

import re

import numpy as np
import pytest

import estimica as es

#: a mass on a spring with dry friction, begun at rest at s = 1
MASS = """model Mass
  parameter Real mu = 1;
  output Real s(start = 1, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(s) = v;
  der(v) = -4*s - mu*FRICTION;
end Mass;"""
TIMES = np.linspace(0, 10, 21)


def mass(friction: str) -> es.ModelicaModel:
    return es.load_model(MASS.replace("FRICTION", friction))


def way(t: np.ndarray) -> np.ndarray:
    """Two half swings around ±mu/4; then it sticks at zero, where the spring does not pull."""
    first, second = 0.25 + 0.75 * np.cos(2 * t), -0.25 + 0.25 * np.cos(2 * t)
    return np.where(t < np.pi / 2, first, np.where(t < np.pi, second, 0.0))


def test_auto_takes_the_implicit_method_before_it_gives_up() -> None:
    model = mass("v/(noEvent(abs(v)) + 1e-9)")
    found = model.simulate(TIMES).value("s")
    assert found == pytest.approx(way(TIMES), abs=1e-5)
    slopes = model.sensitivities(TIMES[:3], wrt=["mu"], outputs=["s"]).jacobian
    # until the first turn s = mu/4 + (1 − mu/4) cos 2t
    assert slopes[:, 0, 0] == pytest.approx((1 - np.cos(2 * TIMES[:3])) / 4, abs=1e-5)


def test_a_method_that_was_asked_for_is_not_exchanged() -> None:
    with pytest.raises(es.SimulationError, match="too many steps between two samples") as told:
        mass("v/(noEvent(abs(v)) + 1e-9)").simulate(TIMES, options=es.Options(method="explicit"))
    assert told.value.code == "R102"


def test_a_run_that_no_method_ends_keeps_to_its_limits() -> None:
    model = mass("noEvent(sign(v))")  # no method comes past its rest
    with pytest.raises(es.SimulationError, match=r"time allowed|too many steps"):
        model.simulate(TIMES, options=es.Options(max_steps=10_000_000, max_seconds=0.2))
    with pytest.raises(es.SimulationError, match="too many steps"):
        model.simulate(TIMES, options=es.Options(max_steps=1000))


@pytest.mark.parametrize("friction", ["sign(v)", "noEvent(sign(v))"])
def test_chattering_of_dry_friction_is_named_with_the_way_out(friction: str) -> None:
    with pytest.raises(es.SimulationError, match="chatter") as told:
        mass(f"1.5*{friction}").simulate(TIMES)
    message = str(told.value)
    assert re.search(r"sign\(v\) chatters at rest: write tanh\(v/v0\)", message)
    assert "hysteresis" in message


def test_the_way_out_of_chattering_works() -> None:
    found = mass("tanh(v/1e-5)").simulate(TIMES).value("s")
    assert found == pytest.approx(way(TIMES), abs=1e-3)


def test_a_start_that_is_not_finite_is_told_at_once() -> None:
    model = es.load_model(
        "model M\n Real x(start=-1, fixed=true);\nequation\n der(x) = log(x);\nend M;"
    )
    with pytest.raises(es.SimulationError, match="stopped at time 0: a derivative is not a finite"):
        model.simulate([0, 1])
