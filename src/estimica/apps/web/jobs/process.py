"""The process of a job: started apart, stopped in order, and its end told in words."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from estimica.apps.web.files.containment import SERVED
from estimica.base.process import python_command, python_environment

# chosen: a traceback is within them, and a job that prints without end fills no memory
LINES = 200  # of its stderr that are kept
LONGEST = 2000  # characters of one of them
WINDOWS = sys.platform == "win32"


class JobProcess:
    """A command in a process group of its own; what it prints goes to the file `output`.

    It reads nothing outside `served`, and decides about code itself, after reading.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path, output: Path, served: Path | None = None
    ) -> None:
        flags = subprocess.CREATE_NEW_PROCESS_GROUP if WINDOWS else 0  # type: ignore[attr-defined,unused-ignore]
        with output.open("wb") as printed:
            self._process = subprocess.Popen(
                python_command("-m", "estimica", *arguments),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.PIPE,
                env=python_environment() | ({SERVED: str(served)} if served else {}),
                start_new_session=not WINDOWS,
                creationflags=flags,
            )
        self._lines: deque[str] = deque(maxlen=LINES)
        self._lock = threading.Lock()
        self._gone = False  # its number may be another process's
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(self._lines)

    def interrupt(self) -> None:
        """Ask it to end in order: what Ctrl-C does at a terminal."""
        with self._lock:
            if not self._gone:
                self._signal(hard=False)

    def kill(self) -> None:
        """End it and what it started at once."""
        with self._lock:
            if not self._gone:
                self._signal(hard=True)

    def wait(self) -> int:
        """Its exit status, negative where a signal ended it; workers that it left are ended."""
        if WINDOWS:
            self._process.wait()
        else:
            with contextlib.suppress(ChildProcessError):
                # not asked for its status yet, its number is not given to another process
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            if not WINDOWS:
                self._signal(hard=True)
            self._gone = True
            status = self._process.wait()
        self._reader.join(5.0)
        return status

    def _signal(self, *, hard: bool) -> None:
        with contextlib.suppress(OSError):
            if not WINDOWS:
                os.killpg(self.pid, signal.SIGKILL if hard else signal.SIGINT)
            elif hard:
                self._process.kill()
            else:
                self._process.send_signal(signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined,unused-ignore]

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in iter(lambda: stream.readline(LONGEST), b""):
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self._lines.append(text)


#: what users make of a signal
_MEANINGS = {
    "SIGKILL": "it was killed, perhaps because memory ran out",
    "SIGSEGV": "it reached for memory that is not its own; native code of a model may do that",
    "SIGABRT": "a library gave up",
    "SIGFPE": "a library divided by zero",
    "SIGILL": "a library was made for another processor",
    "SIGBUS": "it could not read its memory or a file",
    "SIGTERM": "it was told to end",
    "SIGHUP": "its terminal was closed",
}


def exit_description(status: int) -> str:
    """In words how a process ended that said nothing itself."""
    if status >= 0:
        return f"its process ended with exit status {status} and said nothing"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    meaning = _MEANINGS.get(name)
    return f"its process was ended by {name}" + (f": {meaning}" if meaning else "")
