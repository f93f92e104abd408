"""The benchmark of FMUs: it runs, and everybody in it reaches the same optimum."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "fmu.py"

pytest.importorskip("fmpy")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH), *arguments], capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_benchmark_of_the_oscillator_runs_and_all_reach_the_same_cost(tmp_path):
    figures = tmp_path / "figures.json"
    done = run("--cases", "oscillator", "--repeat", "1", "--json", str(figures))
    assert done.returncode == 0, done.stderr
    timings = {t["peer"]: t for t in json.loads(figures.read_text())["timings"]}
    assert set(timings) == {"estimica", "FMPy + SciPy", "FMPy, one instance, + SciPy"}
    ours = timings["estimica"]
    for name, t in timings.items():
        assert t["excess"] < 1e-3, name
        assert t["evaluations"] >= ours["evaluations"], name
    assert timings["FMPy, one instance, + SciPy"]["ratio"] > 5


def test_benchmark_of_fmus_refuses_an_unknown_case():
    done = run("--cases", "rom")
    assert done.returncode == 2
    assert "no case 'rom'; there are room" in done.stderr
