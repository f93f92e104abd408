"""The store of runs: one SQLite file beside the study, which several processes may use at once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from estimica.base.errors import StoreError
from estimica.base.visible import visible
from estimica.execute.runs.database import (
    open_to_read,
    open_to_write,
    require_within,
    sqlite_errors,
    transaction,
    version_of,
)
from estimica.execute.runs.names import (
    checked_name,
    id_among,
    next_name,
    set_name,
    unknown_run,
    with_name,
)
from estimica.execute.runs.payload import (
    NEXT,
    from_text,
    object_from_text,
    reading_part,
    storable_text,
    to_text,
)
from estimica.execute.runs.process_identity import ProcessIdentity, this_process
from estimica.execute.runs.provenance import environment as this_environment
from estimica.execute.runs.record import (
    RunSummary,
    Status,
    StoredIteration,
    StoredProgress,
    StoredRun,
    new_run_id,
)
from estimica.execute.runs.writer import NoRunWriter, RunWriter, StoreRunWriter, read_checkpoints

FOLDER = ".estimica"
FILE = "runs.sqlite"

#: a run of another machine whose heart has not beaten for so long is over (it beats every 10 s,
#: but not while a library computes without letting other threads run)
SILENCE = 600.0  # s

_SUMMARY = """SELECT id, command, name, status, message, cost, started, ended, heartbeat,
    host, pid, process_started,
    (SELECT count(*) FROM iteration WHERE iteration.run = run.id) AS iterations FROM run"""
_NEWEST = "ORDER BY started DESC, id DESC"


class Store:
    """Runs in the file `path`, which is made when the first run begins.

    With a folder `within`, the file must lie in it, links followed.
    """

    def __init__(self, path: str | Path, within: Path | None = None) -> None:
        self.path = Path(path)
        self._within = within

    @staticmethod
    def beside(place: str | Path) -> Store:
        """The store in the folder of a study file, or in a folder."""
        place = Path(place)
        folder = place if place.is_dir() else place.parent
        return Store(folder / FOLDER / FILE, folder)

    @staticmethod
    def of(study: str | Path, path: str | Path | None) -> Store:
        """The store at `path`, a file or a folder; without one, that beside the study."""
        if path is None:
            return Store.beside(study)
        return Store.beside(path) if os.path.isdir(path) else Store(path)

    def begin(
        self,
        command: str,
        *,
        name: str,
        study: Mapping[str, object] | str,
        settings: Mapping[str, object],
        environment: Mapping[str, object] | None = None,
    ) -> RunWriter:
        """A new run. `environment` is by default what this process runs in."""
        if environment is None:
            seed = settings.get("seed")
            environment = this_environment(seed if isinstance(seed, int) else None)
        texts = to_text(study), to_text(settings), to_text(environment), to_text({})
        connection = self._writing()
        try:
            with sqlite_errors(self.path):
                run_id = _insert(connection, command, name, texts)
        except BaseException:
            connection.close()
            raise
        return StoreRunWriter(connection, self.path, run_id)

    def begin_if_possible(
        self,
        command: str,
        *,
        name: str,
        study: Mapping[str, object] | str,
        settings: Mapping[str, object],
    ) -> RunWriter:
        """A new run; where the store cannot be used, one that notes nothing and says why."""
        try:
            return self.begin(command, name=name, study=study, settings=settings)
        except StoreError as error:
            return NoRunWriter(str(error))

    def resume(self, which: str) -> RunWriter:
        """Take up a run that was interrupted or failed; its checkpoints are still there."""
        run_id = self._named(which)
        me = this_process()
        connection = self._writing()
        try:
            with sqlite_errors(self.path), transaction(connection):
                row = connection.execute(_of_run(connection), (run_id,)).fetchone()
                status = _status(row) if row else Status.DONE
                if status not in (Status.INTERRUPTED, Status.FAILED):
                    raise StoreError(
                        "B012",
                        f"run '{run_id}' is {status}; only a run that was interrupted or failed "
                        "can be taken up again",
                    )
                connection.execute(
                    "UPDATE run SET status = ?, message = '', ended = NULL, heartbeat = ?, "
                    "host = ?, pid = ?, process_started = ? WHERE id = ?",
                    (Status.RUNNING.value, time.time(), me.host, me.pid, me.started, run_id),
                )
        except BaseException:
            connection.close()
            raise
        return StoreRunWriter(connection, self.path, run_id)

    def runs(self, limit: int | None = None, command: str | None = None) -> list[RunSummary]:
        """The newest runs first, at most `limit`, of one command or of all."""
        with self._reading() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                f"{with_name(connection, _SUMMARY)} WHERE ?1 IS NULL OR command = ?1 {_NEWEST} "
                "LIMIT ?2",
                (command, -1 if limit is None else limit),
            ).fetchall()
        return [_summary(row) for row in rows]

    def run(self, which: str) -> StoredRun:
        """A run by its id, by the beginning or end of it if only one fits, or the `last`."""
        run_id = self._named(which)
        with self._reading() as connection:
            assert connection is not None
            # one transaction, so that what is read belongs together
            connection.execute("BEGIN")
            row = connection.execute(_of_run(connection), (run_id,)).fetchone()
            texts = connection.execute(
                "SELECT study, settings, environment, result FROM run WHERE id = ?", (run_id,)
            ).fetchone()
            iterations = connection.execute(
                "SELECT number, cost, at, payload FROM iteration WHERE run = ? ORDER BY number",
                (run_id,),
            ).fetchall()
            checkpoints = read_checkpoints(connection, run_id).whole
        if row is None:
            raise unknown_run(which, {}, self.path)
        return StoredRun(
            _summary(row),
            _study(run_id, texts),
            _object(run_id, texts, "settings"),
            _object(run_id, texts, "environment"),
            _object(run_id, texts, "result"),
            tuple(_iteration(run_id, i) for i in iterations),
            checkpoints,
        )

    def asked(self, which: str) -> tuple[Mapping[str, Any] | str, Mapping[str, Any]]:
        """The study and the settings of a run, without anything that it has found."""
        run_id = self._named(which)
        with self._reading() as connection:
            assert connection is not None
            texts = connection.execute(
                "SELECT study, settings FROM run WHERE id = ?", (run_id,)
            ).fetchone()
        if texts is None:
            raise unknown_run(which, {}, self.path)
        return _study(run_id, texts), _object(run_id, texts, "settings")

    def id_of(self, which: str) -> str:
        """The whole id of a run, whatever is stored of it."""
        return self._named(which)

    def summary(self, which: str) -> RunSummary:
        """What a list says of a run."""
        run_id = self._named(which)
        with self._reading() as connection:
            question = connection and connection.execute(_of_run(connection), (run_id,))
            row = question and question.fetchone()
        if not row:
            raise unknown_run(which, {}, self.path)
        return _summary(row)

    def rename(self, which: str, name: str) -> str:
        """Give a run a name that no other run of the store has; the name as it is kept."""
        name, run_id = checked_name(name), self._named(which)
        with (
            sqlite_errors(self.path),
            contextlib.closing(self._writing()) as connection,
            transaction(connection),
        ):
            set_name(connection, run_id, name)
        return name

    def iterations(self, which: str, after: int = -1) -> tuple[StoredIteration, ...]:
        """The steps of a run whose number is above `after`."""
        run_id = self._named(which)
        with self._reading() as connection:
            rows = (
                connection.execute(
                    "SELECT number, cost, at, payload FROM iteration WHERE run = ? AND number > ? "
                    "ORDER BY number",
                    (run_id, after),
                ).fetchall()
                if connection
                else []
            )
        return tuple(_iteration(run_id, row) for row in rows)

    def progress(self, which: str) -> StoredProgress | None:
        """How far a run said last that it is; None where it said nothing."""
        row = self._row("SELECT * FROM progress WHERE run = ?", self._named(which), since=2)
        return None if row is None else StoredProgress(row["share"], row["text"], row["at"])

    def page(self, which: str) -> dict[str, Any] | None:
        """The page about the result as data; None where none was kept."""
        run_id = self._named(which)
        row = self._row("SELECT payload FROM page WHERE run = ?", run_id, since=2)
        with reading_part(run_id, "the page"):
            return None if row is None else object_from_text(row["payload"])

    def news(
        self, run_id: str, after: int = -1
    ) -> tuple[RunSummary, StoredProgress | None, tuple[StoredIteration, ...]]:
        """Summary, progress, and the steps above `after` of a run, at once; for its whole id."""
        with self._reading() as connection:
            if connection is None:
                raise unknown_run(run_id, {}, self.path)
            row = connection.execute(_of_run(connection), (run_id,)).fetchone()
            if row is None:
                raise unknown_run(run_id, {}, self.path)
            reached = None
            if version_of(connection) >= 2:
                reached = connection.execute(
                    "SELECT share, text, at FROM progress WHERE run = ?", (run_id,)
                ).fetchone()
            steps = connection.execute(
                "SELECT number, cost, at, payload FROM iteration WHERE run = ? AND number > ? "
                "ORDER BY number",
                (run_id, after),
            ).fetchall()
        progress = (
            None
            if reached is None
            else StoredProgress(reached["share"], reached["text"], reached["at"])
        )
        return _summary(row), progress, tuple(_iteration(run_id, s) for s in steps)

    def run_of(self, pid: int, since: float) -> str:
        """The run that a process of this machine began or took up; empty where there is none."""
        with self._reading() as connection:
            row = (
                connection
                and connection.execute(
                    "SELECT id FROM run WHERE pid = ? AND host = ? AND heartbeat >= ? "
                    "ORDER BY heartbeat DESC LIMIT 1",
                    (pid, this_process().host, since),
                ).fetchone()
            )
        return str(row["id"]) if row else ""

    def _row(self, question: str, run_id: str, since: int = 1) -> sqlite3.Row | None:
        """The one answer to a question about a run; none from tables that are not there yet."""
        with self._reading() as connection:
            if connection is None or version_of(connection) < since:
                return None
            row: sqlite3.Row | None = connection.execute(question, (run_id,)).fetchone()
            return row

    def delete(self, which: Iterable[str]) -> list[str]:
        """Remove runs that are not running, with all that was stored of them; their ids."""
        ids = list(dict.fromkeys(self._named(name) for name in which))
        if not ids:
            return []
        with sqlite_errors(self.path), contextlib.closing(self._writing()) as connection:
            with transaction(connection):
                for run_id in ids:
                    row = connection.execute(_of_run(connection), (run_id,)).fetchone()
                    if row is not None and _status(row) is Status.RUNNING:
                        raise StoreError("B013", f"run '{run_id}' is still running; stop it first")
                    connection.execute("DELETE FROM run WHERE id = ?", (run_id,))
            connection.execute("PRAGMA incremental_vacuum").fetchall()
        return ids

    def older_than(self, days: float) -> list[str]:
        """The ids of runs that began more than `days` ago and do not run any more."""
        limit = time.time() - days * 86400
        return [r.id for r in self.runs() if r.started < limit and r.status is not Status.RUNNING]

    def require_within(self) -> None:
        """The store lies where it should; asked before every use."""
        if self._within is not None:
            require_within(self.path, self._within)

    def _writing(self) -> sqlite3.Connection:
        self.require_within()
        return open_to_write(self.path)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        self.require_within()
        with sqlite_errors(self.path):
            connection = open_to_read(self.path)
            if connection is None:
                yield None
                return
            with contextlib.closing(connection):
                yield connection

    def _named(self, which: str) -> str:
        ids: dict[str, str] = {}
        with self._reading() as connection:
            if connection is not None:
                question = f"{with_name(connection, 'SELECT id FROM run')} ORDER BY started, id"
                ids = {str(row["id"]): str(row["label"]) for row in connection.execute(question)}
        return id_among(which, ids, self.path)


def _of_run(connection: sqlite3.Connection) -> str:
    """The question for the summary of one run."""
    return f"{with_name(connection, _SUMMARY)} WHERE id = ?"


def _insert(
    connection: sqlite3.Connection, command: str, name: str, texts: tuple[str, str, str, str]
) -> str:
    me, now = this_process(), time.time()
    while True:
        run_id = new_run_id(now)
        begun = (
            run_id,
            command,
            storable_text(name),
            Status.RUNNING.value,
            "",
            None,
            now,
            None,
            now,
        )
        row = (*begun, me.host, me.pid, me.started, *texts)
        places = ", ".join("?" * len(row))
        with transaction(connection):
            done = connection.execute(f"INSERT OR IGNORE INTO run VALUES ({places})", row)
            if done.rowcount:
                set_name(connection, run_id, next_name(connection, command))
        if done.rowcount:  # else another process has just taken that id
            return run_id


#: the kinds of the columns of a summary; a store from elsewhere may hold anything there
_KINDS = {
    (str,): ("command", "name", "status", "message", "host", "process_started", "label"),
    (int, float): ("started", "heartbeat"),
    (int, float, type(None)): ("cost", "ended"),
    (int,): ("pid", "iterations"),
}


def _require_kinds(row: sqlite3.Row) -> None:
    for kinds, columns in _KINDS.items():
        for column in columns:
            if not isinstance(row[column], kinds):
                raise _damaged(row, column)
    if row["status"] not in list(Status):
        raise _damaged(row, "status")


def _damaged(row: sqlite3.Row, column: str) -> StoreError:
    content = visible(str(row[column])[:60])
    return StoreError(
        "B032",
        f"run '{row['id']}' is damaged: its {column} is '{content}'; move the store of runs away, "
        "or give another file with --store",
    )


def _study(run_id: str, texts: sqlite3.Row) -> Mapping[str, Any] | str:
    with reading_part(run_id, "the study"):
        study = from_text(texts["study"])
        return study if isinstance(study, str) else object_from_text(texts["study"])


def _object(run_id: str, texts: sqlite3.Row, column: str) -> Mapping[str, Any]:
    with reading_part(run_id, f"the {column}"):
        return object_from_text(texts[column])


def _summary(row: sqlite3.Row) -> RunSummary:
    status = _status(row)
    gone = status is Status.INTERRUPTED and row["status"] == Status.RUNNING
    return RunSummary(
        row["id"],
        row["command"],
        row["name"],
        status,
        "its process ended before it was done" if gone else row["message"],
        row["cost"],
        row["started"],
        row["heartbeat"] if gone else row["ended"],
        row["iterations"],
        row["label"],
    )


def _status(row: sqlite3.Row) -> Status:
    """What was written; a run that should be running but whose process is gone was interrupted."""
    _require_kinds(row)
    status = Status(row["status"])
    if status is not Status.RUNNING:
        return status
    alive = ProcessIdentity(row["host"], row["pid"], row["process_started"]).is_alive()
    if alive is None:
        alive = time.time() - row["heartbeat"] < SILENCE
    return Status.RUNNING if alive else Status.INTERRUPTED


def _iteration(run_id: str, row: sqlite3.Row) -> StoredIteration:
    with reading_part(run_id, f"step {row['number']}"):
        if not isinstance(row["cost"], float | int | None) or not isinstance(row["at"], float):
            raise StoreError("B033", f"its cost or time is not a number; {NEXT}")
        cost = float("nan") if row["cost"] is None else row["cost"]
        return StoredIteration(row["number"], cost, row["at"], object_from_text(row["payload"]))
