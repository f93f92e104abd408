"""Designs whose model ends its runs by itself: criteria look at what there is, and no further."""

import math
import re

import numpy as np
import pytest

import estimica as es
from estimica.base.code.trusted import trusted_code
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.measures import MEASURES
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.criteria.trajectory import Experiment, TrajectoryScorer
from estimica.study.criterion import Criterion
from estimica.study.tuner import Tuner

G, SPEED = 9.81, 10.0
#: thrown under an angle a, it lands after 2 s sin(a)/g at s² sin(2a)/g
SHOT = """
model Shot
  parameter Real a = 0.5;
  parameter Real s = 10;
  parameter Real g = 9.81;
  Real x(start = 0, fixed = true);
  Real h(start = 0, fixed = true);
  Real v(start = s*sin(a), fixed = true);
  discrete Real landed(start = -1, fixed = true);
equation
  der(x) = s*cos(a);
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    landed = time;
    reinit(v, 0);
    terminate("it has landed");
  end when;
end Shot;
"""
AT = np.array([0.5, 10.0])
LANDING = 2 * SPEED * math.sin(0.5) / G


@pytest.fixture(scope="module")
def shot():
    return es.load_model(SHOT)


def scorer(model, criteria, end=5.0, **options):
    experiment = Experiment("run", 0.0, end, {}, {}, {})
    links = ParameterMap([Tuner("a", start=0.5), Tuner("s", start=10.0)], {})
    places = [CriterionInCase(c, "run") for c in criteria]
    return TrajectoryScorer(model, experiment, links, places, **options)


def measured(model, kind, of, at=AT, **options):
    return scorer(model, [Criterion("c", of=of, kind=kind, **options)]).at(at, slopes=True)


def test_the_terminal_time_is_a_criterion_with_a_gradient(shot):
    (found,) = measured(shot, "final", "time")
    assert found.value == pytest.approx(LANDING, rel=1e-9)
    exact = [2 * SPEED * math.cos(0.5) / G, 2 * math.sin(0.5) / G]
    np.testing.assert_allclose(found.gradient, exact, rtol=1e-6)
    assert found.ended == f"ended by terminate() at t = {LANDING:.6g}: it has landed"


def test_what_is_set_at_the_last_instant_is_seen(shot):
    (found,) = measured(shot, "final", "landed")
    assert found.value == pytest.approx(LANDING, rel=1e-9)
    np.testing.assert_allclose(found.gradient[1], 2 * math.sin(0.5) / G, rtol=1e-6)
    (speed,) = measured(shot, "final", "v")  # after the jump
    assert speed.value == pytest.approx(0.0, abs=1e-9)
    assert speed.gradient is None  # how fast it goes on is not known: differences tell
    (least,) = measured(shot, "minimum", "v")
    assert least.value == pytest.approx(-SPEED * math.sin(0.5), rel=1e-7)


def test_range_and_integrals_have_closed_forms(shot):
    (far,) = measured(shot, "final", "x")
    assert far.value == pytest.approx(SPEED**2 * math.sin(1.0) / G, rel=1e-9)
    np.testing.assert_allclose(
        far.gradient, [2 * SPEED**2 * math.cos(1.0) / G, 2 * SPEED * math.sin(1.0) / G], rtol=1e-6
    )
    up = SPEED * math.sin(0.5)
    (area,) = measured(shot, "integral", "h")  # ∫(up t - g t²/2) over a flight
    assert area.value == pytest.approx(2 * up**3 / (3 * G * G), rel=1e-8)
    (mean,) = measured(shot, "mean", "h")  # two thirds of the top
    assert mean.value == pytest.approx(up**2 / (3 * G), rel=1e-8)
    np.testing.assert_allclose(mean.gradient[1], 2 * up * math.sin(0.5) / (3 * G), rtol=1e-6)


@pytest.mark.parametrize("kind", sorted(MEASURES))
def test_gradients_follow_the_moving_end(shot, kind):
    options = {"reference": 6.0} if kind in ("overshoot", "steady-state-error", "rise-time") else {}
    (found,) = measured(shot, kind, "x", **options)
    for k in range(2):
        step = np.eye(2)[k] * 1e-4 * AT[k]
        (more,), (less,) = (measured(shot, kind, "x", AT + s, **options) for s in (step, -step))
        slope = (more.value - less.value) / (2e-4 * AT[k])
        assert found.gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-7)


def test_windows_end_with_the_run(shot):
    (whole,) = measured(shot, "integral", "h")
    (cut,) = measured(shot, "integral", "h", to=3.0)
    assert cut.value == pytest.approx(whole.value, rel=1e-9)
    (early,) = measured(shot, "final", "x", to=0.5)
    assert early.value == pytest.approx(0.5 * SPEED * math.cos(0.5), rel=1e-9)
    np.testing.assert_allclose(early.gradient[1], 0.5 * math.cos(0.5), rtol=1e-6)
    late = measured(shot, "final", "x", **{"from": 2.0})
    assert late == (
        "criterion 'c' looks from 2 on, and the run was ended by terminate() at t = "
        f"{LANDING:.6g}: it has landed"
    )


def test_settling_does_not_look_past_the_end(shot):
    (found,) = measured(shot, "settling-time", "x", reference=7.0, band=20.0)
    assert found.value == 0.0
    assert found.at_least is None
    (open_,) = measured(shot, "settling-time", "x", reference=20.0, band=1.0)
    assert open_.at_least == pytest.approx(LANDING, rel=1e-9)


def test_functions_of_the_user_see_the_end(shot, tmp_path):
    (tmp_path / "own.py").write_text(
        "def last(run):\n    return run['time'][-1] + run['landed'][-1]\n"
    )
    asked = Criterion("c", kind="function", function="own.py:last", of="landed")
    (found,) = scorer(shot, [asked], code_for=lambda text: trusted_code(text, tmp_path)).at(
        AT, slopes=False
    )
    assert found.value == pytest.approx(2 * LANDING, rel=1e-9)


def test_a_run_that_is_over_at_once_is_a_failed_design():
    text = SHOT.replace("when h < 0 then", "when initial() then")
    told = measured(es.load_model(text), "final", "x")
    assert told.startswith("the run was ended by terminate() at t = 0: it has landed")


def study(criteria, model, **bounds):
    tuner = es.Tuner("a", start=0.3, min=0.05, max=1.5)
    case = es.Case("flight", stop=5.0)
    return es.Study(model, [tuner], [case], criteria=criteria)


def test_the_farthest_shot_is_at_half_a_right_angle(shot):
    far = Criterion("distance", of="20 - x", kind="final", demand=10.0)
    found = es.optimise(study([far], shot))
    assert found.outcome.status == "converged"
    assert found.best.tuners[0] == pytest.approx(math.pi / 4, abs=1e-4)
    assert re.search(
        r"flight was ended by terminate\(\) at t = 1.441\d+: it has landed", str(found)
    )


def test_a_limit_of_the_terminal_time_holds(shot):
    far = Criterion("distance", of="20 - x", kind="final", demand=10.0)
    soon = Criterion("flight time", of="time", kind="final", demand=1.0, role="at-most")
    found = es.optimise(study([far, soon], shot))
    assert math.sin(found.best.tuners[0]) == pytest.approx(G / (2 * SPEED), rel=1e-5)
    scores = {s.place.criterion.name: s.value for s in found.best.scores}
    assert scores["flight time"] == pytest.approx(1.0, rel=1e-6)


def test_samples_of_a_sweep_end_each_in_its_time(shot):
    time = Criterion("flight time", of="time", kind="final", demand=2.0)
    swept = es.sweep(study([time], shot), vary={"a": [0.2, 0.5, 1.0]})
    exact = [2 * SPEED * math.sin(a) / G for a in (0.2, 0.5, 1.0)]
    np.testing.assert_allclose(swept.values[:, 0], exact, rtol=1e-6)
    said = " ".join(str(swept).split())
    assert "ended runs in 3 of 3 samples, the first (sample 0 in flight) was ended" in said
    assert "it has landed" in swept.to_dict()["ended"]["2"]["flight"]


def test_indicators_are_drawn_to_the_end(shot):
    time = Criterion("flight time", of="time", kind="final", demand=2.0)
    plain = study([time], shot)
    shown = es.Study(
        plain.model, plain.tuners, plain.cases, criteria=plain.criteria,
        indicators=[es.Indicator("path", show=("h",))],
    )  # fmt: skip
    (curves,) = es.optimise(shown).indicators()
    curve = curves.panels[0].curves[-1]
    assert curve.time[-1] < 1.0  # it is made small: an early landing
    assert np.isfinite(curve.value).all()
