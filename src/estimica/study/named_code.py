"""Named code: the programs that a study would run, each with the hash of its content."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 5_000  # files of one package or library that are looked at
_PYTHON = re.compile(r"\.py(?=:|\s*$)")
_NATIVE = (".so", ".dll", ".dylib", ".pyd", ".a", ".lib")
#: what OpenModelica may call while it reads a model: functions in C, of the system, of files
_CALLS = re.compile(rb"\b(external|Utilities|__OpenModelica\w*)\b")

Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Code:
    """One program: where the study names it, what it is, and what it holds."""

    where: str  # "[estimate] criterion"
    name: str  # as the study writes it
    path: Path
    kind: str  # "Python", "FMU", "Modelica with native code"
    sha256: str

    @property
    def text(self) -> str:
        """In words, with the beginning of the hash."""
        return f"{self.kind} '{self.name}' (sha256 {self.sha256[:12]}…) in {self.where}"


def code_of(tables: Mapping[str, Any], folder: Path) -> tuple[Code, ...]:
    """Every program that the tables of a study in `folder` name, in the order of the file.

    All texts are looked at, not only those that name programs today. A program that is not there
    cannot run and is left out: whoever wants it tells that it is missing.
    """
    found: dict[Path, Code] = {}
    for place, text in texts(tables):
        for code in _named(in_words(place, tables), text, folder):
            found.setdefault(code.path, code)
    for code in _openmodelica(tables.get("model"), folder):
        found.setdefault(code.path, code)
    return tuple(found.values())


def texts(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text of some tables, with its place; names of entries count too."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts(inner, (*place, str(name)))
    elif isinstance(value, (list, tuple)):
        for k, inner in enumerate(value):
            yield from texts(inner, (*place, k))


def in_words(place: Place, tables: Mapping[str, Any]) -> str:
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


def _named(where: str, text: str, folder: Path) -> Iterator[Code]:
    for spelt in python_files(text):
        path = folder / spelt
        if _is_file(path):
            yield _code(where, spelt, path, "Python")
            yield from _imported(where, path, {path.resolve()})
    for spelt in dict.fromkeys((text, text.strip())):
        if spelt.lower().endswith(".fmu") and _is_file(folder / spelt):
            yield _code(where, spelt, folder / spelt, "FMU")


def python_files(text: str) -> list[str]:
    """The files that "file.py:function" may mean; a colon may be part of a name."""
    if "\n" in text:
        return []
    found = [text[: match.end()] for match in _PYTHON.finditer(text)]
    return list(dict.fromkeys([*found, *(name.strip() for name in found)]))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or a NUL within
        return False


def _code(where: str, name: str, path: Path, kind: str) -> Code:
    return Code(where, name, path.resolve(), kind, _hash([path]))


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        try:
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()


# --- what a Python file imports from beside it ---------------------------------------------------


def _imported(where: str, path: Path, seen: set[Path]) -> Iterator[Code]:
    """Modules in the folder of the file that it imports, and theirs in turn."""
    for name in _imports(path):
        for file in _modules(path.parent, name):
            if file.resolve() in seen or len(seen) > MOST:
                continue
            seen.add(file.resolve())
            kind = "Python" if file.suffix == ".py" else "native code"
            yield _code(f"{where} (imported)", file.relative_to(path.parent).as_posix(), file, kind)
            if file.suffix == ".py":
                yield from _imported(where, file, seen)


def _imports(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= dict.fromkeys(name.partition(".")[0] for name in names)
    return list(found)


def _modules(folder: Path, name: str) -> list[Path]:
    """The files that `import name` may run: a module, native code, or all of a package."""
    found = [folder / f"{name}.py"] if _is_file(folder / f"{name}.py") else []
    found += [p for p in sorted(folder.glob(f"{name}.*")) if p.suffix in _NATIVE and _is_file(p)]
    if (folder / name).is_dir():
        found += [p for p in _below(folder / name) if p.suffix in (".py", *_NATIVE)]
    return found


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for path in folder.rglob("*"):
        if len(found) >= MOST:
            break
        if _is_file(path):
            found.append(path)
    return sorted(found)


# --- what OpenModelica would run while it reads a model ------------------------------------------


def _openmodelica(model: Any, folder: Path) -> Iterator[Code]:
    """Modelica that calls C or the system, where OpenModelica reads it; our own reader runs none.

    A file or a library counts as one program, with the hash of all that calls something.
    """
    if not isinstance(model, Mapping) or model.get("frontend") != "openmodelica":
        return
    libraries = model.get("libraries", [])
    named = [("[model] source", model.get("source"))]
    named += [("[model] libraries", n) for n in (libraries if isinstance(libraries, list) else [])]
    for where, name in named:
        if not isinstance(name, str):
            continue
        calling = [p for p in _modelica(folder / name) if _calls(p)]
        if calling:
            path = (folder / name).resolve()
            yield Code(where, name, path, "Modelica with native code", _hash(calling))


def _modelica(path: Path) -> list[Path]:
    root = path.parent if path.name == "package.mo" else path
    try:
        if root.is_dir():
            return [p for p in _below(root) if p.suffix == ".mo" or "Resources" in p.parts]
        return [root] if root.is_file() else []
    except (OSError, ValueError):
        return []


def _calls(path: Path) -> bool:
    if path.suffix in (".c", ".h", *_NATIVE):
        return True
    try:
        return path.suffix == ".mo" and _CALLS.search(path.read_bytes()) is not None
    except OSError:
        return False
