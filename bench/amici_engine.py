"""AMICI, where an interpreter that has it is named by the environment variable AMICI_PYTHON."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import numpy as np
from antimony_text import antimony
from engines import ACCEPTED, Engine, Missing
from problems import RTOL, Problem, Vector
from reference import Reference

SERVER = Path(__file__).with_name("amici_server.py")


class Amici(Engine):
    """The fastest variant of AMICI, in its own process; times are CPU seconds of that process."""

    name = "AMICI"

    def __init__(self, problem: Problem, reference: Reference, folder: Path) -> None:
        python = os.environ.get("AMICI_PYTHON")
        if not python:
            raise Missing("set AMICI_PYTHON to an interpreter with amici, antimony and SWIG")
        model = antimony(problem)
        if model is None:
            raise Missing("Antimony has no algebraic equations to be solved")
        job = model.as_json() | {
            "name": f"bench_{problem.name}", "times": list(map(float, problem.times)),
            "rtol": RTOL, "atol": problem.atol, "stiff": problem.stiff,
        }  # fmt: skip
        text = json.dumps(job)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.home = folder / f"amici-{problem.name}-{digest}"
        self.home.mkdir(exist_ok=True)
        (self.home / "job.json").write_text(text)
        self._log = (self.home / "log.txt").open("w")
        # its virtual environment carries the SWIG that its build needs
        path = f"{Path(python).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": path}
        self._process = subprocess.Popen(
            [python, str(SERVER), str(self.home / "job.json")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=environment,
        )  # fmt: skip
        self.prepare_s = float(self._answer()["built_s"])
        self._choose(reference)

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            lines = (self.home / "log.txt").read_text().strip().splitlines()
            raise Missing(f"AMICI ended: {lines[-1][:160] if lines else 'without a word'}")
        return dict(json.loads(line))

    def _ask(self, words: str) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _choose(self, reference: Reference) -> None:
        """The fastest variant that is accurate enough; what its samples see at a jump."""
        best = float("inf")
        for variant, seconds in self._ask("variants").items():
            with np.load(self.home / f"{variant}.npz") as kept:
                Y, J = kept["Y"], kept["J"]
            error, sees = min((reference.errors(Y, J, s)[1], s) for s in ("after", "before"))
            if error <= ACCEPTED and seconds < best:
                best, self._Y, self._J = seconds, Y, J
                self.variant, self.sees = variant, sees
        if best == float("inf"):
            raise Missing("no variant is accurate")
        self._ask(f"use {self.variant}")

    def evaluate(self) -> None:
        """One run."""
        self.batch(1)

    def batch(self, n: int) -> float:
        """Seconds for one evaluation, the mean of n, by the other process's clock."""
        return self._ask(f"run {n}")["seconds"]

    def result(self) -> tuple[Vector, Vector]:
        """Samples and Jacobian of the chosen variant."""
        return self._Y, self._J

    @property
    def note(self) -> str:
        """Which variant was the fastest."""
        return self.variant

    def close(self) -> None:
        """End the other process."""
        self._process.communicate("quit\n")
        self._log.close()
