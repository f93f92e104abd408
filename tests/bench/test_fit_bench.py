"""The benchmark of fits: it runs, and everybody in it reaches the same optimum."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "fit.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "AMICI_PYTHON"}
    return subprocess.run(
        [sys.executable, str(BENCH), *arguments],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip


@pytest.mark.slow
def test_benchmark_of_the_circuit_runs_and_all_reach_the_same_cost(tmp_path):
    figures = tmp_path / "figures.json"
    done = run("--cases", "circuit", "--repeat", "1", "--only-fits", "--json", str(figures))
    assert done.returncode == 0, done.stderr
    assert "AMICI + SciPy left out: set AMICI_PYTHON" in done.stdout
    found = json.loads(figures.read_text())
    timings = {t["peer"]: t for t in found["timings"]}
    assert {"estimica", "SciPy + solve_ivp", "CasADi collocation"} <= set(timings)
    for name, t in timings.items():
        assert t["excess"] < 1e-6, name
        assert t["simulations"] + t["jacobians"] > 0, name
    assert timings["SciPy + solve_ivp"]["ratio"] > 5


def test_benchmark_of_fits_refuses_an_unknown_case():
    done = run("--cases", "boilr")
    assert done.returncode == 2
    assert "no case 'boilr'; there are boiler" in done.stderr
