"""Studies that all transcriptions are shown on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.simulate.engine.options import Options
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case
from estimica.study.estimation import Estimation, Solver
from estimica.study.study import Study
from estimica.study.tuner import Tuner

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
BOILER = ROOT / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"
EXACT = Options(rtol=1e-11, atol=1e-12)
SHARP = Solver(rtol=1e-8, atol=1e-10)

LINEAR_STATES = """
model LinearStates "E. Palmkvist, Lund University, 2014, equation (5.1)"
  parameter Real a1 = 1;
  parameter Real a2 = 1;
  parameter Real b1 = 1;
  parameter Real b2 = 3;
  parameter Real x10 = 0.5;
  parameter Real x20 = 0.9;
  input Real u1;
  input Real u2;
  output Real y1;
  output Real y2;
  Real x1(start = x10, fixed = true);
  Real x2(start = x20, fixed = true);
equation
  der(x1) = -a1*x1 + a2*x2 + u1;
  der(x2) = -b1*x1 - b2*x2 + u2;
  y1 = x1*x2;
  y2 = x2/(1 + x1);
end LinearStates;
"""

LORENZ = """
model Lorenz "Chaotic: neighbouring trajectories part like exp(0.9 t)"
  parameter Real sigma = 10;
  parameter Real rho = 28;
  parameter Real beta = 8/3;
  Real x(start = -8, fixed = true);
  Real y(start = 7, fixed = true);
  Real z(start = 27, fixed = true);
equation
  der(x) = sigma*(y - x);
  der(y) = x*(rho - z) - y;
  der(z) = x*y - beta*z;
end Lorenz;
"""

NOTORIOUS = """
model Notorious "Bock's example: x = sin(p t) for the right p, any other grows like exp(mu t)"
  parameter Real p = 3.141592653589793;
  parameter Real mu = 20;
  Real x(start = 0, fixed = true);
  Real v(start = 3.141592653589793, fixed = true);
equation
  der(x) = v;
  der(v) = mu^2*x - (mu^2 + p^2)*sin(p*time);
end Notorious;
"""

Frame = pd.DataFrame
Steps = Mapping[str, tuple[list[float], list[float]]]


@cache
def model(name: str) -> ModelicaModel:
    """A model of these tests by name."""
    texts = {"LinearStates": LINEAR_STATES, "Lorenz": LORENZ, "Notorious": NOTORIOUS}
    if name in texts:
        return load_model(texts[name])
    if name == "DrumBoiler":
        return load_model(BOILER)
    if name.endswith("Circuit"):
        return load_model(EXAMPLES / "NonlinearCircuit.mo", f"NonlinearCircuit.{name}")
    return load_model(EXAMPLES / f"{name}.mo")


def held(steps: tuple[list[float], list[float]], t: npt.NDArray[np.float64]) -> object:
    """A step signal at the stamps."""
    times, values = (np.asarray(a) for a in steps)
    return values[np.searchsorted(times, t + 1e-9, side="right") - 1]


def simulated(
    name: str,
    t: npt.NDArray[np.float64],
    steps: Steps,
    sigmas: Mapping[str, float],
    parameters: Mapping[str, float] | None = None,
    seed: int = 1,
) -> Frame:
    """Data of a model with Gaussian noise: columns t, the inputs, the outputs."""
    rng = np.random.default_rng(seed)
    inputs = {n: held(s, t) for n, s in steps.items()}
    run = model(name).simulate(
        t,
        {n: (t, v) for n, v in inputs.items()},
        dict(parameters or {}),
        outputs=list(sigmas),
        options=EXACT,
    )
    noisy = {n: run.value(n) + s * rng.standard_normal(len(t)) for n, s in sigmas.items()}
    return Frame({"t": t, **inputs, **noisy})


def study(
    name: str,
    data: Frame,
    tuners: Mapping[str, float],
    inputs: list[str],
    outputs: list[str],
    estimation: Estimation,
    solver: Solver = SHARP,
    **case: object,
) -> Study:
    """A study with one case."""
    one = Case(
        "run",
        data,
        inputs={n: n for n in inputs},
        outputs={n: n for n in outputs},
        **case,  # type: ignore[arg-type]
    )
    found = [Tuner(n, start=v) for n, v in tuners.items()]
    return Study(model(name), found, [one], estimation=estimation, solver=solver)


def boiler(estimation: Estimation, n: int = 500) -> Study:
    """The drum boiler of seed 001 with steps of valve and fuel."""
    rng = np.random.default_rng(1)
    t = np.linspace(0, 2.0 * n, n)
    begins = list(np.arange(0.0, 2.0 * n, 50.0))
    steps = {
        "uc": (begins, list(rng.uniform(0.5, 0.9, len(begins)))),
        "fc": (begins, list(rng.uniform(15, 35, len(begins)))),
    }
    data = simulated("DrumBoiler", t, steps, {"E": 0.7, "P": 3.0})
    start = {"T_D": 250, "T_R": 30, "A4": 0.5, "w_E": 0, "w_P": 0, "x10": 100, "x20": 20}
    return study("DrumBoiler", data, start, ["uc", "fc"], ["E", "P"], estimation)


def circuit(estimation: Estimation) -> Study:
    """The nonlinear circuit of seed 000 from (2, 2, 2, 2)."""
    t = np.linspace(0, 20, 100)
    data = simulated("Circuit", t, {"u": ([0.0], [10.0])}, {"i": 0.02})
    return study("Circuit", data, dict.fromkeys(["R1", "R2", "C", "L"], 2.0), ["u"], ["i"],
                 estimation)  # fmt: skip


STEPS = {"u1": ([0.0, 5.0], [0.0, 1.0]), "u2": ([0.0, 25.0], [0.0, 1.0])}


def four_states(estimation: Estimation) -> Study:
    """Equation 5.2 of seed 001, all twelve parameters free."""
    t = np.linspace(0, 40, 300)
    sigmas = {"x1": 0.0316, "x2": 0.01, "x3": 0.0707, "x4": 0.0707}
    data = simulated("FourStates", t, STEPS, sigmas)
    truth = {"a1": 1.0, "a2": 3.0, "b1": 0.5, "b2": 0.9, "c1": 0.8, "c2": 1.0, "d1": 0.7, "d2": 0.3,
             "x10": 1.0, "x20": 1.0, "x30": 1.0, "x40": 1.0}  # fmt: skip
    start = {n: v * (1.15 if k % 2 else 0.85) for k, (n, v) in enumerate(truth.items())}
    return study("FourStates", data, start, ["u1", "u2"], list(sigmas), estimation)


REFERENCE = {"boiler": boiler, "circuit": circuit, "four states": four_states}


@cache
def best(name: str, criterion: str) -> Fit:
    """The optimum of a reference study by shooting with Levenberg-Marquardt."""
    return fit(REFERENCE[name](Estimation(criterion=criterion, tolerance=1e-10)))


def several_cases(estimation: Estimation, **options: object) -> Study:
    """Two cases of the boiler: stamps of their own, gaps, start values, a disturbance, a log scale.

    A tuner drives a parameter through an expression; one input is linear between its stamps.
    """
    rng = np.random.default_rng(5)
    cases = []
    for k, (n, x1) in enumerate([(150, 148.0), (110, 120.0)]):
        t = np.sort(rng.uniform(0, 600, n))
        t[0] = 0.0
        begins = list(np.arange(0.0, 600.0, 75.0))
        valve = held((begins, list(rng.uniform(0.5, 0.9, len(begins)))), t)
        fuel = 25 + 5 * np.sin(t / 60 + k)
        run = model("DrumBoiler").simulate(
            t,
            {"uc": (t, valve), "fc": {"time": t, "value": fuel, "hold": "linear"}},
            {"w_E": 10.0 + 3 * k},
            {"x1": x1},
            outputs=["E", "P"],
            options=EXACT,
        )
        data = Frame({"t": t, "valve": valve, "fuel": fuel})
        for name, sigma in (("E", 0.7), ("P", 1.5)):
            values = run.value(name) + sigma * rng.standard_normal(n)
            values[rng.uniform(size=n) < 0.3] = np.nan
            data[name] = values
        cases.append(
            Case(
                f"run {k}",
                data,
                inputs={"uc": "valve", "fc": {"column": "fuel", "hold": "linear"}},  # type: ignore[dict-item]
                outputs={"E": {"column": "E", "disturbance": True}, "P": "P"},  # type: ignore[dict-item]
                free_start={"x1": 100.0},
                fix={"w_E": 0.0},
            )
        )
    tuners = [
        Tuner("T_D", start=200, scale="log"),
        Tuner("tau", start=3.5, drives={"T_R": "tau^2 + 1"}),
        Tuner("A4", start=0.5, min=0, max=1),
    ]
    return Study(model("DrumBoiler"), tuners, cases, estimation=estimation, solver=SHARP)


def apart(one: Fit, other: Fit) -> float:
    """The largest relative difference of the estimates."""
    return float(np.max(np.abs(one.values / other.values - 1)))
