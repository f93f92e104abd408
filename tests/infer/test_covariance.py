"""Covariances on request and bands: textbook formulae, and coverage by simulation."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.infer.covariance.linearisation import linearise_fit
from estimica.infer.covariance.output_spread import parameter_spread
from estimica.simulate.formula import formula_model

RC = """
model RC "A resistor loads a capacitor"
  parameter Real R(min = 0) = 0.6;
  parameter Real C(min = 0) = 1;
  input Real u;
  output Real v(start = 0, fixed = true);
equation
  R*C*der(v) = u - v;
end RC;
"""


def line(x: np.ndarray, y: np.ndarray, criterion: str = "oe") -> es.Fit:
    model = formula_model({"y": "a + b*x"}, inputs=["x"])
    case = es.Case("points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    return es.fit(
        es.Study(model, [es.Tuner("a", start=1), es.Tuner("b", start=1)], [case], criterion)
    )


def rc(n: int) -> tuple[es.ModelicaModel, pd.DataFrame]:
    model = es.load_model(RC)
    time = np.linspace(0, 10, n)
    u = (time % 4 < 2) * 1.0
    v = model.simulate(time, inputs={"u": (time, u)}, outputs=["v"]).value("v")
    return model, pd.DataFrame({"time": time, "u": u, "v": v})


def rc_fit(
    model: es.ModelicaModel, table: pd.DataFrame, noise: np.ndarray, **more: object
) -> es.Fit:
    own = table.assign(v=table["v"] + noise)
    outputs = {"v": es.OutputColumn("v", **more)}  # type: ignore[arg-type]
    case = es.Case("run", own, inputs={"u": "u"}, outputs=outputs)
    return es.fit(es.Study(model, [es.Tuner("R", start=1)], [case]))


def ar1(random: np.random.Generator, n: int, memory: float) -> np.ndarray:
    noise = random.standard_normal(n + 200)
    found = np.zeros(n + 200)
    for k in range(1, n + 200):
        found[k] = memory * found[k - 1] + noise[k]
    return found[200:]


@pytest.fixture(scope="module")
def uneven() -> es.Fit:
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, 60)
    return line(x, 1 + 2 * x + (0.1 + x) * random.standard_normal(60))


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_sandwich_of_a_line_is_hc3(criterion):
    random = np.random.default_rng(0)
    x = np.linspace(0, 1, 60)
    y = 1 + 2 * x + (0.1 + x) * random.standard_normal(60)
    found = es.covariance(line(x, y, criterion), "sandwich")
    X = np.stack([np.ones(60), x], 1)
    G = np.linalg.inv(X.T @ X)
    e = y - X @ G @ X.T @ y
    half = X * (e / (1 - np.einsum("ij,jk,ik->i", X, G, X)))[:, None]
    np.testing.assert_allclose(found.matrix, G @ half.T @ half @ G, rtol=1e-6)


def test_model_covariance_is_that_of_the_fit(uneven):
    found = es.covariance(uneven)
    np.testing.assert_array_equal(found.matrix, uneven.covariance)
    np.testing.assert_array_equal(found.interval, uneven.accuracy.interval)
    wanted = found.matrix[0, 1] / math.sqrt(found.matrix[0, 0] * found.matrix[1, 1])
    assert found.correlation[0, 1] == pytest.approx(wanted)
    np.testing.assert_array_equal(np.diag(found.correlation), 1.0)


def test_pooled_covariance_is_that_of_one_regression_over_all_weighted_outputs():
    random = np.random.default_rng(4)
    x = np.linspace(0, 1, 40)
    y = np.stack([1 + 2 * x + random.standard_normal(40), 3 * x + 0.2 * random.standard_normal(40)])
    table = pd.DataFrame({"x": x, "y": y[0], "z": y[1]})
    model = formula_model({"y": "a + b*x", "z": "1.5*b*x"}, inputs=["x"])
    columns = {n: es.OutputColumn(n, weight=w) for n, w in (("y", 1.0), ("z", 4.0))}
    case = es.Case("points", table, inputs={"x": "x"}, outputs=columns)
    tuners = [es.Tuner("a", start=0.0), es.Tuner("b", start=1.0)]
    fit = es.fit(es.Study(model, tuners, [case]))
    X = np.vstack([np.stack([np.ones(40), x], 1), 4 * np.stack([np.zeros(40), 1.5 * x], 1)])
    b, square = np.linalg.lstsq(X, np.r_[y[0], 4 * y[1]], rcond=None)[:2]
    np.testing.assert_allclose(fit.values, b, rtol=1e-7)
    wanted = np.linalg.inv(X.T @ X) * square / 78
    np.testing.assert_allclose(es.covariance(fit, "pooled").matrix, wanted, rtol=1e-7)


def test_pooled_covariance_of_one_output_is_that_of_the_fit(uneven):
    np.testing.assert_allclose(es.covariance(uneven, "pooled").ratio, 1.0, rtol=1e-9)


@pytest.mark.parametrize("kind", ["sandwich", "hac"])
def test_white_noise_of_one_size_gives_all_covariances_alike(kind):
    x = np.linspace(-1, 1, 20_000)
    fit = line(x, 1 + 2 * x + np.random.default_rng(1).standard_normal(20_000))
    np.testing.assert_allclose(es.covariance(fit, kind).ratio, 1.0, atol=0.05)


def test_hac_variance_of_the_mean_is_its_long_run_variance():
    # the mean of a first-order process of memory 0.6 has variance σ²/(N (1 − 0.6)²)
    random = np.random.default_rng(2)
    n = 20_000
    model = formula_model({"y": "a + 0*x"}, inputs=["x"])
    table = pd.DataFrame({"x": np.arange(n) * 1.0, "y": 5 + ar1(random, n, 0.6)})
    case = es.Case("points", table, inputs={"x": "x"}, outputs={"y": "y"})
    fit = es.fit(es.Study(model, [es.Tuner("a", start=1)], [case]))
    found = es.covariance(fit, "hac")
    assert found.stderr[0] == pytest.approx(1 / (0.4 * math.sqrt(n)), rel=0.05)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_hac_errors_do_not_depend_on_units(unit):
    x, noise = np.linspace(0, 5, 60), np.random.default_rng(4).standard_normal(61)
    y = 2 + 0.7 * x + noise[1:] + 0.8 * noise[:-1]
    plain, other = (es.covariance(line(u * x, y), "hac") for u in (1.0, unit))
    assert other.stderr * [1, unit] == pytest.approx(plain.stderr, rel=1e-6)


@pytest.mark.slow
def test_with_coloured_noise_only_the_hac_interval_covers():
    """95 % intervals over 300 experiments with AR(1) noise of 0.7, N = 1000."""
    model, table = rc(1000)
    random = np.random.default_rng(3)
    hits = {"model": 0, "sandwich": 0, "hac": 0}
    for _ in range(300):
        fit = rc_fit(model, table, 0.05 * ar1(random, 1000, 0.7))
        for kind in hits:
            low, high = es.covariance(fit, kind).interval[0]
            hits[kind] += low < 0.6 < high
    assert hits["model"] < 0.75 * 300
    assert hits["sandwich"] < 0.75 * 300
    assert 0.90 * 300 <= hits["hac"] <= 0.975 * 300


@pytest.mark.slow
def test_with_uneven_noise_only_the_sandwich_interval_covers():
    """95 % intervals of the slope over 500 experiments; the noise is largest at both ends."""
    random = np.random.default_rng(4)
    x = np.linspace(-1, 1, 150)
    hits = {"model": 0, "sandwich": 0}
    for _ in range(500):
        fit = line(x, 1 + 2 * x + x**2 * random.standard_normal(150))
        for kind in hits:
            low, high = es.covariance(fit, kind).interval[1]
            hits[kind] += low < 2 < high
    assert hits["model"] < 0.90 * 500
    assert 0.92 * 500 <= hits["sandwich"] <= 0.98 * 500


def test_unknowns_that_the_data_do_not_determine_have_no_error_in_any_covariance():
    model, table = rc(200)
    noise = 0.02 * np.random.default_rng(5).standard_normal(200)
    own = table.assign(v=table["v"] + noise)
    case = es.Case("run", own, inputs={"u": "u"}, outputs={"v": "v"})
    fit = es.fit(es.Study(model, [es.Tuner("R", start=0.5), es.Tuner("C", start=1)], [case]))
    for kind in ("model", "sandwich", "hac"):
        assert np.isinf(es.covariance(fit, kind).stderr).all()
    # their product is determined, and with it the output
    (band,) = es.bands(fit).outputs
    single = es.bands(rc_fit(model, table, noise)).outputs[0]
    np.testing.assert_allclose(band.stderr, single.stderr, rtol=0.02, atol=1e-6)


def test_covariance_shows_itself(uneven, tmp_path):
    found = es.covariance(uneven, "hac")
    assert "hac covariance" in repr(found)
    assert "× the fit's" in repr(found)
    assert "as coloured as the residuals are" in found.report(tmp_path / "c.html").read_text(
        encoding="utf-8"
    )
    assert "<table" in found._repr_html_()
    assert found.plot().data
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["names"] == ["a", "b"]
    with pytest.raises(es.EstimicaError, match="I311: there is no covariance 'sandwhich'; did you"):
        es.covariance(uneven, "sandwhich")


def test_as_many_unknowns_as_samples_leave_no_errors():
    fit = line(np.array([0.0, 1.0]), np.array([1.0, 3.0]))
    with pytest.raises(es.EstimicaError, match="I312: 2 samples for 2 unknowns leave nothing to"):
        es.covariance(fit, "hac")
    with pytest.raises(es.EstimicaError, match="I323: there are no more samples than unknowns"):
        es.bands(fit)


# --- bands ---------------------------------------------------------------------------------------


def test_bands_of_a_line_are_the_textbook_s(uneven):
    from scipy.stats import t

    (band,) = es.bands(uneven).outputs
    x, y = np.linspace(0, 1, 60), band.measured
    X = np.stack([np.ones(60), x], 1)
    G = np.linalg.inv(X.T @ X)
    b = G @ X.T @ y
    s = math.sqrt(np.sum((y - X @ b) ** 2) / 58)
    pull = np.einsum("ij,jk,ik->i", X, G, X)
    wide = t.ppf(0.975, 58) * s
    np.testing.assert_allclose(band.mean[1], X @ b + wide * np.sqrt(pull), rtol=1e-6)
    np.testing.assert_allclose(band.prediction[0], X @ b - wide * np.sqrt(1 + pull), rtol=1e-6)


@pytest.mark.parametrize("kind", ["model", "pooled", "sandwich", "hac"])
def test_bands_use_the_covariance_of_the_name(uneven, kind):
    around = linearise_fit(uneven)
    found = parameter_spread(uneven, around, kind)
    np.testing.assert_allclose(found, es.covariance(uneven, kind).matrix, rtol=1e-6)


def test_bands_cover_at_every_stamp():
    """The truth and further measurements over 400 experiments, at each of 100 stamps by itself."""
    model, table = rc(100)
    random = np.random.default_rng(6)
    truth = table["v"].to_numpy()
    inner, outer = np.zeros(100), np.zeros(100)
    for _ in range(400):
        fit = rc_fit(model, table, 0.05 * random.standard_normal(100), disturbance=True)
        (band,) = es.bands(fit).outputs
        new = truth + 0.05 * random.standard_normal(100)
        inner += (band.mean[0] <= truth) & (truth <= band.mean[1])
        outer += (band.prediction[0] <= new) & (new <= band.prediction[1])
    assert 0.92 <= inner.mean() / 400 <= 0.98
    assert 0.94 <= outer.mean() / 400 <= 0.96
    # four standard deviations of a share of 400
    assert inner.min() / 400 > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 400)
    assert outer.min() / 400 > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 400)


def test_validating_cases_have_bands_with_start_values_of_their_own(examples):
    fit = es.fit(es.read_study(examples / "furuta_pendulum" / "furuta_pendulum.toml"))
    found = es.bands(fit)
    for output in ("phi", "theta"):
        band = found.output(output, "more upright")
        assert band.role == "validate"
        assert 0.90 < band.inside < 0.99
        # the tuners come from another record, so that the prediction is less certain
        assert band.stderr.max() > 2 * found.output(output, "horizontal").stderr.max()


def test_known_noise_is_taken_as_it_is():
    model, table = rc(100)
    fit = rc_fit(model, table, 0.05 * np.random.default_rng(7).standard_normal(100), sigma=0.05)
    (band,) = es.bands(fit).outputs
    np.testing.assert_array_equal(band.noise, 0.05)


def test_noise_of_a_transformed_output_is_that_of_its_transform():
    model, table = rc(100)
    table["v"] += 0.2
    case = es.Case(
        "run",
        table,
        inputs={"u": "u"},
        outputs={
            "v": es.OutputColumn(
                "v", transform="log", disturbance=es.StartValue(start=0.2), sigma=0.1
            )
        },
    )
    fit = es.fit(es.Study(model, [es.Tuner("R", start=0.7)], [case]))
    (band,) = es.bands(fit).outputs
    np.testing.assert_allclose(band.noise, 0.1 * band.simulated, rtol=1e-9)


def test_bands_show_themselves(uneven, tmp_path):
    found = es.bands(uneven, level=0.9)
    assert "bands of the outputs" in repr(found)
    assert "within the 90 %" in repr(found)
    assert any(trace.fill == "toself" for trace in found.plot().data)
    assert "further measurement" in found.report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["level"] == 0.9
    with pytest.raises(es.EstimicaError, match="I321: there is no output 'Y'; did you mean 'y'"):
        found.output("Y")
    with pytest.raises(es.EstimicaError, match="I320: level 95 is not a chance between 0 and 1"):
        es.bands(uneven, level=95)


def test_hac_says_that_so_few_samples_do_not_tell_a_memory() -> None:
    rng = np.random.default_rng(2)
    notes = []
    for n in (8, 600):
        x = np.linspace(0, 5, n)
        fit = line(x, 2 + 0.7 * x + 0.5 * rng.standard_normal(n), "ml")
        notes.append(es.covariance(fit, "hac").table().note)
    assert "the intervals are rough" in notes[0]
    assert "rough" not in notes[1]
