"""Small studies whose intervals are known, for bootstrap and profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import estimica as es
from estimica.simulate.formula import formula_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: velocity of an enzymatic reaction over concentration (Bates and Watts 1988, table A1.3, treated)
CONCENTRATION = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2)
VELOCITY = np.array([76, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200], float)


def curve(
    expression: str,
    x: np.ndarray,
    y: np.ndarray,
    tuners: Mapping[str, float] | Sequence[es.Tuner],
    *,
    estimation: Mapping[str, Any] | None = None,
    **output: Any,
) -> es.Fit:
    """A formula in x fitted to points."""
    model = formula_model({"y": expression}, inputs=["x"])
    column = es.OutputColumn("y", **({"weight": 1.0} | output))
    case = es.Case(
        "points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": column}
    )
    if isinstance(tuners, Mapping):
        tuners = [es.Tuner(n, start=v) for n, v in tuners.items()]
    return es.fit(es.Study(model, tuners, [case], estimation=es.Estimation(**(estimation or {}))))


def line(n: int = 30, seed: int = 3, **more: Any) -> tuple[es.Fit, np.ndarray, np.ndarray]:
    """y = a + b x with noise of standard deviation 0.5; the matrix of the regression and y."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 5, n)
    y = 2 + 0.7 * x + 0.5 * rng.standard_normal(n)
    fit = curve("a + b*x", x, y, {"a": 1.0, "b": 1.0}, **more)
    return fit, np.column_stack([np.ones(n), x]), y


def puromycin(**more: Any) -> es.Fit:
    """V x/(K + x), the velocity of a reaction after Michaelis and Menten."""
    return curve("V*x/(K + x)", CONCENTRATION, VELOCITY, {"V": 200.0, "K": 0.05}, **more)


def boiler() -> es.Fit:
    """The drum boiler of the examples."""
    return es.fit(es.read_study(EXAMPLES / "drum_boiler" / "drum_boiler.toml"))
