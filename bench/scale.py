"""How the cost of sparse models grows with their size.

    python bench/scale.py [--models rod,ladder] [--largest N] [--json FILE]

Each model is loaded without what is kept on disk; the table says what each stage takes in CPU time
and, in brackets, the power of the size that it has grown with since the size before (1: linearly).
EngineV6 takes part where MODELICAPATH leads to the Modelica Standard Library.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scale_models import FAMILIES, Case, engine_v6, rigid_pipes, rod

import estimica as es
from estimica.execute.threads import one_thread
from estimica.simulate.modelica.model import ModelicaModel
from estimica.source.load import load_flat

TUNERS = (1, 10, 50)
SAMPLES = 101
#: seconds of CPU time that short runs are repeated for
BATCH_S = 0.05


@dataclass
class Figures:
    """What one model has taken, by stage: seconds of CPU time."""

    name: str
    size: int
    states: int = 0
    unknowns: int = 0
    variables: int = 0
    steps: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    memory_mb: float = 0.0
    failed: str = ""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        begun = time.process_time()
        yield
        self.seconds[name] = time.process_time() - begun


def measure(case: Case, console: Console) -> Figures:
    """All stages of one model."""
    found = Figures(case.name, case.size)
    try:
        _measure(case, found)
    except es.EstimicaError as error:
        found.failed = str(error)
        console.print(f"{case.name} {case.size}: {error}", style="red")
    found.memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def _measure(case: Case, found: Figures) -> None:
    with found.stage("load"):
        flat = load_flat(case.text, case.class_, cache=False)
    found.variables = len(flat.variables)
    with found.stage("structure"):
        model = ModelicaModel(flat)
    found.states, found.unknowns = len(model.system.states), model.equations.z.shape[0]
    times = np.linspace(0, case.stop, SAMPLES)
    for m in (0, *TUNERS):
        wrt = case.tuners[:m]
        if len(wrt) < m:
            continue
        with found.stage(f"compile {m}"):
            response = model.response(times, outputs=case.outputs, wrt=wrt)
        with found.stage(f"first {m}"):
            run = response.at()
        if not run.ok:
            found.failed = f"{m} tuners: {run.text} at {run.time:g}"
            return
        found.steps[str(m)] = f"{run.statistics.steps}/{run.statistics.stiff_steps}"
        found.seconds[f"run {m}"] = repeated(response.at)


def repeated(run: Callable[[], object]) -> float:
    """Seconds of one call; short ones are repeated and their median counts."""
    taken: list[float] = []
    while sum(taken) < BATCH_S:
        begun = time.process_time()
        run()
        taken.append(time.process_time() - begun)
    return float(np.median(taken))


STAGES = ("load", "structure", "compile 0", "first 0", "run 0",
          *(f"{what} {m}" for m in TUNERS for what in ("compile", "first", "run")))  # fmt: skip


def table(found: Sequence[Figures]) -> Table:
    """Sizes of one family side by side."""
    shown = Table(title=found[0].name, title_justify="left")
    shown.add_column("stage")
    for f in found:
        shown.add_column(f"{f.size}" if f.size else f.name, justify="right")
    shown.add_row("states", *(str(f.states) for f in found))
    shown.add_row("algebraic unknowns", *(str(f.unknowns) for f in found))
    shown.add_row("variables", *(str(f.variables) for f in found))
    for stage in STAGES:
        cells = [cell(found, k, stage) for k in range(len(found))]
        shown.add_row(stage, *cells)
    for m in ("0", *map(str, TUNERS)):
        shown.add_row(f"steps/stiff, {m}", *(f.steps.get(m, "") for f in found))
    shown.add_row("peak memory, MB", *(f"{f.memory_mb:.0f}" for f in found))
    return shown


def cell(found: Sequence[Figures], k: int, stage: str) -> str:
    """Seconds, and the exponent of growth from the size before."""
    now = found[k].seconds.get(stage)
    if now is None:
        return ""
    text = f"{now:.3f}" if now >= 0.01 else f"{1e3 * now:.2g} ms"
    before = found[k - 1].seconds.get(stage) if k else None
    if not before or not now:
        return text
    power = math.log(now / before) / math.log(found[k].size / found[k - 1].size)
    return f"{text} ({power:.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [*FAMILIES, "EngineV6"]
    parser.add_argument("--models", default=",".join(names), help="which models, by commas")
    parser.add_argument("--largest", type=int, default=3000, help="the largest size to try")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    options = parser.parse_args(arguments)
    console = Console(width=max(130, Console().width))
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; seconds of CPU time")
    every: list[Figures] = []
    for first in (rod(10), rigid_pipes(20)):  # the engine itself is compiled once and kept
        measure(first, console)
    # threads of linear algebra that wait for each other on a busy machine count as CPU time
    with tempfile.TemporaryDirectory() as folder, one_thread():
        # machine code that an earlier run has kept would hide what compiling takes
        os.environ["ESTIMICA_CACHE"] = folder
        for name in options.models.split(","):
            if name not in names:
                parser.error(f"no model '{name}'; there are {', '.join(names)}")
            if name == "EngineV6":
                cases = [engine_v6()] if os.environ.get("MODELICAPATH") else []
            else:
                make, sizes = FAMILIES[name]
                cases = [make(n) for n in sizes if n <= options.largest]
            found = [measure(case, console) for case in cases]
            if found:
                console.print(table(found))
            every += found
    if options.json:
        options.json.write_text(json.dumps([asdict(f) for f in every], indent=1))


if __name__ == "__main__":
    main()
