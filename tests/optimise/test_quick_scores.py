"""Quick scores are those of the exact way, to the tolerance of the solver, whatever happens."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.estimate.objective.parameter_map import ParameterMap
from estimica.optimise.criteria.measures import MEASURES
from estimica.optimise.criteria.score import CriterionInCase
from estimica.optimise.criteria.trajectory import Experiment, TrajectoryScorer
from estimica.optimise.criteria.value_only.measures import KINDS
from estimica.optimise.criteria.value_only.scores import ValueOnlyScorer, value_only_scorer
from estimica.optimise.design import prepare_design
from estimica.study.criterion import Criterion
from estimica.study.tuner import Tuner

FOLLOWER = """model Follower "follows a ramp that ends at te"
  parameter Real z = 0.3;
  parameter Real w = 5;
  parameter Real te = 1;
  output Real r;
  Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  r = if time < te then time/te else 1;
  der(y) = v;
  der(v) = w^2*(r - y) - 2*z*w*v;
end Follower;
"""
BALL = """model Ball
  parameter Real e = 0.8;
  parameter Real g = 9.81;
  Real h(start = 1, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;
"""
RTOL = 1e-6
#: every kind in windows of all sorts; the reference comes to rest at te
WINDOWS = {
    "whole": {},
    "number": {"reference": 1.0},
    "reference": {"reference": "r"},
    "window": {"reference": "r", "from": 0.7, "to": 4.5},
    "at rest": {"reference": "r", "at_rest": True},
    "at rest, late": {"reference": "r", "at_rest": True, "from": 2.0},
}


@pytest.fixture(scope="module")
def follower():
    return es.load_model(FOLLOWER)


def both(model, criteria, start, end=6.0):
    experiment = Experiment("run", 0.0, end, {}, {}, {})
    links = ParameterMap([Tuner(n, start=v) for n, v in start.items()], {})
    places = [CriterionInCase(c, "run") for c in criteria]
    begun = np.array(list(start.values()))
    exact = TrajectoryScorer(model, experiment, links, places, start=begun)
    return exact, value_only_scorer(exact, begun)


def agree(exact, quick, rows, tolerance=20 * RTOL):
    for row in rows:
        right, own = exact.at(row, slopes=False), quick.at(row, slopes=False)
        wanted, found = [m.value for m in right], [m.value for m in own]
        assert found == pytest.approx(wanted, rel=tolerance, abs=tolerance), row
        least = [[np.nan if m.at_least is None else m.at_least for m in ms] for ms in (own, right)]
        assert least[0] == pytest.approx(least[1], rel=tolerance, nan_ok=True), row


def drawn(start, spread, count=12, seed=3):
    centre = np.array(list(start.values()))
    return centre * (1 + spread * np.random.default_rng(seed).uniform(-1, 1, (count, len(centre))))


def test_every_measure_of_a_trajectory_has_a_quick_form():
    assert set(KINDS) == set(MEASURES)


@pytest.mark.parametrize("window", WINDOWS)
def test_all_kinds_agree_at_random_samples_while_the_end_of_the_ramp_moves(follower, window):
    fields = WINDOWS[window]
    kinds = [k for k in KINDS if k != "steady-state-error" or "reference" in fields]
    criteria = [Criterion(k, of="y", kind=k, **fields) for k in kinds]
    start = {"z": 0.3, "w": 5.0, "te": 1.0}
    exact, quick = both(follower, criteria, start)
    assert isinstance(quick, ValueOnlyScorer)
    agree(exact, quick, drawn(start, 0.3))
    assert quick.again == 0


def test_what_a_short_window_does_not_show_agrees(follower):
    criteria = [
        Criterion("settling", of="y", kind="settling-time", reference=1.0, band=0.01),
        Criterion("rise", of="y", kind="rise-time", reference=1.0),
        Criterion("late", of="y", kind="rise-time", reference=100.0),
    ]
    start = {"z": 0.3, "w": 2.0, "te": 1.0}
    exact, quick = both(follower, criteria, start, end=1.4)
    assert isinstance(quick, ValueOnlyScorer)
    rows = drawn(start, 0.3)
    agree(exact, quick, rows)
    for row in rows:
        settling, rise, late = quick.at(row, slopes=False)
        assert settling.at_least == pytest.approx(1.4)
        assert 0 < rise.at_least < 1.4
        assert late.at_least == 0  # it has not even begun


def test_expressions_and_events_of_states_agree():
    start = {"e": 0.8, "g": 9.81}
    criteria = [
        Criterion("energy", of="g*h + v^2/2", kind="mean"),
        Criterion("top", of="h", kind="maximum", **{"from": 0.6}),
        Criterion("way", of="v", kind="iae"),
    ]
    exact, quick = both(es.load_model(BALL), criteria, start, end=1.5)
    assert isinstance(quick, ValueOnlyScorer)
    agree(exact, quick, drawn(start, 0.05))
    assert quick.again < 12


def test_a_run_with_other_events_is_scored_in_the_exact_way():
    start = {"e": 0.8, "g": 9.81}
    exact, quick = both(es.load_model(BALL), [Criterion("h", of="h", kind="mean")], start, end=1.5)
    rows = [np.array([0.6, 9.81])]  # bounces more often
    agree(exact, quick, rows, 1e-12)
    assert quick.again > 0


def test_panels_that_do_not_resolve_a_livelier_run_are_cut(follower):
    start = {"z": 0.3, "w": 5.0, "te": 1.0}
    criteria = [Criterion(k, of="y", kind=k, reference="r") for k in ("peak", "itae", "overshoot")]
    exact, quick = both(follower, criteria, start)
    agree(exact, quick, [np.array([0.02, 40.0, 1.0]), np.array([0.01, 150.0, 0.4])], 1e-4)


def test_a_reference_that_rests_by_and_by_is_left_to_the_exact_way(follower):
    criterion = Criterion("c", of="v", kind="peak", reference="exp(-9*time)", at_rest=True)
    _, quick = both(follower, [criterion], {"z": 0.3, "w": 5.0})
    assert isinstance(quick, TrajectoryScorer)


def test_a_design_measures_slopes_in_the_exact_way(examples):
    study = es.read_study(examples / "drive" / "assessment.toml")
    design, exact = prepare_design(study), prepare_design(study)
    design.make_quick()
    q = design.unknowns.start
    values = design.at(q, slopes=False).values
    assert values == pytest.approx(exact.at(q, slopes=False).values, rel=2e-5)
    assert not np.array_equal(values, exact.at(q, slopes=False).values)
    steep, same = design.at(q), exact.at(q)
    assert np.array_equal(steep.values, same.values)
    assert np.array_equal(steep.slopes, same.slopes)
