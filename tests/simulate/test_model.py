"""The model interface: what it computes beyond plain runs, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import estimica as es

OPTIONS = es.Options(rtol=1e-9, atol=1e-11)
TIMES = np.linspace(0, 2, 21)

DECAY = """
model Decay
  parameter Real k(unit="1/s") = 2 "rate"; parameter Real n(fixed=false, start=1);
  parameter Integer order = 1; final parameter Real twice = 2*k;
  input Real u(start=1); output Real y; Real x(start=3, fixed=true);
initial equation
  n = k^2;
equation
  der(x) = -k*x + u;
  y = x*n;
end Decay;
"""


@pytest.fixture(scope="module")
def decay() -> es.ModelicaModel:
    return es.load_model(DECAY)


# -- structure ------------------------------------------------------------------------------------


def test_two_capacitors_in_parallel():
    text = """
model M
  parameter Real C1 = 1, C2 = 2, R = 3; input Real u(start=2);
  Real v1(start=0.5, fixed=true), v2, i1, i2, i;
equation
  C1*der(v1) = i1; C2*der(v2) = i2; v1 = v2; i = i1 + i2; u - v1 = R*i;
end M;
"""
    model = es.load_model(text)
    assert len(model.states) == 1
    run = model.sensitivities(TIMES, wrt=["C1", "R"], outputs=["v2", "i1"], options=OPTIONS)
    e = np.exp(-TIMES / 9)
    np.testing.assert_allclose(run.value("v2"), 2 - 1.5 * e, rtol=1e-8)
    np.testing.assert_allclose(run.value("i1"), 1.5 * e / 9, rtol=1e-8)
    np.testing.assert_allclose(run.derivative("v2", "C1"), -1.5 * e * TIMES * 3 / 81, atol=1e-8)
    np.testing.assert_allclose(run.derivative("v2", "R"), -1.5 * e * TIMES * 3 / 81, atol=1e-8)


def test_algebraic_loop_of_three():
    text = """
model M
  parameter Real a = 0.3; Real x(start=1, fixed=true); Real p(start=0.5), q(start=0.5), r(start=0.5);
equation
  p = cos(a*q) + 0.1*x; q = cos(a*r); r = cos(a*p);
  der(x) = -p*x;
end M;
"""

    def reference(a: float) -> np.ndarray:
        from scipy.integrate import solve_ivp

        def loop(x):
            p = q = r = 0.5
            for _ in range(200):
                p, q, r = np.cos(a * q) + 0.1 * x, np.cos(a * r), np.cos(a * p)
            return p

        solved = solve_ivp(
            lambda t, x: [-loop(x[0]) * x[0]], (0, 2), [1.0], t_eval=TIMES, rtol=1e-11, atol=1e-13
        )
        return solved.y[0]

    run = es.load_model(text).sensitivities(TIMES, wrt=["a"], outputs=["x"], options=OPTIONS)
    np.testing.assert_allclose(run.value("x"), reference(0.3), rtol=1e-8)
    slope = (reference(0.3 + 1e-4) - reference(0.3 - 1e-4)) / 2e-4
    np.testing.assert_allclose(run.derivative("x", "a"), slope, atol=1e-7)


def test_pendulum_keeps_its_length(examples: Path):
    model = es.load_model(examples / "Pendulum.mo")
    run = model.simulate(
        np.linspace(0, 10, 1001),
        outputs=["x", "y", "vx", "vy"],
        options=es.Options(rtol=1e-8, atol=1e-10),
    )
    x, y, vx, vy = run.values.T
    assert np.abs(np.hypot(x, y) - 1).max() < 1e-8
    assert np.abs(x * vx + y * vy).max() < 1e-8


def test_initial_equations_that_depend_on_parameters_have_sensitivities():
    text = """
model M
  parameter Real a = 2; parameter Real c = 0.5; parameter Real b(fixed=false, start=1); Real x(start=1); Real y(start=a^2, fixed=true);
initial equation
  der(x) = 0;
  b + y*x = 10;
equation
  der(x) = -a*x^3 + 4*exp(-c*x);
  der(y) = -y + b*x;
end M;
"""
    model = es.load_model(text)
    response = model.response(TIMES, wrt=["a", "c"], outputs=["x", "y", "b"], options=OPTIONS)
    exact = response.at().YS
    theta = response.tuners
    for j in range(2):
        h = 1e-5 * np.eye(2)[j]
        slope = (response.at(theta + h).Y - response.at(theta - h).Y) / 2e-5
        np.testing.assert_allclose(exact[:, :, j], slope, atol=1e-7)


def test_removed_aliases_and_derivatives_can_be_asked_for():
    text = """
model M
  Real x(start=1, fixed=true), y, z, w;
equation
  der(x) = -x; y = x; z = -y; w = der(x);
end M;
"""
    run = es.load_model(text).simulate(
        TIMES, outputs=["y", "z", "w", "der(x)", "time"], options=OPTIONS
    )
    e = np.exp(-TIMES)
    for name, wanted in {"y": e, "z": -e, "w": -e, "der(x)": -e, "time": TIMES}.items():
        np.testing.assert_allclose(run.value(name), wanted, atol=1e-8)


# -- runs -----------------------------------------------------------------------------------------


def test_start_values_are_set_and_differentiated(decay):
    run = decay.sensitivities(
        TIMES, {"u": 0.0}, start={"x": 5}, wrt=["x", "k"], outputs=["x"], options=OPTIONS
    )
    np.testing.assert_allclose(run.value("x"), 5 * np.exp(-2 * TIMES), atol=1e-8)
    np.testing.assert_allclose(run.derivative("x", "x"), np.exp(-2 * TIMES), atol=1e-8)
    np.testing.assert_allclose(run.derivative("x", "k"), -5 * TIMES * np.exp(-2 * TIMES), atol=1e-7)


def test_free_parameters_follow_the_tuners(decay):
    run = decay.sensitivities(TIMES, {"u": 0.0}, wrt=["k"], outputs=["y", "n"], options=OPTIONS)
    k, e = 2.0, np.exp(-2 * TIMES)
    np.testing.assert_allclose(run.value("y"), 3 * e * k**2, atol=1e-8)
    np.testing.assert_allclose(run.derivative("n", "k"), 2 * k, atol=1e-10)
    np.testing.assert_allclose(run.derivative("y", "k"), 3 * e * (2 * k - TIMES * k**2), atol=1e-7)


def test_a_sample_at_an_input_jump_sees_the_value_after_it():
    text = "model M\n input Real u; output Real y;\nequation\n y = 2*u;\nend M;"
    run = es.load_model(text).simulate([0, 0.5, 1, 1.5], {"u": ([0, 1], [3, 4])})
    assert run.value("y").tolist() == [6, 6, 8, 8]


def test_linear_and_spline_inputs():
    text = "model M\n input Real u; Real x(start=0, fixed=true);\nequation\n der(x) = u;\nend M;"
    model = es.load_model(text)
    ramp = {"time": [0, 1, 2], "value": [0, 1, 0], "hold": "linear"}
    x = model.simulate([0, 1, 2], {"u": ramp}, options=OPTIONS).value("x")
    np.testing.assert_allclose(x, [0, 0.5, 1.0], atol=1e-9)
    t = np.linspace(0, 2, 9)
    wave = {"time": t, "value": np.sin(t), "hold": "spline"}
    x = model.simulate([0, 2], {"u": wave}, options=OPTIONS).value("x")
    assert abs(x[1] - (1 - np.cos(2))) < 2e-4


def test_linearisation_of_an_oscillator():
    text = """
model M
  parameter Real w = 3, d = 0.4; input Real u; Real x(start=0.2, fixed=true), v(start=0, fixed=true), a; output Real y;
equation
  der(x) = v; der(v) = a; a + a^3/1000 = -w^2*sin(x) - d*v + u; y = x + 2*u;
end M;
"""
    model = es.load_model(text)
    point = model.linearise({"u": 0.0}, states={"x": 0.0}, outputs=["y"])
    i, j = point.states.index("x"), point.states.index("v")
    order = np.ix_([i, j], [i, j])
    np.testing.assert_allclose(point.A[order], [[0, 1], [-9, -0.4]], atol=1e-12)
    np.testing.assert_allclose(point.B[[i, j]], [[0], [1]], atol=1e-12)
    np.testing.assert_allclose(point.D, [[2]])
    np.testing.assert_allclose(
        expm(point.A).trace(), 2 * np.exp(-0.2) * np.cos(np.sqrt(9 - 0.04)), rtol=1e-9
    )


def test_steady_state():
    text = """
model M
  parameter Real k = 2; input Real u(start=8); Real h(start=0.1, fixed=true); Real q;
equation
  q = k*sqrt(h); der(h) = u - q;
end M;
"""
    model = es.load_model(text)
    found = model.steady_state(outputs=["q"])
    assert found["h"] == pytest.approx(16, rel=1e-9)
    assert found["q"] == pytest.approx(8, rel=1e-9)
    point = model.linearise(outputs=["q"], steady=True)
    np.testing.assert_allclose(point.A, [[-2 / (2 * 4)]], rtol=1e-7)


def test_signals_with_stamps_of_their_own(decay):
    stamps = {"x": [0.0, 0.5, 1.0], "y": [0.25, 1.0, 1.75]}
    run = decay.sensitivities(stamps, {"u": 0.0}, wrt=["k"], options=OPTIONS)
    assert run.time.tolist() == [0.0, 0.25, 0.5, 1.0, 1.75]
    x = 3 * np.exp(-2 * run.time)
    np.testing.assert_allclose(run.value("x"), np.where(np.isin(run.time, stamps["x"]), x, np.nan))
    np.testing.assert_allclose(
        run.value("y"), np.where(np.isin(run.time, stamps["y"]), 4 * x, np.nan)
    )
    missing = np.isnan(run.value("y"))
    assert (np.isnan(run.derivative("y", "k")) == missing).all()
    with pytest.raises(es.ModelError, match="not both"):
        decay.simulate(stamps, outputs=["x"])


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.simulate([0, 1], parameters={"K": 1}), "did you mean 'k'"),
        (lambda m: m.simulate([0, 1], parameters={"twice": 1}), "declared final"),
        (lambda m: m.simulate([0, 1], parameters={"order": 2}), "of type Integer"),
        (lambda m: m.simulate([0, 1], parameters={"k": "two"}), "not a number"),
        (lambda m: m.simulate([0, 1], parameters={"k": np.nan}), "not finite"),
        (lambda m: m.simulate([0, 1], parameters={"x": 1}), "set its start value with start="),
        (lambda m: m.simulate([0, 1], start={"k": 1}), "set it with parameters="),
        (lambda m: m.simulate([0, 1], start={"y": 1}), "neither a parameter nor a state"),
        (lambda m: m.simulate([0, 1], {"v": 1}), "no input 'v'"),
        (lambda m: m.simulate([0, 1], outputs=["z"]), "no variable 'z'"),
        (lambda m: m.simulate([]), "times is empty"),
        (lambda m: m.simulate([1, 0]), "must not decrease"),
        (lambda m: m.simulate([0, np.inf]), "not finite"),
        (lambda m: m.simulate(["a"]), "must be numbers"),
        (lambda m: m.simulate([0, 1], begin=2), "after the first output time"),
        (lambda m: m.sensitivities([0, 1], wrt=[]), "wrt is empty"),
        (lambda m: m.sensitivities([0, 1], wrt=["kk"]), "no parameter or state 'kk'"),
    ],
)
def test_wrong_calls_are_named(decay, call, message):
    with pytest.raises(es.ModelError, match=message):
        call(decay)


def test_blow_up_is_an_error_with_time_and_state():
    text = "model M\n Real x(start=1, fixed=true);\nequation\n der(x) = x^2;\nend M;"
    with pytest.raises(
        es.SimulationError, match=r"stopped at time (1|0\.99999).*'x'.*der\(x\) = x\^2"
    ):
        es.load_model(text).simulate([0, 2])


def test_a_derivative_that_is_no_number_is_named():
    text = "model M\n parameter Real a = 0; Real x(start=1, fixed=true);\nequation\n der(x) = x/a;\nend M;"
    with pytest.raises(es.SimulationError, match=r"time 0.*'x'"):
        es.load_model(text).simulate([0, 2])


def test_an_unsolvable_initial_system_names_the_equation():
    text = "model M\n Real x(start=1); Real y(start=0, fixed=true);\nequation\n x^2 = -1 - y; der(y) = x;\nend M;"
    with pytest.raises(es.SimulationError, match="x"):
        es.load_model(text).simulate([0, 2])


def test_an_emptying_tank_simulates_with_sensitivities():
    text = """
model Tank
  parameter Real a = 0.8; parameter Real h0 = 1; Real h(start=h0, fixed=true);
equation
  der(h) = -a*sqrt(h);
end Tank;
"""
    t = np.linspace(0, 4, 41)
    run = es.load_model(text).sensitivities(
        t, wrt=["a", "h0"], options=es.Options(rtol=1e-7, atol=1e-9)
    )
    root = np.maximum(1 - 0.4 * t, 0)
    np.testing.assert_allclose(run.value("h"), root**2, atol=2e-6)
    away = np.abs(t - 2.5) > 0.2
    np.testing.assert_allclose(run.derivative("h", "a")[away], (-t * root)[away], atol=1e-4)
    np.testing.assert_allclose(run.derivative("h", "h0")[away], root[away], atol=1e-4)


def test_a_tank_filled_from_empty_simulates_with_sensitivities():
    text = """
model Tank
  parameter Real a = 0.8; parameter Real q = 0.5; Real h(start=0, fixed=true);
equation
  der(h) = q - a*sqrt(h);
end Tank;
"""
    t = np.linspace(0, 4, 21)
    model = es.load_model(text)
    response = model.response(
        t, wrt=["a", "q"], outputs=["h"], options=es.Options(rtol=1e-9, atol=1e-12)
    )
    run = response.at()
    # implicit solution in r = sqrt(h): t = -(2/a)·(r + (q/a)·log(1 - a·r/q))
    a, q = 0.8, 0.5
    r = np.sqrt(run.Y[1:, 0])
    np.testing.assert_allclose(-2 / a * (r + q / a * np.log(1 - a * r / q)), t[1:], rtol=1e-6)
    for j in range(2):
        h = 1e-5 * np.eye(2)[j]
        slope = (response.at(response.tuners + h).Y - response.at(response.tuners - h).Y) / 2e-5
        np.testing.assert_allclose(run.YS[:, :, j], slope, atol=2e-5)
