"""Total least squares against closed forms, ODRPACK and the truth that was planted."""

from __future__ import annotations

import json
import warnings
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.estimate.objective.total_least_squares import Linearised, eliminate
from estimica.simulate.formula import formula_model
from estimica.study.check.run import check

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    odr = pytest.importorskip("scipy.odr")


def _study(formula, data, starts, sigmas, noise, criterion="oe", **outputs):
    inputs = {
        n: {"column": n, "sigma": s} if s else n
        for n, s in zip([n for n in data if n[0] != "y"], sigmas, strict=True)
    }
    formulas = formula if isinstance(formula, dict) else {"y": formula}
    measured = {o: {"column": o} | (outputs or {"sigma": noise}) for o in formulas}
    return es.Study(
        formula_model(formulas, list(inputs)),
        [es.Tuner(n, start=s) for n, s in starts.items()],
        [es.Case("points", pd.DataFrame(data), inputs=inputs, outputs=measured)],
        criterion,
    )


def _line(rng, n, slope=2.0, error=1.0):
    """Points on a line; inputs spread so that their errors attenuate the slope by 5 %."""
    x = np.sqrt(19.0) * error * rng.standard_normal(n) + 10
    return {
        "x": x + error * rng.standard_normal(n),
        "y": 1 + slope * x + 0.5 * rng.standard_normal(n),
    }


def test_total_least_squares_removes_a_planted_attenuation_of_five_percent():
    rng = np.random.default_rng(3)
    plain, total = [], []
    for _ in range(60):
        data = _line(rng, 300)
        starts = {"a": 0.5, "b": 1.5}
        plain.append(es.fit(_study("a + b*x", data, starts, [None], 0.5))["b"])
        total.append(es.fit(_study("a + b*x", data, starts, [1.0], 0.5))["b"])
    error = np.std(total) / np.sqrt(len(total))
    assert np.mean(plain) == pytest.approx(2 * 0.95, abs=4 * error)
    assert np.mean(total) == pytest.approx(2.0, abs=3 * error)


def test_a_line_has_the_slope_of_deming():
    data = _line(np.random.default_rng(5), 400)
    fit = es.fit(_study("a + b*x", data, {"a": 0.5, "b": 1.5}, [1.0], 0.5))
    c = np.cov(data["x"], data["y"])
    ratio = 0.5**2 / 1.0**2
    d = c[1, 1] - ratio * c[0, 0]
    slope = (d + np.sqrt(d**2 + 4 * ratio * c[0, 1] ** 2)) / (2 * c[0, 1])
    assert fit["b"] == pytest.approx(slope, rel=1e-7)
    assert fit["a"] == pytest.approx(data["y"].mean() - slope * data["x"].mean(), rel=1e-6)


def _problems():
    rng = np.random.default_rng(11)
    x = rng.uniform(0.2, 6, 80)
    noisy = x + 0.15 * rng.standard_normal(80)

    def with_noise(y, s):
        return y + s * rng.standard_normal(80)

    yield (
        "saturation",
        "b1*(1 - exp(-b2*x))",
        lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
        {"x": noisy, "y": with_noise(5 * (1 - np.exp(-0.4 * x)), 0.1)},
        {"b1": 3.0, "b2": 0.8},
        [0.15],
        0.1,
    )
    yield (
        "sine",
        "b1*sin(b2*x + b3)",
        lambda b, x: b[0] * np.sin(b[1] * x + b[2]),
        {"x": noisy, "y": with_noise(2 * np.sin(1.3 * x + 0.4), 0.2)},
        {"b1": 1.5, "b2": 1.2, "b3": 0.5},
        [0.15],
        0.2,
    )
    yield (
        "power law",
        "b1*x^b2",
        lambda b, x: b[0] * np.abs(x) ** b[1],
        {"x": np.abs(noisy) + 0.1, "y": with_noise(0.7 * x**1.8, 0.3)},
        {"b1": 1.0, "b2": 1.5},
        [0.15],
        0.3,
    )
    u = rng.uniform(-1, 1, 80)
    yield (
        "two inputs",
        "b1*x/(1 + b2*u^2) + b3*u",
        lambda b, v: b[0] * v[0] / (1 + b[1] * v[1] ** 2) + b[2] * v[1],
        {
            "x": noisy,
            "u": u + 0.05 * rng.standard_normal(80),
            "y": with_noise(1.5 * x / (1 + 0.8 * u**2) + 3 * u, 0.1),
        },
        {"b1": 1.0, "b2": 0.5, "b3": 2.0},
        [0.15, 0.05],
        0.1,
    )


@pytest.mark.parametrize("problem", list(_problems()), ids=lambda p: p[0])
def test_estimates_and_standard_errors_are_those_of_odrpack(problem):
    _, formula, function, data, starts, sigmas, noise = problem
    fit = es.fit(_study(formula, data, starts, sigmas, noise))
    names = [n for n in data if n != "y"]
    x = np.array([data[n] for n in names]) if len(names) > 1 else np.asarray(data["x"])
    errors = np.array(sigmas)[:, None] * np.ones_like(x) if len(names) > 1 else sigmas[0]
    witness = odr.ODR(
        odr.RealData(x, data["y"], sx=errors, sy=noise),
        odr.Model(function),
        beta0=list(starts.values()),
        sstol=1e-14,
        partol=1e-12,
        maxit=500,
    ).run()
    assert fit.outcome.ok
    assert fit.cost == pytest.approx(witness.sum_square, rel=1e-7)
    assert fit.values == pytest.approx(witness.beta, rel=1e-5)
    assert fit.accuracy.stderr == pytest.approx(witness.sd_beta, rel=1e-4)


def test_known_errors_give_the_covariance_of_odrpack_unscaled():
    _, formula, function, data, starts, sigmas, noise = next(iter(_problems()))
    fit = es.fit(_study(formula, data, starts, sigmas, noise, criterion="ml"))
    real = odr.RealData(data["x"], data["y"], sx=sigmas[0], sy=noise)
    witness = odr.ODR(real, odr.Model(function), beta0=list(starts.values())).run()
    assert fit.covariance == pytest.approx(witness.cov_beta, rel=1e-3)


def test_several_outputs_share_the_errors_of_their_input():
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 5, 60)
    data = {
        "x": x + 0.2 * rng.standard_normal(60),
        "y1": 2 * x + 0.1 * rng.standard_normal(60),
        "y2": 3 * np.sqrt(x) + 0.1 * rng.standard_normal(60),
    }
    formulas = {"y1": "a*x", "y2": "b*sqrt(x)"}
    fit = es.fit(_study(formulas, data, {"a": 1.0, "b": 1.0}, [0.2], 0.1))

    def cost(p, z):
        true = data["x"] + 0.2 * z
        r = [(p[0] * true - data["y1"]) / 0.1, (p[1] * np.sqrt(true) - data["y2"]) / 0.1, z]
        return np.concatenate(r)

    from scipy.optimize import least_squares

    whole = least_squares(
        lambda v: cost(v[:2], v[2:]), np.r_[1.0, 1.0, np.zeros(60)], xtol=1e-14, ftol=1e-14
    )
    assert fit.cost == pytest.approx(2 * whole.cost, rel=1e-9)
    assert fit.values == pytest.approx(whole.x[:2], rel=1e-6)
    errors = (fit.case("points")["x"].simulated - data["x"]) / 0.2
    assert errors == pytest.approx(whole.x[2:], abs=1e-5)


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(8)
    inside = 0
    for _ in range(100):
        x = rng.uniform(0.5, 6, 40)
        data = {
            "x": x + 0.1 * rng.standard_normal(40),
            "y": 5 * (1 - np.exp(-0.4 * x)) + 0.1 * rng.standard_normal(40),
        }
        starts = {"b1": 4.0, "b2": 0.5}
        fit = es.fit(_study("b1*(1 - exp(-b2*x))", data, starts, [0.1], 0.1))
        low, high = fit.accuracy.interval.T
        inside += (low < [5, 0.4]) & (high > [5, 0.4])
    # 95 expected of 100, standard deviation 2.2
    assert np.all(inside >= 89)
    assert np.all(inside <= 99)


def test_only_the_ratio_of_the_errors_matters_where_noise_is_weighed():
    data = _line(np.random.default_rng(4), 100)
    starts = {"a": 0.5, "b": 1.5}
    known = es.fit(_study("a + b*x", data, starts, [1.0], 0.5))
    ratio = es.fit(_study("a + b*x", data, starts, [10.0], 0.0, weight=1 / 5.0))
    assert ratio.values == pytest.approx(known.values, rel=1e-6)
    assert ratio.accuracy.stderr == pytest.approx(known.accuracy.stderr, rel=1e-5)
    a, b = (es.bootstrap(f, 20, seed=2) for f in (known, ratio))
    assert b.table().rows[1][3] == pytest.approx(a.table().rows[1][3], rel=0.5)


def test_a_transformed_output_is_compared_transformed():
    rng = np.random.default_rng(6)
    x = rng.uniform(1, 4, 100)
    y = 3 * np.exp(0.5 * x)
    data = {
        "x": x + 0.1 * rng.standard_normal(100),
        "y": y * np.exp(0.05 * rng.standard_normal(100)),
    }
    study = _study(
        "a*exp(b*x)", data, {"a": 1.0, "b": 0.3}, [0.1], 0.0, sigma=0.05, transform="log"
    )
    line = {"x": data["x"], "y": np.log(data["y"])}
    straight = es.fit(_study("la + b*x", line, {"la": 0.5, "b": 0.3}, [0.1], 0.05))
    fit = es.fit(study)
    assert fit["b"] == pytest.approx(straight["b"], rel=1e-6)
    assert np.log(fit["a"]) == pytest.approx(straight["la"], rel=1e-6)


def test_profile_and_bootstrap_agree_with_the_standard_errors():
    data = _line(np.random.default_rng(9), 150)
    fit = es.fit(_study("a + b*x", data, {"a": 0.5, "b": 1.5}, [1.0], 0.5))
    found = es.profile(fit, "b")
    low, high = json.loads(json.dumps(found.to_dict()))["parameters"]["b"]["ci95"]
    assert (low, high) == pytest.approx(tuple(fit.accuracy.interval[1]), rel=5e-3)
    spread = es.bootstrap(fit, 200).to_dict()["parameters"]["b"]["stderr"]
    assert spread == pytest.approx(fit.accuracy.stderr[1], rel=0.2)


def test_a_hundred_thousand_points_are_fitted_in_seconds():
    rng = np.random.default_rng(12)
    n = 100_000
    x = rng.uniform(0.5, 6, n)
    data = {
        "x": x + 0.1 * rng.standard_normal(n),
        "y": 5 * (1 - np.exp(-0.4 * x)) + 0.1 * rng.standard_normal(n),
    }
    begun = perf_counter()
    fit = es.fit(_study("b1*(1 - exp(-b2*x))", data, {"b1": 4.0, "b2": 0.5}, [0.1], 0.1))
    assert perf_counter() - begun < 30
    assert fit.values == pytest.approx([5, 0.4], abs=5 * fit.accuracy.stderr.max())


def test_the_true_inputs_are_found_where_the_curve_bends_strongly():
    # (0.3 + z)² − 4 weighed by 3: two minima, the nearer one counts
    def at(z):
        return Linearised(3 * ((0.3 + z) ** 2 - 4), 6 * (0.3 + z)[:, :, None], np.ones(1, bool))

    z = eliminate(at, 1, 1)
    gradient = 3 * ((0.3 + z) ** 2 - 4) * 6 * (0.3 + z) + z
    assert z[0, 0] > 1
    assert abs(gradient[0, 0]) < 1e-7


@pytest.mark.parametrize(
    ("outputs", "estimation", "words"),
    [
        ({"weight": None}, {}, "F092: case 'points': input 'x' has a sigma, so that output 'y'"),
        ({"weight": 1.0}, {"criterion": "ml"}, "F092"),
        ({"sigma": 0.5}, {"loss": "huber"}, "F090: case 'points': input 'x' has a sigma, but err"),
        ({"sigma": 0.5, "disturbance": True}, {}, "F091"),
    ],
)
def test_what_does_not_go_with_errors_in_the_inputs_is_refused(outputs, estimation, words):
    data = _line(np.random.default_rng(1), 20)
    study = _study("a + b*x", data, {"a": 0.5, "b": 1.5}, [1.0], 0.0, **outputs)
    with pytest.raises(es.FitError, match=words):
        es.fit(study.with_(estimation=es.Estimation(**estimation)))


def test_statistics_that_take_residuals_one_by_one_are_refused():
    data = _line(np.random.default_rng(1), 40)
    fit = es.fit(_study("a + b*x", data, {"a": 0.5, "b": 1.5}, [1.0], 0.5))
    for ask in (
        lambda: es.covariance(fit, "sandwich"),
        lambda: es.bands(fit),
        lambda: es.crossvalidate(fit),
        lambda: es.bootstrap(fit, 10, kind="residual"),
    ):
        with pytest.raises(es.InferError, match=r"I350.*estimates errors of input 'x'"):
            ask()


def test_errors_of_inputs_over_time_are_refused(tmp_path):
    model = es.transfer_function("k/(T*s + 1)")
    data = pd.DataFrame({"t": [0.0, 1.0, 2.0], "u": [0.0, 1.0, 1.0], "y": [0.0, 0.1, 0.5]})
    case = es.Case(
        "run", data, inputs={"u": {"column": "u", "sigma": 0.1}}, outputs={"y": "y"}, time="t"
    )
    told = check(es.Study(model, [es.Tuner("k", start=1), es.Tuner("T", start=1)], [case]))
    assert any(p.code == "C036" and "static studies only" in p.message for p in told)


def test_the_page_and_the_json_show_the_estimated_inputs(tmp_path):
    data = _line(np.random.default_rng(1), 40)
    fit = es.fit(_study("a + b*x", data, {"a": 0.5, "b": 1.5}, [1.0], 0.5))
    assert "input with errors" in fit.report(tmp_path / "page.html").read_text()
    assert fit.to_dict()["n_samples"] == 40
    assert set(fit.to_dict()["quality"]["points"]) == {"role", "y", "x"}


CUBE = """model Cube
  parameter Real k = 2; input Real u; Real x(start = 1, fixed = true);
equation
  der(x) = k*u - x^3;
end Cube;
"""


@pytest.mark.parametrize("mode", ["steady", "simulate"])
def test_points_of_a_dynamic_model_at_rest_have_errors_in_their_inputs_too(mode):
    rng = np.random.default_rng(14)
    u = rng.uniform(1, 9, 30)
    data = {
        "u": u + 0.3 * rng.standard_normal(30),
        "y": np.cbrt(3 * u) + 0.02 * rng.standard_normal(30),
    }
    formula = es.fit(_study("(k*u)^(1/3)", data, {"k": 2.0}, [0.3], 0.02))
    case = es.Case(
        "points",
        pd.DataFrame(data),
        inputs={"u": es.InputColumn("u", sigma=0.3)},
        outputs={"x": es.OutputColumn("y", sigma=0.02)},
    )
    model = es.load_model(CUBE).at_points(mode)
    fit = es.fit(es.Study(model, [es.Tuner("k", start=2)], [case]))
    assert fit["k"] == pytest.approx(formula["k"], rel=1e-5)
    assert fit.cost == pytest.approx(formula.cost, rel=1e-7)
    assert fit.accuracy.stderr == pytest.approx(formula.accuracy.stderr, rel=1e-4)


def test_a_validating_case_finds_its_own_true_inputs():
    rng = np.random.default_rng(15)
    study = _study("a + b*x", _line(rng, 100), {"a": 0.5, "b": 1.5}, [1.0], 0.5)
    other = es.Case(
        "more",
        pd.DataFrame(_line(rng, 50)),
        inputs={"x": es.InputColumn("x", sigma=1.0)},
        outputs={"y": es.OutputColumn("y", sigma=0.5)},
        role="validate",
    )
    fit = es.fit(study.with_(cases=[*study.cases, other]))
    found = fit.case("more")
    x, y = found["x"], found["y"]
    a, b = fit.values
    assert y.simulated == pytest.approx(a + b * x.simulated)
    # on a line: the foot of the scaled perpendicular
    foot = (x.measured / 1.0**2 + b * (y.measured - a) / 0.5**2) / (1 + b**2 / 0.5**2)
    assert x.simulated == pytest.approx(foot, rel=1e-7)
