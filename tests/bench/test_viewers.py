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


def test_ten_viewers_see_every_iteration_within_two_seconds(tmp_path: Path) -> None:
    found = figures(tmp_path, "--viewers", "10", "--rounds", "1", "--size", "6", "--steps", "60")
    assert found["unseen"] == 0
    assert found["late_99"] < 2.0


@pytest.mark.slow
def test_fifty_viewers_slow_a_run_by_less_than_a_tenth(tmp_path: Path) -> None:
    found = figures(tmp_path, "--viewers", "50", "--rounds", "5", "--steps", "400")
    assert found["unseen"] == 0
    assert found["late_most"] < 2.0
    assert found["pictures"] >= 1
    # processor time: the clock also counts what others do on this machine
    assert found["slower_cpu"] < 0.1
