"""One worker process as its parent sees it: started, given items, heard, ended."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from estimica.base.errors import ExecuteError
from estimica.base.process import Variables, library_child_environment
from estimica.execute.workers.child import Job, serve
from estimica.execute.workers.forks import ForkServer

# Not `fork`: it copies a process whose other threads (BLAS, OpenMP, LLVM) hold locks that nobody
# will ever release in the copy. `spawn` works alike on every platform; what it has started without
# other threads can then be copied.
_SPAWN = multiprocessing.get_context("spawn")

#: libraries that would each start as many threads as there are processors, in every worker
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class WorkerProcess:
    """A process, the items it has been given and has not answered yet, and what it holds."""

    def __init__(self, connection: Any, handle: Handle, held: bytes | None = None) -> None:
        self.connection = connection
        self._handle = handle
        self._held = held
        self._fresh = True
        self._awaited = False
        self._builds = False
        self.pending: list[int] = []

    @property
    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return self._awaited or bool(self.pending)

    @property
    def preparing(self) -> bool:
        """Whether it is starting or building its context."""
        return self._awaited and self._builds

    @property
    def item(self) -> int | None:
        """The item it is working on."""
        return None if self._awaited or not self.pending else self.pending[0]

    def give(self, build: bytes, task: bytes, items: list[tuple[int, bytes]]) -> None:
        """Send items, with the context where it is not the last one that was sent."""
        self.pending = [index for index, _ in items]
        self._awaited = True
        self._builds = self._fresh or build != self._held
        job = Job(None if build == self._held else build, task, tuple(items))
        self._held, self._fresh = build, False
        with contextlib.suppress(OSError):  # a dead worker is noticed when it is listened to
            self.connection.send(job)

    def hear(self) -> tuple[int, Any]:
        """The next answer: the index of an item and its pickled outcome. EOFError: it is dead."""
        try:
            index, content = self.connection.recv()
        except (OSError, pickle.UnpicklingError):  # killed in the middle of a message
            raise EOFError from None
        if index in self.pending:
            self.pending.remove(index)
        else:
            self._awaited = False
        return index, content

    def stop(self) -> None:
        """Ask it to end; `end` waits for that."""
        with contextlib.suppress(OSError):
            self.connection.send(None)

    def terminate(self) -> None:
        """End it now; `end` waits until it has gone."""
        self._handle.terminate()

    def end(self, patience: float) -> int:
        """Wait so many seconds, then end it by force; its exit code."""
        code = self._handle.end(patience)
        self.connection.close()
        return code


class Handle(ABC):
    """By what a process is ended."""

    @abstractmethod
    def terminate(self) -> None:
        """Have it end now."""

    @abstractmethod
    def end(self, patience: float) -> int:
        """Wait so many seconds, then end it by force; its exit code."""


class _Spawned(Handle):
    """A process of its own from the beginning."""

    def __init__(self, process: Any) -> None:
        self._process = process

    def terminate(self) -> None:
        """Have it end now."""
        self._process.terminate()

    def end(self, patience: float) -> int:
        """Wait so many seconds, then end it by force; its exit code."""
        self._process.join(patience)
        for force in (self._process.terminate, self._process.kill):
            if self._process.exitcode is None:
                force()
                self._process.join(2.0)
        code = self._process.exitcode
        if code is not None:
            self._process.close()
        return -signal.SIGTERM if code is None else code


class _Copied(Handle):
    """A copy of the fork server, which keeps its number until it is reaped."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server, self._pid = server, pid

    def terminate(self) -> None:
        """Have it end now."""
        if self._server.alive:  # else the number may be another's by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    def end(self, patience: float) -> int:
        """Wait so many seconds, then end it by force; its exit code."""
        return self._server.reap(self._pid, patience)


def spawned_worker() -> WorkerProcess:
    """A worker that has nothing yet."""
    connection, theirs = _SPAWN.Pipe()
    try:
        handle = _Spawned(_started(serve, theirs))
    except BaseException:
        connection.close()
        raise
    finally:
        theirs.close()
    return WorkerProcess(connection, handle)


def copied_worker(server: ForkServer, build: bytes) -> WorkerProcess:
    """A worker that has what the server has built."""
    connection, pid = server.copy()
    return WorkerProcess(connection, _Copied(server, pid), build)


def fork_server() -> ForkServer:
    """A process to make workers of."""
    return ForkServer(_started)


def _started(target: Callable[..., None], connection: Any) -> Any:
    """A process that runs `target(connection, variables of this process)`."""
    try:
        with _children_in_order() as before:
            process = _SPAWN.Process(target=target, args=(connection, before), daemon=True)
            process.start()
    except OSError as error:
        raise ExecuteError(
            "X013", f"no worker process can be started: {error}; use 1 worker"
        ) from error
    return process


@contextlib.contextmanager
def _children_in_order() -> Iterator[Variables]:
    """Whatever a process that is spawned inside must not inherit, or must."""
    with (
        one_thread_each(),
        _interrupts_held(),
        without_main_script(),
        library_child_environment() as before,
    ):
        yield before


def exit_description(code: int) -> str:
    """How a process ended, in words: `signal SIGSEGV`, `exit code 3`."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Variables that the child inherits; those that the user has set stay."""
    ours = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, "1"))
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """A Ctrl-C while a child starts reaches the parent only, and only once the child stands."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def without_main_script() -> Iterator[None]:
    """Spawned processes would import the script that runs, from its top and without a guard.

    None of them needs it: what it defines is sent to them as it is.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
