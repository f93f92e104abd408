"""The calibration examples find what they promise, from the study files that users run."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from tests import warm_python
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BENCHMARK = "cascaded_tanks/dataBenchmark.csv"
RECORDING = "tclab/mimo_energy_balance_data.txt"
#: example, how many iterations at most, how close to the truth
CIRCUITS = {"nonlinear_circuit": (15, 1e-6), "dead_zone_circuit": (10, 1e-4)}
#: study files that need no data from elsewhere
STUDIES = (
    "nonlinear_circuit/nonlinear_circuit.toml",
    "dead_zone_circuit/dead_zone_circuit.toml",
    "drum_boiler/drum_boiler.toml",
    "drum_boiler/boiler.toml",
    "furuta_pendulum/furuta_pendulum.toml",
    "furuta_pendulum/arm.toml",
)


def script(path: Path) -> ModuleType:
    """A script of an example as a module, under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def truth_of(example: str) -> dict[str, float]:
    return script(EXAMPLES / example / "make_data.py").TRUTH


def farthest(values: np.ndarray, truth: Mapping[str, float]) -> float:
    """The largest relative distance from the truth."""
    true = np.array(list(truth.values()))
    return float(np.max(np.abs(values / true - 1)))


def copied(names: tuple[str, ...], example: str, folder: Path) -> None:
    for name in names:
        shutil.copy(EXAMPLES / example / name, folder)


# --- circuits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", CIRCUITS)
def test_circuit_is_found_in_few_iterations(example):
    most, close = CIRCUITS[example]
    truth = truth_of(example)
    fit = es.fit(es.read_study(EXAMPLES / example / f"{example}.toml"))
    assert list(fit.estimates) == list(truth)
    assert fit.outcome.ok
    reached = [i.number for i in fit.iterations if farthest(i.values, truth) <= close]
    assert reached[0] <= most
    assert farthest(fit.values, truth) <= close
    assert len(fit.iterations) - 1 <= 15


def test_dead_zone_is_found_without_events_too():
    study = es.read_study(EXAMPLES / "dead_zone_circuit" / "dead_zone_circuit.toml")
    model = es.load_model(EXAMPLES / "DeadZoneCircuit.mo", "DeadZoneCircuit.WithoutEvents")
    fit = es.fit(es.Study(model, study.tuners, study.cases))
    truth = truth_of("dead_zone_circuit")
    reached = [i.number for i in fit.iterations if farthest(i.values, truth) <= 1e-4]
    assert fit.outcome.ok
    assert reached[0] <= 10


# --- drum boiler ---------------------------------------------------------------------------------


def boiler(name: str = "drum_boiler") -> es.Study:
    return es.read_study(EXAMPLES / "drum_boiler" / f"{name}.toml")


def test_boiler_estimates_agree_with_the_truth_within_their_errors():
    made = script(EXAMPLES / "drum_boiler" / "make_data.py")
    fit = es.fit(boiler())
    assert fit.outcome.ok
    off = (fit.parameters["value"] - pd.Series(made.TRUTH)) / fit.parameters["stderr"]
    assert off.abs().max() < 3
    for name, variance in made.VARIANCES.items():
        spread = variance * np.sqrt(2 / 500)
        assert abs(fit.noise[name].variance - variance) < 3 * spread


def test_free_starts_and_disturbances_of_the_case_equal_parameters_of_the_model():
    inside, outside = es.fit(boiler("drum_boiler")), es.fit(boiler("boiler"))
    own = pd.concat([outside.start_values, outside.disturbances]).droplevel("case")
    order = ["w_E", "w_P", "x10", "x20"]
    found = [
        *outside.parameters["value"],
        *outside.disturbances["value"],
        *outside.start_values["value"],
    ]
    assert list(own.index) == ["P", "x2", "E", "P"]
    wanted = inside.parameters.loc[["T_D", "T_R", "A4", *order]]
    np.testing.assert_allclose(found, wanted["value"], rtol=1e-5)
    errors = [
        *outside.parameters["stderr"],
        *outside.disturbances["stderr"],
        *outside.start_values["stderr"],
    ]
    np.testing.assert_allclose(errors, wanted["stderr"], rtol=1e-3)
    assert outside.cost == pytest.approx(inside.cost, rel=1e-8)
    assert outside.noise["E"].variance == pytest.approx(inside.noise["E"].variance, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_samples_that_are_missing_here_and_there_change_little(seed):
    study = boiler()
    (case,) = study.cases
    table = pd.read_csv(EXAMPLES / "drum_boiler" / "run1.csv")
    table.columns = ["time", "valve", "fuel", "power", "pressure"]
    random = np.random.default_rng(seed)
    kept = {}
    for name in table.columns[1:]:
        dropped = random.random(len(table)) < 0.3
        if name in ("valve", "fuel"):  # held between their stamps: a change must be recorded
            dropped &= (table[name].diff() == 0).to_numpy()
        table.loc[dropped, name] = np.nan
        kept[name] = table.loc[~dropped, "time"].to_numpy()
    less = es.Case("run 1", table, inputs=case.inputs, outputs=case.outputs)
    fit, thin = es.fit(study), es.fit(study.with_(cases=[less]))
    assert thin.n_samples == len(kept["power"]) + len(kept["pressure"]) < 0.8 * fit.n_samples
    np.testing.assert_array_equal(thin.cases[0]["E"].time, kept["power"])
    np.testing.assert_array_equal(thin.cases[0]["P"].time, kept["pressure"])
    for a, b in ((fit.parameters, thin.parameters), (thin.parameters, fit.parameters)):
        assert (a["ci95_low"] < b["value"]).all()
        assert (b["value"] < a["ci95_high"]).all()
    assert (thin.parameters["stderr"] > fit.parameters["stderr"]).all()


# --- cascaded tanks ------------------------------------------------------------------------------


@pytest.fixture
def tanks(cases: Path, tmp_path: Path) -> Path:
    """A folder as a user has it who followed the page."""
    copied(("CascadedTanks.mo", "plain.toml", "overflow.toml"), "cascaded_tanks", tmp_path)
    script(EXAMPLES / "cascaded_tanks" / "prepare.py").main(cases / BENCHMARK, tmp_path)
    return tmp_path


def runge_kutta(k: tuple[float, ...], x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The lower level of the plain tanks, four classical steps a sample."""
    k1, k2, k3, k4 = k
    h = 1.0

    def slope(x, u):
        q = np.sqrt(x)
        return np.array([k4 * u - k1 * q[0], k2 * q[0] - k3 * q[1]])

    found = np.empty(len(u))
    for i, level in enumerate(u):
        found[i] = x[1]
        for _ in range(4):
            a = slope(x, level)
            b = slope(x + h / 2 * a, level)
            c = slope(x + h / 2 * b, level)
            x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c, level))
    return found


def test_plain_tanks_reach_their_optimum_of_0603_volts(tanks):
    fit = es.fit(es.read_study(tanks / "plain.toml"))
    assert fit.outcome.ok
    compared = fit.case("estimation")["y"]
    # 0.603102 V is the optimum of SciPy's least_squares around `runge_kutta`
    assert compared.rmse == pytest.approx(0.603102, abs=5e-6)
    data = es.read_data(tanks / "tanks.csv")
    k = (fit["k"], fit["k"], fit["k3"], fit["k4"])
    witness = runge_kutta(k, fit.start_values["value"].to_numpy(), data.column("pump"))
    np.testing.assert_allclose(compared.simulated, witness, atol=2e-4)
    assert fit.case("validation")["y"].rmse < 0.6695


def test_tanks_that_spill_over_predict_the_validation_data(tanks):
    study = es.read_study(tanks / "overflow.toml")
    fit = es.fit(study)
    assert fit.outcome.ok
    assert fit.case("estimation")["y"].rmse < 0.28
    assert fit.case("validation")["y"].rmse < 0.41
    low, high = fit.parameters.loc["caught", ["ci95_low", "ci95_high"]]
    assert low < 1 < high  # nothing is lost between the tanks
    simple = es.fit(study.with_(tuners=[t for t in study.tuners if t.name != "caught"]))
    assert simple.case("estimation")["y"].rmse < 0.4738
    assert simple.case("validation")["y"].rmse < 0.5760


def test_tanks_predict_from_a_start_that_only_50_samples_give(tanks, cases):
    fit = es.fit(es.read_study(tanks / "overflow.toml"))
    again = script(EXAMPLES / "cascaded_tanks" / "fit.py").overflow(cases / BENCHMARK)
    np.testing.assert_allclose(list(again.estimates.values()), list(fit.estimates.values()), 1e-3)
    begun = dict(zip(("x1", "x2"), fit.case("first 50 samples").values, strict=True))
    whole = again.case("validation")
    assert not whole.unknowns
    assert whole["y"].simulated[0] == pytest.approx(begun["x2"] + fit["offset"], abs=2e-3)
    assert whole["y"].rmse < 0.41


# --- temperature lab -----------------------------------------------------------------------------


@pytest.fixture
def lab(cases: Path, tmp_path: Path) -> Path:
    names = ("TemperatureLab.mo", "temperature_lab.toml", "relative.toml")
    copied(names, "temperature_lab", tmp_path)
    shutil.copy(cases / RECORDING, tmp_path / "lab.txt")
    return tmp_path


def test_temperature_lab_reaches_the_optimum_of_absolute_errors(lab):
    study = es.read_study(lab / "temperature_lab.toml")
    fit = es.fit(study)
    assert np.ptp(np.diff(es.read_data(lab / "lab.txt").time())) > 0.01  # irregular stamps
    assert fit["U"] == pytest.approx(2.96524, rel=1e-4)
    assert fit["alpha1"] == pytest.approx(5.52445e-3, rel=1e-4)
    assert fit["alpha2"] == pytest.approx(2.92992e-3, rel=1e-4)
    assert fit.cost <= 1905.7
    assert fit.n_samples == 1198


def test_temperature_lab_reaches_the_optimum_of_relative_errors(lab):
    fit = es.fit(es.read_study(lab / "relative.toml"))
    assert fit["U"] == pytest.approx(2.58990, rel=1e-4)
    assert fit["alpha1"] == pytest.approx(5.30720e-3, rel=1e-4)
    assert fit["alpha2"] == pytest.approx(2.88596e-3, rel=1e-4)
    assert fit.cost == pytest.approx(1.367565, rel=1e-6)
    assert fit.iterations[0].cost == pytest.approx(54.1471, rel=1e-4)


# --- Furuta pendulum -----------------------------------------------------------------------------


def furuta(name: str) -> es.Study:
    return es.read_study(EXAMPLES / "furuta_pendulum" / f"{name}.toml")


def test_furuta_estimates_agree_with_the_truth_and_predict_another_start():
    made = script(EXAMPLES / "furuta_pendulum" / "make_data.py")
    fit = es.fit(furuta("furuta_pendulum"))
    assert fit.outcome.ok
    off = (fit.parameters["value"] - pd.Series(made.TRUTH)) / fit.parameters["stderr"]
    assert off.abs().max() < 3
    starts = fit.start_values.loc["horizontal"]
    off = (starts["value"] - pd.Series(made.STARTS["horizontal"])) / starts["stderr"]
    assert off.abs().max() < 3
    noise = np.radians(made.NOISE)
    for name, most in (("horizontal", 1.1), ("more upright", 1.5)):
        for output in ("phi", "theta"):
            assert fit.case(name)[output].rmse < most * noise


def test_furuta_angle_is_measured_with_jumps_and_compared_without():
    shown = es.read_data(EXAMPLES / "furuta_pendulum" / "upright.csv").column("pendulum")
    assert np.abs(np.diff(shown)).max() > 300
    fit = es.fit(furuta("furuta_pendulum"))
    assert np.abs(np.diff(fit.case("more upright")["theta"].measured)).max() < 0.6


def test_mass_and_inertia_of_the_arm_are_not_told_apart():
    study = furuta("arm")
    fit = es.fit(study)
    assert fit.outcome.ok
    assert fit.identifiability.rank == fit.identifiability.n - 1
    (direction,) = fit.identifiability.null_directions
    assert set(direction) == {"J_c", "m_arm"}
    # along the valley J_c + m_arm r_c² does not change
    ratio = direction["J_c"] * fit["J_c"] / (direction["m_arm"] * fit["m_arm"])
    assert ratio == pytest.approx(-(0.1225**2), rel=1e-3)
    table = fit.parameters
    assert not table.loc[["J_c", "m_arm"], "identifiable"].any()
    assert np.isinf(table.loc[["J_c", "m_arm"], "stderr"]).all()
    assert table.loc[["Jp", "d_phi", "d_theta"], "identifiable"].all()
    (advice,) = fit.identifiability.advice
    assert advice.startswith("only J_c + 0.01501·m_arm is determined by these data, not 'J_c' and")
    whole = es.fit(furuta("furuta_pendulum"))
    assert fit["J_c"] + fit["m_arm"] * 0.1225**2 == pytest.approx(whole["J"], rel=1e-5)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "files"),
    [
        ("nonlinear_circuit", ("step.csv",)),
        ("dead_zone_circuit", ("step.csv",)),
        ("drum_boiler", ("run1.csv",)),
        ("furuta_pendulum", ("horizontal.csv", "upright.csv")),
    ],
)
def test_data_are_what_their_script_makes(example, files, tmp_path):
    script(EXAMPLES / example / "make_data.py").main(tmp_path)
    for name in files:
        made, kept = es.read_data(tmp_path / name), es.read_data(EXAMPLES / example / name)
        assert made.names == kept.names
        for column in kept.names:
            # one unit of the last digit that is written
            np.testing.assert_allclose(made.column(column), kept.column(column), atol=0.11, rtol=0)
            middle = np.abs(made.column(column) - kept.column(column))
            assert np.median(middle) < 1e-9


@pytest.mark.parametrize("study", STUDIES)
def test_study_file_is_accepted_and_fitted(study):
    for command in (["check"], ["fit", "--quiet", "--no-store"]):
        done = CliRunner().invoke(app, [*command, str(EXAMPLES / study)])
        assert done.exit_code == 0, done.output
    assert "converged" in done.output


@pytest.mark.parametrize("name", ["plain", "overflow"])
def test_study_of_the_tanks_is_accepted(name, tanks):
    done = CliRunner().invoke(app, ["check", str(tanks / f"{name}.toml")])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", ["temperature_lab", "relative"])
def test_study_of_the_lab_is_accepted(name, lab):
    done = CliRunner().invoke(app, ["check", str(lab / f"{name}.toml")])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("example", list(dict.fromkeys(Path(s).parent.name for s in STUDIES)))
def test_script_runs(example, tmp_path):
    run_script(example, [], tmp_path)


@pytest.mark.parametrize(
    ("example", "data"), [("cascaded_tanks", BENCHMARK), ("temperature_lab", RECORDING)]
)
def test_script_takes_the_path_of_its_data(example, data, cases, tmp_path):
    run_script(example, [str(cases / data)], tmp_path)


@pytest.mark.parametrize("example", ["cascaded_tanks", "temperature_lab"])
def test_script_without_data_says_where_to_get_them(example, tmp_path):
    path = EXAMPLES / example / "fit.py"
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "https://" in done.stderr
    assert "Traceback" not in done.stderr


def run_script(example: str, arguments: list[str], folder: Path) -> None:
    warm_python.run_script(EXAMPLES / example / "fit.py", folder, arguments)
