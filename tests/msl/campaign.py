"""Loads and runs the examples of a Modelica Standard Library, and writes down how each one ends.

MODELICAPATH=... python -m tests.msl.campaign results.json [PREFIX ...]
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np

import estimica as es

PACKAGES = (
    "Blocks",
    "Electrical.Analog",
    "Mechanics.Rotational",
    "Mechanics.Translational",
    "Mechanics.MultiBody",
    "Thermal.HeatTransfer",
    "Thermal.FluidHeatFlow",
)


def library() -> Path:
    """The folder `Modelica` of the library on MODELICAPATH."""
    for entry in os.environ.get("MODELICAPATH", "").split(os.pathsep):
        for folder in sorted(Path(entry).glob("Modelica*")) if entry else []:
            if (folder / "Blocks" / "package.mo").is_file():
                return folder
    raise SystemExit("no Modelica Standard Library on MODELICAPATH")


def examples() -> list[str]:
    """Runnable examples (those with an experiment annotation) of the packages above."""
    root = library()
    found: list[str] = []
    for package in PACKAGES:
        folder = root.joinpath(*package.split("."))
        for path in sorted(folder.rglob("*.mo")):
            relative = path.relative_to(root).with_suffix("")
            if "Examples" not in relative.parts and "Examples" not in path.read_text("utf-8"):
                continue
            found.extend(_classes(path, ".".join(("Modelica", *relative.parts))))
    return list(dict.fromkeys(found))


def _classes(path: Path, name: str) -> list[str]:
    """Dotted names of the models in a file that have an experiment annotation."""
    text = path.read_text(encoding="utf-8")
    if path.name == "package.mo":
        name = name.rsplit(".", 1)[0]
    stack: list[str] = []
    found = []
    pattern = re.compile(
        r"^\s*(?:(?:encapsulated|partial|replaceable|final|redeclare|inner|outer)\s+)*"
        r"(model|package|block|function|record|class|connector|operator\s+record|type)\s+(?!extends)(\w+)(?!\s*=)|"
        r"^\s*end\s+(\w+)\s*;|(experiment\s*\(\s*(?:StartTime|StopTime))",
        re.MULTILINE,
    )
    for match in pattern.finditer(text):
        _, opened, closed, experiment = match.groups()
        if opened:
            stack.append(opened)
        elif closed and closed in stack:
            while stack and stack.pop() != closed:
                pass
        elif experiment and stack:
            inner = stack[1:] if stack[0] == name.rsplit(".", 1)[-1] else stack
            found.append(".".join((name, *inner)))
    return [n for n in found if ".Examples." in n and not n.endswith(".to")]


def attempt(name: str) -> dict[str, object]:
    """Load, then simulate to the stop time; the first thing that fails is reported."""
    begun = time.perf_counter()
    report: dict[str, object] = {"name": name, "stage": "load"}
    try:
        model = es.load_model(name)
        report["load_seconds"] = round(time.perf_counter() - begun, 2)
        report["states"] = len(model.system.states)
        report["variables"] = len(model.flat.variables)
        report["stage"] = "simulate"
        begun = time.perf_counter()
        stop = model.experiment.stop or 1.0
        run = model.simulate(np.linspace(0, stop, 101), options=es.Options(rtol=1e-6, atol=1e-8))
        report["run_seconds"] = round(time.perf_counter() - begun, 2)
        report["events"] = len(run.events)
        report["stage"] = "done" if np.isfinite(run.values).all() else "not finite"
    except es.EstimicaError as error:
        report |= {"code": error.code, "message": error.message[:400]}
    except Exception as error:
        report |= {"code": "BUG", "message": f"{type(error).__name__}: {error}"[:400]}
    return report


def main() -> None:
    """Run the campaign and write one JSON list."""
    target, prefixes = Path(sys.argv[1]), sys.argv[2:]
    names = [n for n in examples() if not prefixes or n.startswith(tuple(prefixes))]
    reports = []
    for name in names:
        reports.append(attempt(name))
        r = reports[-1]
        print(r["stage"], name, r.get("code", ""), str(r.get("message", ""))[:150], flush=True)
        target.write_text(json.dumps(reports, indent=1), encoding="utf-8")
    print(len(names), "examples", sum(r["stage"] == "done" for r in reports), "done")


if __name__ == "__main__":
    main()
