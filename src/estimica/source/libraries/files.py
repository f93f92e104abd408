"""Texts of Modelica files."""

from __future__ import annotations

from pathlib import Path

from estimica.base.errors import SourceError
from estimica.base.files.read import read_bytes


def read_text(path: Path) -> str:
    """The text of a Modelica file, UTF-8 or, in old files, Latin-1."""
    content = _content(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def library_text(path: Path) -> str:
    """The text of a library's file; what is not UTF-8 stands in comments and does not matter."""
    return _content(path).decode("utf-8", errors="replace")


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise SourceError("S009", f"cannot read '{path}': {error.strerror}") from None
