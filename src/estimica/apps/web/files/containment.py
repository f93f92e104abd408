"""Containment: a study runs here if all it names is in the served folder and its code trusted."""

from __future__ import annotations

import os
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from estimica.base.code.reference import CodeRefusedError, code_reference, means_code
from estimica.base.errors import DataError, WebError
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.base.problems import Problem
from estimica.data.patterns import is_pattern, matching_files
from estimica.execute.runs.store import Store
from estimica.study.file.trust import (
    NamedCode,
    code_named_in,
    code_of,
    code_place_text,
    not_trusted,
    texts_with_places,
)

SERVED = "ESTIMICA_SERVED"  # in the environment of a run: the folder that it must stay in


class ServedFolderGuard:
    """The guard of the workbench's processes: asked when a study was read, and before code runs.

    What the server looked at before it began a process may have changed since.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def admit(self, study: Path, tables: Mapping[str, Any], codes: Sequence[NamedCode]) -> None:
        """A study that was just read stays inside the folder, and its code is trusted."""
        _require_place(study, self._root)
        _require_tables(tables, study.parent, self._root, codes)

    def require_agreed(self, codes: Sequence[NamedCode]) -> None:
        """This very content is trusted."""
        _require_codes(codes, self._root)


def require_safe(study: Path, root: Path) -> None:
    """A study file of the served folder may be read and run; asked before every task and job.

    What is not TOML passes: it names nothing, and whoever reads it says what is wrong.
    """
    _require_place(study, root)
    _require_tables(tables_of(study), study.parent, root, LISTING.all(study))


def require_safe_tables(tables: Mapping[str, Any], folder: Path, root: Path) -> None:
    """The same for tables that are not a file yet: of a study that is being drafted in `folder`."""
    _require_tables(tables, folder, root, code_of(tables, folder))


def require_safe_task(task: str, study: Path, arguments: Mapping[str, Any], root: Path) -> None:
    """What a bench is asked about is inside too, and no code that nobody has agreed to."""
    data = arguments.get("data", [])
    cases = [{"data": name} for name in ([data] if isinstance(data, str) else data)]
    tables: dict[str, Any] = {"case": cases}
    if task == "propose":
        tables["model"] = {"source": arguments["source"]}
    require_safe_tables(tables, study.parent, root)


def _require_place(study: Path, root: Path) -> None:
    served = os.path.realpath(root)
    if not Path(os.path.realpath(study)).is_relative_to(served):
        raise WebError("G020", f"study '{study.name}' is outside the served folder")
    Store.beside(study).require_within()  # where its runs are read and written


def _require_tables(
    tables: Mapping[str, Any], folder: Path, root: Path, codes: Sequence[NamedCode]
) -> None:
    outside = containment_problems(tables, folder, root)
    if outside:
        raise WebError("G020", "; ".join(p.text for p in outside))
    _require_codes(codes, root)


def _require_codes(codes: Sequence[NamedCode], root: Path) -> None:
    served = os.path.realpath(root)
    for code in codes:
        if not code.path.is_relative_to(served):  # an import may lead out by a link
            raise WebError("G020", f"{code.text} is outside the served folder")
    unknown = not_trusted(codes)
    if unknown:
        named = ", ".join(code.text for code in unknown)
        raise WebError(
            "G021", f"the study runs code on the machine of the workbench: {named}; agree first"
        )


def containment_problems(
    tables: Mapping[str, Any], folder: Path, root: Path
) -> tuple[Problem, ...]:
    """What a study in `folder` names outside the served folder `root`, links followed.

    Model, libraries and data must lie inside, be they there or not; of all other texts, those that
    lead to a file that exists. Libraries of MODELICAPATH are this machine's own and are not asked.
    """
    real = Path(os.path.realpath(root))
    problems = {}
    for where, name, must in _names(tables):
        meant = _meant(folder, name, real) if must else ()
        if not all(_is_inside(folder, n, real, must) for n in (name, *meant)):
            message = f"'{name}' is outside the served folder"
            problems[where, name] = Problem("G020", where, message, "copy it into the folder")
    return tuple(problems.values())


def _names(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(where, name, whether it is a path for certain) of all that may be a path."""
    for place, text in texts_with_places(tables):
        where = code_place_text(place, tables)
        certain = place[:2] in (("model", "source"), ("model", "libraries")) or (
            place[0] == "case" and place[2:3] == ("data",)
        )
        file = _python_file(text)
        yield where, file or text, bool(file) or certain


def _meant(folder: Path, name: str, root: Path) -> Iterator[str]:
    """The files that a name with wildcards means, if itself it stays inside."""
    if not is_pattern(name, folder) or not _is_inside(folder, name, root, must=True):
        return
    try:
        yield from matching_files(name, folder)
    except DataError:
        return


def _python_file(text: str) -> str:
    """The file of "file.py:function"; "" for all that cannot run as Python."""
    try:
        return code_reference(text).file if means_code(text) else ""
    except CodeRefusedError:
        return ""


def _is_inside(folder: Path, name: str, root: Path, must: bool) -> bool:
    try:
        path = Path(os.path.realpath(folder / name))
        inside = path.is_relative_to(root)
        hidden = inside and any(p.startswith(".") for p in path.relative_to(root).parts)
        there = os.path.exists(path) and not path.is_dir()
    except (OSError, ValueError):  # too long for a path, or a NUL within
        return not must
    if "\\" in name and must and os.name != "nt" and _is_foreign(name):
        return False
    return (inside and not hidden) or not (must or there)


def _is_foreign(name: str) -> bool:
    """A path of Windows that leaves its folder, on another system a strange name only."""
    parts = name.split("\\")
    return ".." in parts or name.startswith("\\") or name[1:2] == ":"


#: s for which a file must have been left alone: clocks of file systems are coarse
SETTLED = 2.0
MOST = 200  # studies that are remembered; chosen: those of a large folder, read anew beyond

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
        facts = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None  # what a folder holds, its own times do not tell
    return facts.st_size, facts.st_mtime_ns, facts.st_ino, facts.st_ctime_ns


def _is_settled(signature: Signature) -> bool:
    latest = max(signature[1], signature[3]) / 1e9
    return time.time() - latest > SETTLED
