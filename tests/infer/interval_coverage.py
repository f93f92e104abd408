"""How often 95 % intervals hold the truth, over simulated experiments of the drum boiler.

    python -m tests.infer.interval_coverage                    # 200 experiments, about 15 minutes
    python -m tests.infer.interval_coverage --experiments 20 --replicates 60 --workers 2

writes docs/assets/interval_coverage.json. Each experiment draws its own noise, is fitted, and gets
t, percentile, BCa and profile intervals for every unknown.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

import estimica as es
from estimica.execute.outcome import ItemOutcome
from estimica.execute.pieces import seeds
from estimica.execute.workers.context import Context
from estimica.execute.workers.executor import executor

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"
DATA = ROOT / "examples" / "drum_boiler" / "run1.csv"
RESULT = ROOT / "docs" / "assets" / "interval_coverage.json"
TRUTH = {
    "T_D": 285.0,
    "T_R": 19.0,
    "A4": 0.26,
    "w_E": 10.0,
    "w_P": -10.0,
    "x10": 148.0,
    "x20": 28.0,
}
VARIANCES = {"E": 0.5, "P": 10.0}
METHODS = ("t", "percentile", "bca", "profile")


@dataclass(frozen=True, eq=False)
class Plant:
    """The boiler and what it would give without noise."""

    model: Any
    inputs: pd.DataFrame
    exact: dict[str, np.ndarray]


def plant() -> Plant:
    model = es.load_model(MODEL)
    table = es.read_data(DATA).columns
    time = table["time"]
    inputs = pd.DataFrame({n: table[n] for n in ("time", "valve", "fuel")})
    run = model.simulate(
        time,
        inputs={"uc": (time, inputs["valve"].to_numpy()), "fc": (time, inputs["fuel"].to_numpy())},
        parameters=TRUTH,
        outputs=["E", "P"],
        options=es.Options(rtol=1e-10, atol=1e-10),
    )
    return Plant(model, inputs, {n: run.value(n) for n in ("E", "P")})


def study(here: Plant, seed: np.random.SeedSequence) -> es.Study:
    """One experiment with its own noise, to be fitted from near the truth."""
    rng = np.random.default_rng(seed)
    noisy = {
        n: y + math.sqrt(VARIANCES[n]) * rng.standard_normal(len(y)) for n, y in here.exact.items()
    }
    case = es.Case(
        "run 1",
        here.inputs.assign(**noisy),
        inputs={"uc": "valve", "fc": "fuel"},
        outputs={"E": "E", "P": "P"},
    )
    return es.Study(here.model, [es.Tuner(n, start=v) for n, v in TRUTH.items()], [case], "ml")


def experiment(
    here: Plant, item: tuple[np.random.SeedSequence, int]
) -> dict[str, dict[str, list[float]]]:
    """The intervals of one experiment: {method: {unknown: [low, high]}}."""
    seed, replicates = item
    fit = es.fit(study(here, seed))
    assert fit.outcome.ok, fit.outcome
    own = int(seed.generate_state(1)[0])
    repeated = es.bootstrap(fit, replicates, seed=own)
    walked = es.profile(fit, points=3)
    names = [u.label for u in fit.unknowns.items]
    found: dict[str, dict[str, list[float]]] = {m: {} for m in METHODS}
    for k, name in enumerate(names):
        found["t"][name] = [float(x) for x in fit.accuracy.interval[k]]
        found["percentile"][name] = list(repeated.spreads[k].percentile)
        found["bca"][name] = list(repeated.spreads[k].bca)
        found["profile"][name] = list(walked[name].interval)
    for name, spread in repeated.noise_spreads.items():
        found["percentile"][f"variance of {name}"] = list(spread.percentile)
        found["bca"][f"variance of {name}"] = list(spread.bca)
    return found


def coverage(experiments: int, replicates: int, seed: int, workers: int) -> dict[str, Any]:
    """Shares of intervals that hold the truth, and how often it lay below or above them."""
    items = [(s, replicates) for s in seeds(seed, experiments)]
    begun = perf_counter()
    done = 0

    def tell(index: int, outcome: ItemOutcome[Any]) -> None:
        nonlocal done
        done += 1
        if done % 10 == 0:
            print(
                f"{done} of {experiments}  {perf_counter() - begun:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    with executor("local", workers) as crew:
        context = Context(partial(plant), plant() if workers == 1 else None)
        outcomes = crew.map(experiment, items, context=context, on_done=tell, batch=1)
    found = [o.result() for o in outcomes]
    truth = TRUTH | {f"variance of {n}": v for n, v in VARIANCES.items()}
    table: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        table[method] = {}
        for name in found[0][method]:
            ends = np.array([f[method][name] for f in found], float)
            known = np.isfinite(ends).all(axis=1)
            below, above = truth[name] < ends[known, 0], truth[name] > ends[known, 1]
            held = int((~(below | above)).sum())
            table[method][name] = {
                "coverage_percent": round(100 * held / max(len(below), 1), 2),
                "truth_below": int(below.sum()),
                "truth_above": int(above.sum()),
                "no_interval": int((~known).sum()),
                "mean_width": float(np.sum(ends[known, 1] - ends[known, 0]) / max(len(below), 1)),
            }
    return {
        "command": f"python -m tests.infer.interval_coverage --experiments {experiments} --replicates {replicates} --seed {seed}",
        "experiments": experiments,
        "replicates": replicates,
        "seed": seed,
        "truth": truth,
        "intervals": table,
        "seconds": round(perf_counter() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    found = coverage(given.experiments, given.replicates, given.seed, given.workers)
    given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for method, of in found["intervals"].items():
        print(method.ljust(12), *(f"{n} {v['coverage_percent']:.1f}" for n, v in of.items()))


if __name__ == "__main__":
    main()
