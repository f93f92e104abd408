"""GrowingFile: the rows of a text file to which another program appends."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from estimica.base.errors import DataError, InferError
from estimica.base.files.read import open_file
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.data.cells import is_comment
from estimica.data.formats.dialect import SPACES, Dialect, find_dialect, split_line
from estimica.data.headers import column_names
from estimica.data.reading import PLAIN, Reading
from estimica.infer.monitor.channels import Channels, Row

CHUNK = 1 << 20  # bytes that are read at a time


class GrowingFile:
    """Complete lines as rows, from a position on; a file that is truncated or replaced by another
    one is read from its beginning."""

    def __init__(
        self, path: Path, channels: Channels, position: int, head: str, reading: Reading = PLAIN
    ) -> None:
        self.path, self._channels, self._reading = path, channels, reading
        self.position, self.head = position, head
        self._file: BufferedReader | None = None
        self._dialect: Dialect | None = None
        self._places: dict[str, int] = {}
        self._header = ""
        self.restarted = 0
        self.waits = ""  # why there are no rows yet, in words

    def rows(self, to_end: bool = False) -> Iterator[Row]:
        """What has come since the last time; `to_end`: also a last line that nobody has ended."""
        while True:
            if self._file is None and not self._open(to_end):
                return
            yield from self._lines(to_end)
            if not self._is_replaced():
                return
            yield from self._lines(True)  # what came between the two looks
            self.close()
            self.position, self.head = 0, ""
            self.restarted += 1

    def _open(self, to_end: bool) -> bool:
        """Open the file where it has a header and a row; whether it has."""
        try:
            file = open_file(self.path)
        except FileNotFoundError:
            if to_end:
                hint = did_you_mean_file(self.path)
                raise DataError("D001", f"there is no file '{self.path}'{hint}") from None
            self.waits = f"'{self.path}' is not there yet"
            return False
        except OSError as error:  # a folder, a pipe, or a file that nobody may read
            why = error.strerror or str(error)
            raise DataError("D002", f"cannot read '{self.path}': {why}") from None
        beginning = file.read(CHUNK)
        if not to_end and beginning.count(b"\n") < 2:
            file.close()
            self.waits = f"'{self.path}' has no rows yet"
            return False
        try:
            self._learn(beginning)
        except DataError as error:
            file.close()
            if to_end:
                raise
            self.waits = error.message
            return False
        except InferError:
            file.close()
            raise
        self._file, self.waits = file, ""
        return True

    def _learn(self, beginning: bytes) -> None:
        """Find out how the file writes its table, and where in it to go on."""
        dialect = find_dialect(self.path, self._reading)
        if dialect.encoding.startswith("utf-16"):
            raise InferError(
                "I812", f"'{self.path}' is UTF-16, which cannot be followed; write it as UTF-8"
            )
        names = column_names(dialect.headers)[0]
        wanted = (self._channels.time, *self._channels.columns)
        for name in wanted:
            if name not in names:
                raise InferError(
                    "I811",
                    f"'{self.path}' has no column '{name}'{did_you_mean(name, names)}; what is "
                    "followed must have the columns of the study",
                )
        self._dialect, self._places = dialect, {n: names.index(n) for n in wanted}
        lines = beginning.split(b"\n")[: dialect.first_line + 1]
        above = lines[: dialect.first_line]
        self._header = above[-1].decode(dialect.encoding, "replace").strip() if above else ""
        head = f"{zlib.crc32(b'|'.join(lines)):08x}"
        if self.position and self.head == head and os.stat(self.path).st_size >= self.position:
            return
        if self.position:
            self.restarted += 1
        self.position = sum(len(line) + 1 for line in above)
        self.head = head

    def _lines(self, to_end: bool) -> Iterator[Row]:
        assert self._file is not None
        self._file.seek(self.position)
        rest = b""
        while block := self._file.read(CHUNK):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            for line in lines:
                self.position += len(line) + 1
                yield from self._row(line)
        if to_end and rest.strip():
            self.position += len(rest)
            yield from self._row(rest)

    def _row(self, line: bytes) -> Iterator[Row]:
        """The row of a line; none where it is empty, a comment, or the header once more."""
        dialect = self._dialect
        assert dialect is not None
        text = line.decode(dialect.encoding, "replace").strip("\r\ufeff")
        if not text.strip() or is_comment(text) or text.strip() == self._header:
            return
        cells = _cells(text, dialect)
        if len(cells) < len(dialect.kinds):
            cells = []
        named = {n: cells[k] for n, k in self._places.items() if k < len(cells)}
        yield self._channels.row(named, self.position)

    def _is_replaced(self) -> bool:
        """Whether the name means another file by now, or this one has become shorter."""
        assert self._file is not None
        try:
            there, own = os.stat(self.path), os.fstat(self._file.fileno())
        except OSError:  # between two files of one name
            return False
        if (there.st_ino, there.st_dev) != (own.st_ino, own.st_dev):
            return True
        return own.st_size < self.position

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _cells(text: str, dialect: Dialect) -> list[str]:
    if dialect.separator == SPACES or '"' in text:
        cells = split_line(text, dialect.separator)
    else:
        cells = text.split(dialect.separator)
    if dialect.thousands:
        cells = [c.replace(dialect.thousands, "") for c in cells]
    return [c.replace(",", ".") for c in cells] if dialect.decimal == "," else cells
