"""Jobs: several queued, a few at once, stopped in order, crashes told in words."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import typer.main

from estimica.apps.cli.commands.app import app
from estimica.apps.web.jobs.job import Job, State
from estimica.apps.web.jobs.options import COMMANDS, Kind, arguments
from estimica.apps.web.jobs.process import JobProcess, exit_description
from estimica.apps.web.jobs.queue import JobQueue
from estimica.base.errors import WebError
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals differ")

TANK = """
model Tank
  parameter Real a(unit = "1/s", min = 0, max = 10) = 0.5 "Outflow rate";
  input Real u;
  output Real x(unit = "m", start = 1, fixed = true) "Level";
equation
  der(x) = -a*x + u;
end Tank;
"""

STUDY = """
[model]
source = "Tank.mo"

[tune]
a = { start = 0.4, min = 0, max = 5 }

[[case]]
name = "run 1"
data = "run1.csv"
inputs = { u = "u" }
outputs = { x = "x" }
"""


@dataclass
class Within:
    """A folder without guards."""

    root: Path

    def at(self, name: str) -> Path:
        return self.root / name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    time_ = np.linspace(0, 4, 41)
    rows = [f"{t},{0},{np.exp(-0.7 * t)}" for t in time_]
    (tmp_path / "run1.csv").write_text("\n".join(["time,u,x", *rows]), encoding="utf-8")
    (tmp_path / "Tank.mo").write_text(TANK, encoding="utf-8")
    (tmp_path / "tank.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


@pytest.fixture
def jobs(folder: Path) -> Iterator[JobQueue]:
    made = JobQueue(Within(folder), parallel=1, grace=10.0)
    yield made
    made.close()


def until(jobs: JobQueue, job: Job, wanted: Callable[[Job], bool], seconds: float = 60) -> Job:
    end = time.monotonic() + seconds
    while not wanted(jobs.job(job.id)):
        assert time.monotonic() < end, jobs.job(job.id)
        time.sleep(0.02)
    return jobs.job(job.id)


def ended(jobs: JobQueue, job: Job) -> Job:
    return until(jobs, job, lambda j: j.state.ended)


def slow_study(folder: Path, seconds: float) -> None:
    """A fit whose every iteration takes a while, as a command of its own in `PYTHONPATH`."""
    (folder / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if 'estimica' in ' '.join(sys.orig_argv) and 'fit' in sys.orig_argv:\n"
        "    import estimica.apps.cli.progress as progress\n"
        "    class Slow(progress.FitProgressLine):\n"
        "        def __call__(self, told):\n"
        "            super().__call__(told)\n"
        f"            time.sleep({seconds})\n"
        "    progress.FitProgressLine = Slow\n",
        encoding="utf-8",
    )


def test_a_fit_runs_and_its_result_and_run_are_found(jobs: JobQueue, folder: Path) -> None:
    job = jobs.submit("fit", folder / "tank.toml", ["--starts", "1"])
    assert job.state is State.RUNNING
    done = ended(jobs, job)
    assert (done.state, done.options) == (State.DONE, ("--starts=1",)), done
    assert done.result()["parameters"]["a"]["value"] == pytest.approx(0.7, rel=1e-4)
    store = Store.beside(folder / "tank.toml")
    run = store.run(done.run)
    assert (run.summary.command, run.status) == ("fit", Status.DONE)
    noted = store.progress(done.run)
    assert noted is not None
    assert noted.text.startswith(f"iteration {run.iterations[-1].number}  cost ")
    assert jobs.job_of(done.run) == done


def test_a_job_whose_store_cannot_be_read_says_why_while_it_runs_and_after(
    jobs: JobQueue, folder: Path
) -> None:
    (folder / ".estimica").mkdir()
    (folder / ".estimica" / "runs.sqlite").write_bytes(b"no database at all " * 100)
    job = jobs.submit("residuals", folder / "tank.toml")
    why = "'.estimica/runs.sqlite' is not a store of runs, or a damaged one"
    going = until(jobs, job, lambda j: j.trouble != "" or j.state.ended)
    assert going.state is State.RUNNING
    assert going.trouble.startswith(why)
    done = ended(jobs, job)
    assert (done.state, done.run) == (State.DONE, ""), done
    assert done.trouble.startswith(why)
    assert done.result()["command"] == "residuals"  # it went on without the store


@POSIX
def test_cancel_keeps_the_best_so_far_and_the_next_in_the_queue_begins(
    jobs: JobQueue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_study(folder, 0.5)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    store = Store.beside(folder / "tank.toml")
    first = jobs.submit("fit", "tank.toml")
    second, third = jobs.submit("fit", "tank.toml"), jobs.submit("residuals", "tank.toml")
    assert [jobs.job(j.id).state for j in (first, second, third)] == ["running", "queued", "queued"]
    jobs.cancel(second.id)
    assert jobs.job(second.id).state is State.INTERRUPTED
    running = until(jobs, first, lambda j: j.run != "")
    end = time.monotonic() + 30
    while not store.iterations(running.run):
        assert time.monotonic() < end
        time.sleep(0.05)
    jobs.cancel(first.id)
    stopped = ended(jobs, first)
    assert stopped.state is State.INTERRUPTED
    assert stopped.message.startswith("interrupted; these are the best values so far")
    assert store.run(stopped.run).status is Status.INTERRUPTED
    assert 0.3 < stopped.result()["parameters"]["a"]["value"] < 1.0
    last = ended(jobs, third)
    assert (last.state, store.run(last.run).summary.command) == (State.DONE, "residuals")
    jobs.cancel(first.id)  # has ended: nothing happens
    assert jobs.job(first.id) == stopped


@POSIX
def test_a_crash_by_a_signal_is_told_and_hurts_nobody(
    jobs: JobQueue, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_study(folder, 5)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    job = jobs.submit("fit", "tank.toml")
    after = jobs.submit("residuals", "tank.toml")
    until(jobs, job, lambda j: j.run != "")
    os.kill(jobs._processes[job.id].pid, signal.SIGSEGV)
    crashed = ended(jobs, job)
    assert crashed.state is State.CRASHED
    assert crashed.message.startswith("its process was ended by SIGSEGV: it reached for memory")
    assert Store.beside(folder / "tank.toml").run(crashed.run).status is Status.INTERRUPTED
    assert until(jobs, after, lambda j: j.state is not State.QUEUED).state is State.RUNNING


@POSIX
def test_a_command_that_does_not_end_in_order_is_killed_after_the_grace_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sitecustomize.py").write_text(
        "import signal, sys, time\n"
        "if 'fit' in sys.orig_argv:\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    print('deaf', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    jobs = JobQueue(Within(folder), grace=0.3)
    job = jobs.submit("fit", "tank.toml")
    until(jobs, job, lambda j: "deaf" in j.log)
    begun = time.monotonic()
    jobs.cancel(job.id)
    stopped = ended(jobs, job)
    assert time.monotonic() - begun < 10
    assert stopped.state is State.INTERRUPTED
    assert stopped.message == "it did not end in order and was killed"
    jobs.close()


@POSIX
def test_closing_stops_all_in_order_and_refuses_new_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_study(folder, 5)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    jobs = JobQueue(Within(folder), parallel=2)
    both = [jobs.submit("fit", "tank.toml") for _ in range(2)]
    waiting = jobs.submit("fit", "tank.toml")
    for job in both:
        until(jobs, job, lambda j: j.run != "")
    jobs.close()
    assert [jobs.job(j.id).state for j in (*both, waiting)] == ["interrupted"] * 3
    runs = Store.beside(folder / "tank.toml").runs()
    assert [r.status for r in runs] == [Status.INTERRUPTED] * 2
    with pytest.raises(WebError, match="G046: the workbench is shutting down"):
        jobs.submit("fit", "tank.toml")


def test_listeners_hear_in_their_own_loop_what_the_command_says_is_wrong(
    jobs: JobQueue, folder: Path
) -> None:
    (folder / "wrong.toml").write_text(STUDY.replace('"x" }', '"y" }'), encoding="utf-8")

    async def follow() -> list[Job]:
        heard: list[Job] = []
        over = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hear(job: Job) -> None:
            assert asyncio.get_running_loop() is loop
            heard.append(job)
            if job.state.ended:
                over.set()

        jobs.listen(hear)
        jobs.submit("profile", "wrong.toml")
        await asyncio.wait_for(over.wait(), 60)
        jobs.unlisten(hear)
        return heard

    heard = asyncio.run(follow())
    assert [job.state for job in heard] == ["queued", "running", "failed"]
    assert "output 'x': no column 'y' in" in heard[-1].message


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("runs", [], "G040: the workbench does not run 'runs'"),
        ("fti", [], "did you mean 'fit'"),
        ("fit", ["--report", "x.html"], "G043: 'fit' with option '--report': the workbench does"),
        ("fit", ["--store=/tmp/x"], "G043"),
        ("fit", ["--csv", "x"], "G043"),
        ("fit", ["--modelica=x"], "G043"),
        ("fit", ["-x"], "G043: 'fit' with option '-x'"),
        ("fit", ["--start", "3"], "did you mean 'starts'"),
        ("fit", ["--criterion", "own.py:cost"], "G044: 'fit': --criterion takes one word"),
        ("fit", ["--starts", "--report"], "G044: 'fit': --starts takes a whole number"),
        ("fit", ["--starts"], "G044: 'fit': --starts takes a whole number, not ''"),
        ("fit", ["name"], "G042: 'fit' takes 0 names after the study, not 1"),
        ("map", [], "G042: 'map' takes 1 to 2 names after the study, not 0"),
        ("map", ["a", "b", "c"], "G042: 'map' takes 1 to 2 names after the study, not 3"),
        ("map", ["a", "b", "--refit=1"], "G044: 'map': --refit takes no value"),
        ("profile", ["a\n"], "G044: 'profile': name takes a text in one line"),
        ("profile", ["--level", "nan"], "G044: 'profile': --level takes a number, not 'nan'"),
        ("montecarlo", ["--source", "../x"], "G044"),
        ("profile", ["a"] * 201, "G041: 'profile' with 201 options: at most 200"),
    ],
)
def test_what_a_page_may_not_ask_for_is_refused(
    jobs: JobQueue, command: str, options: list[str], message: str
) -> None:
    with pytest.raises(WebError) as error:
        jobs.submit(command, "tank.toml", options)
    assert message in str(error.value)
    assert jobs.jobs() == ()


def test_a_study_that_is_not_there_or_leads_outside_is_refused(jobs: JobQueue) -> None:
    with pytest.raises(WebError, match=r"G045: there is no study 'none\.toml'"):
        jobs.submit("fit", "none.toml")
    (jobs._folder.root / "out.toml").write_text(STUDY.replace("run1", "/tmp/x"), encoding="utf-8")
    with pytest.raises(WebError, match=r"G020: case 'run 1'.*'/tmp/x.csv' is outside"):
        jobs.submit("fit", "out.toml")
    with pytest.raises(WebError, match="G047: there is no job 'x'"):
        jobs.job("x")


def test_every_allowed_option_is_one_of_its_command_and_names_no_file() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, allowed in COMMANDS.items():
        known = {o: p for p in commands[name].params for o in (*p.opts, *p.secondary_opts)}
        for option, kind in allowed.options.items():
            parameter = known[f"--{option}"]
            assert parameter.bare_type is not Path, (name, option)
            assert getattr(parameter, "is_flag", False) == (kind is Kind.FLAG), (name, option)
        assert "--json" in known


def test_arguments_cannot_be_taken_for_other_options() -> None:
    assert arguments("sweep", ["--vary", "a=1:2", "--samples=3"]) == (
        ["--vary=a=1:2", "--samples=3"],
        [],
    )
    assert arguments("map", ["a", "--range", "a=-1:2", "b"]) == (["--range=a=-1:2"], ["a", "b"])


def test_endings_in_words() -> None:
    assert exit_description(3) == "its process ended with exit status 3 and said nothing"
    assert exit_description(-9).endswith("SIGKILL: it was killed, perhaps because memory ran out")
    assert exit_description(-200) == "its process was ended by signal 200"


@POSIX
def test_a_process_that_has_ended_is_not_signalled_any_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may belong to another process by then."""
    process = JobProcess(["--version"], folder, folder / "printed")
    assert process.wait() == 0
    signalled: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _: signalled.append(pid))
    process.kill()
    process.interrupt()
    assert signalled == []


@POSIX
def test_the_timer_that_would_kill_a_job_ends_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timers() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if isinstance(t, threading.Timer)]

    before = timers()
    jobs = JobQueue(Within(folder), grace=60.0)
    job = jobs.submit("fit", "tank.toml")
    jobs.cancel(job.id)
    jobs.cancel(job.id)  # asked twice, it is killed once at most
    assert len(timers()) <= len(before) + 1
    end = time.monotonic() + 60
    while not jobs.job(job.id).state.ended and time.monotonic() < end:
        time.sleep(0.05)
    for timer in set(timers()) - set(before):
        timer.join(2.0)
    assert timers() == before
    jobs.close()
