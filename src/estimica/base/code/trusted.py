"""TrustedCode: a Python file of a study with all that it imports from beside it, read once.

Its bytes are read here, hashed here and run from here (`run.run_code`): what was agreed to,
what is listed and what runs are one value. It is sent to other processes as it is.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path, PurePosixPath

from estimica.base.code.consent import NamedCode
from estimica.base.code.reference import CodeRefusedError, code_reference
from estimica.base.files.read import open_regular

MOST = 5_000  # files of one package that are taken along; the largest packages have some thousands
LARGEST = 256 << 20  # bytes of one file, and of all together: native libraries have tens of MB
LOOKED_AT = 20 * MOST  # entries of folders; a link may lead to the whole disk
_NATIVE = (".so", ".dll", ".dylib", ".pyd", ".a", ".lib")


class CodeMissingError(CodeRefusedError):
    """There is no such file."""


@dataclass(frozen=True)
class CodeFile:
    """One file: its path from the folder of the code, where it is, and what it holds."""

    name: str  # "tools/deep.py"
    path: Path
    content: bytes = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """The hash of the content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_python(self) -> bool:
        """Whether it is a text of Python; all others are native code."""
        return self.name.endswith(".py")

    @property
    def text(self) -> str:
        """The text of a Python file, in the encoding that it declares."""
        return importlib.util.decode_source(self.content)

    def __reduce__(self) -> tuple[object, ...]:
        """Without what was worked out: the same code is pickled alike, as fingerprints want it."""
        return CodeFile, (self.name, self.path, self.content)


@dataclass(frozen=True)
class TrustedCode:
    """The function `function` of the first of `files`, which may import the others and no more."""

    spelt: str  # the file as the study writes it
    function: str
    folder: Path  # where the files lie; imports begin here
    files: tuple[CodeFile, ...]

    @property
    def entry(self) -> CodeFile:
        """The file that the study names."""
        return self.files[0]

    @cached_property
    def by_name(self) -> Mapping[str, CodeFile]:
        """The files by their paths from the folder."""
        return {file.name: file for file in self.files}

    @cached_property
    def sha256(self) -> str:
        """Of all files with their names: two codes with the same are the same program."""
        listed = "".join(f"{f.name}\0{f.sha256}\n" for f in self.files)
        return hashlib.sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()

    def __reduce__(self) -> tuple[object, ...]:
        return TrustedCode, (self.spelt, self.function, self.folder, self.files)

    def listed(self, where: str = "") -> tuple[NamedCode, ...]:
        """Its files as they are told to the user."""
        imported = f"{where} (imported)" if where else ""
        first, *others = self.files
        return (
            NamedCode(where, self.spelt, first.path, "Python", first.sha256),
            *(
                NamedCode(
                    imported, f.name, f.path, "Python" if f.is_python else "native code", f.sha256
                )
                for f in others
            ),
        )


def trusted_code(text: str, folder: Path) -> TrustedCode:
    """The code that "file.py:function" in a study of `folder` means, read now and only now.

    CodeRefusedError where the text is odd or its file is not a regular one, CodeMissingError where
    there is none.
    """
    reference = code_reference(text)
    path = Path(os.path.abspath(folder / reference.file))
    entry = read_code(path, path.name, reference.file)
    files = {entry.name: entry}
    _take_imports(path.parent, files)
    return TrustedCode(reference.file, reference.function, path.parent, tuple(files.values()))


def read_code(path: Path, name: str, spelt: str) -> CodeFile:
    """A regular file, links followed, read once; an error that names it otherwise."""
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST + 1)
            real = Path(file.name)
    except (FileNotFoundError, NotADirectoryError):
        raise CodeMissingError(f"there is no file '{spelt}'") from None
    except IsADirectoryError:
        raise CodeRefusedError(f"'{spelt}' is a folder, which is not run; name a file") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CodeRefusedError(f"'{spelt}' cannot be read: {why}") from None
    if len(content) > LARGEST:
        raise CodeRefusedError(f"'{spelt}' has more than {LARGEST >> 20} MiB")
    return CodeFile(name, real, content)


# --- what a file imports from beside it ----------------------------------------------------------


def _take_imports(folder: Path, files: dict[str, CodeFile]) -> None:
    """Add all that the import statements of the files lead to, and of those in turn.

    A first name decides: of a package, everything is taken. So does an import in a package that
    means a module beside it, absolutely or by its dots.
    """
    pending, seen, size = list(files.values()), set[str](), 0
    while pending:
        file = pending.pop(0)
        for first in _first_names(file):
            if first in seen:
                continue
            seen.add(first)
            for name in _beside(folder, first):
                if name not in files and len(files) < MOST and size <= LARGEST:
                    try:
                        files[name] = read_code(folder / name, name, name)
                    except CodeRefusedError:
                        continue  # then it cannot be imported either
                    pending.append(files[name])
                    size += len(files[name].content)


def _first_names(file: CodeFile) -> Iterator[str]:
    """First parts of what a file imports, as far as they lead to the folder of the code itself."""
    if not file.is_python:
        return
    try:
        tree = ast.parse(file.content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # it cannot run either
    depth = len(PurePosixPath(file.name).parts)  # dots that lead to the folder of the code
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level in (0, depth):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.partition(".")[0] for name in names)


def _beside(folder: Path, name: str) -> list[str]:
    """The files that `import name` may run: a module, native code, or all of a package."""
    candidates = [f"{name}.py", *(f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)]
    candidates += [f"{name}{suffix}" for suffix in _NATIVE if f"{name}{suffix}" not in candidates]
    candidates = [spelt for spelt in candidates if (folder / spelt).is_file()]
    return candidates + list(_below(folder, folder / name))


def _below(folder: Path, package: Path) -> list[str]:
    names_below: list[str] = []
    looked_at = 0
    for place, folders, names in os.walk(package):
        looked_at += len(folders) + len(names)
        if looked_at > LOOKED_AT:
            break
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(names):
            if Path(name).suffix in (".py", *_NATIVE) and len(names_below) < MOST:
                names_below.append((Path(place) / name).relative_to(folder).as_posix())
    return names_below
