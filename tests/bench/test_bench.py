"""The benchmark itself: it runs, and every engine in it solves the same problem."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "engine.py"


@pytest.mark.slow
def test_benchmark_of_the_boiler_runs_and_all_engines_agree(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, str(BENCH), "--models", "A", "--repeat", "2", "--only-engines"]
    done = subprocess.run(
        [*command, "--json", str(figures)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    timings = {t["engine"]: t for t in json.loads(figures.read_text())["timings"]}
    assert {"estimica", "LSODA + differences"} <= set(timings)
    assert timings["estimica"]["jacobian_error"] < 1e-5
    for name, t in timings.items():
        assert t["jacobian_error"] < 1e-2, name


def test_benchmark_refuses_an_unknown_problem():
    command = [sys.executable, str(BENCH), "--models", "C"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "no problem 'C'" in done.stderr
