"""The extended system, read back by our own front end, has the same sensitivities."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from tests.examples.references import REFERENCES
from tests.examples.test_accuracy import load
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app

OPTIONS = es.Options(rtol=1e-9, atol=1e-11)
SMOOTH = ["drum boiler", "nonlinear circuit", "parallel circuit", "dead zone without events",
          "dead zone with events", "Furuta pendulum", "four states", "pendulum"]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_extended_system_simulates_to_the_same_sensitivities(name, tmp_path: Path):
    reference = REFERENCES[name]
    model = load(reference)
    wrt = list(reference.wrt[:3])
    written = model.write_sensitivity_system(tmp_path / "Extended.mo", wrt)
    extended = es.load_model(tmp_path / "Extended.mo")
    names = {o: written.names[o] for o in reference.outputs}
    tilde = {(o, p): written.sensitivities[o, p] for o in reference.outputs for p in wrt}
    run = extended.simulate(
        reference.times,
        reference.inputs,
        outputs=[*names.values(), *tilde.values()],
        options=OPTIONS,
    )
    exact = model.sensitivities(
        reference.times, reference.inputs, wrt=wrt, outputs=list(reference.outputs), options=OPTIONS
    )
    for o in reference.outputs:
        np.testing.assert_allclose(run.value(names[o]), exact.value(o), rtol=1e-6, atol=1e-7)
        for p in wrt:
            wanted = exact.derivative(o, p)
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(run.value(tilde[o, p]), wanted, atol=1e-5 * scale)


def test_parameter_dependent_initial_equations_are_extended_too(tmp_path: Path):
    text = """
model M
  parameter Real a = 2; parameter Real k = 3*a; parameter Real b(fixed=false, start=1);
  Real x; Real y(start=a^2, fixed=true);
initial equation
  der(x) = 0;
  b + y = 10;
equation
  der(x) = -k*x + 4;
  der(y) = -y + b*x;
end M;
"""
    model = es.load_model(text)
    written = model.write_sensitivity_system(tmp_path / "Extended.mo", ["a"])
    extended = es.load_model(tmp_path / "Extended.mo")
    times = np.linspace(0, 2, 11)
    run = extended.simulate(times, outputs=[written.sensitivities["y", "a"]], options=OPTIONS)
    exact = model.sensitivities(times, wrt=["a"], outputs=["y"], options=OPTIONS)
    np.testing.assert_allclose(run.values[:, 0], exact.derivative("y", "a"), rtol=1e-6, atol=1e-6)


def test_a_model_that_jumps_is_refused_with_the_reason(tmp_path: Path):
    model = load(REFERENCES["bouncing ball"])
    with pytest.raises(es.UnsupportedError, match="jump"):
        model.write_sensitivity_system(tmp_path / "Ball.mo", ["g"])


def test_a_misspelt_tuner_is_named(tmp_path: Path):
    model = load(REFERENCES["drum boiler"])
    with pytest.raises(es.ModelError, match="did you mean 'T_D'"):
        model.write_sensitivity_system(tmp_path / "B.mo", ["T_d"])


def same_sensitivities(text: str, wrt: list[str], outputs: list[str], times, folder: Path, **more):
    """Simulates the written class and compares it with the engine's own sensitivities."""
    model = es.load_model(text)
    written = model.write_sensitivity_system(folder / "Extended.mo", wrt)
    extended = es.load_model(folder / "Extended.mo")
    names = [written.sensitivities[o, p] for o in outputs for p in wrt]
    run = extended.simulate(times, outputs=names, options=OPTIONS, **more)
    exact = model.sensitivities(times, wrt=wrt, outputs=outputs, options=OPTIONS, **more)
    for name, (o, p) in zip(names, [(o, p) for o in outputs for p in wrt], strict=True):
        wanted = exact.derivative(o, p)
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(run.value(name), wanted, atol=1e-5 * max(scale, 1e-6))


def test_functions_are_written_with_their_derivatives(tmp_path: Path):
    text = """
model M
  function bent
    input Real x; input Real k;
    output Real y;
  protected
    Real z;
  algorithm
    z := x;
    for i in 1:3 loop
      z := z - (z*z*z + k*z - x)/(3*z*z + k);
    end for;
    y := z;
  end bent;
  parameter Real k = 2; parameter Real a = 1;
  Real x(start = 3, fixed = true);
equation
  der(x) = -a*bent(x, k);
end M;
"""
    same_sensitivities(text, ["a", "k"], ["x"], np.linspace(0, 2, 11), tmp_path)


def test_a_dae_with_a_nonlinear_block_is_extended(tmp_path: Path):
    text = """
model M
  parameter Real a = 1.5; parameter Real b = 0.5;
  Real x(start = 2, fixed = true); Real z(start = 1); Real w(start = 0);
equation
  der(x) = -a*z + w;
  z^3 + z + b*w = x;
  w + sin(w) = b*z;
end M;
"""
    same_sensitivities(text, ["a", "b"], ["x", "z", "w"], np.linspace(0, 3, 13), tmp_path)


DIODE = """
model M
  parameter Real R = 0.1; parameter Real C = 0.5; parameter Real G = 1e-3;
  Real v(start = 0, fixed = true); Real s(start = 1); Real u; Real i; Boolean off;
equation
  off = s < 0;
  u = s*(if off then 1 else R);
  i = s*(if off then G else 1);
  u = sin(3*time) - v;
  C*der(v) = i - v;
end M;
"""
#: closed solution beside it: x falls at rate 1 to the level c and at rate a from then on
TANK = """
model Tank
  parameter Real a = 0.1; parameter Real c = 0.25;
  Real x(start = 1, fixed = true);
equation
  der(x) = if x > c then -1 else -a;
end Tank;
"""


def test_events_without_jumps_are_extended(tmp_path: Path):
    """An ideal diode: each branch jumps, the equation that has it as a factor does not."""
    same_sensitivities(DIODE, ["R", "C"], ["v", "i"], np.linspace(0, 4, 41), tmp_path)


def test_events_that_no_tuner_moves_are_extended(tmp_path: Path):
    text = """
model M
  parameter Real k = 2; parameter Real late = 1;
  input Real on;
  Real x(start = 1, fixed = true); Boolean open; Real u;
equation
  u = if time > late then 3 else 1;
  open = on > 0.5;
  der(x) = (if open then u else 0) - k*x;
end M;
"""
    more = {"inputs": {"on": ([0.0, 0.7, 1.8], [0.0, 1.0, 0.0])}}
    same_sensitivities(text, ["k"], ["x"], np.linspace(0, 3, 31), tmp_path, **more)
    model = es.load_model(text)
    with pytest.raises(es.UnsupportedError, match=r"U051: .*where 'time > late' changes"):
        model.sensitivity_system(["late"])


def test_events_that_make_sensitivities_jump_are_refused_with_the_way_out(tmp_path: Path):
    """dx/dc = 1 − a after the event, 0 before: equations without jumps would say 0 for ever."""
    model = es.load_model(TANK)
    times = np.array([0.5, 1.0, 2.0])
    exact = model.sensitivities(times, wrt=["c"], outputs=["x"], options=OPTIONS, begin=0.0)
    np.testing.assert_allclose(exact.derivative("x", "c"), [0, 0.9, 0.9], atol=1e-7)
    with pytest.raises(es.UnsupportedError) as told:
        model.sensitivity_system(["c"])
    assert "U051" in str(told.value)
    assert "is not continuous where 'x > c' changes" in str(told.value)
    assert "model.sensitivities" in str(told.value)


def test_stepwise_functions_of_states_are_refused_and_of_time_are_not(tmp_path: Path):
    text = """
model M
  parameter Real k = 2;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x + floor({});
end M;
"""
    with pytest.raises(es.UnsupportedError, match="U051"):
        es.load_model(text.replace("{}", "3*x")).sensitivity_system(["k"])
    same_sensitivities(text.replace("{}", "3*time"), ["k"], ["x"], np.linspace(0, 2, 21), tmp_path)


def test_values_are_written_and_names_are_checked():
    model = es.load_model(TANK.replace("if x > c then -1 else -a", "-a*x + c"))
    written = model.sensitivity_system(["a"], "Extended", values={"c": 4.0})
    assert "parameter Real c = 4" in written.text
    assert written.text.startswith("model Extended ")
    with pytest.raises(es.ModelError, match="M058: 'my class' is not a name"):
        model.sensitivity_system(["a"], "my class")
    with pytest.raises(es.ModelError, match=r"'x' is a variable of model .* not a parameter"):
        model.sensitivity_system(["x"])
    with pytest.raises(es.ModelError, match="M037"):
        model.sensitivity_system([])


def test_command_writes_what_simulates(tmp_path: Path):
    """x' = −a x + c: x̃ by a is −t exp(−a t) for c = 0 and x(0) = 1, as equation (9) has it."""
    source = tmp_path / "Decay.mo"
    source.write_text(TANK.replace("if x > c then -1 else -a", "-a*x + c").replace("Tank", "Decay"))
    out = tmp_path / "Extended.mo"
    runner = CliRunner()
    asked = ["sensitivity-system", str(source), "--tuners", "a,c", "--set", "c=0", "--set", "a=0.5"]
    done = runner.invoke(app, [*asked, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "d(x)/d(a)" in done.stdout
    extended = es.load_model(out)
    times = np.linspace(0, 4, 9)
    run = extended.simulate(times, outputs=["d_x_d_a", "d_x_d_c"], options=OPTIONS)
    np.testing.assert_allclose(run.value("d_x_d_a"), -times * np.exp(-times / 2), atol=1e-8)
    np.testing.assert_allclose(run.value("d_x_d_c"), 2 * (1 - np.exp(-times / 2)), atol=1e-8)
    done = runner.invoke(app, asked)
    assert done.exit_code == 0
    assert done.stdout.strip() == out.read_text().strip()
    told = json.loads(runner.invoke(app, [*asked, "--json"]).stdout)
    assert told["sensitivities"]["x"] == {"a": "d_x_d_a", "c": "d_x_d_c"}
    assert told["text"] == out.read_text()


def test_command_tells_what_is_wrong(tmp_path: Path):
    source = tmp_path / "Tank.mo"
    source.write_text(TANK)
    runner = CliRunner()
    done = runner.invoke(app, ["sensitivity-system", str(source), "--tuners", "cc"])
    assert done.exit_code == 2
    assert "did you mean" in done.stderr
    done = runner.invoke(app, ["sensitivity-system", str(source), "--tuners", "c"])
    assert done.exit_code == 2
    assert "U051" in done.stderr
    assert runner.invoke(app, ["sensitivity-system", str(source)]).exit_code == 2


def test_example_finds_the_engines_sensitivities():
    path = (
        Path(__file__).resolve().parents[2]
        / "examples"
        / "nonlinear_circuit"
        / "sensitivity_system.py"
    )
    differences = runpy.run_path(str(path))["main"]()
    assert max(differences.values()) < 1e-5
