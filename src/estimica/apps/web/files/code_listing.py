"""Code listing: the programs of a study as pages show them, hashed once while their files stay.

A model may have gigabytes, so it is hashed beside the event loop and remembered by what the file
system says of its file. Nothing runs on the word of this list: the process that loads a file
hashes what it loads, and an agreement hashes what is agreed to.
"""

from __future__ import annotations

import os
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.study.file.trust import NamedCode, code_named_in, not_trusted

#: s for which a file must have been left alone: clocks of file systems are coarse
SETTLED = 2.0
MOST = 200  # studies that are remembered

Signature = tuple[int, int, int, int]


def tables_of(study: Path) -> dict[str, Any]:
    """The tables of a study file; none where it is not TOML, and whoever reads it says so."""
    try:
        return load_toml(read_text(study, "utf-8-sig", limit=TOML_LIMIT))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return {}


class CodeListing:
    """Lists the programs of studies, and again only where one of the files is another."""

    def __init__(self, look: Callable[[Path], tuple[NamedCode, ...]] | None = None) -> None:
        self._look = look or (lambda study: code_named_in(study)[1])
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[dict[Path, Signature | None], tuple[NamedCode, ...]]] = {}

    def untrusted(self, study: Path) -> tuple[NamedCode, ...]:
        """The programs of a study that nobody has agreed to, for pages."""
        return not_trusted(self.all(study))

    def all(self, study: Path) -> tuple[NamedCode, ...]:
        """All programs of a study."""
        signatures, codes = self._known.get(study, ({}, ()))
        if signatures and all(_signature(p) == s for p, s in signatures.items()):
            return codes
        before = _signature(study)
        codes = self._look(study)
        signatures = {study: before} | {code.path: _signature(code.path) for code in codes}
        settled = all(s is not None and _is_settled(s) for s in signatures.values())
        with self._lock:
            self._known.pop(study, None)
            if len(self._known) >= MOST:
                self._known.pop(next(iter(self._known)))
            if settled:
                self._known[study] = signatures, codes
        return codes


#: all pages and questions of this process
LISTING = CodeListing()


def _signature(path: Path) -> Signature | None:
    """Size, time of change, inode, and the time of any change to it, which no program can set."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None  # what a folder holds, its own times do not tell
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns


def _is_settled(signature: Signature) -> bool:
    latest = max(signature[1], signature[3]) / 1e9
    return time.time() - latest > SETTLED
