"""What the user asks for: a class, the text or package that holds it, where libraries lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.source.libraries.files import read_text
from estimica.source.libraries.missing import Missing
from estimica.source.libraries.neighbours import neighbours_of
from estimica.source.libraries.search import (
    Library,
    enclosing_package,
    find_library,
    library_folders,
    needed_libraries,
)
from estimica.source.lookup.table import ClassTable
from estimica.source.syntax import tree
from estimica.source.syntax.contents import classes_of, experiment_of, models_of, parts_of
from estimica.source.syntax.file import parse_file

_FILES = (".mo", ".bmo", ".mop")
_CLASS_NAME = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
_MODIFIED = re.compile(r"\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*(\(.*\))\s*\Z", re.DOTALL)
_HEAD_OF_NAME = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\.")
#: the words that begin a class
CLASS_WORDS = frozenset(
    [
        "class",
        "model",
        "block",
        "connector",
        "record",
        "type",
        "package",
        "function",
        "operator",
        "partial",
        "encapsulated",
        "expandable",
        "pure",
        "impure",
        "within",
        "final",
    ]
)


@dataclass(frozen=True, slots=True)
class Request:
    """A class to be flattened: its full name, and where names are looked for."""

    class_name: str
    texts: tuple[tree.File, ...]
    label: str  # the file's name, or "" for a text
    packages: tuple[Library, ...]  # those that are known by their place: the user's own
    extra: tuple[Path, ...]  # more places of libraries
    beside: Path | None = None  # the folder whose files belong to the model, too
    #: files beside the model that cannot be read, by the class they may hold: what is wrong
    unread: tuple[tuple[str, str], ...] = ()
    modification: str = ""  # of the class, in parentheses; its names are those of the top level

    def folder_of(self, name: str) -> Path | None:
        """Where the top-level package `name` lies."""
        for package in self.packages:
            if package.name == name:
                return package.root
        library = find_library(name, self.extra)
        return library.root if library is not None else None

    def libraries(self) -> list[Library]:
        """The libraries that the class may need, its own packages aside."""
        names: set[str] = set()
        for text in self.texts:
            names |= set(_HEAD_OF_NAME.findall(text.source.text))
        for package in self.packages:
            names |= package.uses()
        names.add(self.class_name.partition(".")[0])
        names |= set(_HEAD_OF_NAME.findall(self.modification))
        own = self._own_names()
        return [x for x in needed_libraries(names, self.extra) if x.name not in own]

    def libraries_of(self, names: Iterable[str]) -> list[Library]:
        """The libraries that these top-level classes are, those of the user's own aside."""
        own = {c.name for t in self.texts for c in t.classes} | {p.name for p in self.packages}
        if not self.texts and not self.beside:
            own.discard(self.class_name.partition(".")[0])  # a class of a library, by its name
        found = [find_library(n, self.extra) for n in sorted(set(names) - own)]
        return [x for x in found if x is not None]

    def state(self) -> list[str]:
        """Changes whenever a text or a file does that the class may depend on."""
        return [
            *(text.source.text for text in self.texts),
            *(package.state() for package in self.packages),
            *(library.state() for library in self.libraries()),
            # of a package that does not say what it uses
            str(self.folder_of("Modelica")),
        ]

    def missing(self) -> Missing:
        """What to say of a class that is not found."""
        roots = [p.root for p in self.packages]
        return Missing(self.label, self.beside, roots, self.extra, dict(self.unread))

    def table(self) -> ClassTable:
        """The classes by name."""
        return ClassTable(self.texts, self.folder_of, parsed)

    def definition(self) -> tree.ClassDefinition | None:
        """The class itself, as it is written; None where there is none."""
        table = self.table()
        first, *rest = parts_of(self.class_name)
        found = table.top(first)
        for part in rest:
            if found is None:
                return None
            inner = found.body.classes if found.body is not None else ()
            written = next((c for c in inner if c.name == part), None)
            found = written if written is not None else table.stored(found, part)
        return found

    def _own_names(self) -> set[str]:
        return {p.name for p in self.packages} | {c.name for t in self.texts for c in t.classes}


@lru_cache(maxsize=2000)
def _parsed(path: Path, size: int, changed: int) -> tree.File:
    return parse_file(tree.Source(read_text(path), str(path)))


def parsed(path: Path) -> tree.File:
    """The syntax tree of a file, read once while it does not change."""
    try:
        status = path.stat()
    except OSError as error:
        raise SourceError("S009", f"cannot read '{path}': {error.strerror}") from None
    return _parsed(path, status.st_size, status.st_mtime_ns)


def read_request(source: str | Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    """Find out what `source` is: a text, a file, a package's folder, or a class of a library.

    The name of a class may have a modification, as in `Valve(redeclare package Medium = …)`.
    """
    if class_name is not None and (modified := split_modification(class_name)):
        return replace(read_request(source, modified[0], extra), modification=modified[1])
    if isinstance(source, str) and class_name is None:
        modified = split_modification(source)
        if modified is not None and "." in modified[0] and not os.path.exists(source):
            return replace(read_request(modified[0], None, extra), modification=modified[1])
    if isinstance(source, str) and is_text(source):
        return _of_text(parse_file(tree.Source(source)), "", class_name, extra)
    path = Path(source)
    if os.path.isdir(path) or (path.name == "package.mo" and os.path.isfile(path)):
        return _of_package(path if os.path.isdir(path) else path.parent, class_name, extra)
    if os.path.exists(path):  # a pipe or device too: reading it says why it is refused
        return _of_file(path, class_name, extra)
    if isinstance(source, str) and _CLASS_NAME.match(source) and path.suffix not in _FILES:
        return _of_library(source if class_name is None else f"{source}.{class_name}", extra)
    hint = did_you_mean_file(path)
    if "(" in str(source):
        hint = "; a transfer function is written in s, as in 'K/(1 + tau*s)'"
    raise SourceError("S001", f"no such file: {source}{hint}")


def split_modification(name: str) -> tuple[str, str] | None:
    """A class's name and its modification; None where it has none."""
    found = _MODIFIED.match(name)
    return (found[1], found[2]) if found else None


def is_text(source: str) -> bool:
    """Whether `source` is Modelica itself, not the name of a file or class."""
    if "\n" in source:
        return True
    words = source.split()
    return len(words) > 2 and any(w in CLASS_WORDS for w in words[:3])


def _of_text(file: tree.File, label: str, class_name: str | None, extra: Sequence[Path]) -> Request:
    name = _chosen(file, class_name, label or "the text")
    return Request(name, (file,), label, (), tuple(extra))


def _of_file(path: Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    package = enclosing_package(path)
    file = parsed(path) if path.is_file() else parse_file(tree.Source(read_text(path), str(path)))
    if package is None or not file.within:
        own = _of_text(file, str(path), class_name, extra)
        near = neighbours_of(path, file, extra, parsed)
        # its own classes come last: they hide others of the same name
        return replace(
            own,
            texts=(*near.texts, file),
            packages=near.packages,
            beside=path.parent,
            unread=near.unread,
        )
    name = f"{'.'.join(file.within)}.{_chosen(file, class_name, str(path))}"
    return Request(name, (), str(path), (_library(package),), tuple(extra))


def _library(root: Path) -> Library:
    main = root / "package.mo" if root.is_dir() else root
    classes = parsed(main).classes
    return Library(classes[0].name if classes else root.stem, root)


def _of_package(folder: Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    top = enclosing_package(folder)
    if top is None:
        names = sorted(p.name for p in folder.glob("*.mo"))
        hint = f"; it holds {', '.join(names[:5])}" if names else ""
        raise SourceError(
            "S001", f"{folder} is not a Modelica package: there is no package.mo{hint}"
        )
    library = _library(top)
    name = library.name
    for part in folder.resolve().relative_to(top.resolve()).parts:
        name += f".{part}"
    if class_name is None:
        models = [m for f in sorted(folder.rglob("*.mo")) for m in _full_models(parsed(f))]
        if len(models) != 1:
            listed = ", ".join(models[:8]) + (", …" if len(models) > 8 else "")
            raise SourceError(
                "S002", f"{folder}: say which class to load; the package has {listed or 'no model'}"
            )
        name = models[0]
    elif class_name.partition(".")[0] == library.name:
        name = class_name
    else:
        name = f"{name}.{class_name}"
    return Request(name, (), str(folder), (library,), tuple(extra))


def _full_models(file: tree.File) -> list[str]:
    prefix = ".".join(file.within)
    return [f"{prefix}.{m}" if prefix else m for m in models_of(file)]


def _of_library(name: str, extra: Sequence[Path]) -> Request:
    top = name.partition(".")[0]
    library = find_library(top, extra)
    if library is None:
        folders = ", ".join(map(str, library_folders())) or "none; set MODELICAPATH"
        raise SourceError(
            "S003",
            f"'{name}' is neither a file nor a class of a library: no library '{top}' in the "
            f"library folders ({folders})",
        )
    return Request(name, (), str(library.root), (library,), tuple(extra))


# --- which class of a text ----------------------------------------------------------------------


def _chosen(file: tree.File, class_name: str | None, where: str) -> str:
    if not file.classes:
        raise SourceError(
            "S004", f"{where} holds no complete Modelica class; check its 'end …;' lines"
        )
    if class_name is None:
        models = [c.name for c in file.classes if c.word in ("model", "block", "class")]
        return models[-1] if models else _only_model(file, file.classes[-1].name, where)
    names = [name for name, _ in classes_of(file)]
    if class_name in names:
        return class_name
    inside = [n for n in names if n.endswith(f".{class_name}")]
    if len(inside) == 1:
        return inside[0]
    raise SourceError(
        "S002", f"no class '{class_name}' in {where}{did_you_mean(class_name, names)}"
    )


def _only_model(file: tree.File, package: str, where: str) -> str:
    """The one model of a package that is meant to be run, or an error that lists them."""
    inner = models_of(file)
    by_name = dict(classes_of(file))
    meant = [n for n in inner if experiment_of(by_name[n]).stop is not None] or inner
    if len(meant) > 1:
        listed = ", ".join(meant[:8]) + (", …" if len(meant) > 8 else "")
        raise SourceError("S002", f"{where} holds several models; name one of {listed}")
    return meant[0] if meant else package
