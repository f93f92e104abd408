"""AMICI with SciPy's least_squares, where AMICI_PYTHON names an interpreter that has both."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
from antimony_text import AntimonyModel, antimony
from engines import Missing
from fit_cases import ATOL, FitCase
from fit_peers import TOLERANCE, Found, Peer
from problems import RTOL, Vector

SERVER = Path(__file__).with_name("fit_amici_server.py")

CIRCUIT = """model problem
R1 = 2; R2 = 2; C = 2; L = 2;
i = 0; v = 0;
i' = (10 - v - R1*i - R2*i^5)/L;
v' = i/C;
end
"""


def antimony_of(case: FitCase) -> AntimonyModel:
    """The case's model in AMICI's language."""
    if case.name == "circuit":
        return AntimonyModel(CIRCUIT, {"y1": "i"}, (), tuple(case.start))
    model = antimony(case.problem)
    assert model is not None
    if case.name == "rod":
        return replace(model, outputs={f"y{i}": f"x{i}" for i in range(2, 100, 5)})
    return model


class Amici(Peer):
    """The fastest variant of its solver; times are those of its own process."""

    name = "AMICI + SciPy"

    def __init__(self, case: FitCase, folder: Path, rebuild: bool = False) -> None:
        python = os.environ.get("AMICI_PYTHON")
        if not python:
            raise Missing("set AMICI_PYTHON to an interpreter with amici, antimony and SWIG")
        model = antimony_of(case).as_json() | {"name": f"fit_{case.name}"}
        digest = hashlib.sha256(json.dumps(model).encode()).hexdigest()[:12]
        home = folder / f"amici-fit-{case.name}-{digest}"  # a build serves all data
        if rebuild:
            shutil.rmtree(home, ignore_errors=True)
        home.mkdir(exist_ok=True)
        job = model | {
            "times": case.times.tolist(), "rtol": RTOL, "atol": ATOL,
            "stiff": case.problem.stiff, "data": case.data.tolist(), "start": case.theta.tolist(),
            "weights": case.weights.tolist(), "bounds": list(case.bounds), "tolerance": TOLERANCE,
        }  # fmt: skip
        (home / "job.json").write_text(json.dumps(job))
        self._log = home / "log.txt"
        # its virtual environment carries the SWIG that its build needs
        path = f"{Path(python).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": path}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [python, str(SERVER), str(home / "job.json")], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
            )  # fmt: skip
        ready = self._answer()
        self.prepare_s, self.import_s = float(ready["built_s"]), float(ready["import_s"])

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            lines = self._log.read_text().strip().splitlines()
            raise Missing(f"AMICI ended: {lines[-1][:160] if lines else 'without a word'}")
        return dict(json.loads(line))

    def run(self) -> Found:
        """One fit from the start, timed by its own process."""
        assert self._process.stdin is not None
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()
        a = self._answer()
        n = int(a["evaluations"])
        return Found(np.array(a["values"]), a["cost"], 0, n, a["wall"], a["cpu"])

    def search(self) -> tuple[Vector, float, int, int]:
        """As `run`, without its times."""
        found = self.run()
        return found.values, found.cost, found.simulations, found.jacobians

    def close(self) -> None:
        """End the other process."""
        self._process.communicate("quit\n")
