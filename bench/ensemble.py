"""Benchmark of ensembles: many members of one model by the scalar engine, by groups of them in the
lanes of vectors, and by such groups on two threads, side by side.

    python bench/ensemble.py [--models A,B] [--members N] [--rounds N] [--linear] [--json FILE]

Every round times all contestants in turn on the same members; ratios are medians over the rounds,
times the best of them: CPU time, and time on the clock where there are two threads. The first
columns are outputs and all sensitivities; the others are the normal equations of a fit, which NumPy
makes of the scalar engine's results. The scalar engine is given its starts; "with starts" finds
them too, as the groups do.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from controllers import CONTROLLERS, Controller
from ours import Ours
from problems import PROBLEMS, Problem, Vector
from process import Line
from rich.console import Console
from rich.table import Table

from estimica.simulate.ensemble.backends import Ensemble
from estimica.simulate.ensemble.members import Measured, normal_equations
from estimica.simulate.ensemble.scalar import begin, run_scalar

SCALAR = "scalar"
MODELS = "problems of bench/problems.py and bench/controllers.py"
#: (problem, contestant, the ratio that it shall reach)
TARGETS = [(p, c, r) for p in ("A", "B") for c, r in (("8 lanes", 3.0), ("4 lanes", 2.0))]
#: numbers of members over which the cost shall be linear
SIZES = (100, 1_000, 10_000, 100_000)

Work = tuple[Callable[[], object], Callable[[], object]]


@dataclass(frozen=True)
class Timing:
    """One contestant on one problem: microseconds a member, and how much quicker than scalar."""

    problem: str
    contestant: str
    outputs_us: float
    outputs_ratio: float
    normal_us: float
    normal_ratio: float
    alone: int


def members_of(problem: Problem | Controller, count: int) -> tuple[Ours | Controller, Vector]:
    """The problem's response and members some percent around its tuners."""
    ours = problem if isinstance(problem, Controller) else Ours(problem)
    noise = np.random.default_rng(1).standard_normal((count, len(ours.theta)))
    return ours, ours.theta * (1 + 0.02 * noise)


def contestants(ours: Ours | Controller, thetas: Vector, measured: Measured) -> dict[str, Work]:
    """What each of them does."""
    response = ours.response
    starts = begin(response, thetas)
    plain = Ensemble(response, "scalar")
    work: dict[str, Work] = {
        SCALAR: (
            lambda: run_scalar(response, starts),
            lambda: normal_equations(run_scalar(response, starts), measured),
        ),
        "scalar with starts": (lambda: plain.at(thetas), lambda: plain.normal(thetas, measured)),
    }
    for name, lanes, threads in (
        ("4 lanes", 4, 1), ("8 lanes", 8, 1), ("8 lanes, 2 threads", 8, 2),
    ):  # fmt: skip
        e = Ensemble(response, "vector", threads, lanes)
        work[name] = (lambda e=e: e.at(thetas), lambda e=e: e.normal(thetas, measured))  # type: ignore[misc]
    return work


def measure(problem: Problem | Controller, count: int, rounds: int) -> list[Timing]:
    """All contestants on one problem."""
    ours, thetas = members_of(problem, count)
    begun = Ensemble(ours.response, "vector").at(thetas)
    measured = Measured(begun.Y[:1], np.ones(begun.Y.shape[1:]))
    work = contestants(ours, thetas, measured)
    seconds = np.empty((rounds + 1, len(work), 2))
    for k in range(rounds + 1):  # the first one is to warm up
        for i, (name, both) in enumerate(work.items()):
            clock = time.perf_counter if "threads" in name else time.process_time
            for j, function in enumerate(both):
                start = clock()
                function()
                seconds[k, i, j] = clock() - start
    seconds = seconds[1:]
    ratios = np.median(seconds[:, :1] / seconds, axis=0)
    best = 1e6 * seconds.min(axis=0) / count
    alone = int(begun.alone.sum())
    return [
        Timing(problem.name, name, best[i, 0], ratios[i, 0], best[i, 1], ratios[i, 1], alone)
        for i, name in enumerate(work)
    ]


def table(problem: Problem | Controller, timings: list[Timing], count: int) -> Table:
    """What one problem has shown."""
    size = f"{count} members, {len(problem.times)} samples, {len(problem.tuners)} tuners"
    shown = Table(title=f"{problem.name}: {problem.title} ({size})", title_justify="left")
    shown.add_column("contestant")
    for heading in ("µs a member", "a second", "× scalar", "normal, µs", "a second", "× scalar"):
        shown.add_column(heading, justify="right")
    for t in timings:
        shown.add_row(
            t.contestant, f"{t.outputs_us:.1f}", f"{1e6 / t.outputs_us:,.0f}",
            f"{t.outputs_ratio:.2f}", f"{t.normal_us:.1f}", f"{1e6 / t.normal_us:,.0f}",
            f"{t.normal_ratio:.2f}",
        )  # fmt: skip
    return shown


def targets(timings: list[Timing]) -> list[Line]:
    """Whether the ratios are what they shall be."""
    lines = []
    for problem, contestant, bound in TARGETS:
        for t in timings:
            if (t.problem, t.contestant) == (problem, contestant):
                for what, ratio in (("outputs", t.outputs_ratio), ("normal", t.normal_ratio)):
                    name = f"{problem}: {contestant}, {what}"
                    lines.append(Line(name, f"{ratio:.2f}", f"≥ {bound:g}", ratio >= bound))
    return lines


def linear(console: Console) -> list[dict[str, float]]:
    """Microseconds a member and the process' memory as members become more."""
    ours, thetas = members_of(PROBLEMS["A"](), SIZES[-1])
    ensemble = Ensemble(ours.response, "vector")
    run = ensemble.at(thetas[:8])
    measured = Measured(run.Y[:1], np.ones(run.Y.shape[1:]))
    found = []
    for size in SIZES:
        start = time.process_time()
        ensemble.normal(thetas[:size], measured)
        spent = 1e6 * (time.process_time() - start) / size
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found.append({"members": size, "us_a_member": spent, "peak_MB": memory})
        console.print(f"  {size:>7,} members: {spent:6.1f} µs each, at most {memory:,.0f} MB")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="A,B,Circ,Rob,Step,Limit,OnOff", help=MODELS)
    parser.add_argument("--members", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--linear", action="store_true", help="cost over members, 10² to 10⁵")
    parser.add_argument("--json", type=Path, help="where to put the figures")
    options = parser.parse_args()
    console = Console()
    timings: list[Timing] = []
    for name in filter(None, options.models.split(",")):
        problem = {**PROBLEMS, **CONTROLLERS}[name]()
        of_problem = measure(problem, options.members, options.rounds)
        console.print(table(problem, of_problem, options.members))
        timings += of_problem
    for line in targets(timings):
        style = "green" if line.met else "red"
        console.print(f"  {line.what}: {line.measured} ({line.target})", style=style)
    growth = linear(console) if options.linear else []
    if options.json:
        content = {"timings": [asdict(t) for t in timings], "linear": growth}
        options.json.write_text(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
