"""Modelica by the front end of our own: from a class's name to a FlatSystem."""

from __future__ import annotations

import dataclasses
import sys
from functools import lru_cache
from pathlib import Path

from estimica.flat.system import FlatSystem
from estimica.source.flatten.system import flattened
from estimica.source.instance.classes import Class
from estimica.source.instance.world import World
from estimica.source.libraries.package_text import read_text
from estimica.source.libraries.search import find_library
from estimica.source.lookup.table import ClassTable
from estimica.source.syntax import tree
from estimica.source.syntax.file import parse_file


@lru_cache(maxsize=2000)
def _parsed(path: Path, size: int, changed: int) -> tree.File:
    return parse_file(tree.Source(read_text(path), str(path)))


def parsed(path: Path) -> tree.File:
    """The syntax tree of a file, read once while it does not change."""
    status = path.stat()
    return _parsed(path, status.st_size, status.st_mtime_ns)


def load_class(name: str, texts: list[tree.File], libraries: list[Path]) -> FlatSystem:
    """The class of that full name."""

    def search(top: str) -> Path | None:
        library = find_library(top, libraries)
        return library.root if library is not None else None

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
    table = ClassTable(texts, search, parsed)
    world = World(table, lambda name: "")
    found = world.root
    for part in name.split("."):
        inner = found.find(part)
        assert isinstance(inner, Class), name
        found = inner
    return dataclasses.replace(flattened(world, found), name=name)
