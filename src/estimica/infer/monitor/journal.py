"""Journal: a monitor's state on disk, so that a kill at any moment loses nothing.

Every row is appended to a journal before it is worked on; every so many rows the whole state is
written in one piece and the journal begins anew. Who takes the work up reads the state and works
once more on the rows of the journal: they give the same bits.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.errors import StoreError
from estimica.base.files.read import open_file
from estimica.base.files.write import atomic_replacement
from estimica.infer.monitor.channels import Row
from estimica.infer.monitor.state import MonitorState, from_bytes, to_bytes

ROWS = 1000  # between two writings of the whole state
#: numbers of a record before inputs and outputs: row, position, time
HEAD = 3


class Journal:
    """The two files of a monitor: `path`, and beside it the rows since it was written."""

    def __init__(self, path: Path, inputs: int, outputs: int, rows: int = ROWS) -> None:
        self.path, self.rows = path, rows
        self._inputs, self._width = inputs, HEAD + inputs + outputs
        beside = path.with_name(path.name + ".journal")
        try:
            self._handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise StoreError("B070", f"cannot write '{beside}': {error.strerror}") from None
        self._pending = 0
        self._lock(path)

    def _lock(self, path: Path) -> None:
        """Two monitors must not share a state; the lock goes with its process, however it ends."""
        try:
            import fcntl
        except ImportError:  # Windows has none of this kind
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise StoreError(
                "B071", f"another monitor is at work with '{path}'; end it, or name another state"
            ) from None

    def since(self, number: int) -> Iterator[Row]:
        """Rows that came after row `number`; one that was not written to its end is not there."""
        size = os.fstat(self._handle).st_size // (8 * self._width)
        content = os.pread(self._handle, 8 * self._width * size, 0)
        for record in np.frombuffer(content, np.float64).reshape(-1, self._width):
            if record[0] > number:
                inputs, outputs = np.split(record[HEAD:], [self._inputs])
                yield Row(float(record[2]), inputs.copy(), outputs.copy(), int(record[1]))

    def note(self, number: int, row: Row) -> None:
        """Write a row down before it is worked on."""
        record = np.empty(self._width)
        record[0], record[1], record[2] = number, row.position, row.time
        record[HEAD : HEAD + self._inputs] = row.inputs
        record[HEAD + self._inputs :] = row.outputs
        os.write(self._handle, record.tobytes())
        self._pending += 1

    @property
    def is_due(self) -> bool:
        """Whether the whole state should be written."""
        return self._pending >= self.rows

    def write(self, state: MonitorState, about: Mapping[str, Any]) -> None:
        """Write the whole state; the rows before it are not needed any more."""
        with atomic_replacement(self.path) as draft:
            draft.write_bytes(to_bytes(state, about))
        os.ftruncate(self._handle, 0)
        self._pending = 0

    def close(self) -> None:
        """Let others have it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def read_state(path: Path) -> tuple[MonitorState, dict[str, Any]]:
    """The state that was written last, and what it belongs to."""
    try:
        with open_file(path) as file:
            return from_bytes(file.read())
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise StoreError(
            "B072",
            f"'{path}' is not the state of a monitor, or it is damaged{why}; name another state, "
            "or begin anew with restart",
        ) from None
