"""AIC, AICc and BIC: the likelihood of the data as they stand, whatever is compared of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import lognorm, norm

import estimica as es
from estimica.simulate.formula import formula_model

X = np.linspace(0.0, 1.0, 25)
MODEL = formula_model({"y": "a*exp(b*x)"}, inputs=["x"])


def grown(seed: int, noise: str) -> np.ndarray:
    draw = np.random.default_rng(seed).standard_normal(len(X))
    exact = 2.0 * np.exp(3.0 * X)
    return exact * np.exp(0.2 * draw) if noise == "relative" else exact + 0.5 * draw


def fitted(y: np.ndarray, criterion: str, unit: float = 1.0, **column: object) -> es.Fit:
    """The exponential fitted to a column in another unit, compared in this one."""
    table = pd.DataFrame({"x": X, "y": y / unit})
    scale = {} if unit == 1.0 else {"scale": unit}
    outputs = {"y": es.OutputColumn("y", **scale, **column)}
    case = es.Case("run", table, inputs={"x": "x"}, outputs=outputs)
    return es.fit(
        es.Study(MODEL, [es.Tuner("a", start=1.5), es.Tuner("b", start=2.5)], [case], criterion)
    )


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_aic_of_logarithms_is_that_of_the_log_normal_likelihood(criterion: str) -> None:
    y = grown(1, "relative")
    found = fitted(y, criterion, transform="log")
    # by hand: a straight line through the logarithms
    A = np.stack([np.ones_like(X), X], axis=1)
    best, *_ = np.linalg.lstsq(A, np.log(y), rcond=None)
    sigma = np.sqrt(np.mean((np.log(y) - A @ best) ** 2))
    deviance = -2 * lognorm.logpdf(y, sigma, scale=np.exp(A @ best)).sum()
    assert found.aic == pytest.approx(deviance + 2 * 3, rel=1e-6)
    assert found.bic == pytest.approx(deviance + 3 * np.log(len(y)), rel=1e-6)
    assert found.aicc == pytest.approx(deviance + 6 + 2 * 3 * 4 / (len(y) - 4), rel=1e-6)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("noise", ["relative", "additive"])
def test_logarithms_are_preferred_for_relative_noise_and_not_for_additive(
    criterion: str, noise: str
) -> None:
    gains = []
    for seed in range(8):
        y = np.abs(grown(seed, noise)) + 1e-3
        gains.append(fitted(y, criterion).aic - fitted(y, criterion, transform="log").aic)
    assert np.median(gains) > 5 if noise == "relative" else np.median(gains) < -5


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("transform", [None, "log", "value^2"])
def test_units_of_a_column_do_not_change_the_likelihood_of_its_data(
    criterion: str, transform: str | None
) -> None:
    y = grown(3, "relative")
    # the same file, whose numbers are a thousandth: once as they are, once scaled to y
    kilo = fitted(y, criterion, unit=1000.0, transform=transform)
    plain = fitted(y, criterion, transform=transform)
    assert kilo.aic == pytest.approx(plain.aic - 2 * len(y) * np.log(1000.0), rel=1e-6)
    # and the difference between two models does not care for units at all
    other = fitted(y, criterion, unit=1000.0).aic - fitted(y, criterion).aic
    assert kilo.aic - plain.aic == pytest.approx(other, rel=1e-6)


def test_known_noise_gives_the_density_of_the_data() -> None:
    y = grown(2, "additive")
    found = fitted(y, "ml", sigma=0.5)
    exact = found["a"] * np.exp(found["b"] * X)
    assert found.aic == pytest.approx(-2 * norm.logpdf(y, exact, 0.5).sum() + 4, rel=1e-6)


def test_aicc_of_hardly_any_samples_allows_no_comparison() -> None:
    table = pd.DataFrame({"x": X[:4], "y": grown(4, "additive")[:4]})
    case = es.Case("run", table, inputs={"x": "x"}, outputs={"y": "y"})
    found = es.fit(es.Study(MODEL, [es.Tuner("a", start=2.0), es.Tuner("b", start=3.0)], [case]))
    assert np.isinf(found.aicc)
    assert found.to_dict()["aicc"] is None
    assert np.isfinite(found.aic)
