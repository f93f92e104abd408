"""Every command that shares its work has by default one process for each processor."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.execute.workers import executor as room
from estimica.execute.workers import serial
from estimica.execute.workers.context import NO_CONTEXT
from estimica.execute.workers.executor import executor
from estimica.execute.workers.serial import GrowingExecutor, SerialExecutor
from estimica.optimise.assess import run as assess

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "execute"))  # workers are given the path of their parent

import execute_tasks as tasks  # noqa: E402

STUDY = """
[model]
source = "K/(1 + tau*s)"

[tune]
K = { start = 1, min = 0.1, max = 5 }
tau = { start = 1, min = 0.1, max = 5 }

[[case]]
name = "a"
data = "run.csv"
inputs = { u = "u" }
outputs = { y = "y" }

[[case]]
name = "b"
data = "run.csv"
inputs = { u = "u" }
outputs = { y = "y" }

[[criterion]]
name = "large"
kind = "peak"
of = "y"
demand = 3

[montecarlo.draw]
K = { kind = "uniform", min = 1, max = 2 }
"""
#: what each command is asked, so that there is something to share
COMMANDS = {
    "fit": ["--starts", "4"],
    "bootstrap": ["--replicates", "4"],
    "profile": ["K"],
    "crossvalidate": ["--by", "case"],
    "map": ["K", "tau", "--points", "3"],
    "montecarlo": ["--samples", "60"],
    "sweep": ["--vary", "K=1:2:60"],
    "optimise": ["--method", "genetic", "--max-evaluations", "40"],
    "release": [],
    "residuals": [],
    "identifiability": [],
}
#: in the first fit of these, several starts are shared
WITH_STARTS = ("residuals", "identifiability")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    time = np.linspace(0, 5, 26)
    y = 1.5 * (1 - np.exp(-time / 1.2)) + 0.01 * np.sin(40 * time)
    rows = [f"{t},1,{v}" for t, v in zip(time, y, strict=True)]
    (tmp_path / "run.csv").write_text("\n".join(["time [s],u,y", *rows]), encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


class Counted(SerialExecutor):
    """Stands for worker processes; notes how many were asked for."""

    asked: ClassVar[list[int]] = []

    def __init__(self, workers: int) -> None:
        super().__init__()
        self._count = workers

    @property
    def workers(self) -> int:
        return self._count

    def map(self, *args: Any, **options: Any) -> Any:
        self.asked.append(self._count)
        return super().map(*args, **options)


def run(study: Path, command: str, *options: str) -> Any:
    if command in WITH_STARTS:
        study.write_text(STUDY + "\n[estimate]\nstarts = 3\n", encoding="utf-8")
    words = [command, str(study), *COMMANDS[command], *options, "--no-store", "--quiet", "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code in (0, 1), done.output  # 1: an optimisation that came to its limit
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_hires_one_worker_for_each_processor(
    study: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial, "LocalProcesses", Counted)
    monkeypatch.setattr(serial, "WORTH", 0.0)
    monkeypatch.setattr(assess, "TRIAL", 0.0)  # a quick computer would be done after the trial
    monkeypatch.setattr(room, "processors", lambda: 5)
    Counted.asked = []
    run(study, command)
    assert set(Counted.asked) == {5}, command


def test_workers_that_are_asked_for_are_started_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "processors", lambda: 5)
    assert isinstance(executor("local"), GrowingExecutor)
    assert executor("local").workers == 5
    with executor("local", 2) as crew:
        pids = [o.result() for o in crew.map(tasks.worker, range(4), context=NO_CONTEXT)]
    assert os.getpid() not in pids


def test_short_work_starts_nobody_and_long_work_goes_to_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[int] = []
    with GrowingExecutor(2) as crew:
        found = crew.map(tasks.worker, range(5), context=NO_CONTEXT)
        assert {o.result() for o in found} == {os.getpid()}
        monkeypatch.setattr(serial, "WORTH", crew._spent + 0.05)  # s; an item takes 0.02
        found = crew.map(
            tasks.worker,
            range(60),
            context=NO_CONTEXT,
            on_done=lambda k, _: told.append(k),
            batch=1,
        )
        pids = [o.result() for o in found]
        assert sorted(told) == list(range(60))
        assert pids[0] == os.getpid()
        assert len(set(pids) - {os.getpid()}) == 2
        one = crew.map(tasks.worker, [0], context=NO_CONTEXT)
        assert one[0].result() == os.getpid(), "a single item waits for nobody"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts the processors that may be used")
@pytest.mark.parametrize("command", ["fit", "bootstrap", "sweep"])
def test_results_do_not_depend_on_the_number_of_workers(
    study: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serial, "WORTH", 0.0)
    monkeypatch.setattr(room, "processors", lambda: 3)
    ends = [run(study, command, *o) for o in ((), ("--workers", "1"), ("--workers", "2"))]
    first, second, third = (json.dumps(without_times(end)) for end in ends)
    assert first == second == third


def without_times(value: Any) -> Any:
    """What a command found, less what depends on the clock."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k != "seconds"}
    return [without_times(v) for v in value] if isinstance(value, list) else value
