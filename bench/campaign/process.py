"""A class in a process of its own, under limits of time and memory; a crash is an outcome too."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from campaign.attempt import Task
from campaign.outcome import Outcome

#: seconds between two looks at a process: short beside what a class takes
LOOK = 0.1
#: seconds that a run gets to say by itself that its time is over, compilation included
GRACE = 20.0
#: seconds for starting Python and importing the package, and for comparing
AROUND = 120.0


@dataclass(frozen=True)
class Limits:
    """What one class may take."""

    load_seconds: float
    run_seconds: float
    megabytes: float

    def of_stage(self, stage: str) -> float:
        """Seconds that a stage may take."""
        return {"load": self.load_seconds, "run": self.run_seconds + GRACE}.get(stage, AROUND)


@dataclass(frozen=True)
class Settings:
    """How classes are tried."""

    script: Path  # what is started, with --attempt
    folder: Path  # of the reference results
    library: str  # as in MODELICAPATH
    limits: Limits
    frontend: str = ""
    method: str = "auto"


def in_process(name: str, settings: Settings, stopped: Event) -> Outcome | None:
    """How a class ends; None where the campaign was stopped before that."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        errors = Path(scratch) / "errors"
        log.touch()
        limits = settings.limits
        task = Task(
            name,
            str(settings.folder.resolve()),
            str(log),
            limits.run_seconds,
            settings.frontend,
            settings.method,
        )
        environment = {
            **os.environ,
            "MODELICAPATH": settings.library,
            # the campaign's own limit comes first
            "ESTIMICA_LOAD_SECONDS": str(2 * limits.load_seconds),
        }
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, str(settings.script), "--attempt", json.dumps(asdict(task))],
                cwd=scratch,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
                start_new_session=True,  # Ctrl-C is for the campaign, which ends the process
            )
        try:
            ended = _watch(process, log, limits, stopped)
        finally:
            _kill(process)
        if stopped.is_set() and ended is None and _last(log, "outcome") is None:
            return None
        return _read(name, log, errors, process.returncode, ended)


def _watch(
    process: subprocess.Popen[bytes], log: Path, limits: Limits, stopped: Event
) -> tuple[str, str] | None:
    """Wait for the end; (verdict, message) where a limit was the end."""
    stage, since = "start", time.monotonic()
    while process.poll() is None and not stopped.is_set():
        now = _known(log, "").stage
        if now != stage:
            stage, since = now, time.monotonic()
        if time.monotonic() - since > limits.of_stage(stage):
            return "time limit", f"{stage}: longer than {limits.of_stage(stage):g} s"
        used = _megabytes(process.pid)
        if used > limits.megabytes:
            return "memory limit", f"{stage}: {used:.0f} MB, more than {limits.megabytes:g} MB"
        stopped.wait(LOOK)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read(name: str, log: Path, errors: Path, code: int, ended: tuple[str, str] | None) -> Outcome:
    kept = _last(log, "outcome")
    if kept is not None:
        return Outcome.of(kept)
    known = _known(log, name)
    if ended is not None:
        return replace(known, verdict=ended[0], message=ended[1])
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    said = f": {lines[-1][:300]}" if lines else ""
    verdict = "memory limit" if "bad_alloc" in said or "MemoryError" in said else "crash"
    return replace(known, verdict=verdict, code=how, message=f"{known.stage}: {how}{said}")


def _known(log: Path, name: str) -> Outcome:
    """What the process has learnt so far."""
    kept = _last(log, "known")
    return Outcome.of(kept) if kept else Outcome(name, "", stage="start")


def _last(log: Path, key: str) -> Any:
    """The last thing of this kind that the process has told."""
    found = None
    for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):  # a line that is being written is not read yet
            found = json.loads(line).get(key, found)
    return found


def _megabytes(pid: int) -> float:
    """Memory that a process has now; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
