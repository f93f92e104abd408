"""What the user asks for: which text, which class, which libraries, which modifiers."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from estimica.base.errors import SourceError
from estimica.base.suggest import did_you_mean, did_you_mean_file
from estimica.flat.system import FlatSystem, Kind, Variability, Variable
from estimica.source.libraries.package_text import Piece, read_package, read_text
from estimica.source.libraries.search import (
    Library,
    class_file,
    enclosing_package,
    find_library,
    library_folders,
    names_used,
    needed_libraries,
    package_name,
)
from estimica.source.syntax.outline import CLASS_WORDS, Outline, experiment_of, outline

#: packages with no more files than this are read as one text
SMALL_PACKAGE = 300
#: small, but belonging to the standard library
_WITH_STANDARD = frozenset({"Complex", "ModelicaServices"})
#: brackets in brackets: parsers call themselves for each, and their stacks are not endless
DEPTH = 500
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_FILES = (".mo", ".bmo")
_CLASS_NAME = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")


@dataclass(frozen=True, slots=True)
class Request:
    """A class to be flattened.

    `document` is handed to the compiler: the text, and small libraries below it (empty where the
    class is one of a large library); `text` is the one that holds the class.
    """

    class_name: str
    document: str
    text: str
    label: str  # the file's name, or "" for a text
    libraries: tuple[Library, ...]
    pieces: tuple[Piece, ...] = ()  # where the parts of a package's text come from

    @property
    def outlined(self) -> Outline:
        """The classes of `text`."""
        return outline(self.text)

    @property
    def local_name(self) -> str:
        """The class's name within `text`."""
        prefix = self.outlined.within
        return self.class_name[len(prefix) + 1 :] if prefix else self.class_name


def read_request(source: str | Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    """Find out what `source` is (a text, a file, a package's folder, a class) and read it."""
    if isinstance(source, str) and is_text(source):
        return _of_text(source, "", class_name, extra)
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


def is_text(source: str) -> bool:
    """Whether `source` is Modelica itself, not the name of a file or class."""
    if "\n" in source:
        return True
    words = source.split()
    return len(words) > 2 and any(w in CLASS_WORDS for w in words[:3])


def _of_text(text: str, label: str, class_name: str | None, extra: Sequence[Path]) -> Request:
    outlined = outline(text)
    _require_shallow(outlined, text, label)
    name = _chosen(outlined, class_name, label or "the text")
    own = {c.name.partition(".")[0] for c in outlined.classes}
    libraries = needed_libraries(names_used([text]) - own, extra)
    document, pieces, roots = _joined(text, (), libraries)
    return Request(name, document, text, label, roots, pieces)


def _require_shallow(outlined: Outline, text: str, label: str) -> None:
    depth = 0
    for token in outlined.tokens:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth > DEPTH:
            line = text.count("\n", 0, token.start) + 1
            raise SourceError(
                "S045",
                f"{label or 'text'}, line {line}: brackets are nested more than {DEPTH} deep; "
                "divide the expression",
            )


def _of_file(path: Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    text = read_text(path)
    package = enclosing_package(path)
    outlined = outline(text)
    if package is None or not outlined.within:
        return _of_text(text, str(path), class_name, extra)
    name = f"{outlined.within}.{_chosen(outlined, class_name, str(path))}"
    return _in_package(package, name, extra)


def _of_package(folder: Path, class_name: str | None, extra: Sequence[Path]) -> Request:
    top = enclosing_package(folder)
    if top is None:
        names = sorted(p.name for p in folder.glob("*.mo"))
        hint = f"; it holds {', '.join(names[:5])}" if names else ""
        raise SourceError(
            "S001", f"{folder} is not a Modelica package: there is no package.mo{hint}"
        )
    name = package_name(top)
    for part in folder.resolve().relative_to(top.resolve()).parts:
        name += f".{part}"
    if class_name is None:
        models = [m for f in sorted(folder.rglob("*.mo")) for m in _full_models(read_text(f))]
        if len(models) != 1:
            listed = ", ".join(models[:8]) + (", …" if len(models) > 8 else "")
            raise SourceError(
                "S002", f"{folder}: say which class to load; the package has {listed or 'no model'}"
            )
        name = models[0]
    elif class_name.partition(".")[0] == name.partition(".")[0]:
        name = class_name
    else:
        name = f"{name}.{class_name}"
    return _in_package(top, name, extra)


def _full_models(text: str) -> list[str]:
    outlined = outline(text)
    prefix = f"{outlined.within}." if outlined.within else ""
    return [prefix + m for m in outlined.models()]


def _in_package(top: Path, name: str, extra: Sequence[Path]) -> Request:
    own = Library(package_name(top), top)
    package = read_package(top)
    used = names_used([package.text]) | own.uses()
    libraries = needed_libraries(used - {own.name}, extra)
    outlined = outline(package.text)
    if outlined.find(name) is None:
        known = [c.name for c in outlined.classes]
        raise SourceError("S002", f"no class '{name}' in {top}{did_you_mean(name, known)}")
    document, pieces, roots = _joined(package.text, package.pieces, libraries)
    return Request(name, document, package.text, str(class_file(own, name)), roots, pieces)


def _joined(
    text: str, pieces: tuple[Piece, ...], libraries: Sequence[Library]
) -> tuple[str, tuple[Piece, ...], tuple[Library, ...]]:
    """`text` with small libraries written below it; the others are left to the compiler."""
    roots = []
    for library in libraries:
        if library.name in _WITH_STANDARD or library.has_more_than(SMALL_PACKAGE):
            roots.append(library)
            continue
        package = read_package(library.root)
        start = len(text) + 1
        text += "\n" + package.text
        moved = (dataclasses.replace(p, start=p.start + start) for p in package.pieces)
        pieces = (*pieces, *moved)
    return text, pieces, tuple(roots)


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
    if os.path.isdir(library.root) and not library.has_more_than(SMALL_PACKAGE):
        return _in_package(library.root, name, extra)
    if not os.path.isdir(library.root):
        return _of_text(read_text(library.root), str(library.root), name, extra)
    return _of_class(library, name, tuple(needed_libraries([top], extra)))


def _of_class(library: Library, name: str, libraries: tuple[Library, ...]) -> Request:
    path = class_file(library, name)
    assert path is not None
    return Request(name, "", read_text(path), str(path), libraries)


def check_class(request: Request) -> None:
    """Raise where the text of a library has no such class."""
    prefix = f"{request.outlined.within}." if request.outlined.within else ""
    name = request.class_name
    if name.startswith(prefix) and request.outlined.find(name[len(prefix) :]) is not None:
        return
    known = [prefix + c.name for c in request.outlined.classes]
    known += [
        f"{name.rpartition('.')[0]}.{p.stem}" for p in Path(request.label).parent.glob("*.mo")
    ]
    raise SourceError("S002", f"no class '{name}' in {request.label}{did_you_mean(name, known)}")


def _only_model(outlined: Outline, package: str, where: str) -> str:
    """The one model of a package that is meant to be run, or an error that lists them."""
    inner = outlined.models()
    meant = [n for n in inner if experiment_of(outlined, n).stop is not None] or inner
    if len(meant) > 1:
        listed = ", ".join(meant[:8]) + (", …" if len(meant) > 8 else "")
        raise SourceError("S002", f"{where} holds several models; name one of {listed}")
    return meant[0] if meant else package


def _chosen(outlined: Outline, class_name: str | None, where: str) -> str:
    top = [c for c in outlined.classes if "." not in c.name]
    if not top:  # there may be inner classes of one that does not end
        raise SourceError(
            "S004", f"{where} holds no complete Modelica class; check its 'end …;' lines"
        )
    names = [c.name for c in outlined.classes]
    if class_name is None:
        models = [c.name for c in top if c.word in ("model", "block", "class")]
        return models[-1] if models else _only_model(outlined, top[-1].name, where)
    if class_name in names:
        return class_name
    inside = [n for n in names if n.endswith(f".{class_name}")]
    if len(inside) == 1:
        return inside[0]
    raise SourceError(
        "S002", f"no class '{class_name}' in {where}{did_you_mean(class_name, names)}"
    )


FixedValue: TypeAlias = float | bool | int | str
_Tree: TypeAlias = "dict[str, _Tree | str]"

WRAPPER = "EstimicaModified"


def wrapper_text(
    class_name: str, fix: Mapping[str, FixedValue], system: FlatSystem | None, more: str = ""
) -> str:
    """A class that extends `class_name` with the modifiers `fix`; `system` is the class as it is.

    `more` goes into the class as it stands.
    """
    tree: _Tree = {}
    for name, value in fix.items():
        branch = tree
        *path, last = name.split(".")
        for part in path:
            inner = branch.setdefault(part, {})
            if isinstance(inner, str):
                raise SourceError("S020", f"fix: '{name}' and a part of it are both given a value")
            branch = inner
        branch[last] = literal(value, system.by_name.get(name) if system else None)
    extends = f"extends {class_name}{_modification(tree)};"
    return f"model {WRAPPER}\n  {extends}\n{more}end {WRAPPER};\n"


def check_fixed_names(fix: Mapping[str, FixedValue], system: FlatSystem) -> None:
    """Raise for names that are not parameters of `system`, or that may not be changed."""
    problems = []
    parameters = [v.name for v in system.variables if v.variability is Variability.PARAMETER]
    whole = {name.partition("[")[0] for name in parameters}
    for name in fix:
        variable = system.by_name.get(name)
        if variable is None and name not in whole:
            if name.endswith(".start") and name[:-6] in system.by_name:
                continue
            problems.append(f"no parameter '{name}'{did_you_mean(name, [*whole, *parameters])}")
        elif variable is not None and variable.variability is not Variability.PARAMETER:
            problems.append(f"'{name}' is not a parameter but {variable.variability.value}")
        elif variable is not None and variable.final:
            problems.append(f"parameter '{name}' is final; it cannot be changed")
    if problems:
        raise SourceError("S021", f"fix, class {system.name}: " + "; ".join(problems))


def literal(value: FixedValue, variable: Variable | None) -> str:
    """`value` in Modelica, as the kind of `variable` needs it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if variable is not None and variable.kind is Kind.ENUMERATION:
            return value
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def _modification(tree: _Tree) -> str:
    parts = [
        f"{name} = {inner}" if isinstance(inner, str) else f"{name}{_modification(inner)}"
        for name, inner in tree.items()
    ]
    return f"({', '.join(parts)})" if parts else ""
