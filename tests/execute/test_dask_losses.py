"""A Dask cluster that loses its scheduler or its last worker: said, within a limit, and fixed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from estimica.base.errors import ExecuteError, LostWorkersError
from estimica.execute.outcome import ItemOutcome
from estimica.execute.workers.context import NO_CONTEXT
from estimica.execute.workers.dask_cluster import SECONDS, patience
from estimica.execute.workers.executor import executor

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))  # workers are given the path of their parent

import execute_tasks as tasks  # noqa: E402


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "2")


def mapped(address: str, after_first: Callable[[], object], count: int = 40) -> list[int]:
    """What came back before the error that is raised, or everything; something happens first."""
    told: list[int] = []

    def note(index: int, outcome: ItemOutcome[int]) -> None:
        told.append(index)
        if len(told) == 1:
            after_first()

    with executor(f"dask={address}") as made:
        try:
            found = made.map(tasks.plain, range(count), context=NO_CONTEXT, on_done=note, batch=1)
        except LostWorkersError:
            assert 0 < len(told) < count, "what was done is told as it comes"
            raise
    assert [o.result() for o in found] == list(range(count))
    return told


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        ("workers", r"X020: the Dask cluster at tcp://\S+ has no workers left, for 2 s now; start"),
        ("scheduler", r"X019: the Dask scheduler at tcp://\S+ does not answer, for 2 s now; start"),
    ],
)
def test_what_a_cluster_has_lost_is_said_within_the_limit(
    loss: str, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        lose = (lambda: cluster.scale(0)) if loss == "workers" else cluster.close
        begin = time.monotonic()
        with pytest.raises(LostWorkersError, match=text) as caught:
            mapped(cluster.scheduler_address, lose)
    assert time.monotonic() - begin < 20
    assert "--resume" in str(caught.value)
    assert "ESTIMICA_DASK_SECONDS=4" in str(caught.value)
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1, said
    assert said[0].endswith("; waiting up to 2 s for it")


@pytest.mark.parametrize("text", ["0", "-3", "soon", "nan", "inf"])
def test_a_limit_that_is_not_a_time_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(SECONDS, text)
    with pytest.raises(ExecuteError, match=f"X018: {SECONDS}={text} is not a number of seconds"):
        patience()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


class Site:
    """A scheduler and a worker in processes of their own, each without anybody to restart it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"

    def start_scheduler(self) -> None:
        port = ("--port", str(self._port), "--no-dashboard")
        command = started("distributed.cli.dask_scheduler", *port)
        self.scheduler = self._stack.enter_context(command)

    def start_worker(self) -> None:
        command = started(
            "distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1"
        )
        self.worker = self._stack.enter_context(command)

    def stand(self) -> None:
        from distributed import Client

        with Client(self.address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv(SECONDS, "6")
    with ExitStack() as stack:
        made = Site(stack)
        made.start_scheduler()
        made.start_worker()
        made.stand()
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_a_scheduler_that_ends_or_hangs_is_said(site: Site, signal_: signal.Signals) -> None:
    begin = time.monotonic()
    with pytest.raises(LostWorkersError, match="X019"):
        mapped(site.address, lambda: site.scheduler.send_signal(signal_), 400)
    assert time.monotonic() - begin < 40


@pytest.mark.slow
def test_a_last_worker_that_is_killed_is_said(site: Site) -> None:
    with pytest.raises(LostWorkersError, match="X020"):
        mapped(site.address, lambda: site.worker.kill(), 400)


@pytest.mark.slow
def test_a_worker_that_comes_back_is_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "60")

    def replace() -> None:
        site.worker.kill()
        site.start_worker()

    assert len(mapped(site.address, replace, 200)) == 200


@pytest.mark.slow
def test_a_scheduler_that_comes_back_is_joined(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECONDS, "60")

    def replace() -> None:
        site.scheduler.kill()
        site.worker.kill()
        site.scheduler.wait()
        site.start_scheduler()
        site.start_worker()

    told = mapped(site.address, replace, 200)
    assert sorted(told) == list(range(200)), "every item is told once"


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
"""


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "estimica", *words, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["scheduler", "worker"])
def test_a_command_that_lost_its_cluster_is_taken_up_again(
    site: Site, tmp_path: Path, loss: str
) -> None:
    rows = [f"{k / 5},1,{1.5 - 1.5 * 0.85**k + 0.01 * (-1) ** k}" for k in range(30)]
    (tmp_path / "run.csv").write_text("\n".join(["time [s],u,y", *rows]), encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    work = ("bootstrap", "study.toml", "--replicates", "800", "--seed", "3")
    lost = command(tmp_path, *work, "--executor", f"dask={site.address}")
    assert lost.stderr is not None
    for line in lost.stderr:
        if "replicates" in line:
            break
    getattr(site, loss).kill()
    out, err = lost.communicate(timeout=120)
    assert lost.returncode == 1, err
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 4, err
    told = json.loads(out)["outcome"]
    assert (told["status"], told["code"]) == ("failed", "X019" if loss == "scheduler" else "X020")
    again = command(tmp_path, "bootstrap", "study.toml", "--resume", "last", "--workers", "1")
    alone = command(tmp_path, *work, "--workers", "1", "--no-store")
    found, whole = (json.loads(run.communicate(timeout=300)[0]) for run in (again, alone))
    assert found["parameters"] == whole["parameters"]
