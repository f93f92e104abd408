"""Neighbours: files and packages in the folder of a model that it may need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.source.libraries.search import SEARCHED, Library, find_library, newest_in
from estimica.source.syntax import tree

Parse = Callable[[Path], tree.File]
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Neighbours:
    """What lies beside a model and belongs to it."""

    texts: tuple[tree.File, ...] = ()
    packages: tuple[Library, ...] = ()
    #: files that cannot be read, by the class they may hold: what is wrong
    unread: tuple[tuple[str, str], ...] = ()


def neighbours_of(path: Path, file: tree.File, extra: Sequence[Path], parse: Parse) -> Neighbours:
    """The files and packages in the same folder that a file may need, and those they may need.

    A file is taken for a class of its own name, or else for a class that it alone holds, which
    neither the files read so far nor a library declares. One that cannot be read does no harm
    where its name only happens to be that of a parameter; what is wrong with it comes along.
    """
    if not path.is_file():
        return Neighbours()
    search = _Search(path, file, extra, parse)
    search.run()
    return Neighbours(tuple(search.texts), tuple(search.packages), tuple(search.unread.items()))


class _Search:
    def __init__(self, path: Path, file: tree.File, extra: Sequence[Path], parse: Parse) -> None:
        self.texts: list[tree.File] = []
        self.packages: list[Library] = []
        self.unread: dict[str, str] = {}
        self._extra = extra
        self._parse = parse
        self._own = file
        beside = sorted(p for p in path.parent.glob("*.mo") if p.is_file() and p.name != path.name)
        self._files = {p.stem: p for p in beside}
        self._folders = {lib.name: lib for lib in newest_in(path.parent) if lib.root.is_dir()}
        self._holders: dict[str, list[Path]] | None = None

    def run(self) -> None:
        pending = [self._own]
        while pending:
            words = set(_WORD.findall(pending.pop().source.text))
            pending += self._named(words)
            self._add_packages(words)
            pending += self._holding(words)

    def _is_known(self, name: str) -> bool:
        if any(c.name == name for f in (self._own, *self.texts) for c in f.classes):
            return True
        library = find_library(name, self._extra)
        return library is not None and not library.is_small

    def _named(self, words: set[str]) -> list[tree.File]:
        """Files that are called like a class."""
        found = []
        for name in sorted(self._files.keys() & words):
            candidate = self._files.pop(name)
            if self._is_known(name):
                continue
            try:
                neighbour = self._parse(candidate)
            except SourceError as error:
                self.unread[name] = f"the file of that name beside it cannot be read: {error}"
                continue
            if not neighbour.within and any(c.name == name for c in neighbour.classes):
                found.append(neighbour)
                self.texts.append(neighbour)
        return found

    def _add_packages(self, words: set[str]) -> None:
        """Packages in folders, and those they use."""
        pending = sorted(self._folders.keys() & words)
        while pending:
            name = pending.pop()
            if name not in self._folders:
                continue
            library = self._folders.pop(name)
            if self._is_known(name):
                continue
            self.packages.append(library)
            pending += sorted(library.needs() & self._folders.keys())

    def _holding(self, words: set[str]) -> list[tree.File]:
        """Files with another name that hold a class which is in no other."""
        found = []
        if self._holders is None:
            self._holders = self._classes()
        for name in sorted(self._holders.keys() & words):
            files = self._holders.pop(name)
            if self._is_known(name) or name in self.unread:
                continue
            if len(files) > 1:
                names = ", ".join(f"'{p.name}'" for p in files)
                self.unread[name] = (
                    f"several files beside it hold one, {names}; name the one that is meant "
                    f"'{name}.mo'"
                )
                continue
            neighbour = self._parse(files[0])
            if neighbour not in self.texts:
                found.append(neighbour)
                self.texts.append(neighbour)
        return found

    def _classes(self) -> dict[str, list[Path]]:
        """The files by the classes at their top; those that cannot be read hold none."""
        holders: dict[str, list[Path]] = {}
        for path in list(self._files.values())[:SEARCHED]:
            try:
                file = self._parse(path)
            except SourceError:
                continue
            for c in () if file.within else file.classes:
                holders.setdefault(c.name, []).append(path)
        return holders
