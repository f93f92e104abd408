"""First and second load of library classes: time and memory, each in a fresh process.

MODELICAPATH=... python -m tests.msl.load_times [--write] [CLASS ...]

The first load begins with an empty cache, with modules compiled as in an installed package. What
modules take to import is told apart: a model of one equation is loaded before the one in question.
`--write` puts the table into docs/standard-library.md.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "standard-library.md"
BEGIN, END = "<!-- load times -->", "<!-- end of load times -->"
MODELS = (
    "Modelica.Blocks.Examples.PID_Controller",
    "Modelica.Blocks.Examples.BusUsage",
    "Modelica.Electrical.Analog.Examples.CauerLowPassSC",
    "Modelica.Electrical.Analog.Examples.Lines.SmoothStep",
    "Modelica.Electrical.Polyphase.Examples.Rectifier",
    "Modelica.Electrical.Machines.Examples.DCMachines.DCPM_Temperature",
    "Modelica.Electrical.Machines.Examples.InductionMachines.IMC_DOL",
    "Modelica.Electrical.Machines.Examples.SynchronousMachines.SMPM_Inverter",
    "Modelica.Electrical.PowerConverters.Examples.DCDC.ChopperStepDown.ChopperStepDown_R",
    "Modelica.Mechanics.Rotational.Examples.First",
    "Modelica.Mechanics.Rotational.Examples.CoupledClutches",
    "Modelica.Mechanics.Translational.Examples.Vehicle",
    "Modelica.Mechanics.MultiBody.Examples.Elementary.DoublePendulum",
    "Modelica.Mechanics.MultiBody.Examples.Loops.EngineV6_analytic",
    "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.OneAxis",
    "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.FullRobot",
    "Modelica.Thermal.HeatTransfer.Examples.Motor",
    "Modelica.Thermal.FluidHeatFlow.Examples.IndirectCooling",
    "Modelica.Fluid.Examples.Tanks.ThreeTanks",
    "Modelica.StateGraph.Examples.ControlledTanks",
)
HEAD = (
    "| example | variables | states | imports (CPU time) | first load | its CPU time | memory "
    "| second load | its CPU time | compiled again in |\n|---|---|---|---|---|---|---|---|---|---|\n"
)
PLAIN = "model Plain Real x(start = 1, fixed = true); equation der(x) = -x; end Plain;"


def measure(name: str) -> dict[str, float]:
    """What loading costs in this process."""
    import resource

    cpu = time.process_time()
    import estimica as es

    es.load_model(PLAIN)
    imports = time.process_time() - cpu
    begun, cpu = time.perf_counter(), time.process_time()
    model = es.load_model(name)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begun = time.perf_counter()
    model.response([0.0, model.experiment.stop or 1.0])
    return {
        "variables": len(model.flat.variables),
        "states": len(model.system.states),
        "imports": imports,
        "seconds": seconds,
        "cpu": cpu,
        "own": own,
        "compile": time.perf_counter() - begun,
    }


def in_process(name: str, cache: str, modules: str) -> dict[str, float]:
    """The same in a process of its own, whose compiled modules lie in a folder."""
    environment = {
        **os.environ,
        "ESTIMICA_CACHE": cache,
        "ESTIMICA_LOAD_SECONDS": "600",
        "PYTHONPYCACHEPREFIX": modules,
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.msl.load_times", "--one", name],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def first_and_second(name: str, modules: str) -> tuple[dict[str, float], dict[str, float]]:
    """The load with an empty cache, and the quickest of three with what it left there."""
    with tempfile.TemporaryDirectory() as cache:
        first = in_process(name, cache, modules)
        later = [in_process(name, cache, modules) for _ in range(3)]
    best = {k: min(run[k] for run in later) for k in later[0]}
    return first, best


def row(name: str, first: dict[str, float], second: dict[str, float]) -> str:
    """One line of the table."""
    cells = (
        name.removeprefix("Modelica."),
        f"{first['variables']:.0f}",
        f"{first['states']:.0f}",
        f"{second['imports']:.2f} s",
        f"{first['seconds']:.1f} s",
        f"{first['cpu']:.1f} s",
        f"{first['own']:.0f} MB",
        f"{second['seconds']:.2f} s",
        f"{second['cpu']:.2f} s",
        f"{second['compile']:.2f} s",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, print, and write the page where that is asked for."""
    given = [a for a in sys.argv[1:] if not a.startswith("--")]
    if "--one" in sys.argv:
        print(json.dumps(measure(given[0])))
        return
    rows = []
    with tempfile.TemporaryDirectory() as modules:
        with tempfile.TemporaryDirectory() as cache:  # the first load of all compiles the modules
            in_process(MODELS[0], cache, modules)
        for name in given or MODELS:
            rows.append(row(name, *first_and_second(name, modules)))
            print(rows[-1], flush=True)
    if "--write" in sys.argv:
        table = f"{BEGIN}\n{HEAD}" + "\n".join(rows) + f"\n{END}"
        text = PAGE.read_text(encoding="utf-8")
        pattern = re.escape(BEGIN) + ".*" + re.escape(END)
        PAGE.write_text(re.sub(pattern, lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
