"""Every result has a picture as plain values, with and without saying which."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.result import Result

RNG = np.random.default_rng(3)
X = np.linspace(1.0, 5.0, 24)
POINTS = pd.DataFrame(
    {"x": X, "g": np.repeat([1.0, 2.0], 12), "y": 2.0 + 3.0 * X + RNG.normal(0, 0.1, X.size)}
)
CASE = es.Case("points", POINTS, inputs={"x": "x"}, outputs={"y": "y"})
MODEL = es.formula_model({"y": "a + b*x + c*x^2"}, ["x"])
STARTS = {"a": 1.0, "b": 1.0, "c": 0.0}


def study(*free: str) -> es.Study:
    tuners = [es.Tuner(n, start=v, active=n in free) for n, v in STARTS.items()]
    return es.Study(MODEL, tuners, [CASE], criterion="ml")


@cache
def fitted() -> es.Fit:
    return es.fit(study("a", "b"))


def backwards() -> Result:
    text = "model Drop parameter Real r = 1; Real v; Real i; equation v = r*i; end Drop;"
    drop = es.load_model(text, inputs="i").at_points()
    case = es.Case("points", POINTS, inputs={"i": "x", "v": "y"})
    return es.backcalculate(es.Study(drop, (), [case]), "r", against=["i"])


RESULTS = {
    "fit": fitted,
    "backcalculate": backwards,
    "profile": lambda: es.profile(fitted()),
    "release": lambda: es.release(study("a", "b", "c")),
    "bootstrap": lambda: es.bootstrap(fitted(), 20),
    "residuals": lambda: es.residuals(fitted()),
    "crossvalidate": lambda: es.crossvalidate(fitted(), 3),
    "identifiability": lambda: es.identifiability(fitted()),
    "map": lambda: es.criterion_map(fitted(), "a", "b", points=3),
    "cost curve": lambda: es.cost_curve(fitted(), "a", points=5),
    "measures": lambda: es.measures(fitted()),
    "covariance": lambda: es.covariance(fitted()),
    "region": lambda: es.region(fitted(), "a", "b", points=8),
    "bands": lambda: es.bands(fitted()),
    "posterior": lambda: es.sample(fitted(), 20, chains=2, warmup=20),
}


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_picture_without_a_kind(name: str) -> None:
    result = RESULTS[name]()
    drawn = result.picture()
    assert drawn.title
    assert result.plot().layout.title.text == drawn.title


def test_a_fit_has_the_pictures_that_it_plots() -> None:
    fit = fitted()
    assert fit.picture("fit").title == fit.picture().title
    for kind in ("residuals", "parity", "path", "cost"):
        assert fit.picture(kind).title == fit.plot(kind).layout.title.text
    with pytest.raises(es.FitError, match="there is no plot 'residual'; did you mean 'residuals'"):
        fit.picture("residual")


GROUPED = """
[static]
expression = "a*exp(b*x)"
against = "x"
by = "g"
[tune]
a = 3
b = 0.1
[[case]]
name = "points"
data = "points.csv"
inputs = { x = "x" }
outputs = { y = "y" }
"""


def test_residuals_of_iterations_are_drawn_where_the_study_groups_its_points(
    tmp_path: Path,
) -> None:
    POINTS.to_csv(tmp_path / "points.csv", index=False)
    (tmp_path / "study.toml").write_text(GROUPED)
    fit = es.fit(es.read_study(tmp_path / "study.toml"))
    (panel,) = fit.picture("residuals", iterations=3).panels
    assert len(panel.curves) == 3
    last = panel.curves[-1]
    expected = fit["a"] * np.exp(fit["b"] * POINTS["x"]) - POINTS["y"]
    assert last.value == pytest.approx(expected.to_numpy(), abs=1e-9)
    assert last.time == pytest.approx(X)  # all points as one curve, not the groups of the study
    assert len(fit.plot("residuals", iterations=3).data) >= 3
    (grouped, *_) = fit.picture("residuals").panels  # without iterations the groups are back
    assert len([c for c in grouped.curves if len(c.time) == 12]) >= 2
    with pytest.raises(es.FitError, match="F096: iterations of plot 'residuals' are drawn point"):
        fit.plot("residuals", iterations=3, by="g")


def test_a_likelihood_ratio_says_that_it_has_no_picture() -> None:
    ratio = es.likelihood_ratio(fitted(), es.fit(study("a", "b", "c")))
    with pytest.raises(es.InferError, match="I007: a likelihood ratio has no plot; print it"):
        ratio.plot()
