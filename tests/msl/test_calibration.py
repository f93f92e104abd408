"""Parameters of library models, found again from noisy data of their own simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]


def calibrated(
    name: str, truth: dict[str, float], outputs: dict[str, float], stop: float, start: float = 0.6
) -> es.Fit:
    """A fit to the model's own simulation with `truth` and noise of the sizes in `outputs`."""
    model = es.load_model(name)
    times = np.linspace(0, stop, 201)
    run = model.simulate(times, parameters=truth, outputs=list(outputs))
    noise = np.random.default_rng(7)
    columns = {n: run.value(n) + noise.normal(0, s, times.size) for n, s in outputs.items()}
    data = pd.DataFrame({"time": times, **columns})
    tuners = [
        es.Tuner(n, start=start * value, min=0.05 * value, max=20 * value, scale="log")
        for n, value in truth.items()
    ]
    case = es.Case("run", data, outputs={n: n for n in outputs})
    return es.fit(es.Study(model, tuners=tuners, cases=[case], criterion="ml"))


def check(fit: es.Fit, truth: dict[str, float]) -> None:
    for name, value in truth.items():
        found, error = fit.parameters.loc[name, ["value", "stderr"]]
        assert abs(found - value) < 4 * error, name
        assert error < 0.1 * value, name


def test_a_thermal_motor_gives_its_capacities_and_its_conductance():
    truth = {"winding.C": 2500.0, "core.C": 25000.0, "winding2core.G": 10.0}
    fit = calibrated(
        "Modelica.Thermal.HeatTransfer.Examples.Motor",
        truth,
        {"Twinding.T": 0.3, "Tcore.T": 0.3},
        7200.0,
    )
    check(fit, truth)


def test_a_rotational_drive_gives_its_spring_damper_and_load():
    truth = {"spring.c": 1.2e4, "inertia3.J": 2.2, "damper.d": 12.0}
    fit = calibrated(
        "Modelica.Mechanics.Rotational.Examples.First",
        truth,
        {"inertia2.w": 0.02, "inertia3.w": 0.02},
        1.0,
        start=0.8,
    )
    check(fit, truth)
