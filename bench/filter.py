"""Benchmark of filters: one likelihood with its gradient, side by side.

    python bench/filter.py [--samples 10000] [--repeat 3] [--longest 1000000] [--json FILE]

A room with two states and two inputs, five tuners (two resistances, two capacities, the noise of
one state), measured every ten minutes. Peers: the same filter in NumPy, sample by sample with exact
steps, and statsmodels' Kalman filter (compiled, linear models only); both get their gradient by
central differences, since they have none. They take turns, so that a slow moment of the machine
hits all alike; times are CPU times, figures are medians. Whoever is not there is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import expm

import estimica as es
from estimica.compiled.experiment import Experiment
from estimica.simulate.filter.exact.response import quickest
from estimica.simulate.filter.measured import Series
from estimica.simulate.filter.model import filtered
from estimica.simulate.filter.noise import FilterNoise

ROOM = """model Room
  parameter Real Ri = 0.01; parameter Real Re = 0.02;
  parameter Real Ci = 1e5; parameter Real Ce = 1e6;
  input Real Ta; input Real Q;
  Real Ti(start = 20); Real Te(start = 15);
equation
  Ci*der(Ti) = (Te - Ti)/Ri + Q;
  Ce*der(Te) = (Ti - Te)/Ri + (Ta - Te)/Re;
end Room;"""
VALUES = {"Ri": 0.01, "Re": 0.02, "Ci": 1e5, "Ce": 1e6, "si": 0.01}
HELD = {"se": 0.005, "sm": 0.1}
INTERVAL = 600.0
#: relative step of central differences: the cube root of rounding
DIFFERENCE = 6e-6

Vector = np.ndarray


@dataclass(frozen=True)
class Record:
    """Inputs and measured values, one row a sample."""

    t: Vector
    Ta: Vector
    Q: Vector
    y: Vector

    @staticmethod
    def of(n: int) -> Record:
        """Made by the model itself, seeded."""
        rng = np.random.default_rng(1)
        t = np.arange(n) * INTERVAL
        Ta, Q = 5 + 5 * np.sin(t / 2e4), 1000.0 * (np.floor(t / 7200) % 2)
        F, G, noise = exact_step(VALUES)
        root, x, y = np.linalg.cholesky(noise), np.array([20.0, 15.0]), np.empty(n)
        drawn, measured = rng.normal(size=(n, 2)), rng.normal(size=n)
        for k in range(n):
            y[k] = x[0] + HELD["sm"] * measured[k]
            x = F @ x + G @ (Ta[k], Q[k]) + root @ drawn[k]
        return Record(t, Ta, Q, y)


def exact_step(p: Mapping[str, float]) -> tuple[Vector, Vector, Vector]:
    """F, G and the covariance that noise adds in one interval."""
    a, b, c = 1 / p["Ri"] / p["Ci"], 1 / p["Ri"] / p["Ce"], 1 / p["Re"] / p["Ce"]
    A, B = np.array([[-a, a], [b, -b - c]]), np.array([[0, 1 / p["Ci"]], [c, 0]])
    Q = np.diag([p["si"] ** 2, HELD["se"] ** 2])
    moved = expm(np.block([[A, B], [np.zeros((2, 4))]]) * INTERVAL)
    loan = expm(np.block([[-A, Q], [np.zeros((2, 2)), A.T]]) * INTERVAL)
    return moved[:2, :2], moved[:2, 2:], loan[2:, 2:].T @ loan[:2, 2:]


def numpy_cost(record: Record, p: Mapping[str, float]) -> float:
    """−2 log likelihood, sample by sample."""
    F, G, noise = exact_step(p)
    x, C, cost, r = np.array([20.0, 15.0]), np.zeros((2, 2)), 0.0, HELD["sm"] ** 2
    U = np.column_stack([record.Ta, record.Q])
    for k in range(len(record.t)):
        e, s = record.y[k] - x[0], C[0, 0] + r
        cost += e**2 / s + np.log(2 * np.pi * s)
        K = C[:, 0] / s
        x, C = F @ (x + K * e) + G @ U[k], F @ (C - np.outer(K, C[0])) @ F.T + noise
    return float(cost)


def statsmodels_cost(record: Record, p: Mapping[str, float]) -> float:
    """The same by statsmodels' compiled filter."""
    from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

    F, G, noise = exact_step(p)
    kalman = KalmanFilter(k_endog=1, k_states=2)
    kalman.bind(np.ascontiguousarray(record.y[:, None]))
    kalman["design"] = np.array([[1.0, 0.0]])
    kalman["obs_cov"] = np.array([[HELD["sm"] ** 2]])
    kalman["transition"], kalman["selection"], kalman["state_cov"] = F, np.eye(2), noise
    kalman["state_intercept"] = G @ np.vstack([record.Ta, record.Q])
    kalman.initialize_known(np.array([20.0, 15.0]), np.zeros((2, 2)))
    return float(-2 * kalman.loglike())


def differenced(cost: Callable[[Record, Mapping[str, float]], float]) -> Callable[[Record], Found]:
    """A cost with a gradient by central differences."""

    def both(record: Record) -> Found:
        gradient = []
        for name, value in VALUES.items():
            h = DIFFERENCE * value
            ends = [cost(record, {**VALUES, name: value + q}) for q in (h, -h)]
            gradient.append((ends[0] - ends[1]) / (2 * h))
        return Found(cost(record, VALUES), tuple(gradient))

    return both


@dataclass(frozen=True)
class Found:
    """−2 log likelihood and its gradient."""

    cost: float
    gradient: tuple[float, ...]


class Ours:
    """Estimica: the record set up once, then evaluated."""

    def __init__(self, record: Record) -> None:
        noise = FilterNoise((("Ti", "si"), ("Te", repr(HELD["se"]))), (), (("Ti", "0.1"),))
        experiment = Experiment(
            record.t,
            {"Ta": (record.t, record.Ta), "Q": (record.t, record.Q)},
            VALUES,
            wrt=list(VALUES),
            begin=0.0,
        )
        model = filtered(es.load_model(ROOM), noise)
        self._response = quickest(model.respond(experiment, {"Ti": Series(record.t, record.y)}))

    def __call__(self, record: Record) -> Found:
        run = self._response.at()
        assert run.ok, run.text
        e, s = run.Y[:, 0], run.Y[:, 1]
        cost = float(np.sum(e**2 / s + np.log(2 * np.pi * s)))
        gradient = (2 * e / s) @ run.YS[:, 0] + (1 / s - e**2 / s**2) @ run.YS[:, 1]
        return Found(cost, tuple(gradient))


@dataclass(frozen=True)
class Timing:
    """One peer; seconds are medians of CPU time."""

    peer: str
    samples: int
    seconds: float
    ratio: float  # to ours
    cost_off: float  # relative, to exact steps in NumPy
    gradient_off: float  # largest relative difference of its elements


def compared(record: Record, repeat: int) -> list[Timing]:
    """All peers on one record."""
    peers: dict[str, Callable[[Record], Found]] = {"Estimica": Ours(record)}
    peers["NumPy, differences"] = differenced(numpy_cost)
    try:
        statsmodels_cost(record, VALUES)
        peers["statsmodels, differences"] = differenced(statsmodels_cost)
    except ImportError:
        pass
    for run in list(peers.values())[:1]:
        run(record)  # compiled once
    spent: dict[str, list[float]] = {n: [] for n in peers}
    found: dict[str, Found] = {}
    for _ in range(repeat):
        for name, run in peers.items():
            begun = time.process_time()
            found[name] = run(record)
            spent[name].append(time.process_time() - begun)
    ours, exact = float(np.median(spent["Estimica"])), found["NumPy, differences"]
    timings = []
    for name, seconds in spent.items():
        own, theirs = np.array(found[name].gradient), np.array(exact.gradient)
        middle = float(np.median(seconds))
        timings.append(
            Timing(
                name,
                len(record.t),
                middle,
                middle / ours,
                abs(found[name].cost / exact.cost - 1),
                float(np.max(np.abs(own / theirs - 1))),
            )
        )
    return timings


def growth(longest: int) -> list[tuple[int, float]]:
    """Our time by the number of samples."""
    rows, n = [], 1000
    while n <= longest:
        record = Record.of(n)
        ours = Ours(record)
        ours(record)
        begun = time.process_time()
        ours(record)
        rows.append((n, time.process_time() - begun))
        n *= 10
    return rows


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--longest", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    console = Console()
    timings = compared(Record.of(asked.samples), asked.repeat)
    table = Table(title=f"One likelihood with five derivatives, {asked.samples} samples")
    for column in ("", "CPU s", "to ours", "cost off", "gradient off"):
        table.add_column(column, justify="right" if column else "left")
    for t in timings:
        table.add_row(
            t.peer,
            f"{t.seconds:.4f}",
            f"{t.ratio:.1f}",
            f"{t.cost_off:.1e}",
            f"{t.gradient_off:.1e}",
        )
    console.print(table)
    longer = growth(asked.longest)
    table = Table(title="Estimica by the number of samples")
    table.add_column("samples", justify="right")
    table.add_column("CPU s", justify="right")
    table.add_column("µs a sample", justify="right")
    for n, seconds in longer:
        table.add_row(f"{n}", f"{seconds:.4f}", f"{1e6 * seconds / n:.2f}")
    console.print(table)
    if asked.json:
        asked.json.write_text(json.dumps({"peers": [asdict(t) for t in timings], "growth": longer}))


if __name__ == "__main__":
    main()
