"""The flattener: rumoca in a process of its own, kept alive, with a time limit for each request."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from estimica.base.errors import SourceError
from estimica.base.process import python_command, python_environment
from estimica.source.decode.origins import DOCUMENT
from estimica.source.limits import LoadLimits, resident_bytes

#: the only version whose flat JSON this package understands
RUMOCA_VERSION = "0.10.2"
#: seconds between two looks at the clock and at the memory of the compiler
_LOOK_EVERY = 0.2
_WORKER = Path(__file__).with_name("worker.py")


class Refusal(Exception):
    """The compiler did not accept the source; `findings` are what it has to say on the syntax."""

    def __init__(self, message: str, findings: Sequence[str]) -> None:
        super().__init__(message)
        self.message = message
        self.findings = tuple(findings)


def flatten(
    text: str, model: str, roots: Sequence[Path], limit: float | LoadLimits
) -> dict[str, Any]:
    """The flat JSON of class `model` of `text`, which may refer to the libraries under `roots`.

    `limit` are seconds, or the watch over a whole loading. Raises Refusal where the compiler
    refuses the source, SourceError where it hangs, crashes or wants too much memory.
    """
    watch = limit if isinstance(limit, LoadLimits) else LoadLimits(model, limit)
    names = [str(r) for r in roots]
    request = {"text": text, "document": DOCUMENT, "model": model, "roots": names}
    try:
        kind, content = _process_for(bool(roots)).ask(request, watch)
    except _Retired:
        kind, content = _process_for(bool(roots)).ask(request, watch)
    model = watch.what
    answer: dict[str, Any] = json.loads(content)
    if kind == "refused":
        raise Refusal(answer["message"], answer["findings"])
    if kind == "crashed":
        raise SourceError(
            "S006",
            f"the Modelica compiler rumoca {RUMOCA_VERSION} broke down on '{model}': "
            f"{answer['message']}; simplify the class until it passes, or use another front end",
        )
    return answer


def stop_flatteners() -> None:
    """End every worker process that this process started."""
    for process in list(_processes.values()):
        process.stop()
    _processes.clear()


class _Retired(Exception):
    """The worker went home without work just before it was asked."""


class _Process:
    """One worker; requests are answered in turn."""

    def __init__(self) -> None:
        _check_version()
        self._popen = subprocess.Popen(
            python_command(str(_WORKER)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_WORKER.parent,
            env=_environment(),
        )
        self._answers: queue.Queue[tuple[str, bytes]] = queue.Queue()
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()
        self._greeted = False

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def ask(self, request: dict[str, Any], watch: LoadLimits) -> tuple[str, bytes]:
        with self._lock:
            if not self._greeted:
                self._wait(LoadLimits("the start of the Modelica compiler", 60.0))
                self._greeted = True
            assert self._popen.stdin is not None
            try:
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
            except OSError:
                raise self._ended(watch.what) from None
            return self._wait(watch)

    def stop(self) -> None:
        if self.alive:
            self._popen.kill()
        self._popen.wait()
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def _wait(self, watch: LoadLimits) -> tuple[str, bytes]:
        while True:
            try:
                kind, content = self._answers.get(timeout=min(_LOOK_EVERY, watch.left + 0.001))
                break
            except queue.Empty:
                try:
                    watch.look(resident_bytes(self._popen.pid))
                except SourceError:
                    self.stop()
                    raise
        if kind == "ended":
            raise self._ended(watch.what)
        return kind, content

    def _ended(self, what: str) -> Exception:
        self.stop()
        return _Retired() if self._popen.returncode == 0 else _died(what)

    def _listen(self) -> None:
        stream = self._popen.stdout
        assert stream is not None
        with stream:
            while header := stream.readline():
                kind, length = header.split()
                self._answers.put((kind.decode(), stream.read(int(length))))
        self._answers.put(("ended", b""))


def _environment() -> dict[str, str]:
    """Without MODELICAPATH: the compiler would load all that stands there, needed or not.

    And without a place for its own cache, which grows by gigabytes, and which makes it crash once
    a process was stopped while writing.
    """
    kept = {k: v for k, v in python_environment().items() if k != "MODELICAPATH"}
    nowhere = os.path.join(os.devnull, "none")
    kept.update(XDG_CACHE_HOME=nowhere, LOCALAPPDATA=nowhere)
    if sys.platform == "darwin":
        kept["HOME"] = nowhere
    return kept


def _died(what: str) -> SourceError:
    return SourceError(
        "S006",
        f"the process of the Modelica compiler died on '{what}'; it may have run out of memory: "
        "close other programs, or load a smaller class",
    )


def _check_version() -> None:
    try:
        found = metadata.version("rumoca")
    except metadata.PackageNotFoundError:
        raise SourceError(
            "S007", f"rumoca is not installed; run: pip install rumoca=={RUMOCA_VERSION}"
        ) from None
    if found != RUMOCA_VERSION:
        raise SourceError(
            "S007",
            f"rumoca {found} is installed, but its flat format is understood for {RUMOCA_VERSION} "
            f"only; run: pip install rumoca=={RUMOCA_VERSION}",
        )


_processes: dict[tuple[int, bool], _Process] = {}
_processes_lock = threading.Lock()


def _process_for(libraries: bool) -> _Process:
    """The worker of this process; a forked child starts its own."""
    with _processes_lock:
        key = (os.getpid(), libraries)
        process = _processes.get(key)
        if process is not None and not process.alive:
            process.stop()  # it has retired meanwhile: its pipe is still open here
            process = None
        if process is None:
            process = _processes[key] = _Process()
        return process


def _stop_own() -> None:
    for (pid, _), process in _processes.items():
        if pid == os.getpid():
            process.stop()


atexit.register(_stop_own)
