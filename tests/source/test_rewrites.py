"""Derivatives of expressions: by the chain rule, in equations and in declarations."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

TIMES = [0.0, 0.5, 1.0]
DECAY = np.exp(-np.array(TIMES))


def run(text: str, *outputs: str) -> es.Trajectory:
    model = es.load_model(text)
    return model.simulate(TIMES, outputs=list(outputs), options=es.Options(rtol=1e-9, atol=1e-11))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("x^2", -2 * DECAY**2),
        ("x*sin(time)", -DECAY * np.sin(TIMES) + DECAY * np.cos(TIMES)),
        ("if x > 2 then x else 3*x", -3 * DECAY),
        ("f(x)", -3 * DECAY**3),
        ("{x, 2*x}*{1, 3}", -7 * DECAY),
    ],
)
@pytest.mark.parametrize("place", ["equation", "declaration"])
def test_the_derivative_of_an_expression_by_the_chain_rule(expression, wanted, place):
    function = "function f input Real u; output Real v; algorithm v := u^3; end f;"
    declared, written = (
        (f"Real y = der({expression});", "")
        if place == "declaration"
        else ("Real y;", f"y = der({expression});")
    )
    text = f"model M {function} Real x(start=1, fixed=true); {declared} equation der(x) = -x; {written} end M;"
    np.testing.assert_allclose(run(text, "y").value("y"), wanted, rtol=1e-6)


def test_the_derivative_of_a_product_determines_a_state():
    text = (
        "model M parameter Real m = 2; Real v(start=1, fixed=true); Real p = m*v, "
        "f = der(m*v); equation f = -v; end M;"
    )
    found = run(text, "v", "p")
    np.testing.assert_allclose(found.value("v"), np.exp(-np.array(TIMES) / 2), rtol=1e-6)
    np.testing.assert_allclose(found.value("p"), 2 * found.value("v"), rtol=1e-9)


COMPONENTS = """
model M
  model Rate
    input Real u;
    Real y = der(u^2) "a rate" annotation (HideResult=true);
    Real twice = 2*y;
  end Rate;
  Real x(start=1, fixed=true);
  Rate own(u = x);
  Rate given(u = x, y = 7) "a modifier takes the place of the declaration";
equation
  der(x) = -x;
end M;
"""


def test_a_modifier_takes_the_place_of_a_declaration():
    found = run(COMPONENTS, "own.y", "own.twice", "given.y", "given.twice")
    np.testing.assert_allclose(found.value("own.y"), -2 * DECAY**2, rtol=1e-6)
    np.testing.assert_allclose(found.value("own.twice"), -4 * DECAY**2, rtol=1e-6)
    np.testing.assert_allclose(found.value("given.y"), 7)
    np.testing.assert_allclose(found.value("given.twice"), 14)


def test_parameters_sizes_and_conditional_components_keep_their_declarations():
    text = """
model M
  function two input Real u; output Real v[2]; algorithm v := {u, 2*u}; end two;
  parameter Real k = sqrt(4);
  parameter Real list[:] = two(k);
  Real x(start=1, fixed=true);
  parameter Boolean more = false;
  Real z = sin(x) if more;
  Real y = der(k*x^2) + list[2];
equation
  der(x) = -x;
end M;
"""
    model = es.load_model(text)
    assert "z" not in model.flat.by_name
    found = run(text, "y")
    np.testing.assert_allclose(found.value("y"), -4 * DECAY**2 + 4, rtol=1e-6)


def test_an_equation_is_shown_as_the_user_wrote_it():
    text = "model M\n  Real x(start=1, fixed=true);\n  Real y = der(x^2);\nequation\n  der(x) = -x;\nend M;"
    (origin,) = [
        e.origin for e in es.load_model(text).flat.equations if "der(x^2)" in e.origin.text
    ]
    assert origin.line == 3
