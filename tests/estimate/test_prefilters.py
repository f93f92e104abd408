"""Prefilters: the operator, its statistics, Parseval's weighting, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import signal
from scipy.optimize import least_squares

import estimica as es
from estimica.estimate.criteria.prefilter import ErrorFilter, error_filter
from estimica.study.check.run import check
from estimica.study.prefilter import Prefilter
from estimica.study.record.prefilter import prefilter_system

RNG = np.random.default_rng(0)
EVEN = 0.1 * np.arange(240)
UNEVEN = np.cumsum(RNG.uniform(0.03, 0.17, 240))
GAPPED = np.concatenate([0.1 * np.arange(100), 20 + 0.1 * np.arange(100), 50 + 0.1 * np.arange(3)])
FILTERS = [
    {"band": (0.2, 1)},
    {"lowpass": 0.5, "order": 3},
    {"highpass": 0.3},
    {"transfer": "(1 + s)/(1 + 5*s)"},
]
FIRST_ORDER = es.transfer_function("K/(1 + tau*s)")


def operator(time: np.ndarray, **given: object) -> ErrorFilter:
    found = error_filter(Prefilter(**given), time, "case 'a'")
    assert found is not None
    return found


def square_wave(n: int = 400, noise: float = 0.2, seed: int = 1) -> pd.DataFrame:
    time = 0.1 * np.arange(n)
    u = np.sign(np.sin(2 * np.pi * time / 10) + 1e-9)
    y = FIRST_ORDER.simulate(time, {"u": (time, u)}, {"K": 1, "tau": 2}).value("y")
    y = y + noise * np.random.default_rng(seed).standard_normal(n)
    return pd.DataFrame({"time": time, "u": u, "y": y})


def study(data: pd.DataFrame, criterion: str = "oe", **options: object) -> es.Study:
    tuners = [es.Tuner("K", start=0.8), es.Tuner("tau", start=1.5)]
    output = options.pop("output", "y")
    case = es.Case("a", data, inputs={"u": "u"}, outputs={"y": output}, **options)
    return es.Study(FIRST_ORDER, tuners, [case], criterion)


# -- the operator ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"band": (0.1, 10), "order": 3}, "bandpass"),
        ({"band": (1, 1.3), "order": 4}, "bandpass"),
        ({"lowpass": 5, "order": 5}, "lowpass"),
        ({"highpass": 2, "order": 4}, "highpass"),
        ({"lowpass": 3, "order": 1}, "lowpass"),
    ],
)
def test_butterworth_filters_are_those_of_scipy(given, kind):
    filter_ = Prefilter(**given)
    found = prefilter_system(filter_, 0.01 * np.arange(100))
    f = np.geomspace(0.01, 49, 60)
    corners = 2 * np.pi * np.squeeze(filter_.corners)
    zpk = signal.butter(filter_.order, corners, kind, analog=True, output="zpk")
    expected = signal.freqs_zpk(*zpk, 2 * np.pi * f)[1]
    np.testing.assert_allclose(found.gain(f), expected, atol=1e-9)


@pytest.mark.parametrize("time", [EVEN, UNEVEN, GAPPED])
@pytest.mark.parametrize("given", FILTERS)
def test_transpose_and_counts_are_those_of_the_dense_matrix(time, given):
    filter_ = operator(time, **given)
    eye = np.eye(len(time))
    L = filter_.filtered(eye)
    np.testing.assert_allclose(filter_.returned(eye), L.T, atol=1e-13)
    assert filter_.count == pytest.approx(np.sum(L**2), rel=1e-10)
    independent = np.sum(L**2) ** 2 / np.sum((L @ L.T) ** 2)
    assert filter_.independent == pytest.approx(independent, rel=0.15)


def test_filter_is_exact_for_errors_that_are_linear_between_uneven_stamps():
    filter_ = operator(UNEVEN, transfer="1/(1 + 0.5*s)")
    assert filter_.starts.sum() == 1
    error = RNG.standard_normal(len(UNEVEN))
    grid = np.unique(np.concatenate([np.linspace(0, 30, 50_000), UNEVEN]))
    grid = grid[(grid >= UNEVEN[0]) & (grid <= UNEVEN[-1])]
    x, values = 0.0, np.interp(grid, UNEVEN, error)
    out = np.zeros(len(grid))
    for k in range(1, len(grid)):  # x' = (e - x)/0.5 by the trapezoidal rule
        h = grid[k] - grid[k - 1]
        x = (x * (1 - h) + h * (values[k] + values[k - 1])) / (1 + h)
        out[k] = x
    expected = out[np.searchsorted(grid, UNEVEN)]
    free = np.exp(-2 * (UNEVEN - UNEVEN[0]))
    expected = expected - free * (free @ expected) / (free @ free)
    peak = np.abs(filter_.system.gain(np.array([1e-6])))
    np.testing.assert_allclose(filter_.filtered(error), expected * peak, atol=1e-5)


@pytest.mark.parametrize("time", [EVEN, UNEVEN, GAPPED])
@pytest.mark.parametrize("given", [{"band": (0.2, 1)}, {"highpass": 0.3, "order": 4}])
def test_constant_error_does_not_pass_a_highpass(time, given):
    np.testing.assert_allclose(operator(time, **given).filtered(np.ones(len(time))), 0, atol=1e-10)


def test_single_missing_sample_is_bridged_and_a_long_gap_is_not():
    assert operator(np.delete(EVEN, 100), band=(0.2, 1)).starts.sum() == 1
    assert operator(GAPPED, band=(0.2, 1)).starts.sum() == 3
    # what a slow filter lets through does not change within a short gap
    assert operator(np.delete(EVEN, np.arange(100, 110)), lowpass=0.05).starts.sum() == 1


def test_sampled_filter_of_python_control_works_on_its_own_step():
    control = pytest.importorskip("control")
    b, a = signal.butter(2, 0.2)
    filter_ = operator(EVEN, transfer=control.tf(b, a, 0.1))
    error = RNG.standard_normal(len(EVEN))
    plain = signal.lfilter(b, a, error)
    free = np.column_stack([signal.lfilter(b, a, np.zeros(240), zi=z)[0] for z in np.eye(2)])
    expected = plain - free @ np.linalg.lstsq(free, plain, rcond=None)[0]
    np.testing.assert_allclose(filter_.filtered(error), expected, atol=1e-9)


def test_continuous_filter_of_python_control_is_its_text():
    control = pytest.importorskip("control")
    s = control.tf("s")
    for made in (1 / (1 + 5 * s), control.ss(1 / (1 + 5 * s))):
        one, two = operator(EVEN, transfer=made), operator(EVEN, transfer="1/(1 + 5*s)")
        error = RNG.standard_normal(len(EVEN))
        np.testing.assert_allclose(one.filtered(error), two.filtered(error), atol=1e-12)


def test_scale_of_a_filter_does_not_matter():
    error = RNG.standard_normal(len(EVEN))
    one, two = (operator(EVEN, transfer=f"{k}/(1 + 3*s)") for k in (1, 100))
    np.testing.assert_allclose(one.filtered(error), two.filtered(error), rtol=1e-10)


# -- what it does to a fit ------------------------------------------------------------------------


def test_parseval_prefiltered_fit_is_the_weighted_fit_of_the_frequency_response():
    """Seed 003 eq. 7.10: an undermodelled system with a periodic input, |L|²|U|² as weighting."""
    coarse, fine = _parseval(5), _parseval(20)
    assert np.abs(coarse).max() < 5e-3
    assert np.abs(fine).max() < 1.2e-3  # the filter's start is a smaller share of more periods
    plain = _parseval(5, prefilter=None)
    assert np.abs(plain).max() < 1e-7


def _parseval(periods: int, prefilter: object = {"band": (0.02, 0.1)}) -> np.ndarray:
    """Relative difference of the fits in time and frequency."""
    h, n, before = 0.1, 256, 4
    one = np.repeat(np.random.default_rng(3).choice([-1.0, 1.0], n // 4), 4)
    u = np.tile(one, periods + before)
    time = h * np.arange(len(u))
    true = es.transfer_function("1/((1 + 2*s)*(1 + 0.4*s))")
    y = true.simulate(time, {"u": (time, u)}).value("y")
    data = pd.DataFrame({"time": time, "u": u, "y": y})
    made = study(data, prefilter=prefilter, from_=h * n * before - 1e-9)
    fit = es.fit(made.with_(estimation=es.Estimation(tolerance=1e-12)))
    f, U = np.fft.rfftfreq(n, h), np.fft.rfft(one)
    L = np.ones(len(f)) if prefilter is None else operator(time[n * before :], **prefilter).gain(f)
    z = np.exp(2j * np.pi * f * h)

    def sampled(model: es.LinearModel, values: dict[str, float] | None = None) -> np.ndarray:
        d = model.discretise(h, "zoh", values)
        inner = np.linalg.solve(
            z[:, None, None] * np.eye(len(d.A)) - d.A, d.B[None].astype(complex)
        )
        return (d.C @ inner + d.D)[:, 0, 0]

    def missed(theta: np.ndarray) -> np.ndarray:
        own = sampled(FIRST_ORDER, {"K": theta[0], "tau": theta[1]})
        e = (sampled(true) - own) * U * L * np.where(f * 2 * h % 1 == 0, 1, np.sqrt(2))
        return np.concatenate([e.real, e.imag])

    found = least_squares(missed, [1.0, 2.0], xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    return fit.values / found - 1


@pytest.mark.parametrize("criterion", ["oe", "ml"])
@pytest.mark.parametrize("given", [{"band": (0.05, 0.5)}, {"transfer": "10/(1 + 3*s)"}])
def test_covariance_propagates_white_noise_through_the_filter_exactly(criterion, given):
    data = square_wave()
    data.loc[150:160, "y"] = np.nan
    fit = es.fit(study(data, criterion, prefilter=given))
    kept = np.isfinite(data.y.to_numpy())
    time = data.time.to_numpy()
    run = FIRST_ORDER.sensitivities(
        time,
        {"u": (time, data.u.to_numpy())},
        dict(zip(("K", "tau"), fit.values, strict=True)),
        wrt=["K", "tau"],
    )
    J = np.column_stack([run.derivative("y", n) for n in ("K", "tau")])[kept]
    L = operator(time[kept], **given).filtered(np.eye(kept.sum()))
    e = (run.value("y") - data.y.to_numpy())[kept]
    H = np.linalg.inv(J.T @ L.T @ L @ J)
    hat = L @ J @ H @ J.T @ L.T
    variance = np.sum((L @ e) ** 2) / np.trace((np.eye(len(L)) - hat) @ L @ L.T)
    expected = variance * H @ J.T @ L.T @ L @ L.T @ L @ J @ H
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-5)
    if criterion == "ml":
        noise = np.sum((L @ e) ** 2) / np.trace(L @ L.T)
        assert fit.noise["y"].variance == pytest.approx(noise, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"band": (0.05, 0.5)}, {"highpass": 0.1}, "1/(1 + 3*s)"])
def test_intervals_cover_in_95_percent_of_300_noisy_records(given):
    inside = np.zeros(2)
    for seed in range(300):
        fit = es.fit(study(square_wave(seed=seed), "ml", prefilter=given))
        low, high = fit.accuracy.interval.T
        inside += (low < [1, 2]) & (high > [1, 2])
    assert (inside >= 300 * 0.92).all()
    assert (inside <= 300 * 0.98).all()


def test_bootstrap_agrees_with_the_covariance_behind_a_filter():
    fit = es.fit(study(square_wave(200, seed=3), "oe", prefilter={"lowpass": 0.3}))
    for kind in ("parametric", "residual"):
        drawn = es.bootstrap(fit, 100, kind=kind, seed=3)
        spread = np.std(np.array(drawn.values), axis=0, ddof=1)
        np.testing.assert_allclose(spread / fit.accuracy.stderr, 1, atol=0.25)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_profile_interval_is_that_of_the_covariance_where_the_model_is_linear(criterion):
    made = study(square_wave(200), criterion, prefilter={"lowpass": 0.3})
    made = made.with_(tuners=[es.Tuner("K", start=0.8), es.Tuner("tau", start=2, active=False)])
    fit = es.fit(made)
    found = es.profile(fit, "K").to_dict()["parameters"]["K"]["ci95"]
    np.testing.assert_allclose(found, fit.accuracy.interval[0], rtol=2e-3)


def test_hac_covariance_serves_and_the_sandwich_is_refused():
    fit = es.fit(study(square_wave(), prefilter={"highpass": 0.1}))
    ratio = es.covariance(fit, "hac").stderr / fit.accuracy.stderr
    assert (ratio > 0.5).all()
    assert (ratio < 2).all()
    with pytest.raises(es.EstimicaError, match="I351: covariance 'sandwich' needs residuals that"):
        es.covariance(fit, "sandwich")


def test_residual_tests_look_at_the_errors_before_the_filter():
    fit = es.fit(study(square_wave(), prefilter={"lowpass": 0.2}))
    assert "white" in str(es.residuals(fit)).lower()
    found = es.residuals(fit).outputs[0]
    assert found.series.residual == pytest.approx(fit.cases[0].outputs[0].residual)


def test_constant_disturbance_behind_a_highpass_is_not_identifiable_and_told():
    output = {"column": "y", "disturbance": True}
    fit = es.fit(study(square_wave(), prefilter={"highpass": 0.1}, output=output))
    assert not fit.accuracy.identifiable[2]
    assert fit.accuracy.identifiable[:2].all()
    assert any("y" in text for text in fit.identifiability.advice)
    through = es.fit(study(square_wave(), prefilter={"lowpass": 0.5}, output=output))
    assert through.accuracy.identifiable.all()


def test_free_start_values_are_found_behind_a_filter():
    data = square_wave(noise=0.0)
    start = 0.7
    t, u = data.time.to_numpy(), data.u.to_numpy()
    data["y"] = FIRST_ORDER.simulate(t, {"u": (t, u)}, {"K": 1, "tau": 2}, {"x1": start}).value("y")
    fit = es.fit(study(data, prefilter={"band": (0.02, 1)}, free_start={"x1": 0.0}))
    np.testing.assert_allclose(fit.values, [1, 2, start], rtol=1e-6)


def test_prefilter_of_an_output_comes_before_that_of_the_case():
    data = square_wave()
    own = es.fit(study(data, output={"column": "y", "prefilter": {"lowpass": 0.3}}))
    both = es.fit(
        study(data, prefilter="1/(1 + 9*s)", output={"column": "y", "prefilter": {"lowpass": 0.3}})
    )
    np.testing.assert_array_equal(own.values, both.values)
    plain, off = es.fit(study(data)), es.fit(study(data, prefilter="1"))
    np.testing.assert_array_equal(plain.values, off.values)


def test_modelica_model_takes_a_prefilter_for_its_error():
    data = square_wave(noise=0.0)
    data["y"] = data.y + 0.05 * data.time  # a drift that the model does not know
    model = es.load_model(
        "model M parameter Real K = 0.8, tau = 1.5; input Real u; output Real y(start=0);"
        " equation tau*der(y) = K*u - y; end M;"
    )
    case = es.Case("a", data, {"u": "u"}, {"y": "y"}, prefilter={"highpass": 0.15, "order": 3})
    fit = es.fit(es.Study(model, ["K", "tau"], [case]))
    np.testing.assert_allclose(fit.values, [1, 2], rtol=3e-3)
    plain = es.fit(es.Study(model, ["K", "tau"], [es.Case("a", data, {"u": "u"}, {"y": "y"})]))
    assert np.abs(plain.values - [1, 2]).max() > 0.1


def test_page_shows_the_weighting_and_what_is_behind_the_filter(tmp_path):
    fit = es.fit(study(square_wave(), prefilter={"band": (0.05, 0.5)}))
    page = fit.report(tmp_path / "fit.html").read_text()
    for words in ("Prefilters", "band 0.05 … 0.5 Hz, order 2", "behind its prefilter", "|L|²|U|²"):
        assert words in page
    found = es.prefilter_weighting(fit).outputs[0]
    assert found.share("u") == pytest.approx(0.907, abs=0.01)
    gain = operator(square_wave().time.to_numpy(), band=(0.05, 0.5)).gain(found.frequency)
    np.testing.assert_allclose(found.gain, np.abs(gain))
    np.testing.assert_allclose(found.weighting("u"), found.gain**2 * found.inputs["u"])
    with pytest.raises(es.EstimicaError, match="F104: study 'transfer function' has no prefilter"):
        es.prefilter_weighting(study(square_wave()))


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lowpass": 8}, "output 'y': prefilter: 8 Hz is not below the Nyquist frequency 5 Hz"),
        ({"band": [0.1, 5]}, "5 Hz is not below the Nyquist frequency 5 Hz of the samples"),
        ({"band": [2, 1]}, "band [2, 1] does not go upwards; swap the two"),
        ({"band": [1, 2], "lowpass": 3}, "band and lowpass are given; write one of band, lowpass"),
        ({}, "nothing is given; write one of band, lowpass, highpass or transfer"),
        ({"lowpass": 1, "order": 9}, "order: 9 is wrong, it must be at most 8"),
        ({"bandpass": [1, 2]}, "unknown key 'bandpass'"),
        ("1/(1 - s)", "prefilter '1/(1 - s)' is not stable, it has a pole at 1; a filter must"),
        ("1/s", "prefilter '1/s' is not stable, it has a pole at 0"),
        ("1 + s", "C087: case 'a': output 'y': prefilter '1 + s': "),
        ("1/(1 + tau*s)", "prefilter '1/(1 + tau*s)': write a number for 'tau'"),
        ("1/(1 + ", "C087: case 'a': output 'y': prefilter '1/(1 + ': transfer function: it ends"),
        ("exp(-s)/(1 + s)", "has a delay; leave it out"),
        ("1/(1 + 0.001*s)", "at 159.2 Hz is not below the Nyquist frequency 5 Hz"),
        (5, "write a table { band = [from, to] }"),
        ({"band": [0.001, 0.002], "order": 8}, "leaves nothing of 400 samples"),
    ],
)  # fmt: skip
def test_filters_that_cannot_be_are_refused(given, message):
    with pytest.raises(es.EstimicaError) as caught:
        es.fit(study(square_wave(), prefilter=given))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transcription": "multiple-shooting"}, "F101: case 'a', output 'y': with a prefilter"),
        ({"transcription": "collocation"}, "use transcription = 'shooting'"),
        ({"loss": "huber"}, "an outlier is spread over many residuals, which loss = 'huber'"),
        ({"criterion": "abs(residual)"}, "F102: case 'a', output 'y': with a prefilter the"),
    ],
)
def test_what_does_not_go_with_a_prefilter_is_refused(options, message):
    made = study(square_wave(), prefilter={"lowpass": 1})
    with pytest.raises(es.EstimicaError) as caught:
        es.fit(made.with_(estimation=es.Estimation(**options)))
    assert message in str(caught.value)


def test_static_and_frequency_cases_refuse_a_prefilter():
    data = pd.DataFrame({"f": [1.0, 2.0], "Re": [1.0, 0.5], "Im": [0.0, 0.1]})
    with pytest.raises(es.EstimicaError, match="C093: case 'a': a prefilter works on errors over"):
        es.Case(
            "a", data, frequency="f", inputs={"u": 0.0}, prefilter={"lowpass": 1},
            outputs={"y": {"real": "Re", "imag": "Im"}},
        )  # fmt: skip


def test_points_without_time_refuse_a_prefilter(tmp_path):
    pd.DataFrame({"x": [1.0, 2, 3], "y": [1.0, 2, 3]}).to_csv(tmp_path / "a.csv", index=False)
    text = """
[static]
expression = "a*x"
[tune]
a = 1.5
[[case]]
name = "a"
data = "a.csv"
inputs = { x = "x" }
outputs = { y = "y" }
prefilter = { lowpass = 0.1 }
"""
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(
        es.EstimicaError, match="C094: case 'a': output 'y': a prefilter needs time"
    ):
        es.fit(es.read_study(tmp_path / "s.toml"))


def test_study_file_reads_prefilters(tmp_path):
    square_wave().to_csv(tmp_path / "a.csv", index=False)
    text = """
[model]
source = "K/(1 + tau*s)"
[tune]
K = 0.8
tau = 1.5
[[case]]
name = "a"
data = "a.csv"
inputs = { u = "u" }
outputs = { y = { column = "y", prefilter = "1/(1 + 0.5*s)" } }
prefilter = { band = [0.05, 0.5], order = 3 }
"""
    (tmp_path / "s.toml").write_text(text)
    read = es.read_study(tmp_path / "s.toml")
    assert read.cases[0].prefilter.text == "band 0.05 … 0.5 Hz, order 3"
    fit = es.fit(read)
    expected = es.fit(study(square_wave(), prefilter="1/(1 + 0.5*s)"))
    np.testing.assert_allclose(fit.values, expected.values, rtol=1e-8)
    assert check(read) == []


def test_cross_validation_judges_left_out_stretches_behind_the_filter():
    fit = es.fit(study(square_wave(600, noise=0.1), prefilter={"band": (0.05, 0.5)}))
    found = es.crossvalidate(fit, folds=3)
    assert 0.7 < found.outputs[0].ratio < 1.5
