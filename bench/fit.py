"""Benchmark of fits: the same data, start, weights and tolerance, side by side.

    python bench/fit.py [--cases boiler,rod] [--repeat N] [--json FILE]

Everybody minimises the same sum of squares with rtol 1e-6 and atol 1e-8, in turn, so that a slow
moment of the machine hits all alike; figures are medians. Whoever is not there is left out, with
the reason. AMICI_PYTHON names an interpreter that has AMICI, antimony, SWIG and SciPy.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from engine import lines_table
from engines import Missing
from fit_amici import Amici
from fit_cases import CASES, FitCase
from fit_collocation import Collocation
from fit_peers import Found, Lmfit, Ours, Peer, Scipy, exact_cost
from fit_process import whole_process
from process import Line
from rich.console import Console
from rich.table import Table

SAME = 1e-6  # relative difference of costs that counts as none
PATIENCE = 30.0  # seconds after which a peer takes no part in further rounds


@dataclass(frozen=True)
class Timing:
    """One peer on one case; seconds are medians."""

    case: str
    peer: str
    wall: float
    cpu: float
    ratio: float  # of wall times, to ours: median over the rounds
    simulations: int
    jacobians: int
    cost: float  # as the peer sees it
    excess: float  # of the cost at its values, simulated finely, over the best; relative
    prepare_s: float
    rounds: int

    @property
    def evaluation(self) -> float:
        """Seconds for one evaluation."""
        return self.wall / max(1, self.simulations + self.jacobians)


def peers_of(case: FitCase, folder: Path, rebuild: bool, console: Console) -> list[Peer]:
    """Those who are there, ours first."""
    makers: dict[str, Callable[[], Peer]] = {
        "estimica": lambda: Ours(case),
        "SciPy + solve_ivp": lambda: Scipy(case),
        "SciPy + odeint": lambda: Scipy(case, by_odeint=True),
        "lmfit + solve_ivp": lambda: Lmfit(case),
        "AMICI + SciPy": lambda: Amici(case, folder, rebuild),
        "CasADi collocation": lambda: Collocation(case),
    }
    found = []
    for name, make in makers.items():
        try:
            found.append(make())
        except Missing as reason:
            console.print(f"  {case.name}: {name} left out: {reason}", style="yellow")
    return found


def side_by_side(peers: Sequence[Peer], rounds: int) -> list[list[Found]]:
    """Fits of each peer: each round lets every peer fit in turn, but not the slow ones again."""
    found: list[list[Found]] = [[] for _ in peers]
    for _ in range(rounds):
        for own, peer in zip(found, peers, strict=True):
            if sum(f.wall for f in own) < PATIENCE:
                own.append(peer.run())
    return found


def measure(case: FitCase, peers: Sequence[Peer], rounds: int) -> list[Timing]:
    """All peers on one case."""
    found = side_by_side(peers, rounds)
    exact = [exact_cost(case, own[-1].values) for own in found]
    timings = []
    for peer, own, cost in zip(peers, found, exact, strict=True):
        ratios = [f.wall / ours.wall for f, ours in zip(own, found[0], strict=False)]
        last = own[-1]
        timings.append(
            Timing(
                case.name, peer.name, float(np.median([f.wall for f in own])),
                float(np.median([f.cpu for f in own])), float(np.median(ratios)),
                last.simulations, last.jacobians, last.cost, cost / min(exact) - 1,
                peer.prepare_s, len(own),
            )
        )  # fmt: skip
    return timings


def table(case: FitCase, timings: Sequence[Timing]) -> Table:
    """What one case has shown."""
    size = f"{case.data.size} samples, {len(case.start)} tuners"
    shown = Table(title=f"{case.name}: {case.title} ({size})", title_justify="left")
    shown.add_column("fit by")
    for heading in ("s", "CPU s", "× ours", "simulations", "with Jacobian", "ms each",
                    "final cost", "above the best", "to prepare, s", "fits"):  # fmt: skip
        shown.add_column(heading, justify="right")
    for t in timings:
        shown.add_row(
            t.peer, f"{t.wall:.4g}", f"{t.cpu:.4g}", f"{t.ratio:.3g}", f"{t.simulations or ''}",
            f"{t.jacobians or ''}", f"{1e3 * t.evaluation:.3g}", f"{t.cost:.6f}",
            f"{t.excess:.0e}", f"{t.prepare_s:.2f}", str(t.rounds),
        )  # fmt: skip
    return shown


def targets(case: FitCase, timings: Sequence[Timing]) -> list[Line]:
    """Same cost for all; at least so many times faster."""
    ours = timings[0]
    worst = max(timings, key=lambda t: t.excess)
    lines = [
        Line(f"{case.name}: all reach the same cost (worst: {worst.peer})", f"{worst.excess:.0e}",
             f"≤ {SAME:g}", worst.excess <= SAME)
    ]  # fmt: skip
    bound = 2.0 if case.problem.stiff else 20.0
    for t in timings:
        if t.peer in ("SciPy + solve_ivp", "lmfit + solve_ivp"):
            lines.append(Line(f"{case.name}: {t.peer} / {ours.peer}", f"{t.ratio:.3g}",
                              f"≥ {bound:g}", t.ratio >= bound))  # fmt: skip
        if t.peer.startswith("AMICI"):
            share = ours.evaluation / t.evaluation
            lines.append(Line(f"{case.name}: {ours.peer} / AMICI, one evaluation of a fit",
                              f"{share:.3g}", "≤ 1", share <= 1))  # fmt: skip
    return lines


def process_lines(case: FitCase, amici: Amici | None, fit_s: float, folder: Path) -> list[Line]:
    """From files to a fit, in a fresh process, against AMICI with its build."""
    warm, cold = whole_process(case, folder, 3)
    what = f"{case.name}: from .mo and .csv to a fit, fresh process"
    lines = [Line(what, f"{warm:.2f} s"), Line(f"{what}, nothing cached", f"{cold:.2f} s")]
    if amici is not None:
        theirs = amici.prepare_s + amici.import_s + fit_s
        lines.append(
            Line(
                f"{case.name}: AMICI (build {amici.prepare_s:.1f} s, start {amici.import_s:.1f} s, "
                f"fit {fit_s:.2f} s) / that",
                f"{theirs / warm:.3g}", "≥ 20", theirs / warm >= 20,
            )
        )  # fmt: skip
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", default=",".join(CASES), help="which cases, by commas")
    parser.add_argument("--repeat", type=int, default=7, help="rounds of each case")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    parser.add_argument("--only-fits", action="store_true", help="no figures of whole processes")
    parser.add_argument("--rebuild", action="store_true", help="let AMICI build its models anew")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.gettempdir()) / "estimica-bench"
    folder.mkdir(exist_ok=True)
    console = Console(width=max(150, Console().width))
    load = os.getloadavg()[0]
    console.print(f"{os.cpu_count()} cores, load {load:.1f}; medians of {options.repeat} rounds")
    timings: list[Timing] = []
    lines: list[Line] = []
    for name in options.cases.split(","):
        if name not in CASES:
            parser.error(f"no case '{name}'; there are {', '.join(CASES)}")
        case = CASES[name]()
        peers = peers_of(case, folder, options.rebuild, console)
        found = measure(case, peers, options.repeat)
        console.print(table(case, found))
        timings += found
        lines += targets(case, found)
        if not options.only_fits:
            amici = next((p for p in peers if isinstance(p, Amici)), None)
            theirs = next((t.wall for t in found if t.peer == Amici.name), 0.0)
            lines += process_lines(case, amici, theirs, folder)
        for peer in peers:
            peer.close()
    console.print(lines_table(lines))
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")
    if options.json:
        figures = {"timings": [asdict(t) for t in timings], "targets": [asdict(x) for x in lines]}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
