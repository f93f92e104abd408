"""Python files of a study, run in a module space of their own.

`import helper` in such a file means the helper.py beside it and nobody else's: modules of two
studies never meet, and one whose text has changed is read anew. They are kept in `sys.modules`
under names that no import statement can spell, so that a program's own modules are left alone.

Modules come from a `TrustedCode` alone, never from the disk: what was not read with it, and so not
agreed to, cannot be imported.
"""

from __future__ import annotations

import builtins
import importlib.util
import itertools
import os
import shutil
import sys
import tempfile
import threading
import types
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from estimica.base.code.consent import has_code_guard, require_agreed
from estimica.base.code.trusted import CodeFile, TrustedCode

#: module spaces that are kept for the next reading; a workbench has some tens of studies open
MOST_SPACES = 64
_PREFIX = "estimica user code "


@dataclass(frozen=True, eq=False)
class LoadedCode:
    """The names of a file that was run.

    `module` is what functions and classes of the file itself call their module.
    """

    names: Mapping[str, Any]
    module: str


def run_code(code: TrustedCode) -> LoadedCode:
    """Run the file of a code; what it imports from its folder is its own.

    An error of the user's where nobody agreed to this content. Whatever the code raises is raised
    here.
    """
    require_agreed(code.listed())
    space = _space(code)
    stem = code.entry.name.removesuffix(".py")
    module = types.ModuleType(f"{space.name}.{stem}")
    path = code.folder / code.entry.name
    module.__dict__.update(__file__=str(path), __package__=space.name, __builtins__=space.builtins)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(_compiled(code.entry, path), module.__dict__)
    except SystemExit as end:
        raise RuntimeError(f"it ends the program (sys.exit({end.code!r}))") from None
    except BaseException:
        if before is None:
            del sys.modules[module.__name__]
        raise
    return LoadedCode(module.__dict__, module.__name__)


def _compiled(file: CodeFile, path: Path) -> types.CodeType:
    return compile(file.text, str(path), "exec", dont_inherit=True)


@dataclass(eq=False)
class _Space:
    """The modules that belong to one code, under `name`."""

    name: str
    code: TrustedCode
    builtins: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.builtins = {**vars(builtins), "__import__": self.import_}

    def import_(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> types.ModuleType:
        """What an import statement of this space's code does."""
        _keep(self)
        first = name.partition(".")[0]
        if level:
            return __import__(name, globals, locals, fromlist, level)
        if not self.holds(first):
            self._require_not_beside(first)
            return __import__(name, globals, locals, fromlist, 0)
        inner = __import__(f"{self.name}.{name}", globals, locals, fromlist, 0)
        return inner if fromlist else sys.modules[f"{self.name}.{first}"]

    def holds(self, name: str) -> bool:
        """Whether the code has a module or package of that name, before any other."""
        if f"{self.name}.{name}" in sys.modules:
            return True
        spec = self._known(f"{self.name}.{name}")
        if spec is None:
            return False
        # a folder without __init__.py is a package only where nothing else is called so
        return spec.loader is not None or _elsewhere(name, self.code.folder) is None

    def spec(self, full: str) -> ModuleSpec | None:
        """How a module of this space is loaded; None where there is no such file."""
        known = self._known(full)
        if known is None:
            self._require_not_beside(self._relative(full))
        return known

    def _known(self, full: str) -> ModuleSpec | None:
        relative, files = self._relative(full), self.code.by_name
        for spelt, package in ((f"{relative}/__init__.py", True), (f"{relative}.py", False)):
            if spelt in files:
                origin = str(self.code.folder / spelt)
                spec = ModuleSpec(
                    full, _TextLoader(self, files[spelt]), origin=origin, is_package=package
                )
                spec.has_location = True
                if package:
                    spec.submodule_search_locations = [str(self.code.folder / relative)]
                return spec
        for suffix in EXTENSION_SUFFIXES:
            if f"{relative}{suffix}" in files:
                file = self._native / f"{relative}{suffix}"
                native = ExtensionFileLoader(full, str(file))
                return importlib.util.spec_from_file_location(full, file, loader=native)
        if any(name.startswith(f"{relative}/") and name.endswith(".py") for name in files):
            spec = ModuleSpec(full, None, is_package=True)
            spec.submodule_search_locations = [str(self.code.folder / relative)]
            return spec
        return None

    def _relative(self, full: str) -> str:
        return full[len(self.name) + 1 :].replace(".", "/")

    @cached_property
    def _native(self) -> Path:
        """A private folder with the native code, byte for byte as it was read."""
        folder = Path(tempfile.mkdtemp(prefix="estimica-native-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        for file in self.code.files:
            if not file.is_python:
                path = folder / file.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.content)
        return folder

    def _require_not_beside(self, relative: str) -> None:
        """What lies beside the code but was not read with it is told, instead of run."""
        folder, first = self.code.folder, relative.partition("/")[0]
        if not _is_beside(folder, relative):
            return
        if relative == first and _elsewhere(first, folder) is not None:
            return  # installed: that one is meant
        raise _not_agreed(relative, folder)


class _TextLoader(Loader):
    """Compiles the text that was read: a stored compilation may be of another one."""

    def __init__(self, space: _Space, file: CodeFile) -> None:
        self._space, self._file = space, file

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__builtins__"] = self._space.builtins
        path = self._space.code.folder / self._file.name
        exec(_compiled(self._file, path), module.__dict__)


class _Finder(MetaPathFinder):
    """Finds the modules of all spaces; of others, none in the folder of somebody's study."""

    def __init__(self) -> None:
        self._own_path = {_real(entry) for entry in sys.path}  # of this installation

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.startswith(_PREFIX):
            space = _spaces.get(fullname.partition(".")[0])
            return space.spec(fullname) if space is not None else None
        if path is not None or not has_code_guard():
            return None  # a program of one's own may import from where it likes
        return self._from_elsewhere(fullname)

    def _from_elsewhere(self, name: str) -> ModuleSpec | None:
        """By the path without the folders of studies; ImportError where only these have it."""
        folders = {_real(str(space.code.folder)) for space in _spaces.values()}
        closed = [entry for entry in sys.path if self._is_closed(_real(entry), folders)]
        if not closed:
            return None
        spec = _installed(name, [entry for entry in sys.path if entry not in closed])
        if spec is None and PathFinder.find_spec(name, closed) is not None:
            raise _not_agreed(name, Path(_real(closed[0])))
        return spec

    def _is_closed(self, entry: str, folders: set[str]) -> bool:
        if entry in folders:
            return True
        # a virtual environment may lie below a study's folder: it was there before
        return entry not in self._own_path and any(
            Path(entry).is_relative_to(folder) for folder in folders
        )


_spaces: OrderedDict[str, _Space] = OrderedDict()  # by name, the one used last at the end
_lock = threading.RLock()
_numbers = itertools.count(1)


def _space(code: TrustedCode) -> _Space:
    """The space of a code: the one it had, while nothing has changed."""
    with _lock:
        for space in reversed(_spaces.values()):
            if space.code.folder == code.folder and space.code.sha256 == code.sha256:
                _keep(space)
                return space
        space = _Space(f"{_PREFIX}{next(_numbers)}", code)
        _keep(space)
        return space


def _keep(space: _Space) -> None:
    """Make a space known to imports; the one not used for longest is forgotten."""
    with _lock:
        if not any(isinstance(f, _Finder) for f in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        _spaces[space.name] = space
        _spaces.move_to_end(space.name)
        if space.name not in sys.modules:
            package = types.ModuleType(space.name)
            package.__path__ = [str(space.code.folder)]
            sys.modules[space.name] = package
        while len(_spaces) > MOST_SPACES:
            name, _ = _spaces.popitem(last=False)
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[module]


def _elsewhere(name: str, folder: Path) -> object:
    """What else is called so: a module of the program, or an installed one; None for nothing."""
    if name in sys.modules:
        return sys.modules[name]
    closed = _real(str(folder))
    try:
        return _installed(name, [entry for entry in sys.path if _real(entry) != closed])
    except (ImportError, ValueError):
        return None


def _installed(name: str, path: Sequence[str]) -> ModuleSpec | None:
    """What all others who find modules say, with another path."""
    for finder in sys.meta_path:
        if not isinstance(finder, _Finder):
            places = path if finder is PathFinder else None
            spec: ModuleSpec | None = finder.find_spec(name, places)
            if spec is not None:
                return spec
    return None


def _is_beside(folder: Path, relative: str) -> bool:
    """Whether there is anything that Python might take for this module."""
    path = folder / relative
    suffixes = (".py", ".pyc", *EXTENSION_SUFFIXES)
    try:
        return (
            any(path.with_name(f"{path.name}{suffix}").exists() for suffix in suffixes)
            or any((path.parent / "__pycache__").glob(f"{path.name}.*.pyc"))
            or any(p.suffix in suffixes for p in path.glob("*"))
        )
    except (OSError, ValueError):
        return False


def _not_agreed(relative: str, folder: Path) -> ImportError:
    name = relative.replace("/", ".")
    return ImportError(
        f"'{name}' in '{folder}' is not part of what was agreed to: only modules that stand as .py "
        "files or native code beside the study's file, and that an import statement names, are "
        f"listed and run; write `import {name}` where it is used, and keep its source there",
        name=name,
    )


def _real(entry: str) -> str:
    """An entry of the path; an empty one is the current folder, which may be gone."""
    try:
        return os.path.realpath(entry or os.getcwd())
    except OSError:
        return entry
