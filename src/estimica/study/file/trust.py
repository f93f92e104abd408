"""Trust: which programs a study would run, and which of them this user has agreed to run, kept by
the hash of their content.

A program of one's own does not ask: `read_study` in Python runs what a study names. Commands and
the workbench ask first, because a study may come from elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from estimica.base.code.consent import NamedCode
from estimica.base.code.reference import CodeRefusedError, means_code, means_fmu
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.errors import StudyError
from estimica.base.files.read import open_regular, read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.source.openmodelica.files import modelica_code

__all__ = [
    "NamedCode",
    "Trust",
    "code_in",
    "code_named_in",
    "code_of",
    "code_place_text",
    "not_trusted",
    "state_folder",
    "texts_with_places",
    "trusts_all",
    "untrusted_code",
]

Place = tuple[str | int, ...]

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
            content = json.loads(read_text(self.path))
            entries = content["trusted"]
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


# --- the programs that a study names -------------------------------------------------------------


def code_in(tables: Mapping[str, Any], folder: Path) -> dict[str, TrustedCode]:
    """The Python code that the tables of a study in `folder` name, by the texts that mean it.

    All texts are looked at, not only those that name programs today. What cannot be one, or is not
    there, cannot run and is left out: whoever wants it tells what is wrong.
    """
    codes: dict[str, TrustedCode] = {}
    for _, text in texts_with_places(tables):
        if text not in codes and means_code(text):
            try:
                codes[text] = trusted_code(text, folder)
            except CodeRefusedError:
                continue
    return codes


def code_of(
    tables: Mapping[str, Any], folder: Path, known: Mapping[str, TrustedCode] | None = None
) -> tuple[NamedCode, ...]:
    """Every program that the tables of a study in `folder` name, in the order of the file.

    `known` is the Python code among them where it was read already.
    """
    python = code_in(tables, folder) if known is None else known
    codes: dict[Path, NamedCode] = {}
    for place, text in texts_with_places(tables):
        where = code_place_text(place, tables)
        listed = python[text].listed(where) if text in python else ()
        for code in (*listed, *_fmus(where, text, folder)):
            codes.setdefault(code.path, code)
    for code in _openmodelica(tables.get("model"), folder):
        codes.setdefault(code.path, code)
    return tuple(codes.values())


def texts_with_places(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text of some tables, with its place; names of entries count too."""
    pending = [(place, value)]  # not by calls within calls: tables may be nested deeply
    while pending:
        here, one = pending.pop()
        if isinstance(one, str):
            yield here, one
        elif isinstance(one, Mapping):
            inner = [((*here, str(name)), part) for name, part in one.items()]
            if here:  # names of tables are ours
                yield from ((at, str(at[-1])) for at, _ in inner)
            pending += reversed(inner)
        elif isinstance(one, (list, tuple)):
            pending += reversed([((*here, k), part) for k, part in enumerate(one)])


def code_place_text(place: Place, tables: Mapping[str, Any]) -> str:
    """A place as users call it: "[model] source", "case 'run 1' data"."""
    table, *rest = place
    if rest and isinstance(rest[0], int):
        entry = tables[str(table)][rest[0]]
        name = entry.get("name") if isinstance(entry, Mapping) else None
        head = f"{table} '{name}'" if isinstance(name, str) else f"[[{table}]] {rest[0] + 1}"
        rest = rest[1:]
    else:
        head = f"[{table}]"
    names = [str(step) for step in rest if not isinstance(step, int)]
    return " ".join([head, ".".join(names)]) if names else head


def _fmus(where: str, text: str, folder: Path) -> Iterator[NamedCode]:
    if not means_fmu(text):
        return
    try:
        with open_regular(folder / text) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):  # not there, too long, or a NUL within
        return
    yield NamedCode(where, text, (folder / text).resolve(), "FMU", digest)


def _openmodelica(model: Any, folder: Path) -> Iterator[NamedCode]:
    """Modelica that calls C or the system, where OpenModelica reads it; our own reader runs none.

    A file or a library counts as one program, with the hash of all its files.
    """
    if not isinstance(model, Mapping) or model.get("frontend") != "openmodelica":
        return
    source, libraries = model.get("source"), model.get("libraries", [])
    if isinstance(source, str):
        yield from modelica_code(source, "[model] source", folder, library=False)
    for name in libraries if isinstance(libraries, list) else []:
        if isinstance(name, str):
            yield from modelica_code(name, "[model] libraries", folder, library=True)
