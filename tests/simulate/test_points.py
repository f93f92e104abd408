"""Operating points: static, steady and simulated, with derivatives by the implicit function theorem."""

from __future__ import annotations

import pickle
import re
import time

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.components import SOURCE

import estimica as es
from estimica.base.arrays import Vector
from estimica.base.errors import EstimicaError
from estimica.simulate.modelica.operating_points import PointModel
from estimica.simulate.points.response import PointResponse


def points(
    name: str, mode: str = "static", inputs: tuple[str, ...] = (), **more: float
) -> PointModel:
    return es.load_model(SOURCE, f"Parts.{name}", inputs=inputs).at_points(mode, **more)


def respond(
    model: PointModel, inputs: dict[str, object], outputs: list[str], wrt: list[str]
) -> PointResponse:
    size = max(np.size(v) for v in inputs.values())
    return model.response(np.arange(float(size)), inputs, outputs=outputs, wrt=wrt)


def differences(response: PointResponse, theta: Vector, rel: float = 1e-5) -> Vector:
    """Central differences of all outputs by all tuners."""
    found = []
    for j in range(len(theta)):
        h = np.zeros(len(theta))
        h[j] = rel * (abs(theta[j]) or 1.0)
        found.append((response.at(theta + h).Y - response.at(theta - h).Y) / (2 * h[j]))
    return np.stack(found, axis=-1)


def test_a_resistor_at_points() -> None:
    table = points("Resistor", inputs=("i", "n.v")).evaluate(
        {"i": [1.0, 2.0, 3.0], "n.v": 0.5}, outputs=["v", "p.v", "R"]
    )
    np.testing.assert_allclose(table["v"], [2.0, 4.0, 6.0])
    np.testing.assert_allclose(table["p.v"], [2.5, 4.5, 6.5])
    np.testing.assert_allclose(table["R"], 2.0)


def test_a_parameter_as_an_output_has_its_own_derivative() -> None:
    response = respond(
        points("Resistor", inputs=("i", "n.v")), {"i": np.ones(2), "n.v": 0.0}, ["R", "G"], ["R"]
    )
    run = response.at(np.array([4.0]))
    np.testing.assert_allclose(run.Y, [[4.0, 0.25]] * 2)
    np.testing.assert_allclose(run.YS[:, :, 0], [[1.0, -1 / 16]] * 2)


def test_a_nonlinear_valve_agrees_with_brentq() -> None:
    drop = np.concatenate([np.linspace(-3e4, 3e4, 25), [0.0]])
    model = points("Valve", inputs=("a.p", "b.p"))
    run = respond(model, {"a.p": 1e5 + drop, "b.p": 1e5}, ["m"], ["K", "c"]).at()
    truth = [
        brentq(lambda m, d=d: (m / 0.02) * abs(m / 0.02) + 1.5 * m - d, -1e3, 1e3, xtol=1e-14)
        for d in drop
    ]
    assert run.ok, run.text
    np.testing.assert_allclose(run.Y[:, 0], truth, rtol=1e-9, atol=1e-10)


def test_derivatives_of_a_valve_agree_with_differences() -> None:
    model = points("Valve", inputs=("a.p", "b.p"))
    response = respond(
        model, {"a.p": 1e5 + np.linspace(1e3, 3e4, 9), "b.p": 1e5}, ["m", "dp"], ["K", "c"]
    )
    theta = np.array([0.02, 1.5])
    run = response.at(theta)
    np.testing.assert_allclose(run.YS, differences(response, theta), rtol=1e-6, atol=1e-9)


def test_two_valves_in_line() -> None:
    model = points("Line", inputs=("a.p", "b.p"))
    response = respond(
        model,
        {"a.p": np.linspace(1.1e5, 1.5e5, 7), "b.p": 1e5},
        ["first.m", "second.a.p"],
        ["first.K", "second.c"],
    )
    theta = np.array([0.021, 1.4])
    run = response.at(theta)
    assert run.ok, run.text
    m, middle = run.Y.T
    np.testing.assert_allclose((m / 0.021) ** 2 + 1.5 * m, np.linspace(1.1e5, 1.5e5, 7) - middle)
    np.testing.assert_allclose((m / 0.03) ** 2 + 1.4 * m, middle - 1e5, rtol=1e-9)
    np.testing.assert_allclose(run.YS, differences(response, theta), rtol=1e-5, atol=1e-6)


def test_modes_follow_the_values_of_each_point() -> None:
    u = np.array([1.0, 3.0, 5.0, 9.0, 14.0, 33.0])
    run = respond(points("Switch"), {"u": u}, ["x", "high", "y"], ["a"]).at()
    x, high, y = run.Y.T
    np.testing.assert_array_equal(high, x > 2)
    np.testing.assert_allclose(x**3 + np.where(x > 2, 2, 1) * x, u)
    np.testing.assert_allclose(y, np.where(u > 3, x, 2 * x))


# --- steady and simulated ------------------------------------------------------------------------


INPUTS: dict[str, object] = {"T_in": np.linspace(30.0, 90.0, 8), "m": np.linspace(2.0, 0.5, 8)}


def test_steady_and_simulated_points_agree() -> None:
    theta = np.array([3.1, 2.1])
    both = [
        respond(points("Tube", mode), INPUTS, ["T_out", "T[3]"], ["UA", "cp"]).at(theta)
        for mode in ("steady", "simulate")
    ]
    assert all(run.ok for run in both)
    np.testing.assert_allclose(both[0].Y, both[1].Y, rtol=1e-6)
    np.testing.assert_allclose(both[0].YS, both[1].YS, rtol=1e-6)


def test_steady_agrees_with_the_steady_state_of_the_model() -> None:
    model = es.load_model(SOURCE, "Parts.Tube")
    run = respond(model.at_points("steady"), INPUTS, ["T_out"], []).at()
    for k in (0, 7):
        inputs = {n: float(np.asarray(v)[k]) for n, v in INPUTS.items()}
        assert run.Y[k, 0] == pytest.approx(model.steady_state(inputs)["T_out"], rel=1e-9)


def test_derivatives_of_steady_points_agree_with_differences() -> None:
    response = respond(points("Tube", "steady"), INPUTS, ["T_out"], ["UA", "cp", "C"])
    theta = np.array([3.1, 2.1, 100.0])
    run = response.at(theta)
    np.testing.assert_allclose(run.YS, differences(response, theta), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(run.YS[:, :, 2], 0.0, atol=1e-12)  # a capacity moves nothing at rest


def test_steady_is_twenty_times_faster_than_simulation() -> None:
    theta, taken = np.array([3.1, 2.1]), {}
    for mode in ("steady", "simulate"):
        response = respond(points("Tube", mode), INPUTS, ["T_out"], ["UA", "cp"])
        response.at(theta)
        times = []
        for _ in range(40):  # the least of many: others may be working too
            begun = time.perf_counter()
            response.at(theta)
            times.append(time.perf_counter() - begun)
        taken[mode] = min(times)
    assert taken["simulate"] > 20 * taken["steady"]


@pytest.mark.parametrize("mode", ["steady", "simulate"])
def test_a_conserved_quantity_keeps_its_start_value(mode: str) -> None:
    model = points("Tanks", mode)
    p = np.array([0.0, 0.5, 1.0, 2.0])
    response = respond(model, {"p": p}, ["h1", "h2"], ["A1", "A2", "k", "h1"])
    theta = np.array([2.0, 3.0, 0.5, 1.0])
    run = response.at(theta)
    # 2 h1 + 3 h2 = 8 and h2 = h1 + p
    np.testing.assert_allclose(run.Y[:, 0], (8 - 3 * p) / 5, rtol=1e-7)
    np.testing.assert_allclose(run.YS[:, 0, 0], 1 / 5 - (8 - 3 * p) / 25, atol=1e-7)
    np.testing.assert_allclose(run.YS[:, 0, 3], 2 / 5, atol=1e-7)
    assert any(
        note.startswith("at rest only the start says how much there is of") for note in model.notes
    )


def test_a_capacitor_alone_has_no_steady_state_of_its_own() -> None:
    model = es.load_model(SOURCE, "Parts.Capacitor", inputs=["i", "n.v"]).at_points("steady")
    run = respond(model, {"i": np.ones(2), "n.v": 0.0}, ["v"], []).at()
    assert run.failures[1].text == "point 1 (n.v = 0, i = 1): nothing holds 'v' back"


def test_homotopy_leads_where_newton_does_not() -> None:
    found = points("Steep", "steady").evaluate({"u": np.array([-400.0, 1.0, 700.0])})
    x, u = found["x"].to_numpy(), found["u"].to_numpy()
    np.testing.assert_allclose(x + 200 * np.arctan(1e4 * (x - 5)), u, rtol=1e-8)


# --- failures ------------------------------------------------------------------------------------


def test_a_point_without_solution_is_told_by_number_and_inputs() -> None:
    run = respond(points("Root"), {"u": np.array([1.0, 4.0, -2.0, 9.0])}, ["x"], ["a"]).at()
    assert not run.ok
    why = "equation 'x^2 = a*u' (line 100) could not be solved for 'x'"
    assert run.text == f"point 2 (u = -2): {why}"
    np.testing.assert_allclose(run.Y[[0, 1, 3], 0], [1.0, 2.0, 3.0])
    assert np.isnan(run.Y[2]).all()
    assert [f.number for f in run.failures] == [2]


def test_many_failures_are_counted() -> None:
    run = respond(points("Root"), {"u": -np.ones(5)}, ["x"], []).at()
    assert run.text.endswith("; and 2 more points")
    assert len(run.failures) == 5


def test_a_point_that_never_rests_is_told() -> None:
    model = es.load_model(SOURCE, "Parts.Capacitor", inputs=["i", "n.v"])
    slow = model.at_points("simulate", max_time=100.0)
    run = respond(slow, {"i": np.ones(1), "n.v": 0.0}, ["v"], []).at()
    assert run.text == "point 0 (n.v = 0, i = 1): not at rest after 100 s of simulation"


def test_evaluate_raises_for_a_point_that_fails() -> None:
    expected = "R040: Parts.Root: point 1 (u = -1): equation 'x^2 = a*u' (line 100) could not be"
    with pytest.raises(EstimicaError, match=re.escape(expected)):
        points("Root").evaluate({"u": [1.0, -1.0]})


def test_modes_that_do_not_suit_are_refused() -> None:
    with pytest.raises(EstimicaError) as error:
        points("Tanks")
    assert str(error.value) == (
        "M167: 'Parts.Tanks' has states (h1, h2), so that mode 'static' does not suit it; use mode "
        "'steady', which sets their derivatives to zero"
    )
    with pytest.raises(EstimicaError, match="M174: mode 'fast' is none of static, steady"):
        points("Tanks", "fast")
    with pytest.raises(EstimicaError, match=r"M174: mode 'steadi' .*; did you mean 'steady'"):
        points("Tanks", "steadi")
    with pytest.raises(EstimicaError, match="M174: tolerance 0 is not positive"):
        points("Tanks", "steady", tolerance=0.0)


SAMPLED = """
model Sampled
  input Real u;
  parameter Real k = 2;
  Real x(start = 0);
  discrete Real s(start = 1, fixed = true);
equation
  der(x) = u - k*x + s;
  when sample(0, 1) then
    s = 0.5*x;
  end when;
end Sampled;
"""
PENDULUM = """
model Pendulum
  input Real F;
  parameter Real m = 1;
  Real x(start = 1);
  Real y(start = -1.7);
  Real vx;
  Real vy;
  Real lambda;
equation
  der(x) = vx;
  der(y) = vy;
  m*der(vx) = F - lambda*x - 0.5*vx;
  m*der(vy) = -lambda*y - m*9.81 - 0.5*vy;
  x^2 + y^2 = 4;
end Pendulum;
"""


def test_memories_are_at_rest_after_a_simulation_only() -> None:
    model = es.load_model(SAMPLED)
    with pytest.raises(EstimicaError) as error:
        model.at_points("steady")
    assert str(error.value) == (
        "M169: 's' of 'Sampled' changes at events only, so that its value at rest depends on what "
        "was before; use mode 'simulate'"
    )
    u = np.array([0.5, 3.0])
    run = respond(model.at_points("simulate"), {"u": u}, ["x"], ["k"]).at()
    np.testing.assert_allclose(run.Y[:, 0], u / 1.5, rtol=1e-6)
    np.testing.assert_allclose(run.YS[:, 0, 0], -u / 1.5**2, rtol=1e-5)


def test_states_that_are_tied_come_to_rest_in_a_simulation() -> None:
    model = es.load_model(PENDULUM)
    F = np.array([0.5, 3.0])
    run = respond(model.at_points("simulate"), {"F": F}, ["x"], ["m"]).at()
    length = np.hypot(F, 9.81)
    np.testing.assert_allclose(run.Y[:, 0], 2 * F / length, rtol=1e-6)
    np.testing.assert_allclose(run.YS[:, 0, 0], -2 * F * 9.81**2 / length**3, rtol=1e-5)
    run = respond(model.at_points("steady"), {"F": F}, ["x"], []).at()
    assert "states are tied by equation 'x^2 + y^2 = 4'" in run.text
    assert run.text.endswith("use mode 'simulate'")


def test_a_delayed_signal_at_rest_is_the_signal() -> None:
    source = """
    model Late
      input Real u;
      parameter Real k = 2;
      Real x(start = 0);
      Real y;
    equation
      der(x) = u - k*y;
      y = 0.3*delay(x, 0.5) + x;
    end Late;
    """
    u = np.array([0.5, 1.5, 3.0])
    for mode in ("steady", "simulate"):
        run = respond(es.load_model(source).at_points(mode), {"u": u}, ["x"], ["k"]).at()
        np.testing.assert_allclose(run.Y[:, 0], u / 2.6, rtol=1e-6)
        np.testing.assert_allclose(run.YS[:, 0, 0], -u / 5.2, rtol=1e-6)


def test_inputs_of_points_are_checked() -> None:
    model = points("Resistor", inputs=("i", "n.v"))
    with pytest.raises(EstimicaError, match=r"M171: input 'n.v' is not given; an operating point"):
        respond(model, {"i": np.ones(2)}, ["v"], [])
    with pytest.raises(EstimicaError, match="M020: the model has no input 'j'"):
        respond(model, {"i": np.ones(2), "j": 1.0}, ["v"], [])
    with pytest.raises(EstimicaError, match="M173: input 'i' is nan at point 1; leave that point"):
        respond(model, {"i": np.array([1.0, np.nan]), "n.v": 0.0}, ["v"], [])
    with pytest.raises(EstimicaError, match="M172: input 'i': 3 values for 2 points"):
        model.response([0.0, 1.0], {"i": np.ones(3), "n.v": 0.0})
    with pytest.raises(EstimicaError, match="M172: input 'i': give a number, or one for each poi"):
        model.evaluate({"i": ["a", "b"], "n.v": 0.0})
    with pytest.raises(EstimicaError, match=r"M172: input 'i': give one row .* shape \(1, 2\)"):
        model.evaluate({"i": [[1.0, 2.0]], "n.v": 0.0})


# --- how evaluations depend on each other --------------------------------------------------------


def test_evaluations_do_not_depend_on_those_before() -> None:
    model = points("Valve", inputs=("a.p", "b.p"))
    inputs: dict[str, object] = {"a.p": 1e5 + np.linspace(1e3, 3e4, 9), "b.p": 1e5}
    first, second = (respond(model, inputs, ["m"], ["K"]) for _ in range(2))
    first.at()
    second.at()
    for value in (0.1, 0.001, 0.5):
        first.at(np.array([value]))
    theta = np.array([0.03])
    np.testing.assert_array_equal(first.at(theta).Y, second.at(theta).Y)


def test_derivatives_by_inputs() -> None:
    model = points("Valve", inputs=("a.p", "b.p"))
    p = 1e5 + np.linspace(1e3, 3e4, 5)
    response = model.response_to_inputs(
        np.arange(5.0), {"a.p": p, "b.p": 1e5}, {}, outputs=["m"], wrt=["K"], wrt_inputs=["a.p"]
    )
    theta = np.array([0.02])
    run = response.at(theta, p[None, :])
    h = 1.0
    ends = [response.at(theta, p[None, :] + s * h).Y for s in (1, -1)]
    np.testing.assert_allclose(run.YS[:, :, 1], (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def test_a_point_model_travels() -> None:
    model = pickle.loads(pickle.dumps(points("Root")))
    assert model.evaluate({"u": [4.0]})["x"][0] == pytest.approx(2.0)
    assert repr(model).endswith("at operating points, static>")
