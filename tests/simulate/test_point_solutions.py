"""What counts as the solution of an operating point, and which of several it is."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.simulate.modelica.operating_points import PointModel
from estimica.simulate.roots.residual import residual_with_scale

SOURCE = """
package L
  model Product "0 times infinity at m = 0"
    input Real u; parameter Real k = 2; Real m; Real z;
  equation
    u = z*m; z = k/sqrt(m);
  end Product;
  model Quotient "u over infinity at m = 0"
    input Real u; parameter Real k = 2; Real m; Real z;
  equation
    m = u/z; z = k/sqrt(m);
  end Quotient;
  model Tank "the same with a state"
    input Real u; parameter Real k = 2; Real h(start = 0.5); Real q; Real z;
  equation
    der(h) = u - q; h = z*q; z = k/sqrt(q);
  end Tank;
  model Began "initial equations with a false solution"
    parameter Real k = 2; Real m(start = 0); Real z;
  initial equation
    m = 3/z;
  equation
    z = k/sqrt(m); der(m) = 1 - m;
  end Began;
  model Square
    input Real u; parameter Real a = 1; Real x;
  equation
    x^2 = a*u;
  end Square;
  model SquareFromBelow = Square(x(start = -1));
  model SquareLimited
    input Real u; Real x(start = 1); Real y(max = 0) = x;
  equation
    x^2 = u;
  end SquareLimited;
  model Poles "three branches"
    input Real u; parameter Real a = 1; Real x;
  equation
    a/x + 1/(x + 1) = u;
  end Poles;
  model Fold
    input Real u; Real x;
  equation
    x^3 - 3*x = u;
  end Fold;
  model Chain "the root nearest to the start leads nowhere"
    input Real u; Real x(start = -1); Real y;
  equation
    x^2 = u; sqrt(x) = y*abs(y);
  end Chain;
  model Pair "no solution: a circle and a line that pass each other"
    input Real u; Real x; Real y;
  equation
    x^2 + y^2 = 1; x*y = u;
  end Pair;
  model Small
    input Real u; Real x;
  equation
    x^2 = 1e-24*u;
  end Small;
end L;
"""
U = np.array([4.0, 1.0, 0.01, 9.0, 100.0, 1e-6, 25.0])


def at(name: str, mode: str = "static", **guess: float) -> PointModel:
    return es.load_model(SOURCE, f"L.{name}").at_points(mode, guess=guess)


def found(name: str, u: Vector = U, asked: str = "x", **guess: float) -> Vector:
    return at(name, **guess).evaluate({"u": u}, outputs=[asked])[asked].to_numpy()


# --- what is true --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["static", "steady", "simulate"])
@pytest.mark.parametrize("name", ["Product", "Quotient"])
def test_nothing_times_infinity_is_no_solution(name: str, mode: str) -> None:
    u = np.array([0.5, 1.0, 3.0, 10.0])
    table = at(name, mode).evaluate({"u": u}, outputs=["m", "z"])
    np.testing.assert_allclose(table["m"], (u / 2) ** 2, rtol=1e-9)
    np.testing.assert_allclose(table["z"], 4 / u, rtol=1e-9)


@pytest.mark.parametrize("mode", ["steady", "simulate"])
def test_a_steady_state_does_not_rest_on_infinity(mode: str) -> None:
    u = np.array([0.1, 1.0, 3.0])
    table = at("Tank", mode).evaluate({"u": u}, outputs=["h", "q"])
    np.testing.assert_allclose(table["h"], 2 * np.sqrt(u), rtol=1e-6)
    model = es.load_model(SOURCE, "L.Tank")
    assert model.steady_state({"u": 3.0}, outputs=["q"])["h"] == pytest.approx(2 * np.sqrt(3))


def test_initial_equations_do_not_rest_on_infinity() -> None:
    m = es.load_model(SOURCE, "L.Began").simulate([0.0, 1.0], outputs=["m"])["m"].values
    np.testing.assert_allclose(m, [2.25, 1 + 1.25 * np.exp(-1)], rtol=1e-6)


def test_unknowns_far_below_their_scale_are_exact() -> None:
    u = np.array([0.5, 3.0, 10.0])
    np.testing.assert_allclose(found("Small", u), 1e-12 * np.sqrt(u), rtol=1e-12)


def test_sizes_of_terms_and_infinite_values_on_the_way() -> None:
    x, u = ca.SX.sym("x"), ca.SX.sym("u")
    chosen = ca.if_else(x > 0, ca.log(x), x)  # what is not chosen may be infinite
    R = ca.vertcat(x - u / (2 / ca.sqrt(x)), x**2 - u, chosen - u, ca.sin(x) - u)
    E, size = residual_with_scale(R, [x, u])
    function = ca.Function("true", [x, u], [E, size])
    np.testing.assert_allclose(np.array(function(2, 1)[0]).ravel(), np.array(
        ca.Function("R", [x, u], [R])(2, 1)).ravel())  # fmt: skip
    at_zero = np.array(function(0, 0)[1]).ravel()
    assert at_zero[0] == -1  # 2/sqrt(0) is infinite, though u/(2/sqrt(0)) is zero
    assert (at_zero[1:] == 0).all()
    np.testing.assert_allclose(np.array(function(np.pi, 0.0)[1]).ravel()[3], np.pi)


@pytest.mark.parametrize("law", ["quotient", "tangent", "reciprocal"])
def test_a_pole_is_no_solution(law: str) -> None:
    x = ca.SX.sym("x")
    R, pole = {
        "quotient": (2.8 * x / (1.9 + x) - 273, -1.9 * (1 + 1e-14)),
        "tangent": (ca.tan(x) - 273, np.pi / 2),
        "reciprocal": (1 / (x - 3) - 273, 3 * (1 + 1e-15)),
    }[law]
    E, size = (float(a) for a in ca.Function("true", [x], list(residual_with_scale(R, [x])))(pole))
    assert abs(E) > 1e10
    assert abs(E) > 1e-4 * size


# --- which solution ------------------------------------------------------------------------------


def test_without_a_start_value_the_positive_root_is_taken() -> None:
    np.testing.assert_allclose(found("Square"), np.sqrt(U))


def test_the_root_nearest_to_the_start_value_is_taken_at_all_points() -> None:
    np.testing.assert_allclose(found("SquareFromBelow"), -np.sqrt(U))


def test_a_guess_chooses_the_root() -> None:
    np.testing.assert_allclose(found("Square", x=-3.0), -np.sqrt(U))
    np.testing.assert_allclose(found("Product", asked="m", z=5.0), (U / 2) ** 2)


def test_a_solution_inside_min_and_max_is_preferred() -> None:
    np.testing.assert_allclose(found("SquareLimited", asked="y"), -np.sqrt(U))


@pytest.mark.parametrize(("x", "low", "high"), [(5.0, 1e-9, 1e9), (-0.5, -1 + 1e-12, -1e-12)])
def test_neighbours_stay_on_one_branch_beside_a_pole(x: float, low: float, high: float) -> None:
    u = np.array([0.5, 30.0, 3.0, 1000.0, 0.1])
    truth = [brentq(lambda t, v=v: 1 / t + 1 / (t + 1) - v, low, high, xtol=1e-300) for v in u]
    np.testing.assert_allclose(found("Poles", u, x=x), truth, rtol=1e-9)


def test_other_parameters_keep_the_branch() -> None:
    response = at("Poles", x=5.0).response(
        np.arange(3.0), {"u": np.array([0.5, 3.0, 10.0])}, outputs=["x"], wrt=["a"]
    )
    assert (response.at(np.array([1.0])).Y > 0).all()
    small = response.at(np.array([1e-3]))
    assert small.ok
    assert (small.Y > 0).all()


def test_where_a_branch_ends_another_one_follows() -> None:
    u = np.linspace(-3, 3, 13)
    x = found("Fold", u, x=-2.0)
    np.testing.assert_allclose(x**3 - 3 * x, u, atol=1e-12)
    assert (x[u < 2 - 1e-9] < 0).all()
    assert (x[u > 2 + 1e-9] > 0).all()


def test_a_root_that_leads_nowhere_is_left_for_the_next_one() -> None:
    np.testing.assert_allclose(found("Chain", asked="y"), U ** (1 / 8), rtol=1e-9)


# --- what is told --------------------------------------------------------------------------------


def test_two_equations_without_solution_are_named_with_their_unknowns() -> None:
    run = at("Pair").response([0.0, 1.0], {"u": np.array([0.3, 2.0])}, outputs=["x"]).at()
    why = "equation 'x^2 + y^2 = 1' (line 54) and equation 'x*y = u' (line 54) could not be solved"
    assert run.text == f"point 1 (u = 2): {why} for 'x', 'y'"
    x = run.Y[0, 0]
    assert x**2 + (0.3 / x) ** 2 == pytest.approx(1)


def test_points_are_no_longer_searched_for_after_many_failures() -> None:
    run = at("Square").response(
        np.arange(60.0), {"u": -np.linspace(1, 2, 60)}, outputs=["x"]
    ).at()  # fmt: skip
    assert len(run.failures) == 60
    assert run.failures[-1].reason.endswith("not searched for, since 20 others failed")


@pytest.mark.parametrize(
    ("mode", "guess", "text"),
    [
        ("static", {"xx": 1.0}, "M175: guess 'xx': there is no such variable; did you mean 'x'?"),
        ("static", {"a": 1.0}, "M175: guess 'a': it is a parameter, not an unknown; leave the"),
        ("static", {"x": np.inf}, "M174: guess 'x' is inf; give a finite number"),
    ],
)
def test_guesses_are_checked(mode: str, guess: dict[str, float], text: str) -> None:
    with pytest.raises(EstimicaError, match=re.escape(text)):
        at("Square", mode, **guess)


def test_a_simulation_takes_no_guess_of_a_state() -> None:
    with pytest.raises(EstimicaError, match=r"M175: guess 'h': it is a state, and a simulation"):
        at("Tank", "simulate", h=1.0).evaluate({"u": 1.0})
    table = at("Tank", "simulate", q=0.1).evaluate({"u": 1.0}, outputs=["h"])
    assert table["h"][0] == pytest.approx(2.0)


SWITCHING = """
model Switching
  input Real a;
  parameter Real k = 1;
  output Real s, q, r, w, n;
equation
  a = k*sign(s)*abs(s)^0.57;
  a = if q > 0 then k*q^2 else -k*q^2;
  a = k*(if r >= 0 then r^0.8 else -(-r)^0.8);
  a = if w > 2 then 4 + k*(w - 2)^3 else w*abs(w);
  a = k*(if n > 0 then (if n > 1 then n^2 else n) else n^3);
end Switching;
"""


@pytest.mark.parametrize("a", [[-10.0], [0.1], [100.0], [-10.0, -0.3, 0.1, 2.0, 100.0]])
def test_relations_switch_while_a_point_is_searched(a: list[float]) -> None:
    model = es.load_model(SWITCHING).at_points()
    response = model.response(
        np.arange(float(len(a))), {"a": np.array(a)}, outputs=["s", "q", "r", "w", "n"], wrt=["k"]
    )
    run = response.at(np.array([1.0]))
    assert run.ok, run.text
    v, size = np.array(a), np.abs(a)
    by_hand = [
        np.sign(v) * size ** (1 / 0.57),
        np.sign(v) * np.sqrt(size),
        np.sign(v) * size ** (1 / 0.8),
        np.where(v > 4, 2 + np.cbrt(v - 4), np.sign(v) * np.sqrt(size)),
        np.where(v > 1, np.sqrt(size), np.where(v > 0, v, np.cbrt(v))),
    ]
    np.testing.assert_allclose(run.Y, np.array(by_hand).T, rtol=1e-9)
    h = 1e-6
    there, back = response.at(np.array([1 + h])), response.at(np.array([1 - h]))
    np.testing.assert_allclose(run.YS[:, :, 0], (there.Y - back.Y) / (2 * h), rtol=1e-6, atol=1e-9)


def test_a_law_that_switches_and_has_no_solution_is_told() -> None:
    model = es.load_model(
        "model M input Real a; output Real x; equation a = sign(x)*(1 + x^2); end M;"
    )
    with pytest.raises(EstimicaError, match=r"point 0 \(a = 0.1\): equation 'a = sign\(x\)"):
        model.at_points().evaluate({"a": [0.1]}, outputs=["x"])


@pytest.mark.parametrize("a", [-10.0, 0.1, 100.0])
def test_relations_switch_while_initial_values_are_searched(a: float) -> None:
    model = es.load_model(
        f"model Begun parameter Real a = {a}; output Real s, q; Real y(start = 0, fixed = true);"
        " equation a = sign(s)*abs(s)^0.57; a = if q > 0 then q^2 else -q^2; der(y) = s + q - y;"
        " end Begun;"
    )
    run = model.simulate([0.0, 1.0], outputs=["s", "q", "y"])
    s, q = np.sign(a) * abs(a) ** (1 / 0.57), np.sign(a) * np.sqrt(abs(a))
    np.testing.assert_allclose(run["s"], s, rtol=1e-8)
    np.testing.assert_allclose(run["q"], q, rtol=1e-8)
    np.testing.assert_allclose(run["y"], [0.0, (s + q) * (1 - np.exp(-1))], rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "second"),
    [(ca.atan2, 0.7), (ca.hypot, 0.0), (ca.fmod, 2.0), (ca.remainder, 2.0), (ca.copysign, 1.0)],
)
def test_sizes_pass_through_functions_of_two_numbers(function, second):
    """What is left of 0.3 - (0.1 + 0.2) is rounding of 0.3, behind any function of it too."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    R = function(x - y, second)
    E, size = ca.Function("true", [x, y], list(residual_with_scale(R, [x, y])))(0.1 + 0.2, 0.3)
    assert 0.0 < abs(float(E)) < 1e-15
    assert 0.5 < float(size) < 2.0
