"""Places in the source: from the compiler's byte spans to text, file and line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from estimica.flat.system import Origin
from estimica.source.libraries.files import library_text, read_text
from estimica.source.syntax.nodes import USER_DOCUMENT

#: the one document that the compiler is given; the same name again replaces it
DOCUMENT = "input.mo"
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of the whole text from `start` on stand in `path` from `offset` on."""

    start: int
    length: int
    path: Path
    offset: int


class SourceFiles:
    """The texts that spans point into, by the compiler's number for each.

    text: what the user wrote; sent: what the compiler was given, if that differs; `translate` finds
    for a place in `sent` the one in `text`; `read_here`: library files that our own parser read.
    """

    def __init__(
        self,
        text: str,
        label: str,
        files: Mapping[int, Path] | None = None,
        sent: str | None = None,
        translate: Callable[[int], int] | None = None,
        pieces: Sequence[Piece] = (),
        read_here: Mapping[int, Path] | None = None,
    ) -> None:
        self._own = _Document(text, label)
        self._pieces = pieces
        self._piece_starts = [p.start for p in pieces]
        self._sent = _Document(sent, label) if sent is not None else self._own
        self._translate = translate
        self._files = files or {}
        self._read: dict[int, _Document] = {}
        self._by_path: dict[Path, _Document] = {}
        self._read_here = read_here or {}

    def origin(self, span: Mapping[str, Any] | None, kind: str, component: str = "") -> Origin:
        """The origin of what stands at `span`; without a place where it was generated."""
        if not span:
            return Origin(kind=kind, component=component)
        number = span["source"]
        if number == USER_DOCUMENT:
            document, start, end = self._own, span["start"], span["end"]
        elif number in self._read_here:
            document, start, end = self._file(self._read_here[number]), span["start"], span["end"]
        else:
            found = self._sent if number == _DOCUMENT_NUMBER else self._library(number)
            if found is None:
                return Origin(kind=kind, component=component)
            document, start, end = (
                found,
                found.character(span["start"]),
                found.character(span["end"]),
            )
            if number == _DOCUMENT_NUMBER:
                document = self._own
                if self._translate is not None:
                    start, end = self._translate(start), self._translate(end)
        if start >= len(document.text):
            return Origin(kind=kind, component=component)
        text = document.statement(start, end)
        if document is self._own and self._pieces and start >= self._pieces[0].start:
            document, start = self._in_piece(start)
        return Origin(text, component, kind, document.label, document.line(start))

    def _in_piece(self, offset: int) -> tuple[_Document, int]:
        """The file that holds a place of a package's text, and the place there."""
        piece = self._pieces[bisect_right(self._piece_starts, offset) - 1]
        return self._file(piece.path), piece.offset + offset - piece.start

    def _file(self, path: Path) -> _Document:
        if path not in self._by_path:
            self._by_path[path] = _Document(read_text(path), path.name)
        return self._by_path[path]

    def _library(self, number: int) -> _Document | None:
        found = self._read.get(number)
        if found is None and number in self._files:
            path = self._files[number]
            text = library_text(path)
            found = self._read[number] = _Document(text, str(path))
        return found


class _Document:
    def __init__(self, text: str, label: str) -> None:
        self.text = text
        self.label = label
        self._bytes = None if text.isascii() else text.encode()
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def character(self, byte: int) -> int:
        if self._bytes is None:
            return byte
        return len(self._bytes[:byte].decode(errors="ignore"))

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def statement(self, start: int, end: int) -> str:
        """From `start` to the end of the statement: spans may cover its first word only."""
        while start > 0 and self.text[start - 1] in "([{":  # spans begin inside brackets
            start -= 1
        stop = max(end, _statement_end(self.text, start))
        text = " ".join(self.text[start:stop].split()).removesuffix(";")
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _statement_end(text: str, start: int) -> int:
    quoted = False
    depth = 0
    for i in range(start, len(text)):
        c = text[i]
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth < 0:
                return i
        elif c == ";" and depth <= 0:
            return i
    return len(text)


@lru_cache(maxsize=4096)
def source_number(name: str) -> int:
    """The compiler's number for a document: the FNV-1a hash of its name."""
    value = 0xCBF29CE484222325
    for byte in name.replace("\\", "/").encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


_DOCUMENT_NUMBER = source_number(DOCUMENT)
