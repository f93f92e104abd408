"""Modelica libraries on this computer: MODELICAPATH and the usual folders."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.source.libraries.files import library_text
from estimica.source.syntax.file import parse_file
from estimica.source.syntax.tree import Source

#: the small library that comes with Estimica: used where no other of that name is found
SMALL = Path(__file__).parent / "small"
#: files of a folder that are searched for a class which none is called like. Chosen: reading them
#: takes some ten milliseconds, and a folder of more is not where models of one's own lie
SEARCHED = 200
_USES = re.compile(r"\buses\s*\(((?:[^()]|\([^()]*\))*)\)")
_VERSION = re.compile(r"[,(]\s*version\s*=\s*\"([^\"]*)\"")
_VERSIONED = re.compile(r"^(?P<name>[A-Za-z_][A-Za-z_0-9]*)(?: (?P<version>[0-9][^/]*))?$")


@dataclass(frozen=True, slots=True)
class Library:
    """A top-level package: a folder with a package.mo, or one file."""

    name: str
    root: Path

    @property
    def main_file(self) -> Path:
        """The file that holds the package itself."""
        return self.root / "package.mo" if self.root.is_dir() else self.root

    @property
    def is_small(self) -> bool:
        """Whether it is the one that comes with Estimica."""
        return self.root.parent == SMALL

    def uses(self) -> set[str]:
        """The libraries that the package says it needs."""
        text = library_text(self.main_file)
        match = _USES.search(text)
        return set(re.findall(r"([A-Za-z_]\w*)\s*\(", match.group(1))) if match else set()

    def needs(self) -> set[str]:
        """The libraries that it uses, said or not."""
        services = {"ModelicaServices", "Complex"} if self.name == "Modelica" else set()
        return self.uses() | services

    @property
    def label(self) -> str:
        """Its name, version and place, as a user reads it."""
        if self.is_small:
            return f"{self.name}, the small library that comes with Estimica"
        version = _VERSION.search(library_text(self.main_file))
        return f"{self.name}{f' {version[1]}' if version else ''} in '{self.root}'"

    def files(self) -> list[Path]:
        """All its Modelica files, in a fixed order."""
        return [Path(entry.path) for entry in self._entries()]

    def has_more_than(self, count: int) -> bool:
        """Whether it is made of more files than that; no more are looked at."""
        return next(islice(self._entries(), count, None), None) is not None

    def state(self) -> str:
        """Changes whenever a file does: its path, size and time of change, not the content."""
        digest = hashlib.sha256()
        for entry in self._entries():
            status = entry.stat()
            digest.update(f"{entry.path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
        return digest.hexdigest()

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        if not self.root.is_dir():
            with os.scandir(self.root.parent) as beside:
                own = [e for e in beside if e.name == self.root.name]
            yield from own
            return
        pending = [str(self.root)]
        while pending:
            entries = sorted(os.scandir(pending.pop()), key=lambda e: e.name)
            yield from (e for e in entries if e.name.endswith(".mo") and e.is_file())
            inner = [e.path for e in entries if e.name != "Resources" and e.is_dir()]
            pending.extend(reversed(inner))


def library_folders() -> list[Path]:
    """Where libraries are looked for, in this order."""
    named = [Path(p) for p in os.environ.get("MODELICAPATH", "").split(os.pathsep) if p]
    home = Path.home()
    usual = [
        home / ".openmodelica" / "libraries",
        home / "Documents" / "Modelica",
        Path("/usr/lib/omlibrary"),
        Path("/usr/local/lib/omlibrary"),
        Path("/opt/openmodelica/lib/omlibrary"),
    ]
    return [p for p in [*named, *usual] if p.is_dir()]


def find_library(name: str, extra: Sequence[Path] = ()) -> Library | None:
    """The library called `name`: among `extra` first, then in the library folders.

    A small one comes with Estimica, for where none is found.
    """
    for given in extra:
        for candidate in libraries_given(given):
            if candidate.name == name:
                return candidate
    for folder in library_folders():
        versions = [c for c in _libraries_in(folder) if c[0].name == name]
        if versions:
            return max(versions, key=lambda c: c[1])[0]
    for given in extra:  # a file may be called otherwise than the class
        for file in _loose_files(given):
            if name in _classes_of(file, *_state(file)):
                return Library(name, file)
    return Library(name, SMALL / name) if os.path.isfile(SMALL / name / "package.mo") else None


def needed_libraries(names: Iterable[str], extra: Sequence[Path] = ()) -> list[Library]:
    """The libraries among `names` that exist, and those they use in turn."""
    libraries: dict[str, Library] = {}
    pending = sorted(set(names))
    while pending:
        name = pending.pop()
        if name in libraries:
            continue
        library = find_library(name, extra)
        if library is None:
            continue
        libraries[name] = library
        pending.extend(sorted(library.needs() - libraries.keys()))
    return [libraries[n] for n in sorted(libraries)]


def enclosing_package(path: Path) -> Path | None:
    """The folder of the outermost package that the file or folder `path` belongs to."""
    folder = path if path.is_dir() else path.parent
    top = None
    while (folder / "package.mo").is_file():
        top, folder = folder, folder.parent
    return top


def package_name(root: Path) -> str:
    """The name of the package in a folder or file."""
    main = root / "package.mo" if root.is_dir() else root
    try:
        classes = parse_file(Source(library_text(main), str(main))).classes
    except SourceError:
        return root.stem  # told where the package is read
    return classes[0].name if classes else root.stem


def libraries_given(path: Path) -> list[Library]:
    """The libraries that a path means: itself, or those in a folder."""
    if os.path.isfile(path) or os.path.isfile(path / "package.mo"):
        return [Library(package_name(path), path)]
    return [c[0] for c in _libraries_in(path)] if os.path.isdir(path) else []


def _loose_files(given: Path) -> list[Path]:
    """The files that a path means where it is no package."""
    if os.path.isfile(given):
        return [given]
    if not os.path.isdir(given) or os.path.isfile(given / "package.mo"):
        return []
    return [p for p in sorted(given.glob("*.mo")) if p.is_file()][:SEARCHED]


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1000)
def _classes_of(path: Path, size: int, changed: int) -> frozenset[str]:
    """The classes at the top of a file; one that cannot be read has none."""
    try:
        file = parse_file(Source(library_text(path), str(path)))
    except SourceError:
        return frozenset()
    return frozenset() if file.within else frozenset(c.name for c in file.classes)


def newest_in(folder: Path) -> list[Library]:
    """The libraries that lie in a folder; of several versions the newest."""
    newest: dict[str, tuple[Library, tuple[int, ...]]] = {}
    for library, version in _libraries_in(folder):
        if library.name not in newest or newest[library.name][1] < version:
            newest[library.name] = (library, version)
    return [library for library, _ in newest.values()]


def _libraries_in(folder: Path) -> list[tuple[Library, tuple[int, ...]]]:
    libraries = []
    for entry in sorted(folder.iterdir()):
        is_package = (entry / "package.mo").is_file()
        if not is_package and not (entry.suffix == ".mo" and entry.is_file()):
            continue
        match = _VERSIONED.match(entry.name if is_package else entry.stem)
        if match:
            version = tuple(int(n) for n in re.findall(r"\d+", match["version"] or ""))
            libraries.append((Library(match["name"], entry), version))
    return libraries
