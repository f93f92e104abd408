"""Models that call functions: trajectories and sensitivities against closed solutions."""

from __future__ import annotations

import math
import pickle

import casadi as ca
import numpy as np
import pytest
from tests import functions as given

from estimica.base.errors import SimulationError
from estimica.compiled.llvm.call_expansion import expanded
from estimica.compiled.llvm.kept_function import call_kept
from estimica.compiled.llvm.machine_code import compile_functions, evaluate
from estimica.flat import expression as ex
from estimica.flat.evaluate import call_function
from estimica.flat.function import FlatFunction, invoke
from estimica.simulate.engine.options import Options
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.roots.residual import residual_with_scale

n, c = ex.name, ex.const
TIMES = np.linspace(0.0, 1.5, 16)
TIGHT = Options(rtol=1e-10, atol=1e-12)


def tank() -> ModelicaModel:
    """x' = -k √x, so that x = (√x0 - k t/2)²."""
    rate = ex.neg(ex.mul(n("k"), n("y")))
    (root,) = invoke(given.square_root(), [n("x")])
    variables = [given.state("x", 4.0), given.parameter("k", 1.2), given.Variable("y")]
    return ModelicaModel(given.system(variables, [(ex.der("x"), rate), (n("y"), root)]))


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_an_iteration_inside_a_model(method: str) -> None:
    options = Options(rtol=1e-10, atol=1e-12, method=method)
    found = tank().sensitivities(TIMES, wrt=["k", "x"], outputs=["x", "y"], options=options)
    root = 2.0 - 0.6 * TIMES
    np.testing.assert_allclose(found.values[:, 0], root**2, rtol=1e-8)
    np.testing.assert_allclose(found.values[:, 1], root, rtol=1e-8)
    np.testing.assert_allclose(found.derivative("x", "k"), -root * TIMES, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.derivative("x", "x"), root / 2.0, rtol=1e-6)
    np.testing.assert_allclose(found.derivative("y", "k"), -TIMES / 2, rtol=1e-6, atol=1e-8)


def test_a_model_with_functions_travels() -> None:
    model = pickle.loads(pickle.dumps(tank()))
    values = model.simulate(TIMES, outputs=["x"], options=TIGHT).values[:, 0]
    np.testing.assert_allclose(values, (2.0 - 0.6 * TIMES) ** 2, rtol=1e-8)


def test_a_loop_whose_end_a_state_decides() -> None:
    """x' = 1 with s = 1 + q + … of ⌈x⌉ terms: between the jumps, s is a polynomial of q."""
    (s,) = invoke(given.geometric_sum(), [n("q"), n("x")])
    variables = [given.state("x", 0.5), given.parameter("q", 0.5), given.Variable("s")]
    model = ModelicaModel(given.system(variables, [(ex.der("x"), ex.ONE), (n("s"), s)]))
    times = np.array([0.25, 1.25, 2.25])
    found = model.sensitivities(times, wrt=["q"], outputs=["s"])
    np.testing.assert_allclose(found.values[:, 0], [1.0, 1.5, 1.75])
    np.testing.assert_allclose(found.derivative("s", "q"), [0.0, 1.0, 2.0], atol=1e-12)


def test_a_call_in_a_constraint_of_higher_index() -> None:
    """On the circle r(x, y) = L with x = sin t: y' follows from the derivative of the call."""
    radius, _ = invoke(given.polar(), [n("x"), n("y")])
    variables = [given.state("x", 0.0), given.parameter("L", 1.0)]
    variables += [given.Variable("y", start=c(1.0)), given.Variable("v")]
    equations = [
        (ex.der("x"), ex.call("cos", ex.TIME)),
        (radius, n("L")),
        (n("v"), ex.der("y")),
    ]
    model = ModelicaModel(given.system(variables, equations))
    times = np.linspace(0.0, 1.2, 13)
    found = model.sensitivities(times, wrt=["L"], outputs=["y", "v"], options=TIGHT)
    np.testing.assert_allclose(found.values[:, 0], np.cos(times), rtol=1e-7)
    np.testing.assert_allclose(found.values[:, 1], -np.sin(times), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.derivative("y", "L"), 1 / np.cos(times), rtol=1e-6)


def test_an_implicit_equation_with_a_call() -> None:
    """√z + z = x has z = ((-1 + √(1 + 4x))/2)²."""
    (root,) = invoke(given.square_root(), [n("z")])
    variables = [given.state("x", 2.0), given.parameter("a", 1.0)]
    variables.append(given.Variable("z", start=c(1.0)))
    equations = [(ex.der("x"), n("a")), (ex.add(root, n("z")), n("x"))]
    model = ModelicaModel(given.system(variables, equations))
    found = model.sensitivities(TIMES, wrt=["a"], outputs=["z"], options=TIGHT)
    x = 2.0 + TIMES
    exact = ((-1 + np.sqrt(1 + 4 * x)) / 2) ** 2
    slope = TIMES / (1 + 0.5 / np.sqrt(exact))
    np.testing.assert_allclose(found.values[:, 0], exact, rtol=1e-8)
    np.testing.assert_allclose(found.derivative("z", "a"), slope, rtol=1e-6, atol=1e-9)


def test_a_call_that_is_not_chosen_may_fail() -> None:
    """x falls through zero: below it the other side counts, though the call fails there."""
    (root,) = invoke(given.square_root(), [n("x")])
    rate = ex.node("noEvent", ex.conditional(ex.relation("gt", n("x"), ex.ZERO), root, ex.ZERO))
    variables = [given.state("x", 0.5), given.Variable("y"), given.parameter("b", 1.0)]
    equations = [(ex.der("x"), ex.neg(n("b"))), (n("y"), rate)]
    model = ModelicaModel(given.system(variables, equations))
    found = model.sensitivities(np.array([0.0, 0.25, 1.0]), wrt=["b"], outputs=["y"])
    np.testing.assert_allclose(found.values[1:, 0], [0.5, 0.0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.derivative("y", "b")[1:], [-0.25, 0.0], rtol=1e-7, atol=1e-9)


def test_a_failing_call_ends_the_run() -> None:
    (root,) = invoke(given.square_root(), [n("x")])
    variables = [given.state("x", 0.5), given.state("y", 0.0)]
    equations = [(ex.der("x"), c(-1.0)), (ex.der("y"), root)]
    with pytest.raises(SimulationError):
        ModelicaModel(given.system(variables, equations)).simulate(TIMES, outputs=["y"])


def test_run_constants_are_called_once_for_each_run() -> None:
    """A call of parameters alone is no work of the right-hand side."""
    (root,) = invoke(given.square_root(), [n("k")])
    variables = [given.state("x", 1.0), given.parameter("k", 4.0)]
    model = ModelicaModel(given.system(variables, [(ex.der("x"), ex.neg(ex.mul(root, n("x"))))]))
    found = model.sensitivities(TIMES, wrt=["k"], outputs=["x"], options=TIGHT)
    exact = np.exp(-2 * TIMES)
    np.testing.assert_allclose(found.values[:, 0], exact, rtol=1e-8)
    np.testing.assert_allclose(found.derivative("x", "k"), -TIMES / 4 * exact, rtol=1e-6, atol=1e-9)


FUNCTIONS = {
    "root": (given.square_root, [2.0]),
    "fourth": (given.fourth_root, [3.0]),
    "polar": (given.polar, [3.0, 4.0]),
    "guarded": (given.guarded_root, [-3.0]),
    "chosen": (given.chosen_root, [-3.0]),
    "geometric": (given.geometric_sum, [0.7, 4.5]),
    "logarithm": (given.checked_logarithm, [2.0]),
    "failing": (given.checked_logarithm, [-2.0]),
    "endless": (given.square_root, [-2.0]),
    "sine": (given.given_sine, [2.0, 0.4]),
    "looked": (given.looked_up, [3.4]),
    "beyond": (given.looked_up, [9.4]),
    "mean": (lambda: given.mean_of(14), [0.1 * k for k in range(14)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_machine_code_agrees_with_plain_evaluation(name: str) -> None:
    """Values, and derivatives of first and second order against differences."""
    make, point = FUNCTIONS[name]
    function: FlatFunction = make()
    x = ca.SX.sym("x", len(point))
    y = ca.vertcat(*call_kept(function, [x[k] for k in range(len(point))]))
    weights = ca.SX.sym("w", len(point))
    along = ca.jtimes(y, x, weights)
    f = ca.Function("f", [x, weights], [y, along, ca.jtimes(along, x, weights)])
    direction = np.linspace(1.0, 2.0, len(point))
    if name == "sine":  # its derivative leaves the first input out
        direction[0] = 0.0
    code = compile_functions([f])
    compiled = evaluate(code, f, [point, direction])
    by_casadi = f(point, direction)
    for ours, theirs in zip(compiled, by_casadi, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-14)
    values = np.array(compiled[0]).ravel()
    np.testing.assert_allclose(values, call_function(function, point), rtol=1e-15)
    h = 1e-4
    ahead, behind = (
        np.array(call_function(function, np.array(point) + s * h * direction)) for s in (1, -1)
    )
    np.testing.assert_allclose(
        np.array(compiled[1]).ravel(), (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(
        np.array(compiled[2]).ravel(), (ahead - 2 * values + behind) / h**2, rtol=1e-5, atol=1e-5
    )


def test_all_directions_share_one_call() -> None:
    """Values and derivatives in three directions: one call in all."""
    x, seeds = ca.SX.sym("x", 2), ca.SX.sym("s", 2, 3)
    r, phi = call_kept(given.polar(), [x[0], x[1]])
    f = ca.Function("f", [x, seeds], [r, ca.jtimes(ca.vertcat(r, phi), x, seeds)], {"cse": True})
    found = expanded(f)
    ids = [found.instruction_id(k) for k in range(found.n_instructions())]
    assert ids.count(ca.OP_CALL) == 1


def test_casadi_evaluates_calls_at_many_points() -> None:
    x = ca.SX.sym("x")
    f = ca.Function("f", [x], [call_kept(given.square_root(), [x])[0]])
    points = np.linspace(0.5, 4.0, 300)
    np.testing.assert_allclose([float(f(p)) for p in points], np.sqrt(points), rtol=1e-13)


def test_gradients_by_the_reverse_way() -> None:
    x = ca.SX.sym("x", 2)
    r, phi = call_kept(given.polar(), [x[0], x[1]])
    gradient = ca.Function("g", [x], [ca.gradient(r * phi, x)])
    angle = math.atan2(4, 3)
    exact = [3 / 5 * angle - 4 / 5, 4 / 5 * angle + 3 / 5]
    np.testing.assert_allclose(np.array(gradient([3, 4])).ravel(), exact, rtol=1e-12)


def test_size_of_a_residual_with_a_call() -> None:
    """√x - 2 at x = 4: an error of x by 1e-9 of it changes the root by half of that."""
    x = ca.SX.sym("x")
    (root,) = call_kept(given.square_root(), [x])
    f = ca.Function("f", [x], [*residual_with_scale(root - 2, [x])])
    residual, size = f(4.0)
    assert float(residual) == pytest.approx(0.0, abs=1e-14)
    assert float(size) == pytest.approx(2 + 1 + 2)
    assert float(f(-4.0)[1]) == -1.0


def test_parameters_that_calls_of_parameters_give() -> None:
    """q = √p and r = 2 q + p follow p; x' = -r."""
    (root,) = invoke(given.square_root(), [n("p")])
    bound = [("q", root), ("r", ex.add(ex.mul(c(2.0), n("q")), n("p")))]
    variables = [given.state("x", 1.0), given.parameter("p", 4.0)]
    variables += [
        given.Variable(name, variability=given.Variability.PARAMETER, binding=e)
        for name, e in bound
    ]
    model = ModelicaModel(given.system(variables, [(ex.der("x"), ex.neg(n("r")))]))
    found = model.sensitivities(TIMES, wrt=["p"], outputs=["x"], options=TIGHT)
    np.testing.assert_allclose(found.values[:, 0], 1 - 8 * TIMES, rtol=1e-9)
    np.testing.assert_allclose(found.derivative("x", "p"), -1.5 * TIMES, rtol=1e-9, atol=1e-12)


def test_an_iteration_of_a_function_with_inputs_given_beforehand() -> None:
    """u with u + exp(u) = level by bisection of a function that is handed on with the level."""
    text = """
package P
  partial function Curve input Real u; output Real y; end Curve;
  function Off extends Curve; input Real level; algorithm y := u + exp(u) - level; end Off;
  function root
    input Curve f; input Real a; input Real b; output Real u;
  protected
    Real low = a; Real high = b; Real slope;
  algorithm
    while high - low > 1e-3 loop
      u := (low + high)/2;
      if f(u) > 0 then high := u; else low := u; end if;
    end while;
    u := low;
    while abs(f(u)) > 1e-13 loop
      slope := (f(u + 1e-6) - f(u - 1e-6))/2e-6;
      u := u - f(u)/slope;
    end while;
  end root;
  function inverse input Real level; output Real u;
  algorithm u := root(function Off(level = level), -20, 20); end inverse;
  model M Real x(start = 1, fixed = true); Real u;
  equation der(x) = 1; u = inverse(x + exp(x)); end M;
end P;
"""
    run = load_model(text, "P.M").simulate(np.linspace(0, 2, 9), outputs=["x", "u"])
    np.testing.assert_allclose(run.value("u"), run.value("x"), rtol=1e-9)


@pytest.mark.parametrize("start", [1.0, 2.0])
def test_what_a_function_asserts_is_told_where_a_run_stops(start: float) -> None:
    """The state grows beyond what the function takes, or begins there."""
    text = f"""
model M
  function f
    input Real u; output Real y;
  protected
    Real k;
  algorithm
    assert(u < 1.5, "the flow is too large for this pump");
    k := u; y := 0;
    while k > 1e-3 loop k := k/2; y := y + k; end while;
  end f;
  Real x(start = {start}, fixed = true); Real r;
equation
  der(x) = r;
  r = f(x);
end M;
"""
    with pytest.raises(SimulationError, match="the flow is too large for this pump"):
        load_model(text).simulate(np.linspace(0, 3, 11))
