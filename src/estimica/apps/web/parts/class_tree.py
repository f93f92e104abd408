"""ClassTree: classes of the folder's packages and of libraries, opened a package at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nicegui import ui

from estimica.apps.web.files.folder import ServedFolder
from estimica.apps.web.parts.markup import indented
from estimica.base.errors import EstimicaError
from estimica.source.libraries.contents import (
    ClassEntry,
    classes_within,
    known_libraries,
    library_of,
)
from estimica.source.libraries.search import enclosing_package

MOST = 400  # lines drawn at once; chosen: each has some elements
#: what was picked: the source as a study names it, below the folder, and the class in it
Picked = Callable[[str, str], None]


@dataclass
class Node:
    """A class in the tree; its inner ones are read when it is opened."""

    entry: ClassEntry
    root: Path
    file: str = ""  # of the folder, where it is none of a library
    inner: list[Node] | None = None
    trouble: str = ""

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.file}|{self.entry.name}"


@dataclass
class Roots:
    """Where the tree begins: packages and files of the folder, and libraries."""

    own: list[Node] = field(default_factory=list)
    libraries: list[Node] = field(default_factory=list)


def roots_of(folder: ServedFolder) -> Roots:
    """Files and packages of the folder, each once, and the libraries of this machine."""
    roots = Roots()
    for file in folder.models():
        top = enclosing_package(file.path)
        if not file.name.endswith(".mo") or (top and file.path != top / "package.mo"):
            continue
        if top is None:
            entry = ClassEntry(file.name, "file")
            roots.own.append(Node(entry, file.path, file.name))
        else:
            for entry in classes_within(top, ""):
                roots.own.append(Node(entry, top, file.name))
    for entry in known_libraries():
        library = library_of(entry.name)
        roots.libraries.append(Node(entry, library.root))
    return roots


def opened(node: Node) -> list[Node]:
    """The classes in a package or file."""
    name = "" if node.entry.word == "file" else node.entry.name
    entries = classes_within(node.root, name)
    return [Node(entry, node.root, node.file) for entry in entries]


DEEP = 4  # levels of packages within one file; chosen: deeper ones are opened in the tree


def models_in(file: Path) -> list[str]:
    """Classes of a file that a study can be about, also in its packages; none if unreadable."""

    def within(name: str, level: int) -> Iterator[str]:
        for entry in classes_within(file, name):
            if entry.can_be_model:
                yield entry.name
            elif entry.is_package and level < DEEP:
                yield from within(entry.name, level + 1)

    try:
        return list(within("", 0))
    except (EstimicaError, OSError):
        return []


class ClassTree:
    """The tree on a page; a click on a class picks it."""

    def __init__(self, folder: ServedFolder, picked: Picked) -> None:
        self._folder, self._picked = folder, picked
        self._roots: Roots | None = None
        self._open: set[str] = set()
        self.chosen = ""
        self._left = MOST

    def show(self) -> None:
        """Draw it; the roots are read beside."""
        self._lines()
        ui.timer(0.01, self._read_roots, once=True)

    async def _read_roots(self) -> None:
        try:
            self._roots = await asyncio.to_thread(roots_of, self._folder)
        except (EstimicaError, OSError) as error:
            ui.label(f"The libraries cannot be listed: {error}").classes("est-bad")
        self._lines.refresh()

    @ui.refreshable_method
    def _lines(self) -> None:
        if self._roots is None:
            with ui.row().classes("items-center"):
                ui.spinner(size="sm")
                ui.label("Packages are looked for …").classes("est-soft")
            return
        self._left = MOST
        with ui.column().classes("w-full gap-0 est-tree").props("role=tree aria-label=Classes"):
            for heading, nodes in (
                ("This folder", self._roots.own),
                ("Libraries", self._roots.libraries),
            ):
                ui.label(heading).classes("est-head")
                for node in nodes:
                    self._line(node, 0)
                if not nodes:
                    ui.label("None; libraries are found on MODELICAPATH.").classes("est-soft")
        if self._left <= 0:
            ui.label(f"Only {MOST} lines are drawn; close some packages.").classes("est-soft")

    def _line(self, node: Node, depth: int) -> None:
        if self._left <= 0:
            return
        self._left -= 1
        entry, shown = node.entry, node.key in self._open
        last = entry.name if entry.word == "file" else entry.name.rpartition(".")[2]
        opens = entry.is_package or entry.word == "file"
        with indented(ui.row().classes("w-full items-center gap-1 no-wrap"), depth) as row:
            row.props("role=treeitem")
            if opens:
                button = ui.button(
                    icon="expand_more" if shown else "chevron_right",
                    on_click=lambda: self._turn(node),
                )
                button.props("flat round dense size=sm")
                button.props["aria-expanded"] = str(shown).lower()
                button.props["aria-label"] = f"Open {entry.name}"
                ui.label(last).classes("text-weight-medium cursor-pointer").on(
                    "click", lambda: self._turn(node)
                )
            elif entry.can_be_model:
                mark = (
                    "radio_button_checked" if node.key == self.chosen else "radio_button_unchecked"
                )
                button = ui.button(last, icon=mark, on_click=lambda: self._pick(node))
                button.props("flat dense no-caps color=primary size=md padding='0 6px'")
                button.props["aria-label"] = f"Take {entry.name}"
            else:
                ui.label(last).classes("est-soft").style("padding-left: 34px")
            word = f"partial {entry.word}" if entry.partial else entry.word
            ui.label("" if entry.word == "package" else word).classes("est-soft")
            ui.label(entry.description).classes("est-soft ellipsis")
        if node.trouble:
            ui.label(node.trouble).classes("est-bad est-pre")
        if shown:
            for inner in node.inner or ():
                self._line(inner, depth + 1)
            if node.inner == []:
                indented(ui.label("There are no classes in it.").classes("est-soft"), depth + 1, 26)

    async def _turn(self, node: Node) -> None:
        self._open ^= {node.key}
        if node.inner is None:
            try:
                node.inner = await asyncio.to_thread(opened, node)
                node.trouble = ""
            except EstimicaError as error:
                node.trouble = error.message
            except OSError as error:
                node.trouble = f"{node.entry.name} cannot be read: {error.strerror}"
        self._lines.refresh()

    def _pick(self, node: Node) -> None:
        self.chosen = node.key
        if node.file:
            self._picked(node.file, node.entry.name)
        else:
            self._picked(node.entry.name, "")
        self._lines.refresh()
