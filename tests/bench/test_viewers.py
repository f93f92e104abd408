"""Many viewers of one run: all of them see every iteration in time, and the run goes on as before."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "viewers.py"


def figures(tmp_path: Path, *options: str) -> dict[str, Any]:
    path = tmp_path / "figures.json"
    command = [sys.executable, str(BENCH), *options, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=550, check=False)
    assert done.returncode == 0, done.stderr
    assert "slower by" in done.stdout
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_ten_viewers_see_every_iteration_within_two_seconds(tmp_path: Path) -> None:
    options = ("--viewers", "10", "--windows", "1", "--span", "3", "--size", "6")
    found = figures(tmp_path, *options, "--samples", "500")
    assert found["unseen"] == 0
    assert found["late_99"] < 2.0


@pytest.mark.slow
def test_fifty_viewers_slow_a_run_by_less_than_a_tenth(tmp_path: Path) -> None:
    found = figures(tmp_path, "--viewers", "50", "--windows", "10")
    assert found["unseen"] == 0
    assert found["late_most"] < 2.0
    assert found["pictures"] > 0
    # on a machine that others use too, the clock tells of them as well
    assert found["slower"] < 0.1
