"""How often each test of residuals rejects white Gaussian noise at 5 %: a false alarm.

    python -m tests.infer.residual_sizes                  # 1000 experiments of each, 3 minutes

writes docs/assets/residual_sizes.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import estimica as es
from estimica.infer.residuals import hypothesis_tests as tests
from estimica.simulate.formula import formula_model

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "assets" / "residual_sizes.json"
LEVEL = 0.05
LAG = """model Lag
  parameter Real K = 2; parameter Real T = 1.5; input Real u; output Real y(start = 0, fixed = true);
equation
  T*der(y) = K*u - y;
end Lag;"""


def curve(count: int, random: np.random.Generator) -> es.Study:
    """An exponential with an offset over one input."""
    x = np.linspace(0, 3, count)
    y = 2 * np.exp(-1.2 * x) + 0.5 + 0.1 * random.standard_normal(count)
    case = es.Case("points", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    return es.Study(_curve(), [es.Tuner(n, start=v) for n, v in START.items()], [case])


START = {"a": 2.0, "b": 1.2, "c": 0.5}


@cache
def _curve() -> object:
    return formula_model({"y": "a*exp(-b*x) + c"}, inputs=["x"])


def lag(count: int, random: np.random.Generator) -> es.Study:
    """A first-order lag that follows a random telegraph signal."""
    time, u, exact = _lag(count)
    table = pd.DataFrame({"time": time, "u": u, "y": exact + 0.1 * random.standard_normal(count)})
    case = es.Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    return es.Study(_model(), [es.Tuner("K", start=2.0), es.Tuner("T", start=1.5)], [case])


@cache
def _model() -> es.ModelicaModel:
    return es.load_model(LAG)


@cache
def _lag(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    time = 0.2 * np.arange(count)
    u = np.repeat(np.random.default_rng(7).choice([-1.0, 1.0], count // 10 + 1), 10)[:count]
    return time, u, _model().simulate(time, {"u": (time, u)}, outputs=["y"]).value("y")


EXPERIMENTS: dict[str, tuple[Callable[[int, np.random.Generator], es.Study], int]] = {
    "exponential, 40 samples": (curve, 40),
    "exponential, 200 samples": (curve, 200),
    "lag, 100 samples": (lag, 100),
    "lag, 400 samples": (lag, 400),
}


def sizes(name: str, experiments: int, seed: int = 2026) -> dict[str, float]:
    """Percent of the experiments in which each test rejects, and in which a fit says a word."""
    make, count = EXPERIMENTS[name]
    random = np.random.default_rng(seed)
    rejected: dict[str, int] = dict.fromkeys((*tests.ALL, "sentence of the fit"), 0)
    for _ in range(experiments):
        fit = es.fit(make(count, random))
        (one,) = es.residuals(fit).outputs
        for test in one.tests:
            if test.name in rejected:
                rejected[test.name] += test.p < LEVEL
        rejected["sentence of the fit"] += bool(fit.remarks)
    return {n: 100 * k / experiments for n, k in rejected.items()}


def main() -> None:
    """Run the experiments and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    result = {
        "command": f"python -m tests.infer.residual_sizes --experiments {given.experiments}",
        "experiments": given.experiments,
        "level_percent": 100 * LEVEL,
        "rejected_percent": {name: sizes(name, given.experiments) for name in EXPERIMENTS},
    }
    given.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
