"""JobQueue: the queue of commands that run as processes of their own, a few at a time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from estimica.apps.web.files.containment import require_safe
from estimica.apps.web.jobs.job import Job, State, printed_result
from estimica.apps.web.jobs.options import arguments
from estimica.apps.web.jobs.process import JobProcess, exit_description
from estimica.base.errors import StoreError, WebError
from estimica.execute.runs.store import Store

#: s for a command to end in order. Chosen: it ends its simulation and writes what it has
GRACE = 20.0
POLL = 0.2  # s between two looks for its run in the store; chosen: a page seems to answer at once
KEPT = 200  # jobs that have ended; chosen: their runs stay in the store anyhow
INTERRUPTED = (130, -2)  # exit statuses of a command that was stopped before it had a result
#: what stands before the reason in the warning of a command whose run could not be stored
NOT_STORED = "the run is not stored: "

Listener = Callable[[Job], None]


class PathResolver(Protocol):
    """The only way to a path: names within the served folder."""

    root: Path

    def at(self, name: str) -> Path:
        """The path of a name; an error where it leads outside."""


class JobQueue:
    """Runs commands for the pages; `parallel` of them at once, the others wait.

    Everything is done by threads, so that no page waits; see `listen` for who hears of it where.
    """

    def __init__(self, folder: PathResolver, parallel: int = 1, *, grace: float = GRACE) -> None:
        self._folder = folder
        self._parallel = parallel
        self._grace = grace
        self._output = tempfile.TemporaryDirectory(prefix="estimica-", ignore_cleanup_errors=True)
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._processes: dict[str, JobProcess] = {}
        self._threads: list[threading.Thread] = []
        self._cancelled: set[str] = set()
        self._timers: dict[str, threading.Timer] = {}  # that kill what does not end in order
        self._listeners: dict[Listener, asyncio.AbstractEventLoop | None] = {}
        self._numbers = itertools.count(1)
        self._closed = False

    def submit(self, command: str, study: str | Path, options: Sequence[str] = ()) -> Job:
        """Have a command run as soon as there is room; only some options are allowed."""
        given, names = arguments(command, options)
        path = self._folder.at(self._within(Path(study)))
        if not path.is_file():
            raise WebError("G045", f"there is no study '{study}'")
        require_safe(path, self._folder.root)
        with self._lock:
            if self._closed:
                raise WebError("G046", "the workbench is shutting down; no run begins any more")
            number = f"job-{next(self._numbers)}"
            job = Job(number, command, path, (*given, *names), time.time())
            self._jobs[job.id] = job
            self._forget()
        self._tell(job)
        self._advance()
        return self.job(job.id)

    def cancel(self, job_id: str) -> None:
        """Stop a job in order; what it has found so far is kept. One that waits is taken out."""
        with self._lock:
            job = self.job(job_id)
            if job.state.ended:
                return
            process = self._processes.get(job_id)
            self._cancelled.add(job_id)
            if process is None:
                job = self._change(
                    job_id, state=State.INTERRUPTED, message="taken out of the queue"
                )
        if process is None:
            self._tell(job)
            return
        process.interrupt()
        timer = threading.Timer(self._grace, process.kill)
        timer.daemon = True
        with self._lock:
            if job_id in self._processes and job_id not in self._timers:
                self._timers[job_id] = timer
                timer.start()

    def jobs(self) -> tuple[Job, ...]:
        """All jobs of this server in the order in which they were asked for."""
        with self._lock:
            return tuple(map(self._logged, self._jobs.values()))

    def job(self, job_id: str) -> Job:
        """One job as it is now."""
        with self._lock:
            try:
                return self._logged(self._jobs[job_id])
            except KeyError:
                raise WebError("G047", f"there is no job '{job_id}'") from None

    def job_of(self, run: str) -> Job | None:
        """The job of a stored run, where this server began it."""
        return next((j for j in self.jobs() if j.run == run), None)

    def listen(self, callback: Listener) -> None:
        """Call `callback` with every job that changes.

        It is called in the event loop in which `listen` was called; without one, in any thread.
        """
        try:
            loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        with self._lock:
            self._listeners[callback] = loop

    def unlisten(self, callback: Listener) -> None:
        """Do not call `callback` any more."""
        with self._lock:
            self._listeners.pop(callback, None)

    def close(self) -> None:
        """Stop everything in order, keep the best so far of each, and wait for it."""
        with self._lock:
            self._closed = True
            threads = list(self._threads)
            open_ = [j.id for j in self._jobs.values() if not j.state.ended]
        for job_id in open_:
            self.cancel(job_id)
        for thread in threads:
            thread.join(self._grace + 5.0)
        self._output.cleanup()

    def start(self) -> None:
        """Nothing runs before the first job is asked for."""

    async def stop(self) -> None:
        """`close`, for a server that goes on meanwhile."""
        await asyncio.to_thread(self.close)

    # -- within --------------------------------------------------------------------------------

    def _within(self, study: Path) -> str:
        root = self._folder.root
        inside = study.is_absolute() and study.is_relative_to(root)
        return (study.relative_to(root) if inside else study).as_posix()

    def _advance(self) -> None:
        """Begin jobs while there is room."""
        while True:
            with self._lock:
                running = sum(j.state is State.RUNNING for j in self._jobs.values())
                waiting = [j for j in self._jobs.values() if j.state is State.QUEUED]
                if self._closed or running >= self._parallel or not waiting:
                    return
                job = self._begin(waiting[0])
            self._tell(job)

    def _begin(self, job: Job) -> Job:
        output = Path(self._output.name) / f"{job.id}.json"
        given, names = arguments(job.command, job.options)
        line = [job.command, "--json", *given, "--", str(job.study), *names]
        try:
            process = JobProcess(line, job.study.parent, output, self._folder.root)
        except OSError as error:
            why = f"its process cannot be started: {error.strerror or error}"
            return self._change(job.id, state=State.CRASHED, message=why, ended=time.time())
        self._processes[job.id] = process
        job = self._change(job.id, state=State.RUNNING, started=time.time(), output=output)
        for work in (self._follow, self._find_run):
            thread = threading.Thread(target=work, args=(job, process), name=job.id, daemon=True)
            self._threads = [t for t in self._threads if t.is_alive()] + [thread]
            thread.start()
        return job

    def _follow(self, job: Job, process: JobProcess) -> None:
        """Wait for the end of a job and note how it was."""
        status = process.wait()
        result = printed_result(job.output)
        found, trouble = self._run_of(job, process)
        run = result.get("run") or found
        run = run if isinstance(run, str) else ""
        with self._lock:
            state, message = _ended(status, result, process.lines, job.id in self._cancelled)
            del self._processes[job.id]
            self._cancelled.discard(job.id)
            timer = self._timers.pop(job.id, None)
            if timer is not None:
                timer.cancel()
            job = self._change(
                job.id,
                state=state,
                message=message,
                ended=time.time(),
                log=process.lines,
                run=run,
                trouble="" if run else trouble or _not_stored(process.lines),
            )
        self._tell(job)
        self._advance()

    def _find_run(self, job: Job, process: JobProcess) -> None:
        """Note the run of a job as soon as it is in the store."""
        while job.id in self._processes:
            run, trouble = self._run_of(job, process)
            if run or trouble != job.trouble:
                with self._lock:
                    if job.id not in self._processes:  # its end has told already
                        return
                    job = self._change(job.id, run=run, trouble=trouble)
                self._tell(job)
            if run:
                return
            time.sleep(POLL)

    def _run_of(self, job: Job, process: JobProcess) -> tuple[str, str]:
        """The run of a job in the store, or why nobody can know."""
        try:
            return Store.beside(job.study).run_of(process.pid, job.started or 0.0), ""
        except StoreError as error:
            return "", error.message.replace(f"{self._folder.root}/", "")

    def _logged(self, job: Job) -> Job:
        """A job that runs, with the lines it has printed so far."""
        process = self._processes.get(job.id)
        return replace(job, log=process.lines) if process else job

    def _change(self, job_id: str, **values: Any) -> Job:
        job = replace(self._jobs[job_id], **values)
        self._jobs[job_id] = job
        return job

    def _forget(self) -> None:
        """Keep only the newest of those that have ended."""
        over = [j for j in self._jobs.values() if j.state.ended][:-KEPT]
        for job in over:
            del self._jobs[job.id]
            if job.output:
                job.output.unlink(missing_ok=True)

    def _tell(self, job: Job) -> None:
        with self._lock:
            listeners = list(self._listeners.items())
        for callback, loop in listeners:
            if loop is None:
                with contextlib.suppress(Exception):  # of a page: it stops no job
                    callback(job)
            else:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(callback, job)


def _ended(
    status: int, result: dict[str, Any], lines: Sequence[str], cancelled: bool
) -> tuple[State, str]:
    """How a job ended, from its exit status, what it printed, and whether somebody stopped it."""
    outcome = result.get("outcome")
    outcome = outcome if isinstance(outcome, dict) else {}
    message = str(outcome.get("message") or "") or _complaint(lines)
    if status == 0:
        return State.DONE, str(outcome.get("message") or "")
    if status in INTERRUPTED or outcome.get("status") == "interrupted":
        return State.INTERRUPTED, message or "stopped before there was a result"
    if status < 0 and cancelled:
        return State.INTERRUPTED, "it did not end in order and was killed"
    if status < 0 or not message or "Traceback (most recent call last):" in lines:
        return State.CRASHED, "; ".join(filter(None, [exit_description(status), _complaint(lines)]))
    return State.FAILED, message


def _not_stored(lines: Sequence[str]) -> str:
    """Why a command that goes on without the store could not use it; empty where it could."""
    told = [line.partition(NOT_STORED)[2] for line in lines if NOT_STORED in line]
    return told[-1] if told else ""


def _complaint(lines: Sequence[str]) -> str:
    """What the last error line says, without its code; a traceback has one too, its last."""
    for line in reversed(lines):
        if line.startswith("error "):
            return line.removeprefix("error ").partition(": ")[2]
    last = lines[-1] if lines else ""
    return "" if last in ("", "interrupted") or last.startswith("stored as run") else last
