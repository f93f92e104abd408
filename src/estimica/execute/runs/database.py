"""The SQLite file of the store: opened, checked, made; its troubles in the user's words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from estimica.base.errors import StoreError
from estimica.base.visible import visible
from estimica.execute.runs.record import is_run_id

APPLICATION = 0x45737469  # "Esti": what kind of SQLite file this is
VERSION = 4
CHECKSUMS = 3  # the version since which checkpoints have them
NAMES = 4  # the version since which runs have names of their own
#: s, while another process writes. Chosen: transactions of ours are short, so that a longer wait
#: means that one hangs, and the user should be told
PATIENCE = 10.0

SCHEMA = """
CREATE TABLE run (
    id TEXT PRIMARY KEY, command TEXT NOT NULL, name TEXT NOT NULL,
    status TEXT NOT NULL, message TEXT NOT NULL, cost REAL,
    started REAL NOT NULL, ended REAL, heartbeat REAL NOT NULL,
    host TEXT NOT NULL, pid INTEGER NOT NULL, process_started TEXT NOT NULL,
    study TEXT NOT NULL, settings TEXT NOT NULL, environment TEXT NOT NULL, result TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_by_time ON run (started);
CREATE TABLE iteration (
    run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
    number INTEGER NOT NULL, cost REAL, at REAL NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE checkpoint (
    run TEXT NOT NULL REFERENCES run ON DELETE CASCADE,
    key TEXT NOT NULL, at REAL NOT NULL, payload TEXT NOT NULL,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;
"""
#: what version 2 has more: how far a run is, and the page about its result
SECOND = """
CREATE TABLE progress (
    run TEXT PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    share REAL, text TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE page (
    run TEXT PRIMARY KEY REFERENCES run ON DELETE CASCADE, payload TEXT NOT NULL
);
"""
#: what version 3 has more: by what a damaged checkpoint is noticed
THIRD = "ALTER TABLE checkpoint ADD COLUMN checksum TEXT"
#: what version 4 has more: what a run is called; its `name` is that of the study
FOURTH = """
CREATE TABLE label (
    run TEXT PRIMARY KEY REFERENCES run ON DELETE CASCADE, text TEXT NOT NULL
) WITHOUT ROWID;
"""
#: what makes a store of the version before it one of this version
RENEWALS = {2: SECOND, 3: THIRD, 4: FOURTH}
#: what SQLite keeps beside a file that it writes to
COMPANIONS = ("-wal", "-shm", "-journal")


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the store, which is made where there is none."""
    _refuse_folder(path)
    try:
        _make_folder(path.parent)
    except FileExistsError as error:
        raise _unwritable(path, f"'{path.parent}' is not a folder") from error
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    with sqlite_errors(path), contextlib.ExitStack() as undo:
        connection = _connected(f"file:{quote(str(path))}?mode=rwc")
        undo.callback(connection.close)
        if not _is_made(connection, path):
            _make(connection, path)
        _require_own(connection, path)
        _renew(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing
        connection.execute("PRAGMA foreign_keys = ON")
        undo.pop_all()
    return connection


def open_to_read(path: Path) -> sqlite3.Connection | None:
    """A connection that changes nothing; None where no run has been stored yet."""
    if not os.path.exists(path):  # nor where no file can be
        return None
    _refuse_folder(path)
    with sqlite_errors(path), contextlib.ExitStack() as undo:
        try:
            connection = _connected(f"file:{quote(str(path))}?mode=ro")
            undo.callback(connection.close)
            is_ready = _is_made(connection, path)
        except sqlite3.OperationalError as error:
            if not _name(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                raise
            # a folder that cannot be written to has no room for the lock
            connection = _connected(f"file:{quote(str(path))}?immutable=1")
            undo.callback(connection.close)
            is_ready = _is_made(connection, path)
        if not is_ready:
            return None
        _require_own(connection, path)
        undo.pop_all()
    return connection


def require_within(path: Path, folder: Path) -> None:
    """A store beside a study stays there: a link that came with the study leads nowhere else.

    It would have runs written to, or read from, a place that nobody named.
    """
    home, real = os.path.realpath(folder), os.path.realpath(path)
    inside = Path(real).is_relative_to(home)
    if inside and not any(os.path.islink(real + ending) for ending in COMPANIONS):
        return
    link = next((p for p in (path.parent, path) if os.path.islink(p)), Path(real))
    raise StoreError(
        "B030",
        f"the store of runs '{path}' is not used: '{link.name}' is a link that leads elsewhere; "
        "remove the link, or name the file itself with --store",
    )


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors that name the file and the next step."""
    try:
        yield
    except sqlite3.Error as error:
        raise _in_words(path, error) from error


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA trusted_schema = OFF")  # the file may come from elsewhere
    return connection


def _is_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the tables are there; an error where the file is something else."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (version or kind or tables):
        return False
    if kind != APPLICATION:
        raise StoreError(
            "B001", f"'{path}' is a database, but not one of runs; give another file with --store"
        )
    if version > VERSION:
        raise StoreError(
            "B007",
            f"the store of runs '{path}' has version {version}, made by a newer Estimica; this one "
            f"reads up to version {VERSION}; update Estimica, or give another file with --store",
        )
    return True


def _require_own(connection: sqlite3.Connection, path: Path) -> None:
    """What a store from elsewhere calls its runs goes into addresses and pages: only our names do.

    Nor does a store of ours hold views or triggers, which compute whatever they like.
    """
    kinds = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')")
    strange = [str(name) for (name,) in kinds]
    strange += [str(i) for (i,) in connection.execute("SELECT id FROM run") if not is_run_id(i)]
    if strange:
        raise StoreError(
            "B031",
            f"'{path}' was not written by Estimica alone: it holds '{visible(strange[0][:60])}', "
            "which is not the name of a run; move it away, or give another file with --store",
        )


def _make(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _log_ahead(connection)
    with transaction(connection):
        if _is_made(connection, path):  # another process was quicker
            return
        for statement in ";".join((SCHEMA, *RENEWALS.values())).split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _renew(connection: sqlite3.Connection) -> None:
    """A store of an older version gets what it does not have yet."""
    if version_of(connection) >= VERSION:
        return
    with transaction(connection):
        since = version_of(connection)  # another process may have been quicker
        for version, statements in RENEWALS.items():
            for statement in statements.split(";") if version > since else ():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the tables; a store that is only read may still have an older one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Readers and a writer at once; SQLite itself does not wait for others in this one step."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _refuse_folder(path: Path) -> None:
    if os.path.isdir(path):
        raise _unwritable(path, "it is a folder")
    if path.exists() and not path.is_file():
        raise _unwritable(path, "it is not a file")


def _make_folder(folder: Path) -> None:
    ours = folder.name == ".estimica" and not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if ours:
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")


def _name(error: sqlite3.Error) -> str:
    """SQLite's name of the error; the module's own errors have none."""
    return str(getattr(error, "sqlite_errorname", ""))


def _in_words(path: Path, error: sqlite3.Error) -> StoreError:
    name = _name(error)
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreError(
            "B002",
            f"'{path}' is not a store of runs, or a damaged one ({error}); move it away, or give "
            "another file with --store",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return _unwritable(path, str(error))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            "B004",
            f"the store of runs '{path}' has been locked by another process for {PATIENCE:g} s; "
            "try again, or give another file with --store",
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoreError("B005", f"the store of runs '{path}' cannot be written: {error}")
    return StoreError("B006", f"the store of runs '{path}' does not answer: {error}")


def _unwritable(path: Path, why: str) -> StoreError:
    return StoreError(
        "B003",
        f"the store of runs '{path}' cannot be opened: {why}; give a file in a folder that you "
        "may write to with --store",
    )
