"""What follows a fit, where its noise is more than one normal level."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f, kstest
from tests.estimate.noise_studies import MEAN, growing, level, points
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.estimate.fit.outputs import OutputComparison
from estimica.infer.bootstrap.resampling import resampler
from estimica.infer.covariance.linearisation import linearise_fit
from estimica.infer.refit import fit_context_of
from estimica.infer.residuals.hypothesis_tests import lack_of_fit
from estimica.infer.residuals.series import quantile_residuals, series_of

X = np.repeat(np.linspace(1, 5, 8), 3)


def replicated(y: np.ndarray) -> es.Fit:
    return es.fit(points({"x": X, "y": y}, MEAN))


def test_lack_of_fit_is_the_f_test_against_pure_error() -> None:
    y = 2 * X**0.7 + 0.2 * np.random.default_rng(1).standard_normal(24)
    found = replicated(y)
    test = es.residuals(found)["y"].test("lack of fit (replicates)")
    means = np.repeat(y.reshape(8, 3).mean(axis=1), 3)
    simulated = found.values[0] * X ** found.values[1]
    pure, lack = np.sum((y - means) ** 2) / 16, np.sum((means - simulated) ** 2) / 6
    assert test.statistic == pytest.approx(lack / pure, rel=1e-6)
    assert test.p == pytest.approx(f.sf(lack / pure, 6, 16), rel=1e-5)


def test_a_model_that_lacks_fit_is_told_so() -> None:
    y = 2 * X**0.7 + 0.5 * np.sin(2 * X) + 0.1 * np.random.default_rng(2).standard_normal(24)
    found = es.residuals(replicated(y))
    assert found["y"].lacks_fit
    assert "show a lack of fit: the means of replicates are farther from the model" in found.verdict
    told = found.to_dict()["outputs"][0]["tests"]  # type: ignore[index]
    assert told["lack of fit (replicates)"]["rejected"]
    assert "lack of fit" in found.table().columns


def test_without_replicates_lack_of_fit_is_not_asked() -> None:
    found = es.residuals(es.fit(points(growing(), MEAN)))
    assert "lack of fit" not in found.table().columns


@pytest.mark.slow
def test_lack_of_fit_blames_a_true_curve_in_3_to_7_percent() -> None:
    rng = np.random.default_rng(3)
    ps = []
    for _ in range(400):
        found = replicated(2 * X**0.7 + 0.3 * rng.standard_normal(24))
        (series,) = series_of(found, linearise_fit(found))
        test = lack_of_fit(series)
        assert test is not None
        ps.append(test.p)
    assert 0.03 <= np.mean(np.array(ps) < 0.05) <= 0.07


def test_quantile_residuals_are_normal_noise_of_one_level() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    sigma, mean, none = rng.uniform(0.5, 2, n), rng.normal(0, 1, n), np.zeros(0)
    size = math.sqrt(float(np.mean(sigma**2)))
    y = mean + sigma * rng.standard_normal(n)
    seen = np.clip(y, -0.5, 1.0)
    beyond = (y >= 1.0).astype(np.int8) - (y <= -0.5).astype(np.int8)
    normal = OutputComparison(
        "y", "y", "", none, seen, mean, 1.0, mean - seen, seen, sigma=sigma, beyond=beyond
    )
    assert kstest(quantile_residuals(normal, mean - seen) / size, "norm").pvalue > 0.01
    y = mean + sigma * rng.laplace(0, math.sqrt(0.5), n)
    laplace = OutputComparison(
        "y", "y", "", none, y, mean, 1.0, mean - y, y, sigma=sigma, distribution="laplace"
    )
    assert kstest(quantile_residuals(laplace, mean - y) / size, "norm").pvalue > 0.01


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_a_parametric_bootstrap_draws_every_sample_with_its_own_noise(law: str) -> None:
    tuners = [*MEAN, level("s", 0.2), level("r", 0.05)]
    found = es.fit(points(growing(30), tuners, sigma="s + r*y", distribution=law))
    place = fit_context_of(found)
    source = resampler(place, "parametric", None)
    drawn = np.array([source.measured(np.random.SeedSequence(k))[0] for k in range(2000)])
    output = found.cases[0].outputs[0]
    assert output.sigma is not None
    spread = drawn.std(axis=0) / output.sigma
    # N/(N - p) is put back, as for any noise that the residuals have told
    assert spread == pytest.approx(np.full(30, math.sqrt(30 / 26)), rel=0.12)
    kurtosis = np.mean(((drawn - output.simulated) / (output.sigma * spread)) ** 4)
    assert kurtosis == pytest.approx(6 if law == "laplace" else 3, rel=0.1)


def test_a_bootstrap_censors_what_it_draws() -> None:
    table = growing(40)
    table["y"] = np.maximum(table["y"], 4.0)
    found = es.fit(points(table, [*MEAN, level("s", 0.3)], sigma="s", limits={"min": 4.0}))
    drawn = es.bootstrap(found, replicates=40, seed=3)
    assert drawn.table().rows[0][3] == pytest.approx(found.accuracy.stderr[0], rel=0.35)
    with pytest.raises(es.InferError, match="use kind 'parametric'"):
        es.bootstrap(found, replicates=10, kind="residual")


def test_the_sandwich_and_hac_hold_the_errors_of_noise_tuners() -> None:
    table = growing(120)
    found = es.fit(points(table, [*MEAN, level("s", 0.2), level("r", 0.05)], sigma="s + r*y"))
    for kind in ("sandwich", "hac"):
        errors = es.covariance(found, kind=kind).stderr
        assert errors / found.accuracy.stderr == pytest.approx(np.ones(4), rel=0.4)


def test_questions_about_outputs_leave_noise_tuners_aside() -> None:
    found = es.fit(points(growing(), [*MEAN, level("s", 0.2)], sigma="s"))
    assert [row[0] for row in es.measures(found).table().rows] == ["a", "b"]
    told = es.identifiability(found)
    assert told.structural is not None
    assert (told.structural.n, told.structural.rank) == (2, 2)
    assert told.text == "the data determine all 3 unknowns"


def test_a_study_file_says_all_of_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    time = np.repeat(np.linspace(0.5, 8, 16), 2)
    y = 1 - np.exp(-time / 2)
    table = {"time": time, "u": 1.0, "y": np.maximum(y + 0.03 * rng.standard_normal(32), 0.4)}
    table |= {"z": 2 * y + (0.02 + 0.05 * y) * rng.standard_normal(32), "sd": 0.02 + 0.05 * y}
    pd.DataFrame(table).to_csv(tmp_path / "run.csv", index=False)
    (tmp_path / "Lag.mo").write_text(
        "model Lag parameter Real T = 1; parameter Real k = 0.5; input Real u; "
        "output Real y(start = 0, fixed = true); output Real z = 2*y; "
        "equation T*der(y) = k*u - y; end Lag;"
    )
    (tmp_path / "study.toml").write_text(
        """
[model]
source = "Lag.mo"
[estimate]
criterion = "ml"
[tune]
T = 1.0
k = 0.5
s = { start = 0.1, scale = "log" }
f = { start = 2.0, scale = "log" }
[[case]]
name = "run"
data = "run.csv"
begin = 0
inputs = { u = 1.0 }
[case.outputs]
y = { column = "y", sigma = "s", limits = { min = 0.4 } }
z = { column = "z", sigma = "f*sd" }
"""
    )
    study = str(tmp_path / "study.toml")
    assert CliRunner().invoke(app, ["check", study]).exit_code == 0
    result = CliRunner().invoke(app, ["fit", study, "--json", "--no-store"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    values = {n: p["value"] for n, p in found["parameters"].items()}
    assert values["T"] == pytest.approx(2, abs=0.2)
    assert values["s"] == pytest.approx(0.03, abs=0.015)
    assert values["f"] == pytest.approx(1, abs=0.4)
    assert found["noise"]["z"]["formula"] == "f*sd"
    assert found["quality"]["run"]["y"]["censored"] == int(np.sum(table["y"] <= 0.4))
