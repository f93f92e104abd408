"""Python files of a study, run in a module space of their own.

`import helper` in such a file means the helper.py beside it and nobody else's: modules of two
studies never meet, and one whose text has changed is read anew. They are kept in `sys.modules`
under names that no import statement can spell, so that a program's own modules are left alone.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import itertools
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from pathlib import Path
from typing import Any

#: module spaces that are kept for the next reading; a workbench has some tens of studies open
MOST_SPACES = 64
_PREFIX = "estimica user code "


@dataclass(frozen=True, eq=False)
class Ran:
    """The names of a file that was run, and the text of each file that took part.

    `module` is what functions and classes of the file itself call their module.
    """

    names: Mapping[str, Any]
    module: str
    texts: Mapping[str, str]  # by paths relative to the file's folder


def read_python(path: Path) -> str:
    """The text of a Python file, in the encoding that it declares."""
    return importlib.util.decode_source(path.read_bytes())


def run_file(path: Path, texts: Mapping[str, str] | None = None) -> Ran:
    """Run a Python file; what it imports from its folder is its own.

    texts: the file itself and others whose content is known already, as `Ran.texts` of another
    process has them.
    Whatever the code raises is raised here.
    """
    path = path.absolute()
    given = {path.name: read_python(path)} if texts is None else dict(texts)
    text = given[path.name]
    space = _space(path, given)
    module = types.ModuleType(f"{space.name}.{path.stem}")
    module.__dict__.update(__file__=str(path), __package__=space.name, __builtins__=space.builtins)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except SystemExit as end:
        raise RuntimeError(f"it ends the program (sys.exit({end.code!r}))") from None
    except BaseException:
        if before is None:
            del sys.modules[module.__name__]
        raise
    return Ran(module.__dict__, module.__name__, {path.name: text, **space.texts})


@dataclass(eq=False)
class _Space:
    """The modules that belong to one file, under `name`."""

    name: str
    folder: Path
    given: Mapping[str, str]
    texts: dict[str, str] = field(default_factory=dict)  # of the modules that were imported
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
        if level or not self.holds(first):
            return __import__(name, globals, locals, fromlist, level)
        inner = __import__(f"{self.name}.{name}", globals, locals, fromlist, 0)
        return inner if fromlist else sys.modules[f"{self.name}.{first}"]

    def holds(self, name: str) -> bool:
        """Whether the folder has a module or package of that name, before any other."""
        if f"{self.name}.{name}" in sys.modules:
            return True
        spec = self.spec(f"{self.name}.{name}")
        if spec is None:
            return False
        # a folder without __init__.py is a package only where nothing else is called so
        return spec.loader is not None or not _elsewhere(name)

    def spec(self, full: str) -> ModuleSpec | None:
        """How a module of this space is loaded; None where there is no such file."""
        relative = full[len(self.name) + 1 :].replace(".", "/")
        for spelt, package in ((f"{relative}/__init__.py", True), (f"{relative}.py", False)):
            if spelt in self.given or (self.folder / spelt).is_file():
                loader = _TextLoader(self, spelt)
                found = ModuleSpec(
                    full, loader, origin=str(self.folder / spelt), is_package=package
                )
                found.has_location = True
                if package:
                    found.submodule_search_locations = [str(self.folder / relative)]
                return found
        for suffix in EXTENSION_SUFFIXES:
            file = self.folder / f"{relative}{suffix}"
            if file.is_file():
                native = ExtensionFileLoader(full, str(file))
                return importlib.util.spec_from_file_location(full, file, loader=native)
        if (self.folder / relative).is_dir() and any((self.folder / relative).rglob("*.py")):
            found = ModuleSpec(full, None, is_package=True)
            found.submodule_search_locations = [str(self.folder / relative)]
            return found
        return None

    def text(self, spelt: str) -> str:
        """The text of a file of this space, as it is on disk or was given."""
        return self.given[spelt] if spelt in self.given else read_python(self.folder / spelt)

    @property
    def is_current(self) -> bool:
        """Whether all files that took part hold what they held then."""
        try:
            return all(self.text(spelt) == text for spelt, text in self.texts.items())
        except (OSError, UnicodeDecodeError):
            return False


class _TextLoader(Loader):
    """Compiles the text of a file itself: a stored compilation may be of another text."""

    def __init__(self, space: _Space, spelt: str) -> None:
        self._space, self._spelt = space, spelt

    def exec_module(self, module: types.ModuleType) -> None:
        text = self._space.text(self._spelt)
        self._space.texts[self._spelt] = text
        module.__dict__["__builtins__"] = self._space.builtins
        file = str(self._space.folder / self._spelt)
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)


class _Finder(MetaPathFinder):
    """Finds the modules of all spaces, and no others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        name = fullname.partition(".")[0]
        space = next((s for s in _spaces.values() if s.name == name), None)
        return space.spec(fullname) if space is not None else None


_spaces: OrderedDict[str, _Space] = OrderedDict()  # by name, the one used last at the end
_lock = threading.RLock()
_numbers = itertools.count(1)


def _space(path: Path, given: Mapping[str, str]) -> _Space:
    """The space of a file: the one it had, while nothing has changed."""
    with _lock:
        for space in reversed(_spaces.values()):
            same = space.folder == path.parent and space.given == given
            if same and space.is_current:
                _keep(space)
                return space
        space = _Space(f"{_PREFIX}{next(_numbers)}", path.parent, given)
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
            package.__path__ = [str(space.folder)]
            sys.modules[space.name] = package
        while len(_spaces) > MOST_SPACES:
            name, _ = _spaces.popitem(last=False)
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                del sys.modules[module]


def _elsewhere(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
