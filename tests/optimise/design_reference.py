"""The best of differential evolution for the random design problems, by the witness alone.

python -m tests.optimise.design_reference SEED     adds the table of 60 problems of that seed
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from scipy.optimize import differential_evolution
from tests.optimise.design_problems import MISSED, DesignProblem, drawn, witnessed

TABLE = Path(__file__).with_name("design_reference.json")
COUNT = 60


def reference(problem: DesignProblem) -> tuple[float, list[float]]:
    """The lower of two seeded runs, on logarithmic scales, and the design of it."""
    low, high = np.log(np.array(list(problem.bounds.values()))).T

    def cost(z: np.ndarray) -> float:
        value, over = witnessed(problem, np.exp(z))
        return value if over <= MISSED else 1e6 * (1 + min(over, 1e6))

    runs = [
        differential_evolution(
            cost,
            list(zip(low, high, strict=True)),
            seed=seed,
            popsize=20,
            maxiter=120,
            tol=1e-6,
            polish=False,
        )
        for seed in (1, 2)
    ]
    best = min(runs, key=lambda run: float(run.fun))
    return float(best.fun), [float(v) for v in np.exp(best.x)]


def known(seed: int) -> list[float]:
    """The table of a seed."""
    table: dict[str, list[float]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table[str(seed)]


if __name__ == "__main__":
    asked = sys.argv[1]
    rows = []
    for made in drawn(int(asked), COUNT):
        rows.append(float(f"{reference(made)[0]:.6g}"))
        print(made.number, rows[-1], flush=True)
    tables = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    TABLE.write_text(json.dumps(tables | {asked: rows}, indent=1) + "\n", encoding="utf-8")
