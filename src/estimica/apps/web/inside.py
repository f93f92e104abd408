"""Inside: a study runs here if all it names is in the served folder and its code is trusted."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from estimica.base.errors import WebError
from estimica.base.problems import Problem
from estimica.execute.store import Store
from estimica.study.named_code import code_of, in_words, python_files, texts
from estimica.study.trust import not_trusted


def require_safe(study: Path, root: Path) -> None:
    """A study file of the served folder may be read and run; asked before every task and job.

    What is no TOML passes: it names nothing, and whoever reads it says what is wrong.
    """
    served = os.path.realpath(root)
    if not Path(os.path.realpath(study)).is_relative_to(served):
        raise WebError("G020", f"study '{study.name}' is outside the served folder")
    store = Store.beside(study).path  # where its runs are written
    if not Path(os.path.realpath(store)).is_relative_to(served):
        raise WebError("G020", f"the store of runs '{store.parent.name}' is outside the folder")
    try:
        tables = tomllib.loads(study.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return
    require_safe_tables(tables, study.parent, root)


def require_safe_tables(tables: Mapping[str, Any], folder: Path, root: Path) -> None:
    """The same for tables that are no file yet, as of a study that is being drafted in `folder`."""
    outside = study_stays_inside(tables, folder, root)
    if outside:
        raise WebError("G020", "; ".join(p.text for p in outside))
    codes = not_trusted(code_of(tables, folder))
    if codes:
        named = ", ".join(code.text for code in codes)
        raise WebError(
            "G021", f"the study runs code on the machine of the workbench: {named}; agree first"
        )


def study_stays_inside(tables: Mapping[str, Any], folder: Path, root: Path) -> tuple[Problem, ...]:
    """What a study in `folder` names outside the served folder `root`, links followed.

    Model, libraries and data must lie inside, be they there or not; of all other texts, those that
    lead to a file that exists. Libraries of MODELICAPATH are this machine's own and are not asked.
    """
    real = Path(os.path.realpath(root))
    found = {}
    for where, name, must in _names(tables):
        if not _is_inside(folder, name, real, must):
            message = f"'{name}' is outside the served folder"
            found[where, name] = Problem("G020", where, message, "copy it into the folder")
    return tuple(found.values())


def _names(tables: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """(where, name, whether it is a path for certain) of all that may be a path."""
    for place, text in texts(tables):
        where = in_words(place, tables)
        certain = place[:2] in (("model", "source"), ("model", "libraries")) or (
            place[0] == "case" and place[2:3] == ("data",)
        )
        files = python_files(text)
        yield from ((where, file, True) for file in files)
        if not files:
            yield where, text, certain


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
