"""Checkpoints in the store: each with a checksum, so that a damaged one is noticed, not used."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Any

from estimica.base.errors import StoreError
from estimica.execute.runs.database import CHECKSUMS, version_of
from estimica.execute.runs.payload import from_text, to_text

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
