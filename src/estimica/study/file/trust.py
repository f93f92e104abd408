"""Trust: which programs this user has agreed to run, kept by the hash of their content.

A program of one's own does not ask: `read_study` in Python runs what a study names. Commands and
the workbench ask first, because a study may come from elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from estimica.base.code.consent import NamedCode
from estimica.base.errors import StudyError
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.study.file.named_code import code_of

__all__ = [
    "NamedCode",
    "Trust",
    "code_of",
    "code_named_in",
    "not_trusted",
    "state_folder",
    "trusts_all",
    "untrusted_code",
]

FILE = "trusted.json"


def state_folder() -> Path:
    """ESTIMICA_STATE, or the user's folder for what programs remember."""
    if given := os.environ.get("ESTIMICA_STATE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "estimica" / "state"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "estimica"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "estimica"


def trusts_all() -> bool:
    """Whether this machine runs whatever a study names: ESTIMICA_TRUST=all."""
    return os.environ.get("ESTIMICA_TRUST", "").strip().lower() == "all"


class Trust:
    """The programs that the user has agreed to run; another content needs another agreement."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or state_folder() / FILE

    def hashes(self) -> frozenset[str]:
        """The contents that may run."""
        return frozenset(self._entries())

    def holds(self, code: NamedCode) -> bool:
        """Whether this very content may run."""
        return code.sha256 in self.hashes()

    def add(self, codes: Iterable[NamedCode]) -> None:
        """Remember that these may run, for this user only."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entries = self._entries()
        for code in codes:
            entries[code.sha256] = {"kind": code.kind, "path": str(code.path), "at": now}
        self._write(entries)

    def remove(self, codes: Iterable[NamedCode]) -> None:
        """Ask again before these run."""
        gone = {code.sha256 for code in codes}
        self._write({k: v for k, v in self._entries().items() if k not in gone})

    def _entries(self) -> dict[str, Any]:
        """What is kept; a file that cannot be understood trusts nothing."""
        try:
            found = json.loads(read_text(self.path))
            entries = found["trusted"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return dict(entries) if isinstance(entries, dict) else {}

    def _write(self, entries: dict[str, Any]) -> None:
        text = json.dumps({"version": 1, "trusted": entries}, indent=1)
        part = ""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, part = tempfile.mkstemp(dir=self.path.parent)  # readable by the user alone
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(part, self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise StudyError(
                "Q052",
                f"cannot remember what is trusted in '{self.path}': {error.strerror}; "
                "set ESTIMICA_STATE to a folder that can be written",
            ) from None


def not_trusted(codes: Iterable[NamedCode], trust: Trust | None = None) -> tuple[NamedCode, ...]:
    """Those that the user has not agreed to run."""
    if trusts_all():
        return ()
    known = (trust or Trust()).hashes()
    return tuple(code for code in codes if code.sha256 not in known)


def code_named_in(study: str | os.PathLike[str]) -> tuple[dict[str, Any], tuple[NamedCode, ...]]:
    """The tables of a study file and the programs that they name.

    A file that is not a study names none: whoever reads it tells what is wrong with it.
    """
    path = Path(study)
    try:
        tables = load_toml(read_text(path, "utf-8-sig", limit=TOML_LIMIT))
    except (OSError, ValueError, RecursionError):  # no TOML in UTF-8, or a number without end
        return {}, ()
    return tables, code_of(tables, path.parent)


def untrusted_code(
    study: str | os.PathLike[str], trust: Trust | None = None
) -> tuple[NamedCode, ...]:
    """The programs of a study file that need the user's agreement before it is read."""
    return () if trusts_all() else not_trusted(code_named_in(study)[1], trust)
