"""A global reference for the drive's controller: differential evolution with many evaluations.

    python bench/drive_reference.py [designs] [seed]

SciPy's differential evolution on the logarithms of kp, ks, Ts within the bounds of the study;
the same criteria as `estimica optimise examples/drive/drive.toml`, largest criterion/demand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import differential_evolution

import estimica as es
from estimica.optimise.criteria.score import FailedDesign
from estimica.optimise.design import prepare_design

STUDY = Path(__file__).parents[1] / "examples" / "drive" / "drive.toml"
DESIGNS = 3000  # 50 times the 60 designs that the search from the start is given
POPULATION = 15  # times the number of tuners


def reference(designs: int = DESIGNS, seed: int = 1) -> tuple[float, np.ndarray]:
    """The least α that differential evolution finds, and its tuners."""
    design = prepare_design(es.read_study(STUDY))
    unknowns = design.unknowns
    bounds = [(np.log(u.min), np.log(u.max)) for u in unknowns.items]

    def alpha(x: np.ndarray) -> float:
        point = design.at(unknowns.coordinates(np.exp(x)), slopes=False)
        if isinstance(point, FailedDesign):
            return 1e6
        # where a run does not settle, what a search follows towards those that do
        return float(point.weighted[point.of_role("minimise")].max())

    generations = designs // (POPULATION * len(bounds)) - 1
    found = differential_evolution(
        alpha, bounds, maxiter=generations, popsize=POPULATION, rng=seed, polish=False, tol=0.0
    )
    return float(found.fun), np.exp(found.x)


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    value, tuners = reference(*given)
    print(f"alpha {value:.6f} at kp, ks, Ts = {', '.join(f'{t:.6g}' for t in tuners)}")
