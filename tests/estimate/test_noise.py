"""Noise as a formula, a column, shared, censored or Laplacian: likelihoods against hand-made ones."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests.estimate.noise_coverage import growing_noise
from tests.estimate.noise_studies import (
    LAG,
    MEAN,
    best,
    censored_cost,
    curvature,
    growing,
    level,
    points,
)

import estimica as es
from estimica.estimate.criteria.noise_likelihood import ResidualLimits, normal
from estimica.estimate.fit.present import quality
from estimica.estimate.objective.cost import Point, scored
from estimica.estimate.setup import prepare
from estimica.study.fields.noise import DetectionLimits, Sigma

LOG_2PI = math.log(2 * math.pi)


def test_a_formula_of_sigma_finds_the_maximum_of_the_likelihood() -> None:
    table = growing()
    x, y = table["x"], table["y"]
    found = es.fit(points(table, [*MEAN, level("s", 0.3), level("r", 0.02)], sigma="s + r*y"))

    def cost(p: np.ndarray) -> float:
        mean = p[0] * x ** p[1]
        sigma = np.exp(p[2]) + np.exp(p[3]) * mean
        return float(np.sum(((y - mean) / sigma) ** 2 + 2 * np.log(sigma)))

    start = np.array([2, 0.7, math.log(0.15), math.log(0.06)])
    at, least = best(cost, start)
    assert found.outcome.ok
    assert found.cost == pytest.approx(least, abs=1e-7)
    assert found.values == pytest.approx([*at[:2], *np.exp(at[2:])], rel=2e-4)
    assert found.aic == pytest.approx(least + len(x) * LOG_2PI + 2 * 4, abs=1e-6)


def test_standard_errors_are_those_of_the_expected_information() -> None:
    table = growing()
    found = es.fit(points(table, [*MEAN, level("s", 0.3), level("r", 0.02)], sigma="s + r*y"))
    a, b, s, r = found.values
    x = table["x"]
    mean = a * x**b
    by_mean = np.stack([x**b, mean * np.log(x), 0 * x, 0 * x], 1)
    by_sigma = np.stack([r * x**b, r * mean * np.log(x), 1 + 0 * x, mean], 1)
    sigma = (s + r * mean)[:, None]
    information = (by_mean / sigma).T @ (by_mean / sigma)
    information += 2 * (by_sigma / sigma).T @ (by_sigma / sigma)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    # of an estimated noise level N/(N - p) is put back
    assert found.accuracy.stderr / errors == pytest.approx(np.ones(4), rel=0.06)


def test_one_tuner_for_sigma_says_what_an_estimated_level_says() -> None:
    table = growing()
    named = es.fit(points(table, [*MEAN, level("s", 1.0)], sigma="s"))
    plain = es.fit(points(table, MEAN))
    assert named.cost == pytest.approx(plain.cost, abs=1e-8)
    assert named.values[:2] == pytest.approx(plain.values, rel=1e-6)
    assert named.values[2] ** 2 == pytest.approx(plain.noise["y"].variance, rel=1e-6)
    assert (named.aic, named.bic) == pytest.approx((plain.aic, plain.bic), abs=1e-7)
    assert named.accuracy.stderr[:2] == pytest.approx(plain.accuracy.stderr, rel=0.02)
    assert named.accuracy.interval[:2] == pytest.approx(plain.accuracy.interval, rel=0.02)


@pytest.mark.parametrize("criterion", ["ml", "oe"])
def test_a_column_of_standard_deviations_weighs_every_sample(criterion: str) -> None:
    table = growing()
    x, y, sd = table["x"], table["y"], table["sd"]
    estimation = es.Estimation(criterion=criterion)
    found = es.fit(points(table, MEAN, estimation, sigma={"column": "sd"}))

    def cost(p: np.ndarray) -> float:
        return float(np.sum(((p[0] * x ** p[1] - y) / sd) ** 2))

    at, least = best(cost, np.array([2, 0.7]))
    assert found.values == pytest.approx(at, rel=1e-6)
    if criterion == "ml":
        assert found.cost == pytest.approx(least + 2 * np.log(sd).sum(), abs=1e-7)
        J = np.stack([x ** at[1], at[0] * x ** at[1] * np.log(x)], 1) / sd[:, None]
        errors = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
        assert found.accuracy.stderr == pytest.approx(errors, rel=1e-4)
    else:
        n = len(x)
        deviance = n * (math.log(2 * math.pi * least / n) + 1) + 2 * np.log(sd).sum()
        assert found.aic == pytest.approx(deviance + 2 * 3, abs=1e-6)


def test_a_factor_of_a_column_is_a_tuner() -> None:
    table = growing()
    known = es.fit(points(table, MEAN, sigma=Sigma(column="sd")))
    found = es.fit(points(table, [*MEAN, level("s", 3.0)], sigma="s*sd"))
    z = (table["y"] - known.values[0] * table["x"] ** known.values[1]) / table["sd"]
    assert found.values == pytest.approx([*known.values, math.sqrt(np.mean(z**2))], rel=1e-5)


@pytest.mark.parametrize(("row", "value"), [(3, math.nan), (7, 0.0), (7, -1.0)])
def test_standard_deviations_that_are_not_positive_are_refused(row: int, value: float) -> None:
    table = growing()
    table["sd"][row - 1] = value
    with pytest.raises(es.CaseError, match=f"in row {row};") as caught:
        es.fit(points(table, MEAN, sigma=Sigma(column="sd")))
    assert caught.value.code == "C072"


def lag(seed: int = 0, n: int = 40, **outputs: es.OutputColumn) -> es.Case:
    """A step response whose two outputs have noise of one level."""
    time = np.linspace(0, 8, n)
    y = 1 - np.exp(-time / 2)
    rng = np.random.default_rng(seed)
    table = {"time": time, "u": 1 + 0 * time}
    table |= {"y": y + 0.05 * rng.standard_normal(n), "z": 2 * y + 0.05 * rng.standard_normal(n)}
    return es.Case(f"step {seed}", pd.DataFrame(table), inputs={"u": "u"}, outputs=outputs)


def test_outputs_that_share_a_level_have_one() -> None:
    shared = Sigma(shared="sensors")
    case = lag(y=es.OutputColumn("y", sigma=shared), z=es.OutputColumn("z", sigma=shared))
    tuners = [es.Tuner("T", start=1.0), es.Tuner("k", start=0.5)]
    found = es.fit(es.Study(es.load_model(LAG), tuners, [case], criterion="ml"))
    squares = [np.sum(o.residual**2) for o in found.cases[0].outputs]
    one = sum(squares) / 80
    assert [found.noise[n].variance for n in "yz"] == pytest.approx([one, one])
    assert found.cost == pytest.approx(80 * (1 + math.log(one)), rel=1e-9)
    assert found.aic == pytest.approx(found.cost + 80 * LOG_2PI + 2 * 3, rel=1e-9)
    assert found.to_dict()["noise"]["y"]["shared"] == "shared sensors"  # type: ignore[index]


def test_replicates_are_samples_each() -> None:
    time = np.repeat([1.0, 2.0, 4.0, 7.0], [3, 2, 1, 4])
    y = 1 - np.exp(-time / 2) + 0.05 * np.random.default_rng(2).standard_normal(len(time))
    table = pd.DataFrame({"time": time, "u": 1.0, "y": y})
    case = es.Case("c", table, inputs={"u": "u"}, outputs={"y": "y"}, begin=0.0)
    tuners = [es.Tuner("T", start=1.0), es.Tuner("k", start=0.5)]
    found = es.fit(es.Study(es.load_model(LAG), tuners, [case], criterion="ml"))

    def cost(p: np.ndarray) -> float:
        return float(np.sum((p[1] * (1 - np.exp(-time / p[0])) - y) ** 2))

    at, least = best(cost, np.array([2.0, 1.0]))
    assert found.values == pytest.approx(at, rel=1e-5)
    assert found.noise["y"].variance == pytest.approx(least / len(y), rel=1e-6)


def test_replicates_with_two_values_of_an_input_are_refused() -> None:
    table = pd.DataFrame({"time": [0, 1, 1, 2.0], "u": [0, 1, 2, 2.0], "y": [0, 1, 1.1, 2.0]})
    case = es.Case("c", table, inputs={"u": "u"}, outputs={"y": "y"})
    with pytest.raises(es.CaseError, match="two values at time 1, in rows 2 and 3") as caught:
        es.fit(es.Study(es.load_model(LAG), ["T"], [case]))
    assert caught.value.code == "C008"


def test_censored_samples_count_by_their_probability() -> None:
    table = growing(share=0.1)
    x, y = table["x"], np.clip(table["y"], 3.0, 8.0)
    assert (np.sum(y == 3.0), np.sum(y == 8.0)) == (9, 17)
    limits = DetectionLimits(min=3.0, max=8.0)
    study = points({"x": x, "y": y}, [*MEAN, level("s", 0.3)], sigma="s", limits=limits)
    found = es.fit(study)

    def cost(p: np.ndarray) -> float:
        return censored_cost(p[0] * x ** p[1], math.exp(p[2]), y, 3.0, 8.0)

    at, least = best(cost, np.array([2, 0.7, -1.0]))
    assert found.cost + len(x) * LOG_2PI == pytest.approx(least, abs=1e-6)
    assert found.values == pytest.approx([*at[:2], math.exp(at[2])], rel=1e-5)
    observed = np.sqrt(np.diag(np.linalg.inv(curvature(cost, at) / 2))) * [1, 1, math.exp(at[2])]
    # the expected information is that of other draws too
    assert found.accuracy.stderr / observed == pytest.approx(np.ones(3), rel=0.12)
    assert found.to_dict()["quality"]["points"]["y"]["censored"] == 26  # type: ignore[index]
    assert "26 beyond detection limits" in str(quality(found).rows[0][-1])


def test_limits_in_columns_with_a_transform_and_known_sigma() -> None:
    x = np.linspace(0.5, 10, 50)
    rng = np.random.default_rng(8)
    low = np.where(x < 5, 2.5, 4.0)
    y = np.maximum(2 * x**0.7 * np.exp(0.2 * rng.standard_normal(50)), low)
    study = points(
        {"x": x, "y": 10 * y, "lod": 10 * low},
        MEAN,
        sigma=0.2,
        transform="log",
        scale=0.1,
        limits=DetectionLimits(min="lod"),
    )
    found = es.fit(study)

    def cost(p: np.ndarray) -> float:
        mean = np.log(p[0] * x ** p[1])
        return censored_cost(mean, 0.2, np.log(y), np.log(low), np.inf)

    at, least = best(cost, np.array([2, 0.7]))
    assert found.cost + 50 * LOG_2PI == pytest.approx(least, abs=1e-6)
    assert found.values == pytest.approx(at, rel=1e-5)


@pytest.mark.parametrize(("low", "high"), [(-0.4, math.inf), (-math.inf, 0.7), (-0.8, 0.3), (2, 5)])
def test_the_information_of_censored_samples_is_the_mean_of_the_squared_score(
    low: float, high: float
) -> None:
    def scores(z: float) -> np.ndarray:
        seen = float(np.clip(z, low, high))
        reach = ResidualLimits(*(np.array([v]) for v in (low, high, z <= low, z >= high)))
        terms = normal(np.array([-seen]), np.ones(1), reach)
        return np.array([terms.by_mean[0], terms.by_level[0]])

    def mean(i: int, j: int) -> float:
        ends = [max(low, -10), min(high, 10)]
        inside = quad(lambda z: scores(z)[i] * scores(z)[j] * norm.pdf(z), *ends)[0]
        outside = 0.0
        for limit, share in ((low, norm.cdf(low)), (high, norm.sf(high))):
            if math.isfinite(limit):
                there = scores(limit)
                outside += there[i] * there[j] * share
        return float(inside + outside)

    censored = np.array([math.isfinite(low)]), np.array([not math.isfinite(low)])
    reach = ResidualLimits(np.array([float(low)]), np.array([float(high)]), *censored)
    terms = normal(np.zeros(1), np.ones(1), reach)
    found = [terms.mean[0], terms.both[0], terms.level[0]]
    assert found == pytest.approx([mean(0, 0), mean(0, 1), mean(1, 1)], rel=1e-7)


def test_laplacian_noise_has_the_median_and_the_mean_deviation() -> None:
    y = np.random.default_rng(5).laplace(3, 0.4, 41)
    table = {"x": np.ones(41), "y": y}
    study = points(
        table, [es.Tuner("a", start=2.0), level("s", 1.0)], sigma="s", distribution="laplace"
    )
    study = study.with_(tuners=[*study.tuners, es.Tuner("b", start=1.0, active=False)])
    found = es.fit(study)
    b = float(np.mean(np.abs(y - np.median(y))))
    assert found.values == pytest.approx([np.median(y), math.sqrt(2) * b], rel=1e-6)
    assert found.cost + 41 * LOG_2PI == pytest.approx(41 * (2 + 2 * math.log(2 * b)), abs=1e-6)
    # b/√N for the location, σ/√N for the level
    assert found.accuracy.stderr == pytest.approx(
        np.array([b, math.sqrt(2) * b]) / 41**0.5, rel=0.03
    )


def test_the_gradient_is_exact_with_everything_at_once() -> None:
    """Two cases, a disturbance, a transform, limits; sigma in tuners, outputs and a variable."""
    limits = DetectionLimits(min=0.3, max=1.5)
    columns = {
        "y": es.OutputColumn(
            "y", sigma="s + r*abs(y) + 0.01*time", disturbance=True, limits=limits
        ),
        "z": es.OutputColumn("z", sigma="s*(1 + z + x)", transform="exp"),
    }
    cases = [lag(1, **columns), lag(2, **columns)]
    tuners = [es.Tuner("T", start=1.7), es.Tuner("k", start=1.1), level("s", 0.1), level("r", 0.05)]
    study = es.Study(es.load_model(LAG), tuners, cases, criterion="ml")
    objective = scored(prepare(study).calibration(), {})
    q = objective.unknowns.start + 0.01
    at = objective.at(q)
    assert isinstance(at, Point)
    slopes = []
    for k in range(len(q)):
        costs = []
        for sign in (1, -1):
            moved = q.copy()
            moved[k] += sign * 1e-5
            there = objective.at(moved)
            assert isinstance(there, Point)
            costs.append(there.cost)
        slopes.append((costs[0] - costs[1]) / 2e-5)
    assert 2 * at.gradient == pytest.approx(slopes, rel=2e-4, abs=1e-2)


def test_a_misspelt_tuner_in_a_formula_is_named() -> None:
    from estimica.study.check.run import check

    study = points(growing(), [*MEAN, level("noise", 0.3)], sigma="nosie + 0.1*y")
    told = [p.text for p in check(study) if p.code == "C073"]
    assert told == [
        "case 'points': output 'y': 'nosie' in sigma 'nosie + 0.1*y' is neither a tuner nor a "
        "variable, an input, a column of the data or time; did you mean 'noise'?"
    ]
    with pytest.raises(es.TunerError, match="and no formula of sigma speaks of it"):
        es.fit(study)


@pytest.mark.parametrize(
    ("estimation", "output", "code"),
    [
        ({"criterion": "oe"}, {"sigma": "s"}, "C074"),
        ({"criterion": "oe"}, {"sigma": 0.1, "limits": DetectionLimits(min=1.0)}, "C074"),
        ({"criterion": "ml", "loss": "huber"}, {"sigma": "s"}, "C075"),
        ({"criterion": "ml"}, {"limits": DetectionLimits(min=1.0)}, "C076"),
        ({"criterion": "ml"}, {"distribution": "laplace"}, "C076"),
        ({"criterion": "ml"}, {"sigma": "s", "distribution": "laplace", "limits": DetectionLimits(min=1.0)}, "C078"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    estimation: dict[str, object], output: dict[str, object], code: str
) -> None:
    from estimica.study.check.run import check

    tuners = [*MEAN, level("s", 0.3)] if output.get("sigma") == "s" else MEAN
    study = points(growing(), tuners, es.Estimation(**estimation), **output)  # type: ignore[arg-type]
    assert [p.code for p in check(study)] == [code]
    with pytest.raises(es.CaseError) as caught:
        es.fit(study)
    assert caught.value.code == code


def test_a_sigma_that_is_not_positive_fails_with_its_value() -> None:
    tuners = [*MEAN, es.Tuner("s", start=-0.3)]
    found = es.fit(points(growing(), tuners, sigma="s"))
    assert not found.outcome.ok
    assert "sigma 's' of output 'y' is -0.3 at its sample 1, and must be positive" in str(
        found.outcome.message
    )


def test_validating_cases_take_the_noise_of_the_fit() -> None:
    column = {"y": es.OutputColumn("y", sigma="s + r*y")}
    second = es.Case(
        "other", lag(7).data, inputs={"u": "u"}, outputs=column, role="validate",
        free_start={"y": 0.1},
    )  # fmt: skip
    tuners = [es.Tuner("T", start=1.0), es.Tuner("k", start=0.5), level("s", 0.1), level("r", 0.01)]
    study = es.Study(es.load_model(LAG), tuners, [lag(3, **column), second], criterion="ml")
    found = es.fit(study)
    other = found.cases[1].outputs[0]
    assert other.sigma == pytest.approx(found.values[2] + found.values[3] * other.simulated)
    assert es.bands(found) is not None


def test_errors_beside_a_tuner_that_has_vanished_say_so() -> None:
    # part of the noise runs to zero on its logarithm, where it has no effect: a bound in disguise
    rng = np.random.default_rng(7)
    found = es.fit(growing_noise(rng))
    assert found["s"] < 1e-6
    assert found.vanished() == ("s",)
    said = found.remark([u.label for u in found.unknowns.items].index("r"))
    assert said == "its error holds for 's' staying near zero; a profile tells more"
