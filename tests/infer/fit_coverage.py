"""How often the 95 % intervals of a fit hold the truth, over simulated experiments.

    python -m tests.infer.fit_coverage                      # 1000 experiments of each, a few minutes
    python -m tests.infer.fit_coverage --experiments 100

writes docs/assets/coverage.json: the drum boiler and the 4-state model, by `oe` and by `ml`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import estimica as es

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "docs" / "assets" / "coverage.json"
SEED = 2026


@dataclass(frozen=True, eq=False)
class Plant:
    """A model, its inputs, the truth, the variances of the noise and the outputs without it."""

    model: es.ModelicaModel
    inputs: dict[str, np.ndarray]
    time: np.ndarray
    truth: dict[str, float]
    variances: dict[str, float]

    def exact(self) -> pd.DataFrame:
        """Time, inputs and outputs without noise."""
        found = self.model.simulate(
            self.time,
            {n: (self.time, u) for n, u in self.inputs.items()},
            self.truth,
            outputs=list(self.variances),
            options=es.Options(rtol=1e-10, atol=1e-12),
        )
        outputs = {n: found.value(n) for n in self.variances}
        return pd.DataFrame({"time": self.time, **self.inputs, **outputs})


def boiler() -> Plant:
    """Seed 001's drum boiler with the truth and noise of its table 5.19."""
    data = es.read_data(ROOT / "examples" / "drum_boiler" / "run1.csv").columns
    return Plant(
        es.load_model(ROOT / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"),
        {"uc": data["valve"], "fc": data["fuel"]},
        data["time"],
        {
            "T_D": 285.0,
            "T_R": 19.0,
            "A4": 0.26,
            "w_E": 10.0,
            "w_P": -10.0,
            "x10": 148.0,
            "x20": 28.0,
        },
        {"E": 0.5, "P": 10.0},
    )


def four_states() -> Plant:
    """Eq. 5.2 of seed 001 with its parameters and noise, 300 samples."""
    time = np.linspace(0, 40, 300)
    names = ("a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40")
    values = (1.0, 3.0, 0.5, 0.9, 0.8, 1.0, 0.7, 0.3, 1.0, 1.0, 1.0, 1.0)
    return Plant(
        es.load_model(ROOT / "examples" / "FourStates.mo"),
        {"u1": (time >= 5) * 1.0, "u2": (time >= 25) * 1.0},
        time,
        dict(zip(names, values, strict=True)),
        {"x1": 0.001, "x2": 0.0001, "x3": 0.005, "x4": 0.005},
    )


PLANTS = {"drum boiler": boiler, "four states": four_states}


def coverage(plant: Plant, criterion: str, experiments: int, seed: int = SEED) -> dict[str, float]:
    """Percent of the intervals that hold the truth, for each tuner."""
    random = np.random.default_rng(seed)
    exact = plant.exact()
    truth = np.array(list(plant.truth.values()))
    tuners = [es.Tuner(n, start=v) for n, v in plant.truth.items()]
    held = np.zeros(len(truth))
    for _ in range(experiments):
        table = exact.copy()
        for name, variance in plant.variances.items():
            table[name] += np.sqrt(variance) * random.standard_normal(len(table))
        case = es.Case(
            "run",
            table,
            inputs={n: n for n in plant.inputs},
            outputs={n: n for n in plant.variances},
        )
        found = es.fit(es.Study(plant.model, tuners, [case], criterion))
        assert found.outcome.ok, found.outcome
        low, high = found.accuracy.interval.T
        held += (low <= truth) & (truth <= high)
    return dict(zip(plant.truth, (100 * held / experiments).tolist(), strict=True))


def main() -> None:
    """Run the experiments and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    found = {
        name: {c: coverage(make(), c, given.experiments) for c in ("oe", "ml")}
        for name, make in PLANTS.items()
    }
    result = {
        "command": f"python -m tests.infer.fit_coverage --experiments {given.experiments}",
        "experiments": given.experiments,
        "seed": SEED,
        "coverage_percent": found,
    }
    given.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
