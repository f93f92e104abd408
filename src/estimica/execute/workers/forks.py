"""A process that prepares a piece of work once and is copied for every worker, in milliseconds.

Only a process without other threads may be copied: their locks would never be released in the copy.
So it is not this one, which may have any, but one of its own with a single thread. Where the work
itself brings threads or processes along, or where processes do not fork, workers are spawned.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

from estimica.base.errors import ExecuteError
from estimica.base.process import Variables
from estimica.execute.threads import one_thread
from estimica.execute.workers.child import (
    become_worker,
    do_jobs,
    end_with_parent,
    sendable,
    unpickled,
)
from estimica.execute.workers.context import build_context

#: macOS forks too, but its libraries do not bear it
CAN_FORK = sys.platform == "linux"
LOOK = 0.005  # s between two looks for the end of a copy or a thread: they are few and it is soon
LEFT = 0.2  # s that a thread may take to go which has nothing left to do; chosen
FORCE = 2.0  # s that a signal may take to end a copy


@dataclass(frozen=True, slots=True)
class _Prepare:
    """Build this context; the answer is whether copies can be made, or an error."""

    build: bytes


@dataclass(frozen=True, slots=True)
class _Reap:
    """Wait for the end of a copy, then enforce it; the answer is its exit code."""

    pid: int
    patience: float


_FORK = "fork"  # a copy, whose connection comes by itself; the answer is its number, or an error


class ForkServer:
    """The process as its parent sees it. Every answer belongs to the last thing asked for."""

    def __init__(self, start: Callable[..., Any]) -> None:
        """`start(target, connection)` starts a process."""
        self._control, theirs = multiprocessing.get_context("spawn").Pipe()
        try:
            self._process = start(serve_forks, theirs)
        except BaseException:
            self._control.close()
            raise
        finally:
            theirs.close()
        self._build: bytes | None = None
        self._answer: Any = None

    def prepare(self, build: bytes) -> None:
        """Have a context built, unless it is the one that it has; nobody waits for it here."""
        if build != self._build:
            if self._build is not None:
                self.copies()
            self._build, self._answer = build, None
            self._say(_Prepare(build))

    @property
    def prepared(self) -> bool:
        """Whether an answer has come."""
        return self._answer is not None or self._control.poll()

    def copies(self) -> bool:
        """Whether it can be copied now that it has prepared; EOFError: it has ended instead."""
        if self._answer is None:
            self._answer = self._hear()
        if isinstance(self._answer, BaseException):
            raise self._answer
        return bool(self._answer)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return bool(self._process.is_alive())

    def copy(self) -> tuple[Connection, int]:
        """A new worker: the connection to it, and its number."""
        ours, theirs = multiprocessing.get_context("spawn").Pipe()
        try:
            self._say(_FORK)
            with contextlib.suppress(OSError):
                send_handle(self._control, theirs.fileno(), self._process.pid)
            pid = self._hear()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        if isinstance(pid, BaseException):
            ours.close()
            raise pid
        return ours, pid

    def reap(self, pid: int, patience: float) -> int:
        """The exit code of a copy, which is ended by force after so many seconds."""
        self._say(_Reap(pid, patience))
        try:
            return int(self._hear())
        except EOFError:
            return -signal.SIGKILL  # who has killed the server may have killed it too

    def end(self) -> int:
        """End it; its exit code."""
        self._control.close()  # one that waits ends by itself
        self._process.join(0.0 if self._answer is None else FORCE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        code = int(self._process.exitcode)
        self._process.close()
        return code

    def _say(self, order: object) -> None:
        with contextlib.suppress(OSError):  # a dead one is noticed when it is listened to
            self._control.send(order)

    def _hear(self) -> Any:
        try:
            return self._control.recv()
        except OSError:
            raise EOFError from None


def serve_forks(control: Connection, variables: Variables) -> None:
    """What the process does: prepare, be copied, reap, until its parent closes the connection."""
    become_worker(variables)
    with one_thread():  # and whatever that imports, before it is copied
        pass
    context: Any = None
    with contextlib.suppress(EOFError, OSError):
        while True:
            order = control.recv()
            if isinstance(order, _Prepare):
                context = None  # the last one may be large
                context, answer = _prepared(order.build)
                control.send(answer)
            elif isinstance(order, _Reap):
                control.send(_reaped(order))
            else:
                _fork(control, context)
    os._exit(0)  # nothing of a copy's is to be tidied up here


def _prepared(build: bytes) -> tuple[Any, Any]:
    """The context, and the answer to whoever asked for it."""
    try:
        with _ending_with_parent():
            context = build_context(unpickled(build, "the context"))
    except BaseException as error:
        return None, sendable(error)
    gc.freeze()  # a collector that looks through what is shared would copy it
    return context, _alone()


@contextlib.contextmanager
def _ending_with_parent() -> Iterator[None]:
    """Where the parent is gone, nobody waits for what is made here; afterwards there is no second
    thread again."""
    done, tell = os.pipe()
    watch = threading.Thread(target=_watch, args=(done,), daemon=True)
    watch.start()
    try:
        yield
    finally:
        os.close(tell)
        watch.join()
        os.close(done)


def _watch(done: int) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    if done not in wait([parent.sentinel, done]):
        os._exit(1)


def _alone() -> bool:
    """Whether this process may be copied: it has one thread and no processes of its own."""
    if "estimica.simulate.fmu.process" in sys.modules:
        from estimica.simulate.fmu.process import close_processes

        close_processes()  # every copy starts its own when it needs them
    if not _one_thread_left():
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _one_thread_left() -> bool:
    """Whether there is one thread; the system may still be at the end of one that is joined."""
    end = time.monotonic() + LEFT
    while len(os.listdir("/proc/self/task")) > 1:
        if time.monotonic() > end:
            return False
        time.sleep(LOOK)
    return True


def _fork(control: Connection, context: Any) -> None:
    """Make a copy, which does jobs and ends."""
    connection = Connection(recv_handle(control))
    try:
        pid = os.fork()
    except OSError as error:
        control.send(
            ExecuteError("X013", f"no worker process can be started: {error}; use 1 worker")
        )
        connection.close()
        return
    if pid:
        connection.close()
        control.send(pid)
        return
    try:
        control.close()
        _draw_other_numbers()
        end_with_parent()
        do_jobs(connection, context)
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(0)


def _draw_other_numbers() -> None:
    """What draws random numbers without a seed draws others in every copy."""
    if "numpy.random" in sys.modules:
        import numpy as np

        np.random.seed()  # the one that functions of users may use


def _reaped(order: _Reap) -> int:
    for force, patience in (
        (None, order.patience),
        (signal.SIGTERM, FORCE),
        (signal.SIGKILL, FORCE),
    ):
        if force is not None:
            os.kill(order.pid, force)
        end = time.monotonic() + patience
        while True:
            pid, status = os.waitpid(order.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                break
            time.sleep(LOOK)
    return -signal.SIGKILL
