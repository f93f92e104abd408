"""The pen of one run: iterations, checkpoints and the result, written while the work goes on. Each
checkpoint has a checksum, so that a damaged one is noticed, not used."""

from __future__ import annotations

import hashlib
import math
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from estimica.base.errors import EstimicaError, StoreError
from estimica.execute.outcome import error_text
from estimica.execute.runs.database import CHECKSUMS, sqlite_errors, transaction, version_of
from estimica.execute.runs.payload import from_text, storable_text, to_text
from estimica.execute.runs.record import Status

#: s: what came in meanwhile is written together. Iterations may come faster than a disk confirms
#: transactions, and who watches a run does not notice half a second
BATCH = 0.5
#: s between two signs of life, of which 60 must be missing until a run counts as dead elsewhere
#: (`store.SILENCE`)
HEARTBEAT = 10.0


class RunWriter(ABC):
    """Notes a run. As a context manager it ends the run: done, failed by an error, or interrupted.

    Once a run has begun, trouble with the store stops no work: `trouble` says what it is.
    """

    def __init__(self, run_id: str, trouble: str = "") -> None:
        self.id = run_id
        self.trouble = trouble
        self.damaged: tuple[str, ...] = ()  # checkpoints that were found so, and are left out
        self.finished = False

    @abstractmethod
    def iteration(self, number: int, cost: float, payload: Mapping[str, object]) -> None:
        """Note one step; it is written within half a second."""

    @abstractmethod
    def progress(self, share: float | None, text: str) -> None:
        """Note how far the work is, for those who watch from elsewhere; the newest counts."""

    @abstractmethod
    def keep_page(self, page: Mapping[str, object]) -> None:
        """Keep the page about the result, as data, so that it can be shown at any time."""

    @abstractmethod
    def checkpoint(self, key: str, payload: object) -> None:
        """Note a part that need not be done again; the same key replaces. See `flush`."""

    @abstractmethod
    def checkpoints(self) -> dict[str, Any]:
        """All checkpoints of the run by key, also those of before it was taken up again."""

    @abstractmethod
    def flush(self) -> None:
        """Write now what was noted so far."""

    @abstractmethod
    def finish(
        self, status: Status, message: str = "", result: Mapping[str, object] | None = None
    ) -> None:
        """End the run. `result` is the JSON object of the command; its `cost` shows in lists."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file; a run that is not finished has been interrupted."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.finished:
            if error is None:
                self.finish(Status.DONE)
            elif isinstance(error, KeyboardInterrupt):
                self.finish(Status.INTERRUPTED, "stopped by Ctrl-C")
            else:
                reason = str(error) if isinstance(error, EstimicaError) else error_text(error)
                self.finish(Status.FAILED, reason)
        self.close()


class NoRunWriter(RunWriter):
    """Notes nothing but checkpoints in memory; for work that goes on where no store can be."""

    def __init__(self, trouble: str = "") -> None:
        super().__init__("", trouble)
        self._checkpoints: dict[str, Any] = {}

    def iteration(self, number: int, cost: float, payload: Mapping[str, object]) -> None:
        """Nothing is noted."""

    def progress(self, share: float | None, text: str) -> None:
        """Nothing is noted."""

    def keep_page(self, page: Mapping[str, object]) -> None:
        """Nothing is kept."""

    def checkpoint(self, key: str, payload: object) -> None:
        """Kept as long as this process lives."""
        self._checkpoints[key] = from_text(to_text(payload))

    def checkpoints(self) -> dict[str, Any]:
        """Those of this process."""
        return dict(self._checkpoints)

    def flush(self) -> None:
        """There is nothing to write."""

    def finish(
        self, status: Status, message: str = "", result: Mapping[str, object] | None = None
    ) -> None:
        """Only that it ended."""
        self.finished = True

    def close(self) -> None:
        """There is no file."""


class StoreRunWriter(RunWriter):
    """Writes to the store in batches, from a thread that also keeps the heart beating."""

    def __init__(self, connection: sqlite3.Connection, path: Path, run_id: str) -> None:
        super().__init__(run_id)
        self._connection = connection
        self._path = path
        self._file = threading.Lock()  # one statement at a time
        self._queue = threading.Lock()  # held for moments only: nobody waits for the disk
        self._iterations: list[tuple[object, ...]] = []
        self._checkpoints: list[tuple[object, ...]] = []
        self._progress: list[tuple[object, ...]] = []  # the newest, or none
        self._beaten = time.time()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"run {run_id}", daemon=True)
        self._thread.start()

    def iteration(self, number: int, cost: float, payload: Mapping[str, object]) -> None:
        """Note one step; it is written within half a second."""
        stored = None if math.isnan(cost) else float(cost)  # SQLite has no NaN
        row = (self.id, int(number), stored, time.time(), to_text(payload))
        with self._queue:
            self._iterations.append(row)

    def progress(self, share: float | None, text: str) -> None:
        """Note how far the work is; it is written within half a second."""
        with self._queue:
            self._progress = [(self.id, share, storable_text(text), time.time())]

    def keep_page(self, page: Mapping[str, object]) -> None:
        """Keep the page about the result; trouble with it is not the trouble of the run."""
        text = to_text(page)
        try:
            with self._file, sqlite_errors(self._path), transaction(self._connection):
                self._connection.execute(
                    "INSERT OR REPLACE INTO page VALUES (?, ?)", (self.id, text)
                )
        except StoreError as error:
            self.trouble = str(error)

    def checkpoint(self, key: str, payload: object) -> None:
        """Note a part that need not be done again; it is written within half a second."""
        row = checkpoint_row(self.id, key, time.time(), payload)
        with self._queue:
            self._checkpoints.append(row)

    def checkpoints(self) -> dict[str, Any]:
        """All checkpoints of the run by key, in the order of their keys."""
        self.flush()
        with sqlite_errors(self._path), self._file:
            stored = read_checkpoints(self._connection, self.id)
        self.damaged = stored.damaged
        return stored.whole

    def flush(self) -> None:
        """Write now what was noted so far."""
        self._write(None)

    def finish(
        self, status: Status, message: str = "", result: Mapping[str, object] | None = None
    ) -> None:
        """End the run with its result, in one transaction with what was not written yet."""
        result = result or {}
        cost = result.get("cost")
        stored = float(cost) if isinstance(cost, (int, float)) and not math.isnan(cost) else None
        self._ended.set()
        self._thread.join()
        text = to_text(result)
        self._write(
            (Status(status).value, storable_text(message), stored, time.time(), text, self.id)
        )
        self.finished = True

    def close(self) -> None:
        """Let go of the file; a run that is not finished has been interrupted."""
        if not self.finished:
            self.finish(Status.INTERRUPTED, "left before it was done")
        with self._file:
            self._connection.close()

    def _keep(self) -> None:
        while not self._ended.wait(BATCH):
            waiting = self._iterations or self._checkpoints or self._progress
            if waiting or time.time() - self._beaten > HEARTBEAT:
                self._write(None)

    def _write(self, end: tuple[object, ...] | None) -> None:
        """Write all that waits, a heartbeat, and the end; on trouble it waits on."""
        with self._file:
            with self._queue:
                iterations, self._iterations = self._iterations, []
                checkpoints, self._checkpoints = self._checkpoints, []
                progress, self._progress = self._progress, []
            try:
                with sqlite_errors(self._path), transaction(self._connection):
                    run = self._connection.executemany
                    run("INSERT OR REPLACE INTO iteration VALUES (?, ?, ?, ?, ?)", iterations)
                    run("INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?)", checkpoints)
                    run("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?)", progress)
                    run("UPDATE run SET heartbeat = ? WHERE id = ?", [(time.time(), self.id)])
                    if end is not None:
                        run(_END, [end])
                self.trouble = ""
                self._beaten = time.time()
            except BaseException as error:
                with self._queue:
                    self._iterations[:0] = iterations
                    self._checkpoints[:0] = checkpoints
                    self._progress = self._progress or progress
                if not isinstance(error, StoreError):
                    raise
                self.trouble = str(error)


_END = "UPDATE run SET status = ?, message = ?, cost = ?, ended = ?, result = ? WHERE id = ?"


Row = tuple[str, str, float, str, str]

#: as bytes: a damaged text may not be UTF-8, and SQLite would refuse all rows for it
_QUESTION = """SELECT CAST(key AS BLOB) AS key, CAST(payload AS BLOB) AS payload, {} AS checksum
    FROM checkpoint WHERE run = ? ORDER BY key"""


@dataclass(frozen=True)
class Checkpoints:
    """Parts of a run that need not be done again, and the keys of those that are damaged."""

    whole: dict[str, Any]
    damaged: tuple[str, ...] = ()


def checkpoint_row(run: str, key: str, at: float, payload: object) -> Row:
    """A checkpoint as the table has it."""
    text = to_text(payload)
    return run, key, at, text, _checksum(run, key.encode(), text.encode())


def read_checkpoints(connection: sqlite3.Connection, run: str) -> Checkpoints:
    """All checkpoints of a run, in the order of their keys."""
    checked = version_of(connection) >= CHECKSUMS
    question = _QUESTION.format("CAST(checksum AS BLOB)" if checked else "NULL")
    whole: dict[str, Any] = {}
    damaged: list[str] = []
    for key, payload, checksum in connection.execute(question, (run,)):
        name = key.decode(errors="replace")
        # rows of stores before there were checksums have none
        if checksum is not None and checksum != _checksum(run, key, payload).encode():
            damaged.append(name)
            continue
        try:
            whole[name] = from_text(payload.decode())
        except (ValueError, StoreError):
            damaged.append(name)
    return Checkpoints(whole, tuple(damaged))


def _checksum(run: str, key: bytes, payload: bytes) -> str:
    """Of the row as a whole: a payload under the wrong key is damage too."""
    digest = hashlib.sha256()
    for part in (run.encode(), key, payload):
        digest.update(len(part).to_bytes(8, "big"))  # where one ends and the next begins
        digest.update(part)
    return digest.hexdigest()
