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


def designing() -> es.Study:
    """Two criteria that contradict each other, in one tuner."""
    criteria = [es.Criterion("near", "x^2"), es.Criterion("far", "(x - 2)^2")]
    model = es.formula_model({c.name: c.of for c in criteria}, [])
    return es.Study(model, [es.Tuner("x", start=0.5, min=-1, max=3)], [], criteria=criteria)


def stepping() -> Result:
    t = np.linspace(0, 30, 301)
    y = 4 * -np.expm1(-np.maximum(t - 2.5, 0) / 3)
    return es.first_guess({"time": t, "u": np.where(t >= 2, 1.0, 0.0), "y": y}, "u", "y")


def waving() -> Result:
    w = np.geomspace(0.01, 10, 40)
    return es.bode_guess(w, 2 * np.exp(-0.5j * w) / (1 + 3j * w))


def exciting() -> Result:
    wave = {"step": 0.5, "duration": 20, "vary": {"frequency": [0.05, 0.1]}}
    values = {"K": 1.0, "tau": 2.0}
    return es.design_input(es.transfer_function("K/(1 + tau*s)"), wave, values=values)


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
    "optimise": lambda: es.optimise(designing(), starts=2),
    "pareto": lambda: es.pareto(designing(), points=4, starts=1),
    "sweep": lambda: es.sweep(designing(), vary={"x": [0.0, 1.0, 2.0]}),
    "montecarlo": lambda: es.montecarlo(designing(), draw={"x": {"min": 0, "max": 2}}, samples=20),
    "input design": exciting,
    "first guess of a step": stepping,
    "first guess of a Bode plot": waving,
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
