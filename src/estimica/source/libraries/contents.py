"""Contents of packages, one level at a time: what a person picks a class from.

A library has thousands of classes. So only the package that is opened is read, and of the files
beside it no more than their heads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.base.files.read import open_file
from estimica.base.suggest import did_you_mean
from estimica.source.libraries.files import library_text
from estimica.source.libraries.search import (
    SMALL,
    Library,
    find_library,
    libraries_given,
    library_folders,
)
from estimica.source.syntax import tree
from estimica.source.syntax.contents import class_of, parts_of
from estimica.source.syntax.file import parse_file

#: bytes of a file in which its first class begins: licences and descriptions are shorter
HEAD = 20_000
_SPACE = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"
_HEAD = re.compile(
    rf"\A\ufeff?{_SPACE}(?:within\b[^;]*;)?{_SPACE}(?P<prefixes>(?:(?:final|encapsulated|partial|pure|"
    rf"impure|expandable|operator)\b{_SPACE})*)(?P<word>model|block|package|class|connector|record|type|"
    rf'function|operator)\b{_SPACE}(?P<name>\w+|\'[^\']+\'){_SPACE}(?:"(?P<text>(?:[^"\\]|\\.)*)")?',
    re.DOTALL,
)
SIMULATED = frozenset(["model", "block", "class"])


@dataclass(frozen=True, slots=True)
class ClassEntry:
    """A class within a package, as far as its head tells."""

    name: str  # dotted, from the top
    word: str  # model, package, function, …
    description: str = ""
    partial: bool = False

    @property
    def can_be_model(self) -> bool:
        """Whether a study can be about it: what is simulated, and functions."""
        return not self.partial and (self.word in SIMULATED or self.word == "function")

    @property
    def is_package(self) -> bool:
        """Whether there are classes in it."""
        return self.word == "package"


def known_libraries(extra: Sequence[Path] = ()) -> list[ClassEntry]:
    """The top-level packages of the library folders; of several versions the newest."""
    names = [lib.name for given in extra for lib in libraries_given(given)]
    for folder in (*library_folders(), SMALL):
        names += [lib.name for lib in libraries_given(folder)]
    found = [find_library(name, extra) for name in dict.fromkeys(names)]
    entries = [_head_of(lib.main_file, lib.name) for lib in found if lib is not None]
    return sorted(entries, key=lambda e: e.name.lower())


def classes_within(root: Path, name: str) -> list[ClassEntry]:
    """The classes of a package, a folder or file, or of the class of that dotted name in it.

    An empty name means the top: the classes of a file, or the package that a folder is.
    """
    parts = parts_of(name) if name else []
    if not root.is_dir():
        return _of_file(root, parts)
    if not parts:
        return [_head_of(root / "package.mo")]
    folder = root
    for k, part in enumerate(parts[1:], 1):
        if (folder / part / "package.mo").is_file():
            folder = folder / part
        elif (folder / f"{part}.mo").is_file():
            return _inner(folder / f"{part}.mo", ".".join(parts[:k]), parts[k:])
        else:
            return _inner(folder / "package.mo", ".".join(parts[: k - 1]), parts[k - 1 :])
    return _of_folder(folder, name)


def library_of(name: str, extra: Sequence[Path] = ()) -> Library:
    """The library that a dotted name begins with."""
    library = find_library(parts_of(name)[0], extra)
    if library is None:
        known = [e.name for e in known_libraries(extra)]
        raise SourceError(
            "S047",
            f"there is no library '{parts_of(name)[0]}'{did_you_mean(parts_of(name)[0], known)}; "
            "put its folder on MODELICAPATH",
        )
    return library


def _of_folder(folder: Path, name: str) -> list[ClassEntry]:
    """A package that is a folder: what lies beside its package.mo, and what is in that."""
    entries = {
        e.name: e
        for e in _inner(folder / "package.mo", name.rpartition(".")[0], [name.rpartition(".")[2]])
    }
    with os.scandir(folder) as inside:
        for entry in inside:
            if entry.is_dir() and os.path.isfile(f"{entry.path}/package.mo"):
                one = _head_of(Path(entry.path) / "package.mo", f"{name}.{entry.name}")
            elif entry.name.endswith(".mo") and entry.name != "package.mo" and entry.is_file():
                one = _head_of(Path(entry.path), f"{name}.{entry.name.removesuffix('.mo')}")
            else:
                continue
            entries[one.name] = one
    order = _order(folder)
    return sorted(
        entries.values(),
        key=lambda e: (order.get(e.name.rpartition(".")[2], len(order)), e.name.lower()),
    )


def _order(folder: Path) -> dict[str, int]:
    """As the author has ordered the package."""
    try:
        lines = library_text(folder / "package.order").split()
    except SourceError:
        return {}
    return {name: k for k, name in enumerate(lines)}


def _of_file(path: Path, parts: Sequence[str]) -> list[ClassEntry]:
    if not parts:
        return list(_entries(_parsed(path, *_state(path)).classes, ""))
    return _inner(path, "", parts)


def _inner(path: Path, before: str, parts: Sequence[str]) -> list[ClassEntry]:
    """The classes of the class with these names in a file; `before` is what encloses the file."""
    definition = class_of(_parsed(path, *_state(path)), ".".join(parts))
    if definition is None or definition.body is None:
        return []
    return list(_entries(definition.body.classes, ".".join(filter(None, [before, *parts]))))


def _entries(classes: Sequence[tree.ClassDefinition], before: str) -> Iterator[ClassEntry]:
    for c in classes:
        name = f"{before}.{c.name}" if before else c.name
        yield ClassEntry(name, c.word, c.description, c.partial)


def _head_of(path: Path, name: str = "") -> ClassEntry:
    """The head of the class that a file is; called `name`, or as it calls itself."""
    with open_file(path) as file:
        head = _HEAD.match(file.read(HEAD).decode("utf-8", errors="replace"))
    if head is None:
        return ClassEntry(name or path.parent.name, "class")
    name = name or head["name"]
    word = "class" if head["word"] == "operator" else head["word"]
    text = re.sub(r"\\(.)", r"\1", head["text"] or "")
    return ClassEntry(name, word, " ".join(text.split()), "partial" in head["prefixes"].split())


def _state(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=8)  # of files that somebody just looks into; a large one has some megabytes
def _parsed(path: Path, changed: int, size: int) -> tree.File:
    return parse_file(tree.Source(library_text(path), str(path)))
