"""The part of a library that a class needs, as a small library of its own.

Loading a whole standard library takes the compiler many seconds and gigabytes. Here the files that
a class can refer to are found by their names, and linked into a folder in the cache. Should the
compiler still miss a name, all files called like it are added, and at last the whole library.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.source.cache import cache_folder, fingerprint, key_of
from estimica.source.libraries.package_text import library_text
from estimica.source.libraries.search import Library

_IGNORED = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*")
_ALIASES = re.compile(
    r"\b(?:import|package)\s+(?:(?P<alias>\w+)\s*=\s*)?(?P<target>[A-Za-z_]\w*(?:\s*\.\s*\w+)*)"
)
_EXTENDS = re.compile(r"\bextends\s+([A-Za-z_]\w*(?:\.\w+)*)")
#: a library with fewer files is loaded whole
_SMALL = 100


@dataclass(frozen=True, slots=True)
class Selection:
    """Roots for the compiler, and for each file in them the one it stands for."""

    roots: tuple[Path, ...]
    originals: Mapping[Path, Path]


def whole(libraries: Sequence[Library]) -> Selection:
    """The libraries as they are."""
    files = [f for library in libraries for f in library.files()]
    return Selection(tuple(lib.root for lib in libraries), {f: f for f in files})


def selected(
    libraries: Sequence[Library],
    texts: Iterable[str],
    changed: Mapping[Path, str] | None = None,
    missed: Iterable[str] = (),
) -> Selection | None:
    """The files of `libraries` that `texts` may need; None where that is not a gain.

    `changed` are the texts of files that the compiler shall see in another form, `missed` are names
    that it did not find without more.
    """
    large = [lib for lib in libraries if lib.root.is_dir() and lib.has_more_than(_SMALL)]
    if not large:
        return None
    finder = _Finder(libraries)
    for text in texts:
        finder.follow(text, ())
    finder.add_called([part for name in missed for part in name.split(".")])
    finder.finish()
    roots: list[Path] = []
    originals: dict[Path, Path] = {}
    for library in libraries:
        if library not in large:
            roots.append(library.root)
            originals.update({f: f for f in library.files()})
            continue
        files = sorted(f for f in finder.files if f.is_relative_to(library.root))
        copy = _linked(library, files, changed or {})
        if copy is None:
            return None
        roots.append(copy)
        originals.update({copy / f.relative_to(library.root): f for f in files})
    return Selection(tuple(roots), originals)


class _Finder:
    """Follows names from text to text."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._tops = {library.name: library for library in libraries}
        self._children: dict[Path, dict[str, Path]] = {}
        self._aliases: dict[Path, dict[str, list[str]]] = {}
        self._pending: list[Path] = []
        self._inherited: set[tuple[Path, str]] = set()
        self.files: set[Path] = set()

    def follow(self, text: str, scopes: Sequence[Path]) -> None:
        """Add the files that names in `text`, seen from the folders `scopes`, may mean."""
        code = _IGNORED.sub(" ", text)
        aliases = {**self._scope_aliases(scopes), **_aliases(code)}
        for name in set(_NAMES.findall(code)):
            parts = [p.strip() for p in name.split(".")]
            if parts[0] in aliases:
                self._reach([*aliases[parts[0]], *parts[1:]], scopes)
            self._reach(parts, scopes)

    def _scope_aliases(self, scopes: Sequence[Path]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for scope in reversed(scopes):
            if scope not in self._aliases:
                text = library_text(scope / "package.mo")
                self._aliases[scope] = _aliases(_IGNORED.sub(" ", text))
            found.update(self._aliases[scope])
        return found

    def add_called(self, names: Iterable[str]) -> None:
        """Add every file or folder with one of these names, wherever it stands."""
        wanted = set(names) - self._tops.keys()
        for library in self._tops.values() if wanted else ():
            for path in library.files():
                name = path.parent.name if path.name == "package.mo" else path.stem
                if name in wanted:
                    self._add(path)

    def _reach(self, parts: Sequence[str], scopes: Sequence[Path]) -> None:
        if parts:
            for scope in scopes:
                if parts[0] in self._names_in(scope):
                    self._descend(scope, parts)
            library = self._tops.get(parts[0])
            if library is not None:
                self._add(library.main_file)
                if library.root.is_dir():
                    self._descend(library.root, parts[1:])

    def finish(self) -> None:
        """Follow the names in the files found, until there are no new ones."""
        while self._pending:
            path = self._pending.pop()
            text = library_text(path)
            self.follow(text, self._scopes(path))

    def _scopes(self, path: Path) -> list[Path]:
        scopes = []
        folder = path.parent
        while (folder / "package.mo").is_file():
            scopes.append(folder)
            folder = folder.parent
        return scopes

    def _descend(self, folder: Path, parts: Sequence[str]) -> None:
        for k, part in enumerate(parts):
            found = self._names_in(folder).get(part)
            if found is None:
                self._inherit(folder, parts[k:])
                return
            self._add(found / "package.mo" if found.is_dir() else found)
            if not found.is_dir():
                return
            folder = found

    def _inherit(self, folder: Path, parts: Sequence[str]) -> None:
        """A name that a package does not hold itself may stand in one that it extends."""
        if (folder, parts[0]) in self._inherited:
            return
        self._inherited.add((folder, parts[0]))
        code = _IGNORED.sub(" ", library_text(folder / "package.mo"))
        for base in sorted(set(_EXTENDS.findall(code))):
            self._reach([*base.split("."), *parts], self._scopes(folder / "package.mo"))

    def _add(self, path: Path) -> None:
        if path not in self.files:
            self.files.add(path)
            self._pending.append(path)
            parent = path.parent.parent if path.name == "package.mo" else path.parent
            if (parent / "package.mo").is_file():
                self._add(parent / "package.mo")

    def _names_in(self, folder: Path) -> dict[str, Path]:
        if folder not in self._children:
            found = {}
            for entry in os.scandir(folder):
                path = folder / entry.name
                if entry.is_dir() and (path / "package.mo").is_file():
                    found[entry.name] = path
                elif entry.name.endswith(".mo") and entry.name != "package.mo":
                    found[entry.name[:-3]] = path
            self._children[folder] = found
        return self._children[folder]


def _aliases(code: str) -> dict[str, list[str]]:
    """Short names that imports and renamed packages introduce."""
    found = {}
    for match in _ALIASES.finditer(code):
        target = [p.strip() for p in match["target"].split(".")]
        found[match["alias"] or target[-1]] = target
    return found


def _linked(library: Library, files: Sequence[Path], changed: Mapping[Path, str]) -> Path | None:
    """A folder with links to `files`; None where the disk does not let us."""
    texts = sorted((str(f), text) for f, text in changed.items())
    key = key_of("selection", str(library.root), [str(f) for f in files], fingerprint(files), texts)
    folder = cache_folder() / "libraries" / key[:32]
    if (folder / library.name).is_dir():
        return folder / library.name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
        for path in files:
            copy = unfinished / library.name / path.relative_to(library.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path in changed:
                copy.write_text(changed[path], encoding="utf-8")
            else:
                _link(path, copy)
        with contextlib.suppress(OSError):  # another process was quicker
            unfinished.rename(folder)
        shutil.rmtree(unfinished, ignore_errors=True)
    except OSError:
        return None
    return folder / library.name if (folder / library.name).is_dir() else None


def _link(original: Path, copy: Path) -> None:
    try:
        copy.symlink_to(original)
    except OSError:
        shutil.copyfile(original, copy)
