"""Fixes: edits of a study file that cure a problem at one click, where the problem offers some."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimica.base.problems import Fix
from estimica.study.file.edit import with_value
from estimica.study.file.several import CaseFiles
from estimica.study.toml.layout import Place, parse_toml


def text_with_fix(text: str, where: str, fix: Fix, folder: Path) -> str | None:
    """The text with a fix of what is wrong with a case; None where it has no such entry.

    `where` is the case as the problem names it, `folder` that of the study. What all cases share
    is changed for all, unless the fix is for this case, which gets an entry of its own.
    """
    tables = parse_toml(text)
    case = _case(tables, where, CaseFiles(folder))
    shared = _table(tables, "columns")
    if case is None:
        for_all = fix.name in shared and not (fix.in_case or fix.leaves_out)
        return _changed(text, ("columns", fix.name), fix) if for_all else None
    entry = tables["case"][case]
    if fix.leaves_out:
        left = [*entry.get("without", []), fix.name]
        return with_value(text, ("case", case, "without"), list(dict.fromkeys(left)))
    own: Place = ("case", case, f"{fix.word}s", fix.name)
    if fix.name in _table(entry, f"{fix.word}s"):
        return _changed(text, own, fix)
    if fix.name not in shared:
        return None
    if not fix.in_case:
        return _changed(text, ("columns", fix.name), fix)
    return _changed(with_value(text, own, _without_role(shared[fix.name])), own, fix)


def _changed(text: str, place: Place, fix: Fix) -> str:
    for key, value in fix.changes:
        text = with_value(text, (*place, key), value)
    return text


def _case(tables: Mapping[str, Any], where: str, files: CaseFiles) -> int | None:
    """The entry of the study file that a case belongs to, also as one of several files."""
    entries = tables.get("case")
    for k, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and where in [f"case '{n}'" for n in files.names(entry)]:
            return k
    return None


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = tables.get(name)
    return value if isinstance(value, dict) else {}


def _without_role(entry: object) -> object:
    """An entry of all cases as a case writes it."""
    return {k: v for k, v in entry.items() if k != "role"} if isinstance(entry, dict) else entry
