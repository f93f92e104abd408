"""The child process that an FMU runs in: forked from a warm fork server, or started anew.

Importing the compiled loop takes a second or more. Where processes can fork, one fork server does
that once and every child is a copy of it, made in milliseconds; so a crash costs next to nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from typing import IO

from estimica.base.process import python_command, python_environment
from estimica.simulate.fmu.description import Interface

#: s, to compile the loop where that is still to be done: half a minute on a usual machine. Chosen:
#: slow and busy ones come through, and a hung compiler ends
START_LIMIT = 900.0
_NOTICE = "estimica: compiling the loop for FMUs (once on this computer, half a minute) ..."
_ORDER = struct.Struct("<cq")
_REPLY = struct.Struct("<q")
_INTERFACES: tuple[Interface, ...] = ("me", "cs")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Child(ABC):
    """A process with a stream to it and one from it."""

    to: IO[bytes]
    back: IO[bytes]

    def ready(self, limit: float) -> bool:
        """Whether an answer, or the end, comes within so many seconds."""
        if sys.platform == "win32":
            return True
        return bool(select.select([self.back], [], [], limit)[0])

    def end(self) -> int:
        """End it by force where it still runs; its exit code, negative for a signal."""
        for stream in (self.to, self.back):  # one that waits for requests ends by itself then
            with contextlib.suppress(OSError):
                stream.close()
        return self._ended()

    @abstractmethod
    def _ended(self) -> int:
        """End it, and its exit code."""


class SpawnedChild(Child):
    """A process of its own from the beginning."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            python_command("-m", "estimica.simulate.fmu.host"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.to, self.back = self._process.stdin, self._process.stdout

    def _ended(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(0.2)  # chosen: it has nothing left to do but to end
        self._process.kill()
        return self._process.wait()


class ForkedChild(Child):
    """A copy of the fork server."""

    def __init__(self, server: ForkServer, pid: int, connection: socket.socket) -> None:
        self._server, self._pid = server, pid
        self.to, self.back = connection.makefile("wb"), connection.makefile("rb")
        connection.close()  # the files keep it open

    def _ended(self) -> int:
        return self._server.reap(self._pid)


class ForkServer:
    """One process that waits to be copied; started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def child(self, interface: Interface) -> ForkedChild:
        """A new copy, with the loop of an interface."""
        with self._lock:
            ours, theirs = socket.socketpair()
            with theirs:
                order = _ORDER.pack(b"f", _INTERFACES.index(interface))
                try:
                    pid = self._ordered(order, theirs.fileno())
                except (EOFError, OSError):  # it was ended from outside: once more
                    self._close()
                    pid = self._ordered(order, theirs.fileno())
            return ForkedChild(self, pid, ours)

    def reap(self, pid: int) -> int:
        """The exit code of a copy, which is ended where it still runs."""
        with self._lock:
            try:
                return self._ordered(_ORDER.pack(b"w", pid), None)
            except (EOFError, OSError):
                self._close()
                return -signal.SIGKILL

    def close(self) -> None:
        """End it; the copies notice and end too."""
        with self._lock:
            self._close()

    def _ordered(self, order: bytes, descriptor: int | None) -> int:
        if self._control is None:
            self._start()
        assert self._control is not None
        if descriptor is None:
            self._control.sendall(order)
        else:
            socket.send_fds(self._control, [order], [descriptor])
        # chosen: with the loop compiled it has started by then; whoever waits longer is told why
        if not select.select([self._control], [], [], 8.0)[0]:
            print(_NOTICE, file=sys.stderr, flush=True)
            if not select.select([self._control], [], [], START_LIMIT)[0]:
                raise EOFError
        reply = self._control.recv(_REPLY.size, socket.MSG_WAITALL)
        if len(reply) < _REPLY.size:
            raise EOFError
        return int(_REPLY.unpack(reply)[0])

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                python_command("-m", "estimica.simulate.fmu.host", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,  # Ctrl-C is for the parent
            )

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


def serve_forks(descriptor: int) -> socket.socket:
    """The fork server's own loop; it returns only in a copy, with the copy's connection."""
    from estimica.simulate.fmu.workspace import loop_of

    control = socket.socket(fileno=descriptor)
    pids: set[int] = set()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, _ORDER.size, 1)
        if len(order) < _ORDER.size:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        what, number = _ORDER.unpack(order)
        if what == b"w":
            control.sendall(_REPLY.pack(_reap(number)))
            pids.discard(number)
            continue
        loop_of(_INTERFACES[number]).run  # noqa: B018  compiled before it is copied
        pid = os.fork()
        if pid == 0:
            control.close()
            return socket.socket(fileno=descriptors[0])
        os.close(descriptors[0])
        pids.add(pid)
        control.sendall(_REPLY.pack(pid))


def _reap(pid: int) -> int:
    """The exit code of a child; a moment to end by itself, then by force."""
    for _ in range(20):  # 0.2 s in all, as for a child of its own
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _environment() -> dict[str, str]:
    """One thread each: what forks must not have others."""
    return {**python_environment(), **dict.fromkeys(_THREADS, "1")}


_SERVER = ForkServer()


def new_child(interface: Interface) -> Child:
    """A process that waits for requests."""
    return SpawnedChild() if sys.platform == "win32" else _SERVER.child(interface)


def close_fork_server() -> None:
    """End the fork server of this process."""
    _SERVER.close()
