"""What a study can say: tuners that drive several parameters, table elements, cases of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es

EXACT = es.Options(rtol=1e-11, atol=1e-13)
TIGHT = es.Solver(rtol=1e-9, atol=1e-11)

OSCILLATOR = """
model Oscillator "Mass between two springs, with a friction table over speed"
  parameter Real m(unit = "kg") = 1;
  parameter Real left(unit = "N/m") = 1;
  parameter Real right(unit = "N/m") = 1;
  parameter Real tau_pos[2, 2] = [0, 0.1; 1, 0.3] "Friction over speed, both positive";
  input Real F(unit = "N");
  output Real x(unit = "m", start = 0, fixed = true);
  output Real v(unit = "m/s", start = 0, fixed = true);
protected
  Real s = v/sqrt(v^2 + 0.01) "A smooth sign";
  Real friction = s*tau_pos[1, 2] + v*(tau_pos[2, 2] - tau_pos[1, 2])/(tau_pos[2, 1] - tau_pos[1, 1]);
equation
  der(x) = v;
  m*der(v) = F - (left + right)*x - friction;
end Oscillator;
"""

ELECTROMETER = """
model Electrometer "A picofarad that is charged through gigaohms and leaks"
  parameter Real C(unit = "F") = 1e-12 "Capacitance of the input";
  parameter Real R(unit = "Ohm") = 1e9 "Resistance of the source";
  parameter Real Rp(unit = "Ohm") = 1e9 "Leakage";
  input Real u(unit = "V");
  output Real i(unit = "A") "Current of the source";
  output Real y(unit = "V", start = 0, fixed = true) "Voltage of the input";
equation
  i = (u - y)/R;
  C*der(y) = i - y/Rp;
end Electrometer;
"""

#: the same with a state of 1e-12, whose size the model says, as any tool for Modelica wants it
CHARGE = """
model Charge "A picofarad that is charged through gigaohms and leaks"
  parameter Real C(unit = "F") = 1e-12 "Capacitance of the input";
  parameter Real R(unit = "Ohm") = 1e9 "Resistance of the source";
  parameter Real Rp(unit = "Ohm") = 1e9 "Leakage";
  input Real u(unit = "V");
  output Real i(unit = "A") "Current of the source";
  output Real y(unit = "V") "Voltage of the input";
  Real q(unit = "C", start = 0, fixed = true, nominal = 1e-12) "Charge";
equation
  y = q/C;
  i = (u - y)/R;
  der(q) = i - y/Rp;
end Charge;
"""

STILL = """
model Still "An output that does not move"
  parameter Real level = 0;
  output Real y = level;
end Still;
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], es.ModelicaModel]:
    def written(text: str) -> es.ModelicaModel:
        path = tmp_path / "Model.mo"
        path.write_text(text, encoding="utf-8")
        return es.load_model(path)

    return written


def measured(
    model: es.ModelicaModel, truth: Mapping[str, float], outputs: list[str], t: np.ndarray, **inputs
) -> pd.DataFrame:
    """A noise-free experiment: inputs and outputs over time."""
    run = model.simulate(
        t,
        inputs={n: (t, u) for n, u in inputs.items()},
        parameters=dict(truth),
        outputs=outputs,
        options=EXACT,
    )
    return pd.DataFrame({"t": t, **inputs, **{n: run.value(n) for n in outputs}})


def pushes(t: np.ndarray) -> np.ndarray:
    """Forces that change every two seconds."""
    random = np.random.default_rng(3)
    return random.uniform(-2, 2, 20)[np.minimum((t // 2).astype(int), 19)]


TIMES = np.linspace(0.0, 20.0, 401)


def test_one_tuner_drives_two_parameters(load):
    model = load(OSCILLATOR)
    data = measured(model, {"left": 1.7, "right": 1.7, "m": 1.3}, ["x"], TIMES, F=pushes(TIMES))
    study = es.Study(
        model,
        [es.Tuner("k", start=1, min=0.1, max=10, drives=["left", "right"]), es.Tuner("m", start=1)],
        [es.Case("pushed", data, inputs={"F": "F"}, outputs={"x": "x"})],
        solver=TIGHT,
    )
    fit = es.fit(study)
    assert fit.outcome.ok
    assert fit["k"] == pytest.approx(1.7, rel=1e-6)
    assert fit["m"] == pytest.approx(1.3, rel=1e-6)


def test_a_tuner_drives_parameters_by_expressions(load):
    model = load(OSCILLATOR)
    truth = {"left": 0.8, "right": 2.4, "m": 1.3}
    data = measured(model, truth, ["x"], TIMES, F=pushes(TIMES))
    study = es.Study(
        model,
        [es.Tuner("k", start=1, drives={"left": "k", "right": "3*k"}), es.Tuner("m", start=1)],
        [es.Case("pushed", data, inputs={"F": "F"}, outputs={"x": "x"})],
        solver=TIGHT,
    )
    fit = es.fit(study)
    assert fit["k"] == pytest.approx(0.8, rel=1e-6)
    assert fit["m"] == pytest.approx(1.3, rel=1e-6)


def test_elements_of_a_table_are_tuners(load):
    model = load(OSCILLATOR)
    truth = {"tau_pos[1,2]": 0.25, "tau_pos[2,2]": 0.9, "m": 1.3}
    data = measured(model, truth, ["x"], TIMES, F=pushes(TIMES))
    study = es.Study(
        model,
        [es.Tuner("tau_pos[1,2]", start=0.1), es.Tuner("tau_pos[2,2]", start=0.3), es.Tuner("m")],
        [es.Case("pushed", data, inputs={"F": "F"}, outputs={"x": "x"})],
        solver=TIGHT,
    )
    fit = es.fit(study)
    for name, value in truth.items():
        assert fit[name] == pytest.approx(value, rel=1e-6), name


def test_cases_with_masses_of_their_own_share_their_tuners(load):
    model = load(OSCILLATOR)
    truth = {"left": 1.7, "tau_pos[1,2]": 0.25, "tau_pos[2,2]": 0.9}
    cases = [
        es.Case(
            f"{mass} kg",
            measured(model, {**truth, "m": mass}, ["x"], TIMES, F=pushes(TIMES)),
            inputs={"F": "F"},
            outputs={"x": "x"},
            fix={"m": mass},
        )
        for mass in (0.5, 1.0, 2.0)
    ]
    starts = {"left": 1.0, "tau_pos[1,2]": 0.1, "tau_pos[2,2]": 0.3}
    fit = es.fit(
        es.Study(model, [es.Tuner(n, start=s) for n, s in starts.items()], cases, solver=TIGHT)
    )
    assert [c.name for c in fit.cases] == ["0.5 kg", "1.0 kg", "2.0 kg"]
    for name, value in truth.items():
        assert fit[name] == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize("text", [ELECTROMETER, CHARGE], ids=["voltage", "charge"])
def test_picofarads_and_gigaohms_need_no_scaling(load, text):
    model = load(text)
    truth = {"C": 1.2e-12, "R": 2.3e9, "Rp": 7.1e9}
    t = np.linspace(0.0, 0.02, 201)
    u = np.where(t < 0.01, 1.0, -0.5)
    data = measured(model, truth, ["i", "y"], t, u=u)
    study = es.Study(
        model,
        [es.Tuner("C", start=3e-12), es.Tuner("R", start=1e9), es.Tuner("Rp", start=2e10)],
        [es.Case("steps", data, inputs={"u": "u"}, outputs={"i": "i", "y": "y"})],
        solver=TIGHT,
    )
    fit = es.fit(study)
    assert fit.outcome.ok
    assert fit.identifiability.rank == 3
    for name, value in truth.items():
        assert fit[name] == pytest.approx(value, rel=1e-6), name


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_picofarads_and_gigaohms_work_with_noise(load, criterion):
    model = load(ELECTROMETER)
    truth = {"C": 1.2e-12, "R": 2.3e9, "Rp": 7.1e9}
    t = np.linspace(0.0, 0.02, 201)
    data = measured(model, truth, ["i", "y"], t, u=np.where(t < 0.01, 1.0, -0.5))
    random = np.random.default_rng(4)
    for name in ("i", "y"):
        spread = 0.01 * np.abs(data[name]).max()
        data[name] += spread * random.standard_normal(len(t))
    study = es.Study(
        model,
        [es.Tuner("C", start=3e-12), es.Tuner("R", start=1e9), es.Tuner("Rp", start=2e10)],
        [es.Case("steps", data, inputs={"u": "u"}, outputs={"i": "i", "y": "y"})],
        criterion,
    )
    fit = es.fit(study)
    assert fit.outcome.ok
    table = fit.parameters
    off = (table["value"] - pd.Series(truth)) / table["stderr"]
    assert off.abs().max() < 4


def noise() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame({"t": np.arange(1000.0), "y": random.standard_normal(1000)})


def test_variance_of_pure_noise_with_a_known_mean_is_its_mean_square(load):
    data = noise()
    study = es.Study(load(STILL), [], [es.Case("noise", data, outputs={"y": "y"})], "ml")
    fit = es.fit(study)
    assert fit.noise["y"].variance == pytest.approx(np.mean(data["y"] ** 2), rel=1e-8)


@pytest.mark.parametrize("way", ["disturbance", "parameter"])
def test_mean_and_variance_of_pure_noise_are_the_closed_forms(load, way):
    data = noise()
    column = es.OutputColumn("y", disturbance=way == "disturbance")
    tuners = [es.Tuner("level", start=1.0)] if way == "parameter" else []
    study = es.Study(load(STILL), tuners, [es.Case("noise", data, outputs={"y": column})], "ml")
    fit = es.fit(study)
    mean = data["y"].mean()
    found = fit["level"] if way == "parameter" else fit.disturbances["value"].item()
    assert found == pytest.approx(mean, abs=1e-8)
    assert fit.noise["y"].variance == pytest.approx(np.mean((data["y"] - mean) ** 2), rel=1e-8)
    n, r = len(data), fit.noise["y"].variance
    assert fit.cost == pytest.approx(n + n * np.log(r), rel=1e-10)
    assert fit.accuracy.stderr[0] == pytest.approx(np.sqrt(r / (n - 1)), rel=1e-6)
