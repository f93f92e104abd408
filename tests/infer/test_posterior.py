"""Posterior: draws against distributions that are known, and what is said of the chains."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.infer.interval_problems import curve, line
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import InferError
from estimica.execute.runs.store import Store
from estimica.infer.posterior.density import Density, Unbounded, density_around
from estimica.infer.posterior.diagnosis import DrawSummary
from estimica.infer.refit import fit_context_of
from estimica.simulate.formula import formula_model
from estimica.study.fields.noise import DetectionLimits, Sigma

ML = {"criterion": "ml"}
SIGMA = 0.5
#: distance of a mean of draws from the truth, in its Monte Carlo error; draws are seeded
NEAR = 4.0


def drawn(fit: es.Fit, **more: Any) -> es.Posterior:
    return es.sample(fit, **({"draws": 300, "warmup": 150, "chains": 2, "seed": 2} | more))


def is_near(s: DrawSummary, mean: float, deviation: float) -> None:
    """Mean and standard deviation as they should be, within what so many draws tell."""
    assert abs(s.mean - mean) < NEAR * deviation / np.sqrt(s.ess_bulk)
    # the relative error of a standard deviation of n normal draws is 1/√(2n)
    assert s.stderr == pytest.approx(deviation, rel=NEAR / np.sqrt(2 * s.ess_tail))


# --- the density ---------------------------------------------------------------------------------


def test_free_coordinates_come_back_and_tell_their_slope() -> None:
    bounds = Unbounded(np.array([-np.inf, 1.0, -np.inf, 2.0]), np.array([np.inf, np.inf, 3.0, 5.0]))
    q = np.array([0.3, 1.7, -2.0, 2.4])
    z = bounds.z(q)
    found, slope, measure, gradient = bounds.q(z)
    np.testing.assert_allclose(found, q, rtol=1e-14)
    h = 1e-6
    for k in range(4):
        step = np.eye(4)[k] * h
        above, below = bounds.q(z + step), bounds.q(z - step)
        assert slope[k] == pytest.approx((above[0][k] - below[0][k]) / (2 * h), rel=1e-8)
        assert gradient[k] == pytest.approx((above[2] - below[2]) / (2 * h), abs=1e-8)
    assert measure == pytest.approx(np.log(np.abs(slope)).sum())


def density_of(fit: es.Fit) -> Density:
    place = fit_context_of(fit)
    return density_around(place.objective, place.q)


def test_the_gradient_is_that_of_the_density() -> None:
    x = np.linspace(0, 4, 25)
    y = 3 * np.exp(-0.8 * x) + 0.1 * np.random.default_rng(4).standard_normal(25)
    tuners = [
        es.Tuner("a", start=2, min=0, max=10),
        es.Tuner("k", start=1, scale="log", prior=es.Prior(0.7, 0.2)),
        es.Tuner("c", start=0.1, min=-1),
    ]
    density = density_of(curve("a*exp(-k*x) + c", x, y, tuners, estimation=ML))
    random = np.random.default_rng(1)
    for _ in range(5):
        u = random.normal(size=3)
        _, gradient = density.at(u)
        h = 1e-5
        for k in range(3):
            step = np.eye(3)[k] * h
            slope = (density.at(u + step)[0] - density.at(u - step)[0]) / (2 * h)
            assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("scale", ["auto", "log"])
@pytest.mark.parametrize("on", ["value", "log", "log10"])
def test_a_prior_counts_its_own_measure_on_every_scale(scale: str, on: str) -> None:
    # of the value k: likelihood times prior density of k, whatever is sampled and however stated
    x, y = np.array([1.0, 2.0]), np.array([0.9, 2.3])
    prior = es.Prior(0.3, 0.2, on=on)  # type: ignore[arg-type]
    tuners = [es.Tuner("k", start=1, scale=scale, prior=prior)]  # type: ignore[arg-type]
    density = density_of(curve("k*x", x, y, tuners, estimation=ML, sigma=SIGMA))

    def truth(k: float) -> float:
        likely = stats.norm.logpdf(y, k * x, SIGMA).sum()
        stated = {"value": k, "log": np.log(k), "log10": np.log10(k)}[on]
        of_value = stats.norm.logpdf(stated, 0.3, 0.2) - (np.log(k) if on != "value" else 0.0)
        return float(likely + of_value + (np.log(k) if scale == "log" else 0.0))

    points = [np.array([u]) for u in (-1.0, 0.0, 1.0)]
    found = [density.at(u)[0] - truth(float(density.values(u)[0])) for u in points]
    np.testing.assert_allclose(found, found[0], rtol=1e-12)
    for u in points:
        h = 1e-5
        slope = (density.at(u + h)[0] - density.at(u - h)[0]) / (2 * h)
        assert density.at(u)[1][0] == pytest.approx(slope, rel=1e-5, abs=1e-7)


# --- draws against known distributions -----------------------------------------------------------


def test_draws_of_a_line_are_those_of_its_normal_posterior() -> None:
    fit, X, y = line(estimation=ML, sigma=SIGMA)
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    error = SIGMA * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    found = drawn(fit)
    for k in range(2):
        is_near(found.spreads[k], beta[k], error[k])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nuts", "ensemble"])
def test_a_linear_model_with_known_noise_has_a_normal_posterior(method: str) -> None:
    fit, X, y = line(estimation=ML, sigma=SIGMA)
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    error = SIGMA * np.sqrt(np.diag(np.linalg.inv(X.T @ X)))
    found = drawn(fit, method=method, draws=1000, warmup=500, chains=4)
    assert found.outcome()[0] == "done", found.outcome()[1]
    for k in range(2):
        is_near(found.spreads[k], beta[k], error[k])
        low, high = stats.norm.interval(0.95, beta[k], error[k])
        np.testing.assert_allclose(found.spreads[k].interval, [low, high], atol=0.2 * error[k])


@pytest.mark.slow
def test_with_unknown_noise_it_is_that_of_student_and_the_variance_that_of_inverse_gamma() -> None:
    fit, X, y = line(n=8, estimation=ML)
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    freedom = 8 - 2
    squares = float(np.sum((y - X @ beta) ** 2))
    scale = np.sqrt(squares / freedom * np.diag(np.linalg.inv(X.T @ X)))
    found = drawn(fit, draws=2000, warmup=500, chains=4)
    for k in range(2):
        draws = (found.values[:, :, k].ravel() - beta[k]) / scale[k]
        share = stats.t.cdf(np.quantile(draws, [0.025, 0.25, 0.75, 0.975]), freedom)
        np.testing.assert_allclose(share, [0.025, 0.25, 0.75, 0.975], atol=0.02)
    r = found.noise["y"].ravel()
    law = stats.invgamma(freedom / 2, scale=squares / 2)
    np.testing.assert_allclose(law.cdf(np.quantile(r, [0.1, 0.5, 0.9])), [0.1, 0.5, 0.9], atol=0.03)


def test_a_prior_and_the_data_share_as_conjugate_normals_do() -> None:
    x = np.arange(1.0, 6.0)
    y = 0.8 * x + 0.1
    tuners = [es.Tuner("k", start=1, prior=es.Prior(0.5, 0.1))]
    fit = curve("k*x", x, y, tuners, estimation=ML, sigma=SIGMA)
    precision = np.sum(x**2) / SIGMA**2 + 1 / 0.1**2
    mean = (np.sum(x * y) / SIGMA**2 + 0.5 / 0.1**2) / precision
    is_near(drawn(fit).spreads[0], mean, 1 / np.sqrt(precision))


def test_a_bound_cuts_the_posterior_off() -> None:
    x = np.arange(1.0, 4.0)
    y = -0.05 * x  # the estimate is at the bound
    tuners = [es.Tuner("k", start=1, min=0, max=2)]
    fit = curve("k*x", x, y, tuners, estimation=ML, sigma=SIGMA)
    assert fit.at_bound[0]
    sd = SIGMA / np.sqrt(np.sum(x**2))
    law = stats.truncnorm((0 + 0.05) / sd, (2 + 0.05) / sd, loc=-0.05, scale=sd)
    s = drawn(fit).spreads[0]
    is_near(s, float(law.mean()), float(law.std()))
    assert s.interval[0] >= 0


@pytest.mark.slow
def test_without_a_prior_a_logarithmic_tuner_is_flat_on_the_logarithm() -> None:
    x, y = np.array([1.0]), np.array([1.0])
    tuners = [es.Tuner("k", start=1, min=0.1, max=10, scale="log")]
    fit = curve("k*x", x, y, tuners, estimation=ML, sigma=1e3)  # the data say nothing
    logs = np.log10(drawn(fit, draws=1000, chains=4).values[:, :, 0].ravel())
    np.testing.assert_allclose(np.quantile(logs, [0.1, 0.5, 0.9]), [-0.8, 0.0, 0.8], atol=0.1)


@pytest.mark.slow
def test_leaving_one_out_is_as_exact_as_doing_it() -> None:
    fit, X, y = line(n=20, estimation=ML, sigma=SIGMA)
    elpd = 0.0
    for k in range(20):
        A, b = np.delete(X, k, 0), np.delete(y, k)
        inverse = np.linalg.inv(A.T @ A)
        variance = SIGMA**2 * (1 + X[k] @ inverse @ X[k])
        elpd += stats.norm.logpdf(y[k], X[k] @ inverse @ A.T @ b, np.sqrt(variance))
    told = drawn(fit, draws=1000, chains=4).comparison
    assert told is not None
    assert told.loo == pytest.approx(elpd, abs=0.1)
    assert told.waic == pytest.approx(elpd, abs=0.2)
    assert told.doubtful == 0


@pytest.mark.slow
def test_bands_hold_the_truth_and_further_measurements() -> None:
    fit, X, _ = line(estimation=ML, sigma=SIGMA)
    found = drawn(fit, draws=500, chains=4)
    assert found.predictive is not None
    (output,) = found.predictive.outputs
    h = SIGMA * np.sqrt(np.einsum("ij,jk,ik->i", X, np.linalg.inv(X.T @ X), X))
    np.testing.assert_allclose(output.mean[1] - output.mean[0], 2 * 1.96 * h, rtol=0.3)
    wide = 2 * 1.96 * np.sqrt(h**2 + SIGMA**2)
    assert np.mean(output.prediction[1] - output.prediction[0]) == pytest.approx(
        np.mean(wide), rel=0.1
    )


def test_a_logarithm_counts_its_slope_so_that_transforms_can_be_compared() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0, 2, 30)
    y = np.exp(1 - x) * np.exp(0.1 * rng.standard_normal(30))
    tuners = {"a": 1.0, "k": 1.0}
    found = drawn(curve("exp(a - k*x)", x, y, tuners, estimation=ML, sigma=0.1, transform="log"))
    assert found.predictive is not None
    values = found.values[0, 0]
    exact = stats.lognorm.logpdf(y, 0.1, scale=np.exp(values[0] - values[1] * x))
    np.testing.assert_allclose(found.predictive.log_likelihood[0, 0], exact, rtol=1e-10)


# --- several outputs and cases, models over time -------------------------------------------------


@pytest.mark.slow
def test_two_outputs_have_noise_of_their_own_and_cases_start_values(tmp_path: Path) -> None:
    source = tmp_path / "Tank.mo"
    source.write_text(
        "model Tank parameter Real k = 1; output Real h(start=1, fixed=true); output Real w; "
        "equation der(h) = -k*h; w = 2*h; end Tank;"
    )
    rng = np.random.default_rng(6)
    t = np.linspace(0, 3, 40)
    cases = []
    for number, start in enumerate((1.0, 2.0)):
        h = start * np.exp(-0.7 * t)
        table = pd.DataFrame(
            {
                "t": t,
                "h": h + 0.02 * rng.standard_normal(40),
                "w": 2 * h + 0.2 * rng.normal(size=40),
            }
        )
        cases.append(
            es.Case(
                f"run {number}", table, time="t", outputs={"h": "h", "w": "w"}, free_start=["h"]
            )
        )
    study = es.Study(es.load_model(source), [es.Tuner("k", start=1, scale="log")], cases, "ml")
    fit = es.fit(study)
    found = drawn(fit, draws=800, warmup=500, chains=4)
    assert found.outcome()[0] == "done", found.outcome()[1]
    assert [u.label for u in fit.unknowns.items] == [
        "k",
        "start of h in run 0",
        "start of h in run 1",
    ]
    for k, s in enumerate(found.spreads):
        assert s.mean == pytest.approx(fit.values[k], abs=fit.accuracy.stderr[k])
        assert s.stderr == pytest.approx(fit.accuracy.stderr[k], rel=0.2)
    assert found.noise_spreads["h"].median == pytest.approx(0.02**2, rel=0.4)
    assert found.noise_spreads["w"].median == pytest.approx(0.2**2, rel=0.4)
    told = found.to_dict()
    assert set(told["start_values"]) == {"run 0", "run 1"}  # type: ignore[call-overload]


# --- what is said of the chains ------------------------------------------------------------------


def test_chains_begin_at_the_estimate_and_do_not_see_its_twin() -> None:
    x = np.linspace(0, 1, 20)
    y = 4.0 * x + 0.01 * np.random.default_rng(1).standard_normal(20)
    tuners = [es.Tuner("k", start=1.9, min=-3, max=3)]
    found = drawn(curve("k^2*x", x, y, tuners, estimation=ML, sigma=0.05))
    # chains begin at one optimum: they agree, and the other is out of their sight
    assert found.spreads[0].mean == pytest.approx(2, abs=0.05)


def test_few_draws_are_not_called_done() -> None:
    fit, _, _ = line(estimation=ML)
    status, said = drawn(fit, draws=40, warmup=40, chains=2).outcome()
    assert status == "not_converged"
    assert "too few draws" in said or "do not agree" in said


def test_one_chain_cannot_show_that_others_would_agree() -> None:
    fit, _, _ = line(estimation=ML)
    status, said = drawn(fit, chains=1).outcome()
    assert status == "not_converged"
    assert "one chain cannot show" in said


def test_points_that_cannot_be_simulated_are_counted_and_told() -> None:
    x = np.linspace(0.1, 1, 12)
    y = np.sqrt(0.02 + x) + 0.05 * np.random.default_rng(2).standard_normal(12)
    fit = curve("sqrt(a + x - 0.1)", x, y, {"a": 0.3}, estimation=ML, sigma=0.3)
    found = drawn(fit)
    assert sum(c.impossible for c in found.chains) > 0
    status, said = found.outcome()
    if found.divergences:
        assert status == "not_converged"
        assert "could not be simulated" in said
    assert np.isfinite(found.values).all()
    assert (found.values > 0).all()


REFUSED = {
    "oe": ({"criterion": "oe"}, {}, 'set criterion = "ml"'),
    "robust": ({"criterion": "ml", "loss": "huber"}, {}, "robust loss"),
    "bounded noise": (ML, {"sigma": {"min": 0.1, "max": 2.0}}, "has bounds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_likelihood_is_refused_with_the_way_out(name: str) -> None:
    estimation, output, words = REFUSED[name]
    if isinstance(output.get("sigma"), dict):
        output = {"sigma": Sigma(**output["sigma"])}
    fit, _, _ = line(estimation=estimation, **output)
    with pytest.raises(InferError, match=words):
        es.sample(fit)


def test_what_nothing_limits_has_no_posterior() -> None:
    x = np.linspace(1, 2, 10)
    fit = curve("a*b*x", x, 2 * x + 0.1 * np.sin(9 * x), {"a": 1.0, "b": 1.0}, estimation=ML)
    with pytest.raises(InferError, match=r"do not determine 'a' and 'b'.*give bounds or a prior"):
        es.sample(fit)


@pytest.mark.slow
def test_bounds_make_it_one_and_the_product_is_what_is_known() -> None:
    x = np.linspace(1, 2, 10)
    tuners = [es.Tuner(n, start=1.4, min=0.5, max=5, scale="log") for n in ("a", "b")]
    y = 2 * x + 0.05 * np.sin(9 * x)
    found = drawn(
        curve("a*b*x", x, y, tuners, estimation=ML, sigma=0.1), draws=1000, warmup=500, chains=4
    )
    product = found.values[:, :, 0] * found.values[:, :, 1]
    assert product.std() < 0.05
    # log a is flat between log(2/5) and log 4, but for the bound of 0.5
    assert found.spreads[0].stderr > 0.5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "nutz"}, "did you mean 'nuts'"),
        ({"draws": 3}, "3 draws say nothing"),
        ({"chains": 0}, "0 chains"),
        ({"warmup": 0}, "warm-up of 0"),
        ({"acceptance": 1.5}, "not between 0 and 1"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], words: str) -> None:
    fit, _, _ = line(estimation=ML)
    with pytest.raises(InferError, match=words):
        es.sample(fit, **options)


# --- runs, pages, files --------------------------------------------------------------------------


STUDY = """
[static]
expression = "a + b*x"
[tune]
a = 1
b = 1
[[case]]
name = "points"
data = "points.csv"
inputs = { x = "x" }
outputs = { y = "y" }
[estimate]
criterion = "ml"
[sample]
draws = 100
warmup = 100
chains = 2
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A line through points, as a study file."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 5, 30)
    table = pd.DataFrame({"x": x, "y": 2 + 0.7 * x + 0.5 * rng.standard_normal(30)})
    table.to_csv(tmp_path / "points.csv", index=False)
    path = tmp_path / "line.toml"
    path.write_text(STUDY)
    return path


def told(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["sample", *arguments, "--json", "--quiet"])
    assert done.exit_code in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_draws_do_not_depend_on_who_draws_them(study: Path) -> None:
    one = told(str(study), "--workers", "1", "--no-store")
    two = told(str(study), "--workers", "2", "--no-store")
    assert one["parameters"] == two["parameters"]
    assert one["comparison"] == two["comparison"]


def test_a_run_is_taken_up_with_the_chains_that_it_has(study: Path) -> None:
    whole = told(str(study), "--workers", "1")
    store = Store.of(study, None)
    run = store.run(whole["run"])
    assert sorted(k for k in run.checkpoints if k.startswith("chain")) == [
        "chain 0000",
        "chain 0001",
    ]
    again = told(str(study), "--workers", "1", "--resume", "last")
    assert again["run"] == whole["run"]
    assert again["parameters"] == whole["parameters"]


def test_page_json_and_netcdf_of_the_command(study: Path, tmp_path: Path) -> None:
    page, file = tmp_path / "posterior.html", tmp_path / "draws.nc"
    found = told(str(study), "--report", str(page), "--netcdf", str(file), "--workers", "1")
    assert found["command"] == "sample"
    assert found["chains"] == 2
    assert {"mean", "stderr", "ci95", "rhat", "ess_bulk", "ess_tail"} <= set(
        found["parameters"]["a"]
    )
    text = page.read_text(encoding="utf-8")
    assert "Posterior: line" in text
    assert "Data left out" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        data = arviz.from_netcdf(file)
    assert data.posterior["a"].shape == (2, 100)
    assert float(data.posterior["a"].mean()) == pytest.approx(found["parameters"]["a"]["mean"])
    assert set(data.groups()) >= {"posterior", "log_likelihood", "posterior_predictive"}


def test_every_picture_can_be_drawn_and_a_wrong_name_is_told() -> None:
    fit, _, _ = line(estimation=ML)
    found = drawn(fit, draws=100, warmup=100, chains=2)
    for kind in ("pairs", "distribution", "chains", "predictive"):
        assert found.plot(kind).data
    with pytest.raises(InferError, match="did you mean 'pairs'"):
        found.plot("pair")
    with pytest.raises(InferError, match="no unknown 'aa'"):
        found.plot("pairs", "aa")


def test_a_missing_library_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from estimica.infer.posterior import libraries as extra

    def missing(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(extra, "import_module", missing)
    fit, _, _ = line(estimation=ML)
    with pytest.raises(InferError, match=r"pip install 'estimica\[sample\]'"):
        es.sample(fit)


def test_a_frequency_response_has_a_posterior_too() -> None:
    omega = np.logspace(-1, 1, 15)
    rng = np.random.default_rng(8)
    response = 1 / (1 + 1j * omega * 1.3)
    noise = 0.02 * (rng.standard_normal(15) + 1j * rng.standard_normal(15))
    table = pd.DataFrame({"w": omega, "re": (response + noise).real, "im": (response + noise).imag})
    model = es.frequency_function("1/(1 + s*T)")
    case = es.Case(
        "sweep", table, angular_frequency="w", outputs={"y": {"real": "re", "imag": "im"}}
    )
    fit = es.fit(es.Study(model, [es.Tuner("T", start=1, scale="log")], [case], "ml"))
    found = drawn(fit)
    assert found.spreads[0].mean == pytest.approx(fit.values[0], abs=fit.accuracy.stderr[0])
    assert found.plot("predictive").data


# --- noise as the study describes it -------------------------------------------------------------


def points(
    x: np.ndarray, y: np.ndarray, tuners: Any, output: es.OutputColumn, **columns: Any
) -> Any:
    """The fit of k·x to points with further columns."""
    model = formula_model({"y": "k*x"}, inputs=["x"])
    table = pd.DataFrame({"x": x, "y": y, **columns})
    case = es.Case("points", table, inputs={"x": "x"}, outputs={"y": output})
    return es.fit(es.Study(model, tuners, [case], "ml"))


def test_a_column_of_deviations_weighs_the_draws() -> None:
    rng = np.random.default_rng(4)
    x, sd = np.linspace(1, 2, 12), np.repeat([0.1, 1.0], 6)
    y = 1.5 * x + sd * rng.standard_normal(12)
    output = es.OutputColumn("y", sigma=Sigma(column="sd"))
    found = drawn(points(x, y, [es.Tuner("k", start=1)], output, sd=sd))
    precision = np.sum(x**2 / sd**2)
    is_near(found.spreads[0], float(np.sum(x * y / sd**2) / precision), 1 / np.sqrt(precision))
    assert found.predictive is not None
    exact = stats.norm.logpdf(y, found.values[0, 0, 0] * x, sd)
    np.testing.assert_allclose(found.predictive.log_likelihood[0, 0], exact, rtol=1e-10)


def test_a_formula_of_the_noise_is_drawn_with_its_tuner() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(1, 3, 40)
    y = 1.5 * x * (1 + 0.1 * rng.standard_normal(40))
    tuners = [es.Tuner("k", start=1), es.Tuner("s", start=0.2, scale="log")]
    found = drawn(points(x, y, tuners, es.OutputColumn("y", sigma="s*y")))
    k, s = found.values[0, 0]
    exact = stats.norm.logpdf(y, k * x, s * k * x)
    assert found.predictive is not None
    np.testing.assert_allclose(found.predictive.log_likelihood[0, 0], exact, rtol=1e-10)
    assert found.spreads[1].median == pytest.approx(0.1, rel=0.4)


def test_censored_samples_count_by_their_probability() -> None:
    rng = np.random.default_rng(6)
    x = np.linspace(0.1, 2, 30)
    y = np.maximum(x + 0.3 * rng.standard_normal(30), 0.5)
    output = es.OutputColumn("y", sigma=0.3, limits=DetectionLimits(min=0.5))
    found = drawn(points(x, y, [es.Tuner("k", start=1.2)], output))
    k = found.values[0, 0, 0]
    exact = np.where(y <= 0.5, stats.norm.logcdf(0.5, k * x, 0.3), stats.norm.logpdf(y, k * x, 0.3))
    assert found.predictive is not None
    np.testing.assert_allclose(found.predictive.log_likelihood[0, 0], exact, rtol=1e-9)
    assert (found.predictive.outputs[0].prediction[0] >= 0.5).all()


def test_outputs_that_share_a_level_share_its_draws() -> None:
    rng = np.random.default_rng(7)
    x = np.linspace(1, 2, 15)
    model = formula_model({"y": "k*x", "z": "2*k*x"}, inputs=["x"])
    table = pd.DataFrame(
        {"x": x, "y": x + 0.1 * rng.normal(size=15), "z": 2 * x + 0.1 * rng.normal(size=15)}
    )
    shared = {n: es.OutputColumn(n, sigma=Sigma(shared="both")) for n in ("y", "z")}
    case = es.Case("points", table, inputs={"x": "x"}, outputs=shared)
    found = drawn(es.fit(es.Study(model, [es.Tuner("k", start=1.2)], [case], "ml")))
    np.testing.assert_array_equal(found.noise["y"], found.noise["z"])
    assert found.noise_spreads["y"].median == pytest.approx(0.01, rel=0.5)
