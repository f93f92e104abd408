"""FmuProcess: the host process of an FMU as its parent sees it: asked, timed, reaped, replaced."""

from __future__ import annotations

import atexit
import contextlib
import signal
import threading
import time
import weakref
from typing import Any

from estimica.base.errors import ModelError
from estimica.simulate.fmu.child import Child, close_fork_server, new_child
from estimica.simulate.fmu.experiment import FmuExperiment, FmuPoint, FmuRun
from estimica.simulate.fmu.host import MOST, read_message, write_message
from estimica.simulate.fmu.library import FmuBinary

# all chosen: an FMU that hangs must be given up some day, one that is slow must not
FIRST_LIMIT = 600.0  # s, while nothing is known about how long the FMU takes
LEAST_LIMIT = 30.0  # s, however quick it was: the machine may be busy
KEPT = 4  # processes that stay warm: each holds its FMU in memory
PATIENCE = 100.0  # times the longest run so far: other parameters may be far stiffer


class FmuLostError(Exception):
    """The host process died or was ended; the text says how."""


class FmuProcess:
    """One warm process with one FMU; it is started when it is first needed."""

    def __init__(self, binary: FmuBinary) -> None:
        self._binary = binary
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._known: dict[int, None] = {}
        self._longest: float | None = None
        _ALL.add(self)

    def ask(self, experiment: FmuExperiment, points: list[FmuPoint], limit: float) -> list[FmuRun]:
        """Runs of an experiment; FmuLostError where the process did not survive them."""
        with self._lock:
            if self._child is None:
                self._start()
            sent = experiment if experiment.key not in self._known else None
            begun = time.perf_counter()
            runs = self._answered(
                (self._binary, sent, experiment.key, points), self._limit(limit, len(points))
            )
            self._remember(experiment.key)
            if any(run.fmi_status >= 4 for run in runs):  # after fatal nothing may be called
                self._end()
            each = (time.perf_counter() - begun) / max(len(points), 1)
            self._longest = max(self._longest or 0.0, each)
            return runs

    def _answered(self, request: tuple[Any, ...], limit: float) -> list[FmuRun]:
        child = self._child
        assert child is not None
        try:
            write_message(child.to, request)
            if not child.ready(limit):
                self._end()
                raise FmuLostError(f"the FMU did not answer within {limit:.3g} s and was ended")
            answer = read_message(child.back)
        except (EOFError, OSError):
            raise FmuLostError(_exit_text(self._end())) from None
        except FmuLostError:
            raise
        except BaseException:  # Ctrl-C: the answer would come to the next question
            self._end()
            raise
        if isinstance(answer, tuple):
            raise ModelError(*answer)
        return list(answer)

    def _remember(self, key: int) -> None:
        """The host knows it now, and forgets the oldest as it does."""
        self._known.setdefault(key)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()

    def _limit(self, limit: float, count: int) -> float:
        if limit < float("inf"):
            return limit * count
        if self._longest is None:
            return FIRST_LIMIT
        return max(LEAST_LIMIT, PATIENCE * self._longest) * count

    def _start(self) -> None:
        """A new process that has loaded the FMU, which takes its time."""
        self._child = new_child(self._binary.interface)
        self._known = {}
        try:
            self._answered((self._binary, None, 0, []), FIRST_LIMIT)
        except ModelError:
            self._end()
            raise

    def _end(self) -> int:
        child, self._child = self._child, None
        return 0 if child is None else child.end()


def _exit_text(code: int) -> str:
    """How the process ended, in words."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the FMU took its process down (signal {signal.Signals(-code).name})"
        return f"the FMU took its process down (signal {-code})"
    return f"the FMU ended its process (exit code {code})"


_ALL: weakref.WeakSet[FmuProcess] = weakref.WeakSet()
_WARM: dict[FmuBinary, FmuProcess] = {}


def process_of(binary: FmuBinary) -> FmuProcess:
    """The process of an FMU in this one; few are kept warm, the others start again when needed."""
    found = _WARM.pop(binary, None) or FmuProcess(binary)
    _WARM[binary] = found
    while len(_WARM) > KEPT:
        _WARM.pop(next(iter(_WARM))).close()
    return found


def close_processes() -> None:
    """End all of them; they start again when they are needed."""
    for process in list(_ALL):
        process.close()
    close_fork_server()


atexit.register(close_processes)
