"""Laws fitted to points: against certified values, other solvers and planted laws."""

import math

import numpy as np
import pytest
from scipy.optimize import curve_fit

from estimica.base.errors import InferError
from estimica.infer.backcalculation.ranking import fit_laws
from estimica.source.formula import parse_formula

X = np.geomspace(1, 100, 25)


def noisy(exact, share, seed):
    return exact + np.random.default_rng(seed).normal(0, share * np.std(exact), len(exact))


def test_power_law_of_nist_danwood_with_its_standard_errors():
    x = [1.309, 1.471, 1.490, 1.565, 1.611, 1.680]
    y = [2.138, 3.421, 3.597, 4.340, 4.882, 5.660]
    law = fit_laws("y", y, {"x": x})["power"]
    c, a = law.parameters.values()
    assert (c.value, a.value) == pytest.approx((7.6886226176e-01, 3.8604055871e00), rel=1e-8)
    assert (c.stderr, a.stderr) == pytest.approx((1.8281973860e-02, 5.1726610913e-02), rel=1e-6)
    assert law.rmse**2 * 6 == pytest.approx(4.3173084083e-03, rel=1e-8)


def test_exponential_law_agrees_with_scipy():
    x = np.linspace(0, 4, 20)
    y = noisy(2 * np.exp(-0.8 * x), 0.03, 1)
    law = fit_laws("y", y, {"x": x})["exponential"]
    values, covariance = curve_fit(lambda x, c, a: c * np.exp(a * x), x, y, p0=[1, -1], xtol=1e-12)
    assert [p.value for p in law.parameters.values()] == pytest.approx(values, rel=1e-6)
    errors = np.sqrt(np.diag(covariance))
    assert [p.stderr for p in law.parameters.values()] == pytest.approx(errors, rel=1e-4)


def test_polynomial_agrees_with_numpy_far_from_zero():
    x = np.linspace(290, 330, 30)
    y = noisy(5 + (x - 310) ** 2, 0.01, 2)
    law = fit_laws("y", y, {"T": x})["polynomial of degree 2"]
    expected = np.polyval(np.polyfit(x - 310, y, 2), x - 310)
    assert law.at({"T": x}) == pytest.approx(expected, rel=1e-9)


def test_aicc_is_the_published_formula():
    y = noisy(2 + 3 * X, 0.1, 3)
    law = fit_laws("y", y, {"x": X})["line"]
    square = np.sum((law.at({"x": X}) - y) ** 2)
    n, k = len(X), 3
    assert law.aicc == pytest.approx(
        n * math.log(square / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
    )


def test_leaving_one_out_is_the_sum_of_predicted_squares():
    y = noisy(2 + 3 * X, 0.1, 3)
    law = fit_laws("y", y, {"x": X})["line"]
    A = np.column_stack([np.ones_like(X), X])
    hat = A @ np.linalg.inv(A.T @ A) @ A.T
    press = (y - hat @ y) / (1 - np.diag(hat))
    assert law.cv_rmse == pytest.approx(np.sqrt(np.mean(press**2)), rel=1e-9)


POWERS = {f"x^{a}": (a, X, X**a) for a in (0.6, -0.8, 1.75)}
T = np.linspace(0, 4, 25)
EXPONENTIALS = {f"exp({a}*t)": (a, T, np.exp(a * T)) for a in (0.8, -0.8)}


@pytest.mark.parametrize(("a", "x", "exact"), POWERS.values(), ids=POWERS)
def test_planted_power_law_ranks_first(a, x, exact):
    firsts = []
    for share in (0.001, 0.01, 0.03):
        for seed in range(5):
            found = fit_laws("y", noisy(exact, share, seed), {"x": x})
            firsts.append(found.best.kind)
            p = found["power"].parameters["a"]
            assert abs(p.value - a) < 4 * p.stderr
    assert firsts.count("power") >= 13  # of 15: AIC takes a richer law now and then


@pytest.mark.parametrize(("a", "x", "exact"), EXPONENTIALS.values(), ids=EXPONENTIALS)
def test_planted_exponential_law_ranks_first(a, x, exact):
    shares = [(share, seed) for share in (0.001, 0.01, 0.03) for seed in range(5)]
    firsts = [fit_laws("y", noisy(exact, *s), {"x": x}).best.kind for s in shares]
    assert firsts.count("exponential") >= 14


def test_planted_arrhenius_law_ranks_first_over_a_wide_range():
    T = np.linspace(250, 900, 40)
    exact = 1e5 * np.exp(-3000 / T)
    found = fit_laws("k", noisy(exact, 0.005, 1), {"T": T})
    assert found.best.kind == "arrhenius"
    assert found.best.expression == "c*exp(a/T)"
    a = found.best.parameters["a"]
    assert abs(a.value + 3000) < 4 * a.stderr


def test_planted_line_ranks_first_though_polynomials_hold_it():
    x = np.linspace(0.5, 4, 25)
    shares = [(share, seed) for share in (0.01, 0.05) for seed in range(10)]
    found = [fit_laws("y", noisy(2 + 3 * x, *s), {"x": x}) for s in shares]
    assert sum(f.best.kind == "line" for f in found) >= 0.8 * len(found)
    simple = ["constant", "line", "power", "exponential", "logarithmic", "reciprocal"]
    found = [fit_laws("y", noisy(2 + 3 * x, *s), {"x": x}, kinds=simple) for s in shares]
    assert all(f.best.kind == "line" for f in found)


def test_power_law_in_two_regressors_ranks_first_among_those_in_one_or_two():
    rng = np.random.default_rng(4)
    Re, Pr = rng.uniform(1e3, 1e5, 40), rng.uniform(0.7, 10, 40)
    exact = 0.023 * Re**0.8 * Pr**0.4
    found = fit_laws("Nu", exact * (1 + rng.normal(0, 0.02, 40)), {"Re": Re, "Pr": Pr})
    assert found.best.kind == "power"
    assert found.best.regressors == ("Re", "Pr")
    assert found.best.expression == "c*Re^a*Pr^b"
    for name, truth in {"c": 0.023, "a": 0.8, "b": 0.4}.items():
        p = found.best.parameters[name]
        assert abs(p.value - truth) < 4 * p.stderr


def test_relative_errors_weight_each_point_by_its_value():
    rng = np.random.default_rng(5)
    y = 3 * X**1.5 * (1 + rng.normal(0, 0.05, len(X)))
    law = fit_laws("y", y, {"x": X}, errors="relative")["power"]
    values, covariance = curve_fit(lambda x, c, a: c * x**a, X, y, p0=[3, 1.5], sigma=y)
    assert [p.value for p in law.parameters.values()] == pytest.approx(values, rel=1e-5)
    errors = np.sqrt(np.diag(covariance))
    assert [p.stderr for p in law.parameters.values()] == pytest.approx(errors, rel=1e-3)


def test_laws_that_cannot_be_told_apart_are_said_to_be():
    x = np.linspace(10, 11, 12)
    found = fit_laws("y", noisy(2 * x**0.5, 0.3, 6), {"x": x})
    assert {"line", "power", "exponential"} <= {law.kind for law in found.tied}
    assert "cannot be told apart by these 12 points (AICc within 2)" in found.verdict
    assert "points over a wider range would tell" in found.verdict


def test_the_simplest_of_equals_is_first_even_where_all_are_exact():
    found = fit_laws("y", 2.5 * X, {"x": X})
    assert {law.kind for law in found.tied} == {"line", "power"}
    assert fit_laws("R", np.full(10, 4.7), {"i": np.arange(10.0)}).best.short == "R = 4.7"


def test_negative_values_are_a_law_with_a_negative_factor():
    law = fit_laws("y", noisy(-2 * X**0.6, 0.01, 7), {"x": X}).best
    assert law.kind == "power"
    assert law.parameters["c"].value == pytest.approx(-2, rel=0.1)


def test_formula_is_modelica_that_reads_back():
    rng = np.random.default_rng(8)
    x, z = rng.uniform(1, 5, 30), rng.uniform(-3, -1, 30)
    found = fit_laws("m.y", 1 + x - 3 * z + rng.normal(0, 0.1, 30), {"m.x": x, "c": z})
    for law in found.ranked:
        formula = parse_formula(law.formula.removeprefix("m.y = "))
        value = formula.at({n: {"m.x": x, "c": z}[n] for n in formula.names})
        assert value == pytest.approx(law.at({"m.x": x, "c": z}), rel=1e-6)
        symbols = parse_formula(law.expression)
        assert set(symbols.names) == {*law.parameters, *law.regressors}
    assert fit_laws("y", 2 * X, {"c": X})["power"].expression == "c_*c^a"


def test_law_outside_its_domain_is_left_out_with_the_reason():
    found = fit_laws("y", noisy(np.arange(-5.0, 15), 0.1, 9), {"x": np.arange(-5.0, 15)})
    reasons = dict(found.excluded)
    assert reasons["power in x"] == "x is not positive at 6 of 20 points, first -5"
    assert reasons["reciprocal in x"] == "x is 0 at 1 of 20 points, first 0"
    with pytest.raises(InferError, match="I604: the power law of y was not fitted: x is not pos"):
        found["power"]
    assert "arrhenius in x: x is not positive at 6 of 20" in found.table().note


def test_regressor_that_does_not_change_gives_no_law():
    reasons = dict(fit_laws("y", np.arange(9.0), {"x": np.full(9, 2.0)}).excluded)
    assert reasons["line in x"] == "x is 2 at all points"


def test_points_that_are_missing_do_not_count():
    y = 2 * X**0.5
    y[3] = np.nan
    assert fit_laws("y", y, {"x": X}).n_points == len(X) - 1


def test_few_points_leave_few_laws_and_none_is_an_error():
    found = fit_laws("y", [1.0, 2.1, 2.9, 4.2, 5.0], {"x": [1.0, 2, 3, 4, 5]})
    assert dict(found.excluded)["polynomial of degree 2 in x"] == (
        "3 parameters need at least 6 points, there are 5"
    )
    with pytest.raises(
        InferError, match="I602: no law of 'y' can be fitted: constant: 1 para"
    ) as e:
        fit_laws("y", [1.0, 2.0, 3.0], {"x": [1.0, 2, 3]})
    # laws with the same reason are told together
    assert str(e.value).count("2 parameters need at least 5 points, there are 3") == 1


def test_formula_by_which_the_points_were_computed_is_told_as_such():
    rng = np.random.default_rng(1)
    v, i = rng.uniform(1, 9, 30), rng.uniform(0.1, 1, 30)
    told = fit_laws("R", v / i, {"v": v, "i": i}).verdict
    assert told.startswith("power in v and i meets all points to rounding: R = 1*v^1*i^(-1); R was")
    assert "meets" not in fit_laws("R", v / i * rng.normal(1, 1e-4, 30), {"v": v, "i": i}).verdict


def test_wrong_use_is_told():
    with pytest.raises(InferError, match="I603: there is no law 'powr'; did you mean 'power'"):
        fit_laws("y", X, {"x": X}, kinds=["powr"])
    with pytest.raises(InferError, match="I601: errors 'relativ'; did you mean 'relative'"):
        fit_laws("y", X, {"x": X}, errors="relativ")
    with pytest.raises(InferError, match="I600: 'x' has 3 values, 'y' 25"):
        fit_laws("y", X, {"x": [1.0, 2.0, 3.0]})
    with pytest.raises(InferError, match="I605: relative errors: 'y' is 0 at a point"):
        fit_laws("y", np.arange(10.0), {"x": X[:10]}, errors="relative")
    with pytest.raises(InferError, match="I603: name at least one law"):
        fit_laws("y", X, {"x": X}, kinds=[])
