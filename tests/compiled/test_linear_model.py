"""Linear models: exact against closed forms, SciPy and python-control; delays; refusals."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import signal
from scipy.integrate import solve_ivp

import estimica as es
from estimica.simulate.linear.model import LinearModel
from estimica.simulate.linear.steps import exponentials

t_uniform = np.arange(200) * 0.1


def square(t: np.ndarray, period: float = 4.0) -> np.ndarray:
    return np.where(np.mod(t + 1e-9, period) < period / 2, 1.0, -1.0)


def held(t: np.ndarray, u: np.ndarray, hold: str = "previous") -> dict[str, object]:
    return {"time": t, "value": u, "hold": hold}


def second_order(**options: object) -> LinearModel:
    values = {"K": 2.0, "w": 3.0, "d": 0.2, "b": 0.4, "T": 0.0}
    return es.transfer_function(
        "K*w^2*(1 + b*s)*exp(-T*s)/(s^2 + 2*d*w*s + w^2)",
        parameters=values,
        **options,  # type: ignore[arg-type]
    )


def two_by_two() -> LinearModel:
    return es.state_space(
        [["-1/tau1", "k"], [0, "-1/tau2"]],
        [["1/tau1", 0], [0, "g/tau2"]],
        [[1, 0], ["c", 1]],
        [[0, 0], [0, "d"]],
        delay=["T1", "T2"],
        parameters={"tau1": 0.7, "tau2": 1.9, "k": 0.3, "g": 2.0, "c": 0.5, "d": 0.1, "T1": 0.23, "T2": 0.41},
    )  # fmt: skip


# --- what it reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "K*exp(-T*s)/(1 + tau*s)",
        "exp(-s*T)*(K/tau)/(s + 1/tau)",
        "K/(exp(T*s)*(tau*s + 1))",
        "(K + K*tau*s)*exp(-(T/2)*s)*exp(-T*s/2)*(1 + tau*s)^(-2)",
        "2*K*exp(-T*s)/(1 + tau*s) - K*exp(-T*s)/(1 + tau*s)",
    ],
)
def test_texts_that_mean_the_same_have_the_same_frequency_response(text: str) -> None:
    model = es.transfer_function(text, parameters={"K": 1.5, "tau": 3.0, "T": 0.4})
    omega = np.logspace(-2, 2, 9)
    expected = 1.5 * np.exp(-0.4j * omega) / (1 + 3j * omega)
    np.testing.assert_allclose(model.frequency_response(omega), expected, rtol=1e-13)


def test_parameters_are_the_names_in_their_order_and_keep_their_values() -> None:
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters={"K": 1.5})
    assert model.parameter_names == ("K", "T", "tau")
    assert list(model.parameters["value"]) == [1.5, None, None]
    assert list(model.states.index) == ["x1"]
    assert model.has_time
    assert model.description == "exp(-(T)*s)*(K)/(tau*s + 1)"


def test_coefficients_may_be_given_as_in_other_tools() -> None:
    by_list = es.transfer_function(
        ["K"], ["tau", 1], delay="T", parameters={"K": 2, "tau": 3, "T": 1}
    )
    expected = 2 * np.exp(-0.5j) / (1 + 1.5j)
    assert by_list.frequency_response([0.5])[0] == pytest.approx(expected, rel=1e-14)


def test_python_control_objects_become_models_with_their_coefficients_as_parameters() -> None:
    control = pytest.importorskip("control")
    omega = np.array([0.1, 1.0, 7.0])
    plant = control.tf([4.0, 2.0], [2.0, 1.0, 6.0])
    model = es.transfer_function(plant, delay=0.5)
    assert model.values == {"b0": 1.0, "b1": 2.0, "a0": 3.0, "a1": 0.5}
    late = np.exp(-0.5j * omega)
    expected = np.squeeze(plant(1j * omega)) * late
    np.testing.assert_allclose(model.frequency_response(omega), expected, rtol=1e-13)
    system = control.ss(
        [[-1.0, 2.0], [0.0, -3.0]], [[0.0], [1.0]], [[1.0, 0.0], [0.0, 2.0]], [[0.0], [0.5]]
    )
    states = es.state_space(system)
    assert set(states.values) == {
        "A[1,1]",
        "A[1,2]",
        "A[2,2]",
        "B[2,1]",
        "C[1,1]",
        "C[2,2]",
        "D[2,1]",
    }
    found = states.frequency_response(omega)
    expected = np.moveaxis(system(1j * omega), -1, 0).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    with pytest.raises(es.ModelError, match="M114: a transfer function of 2 inputs and 1 outputs"):
        es.transfer_function(control.tf([[[1.0], [1.0]]], [[[1.0, 1.0], [1.0, 2.0]]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sin(s)", r"M103: transfer function 'sin\(s\)': s cannot stand inside sin"),
        ("1/(1 + exp(-T*s))", "M103: .*different delays.*must multiply the whole"),
        ("1 + exp(-s)", "different delays"),
        ("s^0.5", "M103: .*a power of s must be a whole number"),
        ("2^s", "M103: .*a power of s must be a whole number"),
        ("s^99", "the power 99 is too high"),
        ("exp(-T*s^2)", r"only exp\(-T\*s\) is a delay"),
        ("exp(-T/s)", r"only exp\(-T\*s\) is a delay"),
        ("1/(2*s - s*2)", "divided by zero"),
        ("s^2/(1 + s)", r"M104: the transfer function has s\^2 above and s\^1 below"),
        ("K/(1 + ", "S040"),
    ],
)
def test_texts_that_are_no_transfer_function_are_refused(text: str, message: str) -> None:
    with pytest.raises(es.EstimicaError, match=message):
        es.transfer_function(text)


def test_wrong_uses_are_told() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1.0})
    with pytest.raises(
        es.ModelError, match=r"M125: parameters: no coefficient uses 'tua'; did you mean 'tau'?"
    ):
        es.transfer_function("K/(1 + tau*s)", parameters={"tua": 1.0})
    with pytest.raises(
        es.ModelError, match="M124: parameter 'tau' of 'transfer function' has no value"
    ):
        model.response([0.0])
    with pytest.raises(es.ModelError, match="M116: 'transfer function' has no parameter 'k'"):
        model.response([0.0], wrt=["k"])
    with pytest.raises(es.ModelError, match="M116: 'transfer function' has no output 'z'"):
        model.response([0.0], wrt=["tau"], outputs=["z"])
    with pytest.raises(es.ModelError, match="M117: parameter 'tau' is named twice"):
        model.response([0.0], wrt=["tau", "tau"])
    with pytest.raises(es.ModelError, match="M020: the model has no input 'v'"):
        model.response([0.0], {"v": 1.0}, wrt=["tau"])
    with pytest.raises(es.ModelError, match="M036: begin 2 is after the first output time 0"):
        model.response([0.0], wrt=["tau"], begin=2.0)
    with pytest.raises(es.ModelError, match="M120: initial 'warm' is none of rest, steady"):
        es.transfer_function("1/(1 + s)", initial="warm")  # type: ignore[arg-type]
    with pytest.raises(es.ModelError, match="M122: the name 'u' is used twice"):
        es.transfer_function("u/(1 + s)")
    with pytest.raises(es.ModelError, match=r"M126: 3.5 is not a transfer function"):
        es.transfer_function(3.5)
    with pytest.raises(
        es.ModelError, match="M129: B must have 1 rows of 1 entries, not 2 rows of 1"
    ):
        es.state_space([["a"]], [[1], [1]], [[1]])
    with pytest.raises(es.ModelError, match="M100: delay: 'T\\*s' holds s"):
        es.transfer_function("1/(1 + s)", delay="T*s")
    with pytest.raises(es.ModelError, match="M128: 2 delays for 1 inputs"):
        es.state_space([["a"]], [[1]], [[1]], delay=[1, 2])
    with pytest.raises(es.ModelError, match="M127: state_space needs A, B and C"):
        es.state_space([["a"]])
    with pytest.raises(
        es.ModelError, match=r"M130: A: 'a' is not a row; write \[\[...\], \[...\]\]"
    ):
        es.state_space(["a"], [[1]], [[1]])
    with pytest.raises(
        es.ModelError, match="M101: A\\[1,1\\]: None is neither a number nor a formula"
    ):
        es.state_space([[None]], [[1]], [[1]])
    with pytest.raises(es.ModelError, match="M121: 1 names for 2 outputs"):
        es.state_space([["a"]], [[1]], [[1], [2]], outputs=["y"])
    with pytest.raises(
        es.ModelError, match=r"M123: .*a coefficient is not finite, with K = 1, tau = 0"
    ):
        model.poles({"tau": 0.0})
    with pytest.raises(es.ModelError, match="M118: 'tau': 'x' is not a number"):
        model.poles({"tau": "x"})  # type: ignore[dict-item]
    with pytest.raises(es.ModelError, match="M119: 'tau': inf is not finite"):
        model.poles({"tau": np.inf})


# --- exact in time -------------------------------------------------------------------------------


def test_exponentials_are_those_of_scipy_whatever_their_size() -> None:
    from scipy.linalg import expm

    random = np.random.default_rng(1)
    stack = random.standard_normal((30, 5, 5)) * np.logspace(-6, 1.5, 30)[:, None, None]
    for found, M in zip(exponentials(stack), stack, strict=True):
        expected = expm(M)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("hold", ["previous", "linear"])
def test_uniform_samples_are_those_of_scipy_lsim(hold: str) -> None:
    model = second_order()
    u = square(t_uniform) + 0.3 * np.sin(t_uniform)
    found = model.simulate(t_uniform, {"u": held(t_uniform, u, hold)}).value("y")
    K, w, z, b = 2.0, 3.0, 0.2, 0.4
    system = signal.lti([K * w**2 * b, K * w**2], [1, 2 * z * w, w**2])
    _, expected, _ = signal.lsim(system, u, t_uniform, interp=hold == "linear")
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_irregular_stamps_and_an_irregular_delay_agree_with_a_tight_integration() -> None:
    random = np.random.default_rng(2)
    stamps = np.concatenate([[0.0], np.sort(random.uniform(0, 10, 40))])
    times = np.sort(random.uniform(0, 10, 30))
    values = {"u1": random.standard_normal(41), "u2": random.standard_normal(41)}
    model = two_by_two()
    inputs = {"u1": held(stamps, values["u1"]), "u2": held(stamps, values["u2"], "linear")}
    found = model.simulate(times, inputs, begin=0.0)

    def late(name: str, delay: float, time: float) -> float:
        if time - delay < 0:
            return 0.0
        if name == "u2":
            return float(np.interp(time - delay, stamps, values[name]))
        return float(values[name][np.searchsorted(stamps, time - delay, side="right") - 1])

    def slope(time: float, x: np.ndarray) -> list[float]:
        u1, u2 = late("u1", 0.23, time), late("u2", 0.41, time)
        return [(-x[0] + u1) / 0.7 + 0.3 * x[1], (-x[1] + 2.0 * u2) / 1.9]

    breaks = np.unique(np.concatenate([[0.0, 10.0], stamps + 0.23, stamps + 0.41]))
    breaks = breaks[(breaks >= 0) & (breaks <= 10)]
    x, expected = np.zeros(2), np.empty((len(times), 2))
    for a, b in pairwise(breaks):  # inside a piece nothing jumps
        done = solve_ivp(
            lambda t, x, a=a, b=b: slope(min(max(t, a + 1e-13), b - 1e-13), x), (a, b), x,
            rtol=1e-12, atol=1e-13, dense_output=True, method="DOP853",
        )  # fmt: skip
        inside = (times >= a) & (times < b)
        if inside.any():
            expected[inside] = done.sol(times[inside]).T
        x = done.y[:, -1]
    u2 = np.array([late("u2", 0.41, t) for t in times])
    y2 = 0.5 * expected[:, 0] + expected[:, 1] + 0.1 * u2
    np.testing.assert_allclose(found.value("y1"), expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(found.value("y2"), y2, atol=1e-9)


def test_a_stiff_system_of_wide_coefficients_is_exact() -> None:
    model = es.transfer_function(
        "K/((1 + s/p1)*(1 + s/p2)*(1 + s/p3))", parameters={"K": 1, "p1": 1e1, "p2": 1e3, "p3": 1e5}
    )
    times = np.array([0.0, 1e-5, 1e-3, 3e-2, 0.3])
    found = model.simulate(times, {"u": 1.0}).value("y")
    p = np.array([1e1, 1e3, 1e5])
    weights = np.array([np.prod(np.delete(p, i) / (np.delete(p, i) - p[i])) for i in range(3)])
    expected = 1 - (weights * np.exp(-np.outer(times, p))).sum(axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_sample_at_a_jump_sees_the_value_after_it_also_through_a_delay_of_whole_samples() -> None:
    model = es.transfer_function("K*exp(-T*s)", parameters={"K": 2.0, "T": 0.3})
    t = np.arange(10) * 0.1  # 0.1·k + 0.3 is not 0.1·(k + 3) for every k
    u = np.arange(1.0, 11.0)
    found = model.simulate(t, {"u": held(t, u)}).value("y")
    np.testing.assert_array_equal(found, 2 * np.concatenate([[0, 0, 0], u[:7]]))


def test_before_the_run_all_was_zero_or_the_first_input_for_long() -> None:
    t = np.linspace(0, 2, 21)
    rest = es.transfer_function("K*exp(-T*s)/(1 + s)", parameters={"K": 2, "T": 0.55})
    found = rest.simulate(t, {"u": 3.0}).value("y")
    late = np.maximum(t - 0.55, 0)
    np.testing.assert_allclose(found, 6 * (1 - np.exp(-late)), atol=1e-12)
    steady = es.transfer_function(
        "K*exp(-T*s)/(1 + s)", parameters={"K": 2, "T": 0.55}, initial="steady"
    )
    run = steady.sensitivities(t, {"u": ([0.0, 1.0], [3.0, 4.0])}, wrt=["K"])
    late = np.maximum(t - 1.55, 0)
    np.testing.assert_allclose(run.value("y"), 6 + 2 * (1 - np.exp(-late)), atol=1e-12)
    np.testing.assert_allclose(run.derivative("y", "K"), run.value("y") / 2, atol=1e-12)


def test_a_tuned_start_value_begins_in_the_steady_state() -> None:
    model = es.transfer_function("K/(1 + s)^2", parameters={"K": 2}, initial="steady")
    run = model.sensitivities(t_uniform, {"u": 3.0}, wrt=["x1"])
    assert run.point[0] == pytest.approx(6.0, rel=1e-14)
    np.testing.assert_allclose(run.value("y"), 6.0, atol=1e-12)
    np.testing.assert_allclose(
        run.derivative("y", "x1"), (1 - t_uniform) * np.exp(-t_uniform), atol=1e-12
    )


def test_samples_before_the_beginning_reach_a_delayed_run() -> None:
    model = es.transfer_function("exp(-0.5*s)/(1 + s)")
    found = model.simulate([1.0, 1.2, 1.6], {"u": ([0.0, 0.9], [1.0, 2.0])}, begin=1.0).value("y")
    at = np.array([0.0, 0.2, 0.6])
    second = np.maximum(at - 0.4, 0)  # 0.9 + 0.5 is 0.4 after the beginning
    np.testing.assert_allclose(found, (1 - np.exp(-at)) + (1 - np.exp(-second)), atol=1e-12)


def test_integrators_and_static_gains_are_linear_models_too() -> None:
    t = np.linspace(0, 3, 7)
    integral = es.transfer_function("k/s", parameters={"k": 2.0})
    np.testing.assert_allclose(integral.simulate(t, {"u": 1.5}).value("y"), 3 * t, atol=1e-13)
    static = es.transfer_function("k", parameters={"k": 2.0})
    run = static.sensitivities(t, {"u": held(t, t**2)}, wrt=["k"])
    np.testing.assert_allclose(run.derivative("y", "k"), t**2, atol=0)
    assert static.poles().size == 0
    assert static.gain()[0, 0] == 2.0


def test_no_steady_state_a_negative_delay_and_growth_are_failed_evaluations() -> None:
    integral = es.transfer_function("k*exp(-T*s)/s", initial="steady", parameters={"k": 1, "T": 0})
    run = integral.response([0.0, 1.0], {"u": 1.0}, wrt=["k"]).at()
    assert not run.ok
    assert run.text.startswith("there is no steady state, a pole is at zero")
    with pytest.raises(es.SimulationError, match="R004: 'transfer function': there is no steady"):
        integral.simulate([0.0, 1.0], {"u": 1.0})
    lag = es.transfer_function("exp(-T*s)/(1 + tau*s)", parameters={"T": 1.0, "tau": 1.0})
    response = lag.response([0.0, 1000.0], {"u": 1.0}, wrt=["T", "tau"])
    assert response.at(np.array([-0.1, 1.0])).text == (
        "the delay -0.1 is negative; keep it above 0, with T = -0.1, tau = 1"
    )
    assert "not finite, with T = 1, tau = 0" in response.at(np.array([1.0, 0.0])).text
    grown = response.at(np.array([1.0, -0.001]))
    assert not grown.ok
    assert grown.text.startswith("the output grows beyond all numbers")
    assert grown.YS.shape == (2, 1, 2)


# --- derivatives ---------------------------------------------------------------------------------


def test_delay_sensitivity_of_a_step_is_the_analytic_one() -> None:
    K, tau, T = 1.5, 3.0, 0.37
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters={"K": K, "tau": tau, "T": T})
    run = model.sensitivities(t_uniform, {"u": 2.0}, wrt=["K", "tau", "T"])
    late, on = np.maximum(t_uniform - T, 0), t_uniform >= T
    decay = np.exp(-late / tau)
    exact = {
        "K": 2 * (1 - decay) * on,
        "tau": -2 * K * late / tau**2 * decay * on,
        "T": -2 * K / tau * decay * on,
    }
    for name, expected in exact.items():
        np.testing.assert_allclose(run.derivative("y", name), expected, atol=1e-13)


def test_delay_sensitivity_under_a_ramp_and_a_direct_path_is_the_analytic_one() -> None:
    model = es.transfer_function(
        "exp(-T*s)*(1 + b*s)/(1 + tau*s)", parameters={"T": 0.2, "b": 0.5, "tau": 2.0}
    )
    t = np.array([0.1, 0.5, 1.3, 2.0])
    run = model.sensitivities(t, {"u": held(np.array([0.0, 5.0]), np.array([0.0, 5.0]), "linear")},
                              wrt=["T"], begin=0.0)  # fmt: skip
    late = np.maximum(t - 0.2, 0)
    # unit ramp: y = t' + (b - tau)(1 - exp(-t'/tau)), so dy/dT = -(1 + (b - tau)/tau exp(-t'/tau))
    expected = -(1 + (0.5 - 2.0) / 2.0 * np.exp(-late / 2.0)) * (t > 0.2)
    np.testing.assert_allclose(run.derivative("y", "T"), expected, atol=1e-13)


@pytest.mark.parametrize("hold", ["previous", "linear"])
@pytest.mark.parametrize("initial", ["rest", "steady"])
def test_derivatives_are_those_of_central_differences(hold: str, initial: str) -> None:
    random = np.random.default_rng(3)
    model = second_order(initial=initial)
    stamps = np.concatenate([[0.0], np.sort(random.uniform(0, 6, 25))])
    times = np.sort(random.uniform(0, 6, 40))
    inputs = {"u": held(stamps, random.standard_normal(26), hold)}
    names = ["K", "w", "d", "b", "T"]
    response = model.response(times, inputs, wrt=names, begin=0.0)
    theta = np.array([2.0, 3.0, 0.2, 0.4, 0.317])
    exact = response.at(theta).YS[:, 0]
    sees = np.abs(np.subtract.outer(times, stamps + theta[4])).min(axis=1) > 1e-4
    for k in range(5):
        step = np.zeros(5)
        step[k] = 1e-6
        rise = (response.at(theta + step).Y - response.at(theta - step).Y)[sees, 0] / 2e-6
        np.testing.assert_allclose(exact[sees, k], rise, atol=2e-7)


def test_derivatives_of_several_inputs_outputs_and_start_values_are_those_of_differences() -> None:
    model = two_by_two()
    random = np.random.default_rng(4)
    stamps = np.linspace(0, 5, 26)
    times = np.sort(random.uniform(0, 5, 15))
    inputs = {"u1": held(stamps, random.standard_normal(26)), "u2": held(stamps, random.standard_normal(26), "linear")}  # fmt: skip
    names = [*model.parameter_names, "x1", "x2"]
    response = model.response(times, inputs, start={"x1": 0.4}, wrt=names, outputs=["y2", "y1", "x2"], begin=0.0)  # fmt: skip
    theta = response.tuners
    assert theta[-2:].tolist() == [0.4, 0.0]
    exact = response.at().YS
    assert exact.shape == (15, 3, len(names))
    for k in range(len(names)):
        step = np.zeros(len(names))
        step[k] = 1e-6
        rise = (response.at(theta + step).Y - response.at(theta - step).Y) / 2e-6
        np.testing.assert_allclose(exact[:, :, k], rise, atol=2e-8)


def test_a_parameter_of_very_different_size_keeps_exact_derivatives() -> None:
    model = es.transfer_function("1/(1 + R*C*s)", parameters={"R": 1e6, "C": 1e-9})
    t = np.linspace(0, 5e-3, 50)
    run = model.sensitivities(t, {"u": 1.0}, wrt=["R", "C"])
    exact = -t / 1e-3 * np.exp(-t / 1e-3)
    np.testing.assert_allclose(run.derivative("y", "C") * 1e-9, exact, atol=1e-13)
    np.testing.assert_allclose(run.derivative("y", "R") * 1e6, exact, atol=1e-13)


# --- frequency, poles, zeros ---------------------------------------------------------------------


def test_frequency_sensitivities_are_the_analytic_ones() -> None:
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters={"K": 2, "tau": 3, "T": 0.4})
    omega = np.logspace(-2, 1, 7)
    found, moved = model.frequency_sensitivities(omega, wrt=["K", "tau", "T"])
    s = 1j * omega
    G = 2 * np.exp(-0.4 * s) / (1 + 3 * s)
    np.testing.assert_allclose(found, G, rtol=1e-13)
    exact = np.column_stack([G / 2, -G * s / (1 + 3 * s), -s * G])
    np.testing.assert_allclose(moved, exact, rtol=1e-12)


def test_several_signals_have_a_matrix_of_frequency_responses() -> None:
    model = two_by_two()
    omega = np.array([0.3, 2.0])
    found, moved = model.frequency_sensitivities(omega, wrt=["T2", "tau1", "d"])
    assert found.shape == (2, 2, 2)
    assert moved.shape == (2, 2, 2, 3)
    for k, name in enumerate(["T2", "tau1", "d"]):
        value = model.values[name]
        above = model.frequency_response(omega, {name: value + 1e-6})
        below = model.frequency_response(omega, {name: value - 1e-6})
        np.testing.assert_allclose(moved[..., k], (above - below) / 2e-6, atol=1e-8)


def test_poles_zeros_and_gain() -> None:
    model = second_order()
    expected = -0.6 + 1j * np.sqrt(9 - 0.36) * np.array([-1, 1])
    np.testing.assert_allclose(model.poles(), expected, rtol=1e-12)
    np.testing.assert_allclose(model.zeros(), [-2.5], rtol=1e-12)
    np.testing.assert_allclose(model.gain(), [[2.0]], rtol=1e-12)
    assert np.isinf(es.transfer_function("1/s").gain()).all()
    assert es.transfer_function("1/(1 + s)").zeros().size == 0
    far = es.transfer_function("(s + 3e4)/((s + 1e3)*(s + 2e3)*(s + 5e4)*(s + 7e4)*(s + 1))")
    np.testing.assert_allclose(far.zeros(), [-3e4], rtol=1e-9)
    assert es.transfer_function("1/((s + 1e3)*(s + 2e3)*(s + 5e4)*(s + 7e4))").zeros().size == 0
    square = es.state_space(
        [[-1, 0], [0, -2]], [[1, 0], [0, 1]], [[1, 0], [1, 1]], [[0, 1], [0, 1.5]]
    )
    assert square.zeros().size == 1
    for z in square.zeros():
        G = np.array([[1 / (z + 1), 1], [1 / (z + 1), 1.5 + 1 / (z + 2)]])
        assert abs(np.linalg.det(G)) < 1e-9
    wide = es.state_space([[-1]], [[1, 1]], [[1]])
    with pytest.raises(
        es.ModelError, match="M106: zeros need as many inputs as outputs, not 2 and 1"
    ):
        wide.zeros()
    with pytest.raises(es.ModelError, match="M105: the frequency response is infinite"):
        es.transfer_function("1/s").frequency_response([0.0])


# --- discrete equivalents ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "theirs"),
    [("zoh", "zoh"), ("foh", "foh"), ("tustin", "bilinear"), ("euler", "euler"), ("impulse", "impulse")],
)  # fmt: skip
def test_discrete_equivalents_are_those_of_scipy(method: str, theirs: str) -> None:
    model = (
        es.transfer_function("(2 + s)/((1 + s)*(3 + s))") if method == "impulse" else second_order()
    )
    c, h = model.coefficients(), 0.2
    found = model.discretise(h, method)
    b, a = found.transfer_function()
    A, B, C, D, _ = signal.cont2discrete((c.A, c.B, c.C, c.D), h, theirs)
    expected_b, expected_a = signal.ss2tf(A, B, C, D)
    np.testing.assert_allclose(a, expected_a, atol=1e-12)
    np.testing.assert_allclose(b, expected_b[0], atol=1e-12)


def test_discrete_equivalents_of_a_first_order_system_are_those_computed_by_hand() -> None:
    K, tau, h = 2.0, 3.0, 0.5
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": K, "tau": tau})
    p = np.exp(-h / tau)
    by_hand = {
        "zoh": ([0, K * (1 - p)], [1, -p]),
        "matched": ([0, K * (1 - p)], [1, -p]),
        "euler": ([0, K * h / tau], [1, h / tau - 1]),
        "tustin": (np.array([1, 1]) * K * h / (h + 2 * tau), [1, (h - 2 * tau) / (h + 2 * tau)]),
        "impulse": ([K * h / tau, 0], [1, -p]),
        "foh": (
            np.array([h / tau - 1 + p, 1 - p - p * h / tau]) * K * tau / h,
            [1, -p],
        ),
    }
    for method, (b, a) in by_hand.items():
        found = model.discretise(h, method).transfer_function()
        np.testing.assert_allclose(found[0], b, atol=1e-14, err_msg=method)
        np.testing.assert_allclose(found[1], a, atol=1e-14, err_msg=method)


def test_pole_zero_mapping_puts_infinite_zeros_but_one_at_minus_one_and_keeps_the_gain() -> None:
    model = es.transfer_function("4/((1 + s)*(2 + s)*(5 + s))")
    b, a = model.discretise(0.1, "matched").transfer_function()
    np.testing.assert_allclose(np.sort(np.roots(a)), np.exp([-0.5, -0.2, -0.1]), rtol=1e-9)
    np.testing.assert_allclose(np.roots(b[1:]), [-1, -1], rtol=1e-5)
    assert b[0] == pytest.approx(0.0, abs=1e-15)
    assert np.polyval(b, 1) / np.polyval(a, 1) == pytest.approx(0.4, rel=1e-9)
    b, a = (
        es.transfer_function("(1 + s)/(s*(2 + s))").discretise(0.1, "matched").transfer_function()
    )
    at = np.exp(0.1 * 1.0)  # s = 0.1/h
    assert np.polyval(b, at) / np.polyval(a, at) == pytest.approx(2 / 3, rel=1e-9)
    np.testing.assert_allclose(np.roots(b), [np.exp(-0.1)], rtol=1e-9)


@pytest.mark.parametrize("T", [0.0, 0.3, 0.37])
def test_discrete_zoh_with_delay_gives_the_samples_of_the_simulation(T: float) -> None:
    model = es.transfer_function(
        "K*(1 + b*s)*exp(-T*s)/(1 + tau*s)", parameters={"K": 2, "b": 0.5, "tau": 0.9, "T": T}
    )
    u = square(t_uniform)
    expected = model.simulate(t_uniform, {"u": held(t_uniform, u)}).value("y")
    np.testing.assert_allclose(model.discretise(0.1).simulate(u), expected, atol=1e-12)


def test_discrete_zoh_with_two_delays_gives_the_samples_of_the_simulation() -> None:
    random = np.random.default_rng(5)
    model = two_by_two()
    u = random.standard_normal((200, 2))
    inputs = {"u1": held(t_uniform, u[:, 0]), "u2": held(t_uniform, u[:, 1])}
    for late in ({}, {"T1": 0.2}):
        expected = model.simulate(t_uniform, inputs, late).values
        found = model.discretise(0.1, "zoh", late).simulate(u)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_wrong_discretisations_are_told() -> None:
    model = es.transfer_function("exp(-0.25*s)/(1 + s)")
    with pytest.raises(
        es.ModelError, match=r"M108: no discretisation 'tusten'; did you mean 'tustin'?"
    ):
        model.discretise(0.1, "tusten")
    with pytest.raises(
        es.ModelError, match=r"M109: the sampling time -1.0 must be a positive number"
    ):
        model.discretise(-1)
    with pytest.raises(
        es.ModelError, match=r"M110: the delay 0.25 is not a multiple of the sampling time 0.1"
    ):
        model.discretise(0.1, "foh")
    with pytest.raises(es.ModelError, match="M112: impulse invariance needs"):
        es.transfer_function("(1 + s)/(2 + s)").discretise(0.1, "impulse")
    with pytest.raises(
        es.ModelError, match="M113: pole-zero mapping is for one input and one output"
    ):
        es.state_space([[-1]], [[1, 1]], [[1]]).discretise(0.1, "matched")
    with pytest.raises(es.ModelError, match="M107: 2 inputs and 1 outputs"):
        es.state_space([[-1]], [[1, 1]], [[1]]).discretise(0.1).transfer_function()
    with pytest.raises(es.ModelError, match="M111: a pole lies at 2/h = 20"):
        es.transfer_function("1/(s - 20)").discretise(0.1, "tustin")


# --- travel --------------------------------------------------------------------------------------


def test_a_linear_model_travels_to_another_process() -> None:
    model = two_by_two()
    other = pickle.loads(pickle.dumps(model))
    inputs = {"u1": 1.0, "u2": (t_uniform, square(t_uniform))}
    mine = model.response(t_uniform, inputs, wrt=["T1", "c"]).at()
    np.testing.assert_array_equal(
        other.response(t_uniform, inputs, wrt=["T1", "c"]).at().YS, mine.YS
    )
    assert repr(other) == repr(model)
