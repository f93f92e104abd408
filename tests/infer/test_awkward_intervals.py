"""95 % intervals hold the truth 95 % of the time where outputs are unbalanced or bounds are met."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t
from tests.infer.awkward_experiments import (
    at_bound,
    bootstrapped,
    coverage,
    limits,
    plain,
    profiled,
    unbalanced,
)

import estimica as es
from estimica.estimate.conclusion.freedom import effective
from estimica.infer.bootstrap.intervals import widened
from estimica.infer.covariance.linearisation import linearise_fit
from estimica.simulate.formula import formula_model


def points(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A regression of a line: its matrix and what was measured."""
    x = np.linspace(0, 5, n)
    y = 2 + 0.7 * x + 0.5 * np.random.default_rng(seed).standard_normal(n)
    return np.column_stack([np.ones(n), x]), y


def line(n: int, seed: int, output: str, **column: float) -> es.Case:
    A, y = points(n, seed)
    table = pd.DataFrame({"x": A[:, 1], "y": y})
    given = {output: es.OutputColumn("y", **column)}
    return es.Case(output, table, inputs={"x": "x"}, outputs=given)


def two_lines(sizes: tuple[int, int], criterion: str, **column: float) -> es.Fit:
    model = formula_model({"y": "a + b*x", "z": "c + d*x"}, inputs=["x"])
    cases = [line(sizes[0], 1, "y", **column), line(sizes[1], 2, "z", **column)]
    return es.fit(es.Study(model, [es.Tuner(n, start=1.0) for n in "abcd"], cases, criterion))


def regression(A: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least squares: values and covariance with N − 2 degrees of freedom."""
    values, square, *_ = np.linalg.lstsq(A, y, rcond=None)
    return values, float(square[0]) / (len(y) - 2) * np.linalg.inv(A.T @ A)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_outputs_with_tuners_of_their_own_have_the_intervals_of_their_own_regression(
    criterion: str,
) -> None:
    found = two_lines((40, 6), criterion)
    for n, seed, own in ((40, 1, slice(0, 2)), (6, 2, slice(2, 4))):
        values, covariance = regression(*points(n, seed))
        errors = np.sqrt(np.diag(covariance))
        assert found.values[own] == pytest.approx(values, rel=1e-5)
        assert found.accuracy.stderr[own] == pytest.approx(errors, rel=1e-5)
        assert found.accuracy.freedom[own] == pytest.approx(n - 2)
        width = np.diff(found.accuracy.interval[own], axis=1).ravel()
        assert width == pytest.approx(2 * t.ppf(0.975, n - 2) * errors, rel=1e-5)


def test_profiles_and_regions_of_an_output_are_those_of_its_own_regression() -> None:
    found = two_lines((40, 6), "ml")
    values, covariance = regression(*points(6, 2))
    half = t.ppf(0.975, 4) * np.sqrt(np.diag(covariance))
    walked = es.profile(found, points=3)
    for k, name in enumerate("cd"):
        ends = np.array(walked[name].interval)
        assert ends == pytest.approx([values[k] - half[k], values[k] + half[k]], rel=1e-4)
    alone = es.fit(
        es.Study(
            formula_model({"z": "c + d*x"}, inputs=["x"]),
            [es.Tuner(n, start=1.0) for n in "cd"],
            [line(6, 2, "z")],
            "ml",
        )
    )
    both, own = es.region(found, "c", "d"), es.region(alone, "c", "d")
    assert both.ellipse == pytest.approx(own.ellipse, rel=1e-4)
    assert both.contour == pytest.approx(own.contour, rel=1e-3)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_bands_of_an_output_are_those_of_its_own_regression(criterion: str) -> None:
    band = es.bands(two_lines((40, 6), criterion)).output("z")
    A, y = points(6, 2)
    values, covariance = regression(A, y)
    mean = np.einsum("ij,jk,ik->i", A, covariance, A)
    noise = float(np.sum((y - A @ values) ** 2)) / 4
    q = t.ppf(0.975, 4)
    assert band.mean[1] - A @ values == pytest.approx(q * np.sqrt(mean), rel=1e-4)
    further = q * np.sqrt(mean + noise)
    assert band.prediction[1] - A @ values == pytest.approx(further, rel=1e-4)


def test_known_noise_has_normal_quantiles() -> None:
    found = two_lines((5, 4), "ml", sigma=0.5)
    assert np.isinf(found.accuracy.freedom).all()
    width = np.diff(found.accuracy.interval, axis=1).ravel()
    assert width == pytest.approx(2 * norm.ppf(0.975) * found.accuracy.stderr)
    A = np.column_stack([np.ones(4), np.linspace(0, 5, 4)])
    exact = 0.5 * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    assert found.accuracy.stderr[2:] == pytest.approx(exact, rel=1e-6)
    walked = es.profile(found, points=3)
    assert np.array(walked["d"].interval) == pytest.approx(found.accuracy.interval[3], rel=1e-4)
    band = es.bands(found).output("z")
    assert band.quantile == pytest.approx(norm.ppf(0.975))
    assert band.further == pytest.approx(norm.ppf(0.975))


def test_known_noise_beside_noise_that_is_estimated() -> None:
    model = formula_model({"y": "a + b*x", "z": "a + d*x"}, inputs=["x"])
    cases = [line(5, 1, "y", sigma=0.5), line(8, 2, "z")]
    found = es.fit(es.Study(model, [es.Tuner(n, start=1.0) for n in "abd"], cases, "ml"))
    known, told = linearise_fit(found).told.levels
    assert known.known
    assert math.isinf(known.freedom)
    assert told.share + known.share == pytest.approx(3)
    assert told.freedom == pytest.approx(8 - told.share)
    assert found.accuracy.freedom[1] > found.accuracy.freedom[2] > 8 - 2


def test_degrees_of_freedom_of_two_variances_are_those_of_cochran() -> None:
    """Cochran and Cox (1957): t' = Σ v t(ν) / Σ v."""
    parts, degrees = np.array([0.4, 0.1]), np.array([4.0, 11.0])
    quantile = (parts @ t.ppf(0.975, degrees)) / parts.sum()
    found = effective(parts[:, None], degrees)[0]
    assert t.ppf(0.975, found) == pytest.approx(quantile, rel=1e-9)
    assert effective(np.ones((1, 1)), np.array([4.0]))[0] == pytest.approx(4)
    assert np.isinf(effective(np.ones((1, 1)), np.array([np.inf])))[0]


def test_variances_of_few_and_of_many_degrees_cover_together() -> None:
    rng = np.random.default_rng(1)
    n = 4000
    for nu in (1, 2, 6):
        for share in (0.97, 0.8, 0.4):
            own = share * rng.chisquare(nu, n) / nu
            parts = np.stack([own, np.full(n, 1 - share)])
            degrees = effective(parts, np.array([nu, np.inf]))
            half = t.ppf(0.975, degrees) * np.sqrt(parts.sum(axis=0))
            held = np.mean(np.abs(rng.standard_normal(n)) <= half)
            assert 0.93 < held < 0.985, (nu, share, held)


def test_an_output_with_as_many_unknowns_as_samples_leaves_the_others_their_errors() -> None:
    found = two_lines((40, 2), "oe")
    assert np.isfinite(found.accuracy.stderr[:2]).all()
    assert np.isinf(found.accuracy.stderr[2:]).all()
    assert found.to_dict()["parameters"]["c"]["ci95"] is None


# --- coverage -------------------------------------------------------------------------------------


def _require(held: np.ndarray, within: tuple[int, int]) -> None:
    assert held.min() >= within[0], held
    assert held.max() <= within[1], held


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_unbalanced_outputs_are_covered(criterion: str) -> None:
    count = 120
    held = coverage(unbalanced((60, 30, 4), criterion), count)
    _require(held, limits(count))


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_others_are_covered_where_an_unknown_is_at_its_bound(offset: float) -> None:
    count = 120
    held = coverage(at_bound(offset), count)
    # where the truth is at the bound, an interval that ends there holds it always
    _require(held, limits(count, high=0.98))


WHOLE = {
    "ml, 200/50/8": unbalanced(),
    "ml, 200/50/4": unbalanced((200, 50, 4)),
    "oe, 200/50/8": unbalanced(criterion="oe"),
    "oe, 200/50/4": unbalanced((200, 50, 4), "oe"),
    "known, 20/10/4": unbalanced((20, 10, 4), known=True),
    "at the bound": at_bound(0.0),
    "near the bound": at_bound(0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(WHOLE))
def test_four_hundred_experiments_are_covered(name: str) -> None:
    held = coverage(WHOLE[name], 400, intervals=plain)
    _require(held, limits(400, high=0.98 if "bound" in name else 0.95))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["percentile", "bca"])
@pytest.mark.parametrize("few", [8, 4])
def test_bootstraps_of_few_samples_are_covered(few: int, what: str) -> None:
    held = coverage(
        unbalanced((few,), outputs=("y4",)), 150, intervals=bootstrapped("parametric", what)
    )
    assert held.min() >= limits(150, 0.92)[0], held


@pytest.mark.slow
def test_profiles_of_unbalanced_outputs_are_covered() -> None:
    held = coverage(unbalanced((60, 30, 4)), 150, intervals=profiled)
    _require(held, limits(150))


# --- scales and bounds ----------------------------------------------------------------------------


def decay(noise: float = 0.3, **tuner: float) -> es.Fit:
    rng = np.random.default_rng(3)
    x = np.linspace(0, 3, 8)
    table = pd.DataFrame({"x": x, "y": 2 * np.exp(-x) + noise * rng.standard_normal(8)})
    case = es.Case("run", table, inputs={"x": "x"}, outputs={"y": "y"})
    rate = es.Tuner("b", start=1.0, scale="log", **tuner)
    model = formula_model({"y": "a*exp(-b*x)"}, inputs=["x"])
    return es.fit(es.Study(model, [es.Tuner("a", start=2.0), rate], [case], "ml"))


def test_intervals_on_a_logarithmic_scale_are_symmetric_in_factors() -> None:
    found = decay()
    low, high = found.accuracy.interval[1]
    assert low > 0
    assert low * high == pytest.approx(found["b"] ** 2)
    factor = math.exp(t.ppf(0.975, 6) * found.accuracy.stderr[1] / found["b"])
    assert high / found["b"] == pytest.approx(factor)


def test_intervals_end_at_bounds_and_say_so() -> None:
    free = decay()
    found = decay(max=1.05 * free["b"])
    assert found["b"] == pytest.approx(free["b"], rel=1e-4)
    assert found.accuracy.interval[1, 1] == pytest.approx(1.05 * free["b"])
    assert found.accuracy.interval[1, 0] == pytest.approx(free.accuracy.interval[1, 0], rel=1e-4)
    assert found.remark(1) == "interval cut off at its max"
    assert found.to_dict()["parameters"]["b"]["ci95_clipped"] == [False, True]
    assert found.accuracy.stderr == pytest.approx(free.accuracy.stderr, rel=1e-3)


def test_an_unknown_at_its_bound_is_free_in_the_errors_of_the_others() -> None:
    free = decay()
    found = decay(max=0.999 * free["b"])
    assert found.at_bound == ("", "max")
    assert found.accuracy.stderr[0] == pytest.approx(free.accuracy.stderr[0], rel=0.02)
    assert found.accuracy.interval[1, 1] == 0.999 * free["b"]
    assert found.conditions(0) == ()


def test_errors_that_rest_on_a_bound_say_so() -> None:
    model = formula_model({"y": "a*b*x"}, inputs=["x"])
    x = np.linspace(1, 5, 8)
    table = pd.DataFrame({"x": x, "y": 6 * x + 0.1 * np.random.default_rng(1).standard_normal(8)})
    case = es.Case("run", table, inputs={"x": "x"}, outputs={"y": "y"})
    tuners = [es.Tuner("a", start=2.0, max=2.0), es.Tuner("b", start=1.0)]
    found = es.fit(es.Study(model, tuners, [case], "ml"))
    assert found.at_bound == ("max", "")
    assert found.conditions(1) == ("a",)
    assert "its error holds for 'a' staying at a bound" in found.remark(1)
    told = found.to_dict()["parameters"]["b"]
    assert told["conditional_on"] == ["a"]
    assert told["ci95"] is not None


def test_bootstrap_intervals_are_as_wide_as_t_and_stay_within_bounds() -> None:
    unknowns = decay(max=1.2).unknowns
    assert widened(unknowns, 0, math.inf)(2.0, (1.0, 4.0)) == pytest.approx((1.0, 4.0))
    factor = t.ppf(0.975, 6) / norm.ppf(0.975)
    assert widened(unknowns, 0, 6)(2.0, (1.0, 4.0)) == pytest.approx((2 - factor, 2 + 2 * factor))
    low, high = widened(unknowns, 1, 6)(1.0, (0.5, 1.19))
    assert (low, high) == pytest.approx((0.5**factor, 1.2))


def test_monte_carlo_from_a_fit_stays_within_bounds_and_says_what_they_do() -> None:
    found = decay(max=decay()["b"] * 0.999)
    study = found.study.with_(criteria=[])
    from estimica.optimise.assess.tuner_distribution import tuner_distribution
    from estimica.study.tables.optimisation import montecarlo_table

    source = tuner_distribution(study, found)
    drawn = source.drawn(montecarlo_table({"samples": 200, "source": "fit"}, {}))
    own = drawn.values[:, drawn.names.index("b")]
    assert 0 < own.min() < own.max() == 0.999 * decay()["b"]
    assert "'b' is at a bound in" in source.remark(drawn)
