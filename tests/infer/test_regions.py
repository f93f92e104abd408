"""Joint regions: the ellipse is exact for linear models, the contour follows the cost."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, f

import estimica as es
from estimica.simulate.formula import formula_model

X = np.linspace(0, 1, 60)


def curve(expression: str, y: np.ndarray, starts: str, criterion: str, **output: object) -> es.Fit:
    model = formula_model({"y": expression}, inputs=["x"])
    table = pd.DataFrame({"x": X, "y": y})
    outputs = {"y": es.OutputColumn("y", **output)}  # type: ignore[arg-type]
    case = es.Case("points", table, inputs={"x": "x"}, outputs=outputs)
    return es.fit(es.Study(model, [es.Tuner(n, start=1) for n in starts], [case], criterion))


def parabola(criterion: str = "oe", **output: object) -> es.Fit:
    random = np.random.default_rng(0)
    y = 1 + 2 * X + 3 * X**2 + 0.1 * random.standard_normal(60)
    return curve("a + b*x + c*x^2", y, "abc", criterion, **output)


@pytest.fixture(scope="module")
def saturating() -> es.Fit:
    random = np.random.default_rng(1)
    y = 2 * (1 - np.exp(-X)) + 0.05 * random.standard_normal(60)
    return curve("a*(1 - exp(-b*x))", y, "ab", "oe")


@pytest.mark.parametrize("others", ["profile", "conditional"])
@pytest.mark.parametrize("sigma", [None, 0.1])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_contour_of_a_linear_model_is_the_ellipse(criterion, sigma, others):
    fit = parabola(criterion, **({} if sigma is None else {"sigma": sigma}))
    found = es.region(fit, "a", "c", others=others)
    assert found.closed
    assert found.mismatch < 1e-6


def test_ellipse_of_a_linear_model_is_the_textbook_s():
    fit = parabola()
    found = es.region(fit, "a", "c", level=0.9)
    J = np.stack([np.ones(60), X, X**2], 1)
    y = fit.cases[0]["y"].measured
    b = np.linalg.lstsq(J, y, rcond=None)[0]
    s2 = np.sum((y - J @ b) ** 2) / 57
    inverse = np.linalg.inv(s2 * np.linalg.inv(J.T @ J)[np.ix_([0, 2], [0, 2])])
    off = found.contour - b[[0, 2]]
    inside = np.einsum("ij,jk,ik->i", off, inverse, off)
    np.testing.assert_allclose(inside, 2 * f.ppf(0.9, 2, 57), rtol=1e-6)


def test_conditional_ellipse_lies_within_the_profile_s():
    fit = parabola()
    wide, narrow = (es.region(fit, "a", "c", others=o) for o in ("profile", "conditional"))
    for k in range(2):
        assert np.ptp(narrow.ellipse[:, k]) < 0.9 * np.ptp(wide.ellipse[:, k])


def test_contour_lies_where_the_cost_has_risen_to_the_threshold(saturating):
    found = es.region(saturating, "a", "b")
    y = saturating.cases[0]["y"].measured

    def cost(a: float, b: float) -> float:
        return float(np.sum((a * (1 - np.exp(-b * X)) - y) ** 2))

    least = cost(*found.centre)
    wanted = least * (1 + 2 * f.ppf(0.95, 2, 58) / 58)
    np.testing.assert_allclose([cost(*p) for p in found.contour], wanted, rtol=1e-6)
    assert found.mismatch > 0.1  # a banana, not an ellipse


def test_profile_contour_is_the_least_cost_over_the_others():
    random = np.random.default_rng(2)
    y = 1 + 2 * np.exp(-2 * X) + 0.05 * random.standard_normal(60)
    fit = curve("a + b*exp(-c*x)", y, "abc", "ml", sigma=0.05)
    found = es.region(fit, "b", "c", points=12)
    for b, c in found.contour:
        rest = y - b * np.exp(-c * X)
        square = np.sum((rest - rest.mean()) ** 2)  # the best a is the mean
        rise = (square - np.sum((y - fit.cases[0]["y"].simulated) ** 2)) / 0.05**2
        assert rise == pytest.approx(chi2.ppf(0.95, 2), rel=1e-4)


@pytest.mark.slow
def test_regions_cover_the_truth():
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        y = 2 * (1 - np.exp(-X)) + 0.05 * random.standard_normal(60)
        found = es.region(curve("a*(1 - exp(-b*x))", y, "ab", "oe"), "a", "b", points=16)
        hits += contains(found.contour, (2.0, 1.0))
    assert 0.90 <= hits / 200 <= 0.98


def contains(polygon: np.ndarray, point: tuple[float, float]) -> bool:
    angle = np.unwrap(np.arctan2(polygon[:, 1] - point[1], polygon[:, 0] - point[0]))
    last = np.angle(np.exp(1j * (angle[0] - angle[-1])))
    return abs(angle[-1] - angle[0] + last) > math.pi


def test_a_region_that_meets_a_bound_is_open():
    random = np.random.default_rng(1)
    y = 2 * (1 - np.exp(-X)) + 0.05 * random.standard_normal(60)
    model = formula_model({"y": "a*(1 - exp(-b*x))"}, inputs=["x"])
    case = es.Case("points", pd.DataFrame({"x": X, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    free = es.fit(es.Study(model, [es.Tuner("a", start=1), es.Tuner("b", start=1)], [case]))
    bound = [es.Tuner("a", start=1, max=free["a"] * 1.02), es.Tuner("b", start=1)]
    found = es.region(es.fit(es.Study(model, bound, [case])), "a", "b", points=24)
    assert found.open > 0
    assert not found.closed
    assert "open in" in repr(found)
    assert np.isnan(found.contour).any()


def test_region_shows_itself(saturating, tmp_path):
    found = es.region(saturating, "a", "b", points=16)
    assert "joint 95 % confidence region of a and b" in repr(found)
    assert "all other unknowns follow" in repr(found)
    assert len(found.plot().data) == 3
    assert "contour" in found.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(json.loads(json.dumps(found.to_dict(), allow_nan=False))["ellipse"]) == 16


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"first": "A"}, "I335: the fit has no unknown 'A'; did you mean 'a'"),
        ({"second": "a"}, "I333: a region needs two unknowns, not 'a' twice"),
        ({"others": "profil"}, "I330: others 'profil'; did you mean 'profile'"),
        ({"level": 2.0}, "I331: level 2 is not a chance between 0 and 1"),
        ({"points": 3}, "I332: 3 points make no contour; use 8 or more"),
    ],
)
def test_wrong_questions_are_refused(saturating, asked, text):
    first, second = asked.pop("first", "a"), asked.pop("second", "b")
    with pytest.raises(es.EstimicaError, match=text.replace("?", ".")):
        es.region(saturating, first, second, **asked)


def test_unknowns_without_an_error_have_no_region():
    y = 2 * X + 0.1 * np.random.default_rng(4).standard_normal(60)
    fit = curve("a*b*x", y, "ab", "oe")
    with pytest.raises(es.EstimicaError, match="I334: 'a' has no region: it is not determined by"):
        es.region(fit, "a", "b")
