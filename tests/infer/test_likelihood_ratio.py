"""The likelihood-ratio test: closed forms, its level, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, f
from tests.infer.ratio_level import EXPERIMENTS, level, unbalanced_pair

import estimica as es
from estimica.simulate.formula import formula_model

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "assets" / "ratio_level.json"
X = np.linspace(0, 1, 50)
Y = 1 + 0.5 * X + 0.3 * np.random.default_rng(4).standard_normal(50)


def line(
    free: str,
    criterion: str = "ml",
    *,
    y: np.ndarray = Y,
    values: dict[str, float] | None = None,
    listed: str = "abc",
    **details: object,
) -> es.Fit:
    """y = a + b x + c x² with some of a, b, c free and the others at given values."""
    values = {"a": 0.0, "b": 0.0, "c": 0.0} | (values or {})
    model = formula_model({"y": "a + b*x + c*x^2"}, inputs=["x"])
    output = es.OutputColumn("y", **({"weight": 1.0} | details))  # type: ignore[arg-type]
    case = es.Case(
        "points", pd.DataFrame({"x": X, "y": y}), inputs={"x": "x"}, outputs={"y": output}
    )
    tuners = [es.Tuner(n, start=values[n], active=n in free) for n in listed]
    return es.fit(es.Study(model, tuners, [case], criterion=criterion))


def squares(free: str) -> float:
    columns = {"a": np.ones_like(X), "b": X, "c": X**2}
    A = np.column_stack([columns[c] for c in free])
    return float(np.sum((Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]) ** 2))


# --- closed forms --------------------------------------------------------------------------------


def test_cost_difference_of_a_line_with_known_noise_is_that_of_the_squares():
    test = es.likelihood_ratio(line("a", sigma=0.3), line("abc", sigma=0.3))
    expected = (squares("a") - squares("abc")) / 0.3**2
    assert test.distribution == "chi2"
    assert test.freedom == 2
    assert test.released == ("b", "c")
    assert test.statistic == pytest.approx(expected, rel=1e-9)
    assert test.risk == pytest.approx(chi2.sf(expected, 2), rel=1e-9)


def test_estimated_noise_of_ml_is_tested_by_the_same_f_as_that_of_oe():
    test = es.likelihood_ratio(line("a"), line("ab"))
    expected = 50 * np.log(squares("a") / squares("ab"))
    assert test.cost_reduction == pytest.approx(expected, rel=1e-9)
    statistic = (squares("a") - squares("ab")) / (squares("ab") / 48)
    assert (test.distribution, test.freedom, test.residual_freedom) == ("F", 1, 48)
    assert test.statistic == pytest.approx(statistic, rel=1e-9)
    assert test.risk == pytest.approx(f.sf(statistic, 1, 48), rel=1e-9)


def test_few_samples_of_an_output_leave_few_degrees_of_freedom():
    fits = [es.fit(s) for s in unbalanced_pair(("d",), "ml", 1)]
    test = es.likelihood_ratio(*fits)
    # what is known of `d` comes from eight samples, and of 258 a little through `a`
    assert 5.5 < test.residual_freedom < 15
    assert "F with 1 and" in repr(test)


@pytest.mark.parametrize("name", ["few_8", "unbalanced"])
def test_true_null_model_of_few_samples_is_rejected_in_five_per_cent(name: str):
    """Two hundred realisations; χ² of the cost would reject 13 % at eight samples."""
    rejected = level(name, 200)["rejected"]
    assert binom.ppf(1e-3, 200, 0.05) <= rejected <= binom.ppf(0.999, 200, 0.05)


def test_output_error_is_tested_by_f():
    test = es.likelihood_ratio(line("a", "oe"), line("abc", "oe"))
    statistic = ((squares("a") - squares("abc")) / 2) / (squares("abc") / 47)
    assert test.distribution == "F"
    assert (test.freedom, test.residual_freedom) == (2, 47)
    assert test.statistic == pytest.approx(statistic, rel=1e-9)
    assert test.risk == pytest.approx(f.sf(statistic, 2, 47), rel=1e-9)


def test_noise_that_becomes_free_counts():
    test = es.likelihood_ratio(line("a", sigma=0.5), line("ab"))
    assert test.released == ("b", "noise of y")
    assert test.freedom == 2


def test_known_noise_gives_a_chi_square_of_the_right_size():
    """500 lines without slope: the risk is uniform, exactly so for a linear Gaussian model."""
    from scipy.stats import kstest

    random = np.random.default_rng(0)
    A0, A1 = np.ones((50, 1)), np.column_stack([np.ones(50), X])
    closed = []
    for _ in range(500):
        y = 1 + 0.3 * random.standard_normal(50)
        V = [np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2) for A in (A0, A1)]
        closed.append(chi2.sf((V[0] - V[1]) / 0.09, 1))
    assert kstest(closed, "uniform").pvalue > 0.01
    y = 1 + 0.3 * np.random.default_rng(0).standard_normal(50)
    test = es.likelihood_ratio(line("a", y=y, sigma=0.3), line("ab", y=y, sigma=0.3))
    assert test.risk == pytest.approx(closed[0], rel=1e-7)


# --- its level -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["boiler_T_D", "boiler_oe"])
def test_true_null_model_is_rejected_as_often_as_it_should(name: str):
    """A hundred realisations: a test of level 0.05 leaves the band once in 10 000 such counts."""
    count = 100
    rejected = level(name, count)["rejected"]
    assert binom.ppf(5e-5, count, 0.05) <= rejected <= binom.ppf(1 - 5e-5, count, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_true_null_model_is_rejected_in_three_to_seven_per_cent(name: str):
    assert 0.03 <= level(name, 1000)["share"] <= 0.07  # type: ignore[operator]


def test_committed_levels_lie_between_three_and_seven_per_cent():
    found = json.loads(RESULT.read_text(encoding="utf-8"))["experiments"]
    assert found.keys() == EXPERIMENTS.keys()
    for one in found.values():
        assert one["realisations"] == 1000
        assert 0.03 <= one["share"] <= 0.07


def test_page_shows_the_committed_levels():
    page = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    for one in json.loads(RESULT.read_text(encoding="utf-8"))["experiments"].values():
        row = f"| {one['title']} | {one['law']} | {one['realisations']} | {100 * one['share']:.1f} % |"
        assert row in page


# --- what is refused -----------------------------------------------------------------------------


def test_larger_null_model_is_refused():
    with pytest.raises(es.InferError, match="I003: the models are not nested: 'b' is free in the"):
        es.likelihood_ratio(line("ab"), line("a"))


def test_same_freedom_is_refused():
    with pytest.raises(es.InferError, match="I004: the same is free in both fits"):
        es.likelihood_ratio(line("ab"), line("ab"))


def test_other_data_are_refused():
    with pytest.raises(
        es.InferError, match=r"I005: .*samples or weights of output 'y' of case 'poi"
    ):
        es.likelihood_ratio(line("a"), line("ab", y=Y + 0.1))


def test_other_criterion_is_refused():
    with pytest.raises(
        es.InferError, match="I001: the fits have different criteria, 'ml' and 'oe'"
    ):
        es.likelihood_ratio(line("a"), line("ab", "oe"))


def test_robust_loss_is_refused():
    fit = line("a")
    study = fit.study.with_(estimation=es.Estimation(criterion="ml", loss="huber"))
    with pytest.raises(es.InferError, match="I001: loss 'huber' is not a likelihood"):
        es.likelihood_ratio(es.fit(study), line("ab"))


def test_another_fixed_value_is_no_nesting():
    with pytest.raises(es.InferError, match=r"I003: .*at the null model's values the other costs"):
        es.likelihood_ratio(line("a"), line("ab", values={"c": 1.0}))


def test_null_value_outside_the_bounds_is_no_nesting():
    null, other = line("a"), line("ab")
    tuners = [replace(t, start=2.0, min=1.0) if t.name == "b" else t for t in other.study.tuners]
    with pytest.raises(
        es.InferError, match=r"I003: .*'b' is 0 in the null model, outside the bounds"
    ):
        es.likelihood_ratio(null, es.fit(other.study.with_(tuners=tuners)))


def test_poorer_optimum_of_the_larger_model_is_refused():
    other = line("ab")
    with pytest.raises(es.InferError, match="I006: the fit with more that is free costs"):
        es.likelihood_ratio(line("a"), replace(other, cost=other.cost + 1e4))


def test_failed_fit_is_refused():
    with pytest.raises(es.InferError, match="I002: a fit failed"):
        es.likelihood_ratio(replace(line("a"), cost=np.inf), line("ab"))


def test_tuner_without_a_null_value_is_told():
    other = line("a").study
    tuners = [other.tuners[0], es.Tuner("k", start=0.0, drives=["b"]), other.tuners[2]]
    with pytest.raises(es.InferError, match=r"I003: it cannot be told .* no value for tuner 'k'"):
        es.likelihood_ratio(line("a"), es.fit(other.with_(tuners=tuners)))


# --- how it shows itself -------------------------------------------------------------------------


def test_verdict_in_words():
    good, bad = (
        es.likelihood_ratio(line("a"), line("ab")),
        es.likelihood_ratio(line("ab"), line("abc")),
    )
    assert good.rejects()
    assert "releasing 'b' is worth it" in repr(good)
    assert not bad.rejects(0.05)
    assert "releasing 'c' is not worth it" in bad.verdict()
    assert "released" in good._repr_html_()
    assert json.loads(json.dumps(good.to_dict()))["distribution"] == "F"
