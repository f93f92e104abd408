"""Library models that load because something was rewritten, against what theory says."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setenv("ESTIMICA_LOAD_SECONDS", "900")


def test_complex_currents_of_a_series_resonance():
    model = es.load_model("Modelica.Electrical.QuasiStatic.SinglePhase.Examples.SeriesResonance")
    run = model.simulate(np.linspace(0.1, 1, 10), outputs=["f.y", "I_abs", "I_arg"], begin=0.0)
    f = run.value("f.y")  # L = C = 1/(2 pi), R = 0.1, V = 1
    current = 1 / (0.1 + 1j * (f - 1 / f))
    np.testing.assert_allclose(run.value("I_abs"), np.abs(current), rtol=1e-6)
    np.testing.assert_allclose(run.value("I_arg"), np.angle(current), atol=1e-6)


def test_a_state_graph_goes_through_its_steps():
    model = es.load_model("Modelica.StateGraph.Examples.FirstExample")
    run = model.simulate(np.linspace(0, 4.9, 50), outputs=["initialStep.active", "step.active"])
    one, other = run.values.T
    assert one[0] == 1
    assert np.all(one + other == 1)  # one of the two at any time
    assert other.max() == 1


def test_the_axis_of_a_robot_begins_as_its_initial_equations_say():
    model = es.load_model("Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.OneAxis")
    phi, w = "axis.initializeFlange.phi_flange", "axis.initializeFlange.w_flange"
    names = [phi, w, "axis.axisControlBus.angle_ref", "axis.axisControlBus.speed_ref"]
    run = model.simulate([0, 1.0], outputs=[*names, "axis.gear.spring.w_rel"])
    np.testing.assert_allclose(run.values[0, :2], run.values[0, 2:4], atol=1e-6)
    assert abs(run.values[0, 4]) < 1e-6
    assert abs(run.values[1, 0] - run.values[1, 2]) < 0.05  # it follows the reference, in rad
