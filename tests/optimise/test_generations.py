"""Generations: side by side, noted, and taken up again after the process was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MASS = """
model Mass
  parameter Real k = 4;
  parameter Real d = 2;
  output Real x(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = k*(1 - x) - d*v;
  annotation(experiment(StopTime = 10));
end Mass;
"""
STUDY = """
[model]
source = "Mass.mo"
[tune]
k = { start = 4, min = 0.5, max = 20 }
d = { start = 2, min = 0.2, max = 20 }
[[criterion]]
name = "error"
kind = "itae"
of = "x"
reference = 1
demand = 0.5
[[criterion]]
name = "overshoot"
kind = "overshoot"
of = "x"
reference = 1
demand = 0.05
[optimise]
method = "genetic"
population = 8
max_iterations = 6
seed = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Mass.mo").write_text(MASS, encoding="utf-8")
    (tmp_path / "mass.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def command(*arguments: str) -> list[str]:
    main = "from estimica.apps.cli import main; main()"
    return [sys.executable, "-c", main, "optimise", "mass.toml", "--json", *arguments]


def done(folder: Path, *arguments: str) -> dict[str, object]:
    ended = subprocess.run(command(*arguments), cwd=folder, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    found: dict[str, object] = json.loads(ended.stdout)
    return found


@pytest.mark.slow
def test_a_killed_genetic_search_goes_on_to_the_same_design(folder: Path) -> None:
    whole = done(folder, "--no-store")
    begun = subprocess.Popen(
        command("--quiet"), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    noted = _wait_for_generations(folder, 2, begun)
    os.kill(begun.pid, signal.SIGKILL)
    begun.wait()
    again = done(folder, "--resume", "last")
    assert again["tuners"] == whole["tuners"]
    assert again["evaluations"]["designs"] == whole["evaluations"]["designs"]  # type: ignore[index]
    saved = whole["evaluations"]["simulations"] - again["evaluations"]["simulations"]  # type: ignore[index]
    assert saved >= 8 * noted


def _wait_for_generations(folder: Path, count: int, process: subprocess.Popen[bytes]) -> int:
    from estimica.execute.runs.store import Store

    for _ in range(600):
        time.sleep(0.05)
        if not list(folder.glob(".estimica*")) and not list(folder.glob("*.estimica*")):
            continue
        store = Store.of(folder / "mass.toml", None)
        runs = store.runs(1, "optimise")
        keys = list(store.run(runs[0].id).checkpoints) if runs else []
        if len(keys) >= count or process.poll() is not None:
            return len(keys)
    raise AssertionError("no generation was noted")


@pytest.mark.slow
def test_two_workers_find_what_one_finds(folder: Path) -> None:
    one, two = done(folder, "--no-store"), done(folder, "--no-store", "--workers", "2")
    assert one["tuners"] == two["tuners"]
    assert one["criteria"] == two["criteria"]


@pytest.mark.slow
def test_a_resumed_search_keeps_its_settings(folder: Path) -> None:
    done(folder, "--max-iterations", "2")
    ended = subprocess.run(
        command("--resume", "last", "--seed", "5"), cwd=folder, capture_output=True, check=False
    )
    assert ended.returncode != 0
    assert "was begun with seed 3; leave --seed out" in ended.stdout.decode()
