"""The examples of release find what their pages say, and their data come from their scripts."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.warm_python import run_script

import estimica as es

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PAGES = {
    "rc_circuit": "rc-circuit",
    "two_point_noise": "two-point-noise",
    "heat_exchanger": "heat-exchanger",
}


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", PAGES)
def test_data_come_from_the_script(example: str, tmp_path: Path):
    script(EXAMPLES / example / "make_data.py").main(tmp_path)
    made = sorted(tmp_path.glob("*.csv"))
    assert made
    for path in made:
        kept = np.loadtxt(EXAMPLES / example / path.name, delimiter=",", skiprows=1)
        again = np.loadtxt(path, delimiter=",", skiprows=1)
        np.testing.assert_allclose(again, kept, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("example", PAGES)
def test_page_shows_the_model_that_is_run(example: str):
    page = (ROOT / "docs" / "examples" / f"{PAGES[example]}.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```modelica\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (model,) = (EXAMPLES / example).glob("*.mo")
    assert shown.strip() == model.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(
    "path", ["rc_circuit/release.py", "two_point_noise/fit.py", "heat_exchanger/release.py"]
)
def test_script_runs(path: str, tmp_path: Path):
    run_script(EXAMPLES / path, tmp_path)


# --- heat exchanger ------------------------------------------------------------------------------


def study(name: str) -> es.Study:
    return es.read_study(EXAMPLES / "heat_exchanger" / f"{name}.toml")


def test_exponent_of_a_constant_flow_stays_undetermined():
    release = es.release(study("constant_flow"))
    assert release.released == ("alpha_wall", "C1")
    assert release.held == ("C2", "C3")
    third = release.steps[-1]
    c3 = next(c for c in third.candidates if c.name == "C3")
    assert abs(c3.cost_reduction) < 1e-6 * third.cost
    assert c3.risk > 0.99
    (advice,) = release.advice
    assert "'C3'" in advice
    assert "'alpha_wall'" in advice
    assert release.fit.cost == pytest.approx(680.7, abs=0.1)


def test_steps_of_the_flow_tell_the_exponent():
    release = es.release(study("flow_steps"))
    assert release.outcome.message == "everything is released"
    assert release.advice == ()
    assert release.fit["C3"] == pytest.approx(0.8, abs=0.01)  # the plant's own
    assert release.fit["C2"] == 0  # at its bound, as in the thesis
    assert all(c.cost_reduction >= 0 for s in release.steps for c in s.candidates)


def test_start_that_follows_the_tuners_fits_as_well_with_three_unknowns_less():
    steady, free = es.release(study("constant_flow")), es.release(study("free_start"))
    assert free.fit.n_free == steady.fit.n_free + 3
    assert steady.fit.cost == pytest.approx(free.fit.cost, rel=1e-3)
    assert free.steps[0].candidates[0].freedom == 3


def test_lumped_model_begins_at_rest_whatever_its_tuners_are():
    model = es.load_model(EXAMPLES / "heat_exchanger" / "HeatExchanger.mo", "HeatExchanger.Lumped")
    inputs = {"m_in": 90.0, "h_in": 2.9e6, "T_gas": 1100.0, "valve": 1.0}
    for alpha in (1000.0, 5000.0):
        run = model.simulate([0.0, 500.0], inputs, {"alpha_wall": alpha}, outputs=["h_out", "p"])
        np.testing.assert_allclose(run.value("h_out")[1], run.value("h_out")[0], rtol=5e-6)
        assert run.value("p")[0] == pytest.approx(90 / 5.9e-6, rel=1e-9)


# --- two-point noise -----------------------------------------------------------------------------


def test_two_point_noise_shows_in_the_residuals_only():
    fit = es.fit(es.read_study(EXAMPLES / "two_point_noise" / "two_point_noise.toml"))
    truth = script(EXAMPLES / "two_point_noise" / "make_data.py").TRUTH
    errors = (fit.values - np.array(list(truth.values()))) / fit.accuracy.stderr
    assert np.all(np.abs(errors) < 3)
    for output in fit.cases[0].outputs:
        scaled = output.residual / output.rmse
        assert np.mean(scaled**4) < 1.2  # Gaussian: 3
        assert np.mean(np.abs(scaled) < 0.5) < 0.02  # Gaussian: 0.38
