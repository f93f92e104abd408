"""Results as DataFrames, summaries, corner plots and inference data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.results import every

import estimica as es

RESULTS = [n for n in every.MAKERS if n != "sample"]


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_a_frame_and_a_summary(name: str) -> None:
    result = every.result(name)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) or name == "second_model"  # where nothing is left open
    summary = result.summary()
    assert str(summary).strip()
    assert summary._repr_html_().count("<table") >= 1
    assert result._repr_html_().count("<script") == 0


def test_the_summary_of_a_fit_tells_facts_and_correlations() -> None:
    text = str(every.fit().summary())
    for word in ("log-likelihood", "AIC", "levenberg-marquardt", "std. error", "Correlations"):
        assert word in text


def test_correlations_have_the_labels_of_the_unknowns() -> None:
    fit = every.fit()
    table = fit.correlation
    assert list(table.index) == list(table.columns) == ["K", "tau"]
    covariance = fit.covariance
    by_hand = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert table.loc["K", "tau"] == pytest.approx(by_hand)
    assert table.loc["K", "K"] == pytest.approx(1.0)


def test_curves_of_a_fit_are_those_that_were_compared() -> None:
    frame = every.fit().to_frame("square")
    data = every.data()
    assert list(frame.columns) == ["u", "y measured", "y simulated", "y residual"]
    np.testing.assert_allclose(frame["y measured"], data.y)
    np.testing.assert_allclose(frame["y residual"], frame["y simulated"] - frame["y measured"])
    both = every.fit().to_frame()
    pd.testing.assert_frame_equal(both.loc["square"], frame)
    with pytest.raises(es.FitError, match="F012: the fit has no case 'sqare'; did you mean"):
        every.fit().to_frame("sqare")


def test_replicates_are_rows() -> None:
    bootstrap = every.result("bootstrap")
    frame = bootstrap.to_frame()
    assert list(frame.columns) == ["K", "tau", "variance of y", "cost"]
    assert frame.index.name == "replicate"
    assert frame.K.std() == pytest.approx(bootstrap.parameters.stderr["K"], rel=0.1)
    assert bootstrap.correlation.loc["K", "tau"] == pytest.approx(
        frame[["K", "tau"]].corr().iloc[0, 1]
    )


def test_profiles_and_maps_are_frames_of_what_was_computed() -> None:
    profile = every.result("profile").to_frame()
    assert list(profile.columns) == ["value", "cost", "K", "tau"]
    np.testing.assert_allclose(profile.loc["K"]["value"], profile.loc["K"]["K"])
    chart = every.result("criterion_map")
    assert chart.to_frame().shape == chart.cost.shape
    assert chart.to_frame().columns.name == "K"
    assert len(every.result("sweep").to_frame()) == 3


# --- corner plots --------------------------------------------------------------------------------


def test_a_corner_plot_has_every_unknown_against_every_other() -> None:
    bootstrap = every.result("bootstrap")
    figure = bootstrap.corner()
    assert figure.to_json() == bootstrap.plot("corner").to_json()
    assert [t.type for t in figure.data].count("bar") == 2
    cloud = next(t for t in figure.data if t.type == "scattergl")
    np.testing.assert_array_equal(cloud.x, bootstrap.values[:, 0])
    np.testing.assert_array_equal(cloud.y, bootstrap.values[:, 1])
    titles = [a.title.text for a in figure.select_xaxes() if a.title.text]
    assert titles == ["K", "tau"]
    assert len([t for t in bootstrap.corner("K").data if t.type == "bar"]) == 1
    with pytest.raises(es.InferError, match="I408: the bootstrap has no unknown 'taw'; did you"):
        bootstrap.corner("taw")


# --- ArviZ ---------------------------------------------------------------------------------------


def test_inference_data_of_a_fit_has_its_standard_errors() -> None:
    arviz = pytest.importorskip("arviz")
    fit = every.fit()
    data = fit.to_arviz(40000)
    table = arviz.summary(data, round_to=8)
    for name, row in fit.parameters.iterrows():
        # of n draws, the mean is off by stderr/√n, the deviation by stderr/√(2n): four of them
        assert table.loc[name, "mean"] == pytest.approx(row.value, abs=4 * row.stderr / 200)
        assert table.loc[name, "sd"] == pytest.approx(row.stderr, rel=4 / math.sqrt(80000))
        assert table.loc[name, "r_hat"] == pytest.approx(1.0, abs=0.01)
    drawn = data.posterior
    correlation = np.corrcoef(drawn["K"].values.ravel(), drawn["tau"].values.ravel())[0, 1]
    assert correlation == pytest.approx(fit.correlation.loc["K", "tau"], abs=0.02)
    assert "asymptotic normal" in drawn.attrs["sample"]
    assert "not a posterior" in drawn.attrs["sample"]
    np.testing.assert_array_equal(data.observed_data["square: y"].values, every.data().y)
    again = fit.to_arviz(40000).posterior["K"]
    np.testing.assert_array_equal(again.values, drawn["K"].values)


def test_inference_data_of_a_bootstrap_are_its_replicates() -> None:
    arviz = pytest.importorskip("arviz")
    bootstrap = every.result("bootstrap")
    data = bootstrap.to_arviz()
    np.testing.assert_array_equal(data.posterior["K"].values[0], bootstrap.values[:, 0])
    table = arviz.summary(data, kind="stats", round_to=8)
    assert table.loc["K", "sd"] == pytest.approx(np.std(bootstrap.values[:, 0], ddof=1), rel=0.05)
    assert data.posterior.attrs["sample"] == "replicates of a parametric bootstrap; not a posterior"


def test_a_posterior_has_the_same_form() -> None:
    pytest.importorskip("emcee")
    posterior = every.result("sample")
    data = posterior.to_arviz()
    assert set(data.posterior.data_vars) == set(posterior.to_frame().columns)
    frame = posterior.to_frame()
    assert frame.index.names == ["chain", "draw"]
    np.testing.assert_array_equal(frame.loc[1, "K"], data.posterior["K"].values[1])
    assert len([t for t in posterior.corner().data if t.type == "bar"]) == 2


def test_what_cannot_be_drawn_from_is_told() -> None:
    pytest.importorskip("arviz")
    data = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.1, 5.9]})
    case = es.Case("points", data, inputs={"x": "x"}, outputs={"y": "y"})
    product = es.formula_model({"y": "a*b*x"}, ["x"])
    fit = es.fit(es.Study(product, [es.Tuner("a", start=1), es.Tuner("b", start=2)], [case]))
    with pytest.raises(es.FitError, match="F152: to_arviz: 'a', 'b' has no standard error"):
        fit.to_arviz()
    with pytest.raises(es.FitError, match="F151: to_arviz: 2 draws are too few"):
        every.fit().to_arviz(2)


def test_a_table_shows_itself_as_results_do() -> None:
    quality = every.fit().quality()
    assert "│ square │ calibrate" in str(quality) == repr(quality)
    assert "fit %: 100 is perfect" in str(quality)
    assert "<table" in quality._repr_html_()
