"""The examples of operating points: what they find, how fast, and that their data are theirs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

import estimica as es

FOLDERS = ("compressor", "resistor", "condenser")


def _made(examples: Path, name: str) -> dict[str, object]:
    return runpy.run_path(str(examples / name / "make_data.py"))


@pytest.mark.parametrize("name", FOLDERS)
def test_scripts_make_the_data_of_the_examples(examples, tmp_path, name):
    _made(examples, name)["main"](tmp_path)
    for made in tmp_path.iterdir():
        kept = np.loadtxt(examples / name / made.name, delimiter=",", skiprows=1)
        found = np.loadtxt(made, delimiter=",", skiprows=1)
        assert found == pytest.approx(kept, rel=1e-4, abs=0.02)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_scripts_of_the_examples_run(examples, name, capsys):
    runpy.run_path(str(examples / name / "fit.py"))
    assert capsys.readouterr().out


@pytest.mark.parametrize("study", ["compressor.toml", "function.toml"])
def test_the_compressor_converges_in_fifteen_evaluations_from_starts_30_percent_off(
    examples, study
):
    asked = es.read_study(examples / "compressor" / study)
    true = _made(examples, "compressor")["TRUE"]
    starts = {t.name: t.start for t in asked.tuners}
    assert all(abs(abs(starts[n] / v - 1) - 0.3) < 1e-9 for n, v in true.items())
    fit = es.fit(asked)
    found = json.loads(json.dumps(fit.to_dict()))
    assert found["outcome"]["status"] == "converged"
    assert found["n_samples"] == 30
    assert found["evaluations"]["simulations"] <= 15
    assert found["evaluations"]["sensitivities"] <= 15
    for k, (name, value) in enumerate(true.items()):
        assert abs(fit[name] - value) < 3 * fit.accuracy.stderr[k]


def test_formula_and_function_of_the_compressor_agree(examples):
    folder = examples / "compressor"
    one, other = (es.fit(es.read_study(folder / f"{n}.toml")) for n in ("compressor", "function"))
    assert one.values == pytest.approx(other.values, rel=1e-7)


def test_the_resistor_alone_is_fitted_with_errors_in_its_current(examples):
    made = _made(examples, "resistor")
    fit = es.fit(es.read_study(examples / "resistor" / "resistor.toml"))
    for k, true in enumerate((made["R0"], made["ALPHA"])):
        assert abs(fit.values[k] - true) < 3 * fit.accuracy.stderr[k]
    i, v = np.loadtxt(examples / "resistor" / "points.csv", delimiter=",", skiprows=1).T
    # the same by hand: every true current is an unknown
    from scipy.optimize import least_squares

    def residuals(p):
        true = i + 0.06 * p[2:]
        return np.r_[(p[0] * true / (1 - p[0] * p[1] * true**2) - v) / 0.2, p[2:]]

    whole = least_squares(residuals, np.r_[10, 0.01, np.zeros(40)], xtol=1e-14, ftol=1e-14)
    assert fit.values == pytest.approx(whole.x[:2], rel=1e-5)
    assert fit.cost == pytest.approx(2 * whole.cost, rel=1e-9)


def test_the_condensers_correlations_are_recovered(examples):
    true = _made(examples, "condenser")["TRUE"]
    fit = es.fit(es.read_study(examples / "condenser" / "condenser.toml"))
    assert fit.outcome.ok
    assert len(fit.study.model.model.states) >= 20
    for k, name in enumerate(("C1", "C2", "C3", "C4")):
        assert abs(fit[name] - true[name]) < 3 * fit.accuracy.stderr[k]


def test_steady_and_simulated_points_of_the_condenser_agree_and_steady_is_faster(examples):
    made = _made(examples, "condenser")
    given, true = made["points"](), made["TRUE"]
    model = es.load_model(examples / "condenser" / "Condenser.mo")
    outputs, points = ["Q", "dp", "h_out"], np.arange(24.0)
    found, seconds = {}, {}
    for mode in ("steady", "simulate"):
        response = model.at_points(mode).response(
            points, given, true, outputs=outputs, wrt=["C1", "C2"]
        )
        response.at(np.array([0.36, 0.55]))
        lasted = []
        for k in range(3):
            begun = perf_counter()
            run = response.at(np.array([0.36 + 1e-3 * k, 0.55]))
            lasted.append(perf_counter() - begun)
        assert run.ok
        found[mode], seconds[mode] = run, min(lasted)
    assert pytest.approx(found["simulate"].Y, rel=1e-6) == found["steady"].Y
    assert pytest.approx(found["simulate"].YS, rel=1e-5, abs=1e-6) == found["steady"].YS
    assert seconds["simulate"] > 20 * seconds["steady"]
    # a plain simulation over a long time knows nothing of points
    k = 7
    inputs = {n: float(v[k]) for n, v in given.items()}
    run = model.simulate(
        [0.0, 3000.0],
        inputs,
        parameters=true | {"C1": 0.362},
        outputs=outputs,
        options=es.Options(rtol=1e-9, atol=1e-9),
    )
    rest = [run.value(n)[-1] for n in outputs]
    assert found["steady"].Y[k] == pytest.approx(rest, rel=1e-6)


def test_what_the_points_leave_open_matters_in_the_transient_and_is_found_there(examples):
    folder = examples / "condenser"
    fit = es.fit(es.read_study(folder / "condenser.toml"))
    step = es.read_study(folder / "step.toml")
    second = es.second_model(fit, step)
    assert [list(d.changes) for d in second.directions] == [["C_wall"]]
    assert second.directions[0].matters
    held = [es.Tuner(n, start=v, active=False) for n, v in fit.estimates.items()]
    found = es.fit(step.with_(tuners=[*step.tuners, *held]))
    true = _made(examples, "condenser")["TRUE"]["C_wall"]
    assert abs(found["C_wall"] - true) < 3 * found.accuracy.stderr[0]


def test_the_reactor_takes_the_users_file(examples, cases):
    study = runpy.run_path(str(examples / "reactor" / "fit.py"))["study"]
    fit = es.fit(study(cases / "parmest" / "reactor_data.csv"))
    assert fit.values == pytest.approx([0.860669, 1.627205, 1.680583e-4], rel=1e-6)
    assert fit.cost == pytest.approx(1373232.85, abs=0.01)


def test_the_fitted_resistor_extends_the_original_and_can_be_loaded(examples, tmp_path):
    fit = es.fit(es.read_study(examples / "resistor" / "resistor.toml"))
    path = fit.write_modelica(tmp_path / "FittedWarm.mo")
    assert "extends Resistor.Warm(" in path.read_text()
    folder = examples / "resistor"
    model = es.load_model(path, libraries=[folder], inputs=["i", "n.v"]).at_points()
    found = model.evaluate({"i": np.array([0.5, 1.0]), "n.v": 0.0}, outputs=["v"])
    R0, alpha = fit.values
    i = np.array([0.5, 1.0])
    assert found["v"].to_numpy() == pytest.approx(R0 * i / (1 - R0 * alpha * i**2), rel=1e-9)
