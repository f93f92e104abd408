"""Events of Modelica models against closed forms: states to 1e-9, sensitivities to 1e-6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.examples.references import REFERENCES
from tests.examples.test_accuracy import load, worst

import estimica as es

OPTIONS = es.Options(rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["bouncing ball", "thermostat"])
def test_closed_forms(name):
    reference = REFERENCES[name]
    run = load(reference).sensitivities(
        reference.times, wrt=list(reference.wrt), outputs=list(reference.outputs), options=OPTIONS
    )
    assert worst(run.values, reference.values()).max() < 1e-9
    assert worst(run.jacobian, reference.jacobian()).max() < 1e-6
    assert len(run.events) >= 4


def test_switching_time_is_a_tuner():
    text = """
model M
  parameter Real a = 0.7, b = 2, ts = 2.345; Real x(start=1, fixed=true);
equation
  der(x) = -a*x + (if time >= ts then b else 0);
end M;
"""
    t = np.linspace(0, 6, 121)
    run = es.load_model(text).sensitivities(t, wrt=["ts", "a", "b"], options=OPTIONS)
    after = t >= 2.345
    e, d = np.exp(-0.7 * t), np.exp(-0.7 * (t - 2.345))
    np.testing.assert_allclose(run.value("x"), e + after * 2 / 0.7 * (1 - d), atol=1e-8)
    np.testing.assert_allclose(run.derivative("x", "ts"), after * -2 * d, atol=1e-7)
    np.testing.assert_allclose(run.derivative("x", "b"), after * (1 - d) / 0.7, atol=1e-7)


def test_event_caused_by_an_input_jump():
    text = """
model M
  parameter Real limit = 1.5; input Real u; Real x(start=0, fixed=true); Boolean high; discrete Integer n(start=0, fixed=true);
equation
  high = u > limit;
  der(x) = if high then 3 else 1;
  when high then
    n = pre(n) + 1;
  end when;
end M;
"""
    t = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
    u = ([0, 1, 2, 3], [0, 2, 1, 5])
    run = es.load_model(text).simulate(t, {"u": u}, outputs=["x", "high", "n"], options=OPTIONS)
    np.testing.assert_allclose(run.value("x"), [0, 0.5, 1, 2.5, 4, 4.5, 5, 8], atol=1e-9)
    assert run.value("high").tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert run.value("n").tolist() == [0, 0, 1, 1, 1, 1, 2, 2]


def test_event_caused_by_another_events_jump():
    text = """
model M
  Real x(start=0, fixed=true); discrete Integer n(start=0, fixed=true); discrete Integer m(start=0, fixed=true);
equation
  der(x) = 1;
  when x >= 1 then
    reinit(x, 5); n = pre(n) + 1;
  end when;
  when x >= 4 then
    m = pre(m) + 1;
  end when;
end M;
"""
    run = es.load_model(text).simulate([0, 0.9, 1.0, 1.5], outputs=["x", "n", "m"], options=OPTIONS)
    np.testing.assert_allclose(run.value("x"), [0, 0.9, 5, 5.5], atol=1e-8)
    assert run.value("n").tolist() == [0, 0, 1, 1]
    assert run.value("m").tolist() == [0, 0, 1, 1]


def test_a_sample_exactly_at_an_event_sees_the_value_after_it():
    text = """
model M
  parameter Real ts = 0.3; Real y; discrete Real k(start=1, fixed=true);
equation
  y = if time < ts then 0 else 1;
  when time >= ts then
    k = 7;
  end when;
end M;
"""
    run = es.load_model(text).simulate([0, 0.1, 0.3, 0.5], outputs=["y", "k"])
    assert run.value("y").tolist() == [0, 0, 1, 1]
    assert run.value("k").tolist() == [1, 1, 7, 7]


def test_sampled_controller_with_a_tuned_sampling_interval():
    text = """
model M
  parameter Real T = 0.3, K = 0.8; Real x(start=1, fixed=true); discrete Real u(start=0, fixed=true);
equation
  der(x) = -x + u;
  when sample(T, T) then
    u = -K*x;
  end when;
end M;
"""

    def solution(t: float, T: complex, K: complex) -> complex:
        x, u, begin, k = 1.0 + 0j, 0j, 0j, 1
        while (k * T).real <= t + 1e-12:
            x = u + (x - u) * np.exp(-(k * T - begin))
            u, begin, k = -K * x, k * T, k + 1
        return u + (x - u) * np.exp(-(t - begin))

    t = np.array([0.1, 0.4, 0.77, 1.3, 1.9])
    run = es.load_model(text).sensitivities(
        t, begin=0, wrt=["T", "K"], outputs=["x"], options=OPTIONS
    )
    for k, time in enumerate(t):
        assert run.value("x")[k] == pytest.approx(solution(time, 0.3, 0.8).real, abs=1e-8)
        assert run.derivative("x", "T")[k] == pytest.approx(
            solution(time, 0.3 + 1e-30j, 0.8).imag / 1e-30, abs=1e-6
        )
        assert run.derivative("x", "K")[k] == pytest.approx(
            solution(time, 0.3, 0.8 + 1e-30j).imag / 1e-30, abs=1e-6
        )


def test_zeno_is_reported_and_nothing_falls_through_the_floor(examples: Path):
    model = es.load_model(examples / "BouncingBall.mo", "BouncingBall.Ball")
    accumulation = np.sqrt(2 / 9.81) * 3  # e = 1/2: t0·(1 + 2·(1/2 + 1/4 + ...))
    with pytest.raises(es.SimulationError, match="events accumulate") as error:
        model.simulate(np.linspace(0, 3, 100), parameters={"e": 0.5}, options=OPTIONS)
    stopped = float(error.value.message.split("at time ")[1].split(":")[0])
    assert abs(stopped - accumulation) < 1e-3


def test_a_ball_comes_to_rest(examples: Path):
    model = es.load_model(examples / "BouncingBall.mo", "BouncingBall.RestingBall")
    run = model.simulate(np.linspace(0, 6, 301), outputs=["h", "v", "flying"], options=OPTIONS)
    assert run.value("h").min() > -1e-9
    assert run.value("flying")[-1] == 0
    assert run.value("v")[-1] == 0


def test_dead_zone_with_and_without_events_agree():
    runs = []
    for name in ("dead zone with events", "dead zone without events"):
        r = REFERENCES[name]
        runs.append(
            load(r).sensitivities(
                r.times, r.inputs, wrt=list(r.wrt), outputs=list(r.outputs), options=OPTIONS
            )
        )
    assert worst(runs[0].values, runs[1].values).max() < 1e-6
    assert worst(runs[0].jacobian, runs[1].jacobian).max() < 1e-5


def test_chattering_is_an_outcome():
    text = "model M\n Real x(start=1, fixed=true);\nequation\n der(x) = if x > 0 then -1 else 1;\nend M;"
    with pytest.raises(
        es.SimulationError, match=r"switches back and forth|events accumulate|does not converge"
    ):
        es.load_model(text).simulate([0, 2])


def test_sensitivity_of_a_discontinuous_right_hand_side_without_reinit():
    # x' = 1 up to x = a, then 2: x = a + 2·(t − a), so dx/da = −1 after the event
    text = "model M\n parameter Real a = 0.5; Real x(start=0, fixed=true);\nequation\n der(x) = if x < a then 1 else 2;\nend M;"
    run = es.load_model(text).sensitivities([0, 0.4, 0.6, 1.0], wrt=["a"], options=OPTIONS)
    np.testing.assert_allclose(run.value("x"), [0, 0.4, 0.7, 1.5], atol=1e-9)
    np.testing.assert_allclose(run.derivative("x", "a"), [0, 0, -1, -1], atol=1e-8)
