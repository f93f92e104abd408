"""How often intervals of a fit hold the truth where a state drifts, and how often noise is called
needed where there is none.

    python -m tests.infer.prediction_coverage --experiments 500

prints both, for the page on noise in the states.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2

import estimica as es

MODEL = """model Room
  parameter Real R = 0.01; parameter Real C = 1e5;
  input Real Ta; input Real Q;
  Real T(start = 20, fixed = true, unit = "degC");
equation
  C*der(T) = (Ta - T)/R + Q;
end Room;"""
TRUTH = {"R": 0.01, "C": 1e5}
STEP, SIGMA, DRIFT = 300.0, 0.05, 0.003
RISK = 0.05


def record(rng: np.random.Generator, n: int, drift: float) -> pd.DataFrame:
    """The room with noise in its state, by the exact steps of a linear system."""
    t = np.arange(n) * STEP
    a = -1 / (TRUTH["R"] * TRUTH["C"])
    F, G = np.exp(a * STEP), (np.exp(a * STEP) - 1) / a
    spread = drift * np.sqrt((np.exp(2 * a * STEP) - 1) / (2 * a))
    Ta, Q, T = 5 + 5 * np.sin(t / 1.3e4), 1000.0 * (np.floor(t / 7200) % 2), 20.0
    values = []
    for k in range(n):
        values.append(T + SIGMA * rng.normal())
        T = F * T + G * (Ta[k] / (TRUTH["R"] * TRUTH["C"]) + Q[k] / TRUTH["C"])
        T += spread * rng.normal()
    return pd.DataFrame({"time": t, "T": values, "Ta": Ta, "Q": Q})


def fitted(
    model: es.Model, frame: pd.DataFrame, criterion: str, noise: bool, known: bool = False
) -> es.Fit:
    """R and C of a record, or only its noise where they are known."""
    case = es.Case("a", frame, inputs={"Ta": "Ta", "Q": "Q"}, outputs={"T": "T"})
    own = {"T": "s"} if noise else {}
    tuners = [es.Tuner(n, start=v, active=not known) for n, v in TRUTH.items()]
    study = es.Study(model, tuners, [case], criterion, process_noise=own)
    return es.fit(study, progress=False)


@dataclass(frozen=True)
class Coverage:
    """Shares of 95 % intervals that hold the truth, by criterion and tuner."""

    experiments: int
    shares: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Size:
    """How often noise is called needed where there is none, at a risk of 5 %."""

    experiments: int
    mixture: float
    plain: float
    nothing: float  # share of records that ask for none at all


def coverage(experiments: int, n: int = 300, seed: int = 1) -> Coverage:
    """Of data whose state drifts."""
    model, rng = es.load_model(MODEL), np.random.default_rng(seed)
    held: dict[str, dict[str, list[bool]]] = {
        c: {name: [] for name in TRUTH} for c in ("prediction", "ml")
    }
    for _ in range(experiments):
        frame = record(rng, n, DRIFT)
        for criterion, by_name in held.items():
            fit = fitted(model, frame, criterion, criterion == "prediction")
            for name, truth in TRUTH.items():
                row = fit.parameters.loc[name]
                by_name[name].append(bool(row.ci95_low <= truth <= row.ci95_high))
    shares = {c: {n: float(np.mean(v)) for n, v in own.items()} for c, own in held.items()}
    return Coverage(experiments, shares)


def size(experiments: int, n: int = 200, seed: int = 2, known: bool = False) -> Size:
    """Of data without noise in their state; R and C are fitted, or `known`.

    Fitting takes up some of what noise in the state could explain: with few samples more than half
    of all records then gain nothing, and the test is cautious.
    """
    model, rng = es.load_model(MODEL), np.random.default_rng(seed)
    risks, gains = [], []
    for _ in range(experiments):
        frame = record(rng, n, 0.0)
        ratio = es.likelihood_ratio(
            fitted(model, frame, "ml", False, known),
            fitted(model, frame, "prediction", True, known),
        )
        risks.append(ratio.risk)
        gains.append(ratio.cost_reduction)
    gained = np.array(gains)
    return Size(
        experiments,
        float(np.mean(np.array(risks) < RISK)),
        float(np.mean(gained > chi2.isf(RISK, 1))),
        float(np.mean(gained < 1e-3)),
    )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--experiments", type=int, default=500)
    count = parser.parse_args().experiments
    found = coverage(count)
    for criterion, own in found.shares.items():
        told = ", ".join(f"{n} {100 * v:.1f} %" for n, v in own.items())
        print(f"{criterion}: {told}", flush=True)
    for known in (True, False):
        level = size(count, known=known)
        print(
            f"noise called needed where there is none, at {100 * RISK:g} %, R and C "
            f"{'known' if known else 'fitted'}: mixture {100 * level.mixture:.1f} %, plain χ² "
            f"{100 * level.plain:.1f} %; nothing gained in {100 * level.nothing:.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
