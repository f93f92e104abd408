"""Benchmark of operating points: values with derivatives at a million points, beside NumPy by hand,
and a point by Newton's method beside one that is simulated until it is at rest.

    python bench/static.py [--points N] [--rounds N] [--json FILE]

Everybody computes the same residuals and the same Jacobian, in turn, so that a slow moment of the
machine hits all alike; figures are medians, ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import estimica as es
from estimica.simulate.formula import formula_model

Vector = npt.NDArray[np.float64]
LIMIT = 3.0  # how much longer than NumPy by hand it may take
FASTER = 20.0  # how much faster a steady point is than a simulated one
START = {"pi0": 8.0, "a0": 0.9, "a1": 1e-3, "a2": -1e-5}
COMPRESSOR = """
model Compressor "Volumetric efficiency"
  input Real pi "Pressure ratio";
  input Real n "Speed";
  parameter Real pi0 = 8;
  parameter Real a0 = 0.9;
  parameter Real a1 = 1e-3;
  parameter Real a2 = -1e-5;
  output Real lambda;
equation
  lambda = ((pi0 - pi)/(pi0 - 1))^2*(a0 + a1*n + a2*n^2);
end Compressor;
"""
EXCHANGER = """
model Exchanger "A tube in cells that loses heat"
  input Real T_in;
  input Real m;
  parameter Integer cells = 20;
  parameter Real UA = 3;
  parameter Real cp = 2;
  parameter Real C = 100;
  Real T[cells](each start = 20);
  output Real T_out = T[cells];
equation
  for i in 1:cells loop
    C*der(T[i]) = m*cp*((if i == 1 then T_in else T[i - 1]) - T[i])
      - UA/cells*(T[i] - 10)*(1 + 0.001*T[i]);
  end for;
end Exchanger;
"""


def by_hand(pi: Vector, n: Vector) -> Callable[[], tuple[Vector, Vector]]:
    """Residuals against zero and Jacobian as one writes them down in NumPy."""
    p0, a0, a1, a2 = START.values()

    def evaluate() -> tuple[Vector, Vector]:
        share = (p0 - pi) / (p0 - 1)
        square = share * share
        efficiency = a0 + a1 * n + a2 * n**2
        jacobian = np.empty((len(pi), 4))
        jacobian[:, 0] = 2 * share * efficiency * (pi - 1) / (p0 - 1) ** 2
        jacobian[:, 1] = square
        jacobian[:, 2] = square * n
        jacobian[:, 3] = square * n**2
        return square * efficiency, jacobian

    return evaluate


def peers(count: int) -> dict[str, Callable[[], tuple[Vector, Vector]]]:
    """What is compared, NumPy by hand first."""
    rng = np.random.default_rng(0)
    pi, n = rng.uniform(1.5, 5.0, count), rng.uniform(5.0, 50.0, count)
    points, theta = np.arange(float(count)), np.array(list(START.values()))
    names = list(START)
    model = es.load_model(COMPRESSOR).at_points()
    ours = model.response(points, {"pi": pi, "n": n}, outputs=["lambda"], wrt=names)
    text = "((pi0 - p)/(pi0 - 1))^2*(a0 + a1*n + a2*n^2)"
    formula = formula_model({"y": text}, inputs=["p", "n"])
    written = formula.response(points, {"p": pi, "n": n}, wrt=names)

    def of_class() -> tuple[Vector, Vector]:
        run = ours.at(theta)
        return run.Y[:, 0], run.YS[:, 0]

    def of_formula() -> tuple[Vector, Vector]:
        run = written.at(theta)
        return run.Y[:, 0], run.YS[:, 0]

    return {"NumPy by hand": by_hand(pi, n), "class": of_class, "expression": of_formula}


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def million(count: int, rounds: int, console: Console) -> dict[str, dict[str, float]]:
    """Values and derivatives at many points of a static model."""
    compared = peers(count)
    truth = compared["NumPy by hand"]()
    for name, work in compared.items():
        found = work()
        for a, b in zip(truth, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13, err_msg=name)
    taken: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(rounds):
        for name, work in compared.items():
            taken[name].append(seconds(work))
    hand = np.array(taken["NumPy by hand"])
    table = Table(title=f"{count} points, value and 4 derivatives each")
    for column in ("", "ms", "ratio"):
        table.add_column(column, justify="right" if column else "left")
    found_all = {}
    for name, times in taken.items():
        ratio = float(np.median(np.array(times) / hand))
        found_all[name] = {"seconds": float(np.median(times)), "ratio": ratio}
        table.add_row(name, f"{1e3 * np.median(times):.1f}", f"{ratio:.2f}")
    console.print(table)
    return found_all


def steady(rounds: int, console: Console) -> dict[str, float]:
    """A point of a model with 20 states: Newton's method, or simulation until it is at rest."""
    model = es.load_model(EXCHANGER)
    count = 20
    inputs = {"T_in": np.linspace(30.0, 90.0, count), "m": np.linspace(0.5, 2.0, count)}
    taken: dict[str, list[float]] = {}
    values = {}
    theta = np.array([3.1, 2.1])
    for mode in ("steady", "simulate"):
        response = model.at_points(mode).response(
            np.arange(float(count)), inputs, outputs=["T_out"], wrt=["UA", "cp"]
        )
        response.at()
        values[mode] = response.at(theta).Y
        taken[mode] = [seconds(lambda r=response: r.at(theta)) / count for _ in range(rounds)]
    off = float(np.abs(values["steady"] / values["simulate"] - 1).max())
    both = {mode: float(np.median(times)) for mode, times in taken.items()}
    faster = both["simulate"] / both["steady"]
    console.print(
        f"20 states: steady {1e6 * both['steady']:.0f} µs a point, simulate "
        f"{1e6 * both['simulate']:.0f} µs, {faster:.0f} times faster; they differ by {off:.1e}"
    )
    return {**both, "faster": faster, "difference": off}


def main() -> None:
    """Run both and say whether the limits hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    console = Console()
    points = million(given.points, given.rounds, console)
    rest = steady(given.rounds, console)
    if given.json:
        given.json.write_text(json.dumps({"points": points, "steady": rest}, indent=1))
    ratio = max(points[n]["ratio"] for n in ("class", "expression"))
    fast = rest["faster"]
    if ratio > LIMIT or fast < FASTER:
        raise SystemExit(f"ratio {ratio:.2f} (at most {LIMIT}), {fast:.0f} times (at least 20)")


if __name__ == "__main__":
    main()
