"""A room of two states with known parameters, simulated in closed form by matrix exponentials."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.linalg import expm

from estimica.base.arrays import Vector

TRUE = {"R1": 0.005, "R2": 0.01, "Ca": 2e6, "Cw": 2e7}  # K/W, K/W, J/K, J/K
STEP = 600.0  # seconds
SOURCE = """
model Room
  parameter Real R1 = 0.008;
  parameter Real R2 = 0.02;
  parameter Real Ca = 1e6;
  parameter Real Cw = 1e7;
  input Real Q;
  input Real To;
  output Real Ta(start = 20);
  Real Tw(start = 18);
equation
  Ca*der(Ta) = (Tw - Ta)/R1 + Q;
  Cw*der(Tw) = (Ta - Tw)/R1 + (To - Tw)/R2;
end Room;
"""


def room_data(days: float = 5.0, *, noise: float = 0.05, seed: int = 3) -> pd.DataFrame:
    """Heating that is switched at random every three hours, a sine outside, and what is measured.

    The states are exact: inputs are held between samples.
    """
    random, count = np.random.default_rng(seed), round(days * 86400 / STEP)
    p = TRUE
    A = np.array(
        [
            [-1 / (p["R1"] * p["Ca"]), 1 / (p["R1"] * p["Ca"])],
            [1 / (p["R1"] * p["Cw"]), -(1 / p["R1"] + 1 / p["R2"]) / p["Cw"]],
        ]
    )
    B = np.diag([1 / p["Ca"], 1 / (p["R2"] * p["Cw"])])
    M = expm(np.block([[A, B], [np.zeros((2, 4))]]) * STEP)
    time = np.arange(count) * STEP
    heat = np.repeat(1500.0 * random.integers(0, 2, count // 18 + 1), 18)[:count]
    outside = 5 + 5 * np.sin(2 * np.pi * time / 86400)
    x, states = np.array([20.0, 18.0]), np.empty((count, 2))
    for k in range(count):
        states[k] = x
        x = M[:2, :2] @ x + M[:2, 2:] @ np.array([heat[k], outside[k]])
    measured = states[:, 0] + noise * random.standard_normal(count)
    columns = {"time": time, "heat": heat, "outside": outside, "air": measured}
    return pd.DataFrame({**columns, "exact air": states[:, 0], "exact wall": states[:, 1]})


def without(data: pd.DataFrame, *holes: tuple[float, float]) -> pd.DataFrame:
    """The data without the rows in these hours, ends not included."""
    hours = data["time"].to_numpy() / 3600
    inside: Vector = np.zeros(len(data), bool)
    for begin, end in holes:
        inside |= (hours > begin) & (hours < end)
    return data[~inside].reset_index(drop=True)
