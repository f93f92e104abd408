"""Named code: the programs that a study would run, each with the hash of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from estimica.base.code.consent import NamedCode
from estimica.base.code.reference import CodeRefusedError, means_code, means_fmu
from estimica.base.code.trusted import TrustedCode, trusted_code
from estimica.base.files.read import open_regular
from estimica.source.openmodelica.files import modelica_code

__all__ = ["NamedCode", "code_in", "code_of", "code_place_text", "texts_with_places"]

Place = tuple[str | int, ...]


def code_in(tables: Mapping[str, Any], folder: Path) -> dict[str, TrustedCode]:
    """The Python code that the tables of a study in `folder` name, by the texts that mean it.

    All texts are looked at, not only those that name programs today. What cannot be one, or is not
    there, cannot run and is left out: whoever wants it tells what is wrong.
    """
    found: dict[str, TrustedCode] = {}
    for _, text in texts_with_places(tables):
        if text not in found and means_code(text):
            try:
                found[text] = trusted_code(text, folder)
            except CodeRefusedError:
                continue
    return found


def code_of(
    tables: Mapping[str, Any], folder: Path, known: Mapping[str, TrustedCode] | None = None
) -> tuple[NamedCode, ...]:
    """Every program that the tables of a study in `folder` name, in the order of the file.

    `known` is the Python code among them where it was read already.
    """
    python = code_in(tables, folder) if known is None else known
    found: dict[Path, NamedCode] = {}
    for place, text in texts_with_places(tables):
        where = code_place_text(place, tables)
        listed = python[text].listed(where) if text in python else ()
        for code in (*listed, *_fmus(where, text, folder)):
            found.setdefault(code.path, code)
    for code in _openmodelica(tables.get("model"), folder):
        found.setdefault(code.path, code)
    return tuple(found.values())


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
