"""Studies that the tests of release share, and costs from an independent solver."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

import estimica as es
from estimica.simulate.formula import formula_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TRUTH = {
    "T_D": 285.0,
    "T_R": 19.0,
    "A4": 0.26,
    "start of P in run 1": 148.0,
    "start of x2 in run 1": 28.0,
    "disturbance of E in run 1": 10.0,
    "disturbance of P in run 1": -10.0,
}
VARIANCES = {"E": 0.5, "P": 10.0}
K1, A1, A2, K2, A3, K3 = 0.3, 14.0, 3.3, 0.064, 15.0, 0.32
TUNERS = (
    es.Tuner("T_D", start=250, min=10, max=500),
    es.Tuner("T_R", start=30, min=1, max=100),
    es.Tuner("A4", start=0.5, min=0, max=1),
)


def boiler_inputs(samples: int = 500, hold: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stamps, valve and fuel: a new level every ten samples, as in the engine's comparison."""
    random = np.random.default_rng(0)
    time = np.linspace(0.0, 1000.0, samples + 1)[:-1]
    levels = -(-samples // hold)
    valve = np.repeat(random.uniform(0.5, 0.9, levels), hold)[:samples]
    fuel = np.repeat(random.uniform(15, 35, levels), hold)[:samples]
    return time, valve, fuel


def boiler_outputs(
    values: Mapping[str, float], time: np.ndarray, valve: np.ndarray, fuel: np.ndarray
) -> dict[str, np.ndarray]:
    """Power and pressure after eq. 5.5 of the thesis, by SciPy."""
    state = np.array([values["start of P in run 1"], values["start of x2 in run 1"]])
    states = np.empty((len(time), 2))
    changes = np.flatnonzero((np.diff(valve) != 0) | (np.diff(fuel) != 0)) + 1
    edges = [0, *changes, len(time)]
    for a, b in pairwise(edges):

        def slope(_: float, x: np.ndarray, a: int = a) -> list[float]:
            steam = A2 * valve[a] * x[0]
            return [
                K1 / values["T_D"] * (A1 * fuel[a] - steam),
                K2 / values["T_R"] * (steam - A3 * x[1]),
            ]

        end = time[b] if b < len(time) else time[-1]
        stamps = time[a : b + 1]
        if end == time[a]:
            states[a] = state
            continue
        run = solve_ivp(
            slope, (time[a], end), state, "LSODA", t_eval=stamps, rtol=1e-10, atol=1e-10
        )
        states[a : a + len(stamps)] = run.y.T[: len(stamps)]
        state = run.y[:, -1]
    steam = A2 * valve * states[:, 0]
    a4 = values["A4"]
    power = K3 * (a4 * steam + (1 - a4) * A3 * states[:, 1])
    return {
        "E": power + values["disturbance of E in run 1"],
        "P": states[:, 0] + values["disturbance of P in run 1"],
    }


def boiler_cost(
    values: Mapping[str, float], noise: Mapping[str, float], measured: Mapping[str, np.ndarray]
) -> float:
    """Σ v²/r + log r by SciPy."""
    simulated = boiler_outputs(values, *boiler_inputs())
    cost = 0.0
    for name, r in noise.items():
        v = simulated[name] - measured[name]
        cost += float(v @ v) / r + len(v) * np.log(r)
    return cost


def boiler_data(seed: int = 0) -> dict[str, np.ndarray]:
    """Noisy measurements with the variances of table 5.19."""
    random = np.random.default_rng(seed)
    exact = boiler_outputs(TRUTH, *boiler_inputs())
    return {n: y + np.sqrt(VARIANCES[n]) * random.standard_normal(len(y)) for n, y in exact.items()}


def boiler(
    measured: Mapping[str, np.ndarray], starts: Mapping[str, float] | None = None
) -> es.Study:
    """The boiler from table 5.10's start: T_D 250, T_R 30, A4 0.5, nothing else known."""
    time, valve, fuel = boiler_inputs()
    table = pd.DataFrame({"t": time, "valve": valve, "fuel": fuel, **measured})
    case = es.Case(
        "run 1",
        table,
        time="t",
        inputs={"uc": "valve", "fc": "fuel"},
        outputs={
            "E": es.OutputColumn("E", disturbance=True),
            "P": es.OutputColumn("P", disturbance=True),
        },
        free_start=dict(starts or {"P": 0.0, "x2": 0.0}),
    )
    return es.Study(boiler_model(), TUNERS, [case], criterion="ml", name="boiler")


@cache
def boiler_model() -> es.ModelicaModel:
    """Loaded once."""
    return es.load_model(EXAMPLES / "drum_boiler" / "Boiler.mo")


def line(n: int = 60, seed: int = 1, **details: object) -> es.Study:
    """y = a + b x + c x², true c = 0, with Gaussian noise of variance 0.04."""
    random = np.random.default_rng(seed)
    x = np.linspace(0, 1, n)
    y = 1 + 2 * x + 0.2 * random.standard_normal(n)
    model = formula_model({"y": "a + b*x + c*x^2"}, inputs=["x"])
    output = es.OutputColumn("y", **({"weight": 1.0} | details))  # type: ignore[arg-type]
    case = es.Case(
        "points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": output}
    )
    tuners = [es.Tuner(n, start=0.0, min=-10, max=10) for n in "abc"]
    return es.Study(model, tuners, [case], criterion="ml")
