"""Fitting by hand: curves, normed errors and cost at any values, known beforehand."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.view import text
from estimica.estimate.by_hand import ByHand, PlainPredictor
from estimica.simulate.response import Response

DECAY = """
model Decay "Two of them, and one that breaks down"
  parameter Real a = 0.5;
  parameter Real b = 1;
  output Real x(start = 1, fixed = true);
  output Real y(start = 2, fixed = true);
equation
  der(x) = -a*x;
  der(y) = -b*sqrt(a)*y;
end Decay;
"""
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIME = np.linspace(0.0, 4.0, 81)


@pytest.fixture(scope="module")
def decay(tmp_path_factory: pytest.TempPathFactory) -> es.Model:
    path = tmp_path_factory.mktemp("decay") / "Decay.mo"
    path.write_text(DECAY, encoding="utf-8")
    return es.load_model(path)


def first_order(gain: float = 1.0, tau: float = 2.0) -> es.Study:
    """The answer of K/(1 + τs) to a unit step, without noise."""
    t = np.linspace(0.0, 10.0, 101)
    data = {"time": t, "u": np.ones_like(t), "y": gain * (1 - np.exp(-t / tau))}
    case = es.Case("step", data, inputs={"u": "u"}, outputs={"y": "y"})
    tuners = [es.Tuner("K", start=1.5), es.Tuner("tau", start=3.0)]
    return es.Study(es.transfer_function("K/(1 + tau*s)"), tuners, [case], name="first order")


def study_of(model: es.Model, *cases: es.Case) -> es.Study:
    tuners = [es.Tuner("a", start=0.4), es.Tuner("b", start=1.0)]
    return es.Study(model, tuners, cases, name="decay")


def falling(name: str, a: float, start: float = 1.0, **more: object) -> es.Case:
    data = {"time": TIME, "x": start * np.exp(-a * TIME)}
    return es.Case(name, data, outputs={"x": "x"}, **more)  # type: ignore[arg-type]


def test_a_gain_ten_percent_too_large_has_a_normed_error_of_ten_percent() -> None:
    hand = ByHand(first_order())
    look = hand.at({"K": 1.1, "tau": 2.0})
    assert look.errn["step"]["y"] == pytest.approx(10.0, rel=1e-9)
    assert look.cost == pytest.approx(101 * 0.1**2, rel=1e-9)  # 101 samples, weight 1 / RMS
    assert hand.at({"K": 1.0, "tau": 2.0}).errn["step"]["y"] < 1e-9


def test_what_is_not_named_keeps_its_start() -> None:
    hand = ByHand(first_order())
    assert [(u.label, u.start) for u in hand.unknowns] == [("K", 1.5), ("tau", 3.0)]
    assert hand.at({"tau": 2}).values == {"K": 1.5, "tau": 2.0}
    assert hand.at().values == {"K": 1.5, "tau": 3.0}
    assert hand.at({"tau": 2}).errn["step"]["y"] == pytest.approx(50.0, rel=1e-9)


def test_the_curves_are_those_of_the_fit() -> None:
    study = first_order()
    look = ByHand(study).at({"K": 1.0, "tau": 2.0})
    drawn = es.fit(study).plot()
    assert look.curves.title == "first order: measured and simulated"
    for ours, theirs in zip(look.plot().data, drawn.data, strict=True):
        assert ours.name == theirs.name
        there = np.isin(theirs.x, ours.x)  # lines of fits are finer than the samples
        np.testing.assert_allclose(ours.y, np.asarray(theirs.y)[there], atol=1e-6)


def test_long_curves_are_thinned_and_keep_their_extremes() -> None:
    t = np.linspace(0.0, 10.0, 20_001)
    y = np.sin(t)
    y[777] = 9.0
    case = es.Case("step", {"time": t, "u": y, "y": y}, inputs={"u": "u"}, outputs={"y": "y"})
    study = es.Study(es.transfer_function("K/(1 + tau*s)"), ["K", "tau"], [case])
    study = study.with_(tuners=[es.Tuner("K", start=1.0), es.Tuner("tau", start=1.0)])
    measured, simulated = ByHand(study, points=300).at().curves.panels[0].curves
    assert len(measured.time) <= 300
    assert len(simulated.time) <= 300
    assert measured.value.max() == 9.0


def test_cost_and_errors_are_the_fits_at_its_estimate_without_derivatives(decay: es.Model) -> None:
    rng = np.random.default_rng(3)
    data = {
        "time": TIME,
        "x": np.exp(-0.7 * TIME) + 0.01 * rng.standard_normal(TIME.size),
        "y": 2 * np.exp(-0.6 * TIME) + 0.01 * rng.standard_normal(TIME.size),
    }
    case = es.Case("run 1", data, outputs={"x": "x", "y": "y"}, free_start=["x"])
    study = study_of(decay, case).with_(estimation=es.Estimation(criterion="ml"))
    fit = es.fit(study)
    hand = ByHand(study)
    (one,) = hand._fitted.predictors
    assert isinstance(one, PlainPredictor)
    assert isinstance(one.response, Response)
    assert one.response.at_values(one.response.values, TIME).YS.size == 0
    look = hand.at(dict(zip([u.label for u in fit.unknowns.items], fit.values, strict=True)))
    assert "start of x in run 1" in look.values
    assert look.cost == pytest.approx(fit.cost, rel=1e-6)
    for output in fit.case("run 1").outputs:
        assert look.errn["run 1"][output.name] == pytest.approx(output.errn_percent, rel=1e-5)


def test_a_free_start_value_moves_its_curve(decay: es.Model) -> None:
    hand = ByHand(study_of(decay, falling("run 1", 0.5, start=3.0, free_start=["x"])))
    look = hand.at({"a": 0.5, "start of x in run 1": 3.0})
    assert look.errn["run 1"]["x"] < 1e-3
    assert hand.at({"a": 0.5}).errn["run 1"]["x"] == pytest.approx(100 * 2 / 3, rel=1e-4)


def test_a_failed_simulation_is_a_value_with_words(decay: es.Model) -> None:
    case = es.Case("run 1", {"time": TIME, "y": np.exp(-TIME)}, outputs={"y": "y"})
    hand = ByHand(study_of(decay, case))
    look = hand.at({"a": -1.0})
    assert math.isinf(look.cost)
    assert look.failure.startswith("case 'run 1' cannot be simulated at these values: ")
    assert look.errn == {}
    assert look.to_dict()["cost"] is None
    assert "cannot be simulated" in repr(look)
    assert hand.at({"a": 1.0, "b": 1.0}).errn["run 1"]["y"] == pytest.approx(100.0, rel=1e-4)


def test_validating_cases_are_drawn_and_do_not_count(decay: es.Model) -> None:
    cases = [falling("fitted", 0.5), falling("kept apart", 0.8, role="validate")]
    both = ByHand(study_of(decay, *cases)).at({"a": 0.5})
    alone = ByHand(study_of(decay, cases[0])).at({"a": 0.5})
    assert both.cost == alone.cost < 1e-6
    assert both.errn["kept apart"]["x"] > 10
    assert [p.group for p in both.curves.panels] == ["fitted", "kept apart (validation)"]


def test_a_prior_counts_and_robust_costs_can_be_compared(decay: es.Model) -> None:
    plain = study_of(decay, falling("run 1", 0.5))
    prior = es.Tuner("a", start=0.4, prior=es.Prior(mean=0.5, sigma=0.1))
    study = plain.with_(tuners=[prior, es.Tuner("b", start=1.0)])
    assert ByHand(study).at({"a": 0.7}).cost == pytest.approx(
        ByHand(plain).at({"a": 0.7}).cost + 4.0, rel=1e-9
    )
    robust = ByHand(plain.with_(estimation=es.Estimation(loss="huber")))
    first = robust.at({"a": 0.9}).cost
    assert robust.at({"a": 0.6}).cost < first == robust.at({"a": 0.9}).cost


def test_points_without_time_and_frequency_responses_can_be_set_too() -> None:
    study = es.read_study(EXAMPLES / "resistor" / "resistor.toml")
    fit = es.fit(study)
    look = es.by_hand(study).at(fit.estimates)
    assert look.cost == pytest.approx(fit.cost, rel=1e-9)
    assert look.errn["bench"]["i"] == pytest.approx(fit.case("bench")["i"].errn_percent, rel=1e-9)
    look = es.by_hand(es.read_study(EXAMPLES / "impedance" / "cell.toml")).at()
    assert look.errn["spectrum"]["y/u"] == pytest.approx(56.8, abs=0.1)
    assert len(look.curves.panels) > 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tua": 1.0}, "F140: by hand: there is no 'tua' to be set; did you mean 'tau'?"),
        ({"x": 1.0}, "F140: by hand: there is no 'x' to be set (there are K, tau)"),
        ({"K": math.nan}, "F141: by hand: 'K' is set to nan; give a finite number"),
        ({"K": "1"}, "F141: by hand: 'K' is set to '1', which is not a number"),
        ({"K": True}, "F141: by hand: 'K' is set to True, which is not a number"),
    ],
)
def test_wrong_values_are_told(values: dict[str, float], message: str) -> None:
    with pytest.raises(es.FitError, match=re.escape(message)):
        ByHand(first_order()).at(values)


def test_it_shows_itself() -> None:
    look = es.by_hand(first_order()).at({"K": 1.1, "tau": 2.0})
    t = np.linspace(0.0, 10.0, 101)
    y = 1 - np.exp(-t / 2.0)
    met = 100 * (1 - 0.1 * np.linalg.norm(y) / np.linalg.norm(y - y.mean()))
    assert look.fit_percent["step"]["y"] == pytest.approx(met, rel=1e-6)
    assert f"{met:.3f}" in text(look.table())
    assert "<table" in look._repr_html_()
