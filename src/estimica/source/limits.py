"""How long a class may take to load and with how much memory, and what is told meanwhile."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from estimica.base.errors import SourceError
from estimica.base.visible import visible

#: what the user may set: seconds for one class, and gigabytes that loading it may take
SECONDS = "ESTIMICA_LOAD_SECONDS"
MEMORY = "ESTIMICA_LOAD_MEMORY"
#: chosen: as long as somebody waits who is told what goes on; half the memory of a small computer,
#: which must not begin to swap
_DEFAULT_SECONDS = 120.0
_DEFAULT_MEMORY = 4.0
#: seconds between two looks at the memory, each of some 20 µs
_LOOK_AT_MEMORY = 0.2
#: seconds after which one is told what is going on
_TOLD_AFTER = (5.0, 15.0, 30.0, 60.0, 120.0, 240.0, 480.0)
_GIGABYTE = 1e9


@dataclass(slots=True)
class LoadLimits:
    """One loading: its clock, its limits, and what it is at."""

    what: str  # the class, as the user calls it
    seconds: float
    memory: float = math.inf  # bytes that it may take
    stage: str = "its equations are read"
    begun: float = field(default_factory=time.monotonic)
    resident: float = field(default_factory=lambda: resident_bytes(os.getpid()))  # at the start
    _told: int = 0
    _looked: float = 0.0  # when the memory was looked at

    @property
    def passed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        """Seconds that it still has; 0 where none are left."""
        return max(0.0, self.seconds - self.passed)

    def look(self) -> None:
        """Raise where a limit is passed; tell where it has taken long."""
        passed = self.passed
        if passed > self.seconds:
            raise self.overdue()
        if passed - self._looked < _LOOK_AT_MEMORY:
            return
        self._looked = passed
        taken = resident_bytes(os.getpid()) - self.resident
        if taken > self.memory:
            raise self.too_large(taken)
        if self._told < len(_TOLD_AFTER) and passed >= _TOLD_AFTER[self._told]:
            while self._told < len(_TOLD_AFTER) and passed >= _TOLD_AFTER[self._told]:
                self._told += 1
            memory = f", {taken / 1e6:.0f} MB" if taken > 0 else ""
            report_progress(f"loading '{self.what}': {passed:.0f} s so far{memory}; {self.stage}")

    @contextlib.contextmanager
    def at(self, stage: str) -> Iterator[None]:
        """What is going on inside."""
        before, self.stage = self.stage, stage
        try:
            yield
        finally:
            self.stage = before

    def overdue(self) -> SourceError:
        """The error of a loading that took too long."""
        return SourceError(
            "S005",
            f"'{self.what}' was given up after {self.seconds:g} s, while {self.stage}; "
            f"allow more with {SECONDS}={2 * self.seconds:g}, or load a smaller class",
        )

    def too_large(self, taken: float) -> SourceError:
        """The error of a loading that wants too much memory."""
        limit = self.memory / _GIGABYTE
        return SourceError(
            "S260",
            f"'{self.what}' was given up after {self.passed:.0f} s, while {self.stage}: it takes "
            f"{taken / _GIGABYTE:.1f} GB of memory, and {limit:g} GB are allowed; "
            f"allow more with {MEMORY}={2 * limit:g} (in GB), or load a smaller class",
        )


_current: ContextVar[LoadLimits | None] = ContextVar("loading", default=None)


@contextlib.contextmanager
def load_limits(what: str, seconds: float | None = None) -> Iterator[LoadLimits]:
    """Everything inside is one loading, within the limits of the user or of `seconds`."""
    memory = _setting(MEMORY, _DEFAULT_MEMORY) * _GIGABYTE
    watch = LoadLimits(what, seconds if seconds is not None else load_seconds(), memory)
    token = _current.set(watch)
    try:
        yield watch
    finally:
        _current.reset(token)


def load_seconds() -> float:
    """Seconds that one class may take."""
    return _setting(SECONDS, _DEFAULT_SECONDS)


#: calls of Python in calls: instances in instances, expressions in expressions; a model that is
#: nested this deeply is refused before (500 brackets, 100 components), and some 20 calls are one
#: level of either
_RECURSION = 20_000
_recursion_lock = threading.Lock()
_recursion = {"users": 0, "usual": 0}


@contextlib.contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for deep recursion. The limit is of all threads: the last to leave restores it."""
    with _recursion_lock:
        if not _recursion["users"]:
            _recursion["usual"] = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_recursion["usual"], _RECURSION))
        _recursion["users"] += 1
    try:
        yield
    finally:
        with _recursion_lock:
            _recursion["users"] -= 1
            if not _recursion["users"]:
                sys.setrecursionlimit(_recursion["usual"])


def check_limits() -> None:
    """Raise where the loading under way, if there is one, takes too long."""
    watch = _current.get()
    if watch is not None:
        watch.look()


def report_progress(text: str) -> None:
    """One line for who waits."""
    print(visible(text), file=sys.stderr, flush=True)


def resident_bytes(pid: int) -> float:
    """Memory of a process; 0 where the system does not say."""
    try:
        if sys.platform == "linux":
            with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        if sys.platform == "darwin":  # pragma: no cover
            command = ["ps", "-o", "rss=", "-p", str(pid)]
            return 1024.0 * int(subprocess.run(command, capture_output=True, check=True).stdout)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        pass
    return 0.0


def _setting(name: str, default: float) -> float:
    given = os.environ.get(name, "").strip()
    if not given:
        return default
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise SourceError(
            "S261", f"{name}={given}: give a number above 0, as in {name}={default:g}"
        )
    return value
