"""Places in the source: from the compiler's byte spans to text, file and line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from estimica.flat.system import Origin
from estimica.source.flattener_worker import DOCUMENT

_LONGEST = 160


class SourceFiles:
    """The texts that spans point into, by the compiler's number for each."""

    def __init__(self, text: str, label: str, files: Mapping[int, Path] | None = None) -> None:
        self._documents: dict[int, _Document] = {source_number(DOCUMENT): _Document(text, label)}
        self._files = files or {}

    def origin(self, span: Mapping[str, Any] | None, kind: str, component: str = "") -> Origin:
        """The origin of what stands at `span`; without a place where it was generated."""
        document = self._document(span["source"]) if span else None
        if document is None or span is None:
            return Origin(kind=kind, component=component)
        start = span["start"]
        return Origin(
            text=document.statement(start, span["end"]),
            component=component,
            kind=kind,
            file=document.label,
            line=document.line(start),
        )

    def _document(self, number: int) -> _Document | None:
        found = self._documents.get(number)
        if found is None and number in self._files:
            path = self._files[number]
            text = path.read_text(encoding="utf-8", errors="replace")
            found = self._documents[number] = _Document(text, str(path))
        return found


class _Document:
    def __init__(self, text: str, label: str) -> None:
        self._bytes = text.encode()
        self.label = label
        self._starts = [0]
        for i, byte in enumerate(self._bytes):
            if byte == 10:
                self._starts.append(i + 1)

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def statement(self, start: int, end: int) -> str:
        """From `start` to the end of the statement: spans may cover its first word only."""
        stop = max(end, _semicolon(self._bytes, start))
        words = self._bytes[start:stop].decode(errors="replace").split()
        text = " ".join(words)
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _semicolon(content: bytes, start: int) -> int:
    quoted = False
    depth = 0
    for i in range(start, len(content)):
        c = content[i]
        if c == 34 and content[i - 1] != 92:  # " and \
            quoted = not quoted
        elif quoted:
            continue
        elif c in b"([{":
            depth += 1
        elif c in b")]}":
            depth -= 1
            if depth < 0:
                return i
        elif c == 59 and depth <= 0:  # ;
            return i
    return len(content)


@lru_cache(maxsize=4096)
def source_number(name: str) -> int:
    """The compiler's number for a document: the FNV-1a hash of its name."""
    value = 0xCBF29CE484222325
    for byte in name.replace("\\", "/").encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value
