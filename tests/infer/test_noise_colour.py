"""Coloured noise under periodic inputs: standard errors and words against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter, square
from tests.infer.interval_problems import curve

import estimica as es
from estimica.infer.covariance.grid import residual_grids
from estimica.infer.covariance.linearisation import linearise_fit
from estimica.infer.covariance.noise_colour import colours
from estimica.infer.residuals.verdict import errors_in_words
from estimica.simulate.formula import formula_model

MODEL = formula_model({"y": "K*u + D*v + c"}, inputs=["u", "v"])
Noise = tuple[np.ndarray, np.ndarray]  # a draw of variance one, and its autocovariance


def regressors(n: int, kind: str = "square") -> np.ndarray:
    """What a first-order lag does with a square wave or a multisine, by gain, time, offset."""
    t = np.arange(n)
    waves = {
        "square": square(2 * np.pi * t / 50 + 0.1),
        "multisine": sum(np.sin(2 * np.pi * f * t / 100 + f * f) for f in (1, 2, 3, 5, 8)),
    }
    u, a = waves[kind], np.exp(-1 / 8)
    y = lfilter([1 - a], [1, -a], u)
    return np.stack([y, lfilter([1 - a], [1, -a], y - u), np.ones(n)], axis=1)


def white(n: int, rng: np.random.Generator) -> Noise:
    return rng.standard_normal(n), np.eye(1, n)[0]


def slow(n: int, rng: np.random.Generator, memory: float = 0.97) -> Noise:
    e = rng.standard_normal(n + 500)
    draw = lfilter([np.sqrt(1 - memory**2)], [1, -memory], e)[500:]
    return draw, memory ** np.arange(n)


def mixed(n: int, rng: np.random.Generator) -> Noise:
    draw, covariance = slow(n, rng, 0.98)
    both = 0.5 * covariance
    both[0] = 1.0
    return np.sqrt(0.5) * (draw + rng.standard_normal(n)), both


def line(n: int, rng: np.random.Generator) -> Noise:
    """Half of it swings for ever, with a random phase."""
    t = np.arange(n)
    covariance = 0.5 * np.cos(2 * np.pi * 3 * t / 50)
    covariance[0] = 1.0
    swing = np.sin(2 * np.pi * 3 * t / 50 + rng.uniform(0, 2 * np.pi))
    return swing + np.sqrt(0.5) * rng.standard_normal(n), covariance


def fitted(X: np.ndarray, noise: np.ndarray) -> es.Fit:
    y = X @ [2.0, 1.0, 0.5] + 0.1 * noise
    table = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": y})
    case = es.Case("run", table, inputs={"u": "u", "v": "v"}, outputs={"y": "y"})
    return es.fit(es.Study(MODEL, [es.Tuner(n, start=1.0) for n in "KDc"], [case]))


def factors(X: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """True standard errors over those for white noise of the same variance."""
    G = np.linalg.inv(X.T @ X)
    return np.sqrt(np.diag(G @ X.T @ toeplitz(covariance) @ X @ G) / np.diag(G))


def told(X: np.ndarray, make: Callable[..., Noise], count: int) -> tuple[np.ndarray, np.ndarray]:
    """hac errors over white ones, of K and D, in so many experiments; and the truth."""
    rng = np.random.default_rng(7)
    rows = []
    for _ in range(count):
        draw, covariance = make(len(X), rng)
        rows.append(es.covariance(fitted(X, draw), "hac").ratio[:2])
    return np.array(rows), factors(X, covariance)[:2]


@pytest.mark.parametrize("kind", ["square", "multisine"])
@pytest.mark.parametrize("make", [white, slow, mixed, line])
def test_errors_under_periodic_inputs_are_neither_far_too_large_nor_too_small(
    make: Callable[..., Noise], kind: str
) -> None:
    found, truth = told(regressors(600, kind), make, 12)
    ratio = found.max(axis=1) / truth.max()
    assert 0.7 < np.median(ratio) < 1.35
    assert np.sort(ratio)[-2] < 2


def test_white_residuals_of_a_periodic_experiment_have_the_errors_of_the_fit() -> None:
    found, _ = told(regressors(2000), white, 8)
    np.testing.assert_allclose(np.median(found, axis=0), 1.0, atol=0.1)


def test_what_the_fit_takes_from_the_noise_is_put_back() -> None:
    # SSR/(N − p) is the unbiased variance of white noise: with few samples that is not SSR/N
    rng, ratios = np.random.default_rng(2), []
    for _ in range(40):
        around = linearise_fit(fitted(regressors(40), rng.standard_normal(40)))
        (one,) = colours(around, residual_grids(around))
        (rows,) = around.rows
        assert one.memories is not None
        plain = one.memories.weights[0, 0]  # of white noise alone
        ratios.append(plain / float(rows.scored @ rows.scored))
    assert np.mean(ratios) == pytest.approx(1 / 37, rel=0.015)


def test_the_verdict_claims_no_bound_that_it_does_not_know() -> None:
    X, rng = regressors(600), np.random.default_rng(3)
    within, named = 0, 0
    for _ in range(24):
        draw, covariance = slow(600, rng)
        found = es.residuals(fitted(X, draw))
        assert "at least" not in found.verdict
        assert "too small by" in found.verdict
        # only the offset suffers so much, gain and time constant by a factor of two
        named += "(c)" in found.verdict
        ratio = max(found.inflation.values()) / factors(X, covariance).max()
        within += 0.5 < ratio < 2
    assert within >= 22
    assert named >= 16


def test_few_independent_samples_are_told_to_say_little() -> None:
    said = errors_in_words({"K": 2.0, "c": 9.0}, 15.0)
    assert said == (
        "the standard errors are too small by up to very roughly a factor 9 (c), which so few "
        "independent samples cannot tell better"
    )
    assert errors_in_words({"K": 2.0, "c": 2.1}, 500.0).endswith("too small by about a factor 2.1")


def test_outputs_that_are_disturbed_together_are_counted_together() -> None:
    # two outputs with the same noise tell no more of K than one of them
    rng = np.random.default_rng(4)
    X, (draw, _) = regressors(500), slow(500, rng, 0.5)
    model = formula_model({"y": "K*u", "z": "K*u"}, inputs=["u"])

    def error(other: np.ndarray) -> float:
        table = pd.DataFrame({"u": X[:, 0], "y": X[:, 0] + draw, "z": X[:, 0] + other})
        columns = {n: es.OutputColumn(n, weight=1.0) for n in "yz"}
        case = es.Case("run", table, inputs={"u": "u"}, outputs=columns)
        fit = es.fit(es.Study(model, [es.Tuner("K", start=1.0)], [case]))
        return float(es.covariance(fit, "hac").stderr[0])

    alone = error(slow(500, rng, 0.5)[0])
    assert error(draw) == pytest.approx(np.sqrt(2) * alone, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["square", "multisine"])
@pytest.mark.parametrize("make", [white, slow, mixed, line])
def test_hac_intervals_of_periodic_experiments_cover(make: Callable[..., Noise], kind: str) -> None:
    """95 % intervals of three unknowns over 150 experiments of 1000 samples."""
    rng, X = np.random.default_rng(5), regressors(1000, kind)
    hits = 0
    for _ in range(150):
        low, high = es.covariance(fitted(X, make(1000, rng)[0]), "hac").interval.T
        hits += int(np.sum((low < [2, 1, 0.5]) & (high > [2, 1, 0.5])))
    assert 0.88 * 450 <= hits <= 0.985 * 450


# --- slow noise beside white, gaps, several cases ------------------------------------------------


def step(n: int) -> np.ndarray:
    """What a step response does with its gain and its time."""
    t = np.arange(n) / n
    return np.stack([1 - np.exp(-5 * t), 5 * t * np.exp(-5 * t), np.zeros(n)], axis=1)


def tenth(n: int, rng: np.random.Generator) -> Noise:
    """A tenth of its variance lasts twenty samples, the rest is white."""
    draw, covariance = slow(n, rng, 0.95)
    both = 0.1 * covariance
    both[0] = 1.0
    return np.sqrt(0.1) * draw + np.sqrt(0.9) * rng.standard_normal(n), both


def moving_sum(n: int, rng: np.random.Generator) -> Noise:
    e = rng.standard_normal(n + 3)
    covariance = np.zeros(n)
    covariance[:4] = 1 - np.arange(4) / 4
    return (e[3:] + e[2:-1] + e[1:-2] + e[:-3]) / 2, covariance


def held(noise: Callable[..., Noise], n: int, count: int, seed: int, keep: float = 1.0) -> float:
    """Share of `hac` intervals of a gain and a time that hold the truth; some samples missing."""
    rng, hits, X = np.random.default_rng(seed), 0, step(n)[:, :2]
    model = formula_model({"y": "K*u + D*v"}, inputs=["u", "v"])
    for _ in range(count):
        y = X @ [2.0, 1.0] + 0.1 * noise(n, rng)[0]
        y[rng.random(n) > keep] = np.nan
        table = pd.DataFrame({"time": np.arange(n) * 1.0, "u": X[:, 0], "v": X[:, 1], "y": y})
        case = es.Case("run", table, inputs={"u": "u", "v": "v"}, outputs={"y": "y"})
        fit = es.fit(es.Study(model, [es.Tuner(k, start=1.0) for k in "KD"], [case]))
        low, high = es.covariance(fit, "hac").interval.T
        hits += int(np.sum((low < [2, 1]) & (high > [2, 1])))
    return hits / (2 * count)


@pytest.mark.parametrize("noise", [mixed, tenth])
def test_slow_noise_beside_white_is_covered(noise: Callable[..., Noise]) -> None:
    # sums of autocovariances up to a first negative pair covered 78 to 84 %
    assert held(noise, 600, 25, 11) >= 0.86


@pytest.mark.slow
@pytest.mark.parametrize("n", [600, 1000])
@pytest.mark.parametrize("noise", [white, slow, mixed, tenth, moving_sum, line])
def test_hac_intervals_of_a_step_response_cover(noise: Callable[..., Noise], n: int) -> None:
    """300 intervals, two of each experiment: of 95 % at least 90 % in all but one of 1000 runs."""
    assert held(noise, n, 150, 12) >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("noise", [white, mixed, tenth])
def test_hac_intervals_cover_where_samples_are_missing(noise: Callable[..., Noise]) -> None:
    assert held(noise, 800, 120, 13, keep=0.8) >= 0.89


def test_factor_of_the_verdict_is_near_the_truth_for_slow_noise_beside_white() -> None:
    X, rng, found = step(600)[:, :2], np.random.default_rng(14), []
    model = formula_model({"y": "K*u + D*v"}, inputs=["u", "v"])
    for _ in range(12):
        draw, covariance = mixed(600, rng)
        table = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "y": X @ [2.0, 1.0] + 0.1 * draw})
        case = es.Case("run", table, inputs={"u": "u", "v": "v"}, outputs={"y": "y"})
        fit = es.fit(es.Study(model, [es.Tuner(k, start=1.0) for k in "KD"], [case]))
        found.append(max(es.residuals(fit).inflation.values(), default=1.0))
    truth = factors(X, covariance).max()
    assert truth > 3
    assert 0.65 < np.median(found) / truth < 1.6


def test_cases_of_one_output_have_one_colour() -> None:
    # eight records of sixty samples: none of them alone tells how long its noise lasts
    rng, X, hits = np.random.default_rng(15), np.ones((60, 1)), 0
    model = formula_model({"y": "a + 0*u"}, inputs=["u"])
    for _ in range(20):
        cases = []
        for k in range(8):
            y = 3.0 + 0.1 * slow(60, rng, 0.8)[0]
            table = pd.DataFrame({"time": np.arange(60.0), "u": X[:, 0], "y": y})
            cases.append(es.Case(f"run {k}", table, inputs={"u": "u"}, outputs={"y": "y"}))
        found = es.covariance(es.fit(es.Study(model, [es.Tuner("a", start=1.0)], cases)), "hac")
        hits += bool(found.interval[0, 0] < 3.0 < found.interval[0, 1])
    assert hits >= 16  # of 95 % all but once in five hundred times


# --- what a fit says of it -----------------------------------------------------------------------


def test_a_fit_says_one_sentence_where_its_residuals_are_coloured(tmp_path: Path) -> None:
    fit = fitted(regressors(400), slow(400, np.random.default_rng(6), 0.9)[0])
    (said,) = fit.remarks
    assert said.startswith("the residuals of y are coloured, and the standard errors are too small")
    assert said.endswith("take covariance 'hac' or a bootstrap of kind 'block'")
    shown = " ".join(repr(fit).split())
    assert "are coloured, and the standard errors are too small by" in shown
    assert fit.to_dict()["remarks"] == [said]
    assert "are coloured" in fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")


def test_a_fit_says_nothing_of_white_residuals_nor_of_a_handful() -> None:
    rng = np.random.default_rng(8)
    for n in (12, 60, 300):
        said = sum(bool(fitted(regressors(n), rng.standard_normal(n)).remarks) for _ in range(15))
        assert said <= 2  # of 5 % at most all but four times in a hundred
    assert not fitted(regressors(10), slow(10, rng, 0.9)[0]).remarks
    assert fitted(regressors(60), rng.standard_normal(60)).to_dict()["remarks"] == []


def test_what_begins_at_a_fit_with_coloured_residuals_says_so() -> None:
    rng = np.random.default_rng(3)
    x = np.linspace(0, 10, 300)
    slow = np.zeros(300)
    for k in range(1, 300):
        slow[k] = 0.9 * slow[k - 1] + 0.1 * rng.standard_normal()
    fit = curve(
        "a + b*x", x, 1 + 0.5 * x + slow, {"a": 1.0, "b": 0.4}, estimation={"criterion": "ml"}
    )
    (said,) = fit.remarks
    assert "coloured" in said
    assert said in es.bootstrap(fit, 10, seed=1).outcome()[1]
    assert said in es.profile(fit, "b", points=3).outcome()[1]
    assert said in es.sample(fit, 20, warmup=20, chains=1).outcome()[1]
    assert said not in es.bootstrap(fit, 10, kind="block", seed=1).outcome()[1]
