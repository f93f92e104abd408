"""Studies whose noise is more than one normal level, and their likelihoods written by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import norm

import estimica as es
from estimica.simulate.formula import formula_model

Vector = np.ndarray
POWER = formula_model({"y": "a*x^b"}, inputs=["x"])
MEAN = [es.Tuner("a", start=1.5), es.Tuner("b", start=1.0)]
LAG = """
model Lag
  parameter Real T = 2;
  parameter Real k = 1;
  input Real u;
  output Real y(start = 0, fixed = true);
  output Real z = 2*y;
  Real x = k*y^2;
equation
  T*der(y) = k*u - y;
end Lag;
"""


def level(name: str, start: float) -> es.Tuner:
    """A tuner of the noise."""
    return es.Tuner(name, start=start, scale="log")


def points(
    table: dict[str, Vector],
    tuners: list[es.Tuner],
    estimation: es.Estimation | None = None,
    **output: object,
) -> es.Study:
    """y = a x^b at the points of a table; `output` are details of the measured column."""
    column = es.OutputColumn("y", **output)  # type: ignore[arg-type]
    case = es.Case("points", pd.DataFrame(table), inputs={"x": "x"}, outputs={"y": column})
    return es.Study(POWER, tuners, [case], estimation=estimation or es.Estimation(criterion="ml"))


def growing(
    n: int = 60, seed: int = 4, floor: float = 0.15, share: float = 0.06
) -> dict[str, Vector]:
    """Points of 2 x^0.7 whose noise grows with the value, and its standard deviation."""
    x = np.linspace(0.5, 10, n)
    mean = 2 * x**0.7
    sd = floor + share * mean
    return {"x": x, "y": mean + sd * np.random.default_rng(seed).standard_normal(n), "sd": sd}


def best(cost: Callable[[Vector], float], start: Vector) -> tuple[Vector, float]:
    """The minimum of a cost by Nelder and Mead's simplex."""
    options = {"maxiter": 40_000, "maxfev": 40_000, "xatol": 1e-10, "fatol": 1e-12}
    found = minimize(cost, start, method="Nelder-Mead", options=options)
    return found.x, float(found.fun)


def censored_cost(
    mean: Vector, sigma: Vector | float, y: Vector, low: Vector | float, high: Vector | float
) -> float:
    """−2 log likelihood of values that are only known between two limits."""
    seen = -2 * norm.logpdf(y, mean, sigma)
    seen = np.where(y <= low, -2 * norm.logcdf(low, mean, sigma), seen)
    return float(np.sum(np.where(y >= high, -2 * norm.logsf(high, mean, sigma), seen)))


def curvature(cost: Callable[[Vector], float], at: Vector, step: float = 1e-4) -> Vector:
    """Second derivatives of a cost by central differences."""
    n = len(at)
    found = np.zeros((n, n))
    e = step * np.eye(n)
    for i in range(n):
        for j in range(n):
            found[i, j] = cost(at + e[i] + e[j]) - cost(at + e[i] - e[j])
            found[i, j] += cost(at - e[i] - e[j]) - cost(at - e[i] + e[j])
    return found / (4 * step**2)
