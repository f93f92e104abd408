"""Frequency responses of Modelica models against transfer functions and central differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import estimica as es

OMEGA = np.geomspace(0.01, 50, 17)
BOILER = Path(es.__file__).parent / "apps" / "cli" / "demo" / "DrumBoiler.mo"

PENDULUM = """
model Pendulum
  parameter Real L = 0.7; parameter Real d = 0.3; constant Real g = 9.81; parameter Real u0 = 3;
  input Real torque(start=2); output Real phi(start=0.1, fixed=true); Real w(start=0, fixed=true);
equation
  der(phi) = w;
  der(w) = -g/L*sin(phi) - d*w + torque + u0 - 3;
end Pendulum;
"""
# the resistance follows the voltage, the current is an implicit unknown
DIODE = """
model Diode
  parameter Real C = 0.2; parameter Real R = 1.5; parameter Real Is = 0.05; parameter Real k = 2;
  input Real u(start=1); Real v(start=0.2, fixed=true); output Real i(start=0.1);
equation
  C*der(v) = i - Is*(exp(k*v) - 1);
  u = R*i + 0.1*i^3 + v;
end Diode;
"""
LATE = """
model Late
  parameter Real tau = 2, T = 0.4, K = 3; input Real u(start=1); output Real y; Real x(start=0);
equation
  tau*der(x) = K*u - x;
  y = delay(x, T) + 0.5*u;
end Late;
"""


def central(
    model: es.ModelicaModel, name: str, value: float, step: float = 1e-4, **options: object
) -> np.ndarray:
    """Five-point differences of the frequency response."""
    h = step * abs(value)

    def at(shift: float) -> np.ndarray:
        return model.frequency_response(OMEGA, parameters={name: value + shift * h}, **options)

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def test_pendulum_has_the_transfer_function_of_its_tilted_rest():
    model = es.load_model(PENDULUM)
    G, dG = model.frequency_sensitivities(OMEGA, wrt=["L", "d", "u0"], output="phi")
    s, stiff = 1j * OMEGA, np.sqrt((9.81 / 0.7) ** 2 - 2**2)  # g/L cos(phi), sin(phi) = u L/g
    D = s**2 + 0.3 * s + stiff
    np.testing.assert_allclose(G, 1 / D, rtol=1e-10)
    by_length = -1 / D**2 * (-(9.81**2) / 0.7**3 / stiff)
    np.testing.assert_allclose(dG[:, 0], by_length, rtol=1e-9)
    np.testing.assert_allclose(dG[:, 1], -s / D**2, rtol=1e-9)
    np.testing.assert_allclose(dG[:, 2], -1 / D**2 * (-2 / stiff), rtol=1e-9)


def test_pendulum_at_its_start_does_not_move_with_the_torque():
    model = es.load_model(PENDULUM)
    G, dG = model.frequency_sensitivities(
        OMEGA, wrt=["phi", "u0"], output="phi", operating_point="start"
    )
    D = (1j * OMEGA) ** 2 + 0.3j * OMEGA + 9.81 / 0.7 * np.cos(0.1)
    np.testing.assert_allclose(G, 1 / D, rtol=1e-12)
    np.testing.assert_allclose(dG[:, 0], 9.81 / 0.7 * np.sin(0.1) / D**2, rtol=1e-12)
    np.testing.assert_allclose(dG[:, 1], 0, atol=1e-15)


def test_nonlinear_rc_with_an_implicit_current_matches_its_closed_form():
    model = es.load_model(DIODE)
    rest = model.steady_state(outputs=["i"])
    G = model.frequency_response(OMEGA, output="i")
    slope, r = 0.05 * 2 * np.exp(2 * rest["v"]), 1.5 + 0.3 * rest["i"] ** 2
    admittance = slope + 0.2j * OMEGA
    np.testing.assert_allclose(G, admittance / (1 + r * admittance), rtol=1e-10)


@pytest.mark.parametrize("point", ["steady", "start"])
def test_nonlinear_rc_derivatives_know_the_motion_of_the_operating_point(point):
    model = es.load_model(DIODE)
    values = {"C": 0.2, "R": 1.5, "Is": 0.05, "k": 2.0}
    options = {"output": "i", "operating_point": point}
    _, dG = model.frequency_sensitivities(OMEGA, wrt=list(values), **options)
    for k, (name, value) in enumerate(values.items()):
        expected = central(model, name, value, **options)
        np.testing.assert_allclose(dG[:, k], expected, rtol=1e-7, atol=1e-9)


def test_two_inputs_of_one_state_have_a_response_each():
    model = es.load_model("""
model Two
  parameter Real a = 2; input Real u; input Real d; output Real y(start = 0, fixed = true);
equation
  der(y) = -a*y + u + 3*d;
end Two;
""")
    G, dG = model.frequency_sensitivities(OMEGA, wrt=["a"])
    below = 1j * OMEGA + 2
    expected = np.stack([1 / below, 3 / below], axis=-1)
    np.testing.assert_allclose(G.reshape(-1, 2), expected, rtol=1e-12)
    slopes = -expected / below[:, None]
    np.testing.assert_allclose(dG.reshape(-1, 2), slopes, rtol=1e-12)


def test_drum_boiler_derivatives_match_differences():
    model = es.load_model(BOILER)
    wrt = [n for n in model.parameters.index if model.parameters.tunable[n]][:6]
    values = {n: float(model.parameters.value[n]) for n in wrt}
    G, dG = model.frequency_sensitivities(OMEGA, wrt=wrt, operating_point="start")
    assert G.shape == (len(OMEGA), 2, 2)
    for k, (name, value) in enumerate(values.items()):
        expected = central(model, name, value, operating_point="start")
        scale = np.abs(expected).max() + 1e-12
        np.testing.assert_allclose(dG[..., k] / scale, expected / scale, atol=1e-7)


def test_linearisation_and_frequency_response_agree():
    model = es.load_model(BOILER)
    inputs = dict.fromkeys(model.inputs.index, 0.5)
    m = model.linearise(inputs, outputs=model.output_names())
    G = model.frequency_response(OMEGA, inputs, operating_point="start")
    eye = np.eye(len(m.A))
    expected = [m.C @ np.linalg.solve(1j * w * eye - m.A, m.B) + m.D for w in OMEGA]
    np.testing.assert_allclose(G, expected, rtol=1e-9, atol=1e-14)


def test_delay_turns_the_phase_and_its_derivative_is_exact():
    model = es.load_model(LATE)
    G, dG = model.frequency_sensitivities(OMEGA, wrt=["tau", "T", "K"])
    s = 1j * OMEGA
    late = 3 / (1 + 2 * s) * np.exp(-0.4 * s)
    np.testing.assert_allclose(G, late + 0.5, rtol=1e-12)
    np.testing.assert_allclose(dG[:, 0], -s / (1 + 2 * s) * late, rtol=1e-11)
    np.testing.assert_allclose(dG[:, 1], -s * late, rtol=1e-11)
    np.testing.assert_allclose(dG[:, 2], late / 3, rtol=1e-11)


def test_integrator_without_a_single_steady_state_still_has_its_response():
    model = es.load_model(
        "model Motor parameter Real J = 2, d = 0.5; input Real u; Real w(start=0);"
        " output Real phi(start=1); equation J*der(w) = u - d*w; der(phi) = w; end Motor;"
    )
    G, dG = model.frequency_sensitivities(OMEGA, wrt=["J"])
    s = 1j * OMEGA
    np.testing.assert_allclose(G, 1 / (s * (2 * s + 0.5)), rtol=1e-12)
    np.testing.assert_allclose(dG[:, 0], -(s**2) / (s * (2 * s + 0.5)) ** 2, rtol=1e-11)


def test_reduced_system_with_a_constraint_keeps_its_response():
    model = es.load_model(
        "model Rod parameter Real L = 1.2, m = 2, d = 1; constant Real g = 9.81; input Real u;"
        " Real x(start=0.1), y(start=-1.19), vx(start=0), vy, F;"
        " equation der(x) = vx; der(y) = vy; m*der(vx) = -F*x/L - d*vx + u;"
        " m*der(vy) = -F*y/L - m*g - d*vy; x^2 + y^2 = L^2; end Rod;"
    )
    G, dG = model.frequency_sensitivities(OMEGA, {"u": 0.0}, wrt=["L", "d"], output="x")
    s = 1j * OMEGA
    D = 2 * s**2 + s + 2 * 9.81 / 1.2
    np.testing.assert_allclose(G, 1 / D, rtol=1e-8)
    np.testing.assert_allclose(dG[:, 0], 2 * 9.81 / 1.2**2 / D**2, rtol=1e-6)
    np.testing.assert_allclose(dG[:, 1], -s / D**2, rtol=1e-7)


def test_experiment_gives_real_and_imaginary_columns_and_moves_with_the_tuners():
    model = es.load_model(PENDULUM)
    experiment = model.frequency_experiment(
        OMEGA, transfers=[("phi", "torque"), ("w", "torque")], wrt=["L"]
    )
    run = experiment.at(np.array([0.9]))
    assert run.ok
    assert run.Y.shape == (len(OMEGA), 4)
    assert run.YS.shape == (len(OMEGA), 4, 1)
    G = model.frequency_response(OMEGA, parameters={"L": 0.9}, output="w")
    np.testing.assert_allclose(run.Y[:, 2] + 1j * run.Y[:, 3], G, rtol=1e-12)


def test_missing_steady_state_is_a_failed_evaluation_in_words():
    model = es.load_model(PENDULUM)
    experiment = model.frequency_experiment(OMEGA, transfers=[("phi", "torque")], wrt=["L"])
    run = experiment.at(np.array([5.0]))  # 2 > g/L: the torque turns it over
    assert not run.ok
    assert run.text == (
        "no steady state of 'Pendulum' found from these start values and inputs: equation 'der(w) = "
        "-g/L*sin(phi) - d*w + torque + u0 - 3' (line 7) could not be solved for 'phi'; give start "
        "values nearer to it, with L = 5"
    )


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("model M Real x; equation der(x) = -x; end M;", {}, "M163: 'M' has no inputs, so it has no"),
        (PENDULUM, {"input": "torqe"}, "no input 'torqe'; did you mean 'torque'?"),
        (PENDULUM, {"output": "ph"}, "'ph'"),
        (PENDULUM, {"operating_point": "rest"}, "M161: operating_point 'rest' is none of steady"),
        (PENDULUM, {"inputs": {"torque": "high"}}, "M118: 'torque': 'high' is not a number"),
        (
            PENDULUM,
            {"inputs": {"torque": 20}},
            "R043: 'Pendulum': no steady state of 'Pendulum' found",
        ),
        (
            "model M input Real u; discrete Real k(start=0); Real x; equation der(x) = u - k;"
            " when sample(0, 1) then k = x; end when; end M;",
            {},
            "M164: 'M' has discrete variables ('k'",
        ),
        (
            "model M input Real u; Real x(start=1), y(start=2); equation der(x) = u - x*y;"
            " der(y) = u - x*y; end M;",
            {"inputs": {"u": 1}},
            "R043: 'M': the steady state is not unique and the frequency response depends",
        ),
        (
            "model M input Real u; output Real x; equation der(x) = u; end M;",
            {"omega": [0.0]},
            "R043: 'M': the frequency response is infinite at a frequency where a pole lies",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(text, options, message):
    model = es.load_model(text)
    arguments = {"omega": OMEGA, **options}
    with pytest.raises(es.EstimicaError) as caught:
        model.frequency_response(**arguments)
    assert message in str(caught.value)
