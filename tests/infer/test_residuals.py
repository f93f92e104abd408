"""Residuals: each flaw is found and told in words, and white noise is left in peace."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.infer.covariance.grid import spacing
from estimica.infer.residuals import hypothesis_tests as tests
from estimica.infer.residuals.correlation import autocorrelation, crosscorrelations
from estimica.infer.residuals.hypothesis_tests import two_levels
from estimica.infer.residuals.output import run_tests
from estimica.infer.residuals.series import DELAYS, Series
from estimica.simulate.formula import formula_model

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NONE = np.zeros((1, 1))

#: eq. 5.1 of the thesis on grey-box identification in JModelica.org
TWO_STATES = """
model TwoStates
  parameter Real a1 = 1;
  parameter Real a2 = 1;
  parameter Real b1 = 1;
  parameter Real b2 = 3;
  parameter Real x10 = 0.5;
  parameter Real x20 = 0.9;
  input Real u1;
  input Real u2;
  Real x1(start = x10, fixed = true);
  Real x2(start = x20, fixed = true);
  output Real y1 = x1*x2;
  output Real y2 = x2/(1 + x1);
equation
  der(x1) = -a1*x1 + a2*x2 + u1;
  der(x2) = -b1*x1 - b2*x2 + u2;
end TwoStates;
"""
TRUTH = {"a1": 1.0, "a2": 1.0, "b1": 1.0, "b2": 3.0, "x10": 0.5, "x20": 0.9}

LAG = """
model Lag
  parameter Real T = 4;
  parameter Real K = 1;
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  T*der(y) = K*u - y;
end Lag;
"""


def ar1(random: np.random.Generator, n: int, memory: float) -> np.ndarray:
    found = np.zeros(n + 200)
    noise = random.standard_normal(n + 200)
    for k in range(1, n + 200):
        found[k] = memory * found[k - 1] + noise[k]
    return found[200:]


def series(e: np.ndarray, time: np.ndarray | None = None, fitted: int = 0) -> Series:
    """Residuals after a fit of some slow functions, which is done here exactly."""
    n = len(e)
    time = np.arange(n) * 1.0 if time is None else time
    J = np.stack([np.cos(np.pi * k * time / time[-1]) for k in range(max(fitted, 1))], 1)
    P = np.linalg.inv(J.T @ J) if fitted else NONE
    if fitted:
        e = e - J @ (P @ (J.T @ e))
    u = np.repeat(np.random.default_rng(5).standard_normal(n // 25 + 1), 25)[:n]
    shifted = np.stack([u[np.maximum(np.arange(n) - d, 0)] for d in DELAYS], 1)
    where = spacing(time)
    return Series(
        "c", "calibrate", "y", "", "time", time, e, np.sin(time / 20), {"u": shifted.copy}, {}, where, J, P
    )  # fmt: skip


def rejected(one: Series) -> bool:
    _, found = run_tests(one)
    return any(t.fails(0.05 / len(found)) for t in found)


def lag_study(noise: np.ndarray) -> es.Study:
    n = len(noise)
    time = np.arange(n) * 0.5
    u = np.repeat(np.random.default_rng(3).uniform(0, 1, n // 20 + 1), 20)[:n]
    model = es.load_model(LAG)
    clean = model.simulate(time, inputs={"u": (time, u)}, outputs=["y"]).value("y")
    table = pd.DataFrame({"time": time, "u": u, "y": clean + noise})
    case = es.Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    return es.Study(model, [es.Tuner("T", start=3), es.Tuner("K", start=2)], [case])


# --- the tests themselves ------------------------------------------------------------------------


def test_ljung_box_is_the_formula_of_its_authors():
    e = ar1(np.random.default_rng(0), 300, 0.2)
    found = autocorrelation(e, spacing(np.arange(300.0)), np.zeros((300, 1)), NONE)
    z = e - e.mean()
    r = np.array([z[:-k] @ z[k:] for k in range(1, 21)]) / (z @ z)
    np.testing.assert_allclose(found.value[:20], r, atol=1e-12)
    # the mean that was taken away has moved every r by −1/N on average
    shifted = r + (300 - np.arange(1, 21)) / 300**2
    q = 300 * 302 * np.sum(shifted**2 / (300 - np.arange(1, 21)))
    assert found.statistic == pytest.approx(q, rel=1e-9)
    assert found.p == pytest.approx(stats.chi2.sf(q, 20), rel=1e-9)


def test_anderson_darling_is_that_of_scipy():
    x = np.random.default_rng(1).standard_normal(80)
    wanted = stats.anderson(x, "norm", method="interpolate").statistic
    assert tests.normality(x).statistic == pytest.approx(
        wanted * (1 + 0.75 / 80 + 2.25 / 6400), rel=1e-9
    )


@pytest.mark.parametrize(("a", "p"), [(0.631, 0.10), (0.752, 0.05), (0.873, 0.025), (1.035, 0.01)])
def test_anderson_darling_has_the_published_percentage_points(a, p):
    # Stephens, in D'Agostino and Stephens, Goodness-of-fit techniques (1986), table 4.7
    assert tests._normal_p(a) == pytest.approx(p, rel=0.05)


def test_runs_are_counted_as_wald_and_wolfowitz_do():
    signs = np.array([1, 1, -1, -1, -1, 1, 1, 1, 1, -1, 1, -1, -1, -1] * 2, float)
    one = series(signs + 1e-3 * np.arange(28))
    e = one.residual > np.median(one.residual)
    count = 1 + int(np.sum(e[1:] != e[:-1]))
    up, down = e.sum(), (~e).sum()
    mean = 2 * up * down / 28 + 1
    variance = 2 * up * down * (2 * up * down - 28) / (28**2 * 27)
    assert tests.runs(one).statistic == pytest.approx((count - mean) / math.sqrt(variance))


def test_grubbs_has_the_published_critical_value():
    # two-sided, 5 %, N = 20: 2.709 (NIST/SEMATECH handbook of statistical methods, 1.3.5.17.1)
    z = np.random.default_rng(2).standard_normal(20)

    def grubbs(top: float) -> tuple[float, float]:
        own = np.append(z[:19], top)
        found = tests.outliers(own)
        return found.statistic, found.p

    tops = np.linspace(2, 12, 2001)
    found = np.array([grubbs(t) for t in tops])
    assert float(np.interp(2.709, found[:, 0], found[:, 1])) == pytest.approx(0.05, rel=0.03)


def test_score_test_of_a_direction_is_the_square_of_its_t_value():
    random = np.random.default_rng(4)
    n = 60
    X = np.stack([np.ones(n), np.linspace(-1, 1, n)], 1)
    x, y = np.linspace(-1, 1, n) ** 2, random.standard_normal(n)
    P = np.linalg.inv(X.T @ X)
    e = y - X @ (P @ (X.T @ y))
    own = Series("c", "calibrate", "y", "", "time", x, e, y, {}, {}, spacing(np.arange(60.0)), X, P)
    found = tests.score_test("", own, x[:, None])
    whole = np.column_stack([X, x])
    b, rss, *_ = np.linalg.lstsq(whole, y, rcond=None)
    error = math.sqrt(rss[0] / (n - 3) * np.linalg.inv(whole.T @ whole)[2, 2])
    assert found.p == pytest.approx(2 * stats.t.sf(abs(b[2]) / error, n - 3), rel=1e-8)


@pytest.mark.parametrize(("n", "fitted"), [(60, 2), (500, 0), (500, 8)])
def test_white_gaussian_residuals_are_blamed_in_3_to_7_percent(n, fitted):
    random = np.random.default_rng(n + fitted)
    blamed = sum(rejected(series(random.standard_normal(n), fitted=fitted)) for _ in range(1000))
    assert 30 <= blamed <= 70


@pytest.mark.slow
def test_fits_with_white_gaussian_noise_are_blamed_in_3_to_7_percent():
    random = np.random.default_rng(12)
    model = es.load_model(TWO_STATES)
    study = two_state_study(model, 200, np.zeros((2, 200)))
    fit = es.fit(study)
    clean = [o.measured for o in fit.cases[0].outputs]
    blamed = 0
    for _ in range(1000):
        noise = np.array([0.1, 0.03])[:, None] * random.standard_normal((2, 200))
        again = es.fit(two_state_study(model, 200, noise, clean))
        blamed += not es.residuals(again).clean
    assert 30 <= blamed <= 70


def test_first_order_colour_of_one_half_is_always_found():
    random = np.random.default_rng(6)
    found = 0
    for _ in range(300):
        _, done = run_tests(series(ar1(random, 500, 0.5), fitted=5))
        found += next(t for t in done if t.name == tests.COLOUR).fails(0.05 / 7)
    assert found >= 298


def test_correlation_time_and_worth_of_samples_are_those_of_the_process():
    e = ar1(np.random.default_rng(7), 20_000, 0.9)
    found = autocorrelation(e, spacing(np.arange(20_000) * 4.0), np.zeros((20_000, 1)), NONE)
    assert found.memory == pytest.approx(-4 / math.log(0.9), rel=0.1)
    assert found.inflation == pytest.approx(1.9 / 0.1, rel=0.15)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_missing_samples_leave_lags_where_they_are(share):
    random = np.random.default_rng(8)
    whole = ar1(random, 4000, 0.8)
    keep = random.random(4000) > share
    keep[[0, -1]] = True
    time = np.arange(4000) * 0.25
    where = spacing(time[keep])
    assert where.regular
    assert where.step == 0.25
    assert where.missing == 4000 - keep.sum()
    assert where.in_words.startswith("one lag is 0.25 s; ")
    found = autocorrelation(whole[keep], where, np.zeros((int(keep.sum()), 1)), NONE)
    np.testing.assert_allclose(found.value[:5], 0.8 ** np.arange(1, 6), atol=0.12)


def test_irregular_stamps_are_counted_by_sample_and_said_so():
    time = np.cumsum(np.random.default_rng(9).exponential(2.0, 300))
    where = spacing(time)
    assert not where.regular
    assert "stamps are irregular" in where.in_words
    assert "a lag counts samples" in where.in_words


def test_jitter_of_a_clock_does_not_make_stamps_irregular():
    random = np.random.default_rng(9)
    assert spacing(np.arange(300) + random.uniform(-0.05, 0.05, 300)).regular


def test_two_levels_are_not_seen_in_one_hump():
    random = np.random.default_rng(10)
    for e in (random.standard_normal(500), random.uniform(-1, 1, 500), random.laplace(size=500)):
        assert two_levels(e) is None
    found = two_levels(
        np.where(random.random(500) < 0.3, -1, 2) + 0.1 * random.standard_normal(500)
    )
    assert found is not None
    assert found.low == pytest.approx(-1, abs=0.05)
    assert found.high == pytest.approx(2, abs=0.05)
    assert found.share == pytest.approx(0.3, abs=0.06)


# --- verdicts ------------------------------------------------------------------------------------


def two_state_study(
    model: es.ModelicaModel, n: int, noise: np.ndarray, clean: list[np.ndarray] | None = None
) -> es.Study:
    time = np.linspace(0, 40, n)
    inputs = {"u1": (time >= 5) * 1.0, "u2": (time >= 25) * 1.0}
    if clean is None:
        found = model.simulate(
            time, {k: (time, v) for k, v in inputs.items()}, TRUTH, outputs=["y1", "y2"]
        )
        clean = [found.value("y1"), found.value("y2")]
    table = pd.DataFrame(
        {"time": time, **inputs, "y1": clean[0] + noise[0], "y2": clean[1] + noise[1]}
    )
    case = es.Case("run", table, inputs={"u1": "u1", "u2": "u2"}, outputs={"y1": "y1", "y2": "y2"})
    tuners = [es.Tuner(k, start=1.1 * v) for k, v in TRUTH.items()]
    return es.Study(model, tuners, [case], "ml")


@pytest.mark.parametrize("n", [500, 50])
def test_two_point_noise_of_section_5_1_5_is_revealed(n):
    random = np.random.default_rng(1)
    noise = np.sqrt([[0.01], [0.001]]) * random.choice([-1, 1], (2, n))
    found = es.residuals(es.fit(two_state_study(es.load_model(TWO_STATES), n, noise)))
    assert not found.clean
    assert not found.coloured
    assert found.verdict == "The residuals of y1 and y2 take two levels"
    for name, size in (("y1", 0.1), ("y2", 0.0316)):
        levels = found[name].levels
        assert levels is not None
        assert levels.low == pytest.approx(-size, rel=0.15)
        assert levels.high == pytest.approx(size, rel=0.15)
        assert f"residuals of {name} take two levels, -0.0" in found.verdicts["run", name]


def test_clean_residuals_are_told_so():
    noise = 0.02 * np.random.default_rng(2).standard_normal(400)
    found = es.residuals(es.fit(lag_study(noise)))
    assert found.clean
    assert found.verdict == (
        "The residuals look like white Gaussian noise: nothing speaks against the model and its "
        "standard errors"
    )
    assert found["y"].effective == 400
    assert found.inflation == {}


def test_coloured_noise_is_told_with_its_time_and_the_errors_it_hides():
    random = np.random.default_rng(3)
    noise = 0.02 * ar1(random, 4000, 0.9)
    found = es.residuals(es.fit(lag_study(noise)))
    assert found.coloured
    assert found["y"].autocorrelation.memory == pytest.approx(-0.5 / math.log(0.9), rel=0.25)
    assert found["y"].effective == pytest.approx(4000 / 19, rel=0.4)
    text = found.verdict
    assert text.startswith(
        "Residuals of y are strongly coloured: the model is incomplete, it misses dynamics slower"
    )
    assert "the standard errors are too small by" in text
    # a signal that holds for 10 s against noise that remembers 5 s
    assert all(2 < ratio < math.sqrt(19) * 1.2 for ratio in found.inflation.values())


def test_effect_of_an_input_that_the_model_lacks_is_named():
    random = np.random.default_rng(4)
    n = 600
    other = np.repeat(random.uniform(-1, 1, n // 15 + 1), 15)[:n]
    model = es.load_model(LAG.replace("input Real u;", "input Real u;\n  input Real w;"))
    time = np.arange(n) * 0.5
    u = np.repeat(np.random.default_rng(3).uniform(0, 1, n // 20 + 1), 20)[:n]
    clean = es.load_model(LAG).simulate(time, inputs={"u": (time, u)}, outputs=["y"]).value("y")
    y = clean + 0.05 * random.standard_normal(n) + 0.2 * other
    data = pd.DataFrame({"time": time, "u": u, "w": other, "y": y})
    case = es.Case("run", data, inputs={"u": "u", "w": "w"}, outputs={"y": "y"})
    found = es.residuals(es.fit(es.Study(model, ["T", "K"], [case])))
    assert found["y"].guilty_inputs == ("w",)
    assert "still contain w: part of its effect is missing" in found.verdicts["run", "y"]
    cross = {c.input: c for c in found["y"].crosscorrelations}
    at = cross["w"].value[cross["w"].time == 0]
    assert abs(at[0]) > 2 * cross["w"].band


def test_coloured_residuals_are_not_blamed_on_an_input_by_chance():
    random = np.random.default_rng(11)
    time = np.arange(600.0)
    blamed = 0
    for _ in range(300):
        u = np.repeat(random.standard_normal(24), 25)
        one = series(ar1(random, 600, 0.9), time)
        one = replace(one, signals={"u": es.Signal(time, u)})
        (cross,) = crosscorrelations(one)
        assert cross.whitened
        blamed += cross.p < 0.05
    assert blamed <= 27


def test_drift_is_told_with_its_size():
    noise = 0.02 * np.random.default_rng(5).standard_normal(400) - 0.01 * np.linspace(-1, 1, 400)
    found = es.residuals(es.fit(lag_study(noise)))
    assert found["y"].fails(tests.LEVEL)
    assert "drift by 0.0" in found.verdicts["run", "y"]


def test_spread_that_grows_is_told():
    noise = np.linspace(0.2, 2, 400) * 0.02 * np.random.default_rng(6).standard_normal(400)
    found = es.residuals(es.fit(lag_study(noise)))
    assert "grow with time: weigh them accordingly" in found.verdicts["run", "y"]


def test_outliers_are_listed_with_their_times():
    noise = 0.02 * np.random.default_rng(7).standard_normal(400)
    noise[[50, 200]] += [0.3, -0.2]
    found = es.residuals(es.fit(lag_study(noise)))
    assert sorted(o.x for o in found["y"].outliers) == [25.0, 100.0]
    assert "have 2 outliers at time 25, 100: exclude what is wrong" in found.verdicts["run", "y"]


def test_a_spike_in_coloured_residuals_is_an_outlier_and_a_jump_is_not():
    e = ar1(np.random.default_rng(8), 500, 0.9)
    calm = tests.coloured_outliers(e).p
    jump, spike = e.copy(), e.copy()
    jump[250:] += 12
    spike[100] += 12
    assert calm > 0.01
    assert tests.coloured_outliers(jump).p == pytest.approx(calm, abs=0.5)
    assert tests.coloured_outliers(spike).p < 1e-6
    assert int(np.argmax(np.abs(tests.spikes(spike)))) == 100


def test_a_curve_of_the_wrong_shape_is_told_along_its_input():
    random = np.random.default_rng(9)
    x = random.permutation(np.linspace(0, 3, 80))
    y = np.exp(x) + 0.05 * random.standard_normal(80)
    model = formula_model({"y": "a + b*x + c*x^2"}, inputs=["x"])
    case = es.Case("points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    found = es.residuals(es.fit(es.Study(model, [es.Tuner(n, start=1) for n in "abc"], [case])))
    assert "coloured along x: the curve has another shape" in found.verdict
    assert found["y"].series.spacing.in_words == "a lag counts points in the order of x"


def test_validating_case_is_not_blamed_for_the_errors_of_the_tuners():
    found = es.residuals(es.fit(es.read_study(EXAMPLES / "furuta_pendulum/furuta_pendulum.toml")))
    assert [o.series.role for o in found.outputs] == ["calibrate"] * 2 + ["validate"] * 2
    assert found.verdict.startswith("All residuals look like white Gaussian noise")
    assert "validation" not in found.verdict


def test_data_without_noise_have_no_residuals_to_judge():
    found = es.residuals(
        es.fit(es.read_study(EXAMPLES / "nonlinear_circuit/nonlinear_circuit.toml"))
    )
    assert found.clean
    assert found.verdict == (
        "Residuals of i are zero within the accuracy of the simulation, so that there is no noise "
        "to judge"
    )


def test_a_handful_of_samples_is_not_judged():
    found = es.residuals(es.fit(lag_study(0.02 * np.random.default_rng(1).standard_normal(6))))
    assert found.verdict == "Residuals of y are too few to be judged"


# --- real data -----------------------------------------------------------------------------------


def test_temperature_lab_is_told_to_be_incomplete(cases: Path, tmp_path: Path):
    for name in ("TemperatureLab.mo", "temperature_lab.toml"):
        shutil.copy(EXAMPLES / "temperature_lab" / name, tmp_path)
    shutil.copy(cases / "tclab/mimo_energy_balance_data.txt", tmp_path / "lab.txt")
    found = es.residuals(es.fit(es.read_study(tmp_path / "temperature_lab.toml")))
    assert found.verdict.startswith(
        "Residuals of T1 and T2 are strongly coloured: the model is incomplete, it misses dynamics"
    )
    assert "the standard errors are too small by very roughly a factor" in found.verdict
    assert all(o.effective < 12 for o in found.outputs)
    assert min(found.inflation.values()) > 2
    # as a lag between heater and sensor would leave it
    assert found["T1"].guilty_inputs == ("Q1",)
    assert "they still contain Q1" in found.verdicts["lab", "T1"]


def test_cascaded_tanks_are_told_to_be_incomplete(cases: Path, tmp_path: Path):
    shutil.copy(EXAMPLES / "cascaded_tanks" / "CascadedTanks.mo", tmp_path)
    shutil.copy(EXAMPLES / "cascaded_tanks" / "plain.toml", tmp_path)
    table = pd.read_csv(cases / "cascaded_tanks/dataBenchmark.csv")
    n = len(table)
    names = {"pump": "uEst", "level": "yEst", "pump_v": "uVal", "level_v": "yVal"}
    data = {"time": 4.0 * np.arange(n)} | {k: table[v] for k, v in names.items()}
    pd.DataFrame(data).to_csv(tmp_path / "tanks.csv", index=False)
    found = es.residuals(es.fit(es.read_study(tmp_path / "plain.toml")))
    assert "residuals of y are strongly coloured: the model is incomplete" in found.verdict.lower()
    assert found["y"].autocorrelation.value[0] > 0.9


# --- how it shows itself -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coloured() -> es.Fit:
    return es.fit(lag_study(0.02 * ar1(np.random.default_rng(3), 300, 0.8)))


def test_analysis_has_a_table_plots_a_page_and_json(coloured, tmp_path):
    found = es.residuals(coloured)
    assert "tests of the residuals" in repr(found)
    assert "0.000 ×" in repr(found)
    assert "<table" in found._repr_html_()
    for kind in ("autocorrelation", "cross-correlation", "histogram", "qq", "residuals"):
        assert found.plot(kind).data
    page = found.report(tmp_path / "r.html").read_text(encoding="utf-8")
    for heading in ("Verdict", "Autocorrelation", "Cross-correlation", "Histogram", "Q-Q plot"):
        assert heading in page
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["command"] == "residuals"
    assert told["coloured"] is True
    (output,) = told["outputs"]
    assert output["tests"][tests.COLOUR]["rejected"] is True
    assert output["effective_samples"] < 100


def test_page_of_a_fit_has_the_verdict(coloured, tmp_path):
    page = coloured.report(tmp_path / "f.html").read_text(encoding="utf-8")
    assert "Residual verdict" in page
    assert "coloured: the model" in page


def test_wrong_questions_are_refused(coloured):
    found = es.residuals(coloured)
    with pytest.raises(es.EstimicaError, match=r"I303: there is no plot 'qqq'; did you mean 'qq'"):
        found.plot("qqq")
    with pytest.raises(es.EstimicaError, match=r"I301: there is no output 'Y'; did you mean 'y'"):
        found.output("Y")
    with pytest.raises(es.EstimicaError, match=r"I302: level 5 is not a chance between 0 and 1"):
        es.residuals(coloured, level=5)


def test_a_fit_without_an_estimate_has_no_residuals():
    text = LAG.replace("K*u - y", "K*u - y + log(K)")
    time = np.arange(10.0)
    case = es.Case("run", pd.DataFrame({"time": time, "y": time}), {"u": 1.0}, {"y": "y"})
    fit = es.fit(es.Study(es.load_model(text), [es.Tuner("K", start=-1.0)], [case]))
    assert not fit.outcome.ok
    with pytest.raises(es.EstimicaError, match="I300: the fit of 'Lag' has no estimate to look at"):
        es.residuals(fit)


def test_command_prints_the_verdict_or_json(tmp_path):
    study = str(EXAMPLES / "drum_boiler" / "drum_boiler.toml")
    done = CliRunner().invoke(app, ["residuals", study, "--report", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    assert "residuals look like white Gaussian noise" in done.output
    assert (tmp_path / "r.html").is_file()
    done = CliRunner().invoke(app, ["residuals", study, "--json", "--covariance", "hac"])
    told = json.loads(done.stdout)
    assert told["clean"] is True
    assert told["covariance"]["kind"] == "hac"
    done = CliRunner().invoke(app, ["residuals", study, "--covariance", "hacc"])
    assert done.exit_code == 2
    assert "there is no covariance 'hacc'; did you mean 'hac'?" in done.output
