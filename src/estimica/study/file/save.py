"""Reading and writing the text of a study file so that nobody's edits are lost."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import NewType

from estimica.base.errors import StudyError, WriteError
from estimica.base.files.read import read_bytes
from estimica.base.files.write import atomic_replacement
from estimica.base.suggest import did_you_mean_file

#: what tells one content of a file from another
Fingerprint = NewType("Fingerprint", str)


def read_text(path: str | PathLike[str]) -> tuple[str, Fingerprint]:
    """The text of a file as it stands there, with its line ends, and its fingerprint."""
    content = _content(Path(path))
    if content is None:
        hint = did_you_mean_file(Path(path))
        raise StudyError("Q078", f"there is no file '{path}'{hint}")
    try:
        return content.decode("utf-8"), _mark(content)
    except UnicodeDecodeError:
        raise StudyError("Q078", f"'{path}' is not text in UTF-8; is it a study file?") from None


def fingerprint(path: str | PathLike[str]) -> Fingerprint | None:
    """The fingerprint of a file; None where there is none."""
    content = _content(Path(path))
    return None if content is None else _mark(content)


def write_text_if_unchanged(
    path: str | PathLike[str], text: str, known: Fingerprint | None
) -> Fingerprint:
    """Write a text, whole or not at all, if the file still is what was read; its new fingerprint.

    `known` is the fingerprint of what was read; None means that there was no file. Permissions
    stay, and a link stays a link.
    """
    content = text.encode("utf-8")
    try:
        with atomic_replacement(path) as draft:
            draft.write_bytes(content)
            _require_unchanged(Path(path), known)
    except WriteError as error:
        raise StudyError("Q078", error.message) from None
    return _mark(content)


def _require_unchanged(path: Path, known: Fingerprint | None) -> None:
    now = fingerprint(path)
    if now == known:
        return
    if known is None:
        raise StudyError("Q077", f"there is a file '{path}' already; choose another name")
    happened = "was deleted" if now is None else "was changed by someone else"
    raise StudyError("Q077", f"'{path.name}' {happened} since it was read; read it again first")


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StudyError("Q078", f"cannot read '{path}': {error.strerror}") from None


def _mark(content: bytes) -> Fingerprint:
    return Fingerprint(hashlib.sha256(content).hexdigest())
