"""Frequency responses of records: bias and coverage for a known system, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import estimica as es

STEP = 0.1
MODEL = es.transfer_function("2/(1 + 0.7*s + 0.3*s^2)")


def sampled(frequency: np.ndarray) -> np.ndarray:
    """The response of the sampled system to a held input."""
    d = MODEL.discretise(STEP)
    z = np.exp(2j * np.pi * frequency * STEP)[:, None, None]
    inner = np.linalg.solve(
        z * np.eye(2) - d.A, np.broadcast_to(d.B, (len(z), 2, 1)).astype(complex)
    )
    return (d.C @ inner + d.D)[:, 0, 0]


def record(u: np.ndarray, noise: float, seed: int, of_input: float = 0.0) -> pd.DataFrame:
    time = STEP * np.arange(len(u))
    rng = np.random.default_rng(seed)
    y = MODEL.simulate(time, {"u": (time, u)}).value("y") + noise * rng.standard_normal(len(u))
    return pd.DataFrame({"time": time, "u": u + of_input * rng.standard_normal(len(u)), "y": y})


def periodic(periods: int, n: int = 128) -> np.ndarray:
    return np.tile(np.random.default_rng(9).standard_normal(n), periods)


def test_periods_without_noise_give_the_sampled_response_exactly():
    found = es.frequency_estimate(record(periodic(8), 0, 0), input="u", output="y", hold="none")
    assert len(found.G) == 63
    np.testing.assert_allclose(found.G, sampled(found.frequency), rtol=1e-5)
    assert found.coherence.min() > 1 - 1e-6
    assert "periods of 12.8 s (128 samples)" in found.text


def test_hold_is_taken_out_so_that_the_continuous_response_is_left():
    found = es.frequency_estimate(record(periodic(8), 0, 0), input="u", output="y")
    G = MODEL.frequency_response(found.omega)
    low = found.frequency < 1
    np.testing.assert_allclose(found.G[low], G[low], atol=2e-3)


@pytest.mark.parametrize("of_input", [0.0, 0.1])
def test_scatter_between_periods_tells_the_error_and_intervals_cover(of_input):
    inside, errors, told = [], [], []
    for seed in range(60):
        data = record(periodic(6), 0.3, seed, of_input)
        found = es.frequency_estimate(
            data, input="u", output="y", hold="none", period=12.8, settle=12.8
        )
        assert found.freedom == 8
        e = found.G - sampled(found.frequency)
        # weak lines of a noisy input are left out by a test of their own: look at the others
        errors.append(np.interp(np.arange(63), np.round(found.frequency * 12.8) - 1, e))
        told.append(np.interp(np.arange(63), np.round(found.frequency * 12.8) - 1, found.stderr**2))
        inside += [np.abs(e.real) < found.interval, np.abs(e.imag) < found.interval]
    assert np.concatenate(inside).mean() == pytest.approx(0.95, abs=0.01)
    spread = np.mean(np.abs(errors) ** 2, axis=0) / 2
    assert np.median(np.mean(told, axis=0) / spread) == pytest.approx(1, abs=0.1)
    bias = np.abs(np.mean(errors, axis=0)) / np.sqrt(2 * spread / 60)
    assert np.mean(bias > 2.45) < 0.15  # 5 % expected of a complex mean without bias


def test_welch_tells_its_error_by_the_coherence_and_intervals_cover():
    inside, errors, told = [], [], []
    for seed in range(60):
        u = np.random.default_rng(100 + seed).standard_normal(4096)
        found = es.frequency_estimate(
            record(u, 1.0, seed), input="u", output="y", method="welch", segment=25.6, hold="none"
        )
        e = found.G - sampled(found.frequency)
        errors.append(e)
        told.append(found.stderr**2)
        inside += [np.abs(e.real) < found.interval, np.abs(e.imag) < found.interval]
    assert np.concatenate(inside).mean() == pytest.approx(0.95, abs=0.015)
    spread = np.mean(np.abs(errors) ** 2, axis=0) / 2
    assert np.median(np.mean(told, axis=0) / spread) == pytest.approx(1, abs=0.1)


def test_welch_is_h1_of_scipy_and_leaves_out_stretches_with_gaps():
    from scipy import signal

    u = np.random.default_rng(1).standard_normal(2048)
    data = record(u, 0.2, 1)
    found = es.frequency_estimate(
        data, input="u", output="y", method="welch", segment=25.6, hold="none"
    )
    options = {"fs": 10, "window": "hann", "nperseg": 256, "detrend": "constant"}
    u, y = data.u.to_numpy(), data.y.to_numpy()
    f, cross = signal.csd(u, y, **options)
    _, power = signal.welch(u, **options)
    _, coherence = signal.coherence(u, y, **options)
    at = np.searchsorted(f, found.frequency - 1e-9)
    np.testing.assert_allclose(found.G, (cross / power)[at], rtol=1e-9)
    np.testing.assert_allclose(found.coherence, coherence[at], rtol=1e-9)
    data.loc[1000, "y"] = np.nan
    gapped = es.frequency_estimate(data, input="u", output="y", method="welch", segment=25.6)
    assert gapped.text.startswith("13 segments")
    assert found.text.startswith("15 segments")


def test_period_is_found_for_noisy_inputs_and_short_excitations():
    sine = np.sin(2 * np.pi * np.arange(700) / 50)
    found = es.frequency_estimate(record(sine, 0.1, 0, 0.05), input="u", output="y")
    assert "(50 samples)" in found.text
    assert found.frequency.tolist() == pytest.approx([0.2])
    square = np.sign(np.sin(2 * np.pi * (np.arange(640) + 0.5) / 64))
    found = es.frequency_estimate(record(square, 0.01, 0), input="u", output="y")
    assert "(64 samples)" in found.text
    np.testing.assert_allclose(found.frequency[:3], np.array([1, 3, 5]) / 6.4)


def test_estimate_is_the_data_of_a_frequency_case_and_finds_the_parameters():
    data = record(periodic(20), 0.2, 4)
    found = es.frequency_estimate(data, input="u", output="y")
    model = es.transfer_function("K/(1 + d*s + 0.3*s^2)")
    low = found.frame().query("f < 1.5")
    case = es.Case(
        "spectrum", low, frequency="f",
        outputs={"y": {"real": "Re", "imag": "Im", "sigma": "sigma", "input": "u"}},
    )  # fmt: skip
    tuners = [es.Tuner("K", start=1), es.Tuner("d", start=1)]
    fit = es.fit(es.Study(model, tuners, [case], "ml"))
    assert (np.abs(fit.values - [2, 0.7]) < 4 * fit.accuracy.stderr + 2e-3).all()
    whole = es.fit(es.Study(model, tuners, [found.case()], "ml"))
    assert whole.outcome.ok


def test_table_page_and_file_say_what_was_found(tmp_path):
    found = es.frequency_estimate(record(periodic(5), 0.1, 0), input="u", output="y")
    assert "frequency response by multisine" in repr(found)
    page = found.report(tmp_path / "g.html").read_text()
    assert "95 %" in page
    assert found.to_csv(tmp_path / "g.csv").read_text().startswith("f,Re,Im,sigma,coherence")
    assert len(found.plot().data) >= 3
    assert found.to_dict()["method"] == "multisine"


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"method": "h2"}, "W053: method 'h2' is none of multisine, welch"),
        ({}, {"hold": "next"}, "W053: hold 'next' is none of previous, linear, none"),
        ({}, {"output": "z"}, "'z'"),
        ({}, {"period": 3.14}, "W057: the period 3.14 s is 31.4 samples of 0.1 s; it must be"),
        ({}, {"period": 40}, "W056: the period of 40 s fits 1 times into the 64 s that are used"),
        ({}, {"period": 20.03}, "W057: the period 20.03 s is 200.3 samples of 0.1 s"),
        ({}, {"settle": 1e6}, "W092: settle 1e+06 s must lie within the 64 s of the record"),
        ({}, {"settle": np.nan}, "W092: settle nan s must lie within"),
        ({}, {"settle": -1}, "W092: settle -1 s must lie within"),
        ({}, {"method": "welch", "segment": 1e9}, "W091: segments of 1e+09 s fit 0 times"),
        ({}, {"segment": 3}, "W054: segment belongs to method 'welch'; leave it out"),
        ({}, {"method": "welch", "period": 3}, "W054: period belongs to method 'multisine'"),
        ({}, {"method": "welch", "segment": 0.3}, "W090: a segment of 3 samples is too short"),
        ({}, {"method": "welch", "segment": 40}, "W091: segments of 40 s fit 2 times into the record"),
        ({}, {"method": "welch", "segment": -1}, "W055: segment -1 must be positive, in seconds"),
        ({"u": 1.0}, {}, "W058: the input does not change: there is nothing to respond to"),
        ({"u": np.random.default_rng(0).standard_normal(640)}, {}, "W059: no period of the input"),
        ({"y": np.nan}, {}, "W052: 'y' has no value in 640 rows, and whole periods have no gaps"),
        ({"time": np.arange(640.0) ** 1.01}, {}, "W051: the samples are not even: steps from"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(change, options, message):
    data = record(periodic(5), 0.1, 0).assign(**change)
    with pytest.raises(es.EstimicaError) as caught:
        es.frequency_estimate(data, **{"input": "u", "output": "y", **options})
    assert message in str(caught.value)


def test_command_writes_table_json_page_and_data(tmp_path):
    import json

    from typer.testing import CliRunner

    from estimica.apps.cli.commands.app import app

    record(periodic(5), 0.1, 0).to_csv(tmp_path / "a.csv", index=False)
    command = ["frequency-response", str(tmp_path / "a.csv"), "--input", "u", "--output", "y"]
    done = CliRunner().invoke(app, [*command, "--csv", str(tmp_path / "g.csv"), "--json"])
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["command"] == "frequency-response"
    assert len(told["frequency"]) == len(told["stderr"]) == 63
    assert (tmp_path / "g.csv").exists()
    assert "coherence" in CliRunner().invoke(app, command).stdout
    wrong = CliRunner().invoke(app, [*command, "--method", "fft"])
    assert wrong.exit_code == 2
    assert "W053" in wrong.output
    for option in ("--csv", "--report"):
        nowhere = CliRunner().invoke(app, [*command, option, str(tmp_path / "no" / "g")])
        assert nowhere.exit_code == 2
        assert "P001: cannot write" in nowhere.output
