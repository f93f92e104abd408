"""The nonlinear circuit of four unknowns, in series and with an algebraic loop, from its parts.

Inductance and capacitance have no bounds: below zero, and near it, simulations fail.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

PARTS = """
  connector Pin  Real v; flow Real i; end Pin;
  partial model OnePort
    Pin p; Pin n; Real v; Real i;
  equation
    v = p.v - n.v; i = p.i; p.i + n.i = 0;
  end OnePort;
  model Inductor extends OnePort; parameter Real L = 2; equation L*der(i) = v; end Inductor;
  model Capacitor extends OnePort; parameter Real C = 2; equation C*der(v) = i; end Capacitor;
  model Source extends OnePort; parameter Real V = 10; equation v = V; end Source;
  model Ground Pin p; equation p.v = 0; end Ground;
"""
#: of the Modelica Standard Library
LIBRARY = """
  partial model OnePort = Modelica.Electrical.Analog.Interfaces.OnePort;
  model Inductor = Modelica.Electrical.Analog.Basic.Inductor;
  model Capacitor = Modelica.Electrical.Analog.Basic.Capacitor;
  model Source = Modelica.Electrical.Analog.Sources.ConstantVoltage;
  model Ground = Modelica.Electrical.Analog.Basic.Ground;
"""
CIRCUITS = """
  model Resistor
    extends OnePort; parameter Real R1 = 2; parameter Real R2 = 2;
  equation
    v = R1*i + R2*i^5;
  end Resistor;
  partial model Circuit
    Resistor res; Source src(V = 10); Ground gnd;
    Inductor ind(L = 2, i(start = 0, fixed = true));
    Capacitor cap(C = 2, v(start = 0, fixed = true));
    output Real y = ind.i;
  equation
    connect(src.p, res.p); connect(src.n, gnd.p);
  end Circuit;
  model Series
    extends Circuit;
  equation
    connect(res.n, ind.p); connect(ind.n, cap.p); connect(cap.n, src.n);
  end Series;
  model Loop
    extends Circuit;
  equation
    connect(res.n, cap.p); connect(res.n, ind.p);
    connect(cap.n, gnd.p); connect(ind.n, gnd.p);
  end Loop;
"""
TRUTH = {"res.R1": 0.5, "res.R2": 1.0, "cap.C": 0.5, "ind.L": 1.0}
DURATION = {"Series": 20.0, "Loop": 10.0}


def circuit(kind: str, parts: str = PARTS) -> ModelicaModel:
    """The model of the series circuit, or of that with a loop."""
    return load_model(f"package Circuits {parts} {CIRCUITS} end Circuits;", f"Circuits.{kind}")


def current(kind: str, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The current of the inductor by SciPy; raises where it cannot be simulated."""
    r1, r2, c, ind = values

    def through(voltage: float) -> float:
        """The resistor's current at a voltage, of a resistance that rises."""
        far = 1.0 + abs(voltage) / max(r1, 1e-9)
        return brentq(lambda i: r1 * i + r2 * i**5 - voltage, -far, far, xtol=1e-14)

    def series(_: float, x: np.ndarray) -> list[float]:
        return [(10 - x[1] - r1 * x[0] - r2 * x[0] ** 5) / ind, x[0] / c]

    def loop(_: float, x: np.ndarray) -> list[float]:
        return [x[1] / ind, (through(10 - x[1]) - x[0]) / c]

    found = solve_ivp(
        series if kind == "Series" else loop,
        (0.0, float(times[-1])),
        [0.0, 0.0],
        method="LSODA",
        t_eval=times,
        rtol=1e-9,
        atol=1e-11,
    )
    return np.asarray(found.y[0])


def measured(kind: str, noise: float = 0.0) -> pd.DataFrame:
    """A step of ten volts: a hundred samples of the true current, by SciPy."""
    time = np.linspace(0, DURATION[kind], 100)
    values = current(kind, np.array(list(TRUTH.values())), time)
    values = values + noise * np.random.default_rng(0).standard_normal(len(time))
    return pd.DataFrame({"time": time, "y": values})


def circuit_study(
    model: ModelicaModel, data: pd.DataFrame, start: np.ndarray, **settings: object
) -> Study:
    """All four unknowns from a start, residuals in amperes."""
    tuners = [Tuner(n, start=float(v)) for n, v in zip(TRUTH, start, strict=True)]
    case = Case("step", data, outputs={"y": OutputColumn("y", weight=1.0)})
    estimation = Estimation(**{"criterion": "oe", **settings})  # type: ignore[arg-type]
    return Study(model, tuners, [case], estimation=estimation)


def random_starts(count: int) -> np.ndarray:
    """A decade to either side of one, in all four unknowns."""
    return np.asarray(10 ** np.random.default_rng(1).uniform(-1, 1, (count, 4)))
