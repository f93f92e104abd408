"""The extended system, read back by our own front end, has the same sensitivities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.examples.references import REFERENCES
from tests.examples.test_accuracy import load

import estimica as es

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
