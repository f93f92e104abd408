"""Fits without tuners: only noise levels are found, whose values follow by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import EstimicaError, InferError
from estimica.study.check.run import check
from estimica.study.study import Study

N = 400
RNG = np.random.default_rng(7)
NOISE = RNG.normal(0.0, 0.3, N)
OTHER = RNG.normal(0.5, 2.0, N)
X = np.linspace(0.0, 1.0, N)


def study(criterion: str = "ml", *, sigma: float | None = None, tuners: int = 0) -> Study:
    """Two outputs of a formula without unknowns, y = 2x and z = 1 − x, and noise upon them."""
    data = {"x": X, "y": 2 * X + NOISE, "z": 1 - X + OTHER}
    model = es.formula_model({"y": "a*x", "z": "1 - x"}, inputs=["x"])
    outputs = {
        "y": es.OutputColumn("y", sigma=sigma),
        "z": es.OutputColumn("z", sigma=sigma),
    }
    case = es.Case("noise", data, inputs={"x": "x"}, outputs=outputs, fix={"a": 2.0})
    if tuners:
        case = es.Case("noise", data, inputs={"x": "x"}, outputs=outputs)
        return es.Study(model, [es.Tuner("a", start=1.0)], [case], criterion)
    return es.Study(model, [], [case], criterion)


def test_variance_is_the_mean_square_where_the_mean_is_known() -> None:
    """Section 5.1.1 of the thesis: r = Σ(y − µ)²/N, to rounding (there to 3e-10)."""
    fit = es.fit(study())
    assert fit.outcome.ok
    assert fit.outcome.message == "only noise levels are free; they follow from the residuals"
    assert fit.noise["y"].variance == pytest.approx(np.mean(NOISE**2), rel=1e-12)
    assert fit.noise["z"].variance == pytest.approx(np.mean(OTHER**2), rel=1e-12)
    r = [np.mean(NOISE**2), np.mean(OTHER**2)]
    assert fit.cost == pytest.approx(sum(N * (1 + math.log(v)) for v in r), rel=1e-12)


def test_interval_is_that_of_chi_square() -> None:
    """N r̂/r is χ² with N degrees of freedom, since nothing else was estimated."""
    found = es.fit(study()).to_dict()["noise"]["y"]
    r = float(np.mean(NOISE**2))
    assert found["stderr"] == pytest.approx(r * math.sqrt(2 / N), rel=1e-12)
    ends = [N * r / chi2.ppf(p, N) for p in (0.975, 0.025)]
    assert found["ci95"] == pytest.approx(ends, rel=1e-9)


def test_table_has_the_noise_levels_where_nothing_else_is_free() -> None:
    text = repr(es.fit(study()))
    assert "variance of y" in text
    assert "variance of z" in text
    assert "variance of" not in repr(es.fit(study(tuners=1)))


def test_nothing_to_find_is_refused_with_the_way_out() -> None:
    (problem,) = [p for p in check(study("oe")) if p.code == "Q009"]
    assert problem.suggestion == (
        'add one to [tune], or take criterion = "ml" to find noise levels only'
    )
    (problem,) = [p for p in check(study(sigma=1.0)) if p.code == "Q009"]
    assert "leave out sigma of an output" in problem.suggestion
    assert not [p for p in check(study()) if p.code == "Q009"]


def test_bootstrap_of_noise_levels_scatters_as_chi_square() -> None:
    boot = es.bootstrap(es.fit(study()), 300, seed=2)
    assert boot.outcome.ok
    assert boot.values.shape == (300, 0)
    spread = boot.noise_spreads["y"]
    r = float(np.mean(NOISE**2))
    # the standard deviation of a standard deviation from 300 replicates: 1/√600 = 4 %
    assert spread.stderr == pytest.approx(r * math.sqrt(2 / N), rel=0.15)
    assert abs(spread.bias) < 4 * spread.stderr / math.sqrt(300)


def test_bootstrap_draws_noise_levels_alone_and_beside_tuners() -> None:
    boot = es.bootstrap(es.fit(study(tuners=1)), 60, seed=1)
    bars = boot.picture("distribution")
    assert [p.group for p in bars.panels] == ["a", "variance of y", "variance of z"]
    pairs = [p.group.split(":")[0] for p in boot.picture("scatter").panels]
    assert sorted(pairs) == [
        "variance of y over a",
        "variance of z over a",
        "variance of z over variance of y",
    ]
    (named,) = boot.picture("scatter", "variance of y", "a").panels
    assert named.group.startswith("a over variance of y")
    with pytest.raises(InferError, match="did you mean 'variance of y'"):
        boot.picture("distribution", "varance of y")
    headings = [s.heading for s in boot.page().sections]
    assert "Pairs" in headings
    assert "Single unknowns and noise variances" in headings


def test_bootstrap_page_tells_percent_of_the_estimate() -> None:
    boot = es.bootstrap(es.fit(study(tuners=1)), 60, seed=1)
    (section,) = [s for s in boot.page().sections if s.heading == "Estimates"]
    relative = section.shown[1]
    assert relative.columns == ("unknown", "bias %", "std. error %", "95 % from %", "to %")
    (row,) = [r for r in relative.rows if r[0] == "variance of y"]
    spread = boot.noise_spreads["y"]
    assert row[2] == pytest.approx(100 * spread.stderr / spread.value)
    assert row[3] == pytest.approx(100 * (spread.percentile[0] / spread.value - 1))


@pytest.mark.parametrize("kind", ["residual", "block"])
def test_other_kinds_of_bootstrap_take_no_tuners_either(kind: str) -> None:
    boot = es.bootstrap(es.fit(study()), 20, kind=kind)
    assert boot.replicates == 20


def test_analyses_of_unknowns_say_that_there_are_none() -> None:
    fit = es.fit(study())
    for analysis in (es.profile, es.sample):
        with pytest.raises(EstimicaError, match=r"nothing is free in study .*; add tuners"):
            analysis(fit)
    assert "white" in repr(es.residuals(fit))


def test_release_of_noise_levels_alone() -> None:
    release = es.release(study(), settings={"noise": 1.0})
    assert release.released == ("noise of y", "noise of z")
    r = [np.mean(NOISE**2), np.mean(OTHER**2)]
    first = sum(N * v for v in r)  # Σ[v²/1 + log 1]
    (step,) = release.steps
    assert step.cost == pytest.approx(first, rel=1e-12)
    gained = first - sum(N * (1 + math.log(v)) for v in r)
    assert step.candidates[0].cost_reduction == pytest.approx(gained, rel=1e-9)
    with pytest.raises(InferError, match=r"nothing to release.*\[release\] noise = 1.0"):
        es.release(study())


def test_command_fits_a_file_without_tuners(tmp_path: Path) -> None:
    rows = "\n".join(f"{t},{v}" for t, v in zip(X, 1 + NOISE, strict=True))
    (tmp_path / "d.csv").write_text(f"time,y\n{rows}\n")
    (tmp_path / "Const.mo").write_text(
        "model Const parameter Real m = 1; output Real y = m; end Const;"
    )
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Const.mo"\n[[case]]\nname = "hold"\ndata = "d.csv"\n'
        'outputs = { y = "y" }\n[estimate]\ncriterion = "ml"\n'
    )
    done = CliRunner().invoke(app, ["fit", str(tmp_path / "s.toml"), "--no-store", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["parameters"] == {}
    assert told["noise"]["y"]["variance"] == pytest.approx(np.mean(NOISE**2), rel=1e-9)
