"""The line below the estimates: what residuals say of the standard errors, where they stand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.view import text
from estimica.simulate.formula import formula_model

N, MEMORY = 800, 0.9
LINE = formula_model({"y": "a + b*u"}, inputs=["u"])
WHITE = "the residuals look white, as the standard errors take them to be"


def fitted(noise: np.ndarray, **more: object) -> es.Fit:
    u = np.sin(np.arange(len(noise)) / 40)
    data = {"time": np.arange(float(len(noise))), "u": u, "y": 20.0 + 2.0 * u + noise}
    case = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"})
    tuners = [es.Tuner("a", start=1.0), es.Tuner("b", start=1.0)]
    return es.fit(es.Study(LINE, tuners, [case], name="line", **more))  # type: ignore[arg-type]


def slow(seed: int) -> np.ndarray:
    e = np.random.default_rng(seed).standard_normal(N + 300)
    return np.asarray(0.1 * lfilter([np.sqrt(1 - MEMORY**2)], [1, -MEMORY], e)[300:])


def columns(fit: es.Fit) -> list[str]:
    return list(fit.table().columns)


def test_white_residuals_are_said_to_look_white(tmp_path: Path) -> None:
    fit = fitted(0.1 * np.random.default_rng(1).standard_normal(N))
    assert fit.residual_verdict.text == WHITE
    assert not fit.residual_verdict.coloured
    assert fit.remarks == ()
    assert "corrected" not in columns(fit)
    assert WHITE in " ".join(text(fit.table()).split())
    assert WHITE in " ".join(fit._repr_html_().split())
    assert WHITE in fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    assert fit.to_dict()["residuals"] == {
        "verdict": WHITE,
        "coloured": False,
        "stderr_factors": {},
    }


def test_white_residuals_are_rarely_called_coloured() -> None:
    rng = np.random.default_rng(2)
    called = sum(fitted(rng.standard_normal(200)).residual_verdict.coloured for _ in range(60))
    assert called <= 6  # a level of 5 %: 3 are expected, 7 or more have a chance of 3 %


def test_errors_corrected_for_colour_stand_beside_the_plain_ones(tmp_path: Path) -> None:
    fit = fitted(slow(3))
    said = fit.residual_verdict
    assert said.too_small
    X = np.stack([np.ones(N), np.sin(np.arange(N) / 40)], axis=1)
    G = np.linalg.inv(X.T @ X)
    truth = np.sqrt(np.diag(G @ X.T @ toeplitz(MEMORY ** np.arange(N)) @ X @ G) / np.diag(G))
    assert truth.min() > 3
    for name, factor in zip("ab", truth, strict=True):
        assert 0.5 < said.factors[name] / factor < 1.7
    table = fit.table()
    place = columns(fit).index("corrected")
    assert place == columns(fit).index("std. error") + 1
    for k, row in enumerate(table.rows[:2]):
        plain = fit.accuracy.stderr[k]
        assert float(str(row[place])) == pytest.approx(plain * said.factors["ab"[k]], rel=0.01)
    for shown in (text(table), fit._repr_html_()):
        assert "corrected: standard errors for residuals with that colour" in " ".join(
            shown.split()
        )
    page = fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "corrected" in page


def test_start_values_are_corrected_too() -> None:
    t = np.arange(400.0)
    e = np.random.default_rng(5).standard_normal(700)
    noise = 0.02 * lfilter([0.4], [1, -0.9], e)[300:]
    data = {"time": t, "y": 3 * np.exp(-t / 50) + noise}
    case = es.Case("run", data, outputs={"y": "y"}, free_start={"y": es.StartValue(start=1.0)})
    path = "model D parameter Real k = 0.01; output Real y(start = 1, fixed = true); equation der(y) = -k*y; end D;"
    study = es.Study(es.load_model(path), [es.Tuner("k", start=0.01)], [case])
    fit = es.fit(study)
    assert set(fit.residual_verdict.factors) == {u.label for u in fit.unknowns.items}
    place = columns(fit).index("corrected")
    assert all(row[place] is not None for row in fit.table().rows)


def test_few_samples_are_not_judged() -> None:
    fit = fitted(0.1 * np.random.default_rng(1).standard_normal(12))
    assert fit.residual_verdict.text == (
        "12 samples are too few to tell whether the residuals are white"
    )


def test_data_without_noise_are_not_called_white() -> None:
    assert "there is no noise to judge by" in fitted(np.zeros(200)).residual_verdict.text


def test_fit_percent_leads_and_is_not_flattered_by_an_offset() -> None:
    fit = fitted(np.where(np.arange(N) % 2, 1.0, -1.0))  # as large as what b*u does
    output = fit.case("run")["y"]
    assert output.errn_percent < 6
    y = output.measured
    met = 100 * (1 - np.linalg.norm(output.residual) / np.linalg.norm(y - y.mean()))
    assert output.fit_percent == pytest.approx(met)
    assert met < 50
    quality = fit.quality()
    assert quality.columns.index("fit %") < quality.columns.index("RMSE")
    assert "error %" not in quality.columns


def test_a_bootstrap_after_a_coloured_fit_proposes_blocks(tmp_path: Path) -> None:
    u = np.sin(np.arange(N) / 40)
    frame = pd.DataFrame({"time": np.arange(float(N)), "u": u, "y": 20 + 2 * u + slow(3)})
    frame.to_csv(tmp_path / "line.csv", index=False)
    (tmp_path / "Line.mo").write_text(
        "model Line parameter Real a = 1; parameter Real b = 1; input Real u; output Real y;"
        " equation y = a + b*u; end Line;",
        encoding="utf-8",
    )
    study = tmp_path / "line.toml"
    study.write_text(
        """
[model]
source = "Line.mo"

[tune]
a = { start = 1 }
b = { start = 1 }

[[case]]
name = "run"
data = "line.csv"
inputs = { u = "u" }
outputs = { y = "y" }
""",
        encoding="utf-8",
    )
    asked = ["bootstrap", str(study), "--replicates", "20", "--no-store", "--workers", "1"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "`--kind block` keeps their colour" in " ".join(done.stderr.split())
    done = CliRunner().invoke(app, [*asked, "--kind", "block", "--json"])
    assert "keeps their colour" not in done.stderr
    assert json.loads(done.stdout)["command"] == "bootstrap"
