"""ModelicaFiles: what OpenModelica is given of a study, copied and hashed in one reading.

OpenModelica may call functions in C, of the system or of files while it reads a model. So it gets a
private copy of exactly the files whose hash the user agreed to, and none beside them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from estimica.base.code.consent import NamedCode
from estimica.base.errors import SourceError
from estimica.base.files.read import read_bytes
from estimica.source.libraries.search import enclosing_package, libraries_given

#: what OpenModelica may call: functions in C, of the system, of files
_CALLS = re.compile(rb"\b(external|Utilities|__OpenModelica\w*)\b")
_NATIVE = (".c", ".h", ".so", ".dll", ".dylib", ".pyd", ".a", ".lib")
_READ = (".mo", ".order")  # in the folders of a package; of its Resources, everything
#: bytes of one file: Resources may hold tables and compiled libraries, and each is read whole
LIBRARY_LIMIT = 500_000_000
MOST = 50_000  # files of one library; the largest known have some 20,000
LOOKED_AT = 10 * MOST  # entries of folders; a link may lead to the whole disk
KIND = "Modelica with native code"


@dataclass(frozen=True)
class ModelicaFiles:
    """A Modelica file, or a package's folder: its hash, and whether it may call something."""

    root: Path
    sha256: str
    calls: bool

    def listed(self, where: str = "", name: str = "") -> tuple[NamedCode, ...]:
        """As it is told to the user; what calls nothing is not code."""
        if not self.calls:
            return ()
        return (NamedCode(where, name or self.root.name, self.root.resolve(), KIND, self.sha256),)


def own_root(path: Path) -> Path:
    """What belongs to a source: the outermost package around it, or the file alone."""
    return enclosing_package(path) or path


def read_files(root: Path, copy: Path | None = None) -> ModelicaFiles:
    """Read a file or a package once; what is hashed is what is written into the folder `copy`."""
    digest, calls = hashlib.sha256(), False
    for path, name in _files(root):
        try:
            content = read_bytes(path, LIBRARY_LIMIT)
        except OSError as error:
            raise SourceError("S225", f"cannot read '{path}': {error.strerror}") from None
        digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode())
        native = path.suffix in _NATIVE
        calls = calls or native or (path.suffix == ".mo" and _CALLS.search(content) is not None)
        if copy is not None:
            there = copy / name
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
    return ModelicaFiles(root, digest.hexdigest(), calls)


def modelica_code(name: str, where: str, folder: Path, *, library: bool) -> Iterator[NamedCode]:
    """The code that a source or library called `name` in a study of `folder` may call."""
    path = folder / name
    try:
        roots = [r.root for r in libraries_given(path)] if library else [own_root(path)]
        for root in roots:
            if root.is_file() or (root / "package.mo").is_file():
                inner = root != path and library
                called = f"{name}/{root.name}" if inner else name
                yield from read_files(root).listed(where, called)
    except (OSError, ValueError, SourceError):  # not a path, or not there: it cannot be read either
        return


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    """(path, name in the copy) in a fixed order."""
    if not root.is_dir():
        yield root, root.name
        return
    seen: set[str] = set()
    count = looked_at = 0
    for place, folders, names in os.walk(root, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:  # a link that leads back
            folders[:] = []
            continue
        seen.add(real)
        looked_at += len(folders) + len(names)
        if looked_at > LOOKED_AT:
            raise SourceError("S226", f"'{root}' has more than {LOOKED_AT} entries; name a part")
        folders.sort()
        below = Path(place).relative_to(root)
        for name in sorted(names):
            path = Path(place) / name
            if ("Resources" in below.parts or path.suffix in _READ) and path.is_file():
                count += 1
                if count > MOST:
                    raise SourceError("S226", f"'{root}' has more than {MOST} files; name a part")
                yield path, (Path(root.name) / below / name).as_posix()
