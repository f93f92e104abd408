"""Benchmark of fits of FMUs, beside FMPy's simulate_fmu in SciPy's least_squares.

    python bench/fmu.py [--cases room,stiff] [--repeat N] [--json FILE]

The same FMU (FMI 2, of our own C sources), data, start, bounds and tolerances, in turn, so that a
slow moment of the machine hits all alike; figures are medians. FMPy takes part twice: with a new
instance for each simulation, and with one that is reset.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from engine import lines_table
from fit import side_by_side
from fit_peers import Found
from fmu_cases import CASES, UnitCase, Vector
from fmu_peers import Fmpy, FmpyKept, Ours
from process import Line
from rich.console import Console
from rich.table import Table

SAME = 1e-3  # relative difference of costs that counts as none: FMPy's tolerance leaves 1e-4
FASTER = 5.0


@dataclass(frozen=True)
class Timing:
    """One peer on one case; seconds are medians."""

    case: str
    peer: str
    wall: float
    cpu: float
    ratio: float  # of CPU times, to ours: median over the rounds
    evaluations: int  # of outputs, ours with all derivatives
    runs: int  # of the FMU
    excess: float  # of the cost at its values, simulated finely, over the best; relative
    prepare_s: float
    rounds: int


def measure(
    case: UnitCase, data: Vector, peers: Sequence[Ours | Fmpy], rounds: int
) -> list[Timing]:
    """All peers on one case."""
    found = side_by_side(peers, rounds)
    exact = [exact_cost(case, data, own[-1]) for own in found]
    timings = []
    for peer, own, cost in zip(peers, found, exact, strict=True):
        ratios = [f.cpu / ours.cpu for f, ours in zip(own, found[0], strict=False)]
        timings.append(
            Timing(
                case.name, peer.name, float(np.median([f.wall for f in own])),
                float(np.median([f.cpu for f in own])), float(np.median(ratios)),
                own[-1].simulations + own[-1].jacobians, peer.runs, cost / min(exact) - 1,
                peer.prepare_s, len(own),
            )
        )  # fmt: skip
    return timings


def exact_cost(case: UnitCase, data: Vector, found: Found) -> float:
    """The sum of squares at the values found, by the Modelica twin with fine tolerances."""
    values = dict(zip(case.start, map(float, found.values), strict=True))
    sigma = np.array(list(case.outputs.values()))
    return float(np.sum(((case.exact(values) - data) / sigma) ** 2))


def table(case: UnitCase, timings: Sequence[Timing]) -> Table:
    """What one case has shown."""
    shown = Table(title=f"{case.name}: {case.title}", title_justify="left")
    shown.add_column("fit by")
    for heading in (
        "s",
        "CPU s",
        "× ours",
        "evaluations",
        "runs",
        "above the best",
        "to prepare, s",
    ):
        shown.add_column(heading, justify="right")
    for t in timings:
        shown.add_row(
            t.peer, f"{t.wall:.4g}", f"{t.cpu:.4g}", f"{t.ratio:.3g}", str(t.evaluations),
            str(t.runs),
            f"{t.excess:.0e}", f"{t.prepare_s:.2f}",
        )  # fmt: skip
    return shown


def targets(case: UnitCase, timings: Sequence[Timing]) -> list[Line]:
    """The same optimum; at least so many times faster; fewer evaluations."""
    ours, *others = timings
    worst = max(t.excess for t in timings)
    lines = [Line(f"{case.name}: same optimum", f"{worst:.0e}", f"≤ {SAME:g}", worst <= SAME)]
    for t in others:
        share = t.evaluations / ours.evaluations
        lines += [
            Line(f"{case.name}: {t.peer} / {ours.peer}, time", f"{t.ratio:.3g}", f"≥ {FASTER:g}",
                 t.ratio >= FASTER),
            Line(f"{case.name}: {t.peer} / {ours.peer}, evaluations", f"{share:.3g}", "> 1",
                 share > 1),
        ]  # fmt: skip
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES), help="which cases, by commas")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of each case")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    options = parser.parse_args(arguments)
    console = Console(width=max(120, Console().width))
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    timings: list[Timing] = []
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.cases.split(","):
            if name not in CASES:
                parser.error(f"no case '{name}'; there are {', '.join(CASES)}")
            case = CASES[name]()
            data, path = case.data(), case.build(Path(folder) / name)
            peers = [kind(case, path, data) for kind in (Ours, Fmpy, FmpyKept)]
            found = measure(case, data, peers, options.repeat)
            console.print(table(case, found))
            timings += found
            lines += targets(case, found)
            for peer in peers:
                peer.close()
    console.print(lines_table(lines))
    if options.json:
        figures = {"timings": [asdict(t) for t in timings], "targets": [asdict(x) for x in lines]}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
