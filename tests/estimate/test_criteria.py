"""What is minimised: squares, likelihoods, robust losses, priors, criteria of the user's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares, minimize, minimize_scalar
from tests.estimate.problems import curve, rc_table

import estimica as es
from estimica.base.errors import FitError
from estimica.estimate.run.fit import fit
from estimica.study.case import Case, OutputColumn, Sigma
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Prior, Tuner

RANDOM = np.random.default_rng(7)
X = np.linspace(0, 3, 60)
Y = 2.0 * np.exp(-1.3 * X) + 0.05 * RANDOM.standard_normal(60)
OUTLIERS = Y.copy()
OUTLIERS[::9] += 3.0
DECAY = "a*exp(-b*x)"
STARTS = {"a": 1.0, "b": 1.0}


def test_output_error_weighs_by_the_inverse_of_the_signals_size() -> None:
    found = fit(curve(DECAY, X, Y, STARTS, weight=None))
    residual = found.cases[0]["y"].residual
    assert found.cost == pytest.approx(np.sum(residual**2) / np.mean(Y**2), rel=1e-12)


def test_weight_and_known_sigma_multiply_and_divide_the_residual() -> None:
    residual = fit(curve(DECAY, X, Y, STARTS)).cases[0]["y"].residual
    squares = float(residual @ residual)
    weighted = fit(curve(DECAY, X, Y, STARTS, weight=2.0, sigma=0.1))
    assert weighted.cost == pytest.approx(squares * (2 / 0.1) ** 2, rel=1e-9)
    alone = fit(curve(DECAY, X, Y, STARTS, weight=None, sigma=0.1))
    assert alone.cost == pytest.approx(squares / 0.1**2, rel=1e-9)


def test_likelihood_cost_is_the_sum_of_the_formula_with_the_best_variance() -> None:
    found = fit(curve(DECAY, X, Y, STARTS, Estimation(criterion="ml")))
    residual = found.cases[0]["y"].residual
    r = found.noise["y"].variance
    assert r == pytest.approx(np.mean(residual**2), rel=1e-12)
    assert found.cost == pytest.approx(np.sum(residual**2 / r + np.log(r)), rel=1e-12)
    best = minimize_scalar(
        lambda s: np.sum(residual**2 / s + np.log(s)), bounds=(1e-5, 1), method="bounded"
    )
    assert found.cost <= best.fun + 1e-9


def test_known_and_bounded_noise_levels_are_kept() -> None:
    known = fit(curve(DECAY, X, Y, STARTS, Estimation(criterion="ml"), sigma=0.2))
    assert known.noise["y"].variance == pytest.approx(0.04)
    assert not known.noise["y"].estimated
    bounded = fit(
        curve(DECAY, X, Y, STARTS, Estimation(criterion="ml"), sigma=Sigma(min=0.1, max=1.0))
    )
    assert bounded.noise["y"].variance == pytest.approx(0.01)
    assert bounded.noise["y"].at_bound


def test_likelihood_of_data_without_noise_does_not_run_to_minus_infinity() -> None:
    clean = 2.0 * np.exp(-1.3 * X)
    found = fit(curve(DECAY, X, clean, STARTS, Estimation(criterion="ml")))
    assert found.outcome.ok
    assert found.noise["y"].at_bound
    assert found.values == pytest.approx([2.0, 1.3], rel=1e-8)


@pytest.mark.parametrize(
    ("loss", "theirs"), [("huber", "huber"), ("soft-l1", "soft_l1"), ("cauchy", "cauchy")]
)
def test_robust_losses_agree_with_scipy(loss: str, theirs: str) -> None:
    ours = fit(curve(DECAY, X, OUTLIERS, STARTS, Estimation(loss=loss, loss_scale=0.1)))
    reference = least_squares(
        lambda p: p[0] * np.exp(-p[1] * X) - OUTLIERS,
        [1, 1],
        loss=theirs,
        f_scale=0.1,
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    assert ours.values == pytest.approx(reference.x, rel=1e-6)
    assert ours.cost == pytest.approx(2 * reference.cost, rel=1e-9)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("loss", ["huber", "soft-l1", "cauchy"])
def test_robust_losses_find_their_own_scale_and_resist_outliers(criterion: str, loss: str) -> None:
    plain = fit(curve(DECAY, X, OUTLIERS, STARTS, Estimation(criterion=criterion)))
    robust = fit(curve(DECAY, X, OUTLIERS, STARTS, Estimation(criterion=criterion, loss=loss)))
    assert robust.outcome.ok
    miss = [np.max(np.abs(f.values - [2.0, 1.3])) for f in (plain, robust)]
    assert miss[1] < 0.25 * miss[0]
    assert np.all(np.abs(robust.values - [2.0, 1.3]) < 4 * robust.accuracy.stderr)


@pytest.mark.parametrize("loss", ["huber", "soft-l1", "cauchy"])
def test_robust_output_error_with_a_known_sigma_is_the_robust_likelihood(loss: str) -> None:
    oe, ml = (
        fit(
            curve(
                DECAY,
                X,
                OUTLIERS,
                STARTS,
                Estimation(criterion=criterion, loss=loss),
                weight=None,
                sigma=0.02,
            )
        )
        for criterion in ("oe", "ml")
    )
    assert oe.values == pytest.approx(ml.values, rel=1e-6)
    assert oe.accuracy.stderr == pytest.approx(ml.accuracy.stderr, rel=1e-4)


def test_robust_likelihood_keeps_to_the_bounds_of_sigma() -> None:
    estimation = Estimation(criterion="ml", loss="huber")
    bounds = Sigma(min=0.3, max=1.0)
    found = fit(curve(DECAY, X, OUTLIERS, STARTS, estimation, sigma=bounds))
    assert found.noise["y"].variance == pytest.approx(0.09)


def test_prior_gives_the_posterior_mean_of_a_linear_model() -> None:
    # y = m + noise with known sigma, prior N(5, 0.5²): the classical weighted mean
    y = np.array([1.0, 2.0, 4.0])
    x = np.arange(3.0)
    tuner = Tuner("m", start=0.0, prior=Prior(5.0, 0.5))
    found = fit(curve("m + 0*x", x, y, [tuner], Estimation(criterion="ml"), sigma=0.8))
    precision = 3 / 0.8**2 + 1 / 0.5**2
    mean = (y.sum() / 0.8**2 + 5.0 / 0.5**2) / precision
    assert found["m"] == pytest.approx(mean, rel=1e-8)
    assert found.accuracy.stderr[0] == pytest.approx(precision**-0.5, rel=1e-10)


def test_own_expression_of_squares_is_output_error() -> None:
    ours = fit(curve(DECAY, X, Y, STARTS, Estimation(criterion="(weight*residual)^2")))
    same = fit(curve(DECAY, X, Y, STARTS))
    assert ours.values == pytest.approx(same.values, rel=1e-8)
    assert ours.cost == pytest.approx(same.cost, rel=1e-10)
    assert ours.criterion == "(weight*residual)^2"


def test_integrated_squared_error_weighs_samples_by_their_duration() -> None:
    # a constant fitted to two levels: samples stand for as long as they last
    time = np.array([0.0, 1.0, 2.0, 3.0, 13.0])
    y = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    model, _ = rc_table()
    case = Case(
        "run",
        {"v": (time, y), "u": (time, 0 * time)},
        inputs={"u": "u"},
        outputs={"v": OutputColumn("v", weight=1.0, disturbance=True)},
    )
    study = Study(model, [], [case], "weight*residual^2*dt")
    level = fit(study).disturbances.value.iloc[0]
    dt = np.array([0.5, 1.0, 1.0, 5.5, 5.0])
    assert level == pytest.approx(float(dt @ y / dt.sum()), rel=1e-8)


def test_own_criterion_that_is_no_square_finds_the_same_point_as_scipy() -> None:
    ours = fit(curve(DECAY, X, Y, STARTS, Estimation(criterion="log(cosh(10*residual))/10")))
    reference = least_squares(
        lambda p: np.sqrt(np.log(np.cosh(10 * (p[0] * np.exp(-p[1] * X) - Y))) / 10),
        [1, 1],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    assert ours.cost == pytest.approx(2 * reference.cost, rel=1e-6)
    assert ours.values == pytest.approx(reference.x, rel=1e-4)


def test_python_function_as_criterion(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def score(residual, weight):\n    return (weight*residual)**2\n")
    ours = fit(curve(DECAY, X, Y, STARTS, Estimation(criterion=f"{file}:score")))
    assert ours.values == pytest.approx(fit(curve(DECAY, X, Y, STARTS)).values, rel=1e-6)


@pytest.mark.parametrize(
    ("criterion", "text"),
    [
        ("residul^2", "'residul' is not known; did you mean 'residual'"),
        ("weight*time", "depends neither on residual nor on simulated"),
        ("nowhere.py:score", "there is no file 'nowhere.py'"),
    ],
)
def test_wrong_criterion_is_named(criterion: str, text: str) -> None:
    with pytest.raises(FitError, match=text.replace("(", r"\(")):
        fit(curve(DECAY, X, Y, STARTS, Estimation(criterion=criterion)))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "def score(residual):\n    return (residual**2).sum()\n",
            "return one term for each sample",
        ),
        ("def score(residual):\n    return residual/ 'a'\n", "raised TypeError"),
        (
            "def score(weigth):\n    return weigth\n",
            "argument 'weigth' is none of .* did you mean 'weight'",
        ),
        ("def other(residual):\n    return residual\n", "has no function 'score'"),
        ("import nothing_of_that_name\n", "'mine.py' raised ModuleNotFoundError while it was read"),
    ],
)
def test_mistakes_in_the_users_function_are_named(tmp_path: Path, code: str, text: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(code)
    with pytest.raises(FitError, match=text):
        fit(curve(DECAY, X, Y, STARTS, Estimation(criterion=f"{file}:score")))


def test_transform_compares_functions_of_both_sides() -> None:
    y = np.abs(Y) + 0.01
    logged = fit(curve(DECAY, X, y, STARTS, transform="log"))
    slope, level = np.polyfit(X, np.log(y), 1)
    assert logged.values == pytest.approx([np.exp(level), -slope], rel=1e-7)


def test_a_criterion_that_asks_for_more_than_small_residuals_is_not_done_where_they_vanish() -> (
    None
):
    # data without noise, begun at the truth: the prior and the second term pull away from there
    time = np.linspace(0, 5, 50)
    decay = es.load_model(
        "model Decay parameter Real a = 1; parameter Real b = 1; output Real y;"
        " Real x(start = 1, fixed = true); equation der(x) = -a*x; y = b*x; end Decay;"
    )
    data = pd.DataFrame({"time": time, "y": np.exp(-time)})
    tuners = [es.Tuner("a", start=1), es.Tuner("b", start=1, prior=es.Prior(mean=2, sigma=0.1))]
    case = es.Case("run", data, outputs={"y": "y"})
    fit = es.fit(es.Study(decay, tuners, [case], criterion="residual^2 + 0.1*simulated^2"))

    def cost(p: np.ndarray) -> float:
        y = p[1] * np.exp(-p[0] * time)
        return float(np.sum((y - np.exp(-time)) ** 2 + 0.1 * y**2) + ((p[1] - 2) / 0.1) ** 2)

    best = minimize(cost, [1.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert fit.outcome.ok
    assert fit.cost == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(fit.values, best.x, rtol=1e-3)
