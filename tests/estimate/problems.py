"""Small studies that several tests fit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from estimica.simulate.engine.options import Options
from estimica.simulate.formula import formula_model
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

EXACT = Options(rtol=1e-11, atol=1e-12)

RC = """
model RC "A resistor loads a capacitor"
  parameter Real R(min = 0) = 1;
  parameter Real C(min = 0) = 1;
  input Real u;
  output Real v(start = 0, fixed = true);
equation
  R*C*der(v) = u - v;
end RC;
"""

#: eq. 5.1 of the thesis on grey-box identification in JModelica.org
TWO_STATES = """
model TwoStates
  parameter Real a1 = 1;
  parameter Real a2 = 1;
  parameter Real b1 = 1;
  parameter Real b2 = 3;
  parameter Real x10 = 0.5;
  parameter Real x20 = 0.9;
  input Real u1;
  input Real u2;
  Real x1(start = x10, fixed = true);
  Real x2(start = x20, fixed = true);
  output Real y1 = x1*x2;
  output Real y2 = x2/(1 + x1);
equation
  der(x1) = -a1*x1 + a2*x2 + u1;
  der(x2) = -b1*x1 - b2*x2 + u2;
end TwoStates;
"""
TWO_STATES_TRUTH = {"a1": 1.0, "a2": 1.0, "b1": 1.0, "b2": 3.0, "x10": 0.5, "x20": 0.9}


def curve(
    expression: str,
    x: np.ndarray,
    y: np.ndarray,
    starts: Mapping[str, float] | list[Tuner],
    estimation: Estimation | None = None,
    **details: object,
) -> Study:
    """A formula in x fitted to points; `details` belong to the output, its weight is 1."""
    model = formula_model({"y": expression}, inputs=["x"])
    output = OutputColumn("y", **({"weight": 1.0} | details))  # type: ignore[arg-type]
    case = Case("points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": output})
    if isinstance(starts, Mapping):
        starts = [Tuner(n, start=v) for n, v in starts.items()]
    return Study(model, starts, [case], estimation=estimation)


def steps(time: np.ndarray) -> dict[str, np.ndarray]:
    """The inputs of eq. 5.2: one steps up at 5 s, the other at 25 s."""
    return {"u1": (time >= 5) * 1.0, "u2": (time >= 25) * 1.0}


def simulated(
    model: ModelicaModel,
    time: np.ndarray,
    inputs: Mapping[str, np.ndarray],
    parameters: Mapping[str, float],
    outputs: list[str],
) -> pd.DataFrame:
    """Time, inputs and exact outputs as a table."""
    found = model.simulate(
        time,
        {n: (time, v) for n, v in inputs.items()},
        parameters,
        outputs=outputs,
        options=EXACT,
    )
    return pd.DataFrame({"time": time, **inputs, **{n: found.value(n) for n in outputs}})


def rc_table(tau: float = 0.6, n: int = 200) -> tuple[ModelicaModel, pd.DataFrame]:
    """The RC circuit and its response to a square wave."""
    model = load_model(RC)
    time = np.linspace(0, 10, n)
    u = (time % 4 < 2) * 1.0
    return model, simulated(model, time, {"u": u}, {"R": tau}, ["v"])
