"""Benchmark of the engine: all outputs and the full Jacobian, side by side with other engines.

    python bench/engine.py [--models A,B] [--repeat N] [--json FILE]

Every engine solves the same problem at rtol 1e-6 in the same run, in turn, so that a slow moment
of the machine hits all alike; figures are medians of CPU time. Engines that are not there are left
out, with the reason. AMICI_PYTHON names an interpreter that has AMICI, antimony and SWIG.
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
from amici_engine import Amici
from casadi_cvodes import Cvodes
from engines import Engine, Missing, side_by_side
from lsoda import Lsoda
from ours import Ours
from problems import PROBLEMS, Problem
from process import Line, process_lines
from reference import Reference, reference
from rich.console import Console
from rich.table import Table
from static_c import StaticC

OURS, C, AMICI, CVODES = "estimica", "static C", "AMICI", "CasADi cvodes"


@dataclass(frozen=True)
class Timing:
    """One engine on one problem."""

    problem: str
    engine: str
    milliseconds: float  # median
    best: float  # of the rounds; nearer the truth where the machine is busy
    ratio: float  # to ours: median over the rounds
    error: float
    jacobian_error: float
    prepare_s: float
    note: str


@dataclass(frozen=True)
class Target:
    """A bound for a ratio between two engines on one problem."""

    problem: str
    engine: str
    bound: float
    ours_slower: bool  # True: ours/theirs at most; False: theirs/ours at least

    def check(self, timings: Sequence[Timing]) -> Line | None:
        """The ratio and whether it is met; against the fastest engine of that name."""
        of = [t for t in timings if t.problem == self.problem and t.engine.startswith(self.engine)]
        if not of:
            return None
        fastest = min(of, key=lambda t: t.ratio)
        name, ratio = fastest.engine, fastest.ratio
        if self.ours_slower:
            text, value, met = f"{OURS} / {name}", 1 / ratio, 1 / ratio <= self.bound
        else:
            text, value, met = f"{name} / {OURS}", ratio, ratio >= self.bound
        sign = "≤" if self.ours_slower else "≥"
        return Line(f"{self.problem}: {text}", f"{value:.3g}", f"{sign} {self.bound:g}", met)


TARGETS = (
    Target("A", C, 1.5, True),
    Target("A1", C, 1.5, True),
    Target("B", C, 1.5, True),
    Target("A", AMICI, 50, False),
    Target("B", AMICI, 50, False),
    Target("A", CVODES, 50, False),
    Target("B", CVODES, 25, False),
    Target("Rob", C, 2.3, True),
    Target("Heat", AMICI, 0.7, True),
)


def contestants(problem: Problem, known: Reference, folder: Path, console: Console) -> list[Engine]:
    """The engines that are there, ours first."""
    makers: dict[str, Callable[[], Engine]] = {
        OURS: lambda: Ours(problem),
        C: lambda: StaticC(problem, folder),
        f"{CVODES} BDF": lambda: Cvodes(problem, "BDF", known, folder),
        f"{CVODES} Adams": lambda: Cvodes(problem, "Adams", known, folder),
        AMICI: lambda: Amici(problem, known, folder),
        "LSODA + differences": lambda: Lsoda(problem),
    }
    found = []
    for name, make in makers.items():
        try:
            engine = make()
            engine.batch(1)
            found.append(engine)
        except Missing as reason:
            console.print(f"  {problem.name}: {name} left out: {reason}", style="yellow")
        except Exception as failed:  # one engine's failure is a result, not the end of the run
            words = str(failed).strip().splitlines() or [type(failed).__name__]
            console.print(f"  {problem.name}: {name} failed: {words[-1][:160]}", style="red")
    return found


def measure(problem: Problem, folder: Path, rounds: int, console: Console) -> list[Timing]:
    """All engines on one problem."""
    known = reference(problem, folder)
    engines = contestants(problem, known, folder, console)
    seconds = side_by_side(engines, rounds)
    timings = []
    for k, engine in enumerate(engines):
        ours = engines[0].name == OURS
        ratio = float(np.median(seconds[:, k] / seconds[:, 0])) if ours else float("nan")
        errors = known.errors(*engine.result(), engine.sees)
        median, best = 1e3 * np.median(seconds[:, k]), 1e3 * seconds[:, k].min()
        timings.append(
            Timing(
                problem.name,
                engine.name,
                float(median),
                float(best),
                ratio,
                *errors,
                engine.prepare_s,
                engine.note,
            )
        )
        engine.close()
    return timings


def table(problem: Problem, timings: Sequence[Timing]) -> Table:
    """What one problem has shown."""
    size = f"{len(problem.times)} samples, {len(problem.tuners)} tuners"
    shown = Table(title=f"{problem.name}: {problem.title} ({size})", title_justify="left")
    shown.add_column("engine")
    for heading in ("ms", "best", "× ours", "error y", "error J", "to prepare, s"):
        shown.add_column(heading, justify="right")
    shown.add_column("note")
    for t in timings:
        shown.add_row(
            t.engine, f"{t.milliseconds:.3g}", f"{t.best:.3g}", f"{t.ratio:.3g}", f"{t.error:.0e}",
            f"{t.jacobian_error:.0e}", f"{t.prepare_s:.1f}", t.note,
        )  # fmt: skip
    return shown


def lines_table(lines: Sequence[Line]) -> Table:
    """Targets and whether they are met."""
    shown = Table(title="Targets", title_justify="left")
    shown.add_column("what")
    shown.add_column("measured", justify="right")
    shown.add_column("target", justify="right")
    shown.add_column("")
    for line in lines:
        mark = "" if line.met is None else "[green]met[/]" if line.met else "[red]missed[/]"
        shown.add_row(line.what, line.measured, line.target, mark)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", default=",".join(PROBLEMS), help="which problems, by commas")
    parser.add_argument("--repeat", type=int, default=15, help="rounds of each problem")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    parser.add_argument("--only-engines", action="store_true", help="no figures of the process")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.gettempdir()) / "estimica-bench"
    folder.mkdir(exist_ok=True)
    console = Console(width=max(130, Console().width))
    load = os.getloadavg()[0]
    console.print(f"{os.cpu_count()} cores, load {load:.1f}; medians of {options.repeat} rounds")
    timings: list[Timing] = []
    for name in options.models.split(","):
        if name not in PROBLEMS:
            parser.error(f"no problem '{name}'; there are {', '.join(PROBLEMS)}")
        problem = PROBLEMS[name]()
        found = measure(problem, folder, options.repeat, console)
        console.print(table(problem, found))
        timings += found
    checked = (target.check(timings) for target in TARGETS)
    lines = [line for line in checked if line is not None]
    if not options.only_engines:
        lines += process_lines()
    console.print(lines_table(lines))
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")
    if options.json:
        figures = {"timings": [asdict(t) for t in timings], "targets": [asdict(x) for x in lines]}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
