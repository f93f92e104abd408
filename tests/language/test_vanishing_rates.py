"""Derivatives with the factor 0: what looks like a state is none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import estimica as es
from estimica.flat import expression as ex
from estimica.flat.system import Equation
from estimica.source.load import load_flat

TIMES = np.linspace(0.0, 1.0, 11)

DIVIDER = """
model M
  parameter Real C = 0;
  parameter Real base = 2*C;
  parameter Real R = 2;
  Real v(start = 7), w, i, j;
equation
  i = C*der(v);
  j = {factor}*(der(v) - der(w));
  (sin(time) - v)/R = i + j;
  w = 3*v;
end M;
"""


@pytest.mark.parametrize("factor", ["base", "(if v < w then base else 0)", "base*v/(1 + v^2)"])
def test_without_capacitance_a_voltage_is_no_state(factor: str) -> None:
    """Nothing is stored, so no current flows: v is the voltage of the source."""
    model = es.load_model(DIVIDER.replace("{factor}", factor))
    assert not len(model.states)
    found = model.simulate(TIMES, outputs=["v", "i", "j"])
    np.testing.assert_allclose(found.value("v"), np.sin(TIMES), atol=1e-9)
    np.testing.assert_array_equal(found.value("j"), 0.0)


def test_a_function_is_looked_through() -> None:
    text = """
model M
  function capacitance
    input Real v; input Real c0; input Real n;
    output Real c;
  protected
    Real rest; Real x;
  algorithm
    if c0 > 1 then c := 5; return; end if;
    x := n; rest := 0;
    while x > 0.5 loop x := x/2; rest := rest + 1; end while;
    if v < 0 then c := c0*exp(rest); else c := c0*(1 + v); end if;
  end capacitance;
  parameter Real C = 0;
  Real v, i;
equation
  i = capacitance(v, C, 4 + v)*der(v);
  sin(time) - v = i;
end M;
"""
    assert any(e.op == "call" for q in load_flat(text, fix={"C": 0.5}).equations for e in _nodes(q))
    found = es.load_model(text).simulate(TIMES, outputs=["v"])
    np.testing.assert_allclose(found.value("v"), np.sin(TIMES), atol=1e-9)


def _nodes(equation: Equation) -> Iterator[ex.Expression]:
    return ex.walk(equation.lhs, equation.rhs)


def test_the_zero_is_built_in_and_says_why() -> None:
    model = es.load_model(DIVIDER.replace("{factor}", "base"))
    with pytest.raises(es.EstimicaError, match=r"der\(v\)"):
        model.response(TIMES, wrt=["C"], outputs=["v"])
    model.response(TIMES, wrt=["R"], outputs=["v"])


def test_another_value_makes_it_a_state_again() -> None:
    """v' (C - 2 base) = (sin t - v)/R; with C = -1/3 and base = 2 C the factor is 1, and R = 2."""
    model = es.load_model(DIVIDER.replace("{factor}", "base"), fix={"C": -1.0 / 3.0})
    assert list(model.states.index) == ["v"]
    found = model.simulate(TIMES, outputs=["v"], options=es.Options(rtol=1e-9, atol=1e-11))
    a = 0.5  # v' = a (sin t - v), v(0) = 7
    particular = a * (a * np.sin(TIMES) - np.cos(TIMES)) / (1 + a * a)
    expected = particular + (7 + a / (1 + a * a)) * np.exp(-a * TIMES)
    np.testing.assert_allclose(found.value("v"), expected, rtol=1e-6)


def test_where_another_term_counts_nothing_is_built_in() -> None:
    text = """
model M
  parameter Real C = 0;
  Real v(start = 1, fixed = true), i;
equation
  i = C*der(v);
  der(v) = -v - i;
end M;
"""
    model = es.load_model(text)
    found = model.response(TIMES, wrt=["C"], outputs=["v"]).at()
    np.testing.assert_allclose(found.Y[:, 0], np.exp(-TIMES), rtol=1e-4)
    slope = found.YS[:, 0, 0]  # v = exp(-t/(1 + C))
    np.testing.assert_allclose(slope, TIMES * np.exp(-TIMES), atol=1e-4)
