"""Fits of frequency responses: published circuits, agreement with time, intervals, weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import estimica as es
from estimica.base.arrays import Complex
from estimica.base.errors import FitError

FREQUENCY = np.logspace(-2, 1, 50)  # Hz
TRUTH = {"K": 2.0, "tau": 1.5, "T": 0.3}
STARTS = {"K": 1.0, "tau": 1.0, "T": 0.1}


def first_order() -> Any:
    return es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters=TRUTH)


def response(seed: int = 0, sigma: float = 0.02, relative: bool = False) -> Complex:
    rng = np.random.default_rng(seed)
    G = first_order().frequency_response(2 * np.pi * FREQUENCY)
    noise = rng.standard_normal(len(G)) + 1j * rng.standard_normal(len(G))
    return np.asarray(G + sigma * noise * (np.abs(G) if relative else 1.0))


def spectrum(G: Complex, name: str = "spectrum", **columns: Any) -> es.Case:
    output = {"real": "Re(G)", "imag": "Im(G)", **columns}
    return es.Case(name, {"f": FREQUENCY, "G": G}, frequency="f", outputs={"y": output})


def study(*cases: es.Case, criterion: str = "oe", model: Any = None, **starts: float) -> es.Study:
    tuners = [es.Tuner(n, start=s, min=0) for n, s in {**STARTS, **starts}.items()]
    return es.Study(model or first_order(), tuners, cases, criterion=criterion)


# --- published data ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, (29.1411, 46.6526, 1.042824e-5)),
        (2, (150.274, 502.481, 3.11307e-8)),
        (3, (1505.73, 4631.73, 2.018323e-8)),
    ],
)
def test_dummy_circuits_are_found_to_the_digits_of_an_independent_fit(
    cases: Path, number: int, expected: tuple[float, ...]
) -> None:
    model = es.transfer_function("R0 + R1/(1 + R1*C1*s)", input="i", output="v")
    case = es.Case(
        "circuit",
        cases / "impedance_eis" / f"Circuit{number}_EIS_1.z",
        frequency="frequency",
        outputs={"v": "Z"},
    )
    tuners = [es.Tuner("R0", start=100), es.Tuner("R1", start=400), es.Tuner("C1", start=1e-5)]
    fit = es.fit(es.Study(model, tuners, [case]))
    assert fit.outcome.ok
    assert list(fit.estimates.values()) == pytest.approx(expected, rel=4e-6)


def battery(cases: Path) -> es.Case:
    data = es.read_data(cases / "impedance_eis" / "exampleData.csv")
    f, real, imag = data.columns.values()
    kept = imag < 0
    return es.Case(
        "battery",
        {"f": f[kept], "Z": real[kept] + 1j * imag[kept]},
        frequency="f",
        outputs={"v": {"real": "Re(Z)", "imag": "Im(Z)", "weight": 1}},
    )


RATIONAL = {
    2: (3.9147e-4, None),
    3: (1.8002e-4, [(0.0077895, 3.01053), (0.012924, 0.018811), (0.046921, 83.389)]),
    4: (4.0369e-5, None),
}


@pytest.mark.parametrize("pairs", list(RATIONAL))
def test_rational_fits_of_a_battery_find_the_global_optimum(cases: Path, pairs: int) -> None:
    numbers = range(1, pairs + 1)
    model = es.transfer_function(
        "R0 + " + " + ".join(f"R{k}/(1 + T{k}*s)" for k in numbers), input="i", output="v"
    )
    tuners = [es.Tuner("R0", start=0.02, min=1e-4, max=1, scale="log")]
    for k in numbers:
        time = 10.0 ** (2 * k - 4)
        tuners += [
            es.Tuner(f"R{k}", start=0.01, min=1e-4, max=1, scale="log"),
            es.Tuner(f"T{k}", start=time, min=1e-5, max=1e4, scale="log"),
        ]
    estimation = es.Estimation(starts=6, seed=1)
    fit = es.fit(es.Study(model, tuners, [battery(cases)], estimation=estimation))
    cost, expected = RATIONAL[pairs]
    assert fit.cost == pytest.approx(cost, rel=2e-5)
    if expected:
        found = sorted((fit[f"R{k}"], fit[f"T{k}"]) for k in numbers)
        # the optimum is flat: another solver with its tightest tolerances agrees with ours
        assert np.array(found) == pytest.approx(np.array(expected), rel=6e-4)
        assert fit["R0"] == pytest.approx(0.018909, rel=3e-5)


def test_a_circuit_with_diffusion_is_found(cases: Path) -> None:
    model = es.frequency_function(
        "R0 + R1/(1 + R1*C1*s) + 1/(C2*s + 1/(R2 + Z0/(sqrt(s*T)*tanh(sqrt(s*T)))))",
        input="i",
        output="v",
    )
    starts = {"R0": 0.01, "R1": 0.01, "C1": 1, "R2": 0.01, "Z0": 0.05, "T": 100, "C2": 0.1}
    tuners = [es.Tuner(n, start=s, min=0) for n, s in starts.items()]
    fit = es.fit(es.Study(model, tuners, [battery(cases)]))
    assert fit.cost == pytest.approx(1.9428e-5, rel=3e-5)
    published = {"R0": 0.0165, "R1": 0.00868, "C1": 3.32, "R2": 0.00539, "Z0": 0.0631, "T": 233}
    for name, value in {**published, "C2": 0.220}.items():
        low, high = fit.parameters.loc[name, ["ci95_low", "ci95_high"]]
        assert low < value < high
        assert fit[name] == pytest.approx(value, rel=0.025)


# --- against time --------------------------------------------------------------------------------


def test_time_and_frequency_fits_of_one_system_agree_within_their_intervals() -> None:
    model = first_order()
    time = np.arange(1000) * 0.1
    square = np.where(np.mod(time, 20) < 10, 1.0, -1.0)
    y = model.simulate(time, {"u": (time, square)}).value("y")
    y = y + 0.05 * np.random.default_rng(2).standard_normal(len(time))
    step = es.Case("steps", {"t": time, "u": square, "y": y}, inputs={"u": "u"}, outputs={"y": "y"})
    over_time, over_frequency, both = (
        es.fit(study(*given, criterion="ml"))
        for given in ([step], [spectrum(response())], [step, spectrum(response())])
    )
    for name, truth in TRUTH.items():
        ends = [
            f.parameters.loc[name, ["ci95_low", "ci95_high"]] for f in (over_time, over_frequency)
        ]
        assert max(e.iloc[0] for e in ends) < min(e.iloc[1] for e in ends)
        assert abs(both[name] - truth) < 3 * both.parameters.loc[name, "stderr"]
    first, second, together = (
        np.linalg.inv(f.covariance) for f in (over_time, over_frequency, both)
    )
    assert np.linalg.norm(together - first - second) < 0.1 * np.linalg.norm(together)
    assert set(both.noise) == {"y", "y/u"}
    assert both.noise["y"].variance == pytest.approx(0.05**2, rel=0.15)
    assert both.noise["y/u"].variance == pytest.approx(0.02**2, rel=0.4)


def test_intervals_of_frequency_fits_cover_the_truth() -> None:
    inside = dict.fromkeys(TRUTH, 0)
    model = first_order()
    count = 300
    for seed in range(count):
        fit = es.fit(study(spectrum(response(seed)), model=model))
        for name, truth in TRUTH.items():
            low, high = fit.accuracy.interval[list(TRUTH).index(name)]
            inside[name] += low <= truth <= high
    for name in TRUTH:
        assert 0.92 <= inside[name] / count <= 0.98


def test_an_operating_point_of_a_modelica_model_counts(tmp_path: Path) -> None:
    source = tmp_path / "Cell.mo"
    source.write_text(
        "model Cell parameter Real R = 2; parameter Real C = 0.5; parameter Real k = 0.1;"
        ' input Real i(unit="A"); output Real v(unit="V");'
        " equation C*der(v) = i - v/R - k*v^3; end Cell;"
    )
    model = es.load_model(source)
    truth = {"R": 2.5, "C": 0.7, "k": 0.2}
    cases = []
    for current in (0.0, 1.0):
        v = float(max(np.roots([0.2, 0, 1 / 2.5, -current]), key=lambda r: -abs(r.imag)).real)
        G = 1 / (0.7j * 2 * np.pi * FREQUENCY + 1 / 2.5 + 0.6 * v**2)
        name = f"at {current:g} A"
        given = {"f": FREQUENCY, "Z": G}
        cases.append(es.Case(name, given, frequency="f", inputs={"i": current}, outputs={"v": "Z"}))
    fit = es.fit(es.Study(model, ["R", "C", "k"], cases))
    assert fit.estimates == pytest.approx(truth, rel=1e-7)
    assert fit.unit_of(fit.cases[0].outputs[0]) == "V/A"


# --- weights -------------------------------------------------------------------------------------


def test_the_default_cost_is_the_squared_error_relative_to_the_response() -> None:
    G = response()
    fit = es.fit(study(spectrum(G)))
    o = fit.case("spectrum")["y/u"]
    missed = o.simulated_response - G
    assert o.measured_response == pytest.approx(G)
    assert fit.cost == pytest.approx(float(np.sum(np.abs(missed) ** 2) / np.mean(np.abs(G) ** 2)))
    assert o.rmse == pytest.approx(float(np.sqrt(np.mean(np.abs(missed) ** 2))))
    assert o.errn_percent == pytest.approx(100 * np.linalg.norm(missed) / np.linalg.norm(G))
    assert fit.n_samples == 100


def test_a_column_of_amplitudes_weighs_as_performance_function_7_14() -> None:
    G, c = response(), np.linspace(1, 3, len(FREQUENCY))
    given = {"f": FREQUENCY, "G": G, "c": c}
    output = {"real": "Re(G)", "imag": "Im(G)", "weighting": "c", "weight": 1}
    fit = es.fit(study(es.Case("a", given, frequency="f", outputs={"y": output})))
    missed = fit.cases[0].outputs[0].simulated_response - G
    assert fit.cost == pytest.approx(float(np.sum(np.abs(c * missed) ** 2)))


def test_relative_weighting_is_right_for_noise_that_grows_with_the_magnitude() -> None:
    G = response(3, 0.05, relative=True)
    plain, relative = (
        # phases far around the circle: a poor start of the delay ends in another turn
        es.fit(study(spectrum(G, weighting=w), criterion="ml", T=0.29))
        for w in ("uniform", "relative")
    )
    assert relative.noise["y/u"].variance == pytest.approx(0.05**2, rel=0.4)
    assert relative.aic < plain.aic - 50  # both are likelihoods of the same response
    for k, truth in enumerate(TRUTH.values()):
        assert abs(relative.values[k] - truth) < 4 * relative.accuracy.stderr[k]


def test_a_column_of_standard_deviations_equals_its_amplitudes() -> None:
    G, sigma = response(), np.linspace(0.01, 0.05, len(FREQUENCY))
    given = {"f": FREQUENCY, "G": G, "std": sigma, "c": 1 / sigma}
    parts = {"real": "Re(G)", "imag": "Im(G)"}
    known, amplitudes = (
        es.fit(study(es.Case("a", given, frequency="f", outputs={"y": {**parts, **more}})))
        for more in ({"sigma": "std"}, {"weighting": "c", "weight": 1})
    )
    assert known.estimates == pytest.approx(amplitudes.estimates, rel=1e-9)
    assert known.cost == pytest.approx(amplitudes.cost)


@pytest.mark.parametrize(
    "columns",
    [
        {"magnitude": "gain", "phase": "degrees"},
        {"magnitude": "dB", "phase": "degrees", "magnitude_unit": "dB"},
        {"magnitude": "gain", "phase": "radians", "phase_unit": "rad"},
        {"real": "Re(G)", "imag": "minus", "imag_scale": -1},
        {"real": "tenth real", "imag": "tenth imag", "scale": 10},
    ],
)
def test_every_way_to_write_a_response_means_the_same(columns: Mapping[str, Any]) -> None:
    G = response()
    given = {
        "f": FREQUENCY,
        "G": G,
        "gain": np.abs(G),
        "dB": 20 * np.log10(np.abs(G)),
        "degrees": np.rad2deg(np.angle(G)),
        "radians": np.angle(G),
        "minus": -G.imag,
        "tenth real": G.real / 10,
        "tenth imag": G.imag / 10,
    }
    expected = es.fit(study(spectrum(G)))
    fit = es.fit(study(es.Case("a", given, frequency="f", outputs={"y": dict(columns)})))
    assert fit.cost == pytest.approx(expected.cost, rel=1e-9)
    assert fit.estimates == pytest.approx(expected.estimates, rel=1e-9)


def test_angular_frequencies_in_any_order_give_the_same_fit() -> None:
    G = response()
    order = np.random.default_rng(1).permutation(len(G))
    given = {"w": 2 * np.pi * FREQUENCY[order], "G": G[order]}
    fit = es.fit(study(es.Case("a", given, angular_frequency="w", outputs={"y": "G"})))
    assert fit.values == pytest.approx(es.fit(study(spectrum(G))).values, rel=1e-9)


# --- what comes out ------------------------------------------------------------------------------


def test_pictures_are_bode_and_nyquist_plots() -> None:
    from estimica.estimate.fit.pictures import picture

    fit = es.fit(study(spectrum(response())))
    panels = picture(fit).panels
    assert [p.label for p in panels] == ["|y/u|", "phase of y/u [deg]", "Im y/u"]
    assert [p.group for p in panels] == ["Bode plot", "Bode plot", "Nyquist plot"]
    assert panels[0].across is not None
    assert panels[0].across.log
    assert panels[0].across.label == "frequency [Hz]"
    assert panels[2].across is not None
    assert panels[2].across.equal
    phase = panels[1].curves[1].value  # of a delay: it goes on falling, without jumps
    assert phase.min() < -900
    assert np.abs(np.diff(phase)).max() < 180
    assert [p.label for p in picture(fit, "residuals").panels] == ["Re y/u", "Im y/u"]
    assert len(picture(fit, "iterations").panels) == 2
    assert fit.plot() is not None


def test_files_hold_real_and_imaginary_parts(tmp_path: Path) -> None:
    fit = es.fit(study(spectrum(response())))
    (path,) = fit.write_csv(tmp_path / "a.csv")
    data = es.read_data(path)
    o = fit.case("spectrum")["y/u"]
    assert data.units["frequency"] == "Hz"
    assert data.column("frequency") == pytest.approx(FREQUENCY)
    assert data.column("y/u simulated imag") == pytest.approx(o.simulated_response.imag)
    quality = fit.to_dict()["quality"]
    assert quality == {
        "spectrum": {
            "role": "calibrate",
            "y/u": {
                "rmse": o.rmse,
                "fit_percent": o.fit_percent,
                "errn_percent": o.errn_percent,
            },
        }
    }
    assert fit.report(tmp_path / "a.html").stat().st_size > 10_000


def test_a_validating_spectrum_is_predicted() -> None:
    fit = es.fit(
        study(
            spectrum(response()),
            es.Case(
                "other",
                {"f": FREQUENCY, "G": response(1)},
                frequency="f",
                outputs={"y": "G"},
                role="validate",
            ),
        )
    )
    assert fit.case("other")["y/u"].rmse == pytest.approx(0.02 * np.sqrt(2), rel=0.2)


@pytest.mark.parametrize("transcription", ["collocation", "multiple-shooting"])
def test_transcriptions_over_time_refuse_frequency_responses(
    tmp_path: Path, transcription: str
) -> None:
    source = tmp_path / "Lag.mo"
    source.write_text(
        "model Lag parameter Real T = 2; input Real u; output Real y;"
        " equation T*der(y) + y = u; end Lag;"
    )
    estimation = es.Estimation(transcription=transcription)
    one = es.Study(es.load_model(source), ["T"], [spectrum(response())], estimation=estimation)
    with pytest.raises(FitError, match="case 'spectrum' is a frequency response, and"):
        es.fit(one)


def test_an_output_over_time_has_no_complex_response() -> None:
    time = np.arange(20) * 0.5
    case = es.Case("a", {"t": time, "y": time}, inputs={"u": 1.0}, outputs={"y": "y"})
    fit = es.fit(study(case))
    with pytest.raises(FitError, match="output 'y' was measured over time; use measured"):
        _ = fit.cases[0].outputs[0].measured_response


def test_a_fit_over_time_is_a_frequency_fit_weighted_by_the_input_spectrum() -> None:
    # Parseval: of a system of second order, both ways find the same best model of first order
    system = es.transfer_function("2/(1 + 0.8*s + 0.4*s^2)")
    frequency, amplitude = np.array([0.05, 0.15, 0.35, 0.6]), np.array([1.0, 0.4, 1.5, 0.7])
    G = system.frequency_response(2 * np.pi * frequency)
    time = np.arange(0, 60, 0.02)
    waves = amplitude * np.exp(2j * np.pi * np.outer(time, frequency))
    run = {"t": time, "u": waves.imag.sum(axis=1), "y": (waves * G).imag.sum(axis=1)}
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 1})
    over_time = es.Case(
        "run",
        run,
        inputs={"u": {"column": "u", "hold": "linear"}},
        outputs={"y": "y"},
        from_=40.0,  # one whole period, after all has settled
        to=59.985,
    )
    sines = es.Case(
        "sines",
        {"f": frequency, "G": G, "c": amplitude},
        frequency="f",
        outputs={"y": {"real": "Re(G)", "imag": "Im(G)", "weighting": "c"}},
    )
    found = [es.fit(es.Study(model, ["K", "tau"], [c])).values for c in (over_time, sines)]
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_a_response_at_the_start_values_finds_the_state_it_was_taken_at(tmp_path: Path) -> None:
    source = tmp_path / "Cell.mo"
    source.write_text(
        "model Cell parameter Real C = 0.5; input Real i; output Real v(start = 0, fixed = true);"
        " equation C*der(v) = i - 0.4*v - 0.2*v^3; end Cell;"
    )
    case = es.Case(
        "a",
        {"f": FREQUENCY, "Z": 1 / (0.7j * 2 * np.pi * FREQUENCY + 0.4 + 0.6 * 0.8**2)},
        frequency="f",
        operating_point="start",
        inputs={"i": 0.0},
        free_start={"v": 0.5},
        outputs={"v": "Z"},
    )
    fit = es.fit(es.Study(es.load_model(source), ["C"], [case]))
    assert fit.values == pytest.approx([0.7, 0.8], rel=1e-7)
    assert "experiment" not in fit.write_modelica(tmp_path / "Fitted.mo").read_text()
