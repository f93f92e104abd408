"""The cost over one tuner, P(τ), against hand calculations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es

X = np.linspace(0.0, 5.0, 26)


def lag_study(seed: int = 0, **tuner: object) -> es.Study:
    """The measured step of K/(1 + τs), as in the lecture note's first example: K known."""
    random = np.random.default_rng(seed)
    t = 0.2 * np.arange(100)
    y = 2 * (1 - np.exp(-t / 3)) + 0.02 * random.standard_normal(100)
    data = pd.DataFrame({"time": t, "u": np.ones(100), "y": y})
    case = es.Case("step", data, inputs={"u": "u"}, outputs={"y": es.OutputColumn("y", weight=1)})
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 2})
    return es.Study(model, [es.Tuner("tau", start=2.0, min=0.1, max=20, **tuner)], [case])  # type: ignore[arg-type]


def test_the_curve_is_the_sum_of_squares_by_hand() -> None:
    study = lag_study()
    curve = es.cost_curve(study, "tau", points=21, range=(1.0, 6.0))
    data = study.cases[0].data
    t, y = np.asarray(data.column("time")), np.asarray(data.column("y"))
    expected = [float(np.sum((2 * (1 - np.exp(-t / v)) - y) ** 2)) for v in curve.x]
    np.testing.assert_allclose(curve.cost, expected, rtol=1e-10)
    assert curve.x[0] == 1.0
    assert curve.x[-1] == 6.0
    assert curve.lowest[0] == pytest.approx(3.0, abs=0.26)
    assert curve.text.startswith("the cost has one minimum here, at the estimate tau = 3.")
    # Gauss and Newton's curvature: 2 Σ (dŷ/dτ)², dŷ/dτ = −2 t/τ² exp(−t/τ)
    slope = -2 * t / curve.centre**2 * np.exp(-t / curve.centre)
    assert curve.curvature == pytest.approx(2 * float(slope @ slope), rel=1e-6)


def test_two_workers_give_the_same_curve() -> None:
    study = lag_study()
    one, other = (es.cost_curve(study, "tau", points=9, workers=n) for n in (1, 2))
    np.testing.assert_array_equal(one.cost, other.cost)


def test_refitting_is_never_worse_than_holding() -> None:
    points = pd.DataFrame({"x": X, "y": 2 * np.exp(-X / 1.5) + 0.01 * np.cos(40 * X)})
    case = es.Case("points", points, inputs={"x": "x"}, outputs={"y": "y"})
    model = es.formula_model({"y": "a*exp(-x/b)"}, inputs=["x"])
    tuners = [es.Tuner("a", start=1.0), es.Tuner("b", start=1.0, min=0.1, max=9.0, scale="log")]
    fit = es.fit(es.Study(model, tuners, [case]))
    held = es.cost_curve(fit, "b", points=15)
    adapted = es.cost_curve(fit, "b", points=15, refit=True)
    assert held.log
    np.testing.assert_allclose(np.diff(np.log(held.x)), np.diff(np.log(held.x))[0])
    assert (adapted.cost <= held.cost * (1 + 1e-9)).all()
    # with b given, a is linear: the least cost is that of a regression
    weight = 1 / np.sqrt(np.mean(points.y**2))
    for b, cost in zip(adapted.x, adapted.cost, strict=True):
        e = np.exp(-X / b)
        a = float(e @ points.y / (e @ e))
        assert cost == pytest.approx(float(np.sum((weight * (a * e - points.y)) ** 2)), rel=1e-5)
    assert adapted.curvature < held.curvature


def test_another_valley_is_told() -> None:
    """A sine's frequency: every beat is a valley of its own."""
    points = pd.DataFrame({"x": X, "y": np.sin(3 * X)})
    case = es.Case("points", points, inputs={"x": "x"}, outputs={"y": "y"})
    model = es.formula_model({"y": "sin(w*x)"}, inputs=["x"])

    def curve(start: float) -> es.Result:
        study = es.Study(model, [es.Tuner("w", start=start, min=0.5, max=6.0)], [case])
        return es.cost_curve(study, "w", points=221, range=(0.5, 6.0))

    right = curve(2.9)
    assert "the cost is lowest at the estimate w = 3, with further minima near" in right.text
    assert min(abs(m - 3) for m in right.minima) < 0.02
    wrong = curve(1.3)
    assert wrong.outcome.message.startswith("the estimate is a local minimum: the cost is lower")
    assert "at w = 3" in wrong.text


def test_holes_are_counted_and_the_curve_goes_on() -> None:
    points = pd.DataFrame({"x": X, "y": np.sqrt(2 + X)})
    case = es.Case("points", points, inputs={"x": "x"}, outputs={"y": "y"})
    model = es.formula_model({"y": "sqrt(a + x)"}, inputs=["x"])
    study = es.Study(model, [es.Tuner("a", start=1.0, min=-1.0, max=6.0)], [case])
    curve = es.cost_curve(study, "a", points=7, range=(-0.5, 5.5))
    assert [h.value for h in curve.holes] == [-0.5]
    assert "case 'points'" in curve.holes[0].message
    assert np.isnan(curve.cost).tolist() == [True, *[False] * 6]
    assert json.loads(json.dumps(curve.to_dict()))["cost"][0] is None


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("tua", {}, "F082: there is no tuner 'tua'; did you mean 'tau'"),
        ("tau", {"points": 2}, "F089: points 2: a curve has 3 to 10000"),
        ("tau", {"range": (3, 1)}, "F084: ranges: 'tau' 3 … 1 does not go up"),
    ],
)
def test_what_cannot_be_is_told(name: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(es.FitError, match=message):
        es.cost_curve(lag_study(), name, **given)  # type: ignore[arg-type]


def test_the_command_draws_a_curve_where_one_tuner_is_named(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from estimica.apps.cli.commands.app import app

    study = lag_study()
    data = study.cases[0].data
    pd.DataFrame({n: data.column(n) for n in ("time", "u", "y")}).to_csv(
        tmp_path / "run.csv", index=False
    )
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "K/(1 + tau*s)"\nfix = { K = 2 }\n[tune]\ntau = 2.0\n[[case]]\n'
        'name = "step"\ndata = "run.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n'
    )

    def run(*given: str) -> object:
        return CliRunner().invoke(app, [given[0], str(tmp_path / "study.toml"), *given[1:]])

    page = tmp_path / "curve.html"
    told = run(
        "map", "tau", "--range", "tau=1:6", "--points", "11", "--report", str(page), "--json"
    )
    found = json.loads(told.stdout)
    assert found["tuners"]["tau"] == pytest.approx(np.linspace(1, 6, 11))
    assert found["lowest"]["tau"] == 3.0
    assert found["curvature"] > 0
    text = page.read_text(encoding="utf-8")
    assert "Cost curve" in text
    assert "to second order" in text
    refused = run("map", "tau", "--range", "K=1:6", "--json")
    assert "is not on the curve" in refused.stdout
    assert refused.exit_code == 2
    # noise from a record with zero input, from the same command line
    quiet = pd.DataFrame({"time": np.arange(200.0), "y": 0.02 * _noise()})
    quiet.to_csv(tmp_path / "quiet.csv", index=False)
    told = run("identifiability", "--noise", f"y={tmp_path / 'quiet.csv'}", "--json")
    measures = json.loads(told.stdout)["measures"]
    rms = float(np.sqrt(np.mean(np.asarray(data.column("y")) ** 2)))
    assert measures["noise_percent"] == pytest.approx(100 * np.std(quiet.y, ddof=1) / rms, rel=1e-9)
    number = json.loads(run("identifiability", "--noise", "y=0.02", "--json").stdout)["measures"]
    assert number["noise_percent"] == pytest.approx(100 * 0.02 / rms, rel=1e-9)
    for given, message in (("x=0.1", "no output 'x'"), ("y=-1", "not a standard deviation"),
                           ("y", "write NAME=VALUE")):  # fmt: skip
        refused = run("identifiability", "--noise", given, "--json")
        assert message in refused.stdout
        assert refused.exit_code == 2


def _noise() -> np.ndarray:
    return np.random.default_rng(5).standard_normal(200)
