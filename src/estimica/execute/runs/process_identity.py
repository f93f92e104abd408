"""Which process it is, and whether it is still there, also when its number is given out again."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process: its machine, its number, and when it started (empty where that is not known)."""

    host: str
    pid: int
    started: str

    def is_alive(self) -> bool | None:
        """Whether it still runs; None where that cannot be seen from here."""
        if self.host != host() or not self.started:
            return None
        return _started(self.pid) == self.started


def this_process() -> ProcessIdentity:
    """The process that asks."""
    return ProcessIdentity(host(), os.getpid(), _started(os.getpid()))


@lru_cache(maxsize=1)
def host() -> str:
    """The machine's name; containers count process numbers apart, so each is its own machine."""
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        name += f" {os.readlink('/proc/self/ns/pid')}"
    return name


def _started(pid: int) -> str:
    """When a process started, in whatever unit the system has; empty where there is none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            # a zombie has ended, though nobody has asked how yet
            return "" if fields[0] in "ZX" else f"{_boot()} {fields[19]}"
    elif sys.platform != "win32":
        with contextlib.suppress(OSError):
            ps = subprocess.run(
                ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
            )
            return ps.stdout.strip()
    return ""


@lru_cache(maxsize=1)
def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return ""
