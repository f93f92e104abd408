"""Models in discrete time: transfer functions in z and state space with a sample time."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import signal

import estimica as es
from estimica.study.check.run import check

H = 0.1
T = np.arange(60) * H
U = np.sin(3 * T) + np.where(np.arange(60) % 11 < 5, 1.0, -0.5)


@pytest.mark.parametrize(
    ("text", "b", "a"),
    [
        ("0.3/(z - 0.8)", [0, 0.3], [1, -0.8]),
        ("0.3*z^-1/(1 - 0.8*z^-1)", [0, 0.3], [1, -0.8]),
        ("(1 + 0.5*z^-1)/(1 - 0.9*z^-1 + 0.2*z^-2)", [1, 0.5], [1, -0.9, 0.2]),
        ("z^-7*0.3/(z - 0.8)", [*[0] * 8, 0.3], [1, -0.8]),
        ("1 + 2*z^-1 + z^-5", [1, 2, 0, 0, 0, 1], [1]),
        ("(z + 0.5)/(z*(z - 0.5)^2)", [0, 0, 1, 0.5], [1, -1, 0.25]),
        ("0.05*(z + 1)/(z - 1)", [0.05, 0.05], [1, -1]),  # Tustin's integrator
        ("2", [2], [1]),
        ("0.3/(z^-1)*z^-3", [0, 0, 0.3], [1]),
    ],
)
def test_a_text_in_z_is_the_filter_that_it_says(text: str, b: list[float], a: list[float]) -> None:
    model = es.transfer_function(text, sample_time=H)
    y = model.simulate(T, {"u": (T, U)}).value("y")
    np.testing.assert_allclose(y, signal.lfilter(b, a, U), rtol=1e-12, atol=1e-12)
    omega = np.linspace(0.2, np.pi / H, 40)
    _, expected = signal.dfreqresp((*_padded(b, a), H), w=omega * H)
    np.testing.assert_allclose(model.frequency_response(omega), expected, rtol=1e-11, atol=1e-13)


def _padded(b: list[float], a: list[float]) -> tuple[list[float], list[float]]:
    """Falling powers of z instead of rising ones of z^-1."""
    n = max(len(b), len(a))
    return np.trim_zeros([*b, *[0] * (n - len(b))], "f"), [*a, *[0] * (n - len(a))]


def test_the_recursion_by_hand() -> None:
    model = es.transfer_function("b*z^-2/(z - a)", sample_time=0.5, parameters={"a": 0.5, "b": 2.0})
    t = 0.5 * np.arange(6)
    y = model.simulate(t, {"u": (t, [1.0, 0, 0, 0, 0, 0])}).value("y")
    assert y.tolist() == [0, 0, 0, 2, 1, 0.5]
    assert model.parameter_names == ("b", "a")
    assert model.poles().tolist() == [0.5]
    assert model.gain().tolist() == [[4.0]]
    assert model.description == "z^-2*(b)/(z - a), every 0.5 s"


def test_derivatives_agree_with_differences() -> None:
    model = es.transfer_function(
        "(b0*z + b1)*z^-2/(z^2 + a1*z + a0)", sample_time=H, initial="steady"
    )
    at = {"b0": 0.5, "b1": 0.2, "a1": -1.2, "a0": 0.5}
    names = [*at, "x2"]
    found = model.sensitivities(T, {"u": (T, U)}, {**at}, {"x2": 0.3}, wrt=names)
    omega = np.array([0.5, 5.0, 30.0])
    _, slopes = model.frequency_sensitivities(omega, at, wrt=list(at))
    for k, name in enumerate(names):
        e = 1e-6

        def run(shift: float, name: str = name) -> np.ndarray:
            values = {**at, **({name: at[name] + shift} if name in at else {})}
            start = {"x2": 0.3 + (shift if name == "x2" else 0)}
            return model.simulate(T, {"u": (T, U)}, values, start).value("y")

        slope = (run(e) - run(-e)) / (2 * e)
        np.testing.assert_allclose(found.derivative("y", name), slope, rtol=1e-7, atol=1e-8)
        if name in at:
            ends = [model.frequency_response(omega, {**at, name: at[name] + s}) for s in (e, -e)]
            np.testing.assert_allclose(
                slopes[:, k], (ends[0] - ends[1]) / (2 * e), rtol=1e-6, atol=1e-8
            )


def test_state_space_is_the_recursion_with_its_delays() -> None:
    A, B, C, D = [[0.5, 0.2], [-0.1, 0.7]], [[1, 0], [0.5, 2]], [[1, 1]], [[0, 0.25]]
    model = es.state_space(A, B, C, D, delay=[0, 3], sample_time=H)
    u = np.column_stack([U, U[::-1]])
    y = model.simulate(T, {"u1": (T, u[:, 0]), "u2": (T, u[:, 1])}).value("y")
    x, expected = np.zeros(2), []
    for k in range(len(T)):
        now = np.array([u[k, 0], u[k - 3, 1] if k >= 3 else 0.0])
        expected.append(float((np.array(C) @ x + np.array(D) @ now)[0]))
        x = np.array(A) @ x + np.array(B) @ now
    np.testing.assert_allclose(y, expected, rtol=1e-13)


def test_inputs_are_sampled_at_the_instants_and_outputs_are_held() -> None:
    model = es.transfer_function("0.5/(z - 0.5)", sample_time=1.0)
    # between the instants 0, 1, 2, … the input has other values, which nobody sees
    stamps = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.9])
    u = {"u": (stamps, [1.0, 99.0, 0.0, 99.0, 0.0, 99.0])}
    times = np.array([0.0, 0.5, 1.0, 1.7, 2.0, 2.5, 3.0])
    y = model.simulate(times, u).value("y")
    assert y.tolist() == [0, 0, 0.5, 0.5, 0.25, 0.25, 0.125]
    # at 3 the input still has the value of 2.9: seen by the instant 3, and by the output at 4
    later = model.simulate([4.0], u, begin=0.0).value("y")
    assert later.tolist() == [0.5 * 0.125 + 0.5 * 99]


def test_a_linear_hold_is_sampled_on_its_line() -> None:
    model = es.transfer_function("z^-1", sample_time=1.0)
    ramp = {"u": {"time": [0.0, 4.0], "value": [0.0, 4.0], "hold": "linear"}}
    assert model.simulate(np.arange(5.0), ramp).value("y").tolist() == [0, 0, 1, 2, 3]


def test_rounded_stamps_belong_to_their_instants() -> None:
    exact = np.arange(200) / 30
    written = np.round(exact, 3)  # 0.033, 0.067, …: some before, some after their instants
    model = es.transfer_function("0.4/(z - 0.6)", sample_time=1 / 30)
    u = np.sin(np.arange(200.0))
    y = model.simulate(written, {"u": (written, u)}).value("y")
    np.testing.assert_allclose(y, signal.lfilter([0, 0.4], [1, -0.6], u), rtol=1e-12)


def test_what_was_before_the_run_reaches_it_through_the_delay() -> None:
    t = np.arange(-3.0, 6.0)
    u = np.arange(9.0) + 1
    late = es.transfer_function("z^-4", sample_time=1.0)
    # samples at 0, 1, … see the inputs at −4, −3, …: the record begins at −3
    y = late.simulate(np.arange(6.0), {"u": (t, u)}, begin=0.0).value("y")
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    steady = es.transfer_function("z^-4", sample_time=1.0, initial="steady")
    y = steady.simulate(np.arange(6.0), {"u": (t, u)}, begin=0.0).value("y")
    assert y.tolist() == [1, 1, 2, 3, 4, 5]


def test_a_steady_start_stays_where_it_is() -> None:
    model = es.transfer_function("0.3*z^-3/(z - 0.9)", sample_time=H, initial="steady")
    y = model.simulate(T, {"u": 2.0}).value("y")
    np.testing.assert_allclose(y, 6.0, rtol=1e-13)
    integrator = es.transfer_function("1/(z - 1)", sample_time=H, initial="steady")
    with pytest.raises(es.SimulationError, match="no steady state, a pole is at one"):
        integrator.simulate(T, {"u": 2.0})


def test_the_sampled_lag_answers_like_the_lag_itself() -> None:
    """Zero-order hold: both agree at the instants."""
    lag = es.transfer_function("2/(1 + 3*s)")
    decay = float(np.exp(-H / 3))
    sampled = es.transfer_function(f"2*(1 - {decay!r})/(z - {decay!r})", sample_time=H)
    held = {"u": (T, U)}
    np.testing.assert_allclose(
        sampled.simulate(T, held).value("y"), lag.simulate(T, held).value("y"), atol=1e-13
    )


# --- fits -----------------------------------------------------------------------------------------


def _measured(seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    t = np.arange(400) * H
    u = np.where(np.mod(t, 8) < 4, 1.0, -1.0)
    y = signal.lfilter([0, 0, 0, 0.3], [1, -0.85], u, zi=[0.7, 0, 0])[0]
    return pd.DataFrame({"time": t, "u": u, "y": y + 0.02 * random.standard_normal(400)})


def _study(data: pd.DataFrame, **case: object) -> es.Study:
    model = es.transfer_function("b*z^-2/(z - a)", sample_time=H)
    tuners = [es.Tuner("a", start=0.5), es.Tuner("b", start=1.0)]
    one = es.Case("run", data, inputs={"u": "u"}, outputs={"y": "y"}, **case)  # type: ignore[arg-type]
    return es.Study(model, tuners, [one])


def test_a_fit_finds_the_parameters_and_the_start_value() -> None:
    fit = es.fit(_study(_measured(), free_start=["x1"]))
    assert fit.outcome.status == "converged"
    for name, truth in {"a": 0.85, "b": 0.3}.items():
        assert abs(fit[name] - truth) < 4 * fit.parameters.stderr[name]
    assert float(fit.start_values.value.iloc[0]) == pytest.approx(0.7, abs=0.05)


def test_missing_samples_are_not_missed() -> None:
    """The estimate is that of least squares over the samples that are there."""
    from scipy.optimize import least_squares

    data = _measured()
    data.loc[np.arange(400) % 3 == 1, "y"] = np.nan
    data = data.drop(index=[50, 51, 52, 120])  # rows that were lost: the input is held meanwhile
    study = _study(data)
    assert not check(study)
    fit = es.fit(study)
    here = np.rint(data.time / H).astype(int)
    held = pd.Series(np.nan, index=range(400))
    held[here] = data.u.to_numpy()
    u = held.ffill().to_numpy()
    known = np.isfinite(data.y.to_numpy())

    def residual(p: np.ndarray) -> np.ndarray:
        y = signal.lfilter([0, 0, 0, p[1]], [1, -p[0]], u)
        return (y[here] - data.y.to_numpy())[known]

    expected = least_squares(residual, [0.5, 1.0], xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    assert [fit["a"], fit["b"]] == pytest.approx(expected, rel=1e-5)


def test_a_frequency_response_is_fitted_up_to_half_the_sampling_frequency() -> None:
    hertz = np.linspace(0.2, 4.9, 30)
    _, G = signal.dfreqresp(([0.3], [1, -0.85, 0, 0], H), w=2 * np.pi * hertz * H)
    table = pd.DataFrame({"f": hertz, "re": G.real, "im": G.imag})
    from estimica.study.response_columns import ResponseColumns

    model = es.transfer_function("b*z^-2/(z - a)", sample_time=H)
    tuners = [es.Tuner("a", start=0.5), es.Tuner("b", start=1.0)]
    columns = {"y": ResponseColumns(real="re", imag="im")}
    case = es.Case("sweep", table, outputs=columns, frequency="f")
    fit = es.fit(es.Study(model, tuners, [case]))
    assert fit["a"] == pytest.approx(0.85, rel=1e-6)
    assert fit["b"] == pytest.approx(0.3, rel=1e-6)
    far = table.assign(f=hertz + 1)
    case = es.Case("sweep", far, outputs=columns, frequency="f")
    with pytest.raises(es.ModelError, match=r"M187: .*above half the sampling frequency, 31.4"):
        es.fit(es.Study(model, tuners, [case]))


def test_a_sample_time_that_is_not_that_of_the_data_is_told() -> None:
    data = _measured()

    def warnings(step: float) -> list[str]:
        study = _study(data)
        model = es.transfer_function("b*z^-2/(z - a)", sample_time=step)
        other = es.Study(model, study.tuners, study.cases)
        return [p.text for p in check(other) if p.code == "C059" and p.warning]

    assert not warnings(0.1)
    told = "320 of 400 samples lie between the instants of the model, every 0.25 s"
    assert told in warnings(0.25)[0]
    assert "a sample every 0.05 s, the data every 0.1 s" in warnings(0.05)[0]


def test_a_study_file_has_the_sample_time(tmp_path: Path) -> None:
    _measured().to_csv(tmp_path / "run.csv", index=False)
    text = (
        '[model]\nsource = "b*z^-2/(z - a)"\nsample_time = 0.1\n[tune]\na = 0.5\nb = 1.0\n'
        '[[case]]\nname = "run"\ndata = "run.csv"\ninputs = { u = "u" }\noutputs = { y = "y" }\n'
        'free_start = ["x1"]\n'
    )
    path = tmp_path / "study.toml"
    path.write_text(text)
    fit = es.fit(es.read_study(path))
    assert fit["a"] == pytest.approx(0.85, abs=0.005)
    path.write_text(text.replace("sample_time = 0.1\n", ""))
    with pytest.raises(es.EstimicaError, match=r"M181: .*sample_time = 0.1 in \[model\]"):
        es.read_study(path)
    path.write_text(text.replace("b*z^-2/(z - a)", "b/(s + a)"))
    with pytest.raises(es.EstimicaError, match=r"M182: .*in s, a model in continuous time"):
        es.read_study(path)
    path.write_text(text.replace("b*z^-2/(z - a)", "model.mo"))
    with pytest.raises(es.EstimicaError, match="sample_time is for transfer functions in z only"):
        es.read_study(path)


def test_new_takes_the_sample_time_from_the_data(tmp_path: Path) -> None:
    from estimica.apps.draft import draft_study

    _measured().to_csv(tmp_path / "run.csv", index=False)
    drafted = draft_study("b*z^-2/(z - a)", None, [tmp_path / "run.csv"], tmp_path, []).text
    assert "sample_time = 0.1   # seconds, as the data have it" in drafted
    assert "\nz =" not in drafted
    alone = draft_study("b/(z - a)", None, [], tmp_path, []).text
    assert re.search(r"sample_time = 1   # seconds, set it: no data say it", alone)


def test_the_command_line_simulates_transfer_functions() -> None:
    import json

    from typer.testing import CliRunner

    from estimica.apps.cli.commands.app import app

    def run(*given: str) -> object:
        return CliRunner().invoke(app, ["simulate", *given])

    values = ("--set", "a=0.5", "--set", "b=2", "--input", "u=1", "--stop", "2.5")
    told = run("b*z^-2/(z - a)", "--sample-time", "0.5", *values, "--sensitivity", "a", "--json")
    found = json.loads(told.stdout)
    assert found["time"] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert found["values"]["y"] == [0, 0, 0, 2, 3, 3.5]
    assert found["sensitivities"]["y"]["a"] == [0, 0, 0, 0, 2, 4]
    told = run("b/(s + a)", *values, "--points", "6", "--json")
    expected = 4 * (1 - np.exp(-0.5 * np.arange(6) * 0.5))
    np.testing.assert_allclose(json.loads(told.stdout)["values"]["y"], expected, rtol=1e-12)
    for given, message in (
        (("b/(z - a)", *values), "M181"),
        (("b/(z - a)", "Class", "--sample-time", "1", *values), "leave out class 'Class'"),
        (("b/(z - a)", "--sample-time", "1e-9", *values), "M186: --sample-time 1e-09 makes"),
        (("Model.mo", "--sample-time", "1", *values), "M182: --sample-time is for transfer"),
    ):
        refused = run(*given, "--json")
        assert refused.exit_code == 2
        assert message.split(": ")[-1] in refused.stdout


# --- what cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("b/(z - a) + s", {"sample_time": 0.1}, "M180: .*holds both s and z.*rename one"),
        ("(1 + z*s)/(1 + p*s)", {}, "M180: "),
        ("b/(z - a)", {}, "M181: .*needs its sample time in seconds"),
        ("b/(1 + s)", {"sample_time": 1}, "M182: sample_time 1.0: 'b/.* leave it out"),
        ("z*b", {"sample_time": 1}, r"M104: .*z\^1 above and z\^0 below.*multiply it by z\^-1"),
        ("z^2/(z - a)", {"sample_time": 1}, r"M104: .*answer to the future"),
        ("exp(z)/(z - 1)", {"sample_time": 1}, r"M103: .*z cannot stand inside exp"),
        ("z^0.5", {"sample_time": 1}, "a power of z must be a whole number"),
        ("z^-99999", {"sample_time": 1}, "the power -99999 is too high"),
        ("1 + z^-999", {"sample_time": 1}, r"z\^999 is too high; at most z\^200"),
        ("b/(z - a)", {"sample_time": 0}, "M185: the sample time 0 must be a positive number"),
        ("b/(z - a)", {"sample_time": "x"}, "M185: the sample time 'x' is not a number"),
        ("b/(z - a)", {"sample_time": 1, "delay": 0.5}, "M183: delay 0.5: .*whole number of samp"),
        ("b/(z - a)", {"sample_time": 1, "delay": "T"}, "M183: delay 'T'"),
    ],
)
def test_what_cannot_be_is_told(text: str, given: dict[str, float], message: str) -> None:
    with pytest.raises(es.ModelError, match=message):
        es.transfer_function(text, **given)  # type: ignore[arg-type]


def test_z_is_never_a_parameter() -> None:
    with pytest.raises(es.ModelError, match=r"M100: .*holds z; a coefficient is without it"):
        es.state_space([["z"]], [[1]], [[1]])
    with pytest.raises(es.ModelError, match=r"M189: .*holds z, which is never a parameter"):
        es.frequency_function("z*tanh(sqrt(s))/sqrt(s)")
    model = es.transfer_function("b/(z - a)", sample_time=H)
    assert "z" not in {q.name for q in model.quantities()}
    with pytest.raises(es.ModelError, match=r"M125: .*no coefficient uses 'z'"):
        es.transfer_function("b/(z - a)", sample_time=H, parameters={"z": 1.0})


def test_other_refusals() -> None:
    model = es.transfer_function("0.1/(z - 0.9)", sample_time=1e-9)
    with pytest.raises(es.ModelError, match="M186: a sample time of 1e-09 s makes"):
        model.simulate(T, {"u": 1.0})
    with pytest.raises(es.ModelError, match=r"M188: .*sampled already, every 1e-09 s"):
        model.discretise(0.1)
    wild = es.transfer_function("1/(z - 9)", sample_time=1e-3)
    with pytest.raises(es.SimulationError, match="grows beyond all numbers"):
        wild.simulate(T, {"u": 1.0})


def test_it_travels_to_another_process() -> None:
    model = es.transfer_function("b/(z - a)", sample_time=H, parameters={"a": 0.8, "b": 0.3})
    again = pickle.loads(pickle.dumps(model))
    assert again.sample_time == H
    held = {"u": (T, U)}
    np.testing.assert_array_equal(
        again.simulate(T, held).value("y"), model.simulate(T, held).value("y")
    )


def test_sampled_systems_of_python_control_keep_their_sample_time() -> None:
    control = pytest.importorskip("control")
    plant = control.tf([0.3, 0.1], [1.0, -0.8, 0.1], dt=0.1)
    model = es.transfer_function(plant)
    assert (model.sample_time, model.values) == (0.1, {"b1": 0.3, "b0": 0.1, "a1": -0.8, "a0": 0.1})
    omega = np.array([0.3, 3.0, 30.0])
    expected = np.squeeze(plant(np.exp(1j * omega * 0.1)))
    np.testing.assert_allclose(model.frequency_response(omega), expected, rtol=1e-13)
    assert es.state_space(control.ss(plant)).sample_time == 0.1
    unsaid = control.tf([1.0], [1.0, -0.5], dt=True)
    assert es.transfer_function(unsaid, sample_time=0.2).sample_time == 0.2
    for given, more, message in (
        (unsaid, {}, "M181: the system is sampled, but dt does not say how often"),
        (plant, {"sample_time": 0.2}, "M184: sample_time 0.2 is not that of the system, dt = 0.1"),
        (control.tf([1.0], [1.0, 1.0]), {"sample_time": 0.2}, "M182: .*continuous time"),
    ):
        with pytest.raises(es.ModelError, match=message):
            es.transfer_function(given, **more)


def test_the_best_square_wave_is_found_for_a_model_in_discrete_time() -> None:
    model = es.transfer_function("b/(z - a)", sample_time=H)
    settings = {
        "signal": "square", "input": "u", "outputs": ["y"], "duration": 40.0, "step": H,
        "vary": {"frequency": [0.05, 0.2, 0.8]},
    }  # fmt: skip
    design = es.design_input(model, settings, values={"a": 0.9, "b": 0.1})
    best = SimpleNamespace(**design.best.settings)
    assert best.frequency in (0.05, 0.2, 0.8)
