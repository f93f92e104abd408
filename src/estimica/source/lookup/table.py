"""The definitions of classes by name: the user's text, packages in folders, libraries on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from estimica.source.syntax import tree

Parse = Callable[[Path], tree.File]
Search = Callable[[str], "Path | None"]


class ClassTable:
    """Finds definitions and reads files when a name reaches them.

    search: gives the folder or file of a library's top-level package; parse: reads a file.
    """

    def __init__(self, texts: Sequence[tree.File], search: Search, parse: Parse) -> None:
        self._search = search
        self._parse = parse
        self._top: dict[str, tree.ClassDefinition | None] = {
            c.name: c for text in texts for c in text.classes
        }
        self._own = list(self._top)
        self._folders: dict[tree.ClassDefinition, Path] = {}
        self._stored: dict[tuple[tree.ClassDefinition, str], tree.ClassDefinition | None] = {}

    def top(self, name: str) -> tree.ClassDefinition | None:
        """The top-level class of that name."""
        if name not in self._top:
            path = self._search(name)
            self._top[name] = self._read(path, name) if path is not None else None
        return self._top[name]

    def top_names(self) -> list[str]:
        """The top-level classes that have been seen."""
        return [n for n, d in self._top.items() if d is not None]

    def stored(self, package: tree.ClassDefinition, name: str) -> tree.ClassDefinition | None:
        """The class `name` of a package whose classes lie in files beside it."""
        folder = self._folders.get(package)
        if folder is None:
            return None
        key = (package, name)
        if key not in self._stored:
            self._stored[key] = self._beside(folder, name)
        return self._stored[key]

    def stored_names(self, package: tree.ClassDefinition) -> list[str]:
        """The classes of a package that lie in files beside it."""
        folder = self._folders.get(package)
        if folder is None:
            return []
        inner = [p.parent.name for p in folder.glob("*/package.mo")]
        return sorted([*inner, *(p.stem for p in folder.glob("*.mo") if p.name != "package.mo")])

    def folder(self, package: tree.ClassDefinition) -> Path | None:
        """The folder in which a package lies; None for one that is part of a file."""
        return self._folders.get(package)

    def _beside(self, folder: Path, name: str) -> tree.ClassDefinition | None:
        if (folder / name / "package.mo").is_file():
            return self._read(folder / name, name)
        if (folder / f"{name}.mo").is_file():
            return self._read(folder / f"{name}.mo", name)
        return None

    def _read(self, path: Path, name: str) -> tree.ClassDefinition | None:
        folder = path if path.is_dir() else None
        file = self._parse(path / "package.mo" if folder is not None else path)
        found = next((c for c in file.classes if c.name == name), None)
        if found is not None and folder is not None:
            self._folders[found] = folder
        if not file.within:
            for other in file.classes:  # a file of several classes brings all of them
                self._top.setdefault(other.name, other)
        return found
