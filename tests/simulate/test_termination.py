"""terminate() is a good end: what comes before it counts, what would come after it is not there."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.experiment.simulate import simulate_experiment

G, H, V = 9.81, 2.0, 1.0
#: h(t) = H + V t - G t²/2 comes to the ground at T, with the speed -ROOT
ROOT = np.sqrt(V * V + 2 * G * H)
T = (V + ROOT) / G
BALL = """
model Ball
  parameter Real g = 9.81;
  parameter Real h0 = 2;
  parameter Real v0 = 1;
  output Real h(start = h0, fixed = true);
  output Real v(start = v0, fixed = true);
  discrete Real landed(start = -1, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h <= 0 then
    landed = time;
    terminate("the ground");
  end when;
end Ball;
"""
WHEN = BALL[BALL.index("  when h <= 0") : BALL.index("end Ball")]
TIMES = np.linspace(0.0, 2.0, 11)


def ball(instead: str = WHEN):
    return es.load_model(BALL.replace(WHEN, instead), "Ball")


@pytest.fixture(scope="module")
def model():
    return ball()


def test_a_run_ends_at_the_first_contact(model):
    found = model.simulate(TIMES, outputs=["h", "v", "landed"])
    assert found.termination.time == pytest.approx(T, rel=1e-12)
    assert found.termination.message == "the ground"
    kept = TIMES[TIMES < T]
    np.testing.assert_array_equal(found.time[:-1], kept)
    assert found.time[-1] == found.termination.time
    np.testing.assert_allclose(found.value("h")[:-1], H + V * kept - G * kept**2 / 2, rtol=1e-9)
    np.testing.assert_allclose(found.values[-1], [0.0, -ROOT, T], atol=1e-9)
    assert "ended by terminate() at t = 0.748573: the ground" in repr(found)
    assert found.dataset.attrs["termination"].endswith("the ground")
    assert not model.notes


def test_sensitivities_up_to_the_end_are_exact_and_say_how_it_moves(model):
    found = model.sensitivities(TIMES, outputs=["h", "landed"], wrt=["h0", "v0", "g"])
    t = found.time
    np.testing.assert_allclose(found.derivative("h", "h0"), np.ones_like(t), atol=1e-9)
    np.testing.assert_allclose(found.derivative("h", "v0"), t, atol=1e-9)
    np.testing.assert_allclose(found.derivative("h", "g"), -(t**2) / 2, atol=1e-9)
    moved = [1 / ROOT, T / ROOT, -(T**2) / 2 / ROOT]  # -(∂h/∂p)/v
    np.testing.assert_allclose(found.termination.motion, moved, rtol=1e-9)
    np.testing.assert_allclose(found.jacobian[-1, 1], moved, rtol=1e-9)


def test_a_run_that_is_over_before_is_as_ever(model):
    found = model.simulate(np.linspace(0.0, 0.5, 3), outputs=["h"])
    assert found.termination is None
    assert len(found.time) == 3


def test_a_sample_at_the_end_stands_there_once(model):
    found = model.simulate([0.0, model.simulate([0.0, 2.0]).termination.time], outputs=["h"])
    assert len(found.time) == 2
    assert found.termination is not None


def test_signals_with_stamps_of_their_own_have_no_other(model):
    found = model.simulate({"h": [0.0, 0.5, 1.0], "v": [0.25, 1.5]})
    np.testing.assert_array_equal(found.time, [0.0, 0.25, 0.5])
    assert found.termination.time == pytest.approx(T)


@pytest.mark.parametrize(
    ("instead", "end"),
    [
        ('  if h < 0 then terminate("the ground"); end if;\n', T),
        ('algorithm when h <= 0 then if v < 0 then terminate("down"); end if; end when;\n', T),
        ('  when h <= 0 then if v > 0 then terminate("up"); end if; end when;\n', None),
        ('  when initial() then terminate("at once"); end when;\n', 0.0),
        (
            '  when sample(0, 0.3) then if time > 0.5 then terminate("third"); end if; end when;\n',
            0.6,
        ),
        ('  when time >= h0/4 then terminate("a time"); end when;\n', 0.5),
        ('  if g > 9 then terminate("a parameter"); end if;\n', 0.0),
    ],
    ids=["if", "algorithm", "not reached", "initial", "sample", "time", "parameter"],
)
def test_all_places_of_terminate(instead, end):
    model = ball(instead + "equation when false then landed = 0; end when;\n")
    found = model.simulate(TIMES, outputs=["h"])
    if end is None:
        assert found.termination is None
        assert len(found.time) == len(TIMES)
    else:
        assert found.termination.time == pytest.approx(end, abs=1e-12)
        assert found.time[-1] == pytest.approx(end, abs=1e-12)


def test_an_instant_that_depends_on_a_parameter_moves_with_it():
    model = ball('  when time >= h0/4 then landed = time; terminate("a time"); end when;\n')
    found = model.sensitivities(TIMES, outputs=["h"], wrt=["h0", "g"])
    np.testing.assert_allclose(found.termination.motion, [0.25, 0.0], atol=1e-12)


def test_a_violated_assertion_at_that_instant_is_a_failure():
    model = ball(WHEN + '  assert(h > 0.5 or v > -1, "too deep");\n')
    with pytest.raises(es.SimulationError, match="too deep"):
        model.simulate(TIMES)


def test_stiff_method_ends_there_too(model):
    found = model.simulate(TIMES, outputs=["h"], options=es.Options(method="implicit"))
    assert found.termination.time == pytest.approx(T, rel=1e-6)


def test_simulated_experiments_have_the_samples_before(model):
    data = simulate_experiment(model, {}, TIMES, outputs=["h"], noise=0.0)
    kept = TIMES[TIMES < T]
    np.testing.assert_array_equal(data.columns["time"], kept)
    np.testing.assert_allclose(data.columns["h"], H + V * kept - G * kept**2 / 2, rtol=1e-9)
    assert any("terminate() at t = 0.748573: the ground; 4 of 11" in n for n in data.notes)


def test_the_command_line_says_so(tmp_path):
    path = tmp_path / "Ball.mo"
    path.write_text(BALL)
    told = CliRunner().invoke(app, ["simulate", str(path), "--stop", "2", "--points", "11"])
    assert told.exit_code == 0
    assert "ended by terminate() at t = 0.748573: the ground" in told.output
    command = ["simulate", str(path), "--stop", "2", "--points", "11", "--json"]
    written = json.loads(CliRunner().invoke(app, command).stdout)
    assert written["termination"]["message"] == "the ground"
    assert written["termination"]["time"] == pytest.approx(T)
    assert written["outcome"]["message"].startswith("ended by terminate()")
    assert len(written["time"]) == 5
    page = tmp_path / "ball.html"
    command = ["simulate", str(path), "--stop", "2", "--plot", str(page)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert "The run was ended by terminate() at t = 0.748573: the ground." in page.read_text()
