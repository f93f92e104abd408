"""Algebraic unknowns whose solution jumps at an event, far away or to where bounds say."""

import re

import numpy as np
import pytest

import estimica as es

TIMES = np.linspace(0.0, 1.0, 11)
AFTER = TIMES >= 0.5


def test_a_solution_far_from_the_one_before_the_event():
    """Newton's method diverges from where it was: the slope of atan is 1e-6 there."""
    text = """
model M
  Real x(start = 0, fixed = true); Real z;
  Real c = if time < 0.5 then 0 else 1000;
equation
  der(x) = 1;
  atan(z - c) = 0.1*sin(x);
end M;
"""
    found = es.load_model(text).simulate(TIMES, outputs=["z"])
    expected = np.where(AFTER, 1000.0, 0.0) + np.tan(0.1 * np.sin(TIMES))
    np.testing.assert_allclose(found.value("z"), expected, rtol=1e-6, atol=1e-9)


def test_several_unknowns_far_from_those_before_the_event():
    text = """
model M
  Real x(start = 0, fixed = true); Real a; Real b;
  Real c = if time < 0.5 then 0 else 200;
equation
  der(x) = 1;
  atan(a - c) + 0.2*atan(b + a) = 0.1;
  atan(b + 2*c) + 0.2*atan(a - c) = 0.1*x;
end M;
"""
    found = es.load_model(text).simulate(TIMES, outputs=["a", "b"])
    a, b = found.value("a"), found.value("b")
    c = np.where(AFTER, 200.0, 0.0)
    np.testing.assert_allclose(np.arctan(a - c) + 0.2 * np.arctan(b + a), 0.1, atol=1e-8)
    np.testing.assert_allclose(
        np.arctan(b + 2 * c) + 0.2 * np.arctan(a - c), 0.1 * TIMES, atol=1e-8
    )


@pytest.mark.parametrize(("bound", "sign"), [("min = 0", 1.0), ("max = 0", -1.0)])
def test_of_two_solutions_the_one_between_min_and_max(bound, sign):
    """Newton's first step from 1 leads to -0.5, and on to the root of the other sign."""
    text = f"""
model M
  Real x(start = 0, fixed = true); Real z({bound}, start = {sign});
  Real c = if time < 0.5 then 0 else -3;
equation
  der(x) = 1;
  log(z^2) = c + 0.1*x;
end M;
"""
    found = es.load_model(text).simulate(TIMES, outputs=["z"])
    expected = sign * np.exp(0.5 * (np.where(AFTER, -3.0, 0.0) + 0.1 * TIMES))
    np.testing.assert_allclose(found.value("z"), expected, rtol=1e-6)


def test_bounds_do_not_stop_what_passes_through_them():
    text = """
model M
  Real x(start = 0, fixed = true); Real z(min = 0, start = 1);
equation
  der(x) = 1;
  z + z^3 = 2 - 4*x;
end M;
"""
    z = es.load_model(text).simulate(TIMES, outputs=["z"]).value("z")
    np.testing.assert_allclose(z + z**3, 2 - 4 * TIMES, atol=1e-8)
    assert z[-1] < -0.9


def test_a_block_without_solution_is_named_with_its_place():
    text = """
model M
  Real x(start = 0, fixed = true); Real a; Real b(start = 1); Real c;
equation
  der(x) = 1;
  a = exp(c) + b;
  b^2 + a^2 = 20;
  c + a*b = if time < 0.5 then 3 else 1e3;
end M;
"""
    with pytest.raises(es.SimulationError) as found:
        es.load_model(text).simulate(TIMES)
    told = str(found.value)
    assert "R104" in told
    assert "time 0.5" in told
    assert "solved together with" in told
    assert {"'a'", "'b'"} <= set(re.findall(r"'[ab]'", told))
    assert re.search(r"equation '.*' \(line [678]\)", told)


def test_initial_equations_without_solution_are_told_with_their_place():
    text = """
model M
  Real x(start = 0, fixed = true); Real z(start = 1);
equation
  der(x) = 1;
  z^2 + exp(z) = -1 + 0*x;
end M;
"""
    with pytest.raises(es.SimulationError, match=r"R001.*'z', equation .*line 6"):
        es.load_model(text).simulate(TIMES)
